"""When rows are condensed: one rule, and the limits of each use."""

import math

import pytest

from sparsewise.plan import (
    CONDENSE_BEYOND_WORKERS,
    CONDENSE_FOLDS,
    CONDENSE_LARGE_ARRAY,
    CONDENSE_ON_WORKERS,
    CONDENSE_SEARCH,
    CONDENSE_UNREAD,
    condenses,
)


@pytest.mark.parametrize(
    ("limits", "n", "m", "q"),
    [
        (CONDENSE_SEARCH, 2 * (10 + 3) + 1, 10, 3),
        (CONDENSE_LARGE_ARRAY, 4 * 12, 10, 3),
        (CONDENSE_FOLDS, 32 * 100, 100, 1),
        (CONDENSE_ON_WORKERS, 4 * 1000, 900, 101),
        (CONDENSE_BEYOND_WORKERS, 4 * 8192, 8192, 1),
        (CONDENSE_UNREAD, 2 * 10**5 + 3, 10**5, 1),
    ],
)
def test_rows_and_columns_from_which_on_it_pays(limits, n, m, q):
    assert condenses(limits, n, m, q)
    assert not condenses(limits, n - 1, m, q)
    assert not condenses(limits, n, m, q + 1)  # another target is another column
    wide = m if math.isinf(limits.columns) else int(limits.columns)
    assert condenses(limits, 10**9, wide)
    assert condenses(limits, 10**9, wide + 1) == math.isinf(limits.columns)


def test_small_tables_stay_whole():
    assert not condenses(CONDENSE_FOLDS, (1 << 18) - 1, 1)
    assert condenses(CONDENSE_FOLDS, 1 << 18, 1)
    assert not condenses(CONDENSE_SEARCH, 4, 1)
    assert condenses(CONDENSE_SEARCH, 5, 1)


def test_rows_that_nobody_has_counted_count_as_many():
    assert condenses(CONDENSE_ON_WORKERS, math.nan, 1024)
    assert not condenses(CONDENSE_ON_WORKERS, math.nan, 1025)
