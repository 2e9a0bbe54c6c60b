"""Numbers at the ends of their range: a right answer, or one sentence; never a bare error."""

from fractions import Fraction

import numpy as np
import pytest

import sparsewise
from sparsewise import ALGORITHMS, InputError
from sparsewise._util.parameters import shown
from sparsewise.problem.problem import problem
from tests.problems import BAYES, BY_COLUMNS, FAMILIES, Problem, words

GOOD = FAMILIES["tall"](0)
HUGE = {
    "10**400": 10**400,
    "-10**400": -(10**400),
    "Fraction": Fraction(10**400),
    "10**5000": 10**5000,
    "-10**5000": -(10**5000),
}
NUMBERS = ("residual", "delta", "sigma", "price", "min_increase", "nu", "step")
COUNTS = ("sparsity", "batch")
EXTREMES = (1e200, 1.7e308, 1e-200, 5e-324)


def taken(*parameters):
    """Algorithms, each with a parameter of these that it takes."""
    pairs = [(name, one) for name in BY_COLUMNS for one in parameters]
    return [(name, one) for name, one in pairs if ALGORITHMS[name].takes(one)]


@pytest.fixture(params=BY_COLUMNS)
def name(request):
    return request.param


def judged(name, A, y, **call):
    """A sentence, or an answer that holds."""
    try:
        solution = ALGORITHMS[name](A, y, **call)
    except InputError as error:
        refusal = str(error)
    else:
        refusal = ""
    assert "\n" not in refusal
    assert len(refusal) < 300
    if refusal:
        return None
    assert np.isfinite(solution.coef).all()
    assert np.isfinite(solution.residual_norm)
    assert solution.check(A, y).ok
    if name in BAYES:
        assert np.isfinite([solution.sigma, solution.log_evidence]).all()
    return solution


@pytest.mark.parametrize(("name", "parameter"), taken(*NUMBERS))
@pytest.mark.parametrize("value", HUGE)
def test_no_floating_point_number(name, parameter, value):
    with pytest.raises(InputError, match=rf"^{parameter} "):
        ALGORITHMS[name](GOOD.A, GOOD.y, **words(name, GOOD) | {parameter: HUGE[value]})


@pytest.mark.parametrize(("name", "parameter"), taken(*NUMBERS))
@pytest.mark.parametrize("value", EXTREMES)
def test_parameters_at_the_ends_of_the_range(name, parameter, value):
    judged(name, GOOD.A, GOOD.y, **words(name, GOOD) | {parameter: value})


@pytest.mark.parametrize(("name", "parameter"), taken(*COUNTS))
def test_counts_beyond_everything(name, parameter):
    judged(name, GOOD.A, GOOD.y, **words(name, GOOD) | {parameter: 10**5000})
    with pytest.raises(InputError, match=rf"^{parameter} must be .* a number of 5001 digits"):
        ALGORITHMS[name](GOOD.A, GOOD.y, **words(name, GOOD) | {parameter: -(10**5000)})


@pytest.mark.parametrize(("name", "parameter"), taken("sparsity"))
def test_true_is_one(name, parameter):
    solution = ALGORITHMS[name](GOOD.A, GOOD.y, **words(name, GOOD) | {parameter: True})
    assert solution.support.size <= 1


@pytest.mark.parametrize("family", ["tall", "wide", "complex wide"])
@pytest.mark.parametrize("scale", [1e-310, 1e-300, 1e-200, 1e-160, 1e160, 1e200, 1e300])
@pytest.mark.filterwarnings("error")
def test_scales(name, family, scale):
    p = FAMILIES[family](1)
    small = Problem("scaled", p.A, p.y * scale, p.sparsity, p.delta * scale)
    call = words(name, small)
    if name == "stepwise":
        call = {"criterion": "ebic"}
    judged(name, p.A, p.y * scale, **call)
    call = words(name, p) if name != "stepwise" else call
    judged(name, p.A * scale, p.y, **call)
    single = np.complex64 if family.startswith("complex") else np.float32
    judged(name, p.A.astype(single), p.y * scale, **(words(name, small) | call))


@pytest.mark.parametrize("kind", [float, complex, np.float32])
def test_norms_beyond_the_range(name, kind):
    largest = float(np.finfo(np.dtype(kind).char).max) / 2
    A = np.full((5, 2), largest, kind)
    A[:, 1] = np.arange(5)
    y = np.arange(5.0)
    few = {"sparsity": 1} if ALGORITHMS[name].takes("sparsity") else {}
    with pytest.raises(InputError, match=r"^A has columns of norms beyond the range"):
        ALGORITHMS[name](A, y, **words(name, GOOD) | few)
    with pytest.raises(InputError, match=r"^y has a norm beyond the range"):
        ALGORITHMS[name](np.eye(5), np.full(5, 1.7e308), **words(name, GOOD) | few)


def test_coefficients_keep_their_digits_on_the_way():
    """Neither the unit of y nor that of a column need have any, if their product has."""
    A = 1e6 + np.random.default_rng(0).standard_normal((17, 7))
    y = 1e-300 * np.random.default_rng(1).standard_normal(17)
    A[:, 2] *= 1e-290
    assert sparsewise.forward(A, y, sparsity=7).check(A, y).ok


def test_denormal_complex_numbers():
    assert problem(np.eye(2), np.array([1e-310 + 1e-310j, 0])).scale == pytest.approx(
        2**0.5 * 1e-310
    )
    A = np.array([[1e-320 + 1e-320j, 1], [0, 1]])
    assert sparsewise.rmp0(A, [1.0, 2.0], delta=0.0).support.tolist() == [1]


@pytest.mark.parametrize("name", BAYES)
def test_noise_out_of_all_proportion(name):
    """These never ended, or ended at a noise that is no number."""
    run = ALGORITHMS[name]
    with pytest.raises(InputError, match="noise_prior is out of all proportion"):
        run(np.eye(3), 1e-160 * np.ones(3), noise_prior=(1, 1))
    with pytest.raises(InputError, match="price must be finite, and below"):
        run(GOOD.A, GOOD.y, price=1e308)
    for prior in ((1e308, 0), (0, 1e308), (1e-300, 1e-300), (1e99, 1e99)):
        judged(name, GOOD.A, GOOD.y, noise_prior=prior)
    for prior in ((10**400, 1), ([1], [2]), (1, 2, 3), 5, (np.nan, 1)):
        with pytest.raises(InputError, match=r"^noise_prior "):
            run(GOOD.A, GOOD.y, noise_prior=prior)
    assert run(GOOD.A, GOOD.y, sigma=1.0, price=5e-324).check(GOOD.A, GOOD.y).ok


@pytest.mark.parametrize("name", BAYES)
def test_variances_out_of_range(name):
    y = 1e-160 * np.random.default_rng(1).standard_normal(25) + 2e-161
    with pytest.raises(InputError, match="variances"):
        ALGORITHMS[name](np.ones((25, 2)), y, sigma=3e-162)
    A = np.random.default_rng(0).standard_normal((6, 9))
    y = 1e20 * A[:, 3]
    A[:, 3] *= 1e-305
    with pytest.raises(InputError, match="variances"):
        ALGORITHMS[name](A, y, sigma=1e19)


@pytest.mark.parametrize("kind", [np.float32, np.complex64])
@pytest.mark.parametrize("name", BAYES)
def test_single_precision_stays_single(name, kind):
    solution = ALGORITHMS[name](GOOD.A.astype(kind), GOOD.y, sigma=GOOD.delta)
    assert solution.coef.dtype == solution.covariance.dtype == kind
    assert solution.std.dtype == np.float32
    assert solution.check(GOOD.A.astype(kind), GOOD.y).ok


@pytest.mark.parametrize(("name", "word"), taken("include", "exclude", "start"))
@pytest.mark.parametrize(
    "columns", [1.5, object, [[0], [0, 1]], [-1], [10**30], "ab", [0.0], [[0, 1]]], ids=repr
)
def test_columns_that_are_none(name, word, columns):
    with pytest.raises(InputError, match=rf"^{word} "):
        ALGORITHMS[name](GOOD.A, GOOD.y, **words(name, GOOD) | {word: columns})


GROWING = ["omp", "gomp", "mp", "forward", "srr", "ompr", "subspace_pursuit"]


@pytest.mark.parametrize("name", GROWING)
def test_no_more_columns_than_asked_for(name):
    call = words(name, GOOD) | {"sparsity": 2}
    with pytest.raises(InputError, match=r"^start names 4 columns, but sparsity allows only 2"):
        ALGORITHMS[name](GOOD.A, GOOD.y, **call | {"start": [4, 5, 6, 7]})
    with pytest.raises(InputError, match=r"^include names 3 columns, but sparsity allows only 2"):
        ALGORITHMS[name](GOOD.A, GOOD.y, **call | {"include": [4, 5, 6]})


def test_a_column_number_as_an_array_of_no_dimension():
    solution = sparsewise.omp(GOOD.A, GOOD.y, sparsity=2, include=np.array(3))
    assert 3 in solution.support


def test_functions_that_are_none(name):
    with pytest.raises(InputError, match=r"^callback must be a function, not 3"):
        ALGORITHMS[name](GOOD.A, GOOD.y, **words(name, GOOD) | {"callback": 3})
    with pytest.raises(InputError, match=r"^watch must be a function"):
        sparsewise.stepwise(GOOD.A, GOOD.y, watch="x")


@pytest.mark.parametrize("cost", [None, "a", 1j, np.nan])
def test_a_criterion_that_is_no_number(cost):
    with pytest.raises(InputError, match="is not a number"):
        sparsewise.stepwise(GOOD.A, GOOD.y, criterion=lambda rss, size: cost)


def test_a_criterion_beyond_the_range_is_infinite():
    def cost(rss, size):
        return 10**400 if size > 2 else rss

    assert sparsewise.stepwise(GOOD.A, GOOD.y, criterion=cost).support.size == 2


def test_told_nothing_it_names_what_it_takes():
    for name, parameters in {
        "omp": "sparsity or residual",
        "gomp": "sparsity or residual",
        "mp": "sparsity or residual",
        "forward": "sparsity, residual or delta",
        "backward": "sparsity, residual or delta",
    }.items():
        batch = {"batch": 2} if name == "gomp" else {}
        with pytest.raises(InputError, match=rf"it takes: {parameters}\.$"):
            ALGORITHMS[name](GOOD.A, GOOD.y, **batch)


def test_objects_that_are_complex_numbers():
    A = np.array([[1 + 1j, 2], [3, 4]], dtype=object)
    solution = sparsewise.forward(A, np.array([1j, 2], dtype=object), sparsity=2)
    np.testing.assert_allclose(A.astype(complex) @ solution.coef, [1j, 2])
    A[0, 0] = 1
    assert sparsewise.forward(A, [1.0, 2.0], sparsity=1).coef.dtype == float
    with pytest.raises(InputError, match=r"^A holds numbers too large"):
        sparsewise.forward(np.array([[10**400, 2], [3, 4]], dtype=object), [1.0, 2.0], sparsity=1)


def test_values_are_shown_in_one_line():
    assert shown(np.eye(3)).count("\n") == 0
    assert len(shown(list(range(1000)))) < 80
    assert shown(-(10**40)) == "a number of 41 digits"
    assert shown(np.float64(-1.5)) == "-1.5"
