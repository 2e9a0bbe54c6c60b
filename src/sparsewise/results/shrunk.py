"""The model of a multistart search with posterior means as coefficients."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sparsewise._typing import Array
from sparsewise.problem.problem import Problem, problem_of
from sparsewise.results.check import MultistartCheck
from sparsewise.results.multistart import MultistartSolution


@dataclass(frozen=True, repr=False, eq=False, kw_only=True)
class ShrunkSolution(MultistartSolution):
    """The best model of several starts; ``coef`` is the posterior mean.

    ``covariance`` is that of the posterior. Both are conditional on the columns, their prior
    variances γ and ``sigma``.

    Attributes
    ----------
    damping : ndarray of shape (k,)
        σ²/(γ_j‖a_j‖²) of each chosen column: the weight of its prior relative to the data, 0 for a
        flat prior.
    fitted : MultistartSolution
        The least-squares fit on the same columns, as the search returned it.
    """

    damping: Array
    fitted: MultistartSolution

    @property
    def counts_features(self) -> bool:
        """The degrees of freedom of the path's models, least-squares fits, are their features."""
        return True

    def check(self, A: Any, y: Any) -> MultistartCheck:
        """Check `fitted`, and that the coefficients are its posterior means."""
        data = problem_of(A, y, self.coef)
        search, plain = self.fitted.check(A, y), self._check_fit(data)
        off, slack = self._posterior_error(data)
        return replace(
            search,
            ok=search.ok and plain.ok and off <= slack,
            residual_norm=plain.residual_norm,
            residual_norms=plain.residual_norms,
            residual_error=plain.residual_error,
            normal_equations=off,
        )

    def _posterior_error(self, data: Problem) -> tuple[float, float]:
        """The largest entry of B*r - dμ for unit columns B, damping d and a unit target, and slack.

        It vanishes at the posterior mean μ, up to the slack for rounding.
        """
        support = self.support
        mean = data.unit_coef(self.coef, support)
        B = data.design.unit_columns(support)
        r = data.Y - mean.astype(data.dtype) @ B.T
        off = r @ B.conj() - self.damping * mean
        eps = data.tolerances_in(self.coef.dtype).eps
        return float(np.abs(off).max(initial=0.0)), 1e-2 * eps**0.5
