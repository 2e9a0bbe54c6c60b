"""The figures: what is drawn is what the functions say."""

import math
import subprocess
import sys
from itertools import pairwise

import matplotlib
import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

matplotlib.use("Agg")

import matplotlib.pyplot as plt

from sparsewise import (
    BasisPursuitRegressor,
    CoefficientDisplay,
    CriterionDisplay,
    PathDisplay,
    PursuitRegressor,
    ResidualDisplay,
    SparseBayesRegressor,
    SparseRegressor,
    StabilityDisplay,
    StabilitySelection,
    StepwiseRegressor,
    l1_path,
    plots,
    recovery_probability,
)
from sparsewise.errors import InputError
from sparsewise.guarantees.recovery import orthonormal_recovery_probability
from sparsewise.plots import model_figure
from sparsewise.plots.style import short, spread_apart


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


def drawn(ax):
    return {line.get_label(): line.get_xydata() for line in ax.get_lines()}


def test_recovery_probability_is_the_paper_s_figure_1(tmp_path):
    ax = plots.recovery_probability()
    curves = drawn(ax)
    for label, k, field in (
        ("Cai and Wang, any k", 1, "older"),
        ("proved here, any k", 1, "bound"),
        ("Thm. 4.5 as printed, k = 1", 1, "theorem"),
        ("Thm. 4.5 as printed, k = 4", 4, "theorem"),
    ):
        for delta, value in curves[label][::25]:
            assert value == pytest.approx(getattr(recovery_probability(16, k, delta), field))
    assert "16 columns" in ax.get_title()
    ax.figure.savefig(tmp_path / "figure.png")
    assert (tmp_path / "figure.png").stat().st_size > 10_000


def test_recovery_probability_at_given_points_and_axes():
    _, ax = plt.subplots()
    same = plots.recovery_probability(64, [2, 3], delta=[1.0, 2.0, 3.0], mu_k=0.1, mu_2k=0.2, ax=ax)
    assert same is ax
    curves = drawn(ax)
    expected = [recovery_probability(64, 3, d, 0.1, 0.2).theorem for d in (1.0, 2.0, 3.0)]
    np.testing.assert_allclose(curves["Thm. 4.5 as printed, k = 3"][:, 1], expected)
    # What orthonormal columns achieve belongs to a coherence of zero.
    assert not any("achieved" in label for label in curves)


def test_the_printed_theorem_exceeds_what_is_achieved_and_the_proved_bound_does_not():
    for delta in (1.0, 1.5, 2.0, 2.5):
        achieved = orthonormal_recovery_probability(16, 8, delta)
        promised = recovery_probability(16, 8, delta)
        assert promised.bound <= achieved < promised.theorem


def test_what_orthonormal_columns_achieve_against_a_simulation():
    rng = np.random.default_rng(0)
    m, k, delta, runs = 12, 3, 1.2, 100_000
    z = rng.standard_normal((runs, m))
    z[:, :k] += 2 * delta
    found = np.abs(z[:, :k]).min(axis=1) > np.abs(z[:, k:]).max(axis=1)
    expected = orthonormal_recovery_probability(m, k, delta)
    assert abs(found.mean() - expected) < 4 * (0.25 / runs) ** 0.5
    assert orthonormal_recovery_probability(5, 5, 0.1) == 1.0


def test_without_matplotlib_the_way_out_is_named(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r"pip install 'sparsewise\[plot\]'"):
        plots.recovery_probability()


# --- displays -------------------------------------------------------------------------------------


def table(rows=60, columns=6, seed=0):
    """Features of very different spreads, and a target of three of them."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((rows, columns)) * np.logspace(-2, 2, columns) + 5
    y = X @ np.array([200.0, -10.0, 0.3, *np.zeros(columns - 3)]) + rng.standard_normal(rows)
    return X, y


ESTIMATORS = {
    "forward": StepwiseRegressor(),
    "backward": StepwiseRegressor("backward", criterion="aic"),
    "there and back": StepwiseRegressor("both", criterion="loo"),
    "like R": StepwiseRegressor("both", criterion="aic", start="full"),
    "no intercept": StepwiseRegressor(fit_intercept=False),
    "cv": StepwiseRegressor(criterion="cv"),
    "delta": StepwiseRegressor(delta=1.0),
    "search": SparseRegressor(),
    "search, cv": SparseRegressor("cv", effort=4),
    "bayes": SparseBayesRegressor(),
    "em": SparseBayesRegressor("sbl", updates="em"),
    "bp": BasisPursuitRegressor(),
    "bp, refitted": BasisPursuitRegressor("ard", debias=True),
    "focuss": BasisPursuitRegressor("focuss"),
    "omp": PursuitRegressor(),
    "mp": PursuitRegressor("mp", sparsity=3),
    "exchange": PursuitRegressor("srr", sparsity=3),
}


@pytest.fixture(params=ESTIMATORS)
def estimator(request):
    return clone(ESTIMATORS[request.param]).fit(*table())


def naive_models(estimator):
    """Coefficients at the start and after each step, from the path alone."""
    path = estimator.solution_.path
    return np.array([path.initial.coef, *(model.coef for model in path.models())])


def test_lines_of_a_path_are_its_coefficients_times_the_spread(estimator):
    X, _ = table()
    display = PathDisplay.from_estimator(estimator, whole=True)
    expected = naive_models(estimator)
    spread = X.std(axis=0) if estimator.fit_intercept else np.sqrt(np.mean(X**2, axis=0))
    assert len(display.lines_) == len(display.feature_names)
    for line, name in zip(display.lines_, display.feature_names, strict=True):
        j = int(name[1:])
        x, drawn = line.get_data()
        np.testing.assert_array_equal(x[: len(expected)], np.arange(len(expected)))
        values = expected[:, j] * spread[j]
        seen = ~np.isnan(drawn[: len(expected)])
        np.testing.assert_allclose(drawn[: len(expected)][seen], values[seen], rtol=1e-10)
        assert not values[~seen].any()  # nothing is left out but zeros
    met = {int(name[1:]) for name in display.feature_names}
    assert met >= set(np.flatnonzero(expected.any(axis=0)))


@pytest.mark.parametrize("by", ["step", "size"])
@pytest.mark.parametrize("whole", [False, True])
def test_the_mark_stands_where_the_lines_have_the_chosen_coefficients(estimator, by, whole):
    display = PathDisplay.from_estimator(estimator, by=by, units="own", whole=whole)
    at = display.mark_.get_xdata()[0]
    for line, name in zip(display.lines_, display.feature_names, strict=True):
        x, drawn = line.get_data()
        value = np.nan_to_num(drawn[x == at])
        expected = estimator.coef_[int(name[1:])]
        np.testing.assert_allclose(value, [expected], rtol=1e-4, atol=1e-9)
    if by == "size":
        assert at == estimator.solution_.support.size
    low, high = display.ax_.get_xlim()
    assert low <= at <= high


def test_a_path_by_size_shows_the_best_model_of_each():
    model = StepwiseRegressor("both", criterion="loo").fit(*table())
    display = PathDisplay.from_estimator(model, by="size", units="own", whole=True)
    for k in model.solution_.path.sizes:
        best = model.solution_.path.at(k).coef
        for line, name in zip(display.lines_, display.feature_names, strict=True):
            x, drawn = line.get_data()
            np.testing.assert_allclose(np.nan_to_num(drawn[x == k]), [best[int(name[1:])]])


def test_labels_keep_apart_and_lie_beside_their_lines():
    X, y = table(200, 30)
    y = y + X[:, 5:25] @ (1 / X[:, 5:25].std(axis=0))  # twenty lines end at about the same height
    display = PathDisplay.from_estimator(StepwiseRegressor().fit(X, y))
    assert len(display.labels_) == 12
    display.figure_.draw_without_rendering()
    boxes = sorted((text.get_window_extent() for text in display.labels_), key=lambda box: box.y0)
    assert all(low.y1 <= high.y0 + 0.1 for low, high in pairwise(boxes))
    assert all(box.x0 > display.ax_.get_window_extent().x1 for box in boxes)
    assert boxes[-1].y1 <= display.figure_.bbox.y1
    colours = [line.get_color() for line in display.lines_]
    assert sum(colour != "#c9c9c9" for colour in colours) == 12  # the others are grey


def test_a_path_backward_has_its_labels_at_the_left():
    display = PathDisplay.from_estimator(StepwiseRegressor("backward").fit(*table()))
    display.figure_.draw_without_rendering()
    left = display.ax_.get_window_extent().x0
    assert display.labels_
    assert all(text.get_window_extent().x1 < left for text in display.labels_)


def test_a_long_path_is_drawn_to_some_steps_beyond_the_choice():
    X, y = table(120, 50)
    model = StepwiseRegressor().fit(X, y)
    k = model.solution_.support.size
    assert PathDisplay.from_estimator(model).ax_.get_xlim() == (0, k + 15)
    assert PathDisplay.from_estimator(model, whole=True).ax_.get_xlim() == (0, 50)
    back = StepwiseRegressor("backward").fit(X, y)
    k = back.solution_.support.size
    assert PathDisplay.from_estimator(back).ax_.get_xlim() == (50 - k - 15, 50)


def test_places_apart_are_the_nearest():
    rng = np.random.default_rng(0)
    for _ in range(20):
        wanted = rng.uniform(0, 1, 6)
        placed = spread_apart(wanted, 0.12)
        order = np.argsort(wanted)
        assert (np.diff(placed[order]) >= 0.12 - 1e-12).all()
        assert 0 <= placed.min() <= placed.max() <= 1
        best = minimize(
            lambda z, w=wanted: np.sum((z - w) ** 2),
            np.linspace(0, 1, 6)[np.argsort(order)],
            constraints={"type": "ineq", "fun": lambda z, o=order: np.diff(z[o]) - 0.12},
            bounds=[(0, 1)] * 6,
            method="SLSQP",
            options={"ftol": 1e-12},
        )
        np.testing.assert_allclose(placed, best.x, atol=1e-4)
    np.testing.assert_allclose(spread_apart(np.zeros(5), 0.5), np.linspace(0, 1, 5))
    assert spread_apart(np.zeros(0), 0.5).size == 0


@pytest.mark.parametrize("name", ["aic", "bic", "ebic", "ric", "adjusted_r2", "loo", "cp"])
def test_a_criterion_is_that_of_the_path(name):
    X, y = table()
    model = StepwiseRegressor(criterion=name).fit(X, y)
    display = CriterionDisplay.from_estimator(model)
    sizes, drawn = display.lines_[name].get_data()
    np.testing.assert_array_equal(sizes, np.asarray(model.path_["size"]))
    np.testing.assert_allclose(drawn, np.asarray(model.path_[name]), rtol=1e-9)
    k = model.solution_.support.size
    assert display.mark_.get_xdata()[0] == k
    best = np.argmax(drawn) if name == "adjusted_r2" else np.argmin(drawn)
    for point in (display.best_[name], display.chosen_[name]):
        np.testing.assert_allclose(point.get_xydata(), [[k, drawn[best]]])


def test_a_choice_that_is_not_the_best_is_told_from_it():
    X, y = table()
    model = StepwiseRegressor("backward", sparsity=1).fit(X, y)
    display = CriterionDisplay.from_estimator(model)
    values = dict(zip(*display.lines_["ric"].get_data(), strict=True))
    (best,) = display.best_["ric"].get_xydata().tolist()
    assert best == [min(values, key=values.get), min(values.values())]
    assert display.chosen_["ric"].get_xydata().tolist() == [[1, values[1]]]
    assert any("least: " in text.get_text() for text in display.ax_.texts)


def test_several_criteria_stand_above_their_minima():
    X, y = table(80, 20)
    model = StepwiseRegressor().fit(X, y)
    display = CriterionDisplay.from_estimator(model, ["aic", "bic", "adjusted_r2"], whole=True)
    assert len(display.axes_) == 2
    for name in ("aic", "bic"):
        expected = np.asarray(model.path_[name])
        np.testing.assert_allclose(display.lines_[name].get_ydata(), expected - expected.min())
        assert display.best_[name].get_xdata()[0] == np.argmin(expected)
    np.testing.assert_allclose(
        display.lines_["adjusted_r2"].get_ydata(), np.asarray(model.path_["adjusted_r2"])
    )
    low, high = display.axes_[0].get_ylim()
    assert low < 0
    assert high > np.max(display.lines_["aic"].get_ydata())


def test_what_is_far_from_the_best_is_out_of_sight_unless_asked_for():
    X, y = table(120, 50)
    model = StepwiseRegressor().fit(X, y)
    bic = np.asarray(model.path_["bic"])
    near, all_of_it = (CriterionDisplay.from_estimator(model, whole=w).ax_ for w in (False, True))
    assert near.get_ylim()[1] < bic.max() < all_of_it.get_ylim()[1]
    assert near.get_xlim()[1] < 25 < 50 < all_of_it.get_xlim()[1]
    assert near.get_ylim()[0] < bic.min()


def test_cross_validation_shows_mean_error_and_the_rule():
    X, y = table(60, 8)
    model = StepwiseRegressor(criterion="cv").fit(X, y + 20 * np.random.default_rng(1).random(60))
    errors = model.cv_errors_
    display = CriterionDisplay.from_estimator(model, whole=True)
    np.testing.assert_array_equal(display.lines_["cv"].get_data(), [errors.sizes, errors.mean])
    best = int(np.argmin(errors.mean))
    assert display.best_["cv"].get_xydata().tolist() == [[errors.sizes[best], errors.mean[best]]]
    assert display.chosen_["cv"].get_xdata()[0] == errors.chosen
    assert display.level_.get_ydata()[0] == errors.mean[best] + errors.std[best]
    (band,) = display.ax_.collections
    corners = {tuple(corner) for corner in band.get_paths()[0].vertices.tolist()}
    for k, mean, std in zip(errors.sizes, errors.mean, errors.std, strict=True):
        assert {(k, mean - std), (k, mean + std)} <= corners
    plain = StepwiseRegressor(criterion="cv", one_standard_error=False).fit(X, y)
    assert CriterionDisplay.from_estimator(plain).level_ is None


def test_the_evidence_pays_the_price_of_features():
    model = SparseBayesRegressor().fit(*table())
    display = CriterionDisplay.from_estimator(model)
    k = model.solution_.support.size
    expected = model.log_evidence_ - k * model.solution_.price
    np.testing.assert_allclose(display.chosen_["log_evidence"].get_xydata(), [[k, expected]])
    np.testing.assert_allclose(display.best_["log_evidence"].get_xydata(), [[k, expected]])
    assert f"{math.log(6):.3g} per feature" in display.ax_.get_ylabel()


def test_coefficients_with_two_standard_errors_the_largest_on_top():
    X, y = table()
    model = StepwiseRegressor().fit(X, y)
    for units, spread in (("norm", X.std(axis=0)), ("own", np.ones(6))):
        display = CoefficientDisplay.from_estimator(model, units=units)
        shown = [int(name[1:]) for name in display.shown_]
        assert sorted(shown) == model.solution_.support.tolist()
        values = model.coef_[shown] * spread[shown]
        assert (np.diff(np.abs(values)) <= 0).all()
        x, places = display.points_.get_data()
        np.testing.assert_allclose(x, values, rtol=1e-10)
        reach = 2 * model.coef_std_[shown] * spread[shown]
        ends = [segment[:, 0] for segment in display.bars_.get_segments()]
        np.testing.assert_allclose(ends, np.column_stack([values - reach, values + reach]))
        assert display.ax_.yaxis_inverted()
        ticks = [text.get_text() for text in display.ax_.get_yticklabels()]
        assert ticks == display.shown_
        np.testing.assert_array_equal(display.ax_.get_yticks(), places)


def test_the_intercept_is_drawn_if_asked_for():
    X, y = table()
    model = StepwiseRegressor().fit(X, y)
    assert "(intercept)" not in CoefficientDisplay.from_estimator(model).shown_
    display = CoefficientDisplay.from_estimator(model, intercept=True)
    i = display.shown_.index("(intercept)")
    assert display.points_.get_xdata()[i] == model.intercept_
    left, right = display.bars_.get_segments()[i][:, 0]
    assert right - left == pytest.approx(4 * model.intercept_std_)


def test_of_many_coefficients_the_largest_are_drawn():
    X, y = table(200, 60)
    model = StepwiseRegressor(sparsity=50).fit(X, y)
    display = CoefficientDisplay.from_estimator(model)
    assert len(display.shown_) == 40
    sizes = np.abs(model.coef_ * X.std(axis=0))
    assert {int(name[1:]) for name in display.shown_} == set(np.argsort(-sizes)[:40].tolist())
    assert "40 largest of 50" in display.ax_.get_xlabel()
    assert len(CoefficientDisplay.from_estimator(model, most=7).shown_) == 7


@pytest.mark.parametrize(
    ("model", "note"),
    [
        (BasisPursuitRegressor(), "without standard errors"),
        (StepwiseRegressor(), "± 2 standard errors, conditional on the selection"),
        (SparseBayesRegressor(), "± 2 posterior sd, conditional on the selection"),
    ],
)
def test_the_axis_says_what_the_bars_are(model, note):
    display = CoefficientDisplay.from_estimator(clone(model).fit(*table()))
    assert note in display.ax_.get_xlabel()
    assert (display.bars_ is None) == note.startswith("without")


# --- hard cases -----------------------------------------------------------------------------------


def one_feature():
    X, y = table()
    return StepwiseRegressor().fit(X[:, :1], y)


def no_feature():
    X, _ = table()
    return StepwiseRegressor(criterion="ebic").fit(X, np.random.default_rng(3).random(60))


def constant_target():
    return StepwiseRegressor().fit(table()[0], np.full(60, 3.0))


def constant_target_bayesian():
    return SparseBayesRegressor().fit(table()[0], np.full(60, 3.0))


def exact_fit():
    X, _ = table()
    return StepwiseRegressor().fit(X, 2 * X[:, 3] + 1)


def single_precision():
    X, y = table()
    return StepwiseRegressor().fit(X.astype(np.float32), y.astype(np.float32))


def two_hundred_features():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((80, 200))
    return StepwiseRegressor(sparsity=30).fit(X, X[:, :4].sum(axis=1) + rng.standard_normal(80))


def strange_names():
    pandas = pytest.importorskip("pandas")
    X, y = table()
    names = ["$a", "b$_c^2$", "long name " * 20, "line\nbreak", "_hidden", ""]
    return StepwiseRegressor(criterion="aic").fit(
        pandas.DataFrame(X, columns=names), pandas.Series(y, name="cost in $ ^{ " * 12)
    )


def constant_column():
    X, y = table()
    X[:, 4] = 7.0
    return StepwiseRegressor("backward").fit(X, y)


HARD = [
    one_feature, no_feature, constant_target, constant_target_bayesian, exact_fit,
    single_precision, two_hundred_features, strange_names, constant_column,
]  # fmt: skip


@pytest.mark.parametrize("case", HARD, ids=lambda case: case.__name__)
def test_hard_cases_are_drawn_without_complaint(case, tmp_path):
    model = case()
    for by, units in (("step", "norm"), ("size", "own")):
        PathDisplay.from_estimator(model, by=by, units=units).figure_.draw_without_rendering()
    CriterionDisplay.from_estimator(model).figure_.draw_without_rendering()
    display = CoefficientDisplay.from_estimator(model)
    display.figure_.draw_without_rendering()
    assert len(display.shown_) == min(model.solution_.support.size, 40)
    model_figure(model).savefig(tmp_path / "model.png", dpi=50)
    assert (tmp_path / "model.png").stat().st_size > 1000


def test_an_empty_model_says_so():
    ax = CoefficientDisplay.from_estimator(no_feature()).ax_
    assert [text.get_text() for text in ax.texts] == ["no feature was chosen"]
    display = PathDisplay.from_estimator(constant_target())
    assert [text.get_text() for text in display.ax_.texts] == ["no feature on the path"]
    assert display.mark_ is None
    texts = [text.get_text() for text in CriterionDisplay.from_estimator(no_feature()).ax_.texts]
    assert "chosen: no features" in texts


def test_an_exact_fit_is_marked_without_a_value():
    display = CriterionDisplay.from_estimator(exact_fit(), "bic")
    assert display.mark_.get_xdata()[0] == 1
    assert not display.chosen_
    assert "chosen: 1 feature (exact fit)" in [text.get_text() for text in display.ax_.texts]


def test_criteria_on_one_scale_share_a_panel():
    names = ["aic", "aicc", "bic", "ebic", "ric"]
    display = CriterionDisplay.from_estimator(StepwiseRegressor().fit(*table()), names)
    assert len(display.axes_) == 1
    assert list(display.lines_) == names
    assert all(np.nanmin(line.get_ydata()) == 0 for line in display.lines_.values())


def test_an_exact_fit_has_a_ric():
    """It is finite, and so large that the choice is marked as what it is."""
    model = exact_fit()
    display = CriterionDisplay.from_estimator(model)
    assert display.chosen_["ric"].get_xydata().tolist() == [[1, model.path_["ric"][1]]]
    assert "chosen: 1 feature (exact fit)" in [text.get_text() for text in display.ax_.texts]


def test_names_are_drawn_as_they_are():
    model = strange_names()
    display = CoefficientDisplay.from_estimator(model)
    ticks = [text.get_text() for text in display.ax_.get_yticklabels()]
    assert all(len(tick) <= 26 and "\n" not in tick for tick in ticks)
    assert any("$" in tick for tick in ticks)
    assert not any(text.get_parse_math() for text in display.ax_.get_yticklabels())
    assert short("a" * 40 + "b" * 40) == "a" * 13 + "…" + "b" * 12


# --- conventions ----------------------------------------------------------------------------------


def test_given_axes_are_drawn_on_and_no_other_figure_is_made():
    model = StepwiseRegressor().fit(*table())
    figure, axes = plt.subplots(1, 3)
    for ax, cls in zip(axes, (PathDisplay, CriterionDisplay, CoefficientDisplay), strict=True):
        display = cls.from_estimator(model, ax=ax)
        assert isinstance(display, cls)
        assert display.ax_ is ax
        assert display.figure_ is figure
        again = display.plot()
        assert again is display
        assert display.figure_ is not figure
        plt.close(display.figure_)
    assert len(plt.get_fignums()) == 1


def test_words_for_lines_are_passed_on():
    model = StepwiseRegressor().fit(*table())
    path = PathDisplay.from_estimator(model, line_kwargs={"linewidth": 7})
    assert {line.get_linewidth() for line in path.lines_} == {7}
    criterion = CriterionDisplay.from_estimator(model, line_kwargs={"linewidth": 7})
    assert criterion.lines_["ric"].get_linewidth() == 7
    coefficients = CoefficientDisplay.from_estimator(model, bar_kwargs={"markersize": 3})
    assert coefficients.points_.get_markersize() == 3


def test_the_last_step_of_a_pipeline_is_drawn():
    X, y = table()
    model = make_pipeline(StandardScaler(), StepwiseRegressor()).fit(X, y)
    display = CoefficientDisplay.from_estimator(model)
    np.testing.assert_allclose(
        np.sort(display.points_.get_xdata()), np.sort(model[-1].coef_[model[-1].get_support()])
    )


def test_weights_count_in_the_spread():
    X, y = table()
    weights = np.arange(60) % 3
    once = StepwiseRegressor().fit(X, y, sample_weight=weights)
    twice = StepwiseRegressor().fit(np.repeat(X, weights, axis=0), np.repeat(y, weights))
    a, b = (CoefficientDisplay.from_estimator(model) for model in (once, twice))
    np.testing.assert_allclose(a.points_.get_xdata(), b.points_.get_xdata(), rtol=1e-8)


@pytest.mark.parametrize(
    ("model", "titles"),
    [
        (StepwiseRegressor(), "RIC"),
        (StepwiseRegressor(criterion="bic"), "BIC"),
        (StepwiseRegressor(criterion="cv"), "of folds left out"),
        (StepwiseRegressor(sparsity=2), "standard deviation"),
        (SparseBayesRegressor(), "standard deviation"),
        (PursuitRegressor(), "standard deviation"),
    ],
)
def test_one_figure_of_a_model(model, titles):
    model = clone(model).fit(*table())
    figure = model_figure(model)
    assert not plt.get_fignums()  # it is none of pyplot's
    left, right = figure.axes
    assert titles in right.get_ylabel()
    assert len(left.get_yticklabels()) == model.solution_.support.size
    assert figure.get_suptitle() == model.summary().title
    other = model_figure(model, beside="path", units="own").axes[1]
    assert other.get_ylabel() == "coefficient, per unit of the feature"
    other = model_figure(model, beside="criterion").axes[1]
    assert other.get_ylabel().startswith(("RIC", "BIC", "mean squared error", "log evidence"))


def test_a_solver_without_a_path_has_none_to_draw():
    model = BasisPursuitRegressor(solver="ista", penalty=1.0).fit(*table())
    with pytest.raises(ValueError, match=r"^ista kept no path.*use CoefficientDisplay\.$"):
        PathDisplay.from_estimator(model)
    assert len(model_figure(model).axes) == 2


@pytest.mark.parametrize("cls", [PathDisplay, CriterionDisplay, CoefficientDisplay])
def test_what_cannot_be_drawn_is_refused_in_one_sentence(cls):
    X, y = table()
    with pytest.raises(NotFittedError):
        cls.from_estimator(StepwiseRegressor())
    with pytest.raises(ValueError, match=f"^{cls.__name__} draws .* not LinearRegression\\.$"):
        cls.from_estimator(LinearRegression().fit(X, y))
    search = GridSearchCV(StepwiseRegressor(), {"direction": ["forward"]}, cv=2).fit(X, y)
    with pytest.raises(ValueError, match=r"not GridSearchCV; pass its best_estimator_\.$"):
        cls.from_estimator(search)
    cls.from_estimator(search.best_estimator_)


def test_criteria_that_are_not_there_are_refused_in_one_sentence():
    X, y = table()
    with pytest.raises(ValueError, match=r"^The path of mp has no criteria.*PathDisplay\.$"):
        CriterionDisplay.from_estimator(PursuitRegressor("mp", sparsity=2).fit(X, y))
    model = StepwiseRegressor(delta=50.0).fit(X, y)
    with pytest.raises(ValueError, match=r'^The path does not have "cv"; there are "aic", '):
        CriterionDisplay.from_estimator(model, ["aic", "cv"])
    with pytest.raises(ValueError, match=r'^The path does not have "cp"; there are "aic", '):
        # The full model was not met, and only StepwiseRegressor makes up for that.
        CriterionDisplay.from_estimator(PursuitRegressor(sparsity=2).fit(X, y), "cp")
    with pytest.raises(ValueError, match=r'^criteria names none; there are "aic", '):
        CriterionDisplay.from_estimator(model, [])
    with pytest.raises(ValueError, match=r"^These criteria take 2 panels: pass as many axes"):
        CriterionDisplay.from_estimator(model, ["bic", "loo"], ax=plt.subplots()[1])
    _, axes = plt.subplots(2, 1)
    assert CriterionDisplay.from_estimator(model, ["bic", "loo"], ax=axes).axes_ == axes.tolist()


def test_words_there_are_not():
    model = StepwiseRegressor().fit(*table())
    with pytest.raises(
        ValueError, match=r'^by must be "step", "size" or "penalty", not \'time\'\.$'
    ):
        PathDisplay.from_estimator(model, by="time")
    for other in (model, BasisPursuitRegressor(debias=True).fit(*table())):
        with pytest.raises(ValueError, match=r'^by="penalty" is for paths of ℓ1 norms'):
            PathDisplay.from_estimator(other, by="penalty")
    for cls in (PathDisplay, CoefficientDisplay):
        with pytest.raises(ValueError, match=r'^units must be "norm" or "own", not \'sd\'\.$'):
            cls.from_estimator(model, units="sd")
    with pytest.raises(ValueError, match=r'^beside must be "auto", "criterion" or "path"'):
        model_figure(model, beside="both")
    display = CoefficientDisplay(coefs=[1.0], feature_names=["a"])
    with pytest.raises(ValueError, match=r'^units="norm" needs the spreads'):
        display.plot()
    assert display.plot(units="own").shown_ == ["a"]


def test_displays_without_matplotlib_name_the_way_out(monkeypatch):
    model = StepwiseRegressor().fit(*table())
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    for draw in (
        PathDisplay.from_estimator,
        CriterionDisplay.from_estimator,
        CoefficientDisplay.from_estimator,
        model_figure,
    ):
        with pytest.raises(ImportError, match=r"pip install 'sparsewise\[plot\]'"):
            draw(model)


def test_displays_are_found_at_the_top_without_importing_matplotlib():
    code = (
        "import sys, sparsewise; quick = not {'matplotlib', 'sklearn'} & set(sys.modules); "
        "sparsewise.PathDisplay, sparsewise.CriterionDisplay, sparsewise.CoefficientDisplay; "
        "print(quick, 'matplotlib' in sys.modules)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["True", "False"]


# --- several targets ------------------------------------------------------------------------------


def two_targets():
    X, y = table()
    return X, np.column_stack([y, 1e3 * (X[:, 1] + np.random.default_rng(1).normal(size=60))])


@pytest.mark.parametrize("units", ["norm", "own"])
def test_coefficients_of_several_targets_have_colours_of_their_own(units):
    X, Y = two_targets()
    model = StepwiseRegressor(sparsity=3).fit(X, Y)
    display = CoefficientDisplay.from_estimator(model, units=units, intercept=True)
    shown = [None if name == "(intercept)" else int(name[1:]) for name in display.shown_]
    own = units == "own"
    for t, (points, bars) in enumerate(zip(display.points_, display.bars_, strict=True)):
        unit = 1.0 if own else Y[:, t].std()
        for i, j in enumerate(shown):
            spread = 1.0 if own or j is None else X[:, j].std()
            value = model.intercept_[t] if j is None else model.coef_[t, j]
            std = model.intercept_std_[t] if j is None else model.coef_std_[t, j]
            assert points.get_xdata()[i] == pytest.approx(value * spread / unit)
            left, right = bars.get_segments()[i][:, 0]
            assert right - left == pytest.approx(4 * std * spread / unit)
    assert len({points.get_color() for points in display.points_}) == 2
    legend = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert legend == ["y0", "y1"]
    assert display.points_[0].get_ydata()[0] < display.points_[1].get_ydata()[0]


def test_a_path_of_several_targets_shows_their_root_mean_square():
    X, Y = two_targets()
    model = StepwiseRegressor().fit(X, Y)
    display = PathDisplay.from_estimator(model, whole=True)
    expected = naive_models(model) / Y.std(axis=0)
    for line, name in zip(display.lines_, display.feature_names, strict=True):
        j = int(name[1:])
        values = np.sqrt(np.square(expected[:, j] * X[:, j].std()).mean(axis=1))
        found = line.get_ydata()
        seen = ~np.isnan(found)
        np.testing.assert_allclose(found[seen], values[seen], rtol=1e-9)
    assert "root mean square over targets" in display.ax_.get_ylabel()
    assert display.mark_.get_xdata()[0] == model.solution_.support.size


@pytest.mark.parametrize("name", ["forward", "cv", "no intercept", "omp", "exchange", "em"])
def test_a_figure_of_several_targets(name, tmp_path):
    X, Y = two_targets()
    model = clone(ESTIMATORS[name]).fit(X, Y)
    model_figure(model).savefig(tmp_path / "model.png")
    model_figure(model, beside="path", units="own").savefig(tmp_path / "path.png")


def test_a_figure_of_no_features_for_several_targets():
    X, _ = table()
    model = StepwiseRegressor(sparsity=0).fit(X, X[:, :2])
    display = CoefficientDisplay.from_estimator(model, intercept=True)
    assert display.shown_ == ["(intercept)"]
    model_figure(model)


# --- penalties ------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", [{}, {"penalty": 0.5}, {"residual": 10.0, "standardize": False}])
@pytest.mark.parametrize("seed", range(3))
def test_a_path_by_penalty_has_the_penalties_of_l1_path(how, seed):
    X, y = table(seed=seed)
    model = BasisPursuitRegressor(**how).fit(X, y)
    display = PathDisplay.from_estimator(model, by="penalty", whole=True)
    centred, target = X - X.mean(axis=0), y - y.mean()
    path = l1_path(
        centred, target, penalty=model.solution_.penalty, weights=model.solution_.weights
    )
    found = np.unique(np.asarray(display.penalties).round(6))
    np.testing.assert_allclose(found[::-1], np.unique(path.penalties.round(6))[::-1], rtol=1e-4)
    left, right = display.ax_.get_xlim()
    assert left > right == pytest.approx(model.solution_.penalty)
    assert display.ax_.get_xlabel() == "penalty λ"
    assert display.mark_.get_xdata()[0] == pytest.approx(model.solution_.penalty)


# --- residuals ------------------------------------------------------------------------------------


def test_residuals_against_predictions():
    X, y = table()
    model = StepwiseRegressor().fit(X, y)
    display = ResidualDisplay.from_estimator(model, X, y)
    expected = model.predict(X)
    np.testing.assert_allclose(
        display.scatter_.get_offsets(), np.column_stack([expected, y - expected])
    )
    assert display.line_.get_slope() == 0
    assert display.ax_.get_ylabel() == "observed - predicted"
    display.plot(kind="actual_vs_predicted", scatter_kwargs={"s": 3}, line_kwargs={"color": "red"})
    np.testing.assert_allclose(display.scatter_.get_offsets(), np.column_stack([expected, y]))
    assert (display.line_.get_slope(), display.line_.get_color()) == (1, "red")
    x, height = display.line_.get_xy1()
    assert x == height


def test_residuals_of_several_targets_and_of_many_rows():
    X, Y = two_targets()
    pipeline = make_pipeline(StandardScaler(), StepwiseRegressor()).fit(X, Y)
    display = ResidualDisplay.from_estimator(pipeline, X, Y)
    assert len(display.scatter_) == 2
    names = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert names == ["y0", "y1"]
    many = np.arange(25_000.0)
    assert len(ResidualDisplay(y_true=many, y_pred=many).plot().scatter_.get_offsets()) == 8334


def test_residuals_that_are_none():
    X, y = table()
    model = StepwiseRegressor().fit(X, y)
    with pytest.raises(InputError, match=r"y has shape \(7,\), but predictions of X have \(60,\)"):
        ResidualDisplay.from_estimator(model, X, y[:7])
    with pytest.raises(InputError, match="kind must be one of residual_vs_predicted, actual"):
        ResidualDisplay.from_estimator(model, X, y, kind="qq")
    with pytest.raises(InputError, match="y_true has no rows"):
        ResidualDisplay(y_true=[], y_pred=[]).plot()


def test_stability_display(tmp_path):
    X, y = table(columns=8)
    model = StabilitySelection(StepwiseRegressor(), n_pairs=10, max_features=4, random_state=0).fit(
        X, y
    )
    display = StabilityDisplay.from_estimator(model)
    lengths = [bar.get_width() for bar in display.bars_]
    drawn_as = dict(zip(display.shown_, lengths, strict=True))
    assert lengths == sorted(lengths, reverse=True)
    assert drawn_as == {f"x{j}": f for j, f in enumerate(model.selection_frequencies_) if f > 0}
    assert display.line_.get_xdata()[0] == model.threshold_
    taken = [bar.get_facecolor() for bar in display.bars_][: model.get_support().sum()]
    rest = [bar.get_facecolor() for bar in display.bars_][model.get_support().sum() :]
    assert not set(taken) & set(rest)
    assert "r-concave bound" in display.ax_.get_xlabel()
    display.figure_.savefig(tmp_path / "stable.png")
    few = display.plot(most=2)
    assert "(2 most frequent)" in few.ax_.get_xlabel()
    assert len(few.shown_) == 2
    none = StabilityDisplay(frequencies=np.zeros(3), threshold=0.6).plot()
    assert "no feature was selected" in {text.get_text() for text in none.ax_.texts}
    with pytest.raises(InputError, match="draws a StabilitySelection, not LinearRegression"):
        StabilityDisplay.from_estimator(LinearRegression())
    with pytest.raises(NotFittedError):
        StabilityDisplay.from_estimator(StabilitySelection(StepwiseRegressor()))
