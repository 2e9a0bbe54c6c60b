"""The noise of a table, told before a model is chosen."""

from __future__ import annotations

from typing import Any

import numpy as np

from sparsewise._typing import Array
from sparsewise._util.text import count
from sparsewise.algorithms import rmp
from sparsewise.design import DenseDesign
from sparsewise.errors import Parameter, TooFewRowsError
from sparsewise.model_selection.data import Data
from sparsewise.suffstats.triangle import condense_design


def residual_variance(data: Data) -> float | None:
    """s², the residual variance of least squares on all features; None for too few rows."""
    if data.saturates:
        return None
    if data.total == 0:
        return 0.0
    loss, rank = _dense(data) if data.design.dense else _iterative(data)
    left = data.rows - rank - data.intercept
    return 0.0 if data.is_exact(loss) else loss / left


def inferred_variance(data: Data) -> float:
    """The same; for too few rows as Sparse Bayesian Learning infers it."""
    variance = residual_variance(data)
    if variance is None:
        check_rows(data)
        return float(data.run(rmp).sigma) ** 2
    return variance


def check_rows(data: Data) -> None:
    """Refuse tables where flat priors explain any target, and nothing tells the noise."""
    included = len(data.include)
    if data.rows > included + data.intercept:
        return
    flat = [count(included, "included feature")] if included else []
    flat += ["the intercept"] if data.intercept else []
    weights = Parameter("sample_weight")
    by_weight = (", by the sum of ", weights, ",") if data.is_weighted else ()
    rest = f" can't tell the noise besides {' and '.join(flat)}: more are needed."
    raise TooFewRowsError((f"{data.rows:g} rows", *by_weight, rest))


def _dense(data: Data) -> tuple[float, int]:
    """Loss and rank of all features, by singular values."""
    design, (Y, sizes) = data.design, _units(data)
    if not isinstance(design, DenseDesign):  # large, so that its triangle is all there should be
        design, Y = condense_design(design, Y)
    U = design.unit_columns(_open(data))
    X, _, rank, _ = np.linalg.lstsq(U, Y.T, rcond=None)
    rest = Y - (U @ X).T
    losses = [
        float(np.sum(np.square(r))) * size * size for r, size in zip(rest, sizes, strict=True)
    ]
    return float(data.mean_loss(np.array(losses))), int(rank)


def _units(data: Data) -> tuple[Array, list[float]]:
    """Targets of norm one, in rows, and their norms; but for those of zeros."""
    Y = data.target.T if data.multi_target else data.target[None]
    sizes = [float(np.linalg.norm(y)) or 1.0 for y in Y]
    return np.array([y / size for y, size in zip(Y, sizes, strict=True)]), sizes


def _iterative(data: Data) -> tuple[float, int]:
    """The same by products alone; features are taken to be independent unless zero."""
    from scipy.sparse.linalg import LinearOperator, lsmr

    design = data.design
    scale = np.zeros(design.shape[1])
    scale[_open(data)] = design.inverse_norms()[_open(data)]
    operator = LinearOperator(
        design.shape,
        matvec=lambda x: design.matvec((scale * np.ravel(x)).astype(design.dtype)),
        rmatvec=lambda r: scale * design.rmatvec(np.ravel(r).astype(design.dtype)),
        dtype=design.dtype,
    )
    tight: dict[str, Any] = {"atol": 1e-10, "btol": 1e-10, "maxiter": 10 * min(design.shape)}
    norms = [
        float(lsmr(operator, y, **tight)[3]) * size for y, size in zip(*_units(data), strict=True)
    ]
    return float(data.mean_loss(np.square(norms))), int(np.count_nonzero(scale))


def _open(data: Data) -> Array:
    """The features that may be in a model."""
    return np.delete(np.arange(data.design.shape[1]), data.exclude)
