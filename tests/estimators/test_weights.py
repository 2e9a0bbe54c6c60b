"""Weights are frequencies: weight 2 is a repeated row, weight 0 a dropped one."""

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import r2_score
from sklearn.model_selection import KFold, PredefinedSplit

from sparsewise import StepwiseRegressor
from tests.estimators.conftest import (
    BY_FOLDS,
    SETTINGS,
    WITHOUT_FOLDS,
    assert_close,
    assert_same,
    make,
    over,
    quietly,
    table,
)

rng = np.random.default_rng(5)
COUNTS = rng.integers(0, 4, 60)


@pytest.mark.parametrize("store", [np.asarray, scipy.sparse.csr_array], ids=["dense", "sparse"])
@over(WITHOUT_FOLDS)
def test_counts_are_repetitions(name, store):
    X, y = table()
    repeated = make(name).fit(store(np.repeat(X, COUNTS, axis=0)), np.repeat(y, COUNTS))
    weighted = make(name).fit(store(X), y, sample_weight=COUNTS)
    assert repeated.get_support().any()
    assert_same(weighted, repeated, X)
    assert_close(
        weighted.score(X, y, sample_weight=COUNTS),
        repeated.score(np.repeat(X, COUNTS, axis=0), np.repeat(y, COUNTS)),
    )


@over(SETTINGS)
def test_weight_zero_drops_a_row(name):
    """With folds, too: a number of folds sees the rows that count, and no others."""
    X, y = table()
    X, y = X.copy(), y.copy()
    kept = np.arange(60) % 4 != 1
    X[~kept] *= 1e6  # what counts for nothing must not be looked at
    y[~kept] = -1e9
    dropped = make(name).fit(X[kept], y[kept])
    weighted = make(name).fit(X, y, sample_weight=kept.astype(float))
    assert_same(weighted, dropped, X[kept])


@over(WITHOUT_FOLDS)
@pytest.mark.filterwarnings("ignore:sample_weight holds numbers that are not whole")
def test_halves_add_up(name):
    """A row in two parts, of weights that add up to its own."""
    X, y = table()
    whole = np.linspace(0.25, 3.0, 60)
    part = rng.uniform(0.1, 0.9, 60) * whole
    one = make(name).fit(X, y, sample_weight=whole)
    other = make(name).fit(
        np.vstack([X, X]), np.append(y, y), sample_weight=np.append(part, whole - part)
    )
    # One copy of a row is left out, not one row of the table: the halves share a residual.
    assert_same(one, other, X)


@over(["forward", "both", "backward", "loo", "rmp", "fast_sbl", "bpdn", "ard", "omp"])
@settings(max_examples=15)
@given(data=st.data())
def test_any_counts(name, data):
    """Small tables with whatever counts leave enough rows: the model is the repeated table's."""
    n = data.draw(st.integers(12, 25))
    counts = np.array(data.draw(st.lists(st.integers(0, 5), min_size=n, max_size=n)))
    if np.count_nonzero(counts) < 9:
        counts[:9] = 1
    X, y = table(n, 5, seed=data.draw(st.integers(0, 99)))
    repeated = make(name).fit(np.repeat(X, counts, axis=0), np.repeat(y, counts))
    assert_same(make(name).fit(X, y, sample_weight=counts), repeated, X)


@over(BY_FOLDS)
def test_folds_of_whole_groups(name):
    """Folds that keep the copies of a row together, so that weights can mean repetitions.

    A number of folds can't: it would split the copies.
    """
    X, y = table()
    group = np.arange(60) % 5
    copies = np.repeat(group, COUNTS)
    folds = [(group != i, group == i) for i in range(5)]
    parts = [(copies != i, copies == i) for i in range(5)]
    repeated = make(name, cv=parts).fit(np.repeat(X, COUNTS, axis=0), np.repeat(y, COUNTS))
    weighted = make(name, cv=folds).fit(X, y, sample_weight=COUNTS)
    assert_same(weighted, repeated, X)
    for mine, theirs in zip(weighted.cv_errors_, repeated.cv_errors_, strict=True):
        assert_close(mine, theirs)


@pytest.mark.parametrize("masks", [False, True], ids=["numbers", "masks"])
def test_given_folds_speak_of_the_whole_table(masks):
    X, y = table()
    kept = np.arange(60) % 4 != 1
    fold = rng.integers(0, 4, 60)
    given_folds = [(fold != i, fold == i) for i in range(4)]
    if not masks:
        given_folds = [tuple(map(np.flatnonzero, pair)) for pair in given_folds]
    weighted = StepwiseRegressor(criterion="cv", cv=given_folds)
    weighted.fit(X, y, sample_weight=kept.astype(float))
    predefined = StepwiseRegressor(criterion="cv", cv=PredefinedSplit(fold))
    predefined.fit(X, y, sample_weight=kept.astype(float))
    dropped = StepwiseRegressor(criterion="cv", cv=PredefinedSplit(fold[kept]))
    dropped.fit(X[kept], y[kept])
    for model in (weighted, predefined):
        assert_close(model.cv_errors_.by_fold, dropped.cv_errors_.by_fold)


def test_a_splitter_sees_the_rows_that_count():
    X, y = table()
    kept = np.arange(60) % 3 != 1
    splitter = KFold(4, shuffle=True, random_state=0)
    weighted = StepwiseRegressor(criterion="cv", cv=splitter).fit(X, y, sample_weight=kept)
    dropped = StepwiseRegressor(criterion="cv", cv=splitter).fit(X[kept], y[kept])
    assert_close(weighted.cv_errors_.by_fold, dropped.cv_errors_.by_fold)


@over(["forward", "rmp", "bpdn", "omp", "cv"])
def test_weights_of_one_are_no_weights(name):
    X, y = table()
    plain = make(name).fit(X, y)
    for weights in (np.ones(60), [1] * 60, 1.0, np.ones(60, np.float32)):
        assert_same(make(name).fit(X, y, sample_weight=weights), plain, X, rtol=1e-12)


@over(["forward", "cp", "delta", "rmp", "bpdn", "omp"])
def test_more_rows_by_weight_than_in_the_table(name):
    """As for repeated rows, 12 of which can't tell 20 features apart, however often they count."""
    X, y = table(12, 20)
    counts = np.full(12, 4)
    repeated = quietly(make(name).fit, np.repeat(X, 4, axis=0), np.repeat(y, 4))
    weighted = quietly(make(name).fit, X, y, sample_weight=counts)
    assert weighted.n_rows_ == 48
    assert_close(weighted.predict(X), repeated.predict(X), rtol=1e-6)
    np.testing.assert_array_equal(weighted.get_support(), repeated.get_support())


def test_weights_that_may_tell_precision():
    """Only where they are not whole, and the rows they count differ from those there are."""
    X, y = table()
    whole, near = np.arange(60) % 4 + 1.0, np.linspace(0.5, 1.6, 60)
    for quiet in (whole, near, whole / whole.mean(), np.ones(60), np.arange(60) % 2):
        StepwiseRegressor().fit(X, y, sample_weight=quiet)
        StepwiseRegressor().partial_fit(X, y, sample_weight=quiet)
    for weights in (whole + 0.3, whole / 10, 300.5 * near):
        for fit in (StepwiseRegressor().fit, StepwiseRegressor().partial_fit):
            with pytest.warns(UserWarning, match="is how often each row counts: 60 rows") as caught:
                model = fit(X, y, sample_weight=weights)
            assert [c.filename for c in caught] == [__file__]
            assert str(model.warnings_[0]) in str(caught[0].message)


def test_score_takes_weights():
    X, y = table()
    model = StepwiseRegressor(sparsity=2).fit(X, y)
    weights = np.where(y > np.median(y), 3.0, 0.1)  # half of the range: less to explain
    expected = r2_score(y, model.predict(X), sample_weight=weights)
    assert model.score(X, y, sample_weight=weights) == pytest.approx(expected, rel=1e-14)
    assert model.score(X, y) != pytest.approx(expected, rel=1e-3)


def test_weights_matter():
    """So that none of the above is true of weights that are ignored."""
    X, y = table()
    weights = np.where(y > np.median(y), 10.0, 1.0)
    for name in ("forward", "rmp", "bpdn", "omp"):
        plain, weighted = make(name).fit(X, y), make(name).fit(X, y, sample_weight=weights)
        assert abs(plain.intercept_ - weighted.intercept_) > 1e-3 * abs(plain.intercept_)
