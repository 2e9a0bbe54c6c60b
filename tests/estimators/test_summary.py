"""The summary says what the estimator holds, in words that are true, on 80 columns."""

import pickle
import re
from html import escape
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_diabetes
from sklearn.exceptions import NotFittedError

from sparsewise import (
    BasisPursuitRegressor,
    PursuitRegressor,
    SparseBayesRegressor,
    StepwiseRegressor,
)
from sparsewise._util.text import width
from sparsewise.errors import InputWarning
from sparsewise.estimators.describe import describe
from sparsewise.summary import Summary

LONG = "a name that goes on and on, beyond what any terminal of eighty columns is able to hold"
WIDE = "温度の非常に長い名前" * 6


def table(rows=50, columns=8, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((rows, columns))
    return X, X[:, :2] @ [1.0, 2.0] + 3 + rng.standard_normal(rows)


def facts(model):
    return dict(model.summary().facts)


ESTIMATORS = [
    StepwiseRegressor(),
    StepwiseRegressor("backward", criterion="cv"),
    StepwiseRegressor("both", criterion="aic", certify=True),
    StepwiseRegressor("foba", criterion="loo"),
    StepwiseRegressor(delta=1.0, fit_intercept=False),
    StepwiseRegressor(include=[7], exclude=[1]),
    SparseBayesRegressor(),
    SparseBayesRegressor("sbl", updates="em", sigma=1.0, fit_intercept=False),
    BasisPursuitRegressor(),
    BasisPursuitRegressor("candes", debias=True),
    BasisPursuitRegressor("focuss"),
    BasisPursuitRegressor(penalty=5.0),
    PursuitRegressor(),
    PursuitRegressor("mp", sparsity=2),
    PursuitRegressor("srr", residual=8.0),
]


@pytest.fixture(params=ESTIMATORS, ids=str)
def model(request):
    return clone(request.param).fit(*table())


# --- the table ------------------------------------------------------------------------------------


def test_the_table_holds_the_coefficients_and_their_standard_errors(model):
    summary = model.summary()
    support = model.solution_.support
    expected = [(f"x{j}", model.coef_[j]) for j in support]
    std = None if model.coef_std_ is None else model.coef_std_[support].tolist()
    if model.fit_intercept:
        expected = [("(intercept)", model.intercept_), *expected]
        std = None if std is None else [model.intercept_std_, *std]
    assert [row[0] for row in summary.rows] == [name for name, _ in expected]
    for row, (_, value) in zip(summary.rows, expected, strict=True):
        assert float(row[1]) == pytest.approx(value, rel=1e-2, abs=1e-5)
    assert len(summary.header) == (2 if std is None else 3)
    if std is not None:
        for row, value in zip(summary.rows, std, strict=True):
            assert float(row[2]) == pytest.approx(value, rel=1e-2)


def test_text_has_every_row_and_fact_within_80_columns(model):
    summary = model.summary()
    text = str(summary)
    assert repr(summary) == text
    lines = text.split("\n")
    assert max(map(width, lines)) <= 80
    assert lines[0] == summary.title
    for name, *numbers in summary.rows:
        assert [name, *numbers] in [line.split() for line in lines]
    words = " ".join(text.split())
    for word, sentence in summary.facts:
        assert f"{word} {sentence}" in words


def test_the_title_tells_target_size_and_share():
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    model = StepwiseRegressor().fit(X, y)
    r2 = model.score(X, y)
    assert model.summary().title == f"target explained by 6 of 10 features, R² = {r2:.4f}"
    one = StepwiseRegressor().fit(X[["bmi"]].to_numpy(), y.to_numpy())
    assert one.summary().title.startswith("y explained by 1 of 1 feature, R² = ")


def test_long_and_wide_names_are_folded_and_lose_nothing():
    X, y = table(columns=3)
    names = [LONG, WIDE, "c\nd\x1b[31m"]
    frame = pd.DataFrame(X, columns=names)
    model = StepwiseRegressor(include=names).fit(frame, pd.Series(y, name="target " * 20))
    text = str(model.summary())
    assert max(map(width, text.split("\n"))) <= 80
    assert "\x1b" not in text
    table_part = text.split("───\n")[1].split("\n\n")[0]
    letters = "".join(re.sub(r"-?\d+\.\d+", "", table_part).split())
    assert letters == "(intercept)" + "".join(LONG.split()) + WIDE + "cd?[31m"
    folded = [line for line in table_part.split("\n") if not re.search(r"\d\.\d+$", line)]
    assert len(folded) >= 2
    assert all(line.startswith("  ") for line in folded)  # not to be taken for rows


# --- HTML -----------------------------------------------------------------------------------------


class Tags(HTMLParser):
    """Collects text, and insists on tags that are closed in order."""

    def __init__(self):
        super().__init__()
        self.open, self.cells, self.rows = [], [], []

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] in ("td", "th"):
            self.rows[-1][-1] += data
        else:
            self.cells.append(data)


def parsed(html):
    tags = Tags()
    tags.feed(html)
    tags.close()
    assert not tags.open
    return tags


def test_html_has_the_same_content_as_the_text(model):
    summary = model.summary()
    tags = parsed(summary._repr_html_())
    assert tags.cells == [summary.title]
    expected = [summary.header, *summary.rows, *summary.facts]
    assert tags.rows == [list(row) for row in expected]


def test_html_is_escaped_and_has_no_colours_of_its_own():
    X, y = table(columns=2)
    names = ["<script>alert(1)</script>", "a & 'b'"]
    model = StepwiseRegressor(include=names).fit(
        pd.DataFrame(X, columns=names), pd.Series(y, name="<b>")
    )
    html = model.summary()._repr_html_()
    assert "<script" not in html
    assert "<b>" not in html
    assert names[0] in [row[0] for row in parsed(html).rows]
    assert not re.search(r"color|background|font|#[0-9a-f]{3}", html.split("<table")[1])


# --- what is said ---------------------------------------------------------------------------------


def test_standard_errors_are_conditional_on_the_selection():
    X, y = table()
    assert "conditional on the selection" in facts(StepwiseRegressor().fit(X, y))["std. error"]
    bayesian = SparseBayesRegressor().fit(X, y)
    assert bayesian.summary().header[-1] == "± std"
    assert "posterior" in facts(bayesian)["± std"]
    assert "conditional on the selection" in facts(bayesian)["± std"]


def test_features_that_were_asked_for_were_not_selected():
    X, y = table()
    given = StepwiseRegressor(include=[0, 1], sparsity=2).fit(X, y)
    told = facts(given)
    assert told["std. error"] == "of the least-squares fit; all features were asked for"
    assert told["included"] == "x0, x1"
    more = facts(StepwiseRegressor(include=[7], exclude=[5, 6]).fit(X, y))
    assert more["included"] == "x7"
    assert more["excluded"] == "x5, x6"
    assert "conditional" in more["std. error"]


@pytest.mark.parametrize(
    ("model", "why"),
    [
        (BasisPursuitRegressor(), "none: the coefficients are shrunk (debias=True refits them)"),
        (PursuitRegressor("mp", sparsity=2), "none: mp does not refit the coefficients (omp does)"),
    ],
)
def test_coefficients_without_standard_errors_say_why(model, why):
    model = clone(model).fit(*table())
    assert facts(model)["std. error"] == why
    assert model.summary().header == ("feature", "coefficient")


def test_the_rule_of_choice_and_among_how_many_sizes():
    X, y = table()
    told = facts(StepwiseRegressor().fit(X, y))
    assert told["choice"] == "least RIC of 9 sizes (0 to 8 features) on the forward path"
    told = facts(StepwiseRegressor("backward", criterion="adjusted_r2", include=[3]).fit(X, y))
    assert told["choice"] == (
        "largest adjusted R² of 8 sizes (1 to 8 features) on the backward path"
    )
    assert told["criteria"].startswith("adjusted R² = ")
    told = facts(StepwiseRegressor("both", criterion="aic").fit(X, y))
    assert told["choice"] == "no single feature more or less lowers AIC"
    told = facts(StepwiseRegressor(sparsity=1).fit(X, y))
    assert told["choice"] == "at most 1 feature, as asked for, on the forward path"
    assert "stopped" not in told
    told = facts(StepwiseRegressor(delta=2.5).fit(X, y))
    assert told["choice"].endswith("by more than delta², delta = 2.5")
    told = facts(StepwiseRegressor("both", delta="bic").fit(X, y))
    assert "delta² = s² log n, the price of a feature in the BIC (s² = " in told["choice"]
    told = facts(PursuitRegressor().fit(X, y))
    assert told["choice"] == "as many features as have the least RIC on the path of omp"
    told = facts(PursuitRegressor("omp", sparsity=3, residual=1.0).fit(X, y))
    assert told["choice"] == "at most 3 features, as asked for and a residual of norm 1"


def test_a_choice_by_leave_one_out_tells_the_error():
    X, y = table()
    model = StepwiseRegressor(criterion="loo").fit(X, y)
    assert f"(mean square {model.loo_:.5g})" in facts(model)["choice"]


def test_cross_validation_tells_error_folds_and_rule():
    X, y = load_diabetes(return_X_y=True)
    model = StepwiseRegressor(criterion="cv").fit(X, y)
    errors = model.cv_errors_
    at, best = errors.chosen, int(np.argmin(errors.mean))
    assert at < best
    assert facts(model)["choice"] == (
        f"mean squared error {errors.mean[at]:.5g} ± {errors.std[at]:.3g} in 5 folds; the fewest "
        f"features within one standard error of the least, {errors.mean[best]:.5g} ± "
        f"{errors.std[best]:.3g} with {best} features, of 11 sizes (0 to 10 features)"
    )
    plain = StepwiseRegressor(criterion="cv", cv=3, one_standard_error=False).fit(X, y)
    assert re.search(r" in 3 folds, the least of 11 sizes \(0 to 10 ", facts(plain)["choice"])
    X, y = table()
    clear = StepwiseRegressor(criterion="cv").fit(X, y)
    assert facts(clear)["choice"].endswith("; none smaller is within one standard error")


def test_criteria_are_those_of_the_path():
    X, y = table()
    model = StepwiseRegressor(criterion="ebic").fit(X, y)
    row = model.solution_.support.size
    values = {name: model.path_[name][row] for name in ("ebic", "aic", "bic", "adjusted_r2")}
    assert facts(model)["criteria"] == (
        f"EBIC = {values['ebic']:.2f}, AIC = {values['aic']:.2f}, BIC = {values['bic']:.2f}, "
        f"adjusted R² = {values['adjusted_r2']:.4f}"
    )


@pytest.mark.parametrize(
    ("model", "shape", "weights", "begins"),
    [
        (
            StepwiseRegressor(criterion="aic"),
            (20, 60),
            None,
            "aic was still improving at 9 features",
        ),
        (StepwiseRegressor("both", criterion="bic"), (20, 60), None, "bic was still improving at"),
        (SparseBayesRegressor(), (30, 3), np.full(30, 0.05), "sample_weight adds up to 1.5"),
    ],
    ids=["aic", "bic", "weights"],
)
def test_what_was_warned_stands_in_the_summary(model, shape, weights, begins):
    """As text, as HTML, and as data; a later fit that warns of nothing says nothing."""
    X, y = noisy(*shape)
    model = clone(model)
    with pytest.warns(InputWarning) as caught:
        model.fit(X, y, sample_weight=weights)
    (warning,) = model.warnings_
    assert str(warning) == str(caught[0].message)
    note = facts(model)["note"]
    assert note.startswith(begins)
    assert f"{note}." == str(warning)
    summary = model.summary()
    assert f"note {note}" in " ".join(str(summary).split())
    assert escape(note) in summary._repr_html_()
    assert describe(model).fields()["notes"] == [note]
    again = pickle.loads(pickle.dumps(model))
    assert str(again.summary()) == str(summary)
    model.set_params(include=None).fit(*noisy(60, 3))
    assert model.warnings_ == ()
    assert "note" not in facts(model)
    assert describe(model).fields()["notes"] == []


def noisy(n, m):
    rng = np.random.default_rng(0)
    return rng.standard_normal((n, m)), rng.standard_normal(n)


def test_evidence_price_and_noise():
    X, y = table()
    model = SparseBayesRegressor().fit(X, y)
    told = facts(model)
    assert told["evidence"] == f"log evidence = {model.log_evidence_:.6g}"
    assert told["choice"] == (
        f"each feature had to raise the log evidence by {np.log(8):.4g} = log 8, being one of 8"
    )
    assert told["noise"] == f"σ = {model.sigma_:.4g}, inferred"
    told = facts(SparseBayesRegressor(sigma=2.0, price=0.0).fit(X, y))
    assert told["noise"] == "σ = 2, as given"
    assert told["choice"] == "any that raised the log evidence was taken"
    told = facts(SparseBayesRegressor(price=1.5).fit(X, y))
    assert told["choice"] == "each feature had to raise the log evidence by 1.5"


def test_the_l1_norm_and_its_condition():
    X, y = table()
    model = BasisPursuitRegressor().fit(X, y)
    told = facts(model)
    objective = np.sum(np.abs(model.coef_) * np.linalg.norm(X - X.mean(axis=0), axis=0))
    assert float(re.search(r"= ([\d.]+),", told["ℓ1 norm"])[1]) == pytest.approx(
        objective, rel=1e-5
    )
    noise = model.residual_ / np.sqrt(50)
    assert told["choice"] == (
        f"least Σ w|x| with a residual of norm at most {model.residual_:.4g}: s √n, as large as "
        f"the noise (s = {noise:.4g})"
    )
    told = facts(BasisPursuitRegressor(sigma=1.5).fit(X, y))
    assert told["choice"].endswith("as large as the noise (s = 1.5, as given)")
    told = facts(BasisPursuitRegressor(residual=9.0).fit(X, y))
    assert told["choice"] == "least Σ w|x| with a residual of norm at most 9"
    told = facts(BasisPursuitRegressor("focuss", residual=9.0).fit(X, y))
    assert told["choice"] == "least Σ|x|^0.8 with a residual of norm at most 9"
    told = facts(BasisPursuitRegressor(penalty=3.0).fit(X, y))
    assert told["choice"] == "the lasso, least ½‖r‖² + λ Σ w|x| at λ = 3"
    assert "stopped" not in told
    told = facts(BasisPursuitRegressor(debias=True).fit(X, y))
    assert " before the refit, residual <= " in told["ℓ1 norm"]
    told = facts(BasisPursuitRegressor("candes").fit(X, y))
    assert told["rounds"].endswith(" features")


def test_the_certificate_or_how_to_get_one():
    X, y = table()
    model = StepwiseRegressor(certify=True).fit(X, y)
    names = [f"x{j}" for j in range(8)]
    assert facts(model)["subset"] == model.certificate_.sentence(names)
    assert facts(StepwiseRegressor().fit(X, y))["subset"].startswith(
        "not looked at: certify=True asks"
    )
    empty = StepwiseRegressor(sparsity=0, certify=True).fit(X, y)
    assert "subset" not in facts(empty)


def test_rows_count_by_their_weights():
    X, y = table()
    assert facts(StepwiseRegressor().fit(X, y))["rows"] == "50"
    assert facts(StepwiseRegressor().fit(X, y, np.full(50, 2)))["rows"] == "100"
    with pytest.warns(UserWarning, match="50 rows count as 62.5; scale it to a mean of 1 if"):
        model = StepwiseRegressor().fit(X, y, np.full(50, 1.25))
    assert facts(model)["rows"] == "62.5, the sum of the weights"
    assert "not whole" in facts(model)["note"]


def notes(model):
    return [words for label, words in model.summary().facts if label == "note"]


@pytest.mark.parametrize("condensed", [False, True])
def test_targets_that_call_for_another_loss(condensed):
    X, y = table()

    def fitted(target):
        fit = StepwiseRegressor(sparsity=1).fit
        return fit(iter([(X, target)])) if condensed else fit(X, target)

    [binary] = notes(fitted((y > np.median(y)).astype(float)))
    assert "the target holds two values alone: this is a linear probability model" in binary
    counts = np.random.default_rng(0).poisson(2.0, 50)
    if not condensed:  # its rows are gone
        [told] = notes(fitted(counts))
        assert "small counts alone: this is a linear model of counts" in told
        [told] = notes(fitted(np.column_stack([y, counts, y])))
        assert told.startswith('"y1" hold small counts')
    for other in (y, counts + 0.5, counts - 3, 10 * counts, np.ones(50)):
        assert not notes(fitted(other))


def test_where_a_search_from_all_features_begins_with_few_rows():
    X, y = table()
    wide = StepwiseRegressor("both", criterion="aic", start=None)
    with pytest.warns(UserWarning, match="still improving"):
        said = notes(wide.fit(X[:5], y[:5]))
    assert any('the search began with the choice of direction="backward"' in one for one in said)
    for other in (wide.fit(X, y), StepwiseRegressor("both", criterion="aic").fit(X, y)):
        assert not notes(other)


# --- hard cases -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "model",
    [StepwiseRegressor(), BasisPursuitRegressor(residual=0.0), PursuitRegressor(sparsity=2)],
)
def test_an_exact_fit_says_so_and_claims_no_standard_errors(model):
    X, _ = table()
    model = clone(model).fit(X, X[:, :2] @ [1.0, 2.0])
    told = facts(model)
    assert told["noise"] == "σ = 0: the fit is exact, but for rounding"
    assert told["std. error"] == "none: the fit is exact"
    assert model.summary().header == ("feature", "coefficient")
    assert "inf" not in str(model.summary())
    assert "nan" not in str(model.summary())


def test_as_many_coefficients_as_rows_tell_no_noise():
    X, y = table(5)
    told = facts(StepwiseRegressor(sparsity=4).fit(X, y))
    assert told["noise"] == "unknown: there are no more rows than coefficients"
    assert told["std. error"] == "none: there are no more rows than coefficients"


@pytest.mark.parametrize(
    "model",
    [StepwiseRegressor(), SparseBayesRegressor(), BasisPursuitRegressor(), PursuitRegressor()],
    ids=lambda model: type(model).__name__,
)
@pytest.mark.parametrize("intercept", [True, False])
def test_a_constant_target_leaves_nothing_to_explain(model, intercept):
    X, _ = table()
    model = clone(model).set_params(fit_intercept=intercept)
    model.fit(X, np.full(50, 3.0 if intercept else 0.0))
    summary = model.summary()
    assert summary.title == "y explained by 0 of 8 features"
    told = "constant: the model is its mean" if intercept else "zero: so is the model"
    assert facts(model)["stopped"] == f"the target is {told}"
    assert ("coefficient" in str(summary)) == intercept  # no table without rows
    assert not re.search(r"\b(inf|nan)\b", str(summary))
    parsed(summary._repr_html_())


def test_an_empty_model_has_an_intercept_alone():
    X, _ = table()
    y = np.random.default_rng(5).standard_normal(50)
    model = StepwiseRegressor(sparsity=0).fit(X, y)
    ((name, value, std),) = model.summary().rows
    assert name == "(intercept)"
    assert float(value) == pytest.approx(y.mean(), rel=1e-3)
    assert float(std) == pytest.approx(y.std(ddof=1) / np.sqrt(50), rel=1e-2)
    assert facts(model)["std. error"].endswith("as if no feature had any effect")


def test_single_precision():
    X, y = table()
    model = StepwiseRegressor().fit(X.astype(np.float32), y.astype(np.float32))
    twice = StepwiseRegressor().fit(X, y)
    assert model.coef_.dtype == np.float32
    assert [row[0] for row in model.summary().rows] == [row[0] for row in twice.summary().rows]


def test_an_estimator_must_have_been_fitted():
    with pytest.raises(NotFittedError):
        StepwiseRegressor().summary()


def test_a_summary_is_plain_data():
    summary = Summary("title", ("feature", "coefficient"), [("a", "1.0")], [("rows", "2")])
    assert str(summary) == (
        "title\n\nfeature  coefficient\n────────────────────\na                1.0\n\nrows        2"
    )
