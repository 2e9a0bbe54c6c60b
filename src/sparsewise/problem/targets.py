"""Targets: one, or several that share their columns, brought to norm one together."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sparsewise._typing import Array
from sparsewise.design.base import near_one, not_finite
from sparsewise.errors import InputError

FAINT = 1e-290, 1e-30
"""A target of a lesser share in all of them counts as one of zeros: in double, and in single
precision, its numbers would be none."""


class Targets:
    """Several targets that are to share their columns, and how much each of them counts.

    Pass it as y wherever targets of shape (n, q) are taken. What is minimised is Σ_t w_t² ‖r_t‖² in
    place of ‖r‖²; w_t is 1/‖y_t‖ unless told otherwise, so that no target drowns the others,
    whatever its units.

    Parameters
    ----------
    Y : array-like of shape (n, q)
        One target a column.
    weights : array-like of shape (q,), optional
        What the residual of each target is multiplied by: 1/‖y_t‖ by default, all ones to take the
        targets in their own units, 1/σ_t where their noise is known. Only their ratios matter.
    """

    def __init__(self, Y: ArrayLike, weights: ArrayLike | None = None) -> None:
        self.Y, self.weights = Y, weights


UnitTargets = tuple[Array, float, Array | None, bool]
"""Targets in units that suit the arithmetic: `Y`, `scale`, `scales` and `is_zero` of `Problem`."""


def independent_rows(Y: Array) -> float:
    """1/Σ_st |y_s* y_t|² of rows with Σ_t‖y_t‖² = 1: the participation ratio of their energies."""
    if len(Y) == 1:
        return 1.0
    inner = Y.conj() @ Y.T
    return max(1.0 / float(np.square(np.abs(inner)).sum() or 1.0), 1.0)


def unit_target(
    target: Array, weights: ArrayLike | None, n: int, dtype: np.dtype[Any]
) -> UnitTargets:
    """A target of n entries as one of norm one; as the only one, it has no weight."""
    _check_shape(target, n)
    unit, norm = _unit(target)
    if unit.dtype != dtype:
        unit = unit.astype(dtype)
    return unit[None], norm or 1.0, None, norm == 0.0


def unit_targets(
    targets: Array, weights: ArrayLike | None, n: int, dtype: np.dtype[Any]
) -> UnitTargets:
    """Targets of n rows, one a column, of weighted norm one, taken together."""
    _check_rows(targets, n)
    rows = targets.T
    scaled = [_unit(row, f"target {t}, row", among=rows) for t, row in enumerate(rows)]
    units, norms = np.array([unit for unit, _ in scaled]), np.array([norm for _, norm in scaled])
    some = norms > 0
    if not some.any():
        return np.zeros(rows.shape, dtype), 1.0, np.ones((len(rows), 1)), True
    # A row of weighted norm w_t‖y_t‖ = shares_t, Σ shares² = 1, in units of ‖y_t‖/shares_t.
    faint = FAINT[dtype.char in "fF"]
    shares = some / math.sqrt(some.sum()) if weights is None else _shares(norms, weights, faint)
    with np.errstate(over="ignore"):
        scales = np.divide(norms, shares, out=np.ones_like(norms), where=shares > 0)
    if not np.isfinite(scales).all():
        raise InputError(
            "has targets whose norms, by their weights, are beyond the range of double precision",
            "divide them by a power of ten.",
            parameter="y",
        )
    largest = scales[shares > 0].max()
    typical = largest * math.sqrt(np.square(scales[shares > 0] / largest).mean())
    scale = typical / math.sqrt(np.count_nonzero(shares))
    Y = (units * shares[:, None]).astype(dtype, copy=False)
    return Y, float(scale), scales[:, None], False


def _check_shape(target: Array, n: int) -> None:
    """Refuse what is not one number for each row of A."""
    if target.shape == (n,):
        return
    wrong = f"must have shape ({n},), one entry per row of A, not {target.shape}"
    if target.size == n:
        raise InputError(wrong, "pass y.ravel().", parameter="y")
    if target.ndim == 2 and len(target) == n:
        advice = "solve for its columns one by one, or use an algorithm that finds one support for "
        raise InputError(wrong, f"{advice}all, such as rmp0 or solve.", parameter="y")
    raise InputError(f"{wrong}.", parameter="y")


def _check_rows(targets: Array, n: int) -> None:
    """Refuse targets that have not one row for each row of A."""
    if len(targets) == n and targets.size:
        return
    if len(targets) == n:
        raise InputError("has no columns, and so no targets.", parameter="y")
    wrong = f"must have shape ({n},) or ({n}, q), one row per row of A, not {targets.shape}"
    if n in targets.shape:
        raise InputError(wrong, "pass y.T.", parameter="y")
    raise InputError(f"{wrong}.", parameter="y")


def _shares(norms: Array, weights: ArrayLike, faint: float) -> Array:
    """w_t‖y_t‖ of all targets, brought to norm one together; 0 of faint ones."""
    given = np.asarray(weights)
    numbers = given.shape == norms.shape and given.dtype.kind in "fiub"
    if not (numbers and (np.isfinite(given) & (given > 0)).all()):
        raise InputError(
            f"must be {norms.size} positive numbers, one a target.", parameter="weights"
        )
    given = given.astype(float)
    logs = np.log(given) + np.log(norms, out=np.full_like(norms, -np.inf), where=norms > 0)
    shares = np.exp(logs - logs.max())
    shares[shares < faint] = 0.0
    return np.asarray(shares / np.linalg.norm(shares))


def _unit(target: Array, where: str = "row", *, among: Array | None = None) -> tuple[Array, float]:
    """y / ‖y‖ and ‖y‖, without overflow; y itself and 0 if it is zero.

    How many entries are not finite is told of all targets that it is `among`.
    """
    # BLAS sums what lies apart in another order, and where scores are tied the last digit decides.
    inner = target = np.ascontiguousarray(target)
    if target.dtype.char in "fF":  # whose squares are all in the range of double precision
        inner = target.astype(np.complex128 if target.dtype.kind == "c" else np.float64)
    squared = float(np.vdot(inner, inner).real)
    if 1e-200 < squared < 1e200:
        norm = math.sqrt(squared)
        return inner / norm, norm
    largest = float(np.abs(target).max())
    if not math.isfinite(largest):
        first = int(np.argmin(np.isfinite(target)))
        bad = ~np.isfinite(target if among is None else among)
        raise not_finite("y", int(bad.sum()), f"{where} {first}")
    if largest == 0.0:
        return target, 0.0
    inner, power = near_one(target, largest)
    norm = math.sqrt(np.vdot(inner, inner).real)
    with np.errstate(over="ignore"):
        scale = float(np.ldexp(norm, power))
    if scale == math.inf:
        raise InputError(
            f"has a norm beyond the range of {target.dtype}",
            "divide it by a power of ten.",
            parameter="y",
        )
    return inner / norm, scale
