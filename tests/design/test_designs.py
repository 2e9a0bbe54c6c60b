"""One property test for every way A may be stored; and A is never copied."""

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sparse
from scipy.sparse.linalg import LinearOperator, aslinearoperator

import sparsewise
from sparsewise import as_design
from sparsewise.problem.problem import problem
from sparsewise.suffstats.triangle import condense_design
from tests.problems import normal
from tests.storages import memory_mapped, read_only, reversed_strides, strided

KINDS = [float, complex]


def close(actual, expected, eps):
    scale = float(np.max(np.abs(expected), initial=1e-300))
    np.testing.assert_allclose(actual, expected, rtol=0, atol=200 * eps * scale)


@pytest.fixture(params=KINDS, ids=["real", "complex"])
def A(request):
    return normal(np.random.default_rng(11), 13, 9, kind=request.param)


@pytest.mark.parametrize("vectors", KINDS, ids=["real vectors", "complex vectors"])
def test_adjoint(store, A, vectors):
    """<A x, v> = <x, A* v>: the two products belong to the same matrix."""
    design = as_design(store(A))
    rng = np.random.default_rng(22)  # neither product is but what cancellation leaves
    x, v = normal(rng, 9, kind=vectors), normal(rng, 13, kind=vectors)
    left, right = np.vdot(v, design.matvec(x)), np.vdot(design.rmatvec(v), x)
    close(left, right, design_eps(design))
    close(design.matvec(x), A @ x, store.eps)
    close(design.rmatvec(v), A.conj().T @ v, store.eps)


def design_eps(design):
    return float(np.finfo(design.dtype).eps)


def test_shape_and_type(store, A):
    design = as_design(store(A))
    assert design.shape == A.shape
    assert design.dtype.isnative
    assert design_eps(design) == store.eps
    assert (design.dtype.kind == "c") == (np.iscomplexobj(A) or "complex" in store.name)
    assert as_design(design) is design


def test_columns(store, A):
    design = as_design(store(A))
    J = np.array([7, 0, 3])
    close(design.columns(J), A[:, J], store.eps)
    assert design.columns(J).shape == (13, 3)
    assert design.columns(np.array([], dtype=np.int64)).shape == (13, 0)
    for j in range(9):
        close(design.column(j), A[:, j], store.eps)
        assert design.column(j).shape == (13,)


def test_block_products_are_products_one_by_one(store, A):
    design = as_design(store(A))
    V = normal(np.random.default_rng(13), 13, 4, kind=complex)
    for block in (V, V.real.copy(), V[:, :1]):
        expected = np.column_stack([design.rmatvec(v) for v in block.T])
        assert design.rmatmat(block).shape == (9, block.shape[1])
        close(design.rmatmat(block), expected, store.eps)


def test_norms(store, A):
    A = A.copy()
    A[:, 4] = 0
    expected = np.sum(np.abs(A) ** 2, axis=0)
    np.testing.assert_allclose(as_design(store(A)).norms() ** 2, expected, rtol=100 * store.eps)


def test_rows_and_triangle(store, A):
    """What is held in memory, or condensed to few rows, has the same inner products."""
    design = as_design(store(A))
    eps = 10 * store.eps
    close(design.row_block(slice(3, 8)), A[3:8], eps)
    close(design.stored().A, A, eps)
    close(design.stored().norms(), design.norms(), eps)
    y = normal(np.random.default_rng(17), 13)
    R = design.triangle()
    np.testing.assert_array_equal(R, np.triu(R))
    close(R.conj().T @ R, A.conj().T @ A, eps)
    few, z = condense_design(design, y)
    assert few.shape == (10, 9)
    assert few.rows == design.rows == 13
    B = few.columns(slice(None))
    close(B.conj().T @ B, A.conj().T @ A, eps)
    close(B.conj().T @ z, A.conj().T @ y, eps)


def test_passes_are_counted_for_each_problem(store, A):
    """The first that measures the columns pays for it; others count what they read themselves."""
    design = as_design(store(A))
    measuring = int(design._measured is None)
    first, second = problem(design, np.ones(13)), problem(design, np.ones(13))
    assert first.passes.count == measuring
    assert second.passes.count == second.passes.products == 0
    second.rmatvec(np.ones(13))
    second.matvec(np.ones(9))
    second.rmatmat(np.ones((13, 3)))
    assert second.passes.count == 3
    assert second.passes.products == (5 if design.is_operator else 0)
    second.unit_columns(np.array([2, 4]))
    assert second.passes.count == 3
    assert second.passes.products == (7 if design.is_operator else 0)
    assert first.passes.count == measuring


@pytest.mark.parametrize("scale", [1e-150, 1e150])
def test_norms_at_far_scales(scale):
    A = np.ones((4, 3)) * [1.0, scale, 2.0]
    for stored in (A, sparse.csc_array(A), aslinearoperator(A)):
        np.testing.assert_allclose(
            as_design(stored).norms() ** 2, [4, 4 * scale**2, 16], rtol=1e-13
        )


@pytest.mark.parametrize("dtype", ["i1", "u2", "i8", "?", "f2"])
def test_other_numbers_are_promoted(dtype):
    A = np.array([[1, 0], [1, 1], [0, 1]]).astype(dtype)
    wide = np.float32 if dtype == "f2" else np.float64
    assert as_design(A).dtype == wide
    np.testing.assert_array_equal(as_design(A).columns(np.array([0, 1])), A.astype(wide))
    if dtype != "f2":
        assert as_design(sparse.csr_array(A)).dtype == np.float64


def test_real_operators_meet_real_vectors_only():
    """A real operator may not know what to do with complex vectors: it gets the parts."""

    def real_only(product):
        def checked(v):
            assert not np.iscomplexobj(v)
            return product(v)

        return checked

    A = normal(np.random.default_rng(14), 6, 4)
    operator = LinearOperator(
        A.shape,
        matvec=real_only(lambda x: A @ np.ravel(x)),
        rmatvec=real_only(lambda v: A.T @ np.ravel(v)),
        dtype=float,
    )
    y = A[:, 2] * (1 + 2j)
    solution = sparsewise.forward(operator, y, sparsity=1)
    assert list(solution.support) == [2]
    assert solution.coef[2] == pytest.approx(1 + 2j)


# --- A is never copied ---------------------------------------------------------------------------


def views(tmp_path):
    """Large arrays in the layouts that tempt an implementation to copy."""
    A = np.random.default_rng(15).standard_normal((500, 40_000), dtype=np.float32)
    yield "C order", A
    yield "read-only", read_only(A)
    yield "memory-mapped", memory_mapped(A, tmp_path)
    yield "reversed", reversed_strides(A)
    yield "strided", strided(A)
    yield "Fortran order", np.asfortranarray(A)


@pytest.mark.parametrize("order", ["C", "F"])
def test_dense_columns_are_views(order):
    A = np.asarray(normal(np.random.default_rng(16), 30, 20), order=order)
    for view in (A, A[::2], A[:, ::3], A[::-1, ::-1]):
        assert np.shares_memory(as_design(view).column(3), A)


def test_extra_memory_of_forward(tmp_path):
    """O(nk + m) numbers and two blocks, far below A itself, and below a mask of A's shape."""
    k = 4
    for name, A in views(tmp_path):
        n, m = A.shape
        y = A[:, [5, 70, 900]] @ np.array([3, 2, 1], dtype=np.float32)
        sparsewise.forward(A[:, :50], y, sparsity=2)  # compiles and imports what it needs
        tracemalloc.start()
        try:
            solution = sparsewise.forward(A, y, sparsity=k, residual=1e-3 * np.linalg.norm(y))
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        assert list(solution.support) == [5, 70, 900], name
        blocks = 2 * (4 << 20)
        assert peak < 16 * 8 * (n * k + m) + blocks < n * m, f"{name}: {peak / 2**20:.1f} MiB"


@pytest.mark.parametrize(
    ("given", "worked_in"),
    [(np.float32, np.float32), (np.int32, np.float64), (np.float16, np.float32), (">f8", "=f8")],
)
def test_the_type_an_operator_states(given, worked_in):
    """As a type, a name or a dtype: the same rule as for arrays."""

    class Stated:
        shape, dtype = (3, 2), given

        def matvec(self, x):
            return np.ones((3, 2)) @ x

        def rmatvec(self, v):
            return np.ones((2, 3)) @ v

    assert as_design(Stated()).dtype == np.dtype(worked_in)
