"""Stability selection: what it counts, promises and refuses, and scikit-learn's checks."""

import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sparse
from sklearn.base import clone
from sklearn.feature_selection import RFE, SelectKBest, f_regression
from sklearn.linear_model import Lasso, LinearRegression, LogisticRegression, Ridge
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import sparsewise as sw
from sparsewise import (
    BasisPursuitRegressor,
    InputWarning,
    PursuitRegressor,
    SparseBayesRegressor,
    SparseRegressor,
    StabilitySelection,
    StepwiseRegressor,
)
from sparsewise.inference.error_bounds import error_bound
from tests.test_bad_input import refused

RNG = np.random.default_rng(0)
X = RNG.standard_normal((60, 20))
Y = X[:, [2, 7, 11]] @ [1.5, -1.5, 1.0] + RNG.standard_normal(60)


def three(A, y):
    return sw.forward(A, y, sparsity=3)


@pytest.mark.filterwarnings("ignore:No features were selected:UserWarning")
@parametrize_with_checks(
    [
        StabilitySelection(StepwiseRegressor(), n_pairs=3, threshold=0.6, random_state=0),
        StabilitySelection(Lasso(0.01), n_pairs=2, threshold=0.6, max_features=1),
    ]
)
def test_all_checks_of_scikit_learn(estimator, check):
    check(estimator)


@pytest.mark.parametrize(
    "estimator",
    [
        StepwiseRegressor(), SparseRegressor(), SparseBayesRegressor(),
        PursuitRegressor(sparsity=3), BasisPursuitRegressor(penalty=8.0), Lasso(0.2), three,
        RFE(Ridge(), n_features_to_select=3),
        SelectKBest(f_regression, k=3), make_pipeline(StandardScaler(), Lasso(0.2)),
        lambda A, y: np.argsort(-np.abs(A.T @ y))[:3],
        lambda A, y: np.abs(A.T @ y) > np.sort(np.abs(A.T @ y))[-4],
    ],
)  # fmt: skip
def test_whatever_selects(estimator):
    A = np.random.default_rng(3).standard_normal((200, 20))
    y = A[:, [2, 7, 11]] @ [4.0, -4.0, 4.0] + A[:, 0] ** 2
    model = StabilitySelection(estimator, n_pairs=5, max_features=4, random_state=0).fit(A, y)
    assert model.get_support(indices=True).tolist() == [2, 7, 11]
    assert model.transform(A).shape == (200, 3)


def test_frequencies_are_those_of_complementary_halves():
    rows = []

    def spy(A, y):
        rows.append(A[:, 0])
        return np.flatnonzero(A.sum(axis=0) > 0)

    table = np.column_stack([np.arange(11.0), *np.random.default_rng(1).standard_normal((4, 11))])
    model = StabilitySelection(spy, n_pairs=6, threshold=0.9, random_state=5).fit(
        table, np.ones(11)
    )
    assert len(rows) == 12
    for one, other in zip(rows[::2], rows[1::2], strict=True):
        assert len(one) == len(other) == 5
        assert not set(one) & set(other)
    counts = [np.mean([table[half.astype(int), j].sum() > 0 for half in rows]) for j in range(5)]
    np.testing.assert_allclose(model.selection_frequencies_, counts)
    np.testing.assert_array_equal(model.get_support(), np.array(counts) >= 0.9)
    assert model.n_selected_ == pytest.approx(sum(counts))
    # 10.8 halves or more
    assert model.error_bound_ == pytest.approx(error_bound(sum(counts), 5, 11, 6))


def test_the_threshold_is_the_smallest_that_keeps_the_promise():
    for bound, place in (("worst-case", 0), ("r-concave", 1)):
        model = StabilitySelection(
            three, n_pairs=20, expected_false=0.5, bound=bound, random_state=0
        ).fit(X, Y)
        least = round(40 * model.threshold_)
        assert model.n_selected_ == 3
        assert error_bound(3, 20, least, 20)[place] == model.error_bound_[place] <= 0.5
        assert least == 21 or error_bound(3, 20, least - 1, 20)[place] > 0.5


def test_the_same_seed_gives_the_same_answer_however_many_at_a_time():
    one = StabilitySelection(Lasso(0.2, selection="random"), n_pairs=5, random_state=1)
    first = one.fit(X, Y).selection_frequencies_
    again = clone(one).set_params(n_jobs=2).fit(X, Y).selection_frequencies_
    np.testing.assert_array_equal(first, again)
    other = clone(one).set_params(random_state=2).fit(X, Y).selection_frequencies_
    assert (first != other).any()


def test_few_features_of_a_half_are_those_that_matter():
    """Units don't: a coefficient counts times the spread of its feature, after a scaler, too."""
    units = np.logspace(-1, 1, 20)
    expected = StabilitySelection(LinearRegression(), n_pairs=5, max_features=3, random_state=0)
    expected.fit(X, Y)
    assert expected.selection_frequencies_.sum() == pytest.approx(3)
    for base in (LinearRegression(), make_pipeline(StandardScaler(), LinearRegression())):
        model = StabilitySelection(base, n_pairs=5, max_features=3, random_state=0)
        model.fit(X * units, Y)
        np.testing.assert_array_equal(model.selection_frequencies_, expected.selection_frequencies_)


def test_sparse_tables_frames_and_classes():
    model = StabilitySelection(StepwiseRegressor(sparsity=3), n_pairs=5, random_state=0)
    dense = model.fit(X, Y).selection_frequencies_
    np.testing.assert_array_equal(model.fit(sparse.csc_array(X), Y).selection_frequencies_, dense)
    most = StabilitySelection(LinearRegression(), n_pairs=3, max_features=2, random_state=0)
    dense = most.fit(X, Y).selection_frequencies_
    np.testing.assert_array_equal(most.fit(sparse.csr_array(X), Y).selection_frequencies_, dense)
    frame = pd.DataFrame(X, columns=[f"f{j}" for j in range(20)])
    assert model.fit(frame, Y).get_feature_names_out().tolist() == ["f2", "f7", "f11"]
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.get_support(), model.get_support())
    classes = np.where(X[:, 3] > 0, "a", "b")
    base = LogisticRegression(max_iter=1000)
    chosen = StabilitySelection(base, n_pairs=5, max_features=1, random_state=0).fit(X, classes)
    assert chosen.get_support(indices=True).tolist() == [3]


def test_noise_is_rarely_taken():
    """At most one of 50 features of noise was promised, on average."""
    rng, taken = np.random.default_rng(2), []
    for _ in range(40):
        A, y = rng.standard_normal((40, 50)), rng.standard_normal(40)
        model = StabilitySelection(
            lambda A, y: sw.forward(A, y, sparsity=5), n_pairs=10, random_state=rng.integers(99)
        )
        model.fit(A, y)
        assert model.error_bound_.r_concave <= 1
        taken.append(model.get_support().sum())
    assert np.mean(taken) <= 1


def test_a_promise_that_can_not_be_kept():
    model = StabilitySelection(LinearRegression(), n_pairs=2, random_state=0)
    with pytest.warns(InputWarning, match="20 of 20 features selected in a half.*max_features"):
        model.fit(X, Y)
    assert model.threshold_ == 1.0


def test_bad_input():
    with refused("estimator", "KNeighborsRegressor has neither"):
        StabilitySelection(KNeighborsRegressor(), n_pairs=1).fit(X, Y)
    with refused("estimator", "below 20"):
        StabilitySelection(lambda A, y: [20], n_pairs=1).fit(X, Y)
    with refused("estimator", "below 20", "float64"):
        StabilitySelection(lambda A, y: [0.5], n_pairs=1).fit(X, Y)
    with refused("estimator selected 3 features", "max_features=2"):
        StabilitySelection(lambda A, y: [1, 2, 3], n_pairs=1, max_features=2).fit(X, Y)
    for wrong in ({"threshold": 0.5}, {"threshold": 1.1}, {"n_pairs": 0}, {"expected_false": 0}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            StabilitySelection(three, **wrong).fit(X, Y)
