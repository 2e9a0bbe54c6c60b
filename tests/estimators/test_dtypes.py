"""What is no table of real numbers: columns are named, as at the command line."""

import datetime

import numpy as np
import pandas as pd
import polars as pl
import pytest

import sparsewise
from sparsewise import (
    BasisPursuitRegressor,
    PursuitRegressor,
    RelevanceVectorRegressor,
    SparseBayesRegressor,
    SparseRegressor,
    StepwiseRegressor,
)
from sparsewise.errors import InputError, InputTypeError

N = 30
a = np.linspace(0, 1, N)
y = np.random.default_rng(0).normal(size=N)
day = datetime.date(2024, 2, 29)
ESTIMATORS = {
    PursuitRegressor: "omp",
    SparseBayesRegressor: "rmp",
    BasisPursuitRegressor: "bpdn",
    SparseRegressor: "solve",
    StepwiseRegressor: "stepwise",
    RelevanceVectorRegressor: "rmp",
}
LEVELS = "leave it out, or make a 0/1 feature of each level, by a OneHotEncoder say."

CASES = {
    "text": (["u", "v"] * 15, f'holds text (the first is "u" in row 0); {LEVELS}'),
    "text behind numbers": (
        ["1"] * 29 + ["v"],
        f'holds text (the first is "v" in row 29); {LEVELS}',
    ),
    "dates": (
        [day] * N,
        'holds dates or times (the first is "2024-02-29" in row 0); leave it out.',
    ),
    "durations": (
        [datetime.timedelta(1)] * N,
        'holds durations (the first is "1 day, 0:00:00" in row 0); leave it out.',
    ),
    "lists": ([[1, 2]] * N, "holds lists "),
    "objects": ([len] * N, "holds objects of type builtin_function_or_method "),
}


DECLARED = {
    "pandas, numbers": lambda: pd.Series(pd.Categorical([1, 2, 3] * 10)),
    "pandas, text": lambda: pd.Series(pd.Categorical(["1", "20", "30"] * 10)),
    "Polars": lambda: pl.Series(["1", "20", "30"] * 10, dtype=pl.Categorical),
    "Polars, enum": lambda: pl.Series(["1", "20", "30"] * 10, dtype=pl.Enum(["1", "20", "30"])),
}


@pytest.mark.parametrize("declared", DECLARED)
@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_declared_categories_are_no_numbers(estimator, declared):
    """Even where levels look like numbers: a slope over them would mean nothing."""
    g = DECLARED[declared]()
    package = pd if declared.startswith("pandas") else pl
    X = package.DataFrame({"a": a, "g": g})
    with pytest.raises(InputError) as error:
        estimator().fit(X, y)
    words = f'X has a column "g" that holds categories (the first is "1" in row 0); {LEVELS}'
    assert str(error.value) == words
    plain = estimator().fit(X[["a"]], y)
    with pytest.raises(InputError, match=r'y holds categories \(the first is "1" in row 0\)'):
        plain.fit(X[["a"]], g)


def test_categories_that_are_missing():
    g = pd.Categorical([None] * N, categories=["1", "2"])
    with pytest.raises(InputError, match="holds categories"):
        StepwiseRegressor().fit(pd.DataFrame({"a": a, "g": g}), y)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_columns_of_frames_are_named(kind, case):
    cells, words = CASES[case]
    X = {"pandas": pd, "polars": pl}[kind].DataFrame({"a": a, "odd": cells})
    with pytest.raises(InputError) as error:
        StepwiseRegressor().fit(X, y)
    told = str(error.value).replace("1 days 00:00:00", "1 day, 0:00:00")
    assert told.startswith(f'X has a column "odd" that {words}')


def test_several_columns():
    X = pl.DataFrame({"a": a, "city": ["u"] * N, "day": [day] * N})
    message = 'X has columns "city", "day" that hold text and dates or times; leave them out, or'
    with pytest.raises(InputError, match=message):
        SparseRegressor().fit(X, y)


@pytest.mark.parametrize(
    "X",
    [
        pd.DataFrame({"a": a, "when": pd.date_range("2024", periods=N)}),
        pd.DataFrame({"a": a, "when": pd.Categorical(["u", "v"] * 15)}),
    ],
)
def test_types_of_pandas(X):
    with pytest.raises(InputError, match='X has a column "when" that holds'):
        StepwiseRegressor().fit(X, y)


def test_arrays_and_targets():
    with pytest.raises(InputError, match='X has a column "x1" that holds text'):
        StepwiseRegressor().fit(np.array([[1, "u"]] * N, object), y)
    with pytest.raises(InputError, match=r'y holds text .the first is "u" in row 0.; give numbers'):
        StepwiseRegressor().fit(a[:, None], pl.Series(["u"] * N))
    model = StepwiseRegressor().fit(pl.DataFrame({"a": a}), y)
    with pytest.raises(InputError, match='column "a" that holds text'):
        model.predict(pl.DataFrame({"a": ["u", "v"]}))


def test_numbers_are_numbers_whatever_their_type():
    frames = [
        pd.DataFrame({"a": a.astype(object), "b": ["1", "2"] * 15, "c": [True, False] * 15}),
        pd.DataFrame({"a": pd.array(a, "Float64"), "c": pd.array([1, 2] * 15, "Int64")}),
        pl.DataFrame({"a": a, "b": ["1", "2"] * 15, "c": [True, False] * 15}),
    ]
    for X in frames:
        assert StepwiseRegressor().fit(X, y).n_features_in_ == X.shape[1]


def test_lazy_frames_are_refused_by_name():
    lazy = pl.LazyFrame({"a": a})
    message = "is a LazyFrame of Polars, whose rows have not been read; pass"
    with pytest.raises(InputTypeError, match=rf"X {message} X.collect\(\)"):
        StepwiseRegressor().fit(lazy, y)
    with pytest.raises(InputTypeError, match=rf"y {message} y.collect\(\)"):
        StepwiseRegressor().fit(a[:, None], lazy)
    with pytest.raises(InputTypeError, match="X is a LazyFrame"):
        StepwiseRegressor().fit(a[:, None], y).predict(lazy)


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_complex_numbers_have_a_function(estimator):
    Z = np.random.default_rng(1).normal(size=(N, 4)) * (1 + 1j)
    name = ESTIMATORS[estimator]
    with pytest.raises(InputError) as error:
        estimator().fit(Z, y)
    assert str(error.value) == (
        "Complex data not supported: X holds complex numbers, but estimators take real ones; "
        f"sparsewise.{name}(X, y) takes both."
    )
    with pytest.raises(InputError, match="Complex data not supported: y holds"):
        estimator().fit(Z.real, Z[:, 0])


@pytest.mark.parametrize("name", ["omp", "rmp", "stepwise", "solve"])
def test_these_functions_take_complex_numbers(name):
    rng = np.random.default_rng(2)
    Z = rng.normal(size=(N, 4)) + 1j * rng.normal(size=(N, 4))
    needed = {"omp": {"sparsity": 1}}.get(name, {})
    solution = getattr(sparsewise, name)(Z, Z[:, 2], **needed)
    assert solution.support.tolist() == [2]
