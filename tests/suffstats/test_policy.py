"""When rows are condensed: one rule, and the limits of each use."""

import math

import pytest

from sparsewise.suffstats.policy import (
    FOLDS,
    LARGE_ARRAY,
    MORE_THAN_WORKERS_HOLD,
    SEARCH,
    UNREAD,
    WORKERS,
    pays,
)


@pytest.mark.parametrize(
    ("limits", "n", "m", "q"),
    [
        (SEARCH, 2 * (10 + 3) + 1, 10, 3),
        (LARGE_ARRAY, 4 * 12, 10, 3),
        (FOLDS, 32 * 100, 100, 1),
        (WORKERS, 4 * 1000, 900, 101),
        (MORE_THAN_WORKERS_HOLD, 4 * 8192, 8192, 1),
        (UNREAD, 2 * 10**5 + 3, 10**5, 1),
    ],
)
def test_rows_and_columns_from_which_on_it_pays(limits, n, m, q):
    assert pays(limits, n, m, q)
    assert not pays(limits, n - 1, m, q)
    assert not pays(limits, n, m, q + 1)  # another target is another column
    wide = m if math.isinf(limits.columns) else int(limits.columns)
    assert pays(limits, 10**9, wide)
    assert pays(limits, 10**9, wide + 1) == math.isinf(limits.columns)


def test_small_tables_stay_whole():
    assert not pays(FOLDS, (1 << 18) - 1, 1)
    assert pays(FOLDS, 1 << 18, 1)
    assert not pays(SEARCH, 4, 1)
    assert pays(SEARCH, 5, 1)


def test_rows_that_nobody_has_counted_count_as_many():
    assert pays(WORKERS, math.nan, 1024)
    assert not pays(WORKERS, math.nan, 1025)
