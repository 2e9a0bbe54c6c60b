"""Contenders of other packages, under the names that declarations use.

All are told what a new user would tell them: nothing, but that the data have no intercept. What
they return as exactly zero they did not choose; ARDRegression sets what it prunes to zero.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np

from reproduction.declaration import Contender
from reproduction.r_peers import R_PEERS
from sparsewise._typing import Array
from sparsewise.algorithms import ALGORITHMS

ABESS_SCALE = 1e3
"""The norm of the target that abess is given.

Its splicing stops at an absolute threshold: targets of norm one keep the columns that it starts
with. Coefficients are scaled back.
"""


class Coefficients(NamedTuple):
    """What a peer returns, as tasks read it."""

    coef: Array


@dataclass(frozen=True)
class Peer:
    """A contender of another package.

    Attributes
    ----------
    package : str
        The package to import.
    coef : callable
        From A, y and parameters to the coefficients.
    brought_by : str
        What pip is to install to have it.
    """

    package: str
    coef: Callable[..., Array]
    brought_by: str = "sparsewise"

    def __call__(self, A: Array, y: Array, **parameters: Any) -> Coefficients:
        """Solve, without a word on iterations that have not converged: that is its own affair."""
        from sklearn.exceptions import ConvergenceWarning

        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            # The same of orthogonal matching pursuit, when what is left depends on what it has.
            warnings.simplefilter("ignore", RuntimeWarning)
            return Coefficients(np.asarray(self.coef(A, y, **parameters), dtype=float))


def _ard(A: Array, y: Array) -> Array:
    from sklearn.linear_model import ARDRegression

    return ARDRegression(fit_intercept=False).fit(A, y).coef_


def _lasso(A: Array, y: Array) -> Array:
    from sklearn.linear_model import LassoCV

    return LassoCV(fit_intercept=False).fit(A, y).coef_


def _omp(A: Array, y: Array, *, most: float | None = None) -> Array:
    """With five folds; `most` columns at most, a tenth of them (or five) unless given."""
    from sklearn.linear_model import OrthogonalMatchingPursuitCV

    steps = None if most is None else _within(most, A)
    return OrthogonalMatchingPursuitCV(fit_intercept=False, max_iter=steps).fit(A, y).coef_


def _abess(A: Array, y: Array, *, most: float | None = None) -> Array:
    """By EBIC; `most` columns at most, n/(log log n · log m) unless given."""
    from abess.linear import LinearRegression

    sizes = None if most is None else range(_within(most, A) + 1)
    scale = ABESS_SCALE / (np.linalg.norm(y) or 1.0)
    model = LinearRegression(support_size=sizes, fit_intercept=False)
    return model.fit(A, scale * y).coef_ / scale


def _within(most: float, A: Array) -> int:
    return max(1, min(int(most), A.shape[1]))


PEERS: dict[str, Peer] = {
    "sklearn.ARDRegression": Peer("sklearn", _ard),
    "sklearn.LassoCV": Peer("sklearn", _lasso),
    "sklearn.OrthogonalMatchingPursuitCV": Peer("sklearn", _omp),
    "abess.LinearRegression": Peer("abess", _abess, brought_by="sparsewise[bench]"),
}
"""All of them by name."""


def competitor(name: str) -> Callable[..., Any]:
    """The algorithm of that name, or the peer."""
    return PEERS[name] if name in PEERS else ALGORITHMS[name]


def absent(contender: Contender) -> str:
    """Why a contender can't take part: its package is missing. Empty if it can."""
    in_r = R_PEERS.get(contender.algorithm)
    if in_r is not None and in_r.missing:
        return f"{contender.label} is left out, because R or its package {in_r.package} is missing"
    peer = PEERS.get(contender.algorithm)
    if peer is None or find_spec(peer.package) is not None:
        return ""
    return (
        f"{contender.label} is left out, because the package {peer.package} is missing: "
        f"pip install '{peer.brought_by}' brings it"
    )
