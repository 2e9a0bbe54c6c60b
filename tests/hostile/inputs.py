"""Hostile matrices, targets and containers, drawn for a case; nothing here asks the library.

A matrix is drawn as an array, its columns are rescaled, and only then is it put into one of the
containers that a user may hold it in: the array stays the truth that oracles compute with.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sparse
from numpy.typing import NDArray
from scipy.sparse.linalg import LinearOperator, aslinearoperator

from tests.hostile.campaign import Case

Array = NDArray[Any]
Rng = np.random.Generator


# --- sizes ---------------------------------------------------------------------------------------


def shape(case: Case, most: int = 24, large: float = 0.0) -> tuple[int, int]:
    """Rows and columns: tall, wide, square, a single row or column; large with this probability."""
    if case.chance(large):
        return case.choose((60, 1100), (150, 450), (1100, 60))
    kind = case.choose("tall", "tall", "wide", "wide", "square", "any", "one row", "one column")
    low, high = sorted(case.rng.integers(2, most + 1, 2).tolist())
    if kind == "tall":
        return high + 1, low
    if kind == "wide":
        return low, high + 1
    if kind == "square":
        return low, low
    if kind == "one row":
        return 1, low
    if kind == "one column":
        return low, 1
    return tuple(case.rng.integers(1, most + 1, 2).tolist())


# --- matrices ------------------------------------------------------------------------------------


def gaussian(rng: Rng, n: int, m: int) -> Array:
    return rng.standard_normal((n, m))


def complex_gaussian(rng: Rng, n: int, m: int) -> Array:
    return rng.standard_normal((n, m)) + 1j * rng.standard_normal((n, m))


def orthonormal(rng: Rng, n: int, m: int) -> Array:
    """Orthonormal columns; of a wide matrix its rows are."""
    Q = np.linalg.qr(rng.standard_normal((max(n, m), min(n, m))))[0]
    return Q if n >= m else Q.T


def identity(rng: Rng, n: int, m: int) -> Array:
    """Unit vectors, each perhaps more than once."""
    return np.eye(n)[:, rng.integers(n, size=m)]


def few_integers(rng: Rng, n: int, m: int) -> Array:
    """Small integers: exact ties, zero and constant columns."""
    return rng.integers(-1, 2, (n, m)).astype(float)


def copies(rng: Rng, n: int, m: int) -> Array:
    """Copies, negated and rescaled ones (by powers of two, and by other numbers)."""
    base = rng.standard_normal((n, (m + 1) // 2))
    factors = rng.choice([1.0, -1.0, 2.0, -0.5, 3.0, -0.1], m)
    return base[:, rng.integers(base.shape[1], size=m)] * factors


def close_columns(rng: Rng, n: int, m: int) -> Array:
    """Columns that agree to some 2 to 14 digits."""
    digits = rng.uniform(2, 14)
    base = rng.standard_normal((n, 1 + m // 3))[:, rng.integers(1 + m // 3, size=m)]
    return base + 10.0**-digits * rng.standard_normal((n, m))


def vandermonde(rng: Rng, n: int, m: int) -> Array:
    """Powers of points, as of a polynomial fit."""
    low = rng.choice([-1.0, 0.0, 1.0])
    high = rng.choice([1.5, 2.0, 10.0]) ** min(1.0, 25 / m)
    return np.vander(np.linspace(low, high, n), m, increasing=True)


def hilbert(rng: Rng, n: int, m: int) -> Array:
    return 1.0 / (1 + np.arange(n)[:, None] + np.arange(m))


def rank_deficient(rng: Rng, n: int, m: int) -> Array:
    rank = int(rng.integers(1, min(n, m) + 1))
    return rng.standard_normal((n, rank)) @ rng.standard_normal((rank, m))


def decaying(rng: Rng, n: int, m: int) -> Array:
    """Coherent columns: most of them along few directions."""
    k = min(n, m)
    return (rng.standard_normal((n, k)) / np.arange(1, k + 1) ** 2) @ rng.standard_normal((k, m))


def zero_columns(rng: Rng, n: int, m: int) -> Array:
    A = rng.standard_normal((n, m))
    A[:, rng.random(m) < 0.4] = 0.0
    return A


def constant_columns(rng: Rng, n: int, m: int) -> Array:
    A = rng.standard_normal((n, m))
    A[:, rng.random(m) < 0.3] = rng.choice([1.0, -3.0, 0.1])
    return A


def large_means(rng: Rng, n: int, m: int) -> Array:
    """Columns that differ from constants by a millionth."""
    return 1e6 + rng.standard_normal((n, m))


def sparse_entries(rng: Rng, n: int, m: int) -> Array:
    """Mostly zeros."""
    return rng.standard_normal((n, m)) * (rng.random((n, m)) < 0.3)


MATRICES: dict[str, Callable[[Rng, int, int], Array]] = {
    function.__name__: function
    for function in (
        gaussian, complex_gaussian, orthonormal, identity, few_integers, copies, close_columns,
        vandermonde, hilbert, rank_deficient, decaying, zero_columns, constant_columns,
        large_means, sparse_entries,
    )
}  # fmt: skip

#: Matrices without ties or near dependence (almost surely, and if they are not too wide).
GENERIC = ("gaussian", "complex_gaussian")


def rescaled(case: Case, A: Array) -> Array:
    """A with columns, or all of it, in other units: by a power of ten, up to the last."""
    with np.errstate(over="ignore", under="ignore"):
        kind = case.choose("one column", "some", "all", "each", "denormal", "largest")
        m = A.shape[1]
        factors = np.ones(m)
        power = float(case.choose(6, 20, 100, 150, -6, -20, -100, -150))
        if kind == "one column":
            factors[case.rng.integers(m)] = 10.0**power
        elif kind == "some":
            factors[case.rng.random(m) < 0.5] = 10.0**power
        elif kind == "all":
            factors[:] = 10.0 ** float(case.choose(8, 150, 200, 300, -8, -150, -200, -300))
        elif kind == "each":
            factors = 10.0 ** case.rng.uniform(-8, 8, m)
        elif kind == "denormal":
            factors[case.rng.random(m) < 0.5] = 10.0 ** float(case.choose(-305, -308, -312, -320))
        else:
            factors[case.rng.random(m) < 0.5] = 1e307 / max(float(np.abs(A).max()), 1.0)
        case.note(columns=kind, factor=float(factors[np.argmax(np.abs(np.log10(factors)))]))
        B = A * factors
    return B if np.isfinite(B).all() else A


def matrix(
    case: Case, *, kinds: tuple[str, ...] = tuple(MATRICES), most: int = 24, large: float = 0.0
) -> Array:
    """A matrix of one of these kinds, float64 or complex128, in units of its own.

    `large` is the probability of more than 65,536 entries.
    """
    kind = case.choose(*kinds)
    A = MATRICES[kind](case.rng, *shape(case, most, large))
    case.note(matrix=kind, shape=A.shape)
    if case.chance(0.3):
        A = rescaled(case, A)
    return A


# --- targets -------------------------------------------------------------------------------------


def balanced(A: Array) -> tuple[Array, Array]:
    """The columns times powers of two, so that their largest entries are near one; the powers.

    Nothing is rounded. Columns of zeros stay as they are; a vector is one column.
    """
    size = np.maximum(np.abs(A.real), np.abs(A.imag)).max(axis=0, initial=0.0)
    power = np.frexp(size)[1]
    if np.iscomplexobj(A):
        B = np.empty_like(A)
        B.real, B.imag = np.ldexp(A.real, -power), np.ldexp(A.imag, -power)
        return B, power
    return np.ldexp(A, -power), power


def unit(A: Array) -> Array:
    """The columns at unit norm; zeros stay zeros."""
    B = balanced(A)[0]
    length = np.linalg.norm(B, axis=0)
    return B / np.where(length > 0, length, 1.0)


def target(case: Case, A: Array) -> Array:
    """A target for A: planted, random, in the span, zero; at scales from 1e-300 to 1e300."""
    rng, (n, m) = case.rng, A.shape
    kind = case.choose("planted", "planted", "random", "random", "in the span", "zero", "a column")
    U = unit(A)
    few = rng.choice(m, min(m, 1 + int(rng.integers(4))), replace=False)
    if kind == "planted":
        y = U[:, few] @ rng.standard_normal(few.size) + 0.05 * rng.standard_normal(n)
    elif kind == "random":
        y = rng.standard_normal(n)
    elif kind == "in the span":
        y = U[:, few] @ rng.integers(1, 5, few.size).astype(float)
    elif kind == "zero":
        y = np.zeros(n) if case.chance(0.3) else rng.standard_normal(n)
    else:
        y = U[:, few[0]] * 2.0
    if case.chance(0.1):
        y = y * (1 + 0.5j)
    power = 0.0
    if case.chance(0.25):
        power = float(case.choose(6, 20, 160, 200, 300, -6, -20, -160, -200, -300, -310))
    case.note(target=kind, power=power, complex=bool(np.iscomplexobj(y)))
    return y * 10.0**power


# --- containers ----------------------------------------------------------------------------------


class Duck:
    """An operator by its methods alone: no base class, no columns, no dtype."""

    def __init__(self, A: Array) -> None:
        self.shape, self._A = A.shape, A

    def matvec(self, x: Array) -> Array:
        return self._A @ x

    def rmatvec(self, v: Array) -> Array:
        return self._A.conj().T @ v


def strided(A: Array) -> Array:
    """Every second column and every third row of an array of NaN."""
    gap = np.nan if A.dtype.kind in "fc" else 1
    room = np.full((3 * A.shape[0], 2 * A.shape[1]), gap, A.dtype)
    view = room[::3, ::2]
    view[...] = A
    return view


def read_only(A: Array) -> Array:
    A = A.copy()
    A.flags.writeable = False
    return A


def memory_map(A: Array) -> Array:
    """A in a file, which is gone from the folder but not from memory."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "A.npy"
        np.save(path, A)
        return np.load(path, mmap_mode="r")


def with_duplicates(A: Array) -> Any:
    """Compressed columns in which every entry is stored twice, in halves, with explicit zeros."""
    n, m = A.shape
    rows = np.tile(np.repeat(np.arange(n)[::-1], 2), m)
    halves = (A[rows, np.repeat(np.arange(m), 2 * n)]) / 2
    return sparse.csc_array((halves, rows, 2 * n * np.arange(m + 1)), shape=A.shape)


def long_indices(A: Array) -> Any:
    """Compressed rows with indices of eight bytes."""
    S = sparse.csr_array(A)
    S.indices, S.indptr = S.indices.astype(np.int64), S.indptr.astype(np.int64)
    return S


def lists_for_products(A: Array) -> LinearOperator:
    """An operator whose products are columns of shape (n, 1)."""
    return LinearOperator(
        A.shape, matvec=lambda x: (A @ x).reshape(-1, 1),
        rmatvec=lambda v: (A.conj().T @ v).reshape(-1, 1), dtype=A.dtype,
    )  # fmt: skip


class Convertible:
    """Something that NumPy can turn into an array, and no more."""

    def __init__(self, A: Array) -> None:
        self._A = A

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        return self._A if dtype is None else self._A.astype(dtype)


class Subclass(np.ndarray):
    """An array of a type of its own."""


def overlapping(A: Array) -> Array:
    """Rows or columns that share their memory, where they are all the same; else A itself."""
    if (A[:, :1] == A).all():
        return np.broadcast_to(A[:, :1], A.shape)
    return np.broadcast_to(A[:1], A.shape) if (A[:1] == A).all() else A


def pandas_frame(A: Array) -> Any:
    import pandas as pd

    return pd.DataFrame(A, columns=[f"x{j}" for j in range(A.shape[1])])


def polars_frame(A: Array) -> Any:
    import polars as pl

    return pl.DataFrame(A) if A.dtype.kind == "f" else A


#: Ways to hold a matrix, every number as it is.
CONTAINERS: dict[str, Callable[[Array], Any]] = {
    "C order": np.ascontiguousarray,
    "Fortran order": np.asfortranarray,
    "strided": strided,
    "strided columns": lambda A: strided(A.T).T,
    "negative strides": lambda A: A[::-1, ::-1].copy()[::-1, ::-1],
    "read-only": read_only,
    "memory map": memory_map,
    "foreign bytes": lambda A: A.astype(A.dtype.newbyteorder()),
    "list": lambda A: A.tolist(),
    "np.matrix": lambda A: A.view(np.matrix),
    "masked array": np.ma.asarray,
    "subclass": lambda A: A.view(Subclass),
    "convertible": Convertible,
    "tuples": lambda A: tuple(map(tuple, A.tolist())),
    "overlapping": overlapping,
    "objects": lambda A: A.astype(object),
    "pandas": pandas_frame,
    "polars": polars_frame,
    "csc_array": sparse.csc_array,
    "csr_array": sparse.csr_array,
    "coo_array": sparse.coo_array,
    "bsr_array": sparse.bsr_array,
    "dok_array": sparse.dok_array,
    "lil_array": sparse.lil_array,
    "dia_array": sparse.dia_array,
    "csr_matrix": sparse.csr_matrix,
    "with duplicates": with_duplicates,
    "long indices": long_indices,
    "LinearOperator": aslinearoperator,
    "columns for products": lists_for_products,
    "duck": Duck,
}  # fmt: skip

#: Those that hold an array in memory.
ARRAYS = tuple(list(CONTAINERS)[: list(CONTAINERS).index("csc_array")])


def container(case: Case, A: Array, *, among: tuple[str, ...] = tuple(CONTAINERS)) -> Any:
    """A in one of these containers, every number as it is."""
    name = case.choose(*among)
    if A.dtype == np.float16 and name not in ARRAYS:
        name = "C order"  # SciPy has no such type
    if name == "dia_array" and A.size > 10_000:
        name = "csc_array"  # SciPy warns of so many diagonals
    case.note(container=name)
    return CONTAINERS[name](A)


def pandas_series(y: Array) -> Any:
    import pandas as pd

    return pd.Series(y, index=range(5, 5 + len(y)))


#: Ways to hold a target, every number as it is.
TARGETS: dict[str, Callable[[Array], Any]] = {
    "list": lambda y: y.tolist(),
    "tuple": lambda y: tuple(y.tolist()),
    "strided": lambda y: np.repeat(y, 3)[::3],
    "reversed": lambda y: y[::-1].copy()[::-1],
    "read-only": read_only,
    "memory map": memory_map,
    "foreign bytes": lambda y: y.astype(y.dtype.newbyteorder()),
    "masked array": np.ma.asarray,
    "objects": lambda y: y.astype(object),
    "subclass": lambda y: y.view(Subclass),
    "convertible": Convertible,
    "pandas": pandas_series,
    "column of a matrix": lambda y: np.column_stack([y, y, y])[:, 1],
}


# --- types ---------------------------------------------------------------------------------------


def typed(case: Case, A: Array) -> Array:
    """A in another type; what that type holds of it is the truth from here on."""
    kinds = ("single", "single", "half", "long", "int8", "int64", "uint16", "bool")
    kind = case.choose(*kinds)
    is_complex = np.iscomplexobj(A)
    case.note(type=kind)
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        if kind == "single":
            return A.astype(np.complex64 if is_complex else np.float32)
        if kind == "long":
            return A.astype(np.clongdouble if is_complex else np.longdouble)
        if is_complex:
            return A
        if kind == "half":
            return A.astype(np.float16)
        small = np.rint(np.clip(np.nan_to_num(2 * A), -99, 99))
        if kind == "bool":
            return A > 0
        return np.abs(small).astype(kind) if kind == "uint16" else small.astype(kind)


def working_type(A: Array, held: Any) -> np.dtype[Any]:
    """The type that work on this matrix, held like this, is owed: float32 stays float32."""
    is_complex = A.dtype.kind == "c"
    narrow = A.dtype.kind in "fc" and A.dtype.itemsize <= (8 if is_complex else 4)
    # Python's own numbers are double, and so are the products that a nameless operator makes.
    if isinstance(held, list | tuple | Duck) or getattr(held, "dtype", None) == np.object_:
        narrow = False
    return np.dtype(("F" if narrow else "D") if is_complex else ("f" if narrow else "d"))
