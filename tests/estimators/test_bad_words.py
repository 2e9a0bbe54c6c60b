"""Bad input gets one sentence: what is wrong, where, and what to do."""

import inspect
import re

import numpy as np
import pandas as pd
import pytest

from sparsewise import (
    BasisPursuitRegressor,
    PursuitRegressor,
    SparseBayesRegressor,
    StepwiseRegressor,
)
from sparsewise.errors import InputError
from tests.estimators.conftest import make, over, table

X, y = table(20, 5)
NAMES = ["age", "bmi", "bp", "sex", "s1"]
FRAME = pd.DataFrame(X, columns=NAMES)
WEIGHTS = np.ones(20)


def sentence(error):
    """The words of an error, which must be one sentence on one line."""
    text = str(error.value)
    assert "\n" not in text
    assert not re.search(r"\. [A-Z]", text), text
    assert text[-1] in ".?" or '"' in text[-1]
    assert len(text) < 250
    return text


OURS = [
    (
        StepwiseRegressor(sparsity=2, delta=1.0),
        "sparsity and delta both say when to stop: give one of them.",
    ),
    (StepwiseRegressor(start="full"), 'start="full" use "backward" or "both"'),
    (StepwiseRegressor("foba", start="full"), 'direction="foba" begins with the empty model'),
    (StepwiseRegressor("backward", start="empty"), 'start="empty" use "forward" or "both"'),
    (StepwiseRegressor(include=["bmj"]), 'include: there is no feature "bmj"; did you mean "bmi"?'),
    (
        StepwiseRegressor(exclude=["zz"]),
        'exclude: there is no feature "zz"; there are "age", "bmi"',
    ),
    (StepwiseRegressor(include=[5]), "include names column 5, but X has columns 0 to 4"),
    (StepwiseRegressor(exclude=[-6]), "exclude names column -6, but X has columns 0 to 4"),
    (StepwiseRegressor(include=[-1]), "include names column -1, but X has columns 0 to 4"),
    (StepwiseRegressor(include=[1.0]), "include must list names or column numbers, not 1.0"),
    (StepwiseRegressor(include=[True]), "include must list names or column numbers, not True"),
    (StepwiseRegressor(include=[[1]]), "include must list names or column numbers, not [1]"),
    (
        StepwiseRegressor(include=[1, "s1"], exclude=[4, 3]),
        '"s1" can\'t be in both include and exclude',
    ),
    (
        StepwiseRegressor(criterion="cv", cv=[([0, 1, 2], [99])]),
        "cv names rows that X does not have: it has rows 0 to 19",
    ),
    (StepwiseRegressor(criterion="cv", cv=[([0], [1])]), "fold of cv leaves fewer than 2 rows"),
    (StepwiseRegressor(criterion="cv", cv=[([0, 1, 2], [])]), "none to predict: give other folds"),
    (StepwiseRegressor(criterion="cv", cv=[]), "cv has no folds"),
    (BasisPursuitRegressor([1, 2]), "weights must hold one number for each of 5 features"),
    (BasisPursuitRegressor([1, 2, 3, 4, -5]), "weights must be at least 0, but weights[4] is -5"),
    (BasisPursuitRegressor([1, 2, 3, 4, np.nan]), "weights[4] is nan"),
    (BasisPursuitRegressor(["a"] * 5), "weights must be numbers, one for each feature"),
    (
        BasisPursuitRegressor(residual=1.0, penalty=1.0),
        "residual and penalty both say how close to fit: give one of them.",
    ),
    (BasisPursuitRegressor("ard", penalty=1.0), 'weights="ard" take a residual, not a penalty'),
    (BasisPursuitRegressor("focuss", solver="conic"), 'leave out solver="conic"'),
    (BasisPursuitRegressor(solver="fista"), 'solver="fista" takes a penalty, not a bound'),
    (BasisPursuitRegressor("candes", solver="ista"), 'solver="ista" takes a penalty, not a bound'),
    (BasisPursuitRegressor(solver="conic", penalty=1.0), 'solver="conic" takes a bound'),
    (
        BasisPursuitRegressor(sigma=1.0, residual=1.0),
        "sigma and residual both tell the noise: give one of them.",
    ),
    (
        BasisPursuitRegressor(sigma=1.0, penalty=1.0),
        "sigma and penalty both say how close to fit: give one of them.",
    ),
    (
        SparseBayesRegressor(updates="em"),
        'updates belongs to algorithm="sbl", not to rmp.',
    ),
    (PursuitRegressor("oblivious", residual=1.0), "give sparsity, or neither"),
    (
        PursuitRegressor("omp", delta=1.0),
        "omp does not take delta; forward, backward, lace do.",
    ),
]


@pytest.mark.parametrize(("model", "words"), OURS, ids=[words for _, words in OURS])
def test_words_that_do_not_fit_together(model, words):
    with pytest.raises(InputError) as error:
        model.fit(FRAME, y)
    assert words in sentence(error)


FEW = [
    (StepwiseRegressor(include=range(5)), 3, "include names 5 features, but 3 rows"),
    (SparseBayesRegressor(include=range(5)), 6, "6 rows can't tell the noise besides 5 included"),
    (BasisPursuitRegressor(include=range(5)), 6, "6 rows can't tell the noise besides 5 included"),
    (StepwiseRegressor(criterion="cp"), 5, "cp needs more rows than features to tell the noise"),
    (
        StepwiseRegressor(delta="bic"),
        6,
        "6 rows can't tell the noise of 5 features: give delta, or",
    ),
    (StepwiseRegressor(criterion="cv", cv=2, include=[0, 1]), 5, "fewer than 3 rows"),
]


@pytest.mark.parametrize(("model", "rows", "words"), FEW, ids=[words for *_, words in FEW])
def test_too_few_rows(model, rows, words):
    with pytest.raises(InputError) as error:
        model.fit(X[:rows], y[:rows])
    assert words in sentence(error)


FROM_BELOW = [
    (BasisPursuitRegressor(residual=0.0), "allow a residual of at least"),
    (PursuitRegressor(sparsity=1, include=[0, 1]), "include names 2 columns, but sparsity allows"),
    (SparseBayesRegressor(noise_prior=(1,)), "noise_prior must be two numbers"),
    (SparseBayesRegressor(noise_prior=(-1, 1)), "noise_prior must hold finite numbers"),
    (SparseBayesRegressor(sigma=1e200), "sigma is .* check its units"),
    (
        StepwiseRegressor(criterion="cv", cv=50),
        "cv asks for more folds than 20 rows",
    ),
]


@pytest.mark.parametrize(("model", "words"), FROM_BELOW, ids=[words for _, words in FROM_BELOW])
def test_words_that_algorithms_refuse(model, words):
    with pytest.raises(ValueError, match=words) as error:
        model.fit(X, y)
    sentence(error)


CONSTRAINTS = [
    (StepwiseRegressor, "direction", "sideways"),
    (StepwiseRegressor, "criterion", "BIC"),
    (StepwiseRegressor, "start", "half"),
    (StepwiseRegressor, "sparsity", -1),
    (StepwiseRegressor, "sparsity", 2.5),
    (StepwiseRegressor, "delta", -1.0),
    (StepwiseRegressor, "delta", np.nan),
    (StepwiseRegressor, "cv", 1),
    (StepwiseRegressor, "one_standard_error", 0.5),
    (StepwiseRegressor, "n_jobs", "all"),
    (StepwiseRegressor, "include", "bmi"),
    (StepwiseRegressor, "exclude", 3),
    (StepwiseRegressor, "certify", "yes"),
    (StepwiseRegressor, "certify", -1.0),
    (StepwiseRegressor, "fit_intercept", 1.5),
    (StepwiseRegressor, "delta", "aic"),
    (SparseBayesRegressor, "algorithm", "gibbs"),
    (SparseBayesRegressor, "algorithm", "em"),
    (SparseBayesRegressor, "updates", "gibbs"),
    (SparseBayesRegressor, "sigma", 0.0),
    (SparseBayesRegressor, "sigma", np.inf),
    (SparseBayesRegressor, "price", -1.0),
    (SparseBayesRegressor, "price", np.inf),
    (SparseBayesRegressor, "noise_prior", "flat"),
    (BasisPursuitRegressor, "weights", "lasso"),
    (BasisPursuitRegressor, "residual", -1.0),
    (BasisPursuitRegressor, "penalty", -1.0),
    (BasisPursuitRegressor, "sigma", 0.0),
    (BasisPursuitRegressor, "debias", "yes"),
    (BasisPursuitRegressor, "standardize", "always"),
    (BasisPursuitRegressor, "solver", "simplex"),
    (PursuitRegressor, "algorithm", "magic"),
    (PursuitRegressor, "sparsity", -1),
    (PursuitRegressor, "residual", -1.0),
    (PursuitRegressor, "batch", 0),
]


@pytest.mark.parametrize(("kind", "word", "value"), CONSTRAINTS)
def test_parameters_are_constrained(kind, word, value):
    model = kind(**{word: value})
    with pytest.raises(ValueError, match=f"'{word}' parameter of {kind.__name__}"):
        model.fit(X, y)


every_kind = pytest.mark.parametrize(
    "kind", [StepwiseRegressor, SparseBayesRegressor, BasisPursuitRegressor, PursuitRegressor]
)


@every_kind
def test_every_parameter_has_a_constraint(kind):
    assert set(kind().get_params()) == set(kind._parameter_constraints)


@every_kind
def test_every_parameter_and_attribute_is_documented(kind):
    text = inspect.getdoc(kind)
    assert text.count("Attributes\n----------\n") == text.count("Examples\n--------\n") == 1
    # "include, exclude : list" documents two.
    documented = re.findall(r"^(\w+(?:, \w+)*)(?: :|$)", text, flags=re.MULTILINE)
    documented = {name for names in documented for name in names.split(", ")}
    model = kind().fit(FRAME, y)
    fitted = [name for name in dir(kind) if name.endswith("_") and name[0] != "_"]
    fitted = {*fitted, *vars(model)} - {"uncertified_", "_state_"}
    assert documented >= {*model.get_params(), *fitted, "path_", "certificate_"}


@every_kind
def test_parameters_that_all_have_are_in_one_order(kind):
    names = list(inspect.signature(kind).parameters)
    first = names.index("fit_intercept")
    assert names[first : first + 4] == ["fit_intercept", "include", "exclude", "certify"]


@over(["forward", "cv", "rmp", "bpdn", "omp"])
def test_bad_weights(name):
    for weights, words in (
        (-WEIGHTS, "sample_weight"),
        (0 * WEIGHTS, "(?i)weight"),
        (WEIGHTS[:3], "sample_weight"),
        (np.nan * WEIGHTS, "sample_weight must be numbers from 0 up"),
        (np.inf * WEIGHTS, "sample_weight must be numbers from 0 up"),
    ):
        with pytest.raises(ValueError, match=words):
            make(name).fit(X, y, sample_weight=weights)
    with pytest.raises(ValueError, match="zero for all but 1 of 20 rows: an intercept") as error:
        make(name).fit(X, y, sample_weight=np.eye(20)[3])
    sentence(error)


@over(["forward", "both", "penalty", "omp"])
def test_weights_that_add_up_to_one_are_probably_meant_otherwise(name):
    with pytest.warns(UserWarning, match=r"sample_weight adds up to 1: .* mean of 1") as caught:
        make(name).fit(X, y, sample_weight=WEIGHTS / 20)
    assert caught[0].filename == __file__
    with pytest.warns(UserWarning, match=r"not whole.*: 20 rows count as 10; scale it") as caught:
        make(name).fit(X, y, sample_weight=WEIGHTS / 2)
    assert [c.filename for c in caught] == [__file__]


@pytest.mark.filterwarnings("ignore:sample_weight adds up")
@over(["rmp", "bpdn"])
def test_weights_too_small_to_tell_the_noise(name):
    with pytest.raises(InputError, match="by the sum of sample_weight, can't tell the noise") as e:
        make(name).fit(X, y, sample_weight=WEIGHTS / 20)
    sentence(e)


@over(["forward", "backward", "both", "cv", "rmp", "omp"])
def test_included_features_that_say_nothing_new(name):
    table_ = np.column_stack([X, X[:, 1], np.ones(20)])
    for include, words in (
        ([6], '"x6" can\'t be told'),
        ([1, 5], '"x5" can\'t be told'),
        ([0, 1, 5], "take out of include what says nothing new"),
    ):
        with pytest.raises(InputError) as error:
            make(name, include=include).fit(table_, y)
        assert words in sentence(error)
    assert make(name, include=[5]).fit(table_, y).get_support()[5]


def test_names_without_a_frame():
    with pytest.raises(InputError, match='include names "bmi", but X has no column names') as error:
        StepwiseRegressor(include=["bmi"]).fit(X, y)
    sentence(error)


@over(["forward", "rmp", "bpdn", "omp"])
def test_bad_tables(name):
    for bad, target in (
        (np.full_like(X, np.nan), y),
        (X, np.full_like(y, np.nan)),
        (X, y[:4]),
        (X[0], y),
        (X[:0], y[:0]),
        (X + 1j, y),
        (np.full((20, 2), "a"), y),
        (X, np.column_stack([y, y])[:, :, None]),
        (X, None),
    ):
        with pytest.raises(ValueError):  # noqa: PT011  (scikit-learn's words)
            make(name).fit(bad, target)


@over(["forward", "rmp", "bpdn", "omp"])
def test_one_row(name):
    with pytest.raises(ValueError, match=r"1 sample.* minimum of 2 is required"):
        make(name).fit(X[:1], y[:1])
    model = make(name, fit_intercept=False)
    if name != "bpdn":  # which can't tell the noise of one row from anything
        assert np.isfinite(model.fit(X[:1], y[:1]).predict(X)).all()


@over(["forward", "rmp", "bpdn", "omp"])
def test_other_tables_to_predict(name):
    model = make(name).fit(FRAME, y)
    with pytest.raises(ValueError, match=r"3 features, but .* expecting 5"):
        make(name).fit(X, y).predict(X[:, :3])
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(FRAME[NAMES[::-1]])


def test_no_standard_deviations():
    for model, words in (
        (BasisPursuitRegressor().fit(X, y), "use debias=True"),
        (PursuitRegressor("mp", sparsity=2).fit(X, y), "shrunk"),
        (StepwiseRegressor(sparsity=2).fit(X[:3], y[:3]), "need more rows, or fewer features"),
    ):
        with pytest.raises(ValueError, match=words) as error:
            model.predict(X, return_std=True)
        sentence(error)


def test_a_name_of_two_columns_is_none():
    """scikit-learn 1.9 refuses such frames itself; before that, the name alone is refused."""
    X, y = table(30, 4)
    frame = pd.DataFrame(X, columns=["a", "b", "a", "c"])
    refusals = 'include names "a", but 2 columns of X are called that|unique column names'
    with pytest.raises(ValueError, match=refusals):
        StepwiseRegressor(include=["a"]).fit(frame, y)


@pytest.mark.parametrize("scale", [1e-200, 1e-158, 1e153, 1e160, 1e300])
@over(["forward", "both", "cv", "loo", "rmp", "bpdn", "omp", "delta of the bic"])
def test_targets_whose_squares_are_out_of_range(name, scale):
    X, y = table(40, 4)
    with pytest.raises(InputError, match=r"y is too (large|small): .* scale it|are out of range"):
        make(name).fit(X, scale * y)
