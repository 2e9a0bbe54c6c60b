"""How far past its best model a path goes."""

import numpy as np
import pytest

from sparsewise import plan
from sparsewise.criteria.early_stopping import (
    AHEAD,
    AHEAD_IN_SCREENING,
    EarlyStopping,
    as_far_as,
    early_stopping,
    effortless,
    worth,
)
from sparsewise.criteria.information import Criteria


def wanted(losses, criterion="ric", rows=1000, features=2000, most=900, df=1.0):
    """What is said of a path from nothing with these losses, each feature taking `df`."""
    losses = np.asarray(losses, float)
    sizes = np.arange(losses.size)
    criteria = Criteria(rows, features, False, float(losses[0]))
    return EarlyStopping(criteria[criterion], AHEAD, most)(losses, df * sizes, sizes)


def test_nothing_is_cut_before_a_hundred_features():
    for steps in (0, 1, 50, AHEAD - 1):
        assert wanted(0.999 ** np.arange(steps + 1)) == AHEAD
    assert wanted([1.0], most=30) == 30


def test_a_path_of_noise_ends():
    """Each step explains less than the price of a feature, 2 log m of n."""
    assert wanted(0.99 ** np.arange(AHEAD + 1)) == AHEAD  # 10 of 15.2


def test_twice_as_far_as_the_best():
    rss = np.concatenate([0.9 ** np.arange(41), 0.9**40 * 0.995 ** np.arange(1, 101)])
    assert wanted(rss) == worth(40) == 180
    longer = np.concatenate([rss, rss[-1] * 0.995 ** np.arange(1, 41)])
    assert wanted(longer) == 180 == len(longer) - 1


def test_one_good_step_lately_is_a_reason_to_go_on():
    """Not worth it by itself, for what the steps before it have cost, but if it were the rule."""
    rss = 0.995 ** np.arange(AHEAD + 1)
    rss[60:] *= 0.95
    assert wanted(rss) == 2 * AHEAD
    # A hundred steps later it is forgotten.
    later = np.concatenate([rss, rss[-1] * 0.995 ** np.arange(1, AHEAD + 1)])
    assert wanted(later) < len(later) - 1


def test_what_knows_no_bounds_goes_on_to_the_end():
    """By the BIC each of these steps pays: log n is 6.9, and they explain 10 of n."""
    assert wanted(0.99 ** np.arange(AHEAD + 1), "bic") == worth(AHEAD)
    assert wanted(0.99 ** np.arange(801), "bic") == 900


def test_an_exact_fit_is_an_end():
    rss = 0.9 ** np.arange(2 * AHEAD + 1)
    rss[5:] = 0.0
    assert wanted(rss) == worth(5) < len(rss)


def test_as_far_as():
    assert as_far_as(7, 8)(np.ones(3), np.arange(3), np.arange(3)) == 7
    assert as_far_as(7, 7) is None


def test_features_that_take_less_than_a_degree_of_freedom_pay_sooner():
    """Shrunk coefficients: what is left falls as slowly, but each costs half as much."""
    losses = 0.99 ** np.arange(AHEAD + 1)  # 10 of n, where 15.2 is charged
    assert wanted(losses) == AHEAD
    assert wanted(losses, df=0.5) > AHEAD


def test_one_rule_for_paths_and_screening():
    assert worth(7) == 2 * 7 + AHEAD
    assert worth(7, AHEAD_IN_SCREENING) == 2 * 7 + AHEAD_IN_SCREENING


def test_nothing_is_cut_that_takes_no_time():
    ric = Criteria(500, 1000)["ric"]
    least = effortless(500, 1000)
    assert early_stopping(ric, least) is None
    assert early_stopping(ric, least + 1) == EarlyStopping(ric, least, least + 1)


@pytest.mark.parametrize(("n", "m"), [(100, 50), (500, 1000), (1000, 2000), (10**4, 5 * 10**4)])
def test_what_takes_no_time(n, m):
    k = effortless(n, m)
    assert k >= AHEAD
    if k > AHEAD:
        assert n * k * (m + k) <= plan.EFFORTLESS < n * (k + 1) * (m + k + 1)
