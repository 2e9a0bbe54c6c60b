"""The one type of what a model costs: inverses, fractional df, functions of a user, the least."""

import math
import pickle
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparsewise.criteria.base import EXACT, OwnCriterion, Sample, first_least
from sparsewise.criteria.information import BY_LOSS, GCV, Criteria
from sparsewise.criteria.ric import by_charge
from sparsewise.errors import InputError
from sparsewise.problem.problem import problem

NAMES = (*BY_LOSS, "gcv", "charged")


def criterion(name, criteria):
    """By name, and those that have none."""
    if name == "gcv":
        return GCV(criteria)
    return by_charge(3.5, criteria) if name == "charged" else criteria[name]


samples = st.builds(
    Criteria,
    rows=st.floats(30, 1e6),
    features=st.integers(20, 1000),
    intercept=st.booleans(),
    total=st.floats(1e-50, 1e50),
    variance=st.floats(1e-9, 1e-2),
    parts=st.sampled_from([1, 2]),
    targets=st.floats(1.0, 8.0),
    noise=st.none() | st.floats(1e-9, 1e-2),
).map(
    lambda c: replace(
        c, variance=c.variance * c.total, noise=None if c.noise is None else c.noise * c.total
    )
)


# --- the inverse ---------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
@given(criteria=samples, df=st.floats(0, 20), share=st.floats(1e-6, 1.0))
def test_the_inverse_finds_the_loss(name, criteria, df, share):
    """The largest loss that costs no more: costs grow with the loss."""
    one, loss = criterion(name, criteria), share * criteria.total
    cost = one.cost(loss, df)
    # What is left of a cost far above or below zero, as a share of the loss.
    terms = one.terms(df)
    lost = 1e-15 * (abs(cost) + abs(float(terms.penalty))) / abs(float(terms.weight))
    relative = lost * (1.0 if terms.is_log else terms.unit / loss)
    assert one.max_loss(cost, df) == pytest.approx(loss, rel=1e-9 + 8 * relative)


@pytest.mark.parametrize("name", NAMES)
@given(criteria=samples, df=st.floats(0, 20), share=st.floats(1e-3, 1.0), fall=st.floats(0.1, 0.9))
def test_the_cost_of_the_inverse_is_the_cost(name, criteria, df, share, fall):
    """cost(inverse(c, df), df) = c, for a cost that some other model has."""
    one = criterion(name, criteria)
    cost = one.cost(fall * share * criteria.total, df)
    loss = one.max_loss(cost, df)
    scale = 1 + abs(cost) + abs(float(one.terms(df).penalty))
    assert one.cost(loss, df) == pytest.approx(cost, abs=1e-9 * scale)
    assert loss < share * criteria.total


def test_no_loss_is_small_enough():
    c = Criteria(40, 10, variance=0.1)
    assert math.isnan(c["cp"].max_loss(-41.0, 2))  # Cp is at least 2p - n
    assert math.isnan(c["adjusted_r2"].max_loss(-1.1, 2))
    assert math.isnan(c["aicc"].max_loss(5.0, 39))  # it is not defined
    assert c["aic"].max_loss(-1e6, 2) == 0.0


def test_what_a_further_column_must_bring():
    """Known σ: it pays if it lowers the loss by more than the charge times σ²."""
    one = by_charge("bic", Sample(50, 10, noise=0.02))
    drop = 0.6 - one.max_loss(one.cost(0.6, 3), 4)
    assert drop == pytest.approx(0.02 * math.log(50)) == one.threshold(0.6, 3)


# --- degrees of freedom --------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_fractional_degrees_of_freedom_lie_in_between(name):
    """A ridge term makes df a trace, which need not be a whole number."""
    c = Criteria(60, 30, True, 10.0, 0.1)
    costs = criterion(name, c).cost(3.0, np.linspace(2, 6, 17))
    assert (np.diff(costs) > 0).all()


@pytest.mark.parametrize("name", NAMES)
def test_arrays_broadcast(name):
    one = criterion(name, Criteria(60, 30, True, 10.0, 0.1))
    losses, dfs = np.array([5.0, 3.0]), np.array([[1.0], [2.5]])
    costs = one.cost(losses, dfs)
    assert costs.shape == (2, 2)
    assert isinstance(one.cost(5.0, 1), float)
    for i, j in np.ndindex(2, 2):
        assert costs[i, j] == one.cost(losses[j], dfs[i, 0])


# --- known noise ---------------------------------------------------------------------------------


@given(criteria=samples, df=st.floats(0, 20), share=st.floats(1e-6, 1.0))
def test_known_noise(criteria, df, share):
    """RSS/σ² + what degrees of freedom cost: -2 log L, which Cp is, too, but for n."""
    noise, loss, p = 0.01 * criteria.total, share * criteria.total, df + criteria.intercept
    c, fit = replace(criteria, noise=noise), share / 0.01
    assert c["aic"].cost(loss, df) == pytest.approx(fit + 2 * p)
    assert c["aicc"].cost(loss, df) == c["aic"].cost(loss, df)  # no σ is estimated
    assert c["cp"].cost(loss, df) == pytest.approx(fit + 2 * p - c.rows, abs=1e-8 * c.rows)
    assert c["bic"].cost(loss, df) == pytest.approx(fit + p * math.log(c.rows))
    m = c.features
    choices = math.lgamma(m + 1) - math.lgamma(df + 1) - math.lgamma(m - df + 1)
    ebic = c["bic"].cost(loss, df) + 2 * choices / c.targets
    assert c["ebic"].cost(loss, df) == pytest.approx(ebic, rel=1e-9, abs=1e-9)
    charge = c["ric"].charge
    assert c["ric"].cost(loss, df) == pytest.approx(c.parts * fit + df * charge)


def test_the_noise_that_a_model_leaves():
    sample = Sample(40, 100, True, total=2.0)
    assert sample.noise_variance(0.6, 9) == pytest.approx(0.6 / 30)
    assert sample.noise_variance(0.0, 9) == pytest.approx(2.0 * EXACT / 30)
    assert sample.noise_variance(0.6, 40) > 0
    assert replace(sample, noise=0.05).noise_variance(0.6, 9) == 0.05


# --- what a sample is ----------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [np.float32, float, complex])
def test_the_sample_of_a_problem(kind):
    rng = np.random.default_rng(0)
    A = rng.standard_normal((12, 5)).astype(kind)
    data = problem(A, 7 * A[:, 0] + A[:, 1], exclude=[3])
    sample = Sample.of(data, noise=0.1)
    parts = 2 if kind is complex else 1
    exact = (64 * float(np.finfo(kind).eps)) ** 2
    assert sample == Sample(12, 4, exact=exact, parts=parts, noise=0.1)
    assert Sample.of(data, exact=1e-3).exact == 1e-3


@pytest.mark.parametrize("name", NAMES)
def test_it_is_pickled(name):
    one = criterion(name, Criteria(60, 30, True, 10.0, 0.1))
    again = pickle.loads(pickle.dumps(one))
    assert again == one
    assert again.cost(3.0, 2) == one.cost(3.0, 2)


# --- a function of the user ----------------------------------------------------------------------


def test_a_function_is_a_criterion():
    asked = []
    own = OwnCriterion(lambda loss, df: asked.append((loss, df)) or loss + df, exact=1e-3)
    np.testing.assert_array_equal(own.cost([1.0, 0.5], [2, 3]), [3.0, 3.5])
    assert own.cost(5e-4, 1) == 1.0  # rounding error
    assert isinstance(own.cost(2.0, 1), float)
    assert own.value(2.0, 1) == 3.0
    assert own.cost(2.0, 1.5) == 3.5
    assert all(type(loss) is float for loss, _ in asked)
    assert [type(df) for _, df in asked] == [int] * 5 + [float]  # columns are counted


def test_the_units_of_a_function():
    own = OwnCriterion(lambda loss, df: loss, exact=1e-3, to_units=lambda loss: 9 * loss)
    assert own.cost(2.0, 0) == 18.0


@given(loss=st.floats(1e-30, 1e30), df=st.floats(0, 50))
def test_the_inverse_of_a_function(loss, df):
    own = OwnCriterion(lambda loss, df: 7 * math.log(loss) + df**2 if loss > 0 else -math.inf)
    assert own.max_loss(own.cost(loss, df), df) == pytest.approx(loss, rel=1e-9)


def test_a_function_that_costs_more_whatever_the_loss():
    assert math.isnan(OwnCriterion(lambda loss, df: loss + df).max_loss(2.0, 3))


@pytest.mark.parametrize("value", [math.nan, None, "x", 1j])
def test_a_function_that_is_no_number(value):
    with pytest.raises(InputError, match=r"^criterion\(0\.5, 2\) is not a number; let it return"):
        OwnCriterion(lambda loss, df: value).cost(0.5, 2)


def test_a_function_beyond_all_numbers():
    assert OwnCriterion(lambda loss, df: 10**400).cost(0.5, 2) == math.inf
    assert OwnCriterion(lambda loss, df: -(10**400)).cost(0.5, 2) == -math.inf


# --- the least of them ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("costs", "first"),
    [
        ([3.0], 0),
        ([3.0, 1.0, 2.0], 1),
        ([3.0, 1.0 + 1e-13, 1.0], 1),
        ([3.0, 1.0 + 1e-6, 1.0], 2),
        ([1e9, 1e9 - 100.0, 1e9], 1),
        ([-math.inf, -math.inf, 0.0], 0),
        ([0.0, -math.inf, -math.inf], 1),
        ([math.inf, 5.0, math.inf], 1),
        ([math.inf, math.inf], 0),
        ([-5.0, -5.0, -4.0], 0),
    ],
    ids=str,
)
def test_first_least(costs, first):
    assert first_least(costs) == first


@given(
    st.lists(st.integers(-5, 5), min_size=1, max_size=8),
    st.floats(0, 1e-13),
    st.floats(1e-30, 1e30),
)
def test_first_of_the_equal(costs, rounding, unit):
    """Equal but for rounding: the first, however rounding has ordered them, in any unit."""
    shaken = [c + rounding * (len(costs) - i) for i, c in enumerate([*costs, 6])]
    assert first_least([unit * c for c in shaken]) == costs.index(min(costs))


def test_what_is_not_a_number_is_not_the_least():
    assert first_least([3.0, math.nan, 1.0, math.nan]) == 2
    assert first_least([math.nan, -math.inf]) == 1
