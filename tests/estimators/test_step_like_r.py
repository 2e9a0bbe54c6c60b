"""`StepwiseRegressor` against R's `step` on public tables: trace, features, coefficients."""

import numpy as np
import pandas as pd
import pytest

from sparsewise import StepwiseRegressor
from tests.data import searches, searches_of, table

BOTH = [s for s in (*searches(), *searches_of("odd")) if s.direction == "both"]


def data(search, repeat=False):
    """The table as frame and series, and the weights; or with rows repeated in their place."""
    t = table(search.table)
    X, y = pd.DataFrame(t.X, columns=t.features), pd.Series(t.y, name=t.target)
    if not search.weights:
        return X, y, None
    w = t.column(search.weights).astype(int)
    if repeat:
        return X.loc[X.index.repeat(w)], y.loc[y.index.repeat(w)], None
    return X, y, w


def regressor(search, **more):
    start = search.start if search.direction == "both" else "auto"
    return StepwiseRegressor(
        search.direction,
        criterion=search.criterion,
        start=start,
        fit_intercept=search.intercept,
        **more,
    )


def fitted(search, repeat=False, **more):
    X, y, w = data(search, repeat)
    return regressor(search, **more).fit(X, y, sample_weight=w)


@pytest.mark.parametrize("repeat", [False, True])
@pytest.mark.parametrize("search", BOTH, ids=str)
def test_trace(search, repeat, capsys):
    """R calls every criterion AIC; nothing else differs."""
    fitted(search, repeat, verbose=True)
    printed = capsys.readouterr().out
    assert printed.startswith(f"Start:  {search.criterion.upper()}=")
    assert printed.replace("BIC", "AIC") == search.trace


@pytest.mark.parametrize("search", BOTH[:2], ids=str)
def test_silence(search, capsys):
    fitted(search)
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("search", searches(), ids=str)
def test_model(search):
    """Features, coefficients and standard errors; also with weights, also in one direction."""
    r = fitted(search)
    expected = {name: b for name, b in search.coef.items() if name != "(Intercept)"}
    assert set(r.get_feature_names_out()) == expected.keys()
    at = [r.feature_names_in_.tolist().index(name) for name in expected]
    np.testing.assert_allclose(r.coef_[at], list(expected.values()), rtol=1e-8)
    errors = [search.std[name] for name in expected]
    np.testing.assert_allclose(r.coef_std_[at], errors, rtol=1e-8)
    if search.intercept:
        assert r.intercept_ == pytest.approx(search.coef["(Intercept)"], rel=1e-8)
        assert r.intercept_std_ == pytest.approx(search.std["(Intercept)"], rel=1e-8)
    else:
        assert r.intercept_ == 0


@pytest.mark.parametrize("search", [s for s in searches() if s.intercept], ids=str)
def test_criteria_of_the_last_row(search):
    """AIC and BIC of R's model, up to its constants; the path says the same of the chosen model."""
    r = fitted(search)
    n, k = r.n_rows_, len(r.get_feature_names_out())
    rss = r.solution_.residual_norm**2
    constant = n * (1 + np.log(2 * np.pi))
    aic, bic = (float(r.criteria_[name].value(rss, k)) for name in ("aic", "bic"))
    assert aic == pytest.approx(search.aic - constant - 2, rel=1e-8)
    assert bic == pytest.approx(search.bic - constant - np.log(n), rel=1e-8)
    rows = r.path_
    chosen = rows[search.criterion][rows["size"] == k]
    assert chosen.min() == pytest.approx({"aic": aic, "bic": bic}[search.criterion])


@pytest.mark.parametrize("search", [s for s in BOTH if s.intercept and not s.weights], ids=str)
def test_weights_of_lm(search):
    """Weights in `lm` are those of least squares: the coefficients are ours for any weights."""
    X, y, _ = data(search)
    w = np.random.default_rng(0).uniform(0.2, 3.0, len(y))
    w /= w.mean()  # how precise rows are, as in `lm`
    r = regressor(search).fit(X, y, sample_weight=w)
    Z = np.column_stack([np.ones(len(y)), r.transform(X)]) * np.sqrt(w)[:, None]
    expected = np.linalg.lstsq(Z, y * np.sqrt(w), rcond=None)[0]
    found = [r.intercept_, *r.coef_[r.get_support()]]
    np.testing.assert_allclose(found, expected, rtol=1e-7)


@pytest.mark.parametrize(("start", "features"), [("full", "qsec am wt"), ("empty", "cyl hp wt")])
def test_mtcars(start, features):
    """As R's manual and many textbooks have it."""
    t = table("mtcars")
    X = pd.DataFrame(t.X, columns=t.features)
    r = StepwiseRegressor("both", criterion="aic", start=start).fit(X, t.y)
    assert set(r.get_feature_names_out()) == set(features.split())
