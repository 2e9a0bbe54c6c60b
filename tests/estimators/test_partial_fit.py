"""Rows that come in chunks: what `fit` finds in all of them at once."""

import copy
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csc_array, csr_array
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import KFold, PredefinedSplit

from sparsewise import (
    BasisPursuitRegressor,
    CoefficientDisplay,
    Condensed,
    CriterionDisplay,
    InputError,
    PathDisplay,
    PursuitRegressor,
    SparseBayesRegressor,
    SparseRegressor,
    StepwiseRegressor,
)
from sparsewise.io.model import LinearModel
from sparsewise.suffstats import condensed
from tests.estimators.conftest import (
    BY_FOLDS,
    SETTINGS,
    WITHOUT_FOLDS,
    assert_close,
    assert_same,
    make,
    over,
    table,
    told,
)
from tests.estimators.test_several_targets import SEVERAL, TARGETS, problem_of_three

CONDENSABLE = [name for name in WITHOUT_FOLDS if "loo" not in name]
ONE_EACH = ["forward", "rmp", "search", "ard", "omp"]
ROWS_ONLY = ("path loo",)
"""What is known of a table alone."""

NAMES = list("abcdefgh")


def chunked(*arrays, cuts=(20, 21, 45)):
    """The same rows in four chunks, one of which is a single row."""
    return list(zip(*(np.split(array, cuts) for array in arrays), strict=True))


def gathered(model, chunks):
    """The model, having met one chunk after the other."""
    for chunk in chunks:
        assert model.partial_fit(*chunk) is model
    return model


def assert_like_fit(one, other, X, rtol=1e-9):
    assert_same(one, other, X, rtol=rtol, leave_out=ROWS_ONLY)


# --- the same as all rows at once ----------------------------------------------------------------


@over(CONDENSABLE)
def test_every_call_gives_what_all_rows_so_far_give(name):
    X, y = table()
    model, seen = make(name), 0
    for chunk in chunked(X, y):
        model.partial_fit(*chunk)
        seen += len(chunk[1])
        assert_like_fit(model, make(name).fit(X[:seen], y[:seen]), X)
        assert model.n_rows_ == seen


@pytest.mark.filterwarnings("ignore:.*was still improving")
@over(["forward", "backward", "cp", "delta of the bic", "included", "rmp", "bayes, included", "cv"])
def test_row_by_row(name):
    """Rows are kept while they are too few, and what they are waiting for is said."""
    X, y = table(n=24)
    model = make(name)
    seen = []
    for i in range(len(y)):
        assert model.partial_fit(X[i : i + 1], y[i : i + 1]) is model
        seen.append(hasattr(model, "coef_"))
        if not seen[-1]:
            with pytest.raises(NotFittedError, match="give partial_fit more rows") as error:
                pickle.loads(pickle.dumps(model)).predict(X)
            assert str(error.value).count(".") == 1
            if i == 0:
                assert "1 row of positive weight, but a model with an intercept needs" in str(error)
            with pytest.raises(NotFittedError):
                model.get_support()
    assert seen == sorted(seen)
    assert not seen[0]
    assert seen[-1]
    if name != "cv":
        assert_like_fit(model, make(name).fit(X, y), X)
    with pytest.raises(ValueError, match="3 features"):  # those of the rows that wait are 8
        make(name).partial_fit(X[:1], y[:1]).partial_fit(X[:1, :3], y[:1])


def test_rows_that_wait_replace_a_fit():
    X, y = table()
    model = StepwiseRegressor().fit(X, y)
    with pytest.warns(UserWarning, match="partial_fit begins anew"):
        model.partial_fit(X[:1], y[:1])
    assert not hasattr(model, "coef_")
    assert_like_fit(model.partial_fit(X[1:], y[1:]), StepwiseRegressor().fit(X, y), X)
    model.criterion, model.fit_intercept = "cp", True
    few = StepwiseRegressor().partial_fit(X[:6], y[:6])
    few.criterion = "cp"  # what was fitted stays if parameters change to what rows can't tell
    before = few.coef_.copy()
    with pytest.raises(InputError, match="cp needs more rows than features"):
        few.partial_fit(X[6:7], y[6:7])
    np.testing.assert_array_equal(few.coef_, before)


@pytest.mark.filterwarnings("ignore:sample_weight holds numbers that are not whole")
@over(CONDENSABLE)
def test_weights_and_rows_that_do_not_count(name):
    X, y = table(n=80)
    w = np.random.default_rng(1).integers(0, 3, 80).astype(float)
    w[45:] *= 0.7
    w[20:21] = 0.0  # a chunk of nothing
    model = gathered(make(name), chunked(X, y, w))
    assert_like_fit(model, make(name).fit(X, y, w), X)


@over(CONDENSABLE)
def test_chunks_are_the_same_as_calls(name):
    X, y = table()
    w = np.random.default_rng(1).integers(0, 3, 60).astype(float)
    one, other = make(name).fit(iter(chunked(X, y, w))), gathered(make(name), chunked(X, y, w))
    for key, value in told(other, X).items():
        np.testing.assert_array_equal(told(one, X)[key], value, err_msg=key)


@over(ONE_EACH)
def test_what_has_been_condensed(name):
    X, y = table()
    rows = Condensed()
    for chunk in chunked(X, y):
        rows.update(*chunk)
    model = make(name).fit(rows)
    assert_like_fit(model, make(name).fit(X, y), X)
    rows.update(X, -y)  # what becomes of it later is no concern of the model
    assert_like_fit(model.partial_fit(X[:0], y[:0]), make(name).fit(X, y), X)


@over(ONE_EACH)
@pytest.mark.parametrize("kind", [csr_array, csc_array])
def test_sparse_chunks(name, kind):
    X, y = table()
    X[np.abs(X) < 1.0] = 0.0
    model = gathered(make(name), [(kind(part), target) for part, target in chunked(X, y)])
    assert_like_fit(model, make(name).fit(kind(X), y), X)


@over(ONE_EACH)
def test_single_precision_stays_single(name):
    X, y = table()
    X, y = X.astype(np.float32), y.astype(np.float32)
    model = gathered(make(name), chunked(X, y))
    assert model.coef_.dtype == np.float32
    full = make(name).fit(X, y)
    np.testing.assert_array_equal(model.get_support(), full.get_support())
    assert_close(model.coef_, full.coef_, 1e-4)


@pytest.mark.parametrize("intercept", [True, False])
def test_norms_beyond_single_precision(intercept):
    """Of features whose entries are not."""
    rng = np.random.default_rng(0)
    X = rng.uniform(0.1, 1.0, (60, 4))
    y = X[:, 0] - 2 * X[:, 2] + 0.01 * rng.standard_normal(60)
    unit = np.float32(3e38)
    model = StepwiseRegressor(fit_intercept=intercept).partial_fit(X.astype(np.float32) * unit, y)
    full = StepwiseRegressor(fit_intercept=intercept).fit(X, y)
    assert_close(model.coef_ * float(unit), full.coef_, 1e-5)


def test_one_chunk_in_double_precision_makes_all_double():
    X, y = table()
    model = StepwiseRegressor().partial_fit(X[:30].astype(np.float32), y[:30])
    assert model.partial_fit(X[30:], y[30:]).coef_.dtype == np.float64


@over(ONE_EACH)
@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_frames_and_constraints_by_name(name, frame):
    X, y = table()
    words = {"include": ["e"], "exclude": ["b", 3]}
    parts = [
        (frame(dict(zip(NAMES, part.T, strict=True))), target) for part, target in chunked(X, y)
    ]
    model = gathered(make(name, **words), parts)
    full = make(name, **words).fit(frame(dict(zip(NAMES, X.T, strict=True))), y)
    assert model.feature_names_in_.tolist() == NAMES
    assert model.get_feature_names_out().tolist() == full.get_feature_names_out().tolist()
    assert_close(model.coef_, full.coef_, 1e-9)
    assert type(model.path_) is type(full.path_) is frame
    assert str(model.summary()) == str(full.summary()).replace(
        "rows        60", "rows        60, condensed"
    )


def test_the_name_of_the_target():
    X, y = table()
    model = StepwiseRegressor().fit([(pd.DataFrame(X, columns=NAMES), pd.Series(y, name="price"))])
    assert str(model.summary()).startswith("price explained by")


@over(ONE_EACH)
def test_certified(name):
    X, y = table()
    model = gathered(make(name, certify=True), chunked(X, y))
    full = make(name, certify=True).fit(X, y)
    assert model.certificate_.sentence(NAMES) == full.certificate_.sentence(NAMES)


@given(
    data=st.data(),
    name=st.sampled_from([*CONDENSABLE]),
    n=st.integers(12, 40),
    m=st.integers(1, 12),
    intercept=st.booleans(),
    weighted=st.booleans(),
)
@settings(max_examples=40, deadline=None)
def test_any_chunks_of_any_table(data, name, n, m, intercept, weighted):
    m = max(m, 8)
    rng = np.random.default_rng(n * 100 + m)
    X, y = table(n, m, seed=n + m)
    w = rng.integers(0, 3, n).astype(float) if weighted else np.ones(n)
    w[:2] = 1.0
    cuts = data.draw(st.lists(st.integers(2, n), max_size=4).map(sorted))
    words = {"fit_intercept": intercept}
    try:
        full = make(name, **words).fit(X, y, w)
    except (InputError, UserWarning) as trouble:
        with pytest.raises(type(trouble)):
            make(name, **words).fit(chunked(X, y, w, cuts=cuts))
        return
    assert_like_fit(make(name, **words).fit(chunked(X, y, w, cuts=cuts)), full, X)


def test_one_weight_for_all_rows():
    X, y = table()
    model = StepwiseRegressor().partial_fit(X[:30], y[:30], 2.0).partial_fit(X[30:], y[30:], 2)
    assert_like_fit(model, StepwiseRegressor().fit(X, y, 2.0), X)


def test_fewer_rows_than_features():
    X, y = table(n=12, m=20)
    model = gathered(StepwiseRegressor(), chunked(X, y, cuts=(5, 6)))
    assert_like_fit(model, StepwiseRegressor().fit(X, y), X)


def test_order_does_not_matter():
    X, y = table()
    chunks = chunked(X, y)
    assert_like_fit(
        gathered(StepwiseRegressor(), chunks), gathered(StepwiseRegressor(), chunks[::-1]), X
    )


# --- folds ---------------------------------------------------------------------------------------


@over(BY_FOLDS)
def test_a_chunk_is_a_fold(name):
    """Chunk i is in fold i modulo cv; the only one is split as a table is."""
    X, y = table()
    cuts = (15, 25, 26, 40, 50)
    model, seen = make(name), 0
    assert_like_fit(make(name).partial_fit(X[:15], y[:15]), make(name).fit(X[:15], y[:15]), X)
    fold = np.searchsorted(cuts, np.arange(60), side="right") % make(name).cv
    for i, chunk in enumerate(chunked(X, y, cuts=cuts)):
        model.partial_fit(*chunk)
        seen += len(chunk[1])
        if i:
            full = make(name, cv=PredefinedSplit(fold[:seen])).fit(X[:seen], y[:seen])
            assert_like_fit(model, full, X)
            np.testing.assert_allclose(
                np.sort(model.cv_errors_.by_fold, axis=0),
                np.sort(full.cv_errors_.by_fold, axis=0),
                rtol=1e-8,
            )


@over(BY_FOLDS)
def test_folds_by_label(name):
    X, y = table()
    w = np.random.default_rng(1).integers(0, 3, 60).astype(float)
    fold = np.random.default_rng(0).integers(0, 3, 60)
    chunks = chunked(X, y, w, np.array(["u", "v", "w"])[fold])
    full = make(name, cv=PredefinedSplit(fold)).fit(X, y, w)
    assert_like_fit(make(name).fit(chunks), full, X)
    assert_like_fit(gathered(make(name), chunks), full, X)


def test_one_label_for_a_chunk():
    X, y = table()
    model = StepwiseRegressor(criterion="cv")
    model.fit([(X[:30], y[:30], None, "first"), (X[30:], y[30:], None, "second")])
    full = StepwiseRegressor(criterion="cv", cv=2).fit(X, y)
    assert_like_fit(model, full, X)


def test_a_condensed_has_its_folds():
    X, y = table()
    fold = np.arange(60) % 4
    rows = Condensed().update(X, y, fold=fold)
    full = StepwiseRegressor(criterion="cv", cv=PredefinedSplit(fold)).fit(X, y)
    assert_like_fit(StepwiseRegressor(criterion="cv").fit(rows), full, X)


def test_rows_without_a_fold_are_always_learnt_from():
    X, y = table()
    fold = np.repeat([-1, 0, 1], 20)
    rows = Condensed().update(X[:20], y[:20]).update(X[20:], y[20:], fold=fold[20:])
    full = StepwiseRegressor(criterion="cv", cv=PredefinedSplit(fold)).fit(X, y)
    assert_like_fit(StepwiseRegressor(criterion="cv").fit(rows), full, X)


def test_cross_validation_asked_for_on_the_way():
    """Rows that came before count as the first chunk."""
    X, y = table()
    model = StepwiseRegressor().partial_fit(X[:20], y[:20]).partial_fit(X[20:30], y[20:30])
    model.set_params(criterion="cv").partial_fit(X[30:], y[30:])
    fold = np.repeat([0, 1], 30)
    assert_like_fit(model, StepwiseRegressor(criterion="cv", cv=PredefinedSplit(fold)).fit(X, y), X)


def test_chunks_without_rows_are_no_folds():
    X, y = table()
    empty = X[:0], y[:0]
    chunks = [empty, (X[:30], y[:30]), empty, (X[30:], y[30:])]
    model = StepwiseRegressor(criterion="cv").fit(chunks)
    assert len(model.cv_errors_.by_fold) == 2


@pytest.mark.parametrize(
    ("chunks", "words", "sentence"),
    [
        ([None, "a"], {}, r"fold was not given for the rows so far.*every time, or never"),
        (["a", None], {}, "fold was given for the rows so far; give it for these, too"),
        (["a", "a"], {}, "Cross-validation needs two folds or more.*give each row's fold"),
        ([None, None], {"cv": KFold(3)}, "cv chooses rows, but these have been condensed"),
        ([[1.5] * 30, None], {}, "fold must be a whole number or a text, not 1.5"),
        ([[1] * 29, None], {}, r"fold must be one label, or one for each of 30 rows"),
    ],
)  # fmt: skip
def test_folds_that_are_none(chunks, words, sentence):
    X, y = table()
    parts = [(X[:30], y[:30], None, chunks[0]), (X[30:], y[30:], None, chunks[1])]
    with pytest.raises(InputError, match=sentence):
        StepwiseRegressor(criterion="cv", **words).fit(parts)


# --- what is kept, and what is forgotten ----------------------------------------------------------


def snapshot(model):
    return {name: id(value) for name, value in vars(model).items()}


@over([*ONE_EACH, "cv"])
@pytest.mark.parametrize(
    ("spoil", "sentence"),
    [
        (lambda X, y: (X[:, :-1], y), "7 features, but"),
        (lambda X, y: (np.where(X > 0, np.nan, X), y), "NaN"),
        (lambda X, y: (X, y[:-1]), "inconsistent numbers of samples"),
        (lambda X, y: (X, y, -np.ones(30)), "sample_weight must be numbers from 0 up"),
        (lambda X, y: (X, y, np.ones(3)), r"sample_weight must have shape \(30,\)"),
        (lambda X, y: (X, y, None, [0]), "fold (must be one label|was not given)"),
        (lambda X, y: (X, 1e200 * y), "y is too large: its square"),
    ],
)  # fmt: skip
def test_a_call_that_fails_changes_nothing(name, spoil, sentence):
    X, y = table()
    fresh = make(name)
    before = snapshot(fresh)
    if "features" not in sentence:
        with pytest.raises(ValueError, match=sentence):
            fresh.partial_fit(*spoil(X[30:], y[30:]))
        assert snapshot(fresh) == before
    model = make(name).partial_fit(X[:30], y[:30])
    before = snapshot(model)
    with pytest.raises(ValueError, match=sentence):
        model.partial_fit(*spoil(X[30:], y[30:]))
    assert snapshot(model) == before
    twin = make(name).partial_fit(X[:30], y[:30])
    for one in (model, twin):
        one.partial_fit(X[30:], y[30:])
    np.testing.assert_array_equal(model.coef_, twin.coef_)


@pytest.mark.parametrize("error", [ValueError, MemoryError, KeyboardInterrupt, SystemExit])
@pytest.mark.parametrize(
    "where",
    [
        "sparsewise.estimators.base.SparseLinearModel._validate_params",
        "sparsewise.estimators.inputs.validate_data",
        "sparsewise.suffstats.condensed.Triangle.update",
        "sparsewise.suffstats.condensed.Condensed.system",
        "sparsewise.estimators.uncertainty.noise_and_covariance",
        "sparsewise.model_selection.data.Data.criteria",
    ],
)
@over(ONE_EACH)
def test_wherever_a_call_ends_all_is_as_it_was(name, where, error, monkeypatch):
    X, y = table()
    model = make(name).partial_fit(X[:30], y[:30])
    before = snapshot(model)

    def fail(*args, **words):
        raise error

    with monkeypatch.context() as broken:
        broken.setattr(where, fail)
        with pytest.raises(error):
            model.partial_fit(X[30:], y[30:])
    assert snapshot(model) == before
    assert_like_fit(model.partial_fit(X[30:], y[30:]), make(name).fit(X, y), X)


def test_a_parameter_that_is_wrong_on_the_way():
    X, y = table()
    model = StepwiseRegressor().partial_fit(X[:30], y[:30])
    before = model.coef_.copy()
    with pytest.raises(InputError, match="include"):
        model.set_params(include=["nothing"]).partial_fit(X[30:], y[30:])
    assert model.n_rows_ == 30
    np.testing.assert_array_equal(model.coef_, before)


def test_fit_forgets_what_was_gathered():
    X, y = table()
    model = StepwiseRegressor().partial_fit(X[:30], y[:30]).fit(X[30:], y[30:])
    assert_same(model, StepwiseRegressor().fit(X[30:], y[30:]), X)
    with pytest.warns(UserWarning, match="begins anew, without the rows of fit") as caught:
        model.partial_fit(X[:30], y[:30])
    assert caught[0].filename == __file__
    assert_like_fit(model, StepwiseRegressor().fit(X[:30], y[:30]), X)
    assert "begins anew" in str(model.summary())
    model.partial_fit(X[30:], y[30:])
    assert_like_fit(model, StepwiseRegressor().fit(X, y), X)


def test_rows_come_on_top_of_chunks():
    X, y = table()
    model = StepwiseRegressor().fit([(X[:30], y[:30])]).partial_fit(X[30:], y[30:])
    assert_like_fit(model, StepwiseRegressor().fit(X, y), X)


@over([*ONE_EACH, "cv"])
@pytest.mark.parametrize("again", [lambda m: pickle.loads(pickle.dumps(m)), copy.deepcopy])
def test_copies_and_pickles_keep_the_rows(name, again):
    X, y = table()
    model = make(name).partial_fit(X[:30], y[:30])
    twin = again(model)
    assert len(pickle.dumps(model)) < 100_000
    for one in (model, twin):
        one.partial_fit(X[30:], y[30:])
    np.testing.assert_array_equal(twin.coef_, model.coef_)
    assert not hasattr(clone(model), "coef_")


def test_a_copy_has_rows_of_its_own():
    X, y = table()
    model = StepwiseRegressor().partial_fit(X[:30], y[:30])
    copy.copy(model).partial_fit(X[:30], -y[:30])
    model.partial_fit(X[30:], y[30:])
    assert_like_fit(model, StepwiseRegressor().fit(X, y), X)


# --- what can't be -------------------------------------------------------------------------------


def test_leave_one_out_needs_rows():
    X, y = table()
    model = StepwiseRegressor(criterion="loo")
    sentence = "Leave-one-out needs the rows themselves, not what they condense to; use crit"
    assert not hasattr(model, "partial_fit")
    for fit in (
        lambda: model.partial_fit(X, y),
        lambda: model.fit([(X, y)]),
        lambda: model.fit(Condensed().update(X, y)),
    ):
        with pytest.raises(InputError, match=sentence):
            fit()
    # Where something else chooses, it has no say.
    assert model.set_params(sparsity=2).partial_fit(X, y).get_support().sum() == 2


def test_leave_one_out_is_refused_before_any_row_is_read():
    def chunks():
        raise AssertionError
        yield

    with pytest.raises(InputError, match="Leave-one-out"):
        StepwiseRegressor(criterion="loo").fit(chunks())


def test_the_path_says_nothing_of_rows_left_out():
    X, y = table()
    path = gathered(StepwiseRegressor(), chunked(X, y)).path_
    assert np.isnan(path["loo"]).all()
    full = StepwiseRegressor().fit(X, y).path_
    assert_close(path["cp"], full["cp"], 1e-9)


X4, Y4 = table(n=4)


@pytest.mark.parametrize(
    ("chunks", "sentence"),
    [
        ([], "X holds no chunks; give some"),
        (iter(()), "X holds no chunks; give some"),
        ([X4], r"Chunk 0 \(the first is 0\): it must be \(X, y\), .*not of type ndarray"),
        ([(X4, Y4), X4], "Chunk 1 .*not of type ndarray"),
        ([(X4,)], "Chunk 0 .*it must be .*but has 1 part"),
        ([(X4, Y4, None, None, 1)], "but has 5 parts"),
        ([(X4, Y4), (X4[:, 1:], Y4)], "Chunk 1 .*X has 7 columns, but the rows so far have 8"),
        ([(X4, Y4), (X4, Y4[1:])], r"Chunk 1 .*inconsistent numbers of samples: \[4, 3\]"),
        ([(X4, Y4), (X4, Y4), (X4 * np.nan, Y4)], "Chunk 2 .*Input X contains NaN"),
        ([(X4, Y4), (X4, np.abs(Y4) * np.inf)], "Chunk 1 .*Input y contains infinity"),
        ([(X4, ["a"] * 4)], "Chunk 0 .*y must hold numbers, but its type is <U1"),
        ([(X4, Y4, -Y4**2)], "Chunk 0 .*sample_weight must be numbers from 0 up"),
        ([(Y4, Y4)], "Chunk 0 .*Expected 2D array"),
        ([(X4[:0], Y4[:0])], "There are no rows of positive weight, but a model with an"),
        ([(X4, Y4, 0 * Y4)], "There are no rows of positive weight"),
        ([(X4[:1], Y4[:1])], "There is 1 row of positive weight, but .* needs at least 2"),
    ],
)  # fmt: skip
def test_chunks_that_are_none(chunks, sentence):
    model = StepwiseRegressor()
    with pytest.raises(InputError, match=sentence) as caught:
        model.fit(chunks)
    assert "\n" not in str(caught.value)
    assert not hasattr(model, "n_features_in_")


def test_columns_of_chunks_that_differ():
    frames = [pd.DataFrame(X4, columns=NAMES), pd.DataFrame(X4, columns=[*NAMES[:-1], "other"])]
    sentence = 'Chunk 1 .*X has "other" for column 7, which was "h" so far'
    with pytest.raises(InputError, match=sentence):
        StepwiseRegressor().fit([(frame, Y4) for frame in frames])
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        StepwiseRegressor().fit([(frames[0], Y4), (X4, Y4)])


@pytest.mark.parametrize("word", ["y", "sample_weight"])
def test_target_and_weights_are_in_the_chunks(word):
    for rows in ([(X4, Y4)], iter([(X4, Y4)]), Condensed().update(X4, Y4)):
        with pytest.raises(InputError, match=rf"{word} belongs to .*; leave it out"):
            StepwiseRegressor().fit(rows, **{word: Y4})


def test_a_table_without_a_target_is_no_chunks():
    for X in (X4, X4.tolist(), pd.DataFrame(X4), csr_array(X4)):
        with pytest.raises(ValueError, match="requires y to be passed"):
            StepwiseRegressor().fit(X)
    for X in (X4.tolist(), [tuple(row) for row in X4.tolist()]):
        assert StepwiseRegressor().fit(X, Y4).n_features_in_ == 8


def test_what_was_condensed_must_be_real_and_there():
    with pytest.raises(InputError, match="X holds complex numbers, but estimators take real"):
        StepwiseRegressor().fit(Condensed().update(X4 + 1j, Y4))
    with pytest.raises(InputError, match="There are no rows"):
        StepwiseRegressor().fit(Condensed())


def test_an_error_of_the_user_is_their_own():
    def chunks():
        yield X4, Y4
        raise ValueError("the disk is gone")

    with pytest.raises(ValueError, match=r"^the disk is gone$"):
        StepwiseRegressor().fit(chunks())


def test_a_triangle_that_memory_has_no_room_for(monkeypatch):
    monkeypatch.setattr(condensed, "MOST_BYTES", 8 * 9**2)
    sentence = "X has 8 columns, whose triangle would take .* GB; give all rows at once"
    model = StepwiseRegressor()
    for fit in (
        lambda: model.partial_fit(X4, Y4),
        lambda: model.fit([(X4, Y4)]),
        lambda: Condensed().update(X4, Y4),
    ):
        with pytest.raises(InputError, match=sentence):
            fit()
    assert model.partial_fit(X4[:, :7], Y4).n_features_in_ == 7


def test_weights_that_make_rows_few():
    X, y = table()
    with pytest.warns(UserWarning, match="sample_weight adds up to 1") as caught:
        StepwiseRegressor().partial_fit(X, y, np.full(60, 1 / 60))
    assert caught[0].filename == __file__


@pytest.mark.parametrize(
    "kind",
    [StepwiseRegressor, SparseBayesRegressor, SparseRegressor, BasisPursuitRegressor,
     PursuitRegressor],
)  # fmt: skip
def test_requests_of_metadata(kind):
    """scikit-learn's routing knows weights and folds of partial_fit."""
    requests = kind().get_metadata_routing().partial_fit.requests
    assert set(requests) == {"sample_weight", "fold"}
    assert "sample_weight" in kind.partial_fit.__doc__


def test_every_setting_is_covered():
    assert set(SETTINGS) - set(CONDENSABLE) - set(BY_FOLDS) == {"loo", "loo, there and back"}


# --- what is made of a model ---------------------------------------------------------------------


@over(ONE_EACH)
def test_saved_and_loaded(name, tmp_path):
    X, y = table()
    model, full = make(name).fit(chunked(X, y)), make(name).fit(X, y)
    saved = LinearModel.from_estimator(model, target="y")
    saved.save(tmp_path / "model.json")
    assert LinearModel.load(tmp_path / "model.json") == saved
    assert saved.rows == 60
    assert_close(saved.predict(X[:, model.get_support()]), full.predict(X), 1e-9)


@over(ONE_EACH)
@pytest.mark.parametrize("display", [PathDisplay, CriterionDisplay, CoefficientDisplay])
def test_drawn(name, display):
    ax = pytest.importorskip("matplotlib.figure").Figure().subplots()
    X, y = table()
    one, other = (
        vars(display.from_estimator(model, ax=ax))
        for model in (make(name).fit(chunked(X, y)), make(name).fit(X, y))
    )
    assert same_numbers(one, other)


def same_numbers(one, other):
    """Whether what two displays are made of is the same, but for rounding."""
    if isinstance(other, dict):
        return one.keys() == other.keys() and all(
            same_numbers(one[key], other[key]) for key in other if not key.endswith("_")
        )
    if isinstance(other, (list, tuple)):
        return len(one) == len(other) and all(map(same_numbers, one, other))
    if isinstance(other, (float, np.ndarray)):
        return np.allclose(one, other, rtol=1e-8, equal_nan=True)
    return hasattr(other, "__dataclass_fields__") or one == other


def test_rows_left_out_are_not_drawn():
    pytest.importorskip("matplotlib")
    X, y = table()
    model = StepwiseRegressor().fit(chunked(X, y))
    with pytest.raises(InputError, match='The path does not have "loo"; there are "aic"'):
        CriterionDisplay.from_estimator(model, criteria=["loo"])


def test_the_summary_says_what_became_of_the_rows():
    X, y = table()
    w = np.full(60, 2.0)
    of = {"60": chunked(X, y), "120": chunked(X, y, w)}
    for rows, chunks in of.items():
        model = StepwiseRegressor().fit(chunks)
        assert f"rows        {rows}, condensed\n" in str(model.summary())
    assert "condensed" not in str(StepwiseRegressor().fit(X, y).summary())


# --- several targets ------------------------------------------------------------------------------

SHARED = [name for name in CONDENSABLE if name in SEVERAL]


def named(Y):
    return pd.DataFrame(Y, columns=TARGETS)


@over(SHARED)
def test_several_targets_in_chunks(name):
    X, Y = problem_of_three()
    w = np.random.default_rng(1).integers(0, 3, len(X)).astype(float)
    full = make(name).fit(X, named(Y), w)
    rows = Condensed()
    for chunk in chunked(X, Y, w):
        rows.update(chunk[0], named(chunk[1]), chunk[2])
    frames = [(A, named(B), c) for A, B, c in chunked(X, Y, w)]
    for model in (gathered(make(name), frames), make(name).fit(iter(frames)), make(name).fit(rows)):
        assert_like_fit(model, full, X)
        assert model.target_names_.tolist() == TARGETS
        assert model.coef_.shape == (3, X.shape[1])
        assert "yield, temperature, pressure explained" in str(model.summary())


@over([name for name in BY_FOLDS if name in SEVERAL])
def test_chunks_of_several_targets_are_folds(name):
    X, Y = problem_of_three()
    folds = np.repeat([0, 1, 2], 20)
    chunks = [(X[folds == k], Y[folds == k]) for k in range(3)]
    model = gathered(make(name, cv=3), chunks)
    assert_like_fit(model, make(name, cv=PredefinedSplit(folds)).fit(X, Y), X)


def test_chunks_of_several_targets_without_rows():
    X, Y = problem_of_three()
    chunks = [(X[:0], named(Y[:0])), (X[:30], named(Y[:30])), (X[:0], named(Y[:0]))]
    model = make("forward").fit([*chunks, (X[30:], named(Y[30:]))])
    assert_like_fit(model, make("forward").fit(X, named(Y)), X)
    assert model.target_names_.tolist() == TARGETS


@pytest.mark.parametrize(
    ("spoil", "sentence"),
    [
        (lambda Y: Y.iloc[:, :2], "y has 2 target columns, but the rows so far have 3"),
        (lambda Y: Y["yield"], "y has a single target, but the rows so far have 3 target columns"),
        (lambda Y: Y.to_numpy(), "y has no names for its columns, unlike the rows so far"),
        (lambda Y: Y[TARGETS[::-1]], 'y has "pressure" for column 0, which was "yield" so far'),
    ],
)
def test_targets_that_differ_from_those_so_far(spoil, sentence):
    X, Y = problem_of_three()
    model = StepwiseRegressor().partial_fit(X, named(Y))
    before = snapshot(model)
    with pytest.raises(InputError, match=sentence):
        model.partial_fit(X, spoil(named(Y)))
    assert snapshot(model) == before
    with pytest.raises(InputError, match=rf"^Chunk 1 .*{sentence}"):
        StepwiseRegressor().fit([(X, named(Y)), (X, spoil(named(Y)))])


@pytest.mark.parametrize("model", [BasisPursuitRegressor(), PursuitRegressor("mp", sparsity=2)])
def test_one_target_where_one_is_taken(model):
    X, Y = problem_of_three()
    with pytest.raises(InputError, match=r"y has 3 columns, but .* takes one target"):
        clone(model).fit(Condensed().update(X, Y))
    with pytest.raises(InputError, match=r"y has 3 columns, but .* takes one target"):
        clone(model).partial_fit(X, Y)
    column = clone(model).fit(Condensed().update(X, Y[:, :1]))
    np.testing.assert_array_equal(
        column.coef_, clone(model).fit(Condensed().update(X, Y[:, 0])).coef_
    )
