"""Every way to store one matrix."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sparse
from scipy.sparse.linalg import aslinearoperator

from sparsewise import as_design
from sparsewise.design import Centred, Design, Weighted
from sparsewise.design.centred import Reflection


def random_csr(rng: np.random.Generator, n: int, m: int, density: float) -> sparse.csr_array:
    """Entries between 0 and 1 at random places (SciPy's own takes a generator since 1.15 only)."""
    places = rng.choice(n * m, round(density * n * m), replace=False)
    return sparse.coo_array((rng.random(places.size), divmod(places, m)), shape=(n, m)).tocsr()


class Duck:
    """An operator by its methods alone: no scipy base class, no column access."""

    def __init__(self, A: np.ndarray):
        self.shape, self.dtype, self._A = A.shape, A.dtype, A

    def matvec(self, x: np.ndarray) -> np.ndarray:
        return self._A @ x

    def rmatvec(self, v: np.ndarray) -> np.ndarray:
        return self._A.conj().T @ v


def strided(A: np.ndarray) -> np.ndarray:
    """Every second column and every third row of a larger array: no BLAS takes these strides."""
    room = np.full((3 * A.shape[0], 2 * A.shape[1]), np.nan, dtype=A.dtype)
    view = room[::3, ::2]
    view[...] = A
    return view


def reversed_strides(A: np.ndarray) -> np.ndarray:
    return A[::-1, ::-1].copy()[::-1, ::-1]


def read_only(A: np.ndarray) -> np.ndarray:
    A = A.copy()
    A.flags.writeable = False
    return A


def memory_mapped(A: np.ndarray, folder: Path) -> np.ndarray:
    np.save(folder / "A.npy", A)
    return np.load(folder / "A.npy", mmap_mode="r")


def single(A: np.ndarray) -> np.ndarray:
    return A.astype(np.complex64 if np.iscomplexobj(A) else np.float32)


def pylops_operator(A: np.ndarray):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what PyLops warns of on import is not ours to answer for
        pylops = pytest.importorskip("pylops", reason="PyLops is not installed")
    return pylops.MatrixMult(A, dtype=A.dtype)


def dask_array(A: np.ndarray):
    """In uneven chunks of rows and columns."""
    array = pytest.importorskip("dask.array", reason="Dask is not installed")
    return array.from_array(A, chunks=(max(1, 2 * A.shape[0] // 3), max(1, A.shape[1] // 2 - 1)))


def reflected(A: np.ndarray, weights: np.ndarray | None = None) -> np.ndarray:
    """Rows times √w, reflected so that the constant is the first axis, and without that axis."""
    root = np.sqrt(np.ones(len(A)) if weights is None else weights)
    u = root / np.linalg.norm(root)
    z = u + np.eye(1, len(A))[0]
    H = np.eye(len(A)) - np.outer(z, z) / z[0]
    rows = A - np.average(A, axis=0, weights=weights)  # H takes it away, but not all of its digits
    return (H @ (rows.T * root).T)[1:]


def counts(n: int) -> np.ndarray:
    """Weights of rows."""
    return np.arange(n) % 3 + 0.5


def weighted(A: np.ndarray, kind: Callable = np.asarray) -> Design:
    """A as rows divided by numbers, times these numbers."""
    root = np.sqrt(counts(len(A)))
    return Weighted(as_design(kind((A.T / root).T)), root)


def centred(A: np.ndarray, kind: Callable = np.asarray, by_weight: bool = False) -> Design:
    """A as what centring leaves of one more row, and of columns far from zero."""
    weights = counts(len(A) + 1) if by_weight else None
    rows = Reflection(len(A) + 1, weights).apply_adjoint(A) + 0.0
    rows = rows if weights is None else (rows.T / np.sqrt(weights)).T
    return Centred(as_design(kind(rows + np.arange(A.shape[1]) % 4)), weights)


STORAGES: dict[str, Callable] = {
    "C order": np.ascontiguousarray,
    "Fortran order": np.asfortranarray,
    "strided": strided,
    "strided columns": lambda A: strided(A.T).T,
    "reversed": reversed_strides,
    "read-only": read_only,
    "memory-mapped": memory_mapped,
    "single": single,
    "single strided": lambda A: strided(single(A)),
    "complex64": lambda A: A.astype(np.complex64),
    "complex128": lambda A: np.asfortranarray(A.astype(np.complex128)),
    "foreign byte order": lambda A: A.astype(A.dtype.newbyteorder()),
    "list": lambda A: A.tolist(),
    "csc_array": sparse.csc_array,
    "csr_array": sparse.csr_array,
    "coo_array": sparse.coo_array,
    "csc_matrix": sparse.csc_matrix,
    "csr_matrix": sparse.csr_matrix,
    "single csc_array": lambda A: sparse.csc_array(single(A)),
    "LinearOperator": aslinearoperator,
    "single LinearOperator": lambda A: aslinearoperator(single(A)),
    "duck": Duck,
    "PyLops": pylops_operator,
    "Dask array": dask_array,
    "Design": as_design,
    "weighted": weighted,
    "weighted csc_array": lambda A: weighted(A, sparse.csc_array),
    "centred": centred,
    "centred csr_array": lambda A: centred(A, sparse.csr_array),
    "weighted and centred csc_array": lambda A: centred(A, sparse.csc_array, by_weight=True),
    "weighted and centred operator": lambda A: centred(A, aslinearoperator, by_weight=True),
}


@dataclass(frozen=True)
class Storage:
    """One way to store a matrix: call it with an array."""

    name: str
    folder: Path | None  # for what is stored in a file

    def __call__(self, A: np.ndarray):
        if self.folder is not None:
            return memory_mapped(A, self.folder)
        return STORAGES[self.name](A)

    @property
    def eps(self) -> float:
        """The rounding error of what is stored."""
        lower = "single" in self.name or self.name == "complex64"
        return float(np.finfo(np.float32 if lower else np.float64).eps)
