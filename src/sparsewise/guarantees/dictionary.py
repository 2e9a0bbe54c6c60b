"""Properties of a dictionary: coherence, Babel function, exact recovery (section 4.1)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np

from sparsewise._typing import Array
from sparsewise._util.parameters import check_columns, check_whole
from sparsewise._util.progress import waiting
from sparsewise.design import Design, as_design
from sparsewise.design.base import BLOCK_BYTES
from sparsewise.design.unit_columns import is_dependent, projections, unit_factor
from sparsewise.errors import InputError


def coherence(A: Any) -> float:
    """The coherence μ = max |⟨a_i, a_j⟩| over different columns, scaled to unit norm (Def. 4.1).

    Parameters
    ----------
    A : array-like, sparse matrix, operator or Design of shape (n, m)
        The dictionary.

    Returns
    -------
    float
        Between 0 (orthogonal columns) and 1 (some column is a multiple of another).
    """
    return float(babel_or_zero(as_design(A), 1)[0])


def babel(A: Any, k: int) -> Array:
    """The Babel function μ₁(1), …, μ₁(k) of unit columns (Def. 4.2, Tropp 2004).

    μ₁(k) = max Σ_j |⟨a_i, a_j⟩| over a column a_i and any k others. It takes all inner products,
    O(n m²), computed for a block of columns at a time: memory is O(m·block).

    Parameters
    ----------
    A : array-like, sparse matrix, operator or Design of shape (n, m)
        The dictionary. Columns of zeros count as orthogonal to all others.
    k : int
        The number of other columns to sum over, between 1 and m - 1.

    Returns
    -------
    ndarray of shape (k,)
        μ₁(1), which is the coherence, to μ₁(k).
    """
    design = as_design(A)
    m = design.shape[1]
    if m == 1:
        raise InputError(
            "has a single column, and no others to compare it with", "give it more.", parameter="A"
        )
    most = check_whole(k, "k", 1, m - 1)
    highest = np.zeros(most)
    for _, inner in inner_products(design):
        np.maximum(highest, largest_sums(inner, most).max(axis=1), out=highest)
    return highest


def babel_or_zero(design: Design, k: int) -> Array:
    """The Babel function up to μ₁(k), or μ₁(m - 1) if that is less; zero of a single column."""
    m = design.shape[1]
    if m > 1:
        return babel(design, min(k, m - 1))
    design.norms()  # which have to be numbers
    return np.zeros(1)


class ExactRecovery(NamedTuple):
    """The exact recovery condition of a support.

    Attributes
    ----------
    value : float
        max over columns j outside S of ‖A_S⁺ a_j‖₁.
    holds : bool
        Whether that is below 1.
    """

    value: float
    holds: bool


def exact_recovery(A: Any, support: Iterable[int]) -> ExactRecovery:
    """The exact recovery condition max_{j ∉ S} ‖A_S⁺ a_j‖₁ < 1 of a support S (Thm. 4.3).

    If it holds, OMP, Forward Regression and Basis Pursuit recover every x supported on S from
    y = A x; if not, OMP and Forward Regression fail for some such x (Tropp 2004; Soussen et al.
    2013). Columns are scaled to unit norm first.

    Parameters
    ----------
    A : array-like, sparse matrix, operator or Design of shape (n, m)
        The dictionary.
    support : iterable of int
        The columns S.

    Returns
    -------
    ExactRecovery
        The value, and whether it is below 1. It is infinite for dependent columns.
    """
    design = as_design(A)
    m = design.shape[1]
    columns = np.array(check_columns(support, m, "support"), np.int64)
    outside = np.ones(m, bool)
    outside[columns] = False
    Q, R = unit_factor(design, columns)
    if is_dependent(R, design):
        return ExactRecovery(np.inf, False)
    if not columns.size or not outside.any():
        return ExactRecovery(0.0, True)
    P = projections(design, Q)[outside]
    weights = np.linalg.solve(R, P.conj().T)  # R is triangular: LU leaves it as it is
    value = float(np.abs(weights).sum(axis=0).max())
    return ExactRecovery(value, value < 1)


def inner_products(design: Design) -> Iterator[tuple[slice, Array]]:
    """|⟨a_i, a_j⟩| of unit columns, for all i (rows) and a block of columns j; 0 for i = j."""
    n, m = design.shape
    width = max(16, BLOCK_BYTES // (max(n, m) * design.dtype.itemsize))
    with waiting("comparing all columns", m) as wait:
        for first in range(0, m, width):
            block = slice(first, min(first + width, m))
            inner = np.abs(projections(design, design.unit_columns(block)))
            inner[np.arange(block.start, block.stop), np.arange(inner.shape[1])] = 0
            yield block, np.minimum(inner, 1, out=inner)
            wait.update(width)


def largest_sums(inner: Array, most: int) -> Array:
    """Sums of the largest 1, …, `most` entries of each column, one row per number of entries."""
    if most < len(inner):
        inner = np.partition(inner, len(inner) - most, axis=0)[-most:]
    ordered = -np.sort(-inner, axis=0)
    return np.cumsum(ordered, axis=0, dtype=np.float64)
