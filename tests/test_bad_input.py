"""Bad input gets one clear sentence, or a defined and finite answer; never a NaN."""

from contextlib import contextmanager

import numpy as np
import pytest
import scipy.sparse as sparse
from scipy.sparse.linalg import LinearOperator, aslinearoperator

import sparsewise
from sparsewise import ALGORITHMS, Stop
from tests.problems import (
    BAYES,
    BY_COLUMNS,
    BY_CRITERION,
    BY_DELTA,
    ELIMINATION,
    FAMILIES,
    HAS_SPARSITY,
    SEARCHES,
    TAKES_START,
    Problem,
    words,
)

GOOD = FAMILIES["tall"](0)
n, m = GOOD.A.shape


@contextmanager
def refused(*fragments: str, error=(ValueError, TypeError)):
    """A ValueError or TypeError whose message is one sentence with these fragments."""
    with pytest.raises(error) as caught:
        yield
    message = str(caught.value)
    assert "\n" not in message
    assert message.endswith(".")
    assert 4 <= len(message.split()) <= 60
    for fragment in fragments:
        assert fragment in message, message


@pytest.fixture(params=BY_COLUMNS)
def name(request):
    return request.param


def call(name, A=None, y=None, **more):
    A = GOOD.A if A is None else A
    y = GOOD.y if y is None else y
    return ALGORITHMS[name](A, y, **words(name, GOOD) | more)


def finite(solution, A, y):
    """A defined answer: finite numbers that pass their own check."""
    assert np.isfinite(solution.coef).all()
    assert np.isfinite(solution.residual_norm)
    assert solution.check(A, y).ok
    if solution.algorithm in BAYES:
        assert not np.isnan(solution.gamma).any()
        assert np.isfinite([solution.log_evidence, solution.sigma]).all()
        assert np.isfinite(solution.covariance).all()
        assert np.isfinite(solution.std).all()
    return solution


def shrunk(name, coef, length, sigma):
    """The coefficient of one column alone, where y is this long along it.

    Sparse Bayesian Learning gives it the variance γ = c² - σ² and so multiplies by γ/(γ + σ²).
    """
    return coef * (1 - (sigma / length) ** 2) if name in BAYES else coef


# --- NaN and infinity ----------------------------------------------------------------------------

BAD = {"NaN": np.nan, "infinity": np.inf, "minus infinity": -np.inf}
STORED = {
    "C order": np.ascontiguousarray,
    "Fortran order": np.asfortranarray,
    "strided": lambda A: np.repeat(A, 2, axis=1)[:, ::2],
    "single": lambda A: A.astype(np.float32),
    "complex": lambda A: A + 1j,
    "csc_array": sparse.csc_array,
    "csr_matrix": sparse.csr_matrix,
    "operator": aslinearoperator,
}


@pytest.mark.parametrize("value", BAD)
@pytest.mark.parametrize("stored", STORED)
def test_not_finite_in_A(stored, value):
    A = GOOD.A.copy()
    A[3, 2] = A[7, 5] = A[8, 5] = BAD[value]
    with np.errstate(invalid="ignore"):
        A = STORED[stored](A)
    fragments = ["A has 3 ", "row 3", "column 2"] if stored != "operator" else ["A "]
    for name in ("forward", "omp", "backward"):
        with refused(*fragments, error=ValueError), np.errstate(invalid="ignore"):
            call(name, A)


@pytest.mark.parametrize("value", BAD)
def test_not_finite_in_y(name, value):
    y = GOOD.y.copy()
    y[[4, 9]] = BAD[value]
    with refused("y has 2 ", "row 4", error=ValueError):
        call(name, y=y)
    with refused("y has 1 ", "row 9", error=ValueError):
        call(name, y=np.where(np.arange(n) == 4, 0.0, y) + 0j)


def test_not_finite_in_one_place_of_every_algorithm(name):
    A = GOOD.A.copy()
    A[-1, -1] = np.nan
    with refused("A has 1 ", f"row {n - 1}", f"column {m - 1}", error=ValueError):
        call(name, A)


# --- shapes and types ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("A", "y"),
    [
        (np.ones(4), np.ones(4)),
        (np.ones((4, 3, 2)), np.ones(4)),
        (np.float64(3.0), np.ones(4)),
        (np.ones((4, 3)), np.ones(3)),
        (np.ones((4, 3)), np.ones((4, 1, 1))),
        (np.ones((4, 3)), np.ones((4, 0))),
        (np.ones((4, 3)), np.ones((2, 2))),
        (np.ones((4, 3)), 1.0),
        (np.ones((4, 3)), []),
        (sparse.csc_array(np.ones((4, 3))), np.ones(5)),
        (aslinearoperator(np.ones((4, 3))), np.ones(3)),
    ],
)
def test_shapes(name, A, y):
    with refused(error=ValueError):
        ALGORITHMS[name](A, y, **words(name, GOOD) | small(name))


def small(name):
    """Words that suit a matrix of one column."""
    return {"sparsity": 1} if name in HAS_SPARSITY else {}


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (0, 0)])
@pytest.mark.parametrize("stored", [np.asarray, sparse.csr_array, aslinearoperator])
def test_empty(shape, stored):
    for name in BY_COLUMNS:
        with refused("empty", error=ValueError):
            ALGORITHMS[name](stored(np.ones(shape)), np.ones(shape[0]), **words(name, GOOD))


def test_column_vector_is_told_how_to_flatten():
    with refused("ravel", error=ValueError):
        call("mp", y=GOOD.y[:, None])


@pytest.mark.parametrize(
    "wrong",
    [
        np.array([["a", "b"]] * n),
        np.array([[None, 1.0]] * n, dtype=object),
        np.array([[{}, 1.0]] * n, dtype=object),
        np.zeros((n, 2), dtype="datetime64[s]"),
        np.zeros((n, 2), dtype=[("a", float)]),
        [["1", "x"]] * n,
        [[1.0, 2.0], [1.0]],
        {"a": 1},
        "matrix",
    ],
    ids=["string", "None", "dict", "date", "record", "list of str", "ragged", "mapping", "word"],
)
def test_types(wrong):
    for name in BY_COLUMNS:
        with refused():
            call(name, A=wrong)
        with refused():
            call(name, y=wrong)


def test_missing_matrix():
    with refused():
        sparsewise.omp(None, GOOD.y, sparsity=1)
    with refused():
        sparsewise.omp(GOOD.A, None, sparsity=1)


def test_objects_that_are_numbers_are_numbers(name):
    expected = call(name)
    np.testing.assert_array_equal(call(name, A=GOOD.A.astype(object)).coef, expected.coef)


def test_masked_entries():
    A = np.ma.masked_greater(GOOD.A, 1.0)
    masked = int(A.mask.sum())
    with refused("A ", str(masked), "masked"):
        call("forward", A)
    with refused("y ", "1 ", "masked"):
        call("forward", y=np.ma.array(GOOD.y, mask=np.arange(n) == 2))
    nothing_masked = call("forward", np.ma.array(GOOD.A))
    np.testing.assert_array_equal(nothing_masked.coef, call("forward").coef)


def test_operator_without_adjoint():
    operator = LinearOperator((n, m), matvec=lambda x: GOOD.A @ x, dtype=float)
    with refused("adjoint"):
        call("omp", operator)


# --- numbers that steer --------------------------------------------------------------------------

TOLERANCES = [
    ("mp", "residual"),
    ("omp", "residual"),
    ("gomp", "residual"),
    *((a, t) for a in ("forward", "backward", "lace") for t in ("residual", "delta")),
    ("rmp0", "delta"),
    ("foba", "delta"),
    ("srr", "residual"),
    ("ompr", "residual"),
    ("subspace_pursuit", "residual"),
]


@pytest.mark.parametrize("value", [-1.0, -1e-300, np.nan, "small", [1.0, 2.0], 1j])
@pytest.mark.parametrize(("name", "word"), TOLERANCES)
def test_tolerances(name, word, value):
    with refused(word):
        call(name, **{word: value})


@pytest.mark.parametrize("value", [min(n, m) + 1, 10**9, -1, 2.5, np.nan, "3", 1j])
@pytest.mark.parametrize("name", HAS_SPARSITY)
def test_sparsity(name, value):
    with refused("sparsity"):
        call(name, sparsity=value)


@pytest.mark.parametrize("name", HAS_SPARSITY)
def test_numpy_integers_are_integers(name):
    expected = call(name, sparsity=3).coef
    np.testing.assert_array_equal(call(name, sparsity=np.int32(3)).coef, expected)


@pytest.mark.parametrize(
    ("name", "option", "value"),
    [
        ("gomp", "batch", 0),
        ("gomp", "batch", -2),
        ("gomp", "batch", 1.5),
        ("mp", "max_iter", -1),
        ("mp", "max_iter", 2.5),
        ("rmp0", "max_outer", -1),
        ("rmp0", "max_outer", np.nan),
        ("foba", "nu", -0.1),
        ("foba", "nu", np.nan),
        ("foba", "nu", "half"),
        ("srr", "max_iter", -1),
        ("ompr", "max_iter", -1),
        ("ompr", "step", np.nan),
        ("ompr", "step", -1.0),
        ("subspace_pursuit", "max_iter", -1),
        ("rmp", "max_outer", -1),
        ("rmp", "max_outer", np.nan),
        ("sbl", "updates", "newton"),
        ("sbl", "updates", "EM "),
        ("sbl", "updates", None),
        ("sbl", "updates", 3),
        ("sbl", "updates", ["em"]),
        *((name, "max_iter", value) for name in BAYES for value in (-1, 2.5)),
    ],
)
def test_options(name, option, value):
    with refused(option):
        call(name, **{option: value})


@pytest.mark.parametrize("name", BAYES)
@pytest.mark.parametrize(
    ("option", "values"),
    [
        ("sigma", [0.0, -1.0, -1e-300, np.nan, np.inf, "small", [1.0, 2.0], 1j]),
        ("min_increase", [0.0, -1.0, np.nan, "small", [1.0, 2.0], 1j, None]),
        ("price", [-1.0, -1e-300, np.nan, np.inf, "dear", [1.0, 2.0], 1j]),
    ],
)
def test_numbers_of_the_evidence(name, option, values):
    for value in values:
        with refused(option):
            call(name, **{option: value})


@pytest.mark.parametrize("name", BAYES)
@pytest.mark.parametrize("sigma", [None, GOOD.delta])
@pytest.mark.parametrize(
    "prior",
    [
        3.0,
        (1.0,),
        (1.0, 2.0, 3.0),
        ("a", "b"),
        "ab",
        (-1.0, 1.0),
        (1.0, -1.0),
        (np.nan, 1.0),
        (1.0, np.nan),
        (np.inf, 1.0),
        (1.0, np.inf),
        (1.0, 1j),
        ([1.0, 2.0], 1.0),
        {},
    ],
    ids=str,
)
def test_priors_of_the_noise(name, sigma, prior):
    """Refused where it is used, and where it is not: a wrong number is a mistake anywhere."""
    with refused("noise_prior"):
        call(name, sigma=sigma, noise_prior=prior)


@pytest.mark.parametrize("name", BAYES)
def test_no_start(name):
    with pytest.raises(TypeError):
        call(name, start=[1])


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("mp", {}),
        ("omp", {}),
        ("gomp", {"batch": 2}),
        ("forward", {}),
        ("backward", {}),
        ("lace", {}),
    ],
)
def test_no_stopping_word(name, options):
    with refused(name, "stop", error=ValueError):
        ALGORITHMS[name](GOOD.A, GOOD.y, **options)


@pytest.mark.parametrize("name", ["oblivious", "rmp0", "foba", "srr", "ompr", "subspace_pursuit"])
def test_missing_argument(name):
    with pytest.raises(TypeError):
        ALGORITHMS[name](GOOD.A, GOOD.y)


# --- columns -------------------------------------------------------------------------------------


def lists(name):
    return ["include", "exclude"] + (["start"] if name in TAKES_START else [])


@pytest.mark.parametrize("columns", [[m], [-1], [0, 10**12], [1.5], ["a"], [np.nan], [[0, 1]]])
def test_columns(name, columns):
    for word in lists(name):
        with refused(word):
            call(name, **{word: columns})


@pytest.mark.parametrize("name", TAKES_START)
def test_excluded_start(name):
    """What is excluded does not come in by the start, either."""
    solution = finite(call(name, start=[2, 4, 5], exclude=[4]), GOOD.A, GOOD.y)
    assert 4 not in solution.support
    assert 4 not in solution.path.start


def test_contradictions(name):
    with refused("include", "exclude", "3", error=ValueError):
        call(name, include=[1, 3], exclude=[3, 2])
    if name in HAS_SPARSITY:
        with refused("include", error=ValueError):
            call(name, include=[0, 1, 2], sparsity=2)


def with_dependent_columns():
    """Column 6 is zero, column 9 a multiple of column 2, column 11 is 2 + 4, column 1 constant."""
    A = GOOD.A.copy()
    A[:, 1] = 1.0
    A[:, 6] = 0.0
    A[:, 9] = -3 * A[:, 2]
    A[:, 11] = A[:, 2] + A[:, 4]
    return A


@pytest.mark.parametrize("include", [[2, 9], [2, 4, 11], [6]])
def test_dependent_include(name, include):
    A = with_dependent_columns()
    more = {"start": [0, 3]} if name in ELIMINATION else {}
    with refused(str(include[-1]), error=ValueError):
        call(name, A, include=include, **more)


@pytest.mark.parametrize("name", ELIMINATION)
def test_elimination_needs_independent_columns(name):
    """It names the dependent columns and what to use in their place."""
    with refused("6", "9", "11", "start", error=ValueError):
        call(name, with_dependent_columns())
    wide = FAMILIES["wide"](0)
    with refused("start", error=ValueError):
        ALGORITHMS[name](wide.A, wide.y, sparsity=3)
    with refused("9", error=ValueError):
        call(name, with_dependent_columns(), start=[0, 2, 9])


def test_dependent_columns_are_defined(name):
    A = with_dependent_columns()
    more = {"start": [0, 1, 2, 3, 4, 5, 7, 8]} if name in ELIMINATION else {}
    solution = finite(call(name, A, **more), A, GOOD.y)
    assert 6 not in solution.support
    assert 9 not in solution.support  # column 2 is as good, and comes first


def test_all_columns_alike(name):
    """One column many times over: one of them is taken, the first."""
    A = np.ones((6, 4))
    y = np.arange(6.0)
    more = {"start": [0]} if name in ELIMINATION else {}
    p = Problem("alike", A, y, sparsity=1 if name in ELIMINATION else 3, delta=0.1)
    solution = finite(ALGORITHMS[name](A, y, **words(name, p) | more), A, y)
    assert list(solution.support) == [0]
    expected = shrunk(name, 2.5, 2.5 * 6**0.5, 0.1)
    assert solution.coef[0] == pytest.approx(expected, rel=1e-4 if name == "sbl" else 1e-9)
    if name in ("omp", "gomp", "forward"):
        assert solution.stop is Stop.DEPENDENT


@pytest.mark.parametrize("stored", [np.asarray, sparse.csc_array, aslinearoperator])
def test_nothing_but_zeros(name, stored):
    A = np.zeros((5, 3))
    if name in ELIMINATION:
        with refused(error=ValueError):
            ALGORITHMS[name](stored(A), np.ones(5), sparsity=1)
        return
    p = Problem("zeros", A, np.ones(5), sparsity=2, delta=0.1)
    solution = finite(ALGORITHMS[name](stored(A), p.y, **words(name, p)), A, p.y)
    assert solution.support.size == 0
    assert solution.residual_norm == pytest.approx(5**0.5)


def test_target_orthogonal_to_every_column(name):
    """Nothing can be gained; whatever is chosen gets a coefficient of zero."""
    A = np.eye(6)[:, :4]
    y = np.array([0, 0, 0, 0, 3.0, 4.0])
    p = Problem("orthogonal", A, y, sparsity=2, delta=0.1)
    solution = finite(ALGORITHMS[name](A, y, **words(name, p)), A, y)
    assert not solution.coef.any()
    assert solution.residual_norm == pytest.approx(5.0)


@pytest.mark.parametrize("shape", [(1, 1), (1, 3), (4, 1)])
def test_single_rows_and_columns(name, shape):
    A = 2 * np.ones(shape)
    y = np.arange(1.0, shape[0] + 1)
    more = {"start": [0]} if name in ELIMINATION else {}
    p = Problem("tiny", A, y, sparsity=1, delta=1e-3)
    if name in SEARCHES:  # from a single row no noise can be told
        more = {"sigma": 1e-3}
    solution = finite(ALGORITHMS[name](A, y, **words(name, p) | more), A, y)
    assert list(solution.support) == [0]
    length = y.sum() / len(y) ** 0.5
    expected = shrunk(name, y.mean() / 2, length, 1e-3)
    assert solution.coef[0] == pytest.approx(expected, rel=1e-6 if name == "sbl" else 1e-9)


@pytest.mark.parametrize("name", HAS_SPARSITY)
def test_zero_sparsity(name):
    """No feature at all is a fair request."""
    solution = finite(call(name, sparsity=0), GOOD.A, GOOD.y)
    assert solution.support.size == 0


def test_zero_target_needs_sound_data_too(name):
    """y = 0 has an empty answer, but not on a matrix of NaN."""
    with refused("A has ", error=ValueError):
        call(name, np.full((n, m), np.nan), y=np.zeros(n))


def test_subnormal_columns_and_targets(name):
    """Below the smallest normal number columns count as zero; nothing turns into NaN."""
    A = GOOD.A.copy()
    A[:, 0] *= 1e-310
    more = {"start": [1, 2, 3, 4, 5, 6]} if name in ELIMINATION else {}
    solution = call(name, A, **more)
    assert np.isfinite(solution.coef).all()
    if name in (*BAYES, *SEARCHES):  # variances are squares, and these squares are no numbers
        with refused("variances", "range", error=ValueError):
            ALGORITHMS[name](GOOD.A, GOOD.y * 1e-305, sigma=GOOD.delta * 1e-305)
        return
    tiny = ALGORITHMS[name](GOOD.A, GOOD.y * 1e-305, **words(name, GOOD) | tiny_words(name))
    assert np.isfinite(tiny.coef).all()


def tiny_words(name):
    if name in BY_CRITERION:
        return {"criterion": "bic"}
    return {"delta": GOOD.delta * 1e-305} if name in BY_DELTA else {}


def test_a_prepared_design_is_refused_every_time():
    """What was refused once is not taken for measured."""
    A = GOOD.A.copy()
    A[1, 2] = np.nan
    design = sparsewise.as_design(A)
    for _ in range(2):
        with refused("row 1, column 2"):
            call("omp", design)
