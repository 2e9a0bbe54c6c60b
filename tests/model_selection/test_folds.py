"""Folds of a large table are triangles: the same errors as from its rows."""

import numpy as np
import pytest
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    LeaveOneGroupOut,
    PredefinedSplit,
    RepeatedKFold,
    ShuffleSplit,
)

from sparsewise import SparseRegressor, StepwiseRegressor, plan
from sparsewise.model_selection import folds
from sparsewise.model_selection.condensed_data import CondensedData
from sparsewise.model_selection.folds import fold_of_rows, in_folds
from sparsewise.model_selection.tabular_data import TabularData
from sparsewise.problem import preprocessing as reduction

N, M = 200, 6
PARTITIONS = {
    "a number": 4,
    "none": None,
    "in another order": KFold(3, shuffle=True, random_state=0),
    "given": PredefinedSplit(np.arange(N) % 3),
    "some never predicted": PredefinedSplit(np.arange(N) % 3 - 1),
    "lists": [(np.arange(100), np.arange(100, N)), (np.arange(100, N), np.arange(100))],
}
OTHERS = {
    "random": ShuffleSplit(3, random_state=0),
    "repeated": RepeatedKFold(n_splits=2, n_repeats=2, random_state=0),
    "learnt twice": [(np.r_[0:100, 0:100], np.arange(100, N))],
    "some in no fold": [(np.arange(100), np.arange(110, N))],
}


@pytest.fixture(autouse=True)
def all_are_large(monkeypatch):
    monkeypatch.setattr(reduction, "COPIED", 0)


def rows(seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((N, M)) * np.logspace(-1, 1, M) + np.linspace(-20, 20, M)
    y = 5 + X[:, :3] @ [1.0, -0.5, 0.2] + 0.5 * rng.standard_normal(N)
    return X, y, rng.integers(0, 3, N).astype(float)


def whole(weights=None):
    X, y, _ = rows()
    return TabularData.of(X, y, weights, intercept=True, include=[], exclude=[])


@pytest.mark.parametrize("name", PARTITIONS)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kind", [StepwiseRegressor, SparseRegressor])
@pytest.mark.parametrize("intercept", [True, False])
def test_the_same_errors_as_from_rows(name, weighted, kind, intercept, monkeypatch):
    X, y, w = rows()
    w = w if weighted else None
    model = kind(criterion="cv", cv=PARTITIONS[name], fit_intercept=intercept)
    by_triangles = model.fit(X, y, w).cv_errors_
    asked = []
    monkeypatch.setattr(folds, "_condense_folds", lambda *_: asked.append(1))
    monkeypatch.setattr(folds, "fold_of_rows", lambda *_: None)
    by_rows = model.fit(X, y, w).cv_errors_
    assert not asked
    np.testing.assert_allclose(by_triangles.by_fold, by_rows.by_fold, rtol=1e-10)
    np.testing.assert_allclose(by_triangles.mean, by_rows.mean, rtol=1e-10)
    assert by_triangles.chosen == by_rows.chosen


@pytest.mark.parametrize("name", PARTITIONS)
def test_each_fold_is_condensed_once(name):
    data, splits = in_folds(whole(), PARTITIONS[name])
    assert isinstance(data, CondensedData)
    table = whole()
    for (train, test), (of_rows, held) in zip(splits, table.splits(PARTITIONS[name]), strict=True):
        assert data.part(train).count == len(of_rows)
        assert data.part(test).count == len(held)
        np.testing.assert_allclose(data.part(test).reduced.level, table.y[held].mean())


@pytest.mark.parametrize("name", OTHERS)
def test_other_splits_are_made_of_rows(name):
    data, splits = in_folds(whole(), OTHERS[name])
    assert isinstance(data, TabularData)
    assert fold_of_rows(splits, N) is None


def test_groups_of_any_splitter():
    groups = np.arange(N) // 50
    for splitter in (GroupKFold(4), LeaveOneGroupOut()):
        splits = list(splitter.split(np.empty((N, 0)), groups=groups))
        found = fold_of_rows(splits, N)
        for i, (_, test) in enumerate(splits):
            np.testing.assert_array_equal(np.flatnonzero(found == i), test)


def test_a_small_table_stays_as_it_is(monkeypatch):
    monkeypatch.setattr(reduction, "COPIED", 1 << 30)
    assert isinstance(in_folds(whole(), 4)[0], TabularData)


def test_a_tall_table_is_condensed_for_its_folds_alone(monkeypatch):
    monkeypatch.setattr(reduction, "COPIED", 1 << 30)
    monkeypatch.setattr(
        plan, "CONDENSE_FOLDS", limits := plan.CONDENSE_FOLDS._replace(entries=N * M)
    )
    assert not whole().reduced.condensed
    assert isinstance(in_folds(whole(), 4)[0], CondensedData)
    monkeypatch.setattr(plan, "CONDENSE_FOLDS", limits._replace(rows=N // M + 1))
    assert isinstance(in_folds(whole(), 4)[0], TabularData)
    monkeypatch.setattr(plan, "CONDENSE_FOLDS", limits._replace(rows=1, columns=M - 1))
    assert isinstance(in_folds(whole(), 4)[0], TabularData)
