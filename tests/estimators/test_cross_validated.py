"""Folds that keep groups together, and through scikit-learn's routing of metadata."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from sklearn.model_selection import GroupKFold, KFold, LeaveOneGroupOut, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sparsewise import Condensed, SparseRegressor, StepwiseRegressor
from sparsewise.errors import InputError

rng = np.random.default_rng(0)
groups = np.repeat(np.arange(12), 5)
X = rng.normal(size=(60, 6))
y = X[:, 1] + rng.normal(size=12)[groups] + 0.1 * rng.normal(size=60)


@pytest.mark.parametrize("estimator", [StepwiseRegressor, SparseRegressor])
@pytest.mark.parametrize("splitter", [GroupKFold(4), LeaveOneGroupOut()])
def test_groups_reach_the_splitter(estimator, splitter):
    given = estimator(criterion="cv", cv=list(splitter.split(X, y, groups))).fit(X, y)
    told = estimator(criterion="cv", cv=splitter).fit(X, y, groups=groups)
    np.testing.assert_array_equal(told.cv_errors_.by_fold, given.cv_errors_.by_fold)
    np.testing.assert_array_equal(told.coef_, given.coef_)


def test_a_number_of_folds_keeps_groups_together():
    told = StepwiseRegressor(criterion="cv", cv=4).fit(X, y, groups=[f"g{g}" for g in groups])
    names = np.array([f"g{g}" for g in groups])
    given = StepwiseRegressor(criterion="cv", cv=GroupKFold(4)).fit(X, y, groups=names)
    np.testing.assert_array_equal(told.cv_errors_.by_fold, given.cv_errors_.by_fold)


def test_rows_of_weight_zero_have_no_group():
    counts = (groups != 3).astype(float)
    some = counts > 0
    weighted = StepwiseRegressor(criterion="cv", cv=LeaveOneGroupOut())
    alone = StepwiseRegressor(criterion="cv", cv=LeaveOneGroupOut())
    weighted.fit(X, y, sample_weight=counts, groups=groups)
    alone.fit(X[some], y[some], groups=groups[some])
    np.testing.assert_allclose(weighted.cv_errors_.mean, alone.cv_errors_.mean)
    assert len(weighted.cv_errors_.by_fold) == 11


def test_groups_are_routed():
    with sklearn.config_context(enable_metadata_routing=True):
        model = StepwiseRegressor(criterion="cv", cv=LeaveOneGroupOut())
        pipeline = make_pipeline(StandardScaler(), model.set_fit_request(groups=True))
        pipeline.fit(X, y, groups=groups)
        assert len(pipeline[-1].cv_errors_.by_fold) == 12
        scores = cross_validate(pipeline, X, y, cv=KFold(3), params={"groups": groups})
        assert np.isfinite(scores["test_score"]).all()


@pytest.mark.parametrize(
    ("model", "rows", "message"),
    [
        (StepwiseRegressor(), (X, y), r'there are none but with criterion="cv"\.'),
        (StepwiseRegressor(criterion="cv", sparsity=2), (X, y), "groups keeps rows together"),
        (StepwiseRegressor(criterion="cv", cv=13), (X, y), "cv asks for more folds than 12 groups"),
        (
            StepwiseRegressor(criterion="cv"),
            (Condensed().update(X, y, fold=groups),),
            "groups tells splitters which rows belong together, but these are not kept",
        ),
        (StepwiseRegressor(criterion="cv"), (X[:9], y[:9]), "inconsistent numbers of samples"),
    ],
)
def test_groups_that_are_no_use(model, rows, message):
    with pytest.raises(ValueError, match=message):
        model.fit(*rows, groups=groups)


def test_bad_groups_are_input_errors():
    with pytest.raises(InputError, match="groups"):
        SparseRegressor().fit(X, y, groups=groups)


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_the_path_is_a_frame_if_x_is(frame):
    """Whatever `set_output` asks of `transform`."""
    names = [f"c{j}" for j in range(6)]
    model = StepwiseRegressor().fit(frame(dict(zip(names, X.T, strict=True))), y)
    assert isinstance(model.path_, frame)
    assert isinstance(model.set_output(transform="pandas").path_, frame)
    assert model.path_ is model.path_
    with sklearn.config_context(transform_output="pandas"):
        assert isinstance(StepwiseRegressor().fit(X, y).path_, dict)
