"""Rows of which nothing is left but sums of squares and products, as a triangle.

The root of a Gram matrix has the inner products of the columns that it was made of, and but for
digits no algorithm can tell it from these. Sums are rounded to eps, and so are squares of lengths;
of lengths themselves √eps is known. The triangle says so (`Triangle.error`), and what is dependent,
tied, exact or but rounding is judged by that.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from sparsewise._typing import Array
from sparsewise._util.parameters import check_number
from sparsewise._util.text import count
from sparsewise.design.base import CONSTANT, precision
from sparsewise.design.choose import as_floats
from sparsewise.errors import InputError
from sparsewise.suffstats.condensed import Condensed, column_names
from sparsewise.suffstats.triangle import Triangle


def from_gram(
    G: ArrayLike,
    Xty: ArrayLike,
    yty: ArrayLike,
    n: float,
    *,
    X_mean: ArrayLike | None = None,
    y_mean: ArrayLike | None = None,
) -> Condensed:
    """Rows of which nothing is left but sums of squares and products.

    Parameters
    ----------
    G : array-like, data frame or sparse matrix of shape (m, m)
        X*X: the inner products of the features, not centred; Σ w x_i x_j where rows have weights.
    Xty : array-like of shape (m,) or (m, q)
        X*y: those of the features with the target, or with several, one a column.
    yty : float, or array-like of shape (q, q) or (q,)
        ‖y‖². Of several targets Y*Y, or the squares alone: what the features (and the means, if
        they are known) don't explain of them then counts as uncorrelated. That is of no consequence
        but for how many independent targets there are, by which `solve` charges a feature.
    n : float
        How many rows there were, or Σ w.
    X_mean : array-like of shape (m,), optional
        The means of the features, Σ w x / n: without them no intercept can be taken out.
    y_mean : float or array-like of shape (q,), optional
        That of the target, or of each.

    Returns
    -------
    Condensed
        As from the rows themselves, but for their digits.

    Notes
    -----
    Half of the digits are gone: in double precision a column of which less than a thousandth is
    left beside others counts as dependent on them, coefficients that explain less than a millionth
    of the target can't be told from zero, and a residual of that size is an exact fit. With columns
    of condition number κ, coefficients are off by κ² eps where those from the rows are by κ eps
    (1000 rows of 10 features, medians):

    ======  =============  ===============
    κ       from the rows  from sums
    ======  =============  ===============
    1       4e-16          1e-15
    100     1e-15          4e-13
    1000    4e-14          4e-11
    10⁴     6e-13          3e-9
    10⁵     9e-12          (dependent)
    ======  =============  ===============

    An intercept costs further digits where columns are far from zero, as many as the square of mean
    over standard deviation has; beyond a ratio of some 10⁵ it is refused, and a column that can't
    be told from a constant counts as one. Sums about numbers near the means save these digits: with
    c_j taken from each column first, coefficients are the same. In single precision a column counts
    as dependent of which less than a seventh is left: sum in double precision, whatever the rows
    are in.

    Examples
    --------
    >>> import numpy as np, sparsewise as sw
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((1000, 20))
    >>> y = X[:, [3, 7]] @ [2.0, -1.0] + 0.1 * rng.standard_normal(1000)
    >>> rows = sw.from_gram(X.T @ X, X.T @ y, y @ y, 1000, X_mean=X.mean(axis=0), y_mean=y.mean())
    >>> sw.forward(*rows.system(), sparsity=2).support
    array([3, 7])
    """
    sums = _checked(G, Xty, yty, n, X_mean, y_mean)
    several = np.ndim(Xty) == 2
    return Condensed.from_triangles(
        {None: _root(sums)},
        n_features=sums.features,
        feature_names=column_names(G),
        n_targets=len(sums.M) - sums.features if several else None,
        target_names=column_names(Xty) if several else None,
        dtype=sums.dtype,
    )


class _Sums(NamedTuple):
    """Sums over rows, in double precision.

    Attributes
    ----------
    M : ndarray of shape (m + q, m + q)
        Inner products of the features and the targets, [[G, X*Y], [Y*X, Y*Y]].
    features : int
        m.
    squares : bool
        Whether of Y*Y but the diagonal is known.
    n : float
        Σ w.
    means : ndarray of shape (m + q,) or None
        If they are known.
    dtype : numpy.dtype
        That of the features, complex if anything is.
    eps : float
        That of the least precise.
    """

    M: Array
    features: int
    squares: bool
    n: float
    means: Array | None
    dtype: np.dtype[Any]
    eps: float


def _checked(G: Any, Xty: Any, yty: Any, n: Any, X_mean: Any, y_mean: Any) -> _Sums:
    """What was given, if it is what it says; whether it fits together is seen by its root."""
    if getattr(G, "dtype", None) == np.float16:
        raise InputError("has too few digits in half precision: use double.", parameter="G")
    gram = _numbers(G.toarray() if hasattr(G, "toarray") else G, "G")
    if gram.ndim != 2 or gram.shape[0] != gram.shape[1] or not gram.size:
        raise InputError(f"must be square, but its shape is {gram.shape}.", parameter="G")
    m, products = len(gram), _products(Xty, len(gram))
    q = () if products.ndim == 1 else products.shape[1:]
    given = [gram, products, squares := _squares(yty, q)]
    weight = check_number(n, "n")
    if not 1 <= weight < math.inf:
        raise InputError(f"must be a number of rows, at least 1, not {n}.", parameter="n")
    if (X_mean is None) != (y_mean is None):
        missing = "X_mean" if X_mean is None else "y_mean"
        raise InputError("is missing: an intercept needs all means.", parameter=missing)
    if X_mean is not None:
        given += [_numbers(X_mean, "X_mean", (m,)), _numbers(y_mean, "y_mean", q, "target")]
    eps = max(float(precision(each.dtype).eps) for each in given)
    corner = _hermitian(squares, eps, "yty") if squares.ndim == 2 else np.diag(np.ravel(squares))
    beside = products.reshape(m, -1)
    M = np.block([[_hermitian(gram, eps, "G"), beside], [beside.conj().T, corner]])
    M = M.astype(np.result_type(M, np.float64), copy=False)
    _check_squares(M, m)
    dtype = np.result_type(gram, np.complex64) if M.dtype.kind == "c" else gram.dtype
    means = np.append(*given[3:]) if given[3:] else None
    return _Sums(M, m, squares.ndim == 1, weight, means, dtype.newbyteorder("="), eps)


def _products(Xty: Any, m: int) -> Array:
    """Inner products of the features with a target, or with several, one a column."""
    if np.ndim(Xty) != 2:
        return _numbers(Xty, "Xty", (m,))
    products = _numbers(Xty, "Xty", (m, np.shape(Xty)[1]))
    if not products.size:
        raise InputError("has no columns, and so no targets.", parameter="Xty")
    return products


def _squares(yty: Any, q: tuple[int, ...]) -> Array:
    """‖y‖²; of several targets Y*Y, or what is on its diagonal."""
    if np.ndim(yty) == 2:
        return _numbers(yty, "yty", (*q, *q), "target")
    squares = _numbers(yty, "yty", q, "target")
    if np.any(squares.imag):
        kind = "sums of squares, real numbers" if q else "a sum of squares, a real number"
        raise InputError(f"must be {kind}, not {yty}.", parameter="yty")
    return squares.real


def _numbers(
    values: Any, name: str, shape: tuple[int, ...] | None = None, per: str = "column of G"
) -> Array:
    """Finite numbers of this shape."""
    array = as_floats(values, name)
    if shape is not None and array.shape != shape:
        entry = "row" if len(shape) == 2 else "entry"
        wanted = f"have shape {shape}, one {entry} per {per}" if shape else "be a number"
        raise InputError(f"must {wanted}, but its shape is {array.shape}.", parameter=name)
    bad = np.argwhere(~np.isfinite(array))
    if len(bad):
        axes = zip(("row", "column"), bad[0], strict=False)
        where = ", ".join(f"{axis} {i}" for axis, i in axes)
        wrong = f"has {count(len(bad), 'entry', 'entries')} NaN or infinite, the first at {where}"
        raise InputError(
            wrong if where else f"must be finite, not {array}",
            "sum rows without gaps, scaled so that squares are in range.",
            parameter=name,
        )
    return array


def _hermitian(gram: Array, eps: float, name: str) -> Array:
    """The same on both sides of the diagonal, as it is but for rounding."""
    mirrored = gram.conj().T
    sizes = np.sqrt(np.abs(gram.diagonal()))
    beyond = np.abs(gram - mirrored) > CONSTANT**2 * eps * sizes * sizes[:, None]
    if beyond.any():
        i, j = np.argwhere(beyond)[0].tolist()
        raise InputError(
            f"must be symmetric (Hermitian, if complex), but its entries ({i}, {j}) and ({j}, {i}) "
            f"are {gram[i, j]:.6g} and {gram[j, i]:.6g}.",
            parameter=name,
        )
    return (gram + mirrored) / 2


def _check_squares(M: Array, m: int) -> None:
    """Refuse squares that are none, or that are so small that digits are lost."""
    for j, square in enumerate(M.diagonal().real.tolist()):
        of_target = "" if len(M) == m + 1 else f" for target {j - m}"
        name, where = ("G", f" on its diagonal, column {j}") if j < m else ("yty", of_target)
        if square < 0 or (square == 0 and M[j].any()):
            besides = "" if square < 0 else ", and inner products besides that aren't zero"
            wrong = f"has {square:g}{where}{besides}: that is no sum of squares."
            raise InputError(wrong, parameter=name)
        if 0 < square < precision(M.dtype).tiny / precision(M.dtype).eps:
            wrong = f"has {square:g}{where}, which is too small for its digits"
            raise InputError(wrong, "scale the data.", parameter=name)


def _root(sums: _Sums) -> Triangle:
    """The triangle of rows that have these sums.

    With T = V Λ V* the inner products about the means, in units of the norms D that columns have
    about zero (so that rounding is the same everywhere), QR of Λ^½ V* D makes it.
    """
    columns = len(sums.M)
    norms, level, T = _about_means(sums)
    if sums.squares:
        T = _uncorrelated(T, sums.features, sums.eps)
    left = T.diagonal().real
    size = np.where(left > CONSTANT * sums.eps, np.sqrt(np.maximum(left, 0.0)) * norms, 0.0)
    root, eps = _square_root(T, sums.features, sums.eps)
    R = np.asarray(np.linalg.qr(root, mode="r")) * np.where(size > 0, norms, 0.0)

    whole = np.zeros((max(1 + len(R), min(math.ceil(sums.n), 1 + columns)), 1 + columns), R.dtype)
    whole[0, 0] = math.sqrt(sums.n)
    whole[1 : 1 + len(R), 1:] = R
    triangle = replace(
        Triangle.empty(columns), R=whole, shift=level, error=math.sqrt(eps) * norms, eps=sums.eps,
        has_means=sums.means is not None, weight=sums.n, count=math.ceil(sums.n),
    )  # fmt: skip
    triangle.fit_powers(size)
    return triangle


def _about_means(sums: _Sums) -> tuple[Array, Array, Array]:
    """The norms of the columns, their means or zeros, and inner products about these.

    In units of the norms: squares of the columns are 1, less what the means take.
    """
    norms = np.sqrt(sums.M.diagonal().real)
    unit = np.where(norms > 0, norms, 1.0)
    T = sums.M / unit / unit[:, None]
    if sums.means is None:
        return norms, np.zeros(len(norms)), T
    with np.errstate(over="ignore"):
        taken = math.sqrt(sums.n) * (sums.means / unit)
        excess = np.square(np.abs(taken)) - (norms > 0)
    j = int(np.argmax(excess))
    if not excess[j] <= math.sqrt(sums.eps):
        target = j - sums.features
        of_target = "yty" if len(norms) == sums.features + 1 else f"that of target {target} in yty"
        of, square = ("X_mean", f"G[{j}, {j}]") if target < 0 else ("y_mean", of_target)
        raise InputError(
            f"and n don't belong to {square}, which is {norms[j] ** 2:.6g}: n times the square of "
            f"a mean of {sums.means[j]:.6g} is more than that.",
            parameter=of,
        )
    return norms, sums.means, T - np.multiply.outer(taken.conj(), taken)


def _uncorrelated(T: Array, m: int, eps: float) -> Array:
    """The same where products of targets are those of what the features explain of them."""
    inverse = np.linalg.pinv(T[:m, :m], rcond=len(T) * eps, hermitian=True)
    explained = T[m:, :m] @ inverse @ T[:m, m:]
    np.fill_diagonal(explained, T.diagonal()[m:])
    told = T.copy()
    told[m:, m:] = (explained + explained.conj().T) / 2
    return told


def _square_root(T: Array, m: int, eps: float) -> tuple[Array, float]:
    """Λ^½ V*, without what is rounding, and the rounding that T shows: at least eps.

    Entries are off by eps, and eigenvalues by eps for each row. Where one is negative, sums are off
    by as much as that says.
    """
    values, V = np.linalg.eigh(T)
    shown = -float(values[0]) / len(T)
    if shown > math.sqrt(eps):
        of_features = np.linalg.eigvalsh(T[:m, :m])
        if of_features.min(initial=0.0) < -len(T) * math.sqrt(eps):
            wrong, values = "is no matrix of inner products", of_features
        else:
            wrong = "does not go with Xty and yty: one of them is of other rows"
        raise InputError(
            f"{wrong}, as the least eigenvalue, of unit columns, is {values[0]:.2g}, where 0 is "
            "the least there is.",
            parameter="G",
        )
    level = max(eps, shown)
    real = values > len(T) * level
    return np.sqrt(values[real])[:, None] * V[:, real].conj().T, level
