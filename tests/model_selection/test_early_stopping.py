"""Where paths end: by the rule, by a cap, and in every direction alike."""

import numpy as np
import pytest
from scipy import sparse

from sparsewise import PursuitRegressor, StepwiseRegressor, forward, plan
from sparsewise.criteria import early_stopping
from sparsewise.criteria.early_stopping import AHEAD, worth
from sparsewise.errors import InputError, InputWarning
from sparsewise.model_selection import choice

DIRECTIONS = pytest.mark.parametrize("direction", ["forward", "backward", "both", "foba"])


def noise(n, m, seed=0):
    rng = np.random.default_rng([seed, n, m])
    return rng.standard_normal((n, m)), rng.standard_normal(n)


def signal(n, m, k, level=0.3, seed=0):
    """The first k of the columns count."""
    X, e = noise(n, m, seed)
    return X, X[:, :k] @ np.where(np.arange(k) % 2, -1.0, 1.0) + level * e


@pytest.fixture
def cut(monkeypatch):
    """Let paths end early, however little they take."""

    def so_soon(ahead=AHEAD):
        monkeypatch.setattr(plan, "EFFORTLESS", 0)
        monkeypatch.setattr(early_stopping, "AHEAD", ahead)

    return so_soon


# --- on data -------------------------------------------------------------------------------------


def test_it_is_the_beginning_of_the_whole_path(cut):
    """The choice is that of a path to the last feature, in a fraction of its steps."""
    cut()
    X, y = signal(600, 900, 20)
    model = StepwiseRegressor(fit_intercept=False).fit(X, y)
    assert model.get_support(indices=True).tolist() == list(range(20))
    columns = [step.column for step in model.solution_.path]
    assert len(columns) == worth(20)
    whole = forward(X, y, sparsity=300).path
    assert columns == [step.column for step in whole][: len(columns)]
    costs = model.criteria_["ric"].cost(whole.losses, whole.dfs)
    assert int(costs.argmin()) == 20


def test_small_tables_have_whole_paths():
    for shape in ((300, 100), (40, 6), (60, 90)):
        X, y = signal(*shape, 3)
        steps = len(StepwiseRegressor().fit(X, y).solution_.path)
        assert steps == (shape[1] if shape[0] > shape[1] else shape[0] - 2)


@pytest.mark.parametrize("criterion", ["ric", "cv", "loo"])
@DIRECTIONS
def test_every_direction_ends_where_forward_does(direction, criterion, cut):
    """Also where it turns, or begins; every step and size beyond is saved."""
    cut(8)
    X, y = signal(60, 90, 4) if criterion != "loo" else signal(200, 60, 4)
    model = StepwiseRegressor(direction, criterion=criterion).fit(X, y)
    assert set(model.get_support(indices=True)) >= {0, 1, 2, 3}
    largest = model.solution_.path.sizes[-1]
    if direction == "both" and criterion == "ric":  # step by step it ends by itself
        assert largest < 10
    elif direction == "backward" and criterion == "loo":  # rows are plenty: from all features
        assert largest == 60
    elif criterion == "ric":
        assert largest == 2 * 4 + 8
    else:
        assert 16 <= largest < 58
    if criterion == "cv":
        assert model.cv_errors_.sizes[-1] == min(model.cv_errors_.followed, 23)


def test_folds_are_followed_as_far_as_their_errors_say(cut):
    """In as many rounds as it takes, with the errors of one that goes all the way."""
    X, y = signal(120, 80, 12, level=0.5)
    whole = StepwiseRegressor(criterion="cv").fit(X, y).cv_errors_
    assert whole.sizes.tolist() == list(range(81))
    cut(5)
    errors = StepwiseRegressor(criterion="cv").fit(X, y).cv_errors_
    best = int(errors.mean.argmin())
    assert errors.chosen == whole.chosen >= 12
    assert errors.followed == errors.sizes[-1] >= 2 * best + 5
    np.testing.assert_allclose(errors.mean, whole.mean[: errors.mean.size], rtol=1e-12)
    assert best == int(whole.mean.argmin())


def test_many_sparse_columns():
    """Among ten thousand columns, a path takes some steps more than it needs."""
    rng = np.random.default_rng(0)
    X = sparse.random(2000, 10000, density=0.005, format="csc", random_state=rng)
    y = X[:, :10] @ np.ones(10) + 0.02 * rng.standard_normal(2000)
    model = StepwiseRegressor().fit(X, y)
    assert model.get_support(indices=True).tolist() == list(range(10))
    assert len(model.solution_.path) == worth(10)
    assert PursuitRegressor().fit(X, y).sparsity_ == 10


def test_beyond_half_as_many_as_rows():
    """The RIC may look at models of nearly as many features as rows; it takes none by chance."""
    X, y = noise(50, 200)
    model = StepwiseRegressor("forward").fit(X, y)
    assert model.solution_.path.sizes[-1] == 48
    assert model.get_support().sum() <= 2
    assert model.warnings_ == ()


@pytest.mark.parametrize(("n", "m", "k"), [(500, 1000, 120), (400, 300, 150)])
def test_what_takes_no_time_is_not_cut(n, m, k, cut):
    """Many features, nearly no noise: the first ones look like noise until all are there."""
    X, y = signal(n, m, k, level=1e-3)
    assert set(StepwiseRegressor().fit(X, y).get_support(indices=True)) >= set(range(k))
    cut()
    assert StepwiseRegressor().fit(X, y).get_support().sum() < k
    # Nor is what one asks for.
    asked = StepwiseRegressor(max_features=250).fit(X, y)
    assert asked.solution_.path.sizes[-1] == 250
    assert set(asked.get_support(indices=True)) >= set(range(k))


# --- what it chooses -----------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(50, 500), (200, 20), (64, 128)])
@pytest.mark.parametrize(
    "model",
    [
        StepwiseRegressor(),
        StepwiseRegressor("both"),
        StepwiseRegressor("both", start="full"),
        StepwiseRegressor("backward"),
        StepwiseRegressor("foba"),
        PursuitRegressor(),
    ],
    ids=repr,
)
def test_on_pure_noise_hardly_any_feature(model, shape):
    sizes = [model.fit(*noise(*shape, seed)).get_support().sum() for seed in range(24)]
    assert np.mean(sizes) < 0.5
    assert max(sizes) <= 3


def test_few_among_many():
    """Where the EBIC takes whatever it can, the default takes what is there."""
    X, y = signal(100, 500, 10)
    assert StepwiseRegressor().fit(X, y).get_support(indices=True).tolist() == list(range(10))
    with pytest.warns(InputWarning, match="ebic was still improving at 49 features"):
        assert StepwiseRegressor(criterion="ebic").fit(X, y).get_support().sum() == 49


@pytest.mark.parametrize("unit", [1e-9, 1e9])
@pytest.mark.parametrize("intercept", [True, False])
def test_units_do_not_matter(unit, intercept):
    X, y = signal(50, 80, 3, level=1.0)
    one = StepwiseRegressor(fit_intercept=intercept).fit(X, y)
    other = StepwiseRegressor(fit_intercept=intercept).fit(X * unit, y / unit)
    assert one.get_support(indices=True).tolist() == other.get_support(indices=True).tolist()
    np.testing.assert_allclose(other.path_["ric"], one.path_["ric"], rtol=1e-9, atol=1e-9)


# --- the cap -------------------------------------------------------------------------------------


@pytest.mark.parametrize("criterion", ["ric", "bic", "loo", "cv"])
@pytest.mark.parametrize("shape", [(80, 12), (30, 60)])
@DIRECTIONS
def test_max_features(direction, shape, criterion):
    X, y = signal(*shape, 6)
    model = StepwiseRegressor(direction, criterion=criterion, max_features=4).fit(X, y)
    step_by_step = direction == "both" and criterion in ("ric", "bic")  # it may end before
    assert model.solution_.path.sizes[-1] == 4 or step_by_step
    assert 1 <= model.get_support().sum() <= 4
    assert model.warnings_ == ()  # it was asked for
    if criterion == "cv":
        assert model.cv_errors_.sizes.tolist() == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("criterion", ["ric", "loo", "cv"])
@DIRECTIONS
def test_a_choice_as_large_as_the_cap_says_so(direction, criterion):
    X, y = signal(80, 12, 6)
    at, below = (
        dict(
            StepwiseRegressor(direction, criterion=criterion, max_features=most)
            .fit(X, y)
            .summary()
            .facts
        )
        for most in (4, 11)
    )
    assert at["cap"] == "max_features=4 allows no more: raise it to see whether others help"
    assert "cap" not in below


def test_begin_with_as_many_as_the_cap_allows():
    X, y = signal(80, 12, 3)
    model = StepwiseRegressor("both", start="full", max_features=5).fit(X, y)
    assert len(model.solution_.path.start) == 5
    assert model.get_support(indices=True).tolist() == [0, 1, 2]
    listed = StepwiseRegressor("both", start=list(range(8)), max_features=5).fit(X, y)
    assert listed.get_support(indices=True).tolist() == [0, 1, 2]


def test_folds_of_a_path_from_all_features_take_one_round(cut, monkeypatch):
    """It meets all sizes, wanted or not."""
    cut(4)
    calls = []
    whole = choice.PATHS["backward"]
    monkeypatch.setitem(choice.PATHS, "backward", lambda *a: calls.append(1) or whole(*a))
    X, y = signal(120, 30, 6)
    model = StepwiseRegressor("backward", criterion="cv").fit(X, y)
    assert len(calls) == 6
    assert model.cv_errors_.sizes[-1] == 30
    assert model.get_support(indices=True).tolist() == list(range(6))


@DIRECTIONS
def test_a_cap_that_is_not_reached_changes_nothing(direction):
    X, y = signal(80, 12, 3)
    one = StepwiseRegressor(direction).fit(X, y)
    for most in (12, 50):
        other = StepwiseRegressor(direction, max_features=most).fit(X, y)
        assert [*one.solution_.path] == [*other.solution_.path]
    for criterion in ("ric", "loo", "cv"):
        model = StepwiseRegressor(direction, criterion=criterion, max_features=0).fit(X, y)
        assert model.get_support().sum() == 0


def test_a_cap_has_room_for_what_is_included():
    X, y = signal(40, 8, 3)
    for criterion in ("ric", "loo", "cv"):
        model = StepwiseRegressor(criterion=criterion, include=[6, 7], max_features=2).fit(X, y)
        assert model.get_support(indices=True).tolist() == [6, 7]
    with pytest.raises(
        InputError, match=r"^max_features allows 1, but include names 2: raise it\.$"
    ):
        StepwiseRegressor(include=[6, 7], max_features=1).fit(X, y)


@pytest.mark.parametrize("value", [-1, 2.5, "all"])
def test_no_such_cap(value):
    with pytest.raises(ValueError, match="'max_features' parameter"):
        StepwiseRegressor(max_features=value).fit(*signal(40, 8, 3))


@pytest.mark.parametrize("words", [{"sparsity": 3}, {"delta": 1.0}])
def test_a_cap_and_another_end(words):
    with pytest.raises(InputError, match=f"{next(iter(words))} and max_features both say when"):
        StepwiseRegressor(max_features=3, **words).fit(*signal(40, 8, 3))
