"""Columns scaled to unit norm: their QR factor, and projections onto them."""

from __future__ import annotations

from typing import Any

import numpy as np

from sparsewise._typing import Array
from sparsewise.design.base import Design, square_sums
from sparsewise.errors import InputError


def precise_unit_columns(design: Design, columns: Array) -> Array:
    """These columns scaled to unit norm, in double precision; zeros stay zeros."""
    norms = design.norms()[columns]
    values = design.columns(columns)
    return values.astype(np.result_type(values.dtype, np.float64)) / np.where(norms > 0, norms, 1)


def unit_factor(design: Design, columns: Array) -> tuple[Array, Array]:
    """Q and R of these columns scaled to unit norm, in double precision."""
    Q, R = np.linalg.qr(precise_unit_columns(design, columns))
    return Q, R


def damp_factor(R: Array, ridge: float) -> tuple[Array, Array]:
    """Q and T of [R; √ridge I] = [Q; …] T, where R is that of unit columns: T*T = R*R + ridge I.

    With A = P R, the ridge fit is z = T⁻¹ B*y and its hat matrix B B*, for B = P Q = A T⁻¹.
    """
    k = R.shape[1]
    Q, T = np.linalg.qr(np.vstack([R, ridge**0.5 * np.eye(k)]))
    return Q[: len(R)], T


def is_dependent(R: Array, design: Design) -> bool:
    """Whether unit columns with this R are dependent at the precision of the data."""
    if len(R) < R.shape[1] or not np.diagonal(R).all():
        return True
    size = float(square_sums(inverse_of_triangle(R)).sum())
    return not design.tolerances.tells_apart(size)


def inverse_of_triangle(R: Array) -> Array:
    """U = R⁻¹, each column by back substitution: R U is I to rounding, however ill-conditioned."""
    return np.triu(divide_by_triangle(R, np.eye(len(R), dtype=R.dtype)))


def divide_by_triangle(R: Array, b: Array) -> Array:
    """R⁻¹ b by back substitution."""
    if not len(R):
        return b
    from scipy.linalg import get_lapack_funcs

    trtrs: Any = get_lapack_funcs("trtrs", (R, b))
    return np.asarray(trtrs(R, b)[0])


def projections(design: Design, V: Array) -> Array:
    """⟨a_j, v⟩ of every unit column a_j and every column v of V, in one pass over A."""
    dtype = np.result_type(design.dtype, np.complex64) if V.dtype.kind == "c" else design.dtype
    inverse = design.inverse_norms()
    with np.errstate(over="ignore", invalid="ignore"):
        products = design.rmatmat(V.astype(dtype, copy=False)) * inverse[:, None]
    if not np.isfinite(products).all():
        raise InputError(
            "gives products A*v that are NaN or infinite",
            "correct the operator, or scale A.",
            parameter="A",
        )
    return products
