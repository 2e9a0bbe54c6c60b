"""The criteria: against formulas written out, likelihoods, and what R says of public tables."""

import math
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chi2, norm

from sparsewise import solve
from sparsewise.criteria.base import EXACT
from sparsewise.criteria.information import BY_LOSS, GCV, Criteria
from tests.data import NAMES, searches, table


def fit(X, y, columns, intercept=True):
    """Squared residual and coefficients of least squares."""
    Z = X[:, columns]
    if intercept:
        Z = np.column_stack([np.ones(len(y)), Z])
    coef = np.linalg.lstsq(Z, y, rcond=None)[0]
    return float(np.sum((y - Z @ coef) ** 2)), coef


def criteria(X, y, intercept=True, variance=None):
    n, m = X.shape
    return Criteria(n, m, intercept, fit(X, y, [], intercept)[0], variance)


# --- formulas ------------------------------------------------------------------------------------


def written_out(name, rss, k, c):
    """Each formula once more, with plain numbers."""
    n, p = c.rows, k + (1 if c.intercept else 0)
    aic = n * math.log(rss / n) + 2 * p
    if name == "aic":
        return aic
    if name == "aicc":  # Hurvich and Tsai (1989): n log σ² + n (1 + p/n) / (1 - (p + 2)/n), ...
        corrected = n * math.log(rss / n) + n * (1 + p / n) / (1 - (p + 2) / n)
        return corrected - n - 2  # ... up to a constant
    if name == "bic":
        return n * math.log(rss / n) + math.log(n) * p
    if name == "ebic":
        return n * math.log(rss / n) + math.log(n) * p + 2 * math.log(math.comb(c.features, k))
    if name == "ric":
        charge = 2 * math.log(max(c.features, 2))
        return (n - p) * math.log(rss / c.total) + charge * k
    if name == "cp":
        return rss / c.variance - n + 2 * p
    left, all_left = n - p, n - (1 if c.intercept else 0)
    return 1 - (rss / left) / (c.total / all_left)


cases = st.builds(
    lambda rows, extra, k, intercept, total, share, variance: (
        Criteria(rows, k + extra, intercept, total, variance * total),
        k,
        share * total,
    ),
    rows=st.integers(30, 10**6),
    extra=st.integers(0, 1000),
    k=st.integers(0, 20),
    intercept=st.booleans(),
    total=st.floats(1e-50, 1e50),
    share=st.floats(1e-6, 1.0),
    variance=st.floats(1e-9, 1e-2),
)


@pytest.mark.parametrize("name", BY_LOSS)
@given(case=cases)
def test_formulas(name, case):
    c, k, rss = case
    expected = written_out(name, rss, k, c)
    assert float(c[name].value(rss, k)) == pytest.approx(expected, rel=1e-9, abs=1e-6)
    sign = -1 if name == "adjusted_r2" else 1
    assert float(c[name].cost(rss, k)) == sign * float(c[name].value(rss, k))
    assert c[name].cost(rss, k) == float(c[name].cost(rss, k))


@pytest.mark.parametrize("name", BY_LOSS)
@given(case=cases, factor=st.floats(1.001, 10.0))
def test_a_worse_fit_costs_more(name, case, factor):
    c, k, rss = case
    assert c[name].cost(factor * rss, k) > c[name].cost(rss, k)


@pytest.mark.parametrize("name", BY_LOSS)
@given(case=cases)
def test_a_larger_model_of_the_same_fit_costs_more(name, case):
    """ebic may be lower where more features leave fewer subsets to choose from."""
    c, k, rss = case
    if name == "ebic" and 2 * k >= c.features:
        return
    assert c[name].cost(rss, k + 1) > c[name].cost(rss, k)


@pytest.mark.parametrize("name", BY_LOSS)
@given(case=cases, scale=st.floats(1e-20, 1e20))
def test_units_change_no_difference(name, case, scale):
    """Another unit of the target adds a constant, at most."""
    c, k, rss = case
    other = Criteria(c.rows, c.features, c.intercept, c.total * scale, c.variance * scale)
    here = c[name].cost(rss, k) - c[name].cost(c.total, 0)
    there = other[name].cost(rss * scale, k) - other[name].cost(other.total, 0)
    size = abs(here) + c.rows * (1 + abs(math.log(c.total)) + abs(math.log(scale)))
    assert there == pytest.approx(here, abs=1e-11 * size)


@pytest.mark.parametrize("name", BY_LOSS)
def test_many_models_at_once(name):
    """Arrays of residuals and sizes, and one number for many."""
    c = Criteria(50, 12, True, 10.0, 0.1)
    rss, size = np.array([10.0, 6.0, 5.0, 4.9]), np.array([0, 1, 2, 3])
    each = [c[name].cost(r, k) for r, k in zip(rss, size, strict=True)]
    np.testing.assert_array_equal(c[name].cost(rss, size), each)
    np.testing.assert_array_equal(c[name].cost(list(rss), list(size)), each)
    np.testing.assert_array_equal(c[name].cost(5.0, size)[2], each[2])


def test_unknown_name():
    with pytest.raises(KeyError):
        Criteria(10, 3, True, 1.0)["press"].value(1.0, 1)


# --- likelihoods ---------------------------------------------------------------------------------


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("name", NAMES)
def test_likelihoods(name, intercept):
    """aic and bic are -2 log L + a price a parameter, up to a constant, as in statsmodels.

    There p counts the coefficients with the constant; the constant is n (1 + log 2π).
    """
    t = table(name)
    n = len(t.y)
    c = criteria(t.X, t.y, intercept)
    for k in (0, 1, 3):
        columns = list(range(k))
        rss, coef = fit(t.X, t.y, columns, intercept)
        Z = np.column_stack([np.ones(n)] * intercept + [t.X[:, columns]])
        log_l = norm.logpdf(t.y - Z @ coef, scale=math.sqrt(rss / n)).sum()
        constant = n * (1 + math.log(2 * math.pi))
        p = k + intercept
        expected = {"aic": 2 * p, "bic": p * math.log(n)}
        for criterion, price in expected.items():
            found = c[criterion].cost(rss, k) + constant
            assert found == pytest.approx(-2 * log_l + price, rel=1e-10)


@pytest.mark.parametrize("search", [s for s in searches() if s.intercept], ids=str)
def test_values_of_r(search):
    """``AIC`` and ``BIC`` of R count σ and keep constants; ``extractAIC`` does neither."""
    t = table(search.table)
    times = np.ones(len(t.y), int) if not search.weights else t.column(search.weights).astype(int)
    X, y = np.repeat(t.X, times, axis=0), np.repeat(t.y, times)
    columns = [t.features.index(name) for name in search.coef if name != "(Intercept)"]
    rss, _ = fit(X, y, columns)
    n, k = len(y), len(columns)
    c = criteria(X, y)
    constant = n * (1 + math.log(2 * math.pi))
    assert c["aic"].cost(rss, k) == pytest.approx(search.aic - constant - 2, rel=1e-9)
    assert c["bic"].cost(rss, k) == pytest.approx(search.bic - constant - math.log(n), rel=1e-9)
    assert float(c["adjusted_r2"].value(rss, k)) == pytest.approx(search.adjusted_r2, rel=1e-9)
    q = k + 2
    aicc = -2 * search.log_likelihood + 2 * q * n / (n - q - 1)
    assert c["aicc"].cost(rss, k) == pytest.approx(aicc - constant - 2, rel=1e-9)


def test_extract_aic_of_mtcars():
    """Anchors: what `step` prints of the full, the empty and the chosen model."""
    t = table("mtcars")
    c = criteria(t.X, t.y)
    chosen = [t.features.index(name) for name in ("wt", "qsec", "am")]
    for columns, aic in [(list(range(10)), 70.898), ([], 115.943), (chosen, 61.307)]:
        assert round(c["aic"].cost(fit(t.X, t.y, columns)[0], len(columns)), 3) == aic


def test_adjusted_r2_without_an_intercept():
    """TSS is about zero then, with n degrees of freedom, as in R's summary of such a model."""
    search = next(s for s in searches() if s.table == "stackloss" and not s.intercept)
    t = table("stackloss")
    columns = [t.features.index(name) for name in search.coef]
    c = criteria(t.X, t.y, intercept=False)
    found = c["adjusted_r2"].value(fit(t.X, t.y, columns, False)[0], len(columns))
    assert float(found) == pytest.approx(search.adjusted_r2, rel=1e-10)


# --- Mallows' Cp ---------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_cp_of_the_full_model_is_its_size(name):
    t = table(name)
    n, m = t.X.shape
    full = fit(t.X, t.y, list(range(m)))[0]
    c = criteria(t.X, t.y, variance=full / (n - m - 1))
    assert c["cp"].cost(full, m) == pytest.approx(m + 1)


def test_cp_estimates_the_error_of_prediction():
    """E Cp = E‖Xβ - Xb‖²/σ² for a model without σ² estimated: the mean over draws of noise."""
    rng = np.random.default_rng(0)
    n, sigma = 40, 0.5
    X = rng.standard_normal((n, 5))
    mean = X @ [1.0, 0.3, 0.0, 0.0, 0.2]
    columns = [0, 1]
    Z = X[:, columns]
    c = Criteria(n, 5, False, 1.0, sigma**2)
    errors, values = [], []
    for _ in range(4000):
        y = mean + sigma * rng.standard_normal(n)
        rss, coef = fit(X, y, columns, False)
        errors.append(np.sum((mean - Z @ coef) ** 2) / sigma**2)
        values.append(c["cp"].cost(rss, 2))
    spread = 4 * (np.std(errors) + np.std(values)) / math.sqrt(4000)
    assert np.mean(values) == pytest.approx(np.mean(errors), abs=spread)


def test_cp_ranks_like_aic_of_known_noise():
    """RSS/s² + 2 p, whatever the subset."""
    t = table("attitude")
    n, m = t.X.shape
    s2 = fit(t.X, t.y, list(range(m)))[0] / (n - m - 1)
    c = criteria(t.X, t.y, variance=s2)
    subsets = [list(S) for k in range(m + 1) for S in combinations(range(m), k)]
    rss = [fit(t.X, t.y, S)[0] for S in subsets]
    cost = c["cp"].cost(rss, [len(S) for S in subsets])
    by_hand = [r / s2 + 2 * (len(S) + 1) - n for r, S in zip(rss, subsets, strict=True)]
    np.testing.assert_allclose(cost, by_hand, rtol=1e-9, atol=1e-9)
    assert subsets[int(np.argmin(cost))] == [0, 2]  # complaints and learning


# --- the ends ------------------------------------------------------------------------------------


@pytest.mark.parametrize("rss", [0.0, 0.5 * EXACT * 7.0, -1e-30])
def test_exact_fits(rss):
    """Nothing left but rounding: no finite likelihood, and adjusted R² of one."""
    c = Criteria(20, 8, True, 7.0, 0.1)
    for name in ("aic", "aicc", "bic", "ebic"):
        assert c[name].cost(rss, 3) == -math.inf
    assert c["ric"].cost(rss, 3) == 16 * math.log(EXACT) + 6 * math.log(8)
    assert c["adjusted_r2"].cost(rss, 3) == -1
    assert c["cp"].cost(rss, 3) == pytest.approx(2 * 4 - 20)


def test_what_is_left_of_rounding_is_no_exact_fit():
    c = Criteria(20, 8, True, 7.0, 0.1)
    assert math.isfinite(c["aic"].cost(4 * EXACT * 7.0, 3))


@pytest.mark.parametrize("intercept", [True, False])
def test_too_few_rows(intercept):
    """aicc ends at n - 2 parameters with σ, adjusted R² at n - 1: beyond, they are not defined."""
    n = 10
    c = Criteria(n, 30, intercept, 5.0)
    for k in range(n + 3):
        p = k + intercept
        assert math.isnan(c["aicc"].value(1.0, k)) == (p + 1 >= n - 1)
        for name in ("adjusted_r2", "ric"):
            assert math.isnan(c[name].value(1.0, k)) == (p >= n)
        for name in ("aicc", "adjusted_r2", "ric"):
            assert (c[name].cost(1.0, k) == math.inf) == math.isnan(c[name].value(1.0, k))
        for name in ("aic", "bic", "ebic"):
            assert math.isfinite(c[name].cost(1.0, k))


def test_too_few_rows_and_an_exact_fit():
    """As many coefficients as rows fit anything: aicc is not taken in by it, nor adjusted R²."""
    c = Criteria(10, 30, True, 5.0)
    assert c["aicc"].cost(0.0, 9) == math.inf
    assert c["adjusted_r2"].cost(0.0, 9) == math.inf
    assert c["ric"].cost(0.0, 9) == math.inf
    # With one row to spare, what noise may well leave is not taken for a fit, either.
    assert c["ric"].cost(1e-6, 8) > c["ric"].cost(5.0, 0) > c["ric"].cost(1e-6, 3)


def test_cp_without_a_variance():
    c = Criteria(10, 30, True, 5.0)
    assert np.isnan(c["cp"].value([1.0, 2.0], [1, 2])).all()
    assert (c["cp"].cost([1.0, 2.0], [1, 2]) == math.inf).all()


def test_cp_of_an_exact_full_model():
    """s² is rounding: the exact models win, the smallest of them first; worse fits cost more."""
    c = Criteria(20, 8, True, 5.0, 0.0)
    cost = c["cp"].cost
    assert cost(0.0, 2) < cost(0.0, 3) < cost(1e-9, 1) <= cost(1.0, 0)
    assert cost(1.0, 1) < cost(2.0, 0)


def test_a_target_that_is_zero():
    c = Criteria(20, 8, True, 0.0, 0.0)
    assert math.isnan(c["adjusted_r2"].value(0.0, 0))
    assert math.isnan(c["ric"].value(0.0, 0))
    assert c["aic"].cost(0.0, 0) == -math.inf
    assert not math.isnan(c["cp"].cost(0.0, 0))


@pytest.mark.parametrize("m", [1, 7, 5000, 10**6])
def test_ebic_counts_the_subsets(m):
    c = Criteria(100, m, True, 5.0)
    for k in {0, 1, m // 2, m}:
        choices = math.lgamma(m + 1) - math.lgamma(k + 1) - math.lgamma(m - k + 1)
        found = c["ebic"].cost(1.0, k) - c["bic"].cost(1.0, k)
        assert found == pytest.approx(2 * choices, rel=1e-9, abs=1e-6)


def test_more_features_than_rows():
    """bic lets in noise that ebic keeps out: pure noise, 30 rows, 200 features."""
    rng = np.random.default_rng(2)
    X, y = rng.standard_normal((30, 200)), rng.standard_normal(30)
    c = criteria(X, y)
    best = min(fit(X, y, [j])[0] for j in range(200))
    empty = fit(X, y, [])[0]
    assert c["bic"].cost(best, 1) < c["bic"].cost(empty, 0)
    assert c["ebic"].cost(best, 1) > c["ebic"].cost(empty, 0)


def test_weights_count_as_rows():
    """Criteria take a sum of weights for n: that of repeated rows."""
    t = table("stackloss")
    w = np.arange(1, len(t.y) + 1)
    X, y = np.repeat(t.X, w, axis=0), np.repeat(t.y, w)
    root = np.sqrt(w)
    Z = np.column_stack([np.ones(len(t.y)), t.X[:, :2]]) * root[:, None]
    weighted = np.linalg.lstsq(Z, t.y * root, rcond=None)[1][0]
    c = criteria(X, y)
    other = Criteria(float(w.sum()), 3, True, c.total)
    rss, _ = fit(X, y, [0, 1])
    assert weighted == pytest.approx(rss)
    for name in ("aic", "aicc", "bic", "ebic", "ric", "adjusted_r2"):
        assert other[name].cost(weighted, 2) == pytest.approx(c[name].cost(rss, 2))


@pytest.mark.parametrize("exact", [EXACT, 1e-10])
def test_of_exact_fits_the_ric_takes_the_smallest(exact):
    """Rounding errors differ, and count as one; what is above them is none."""
    c = Criteria(40, 60, True, 7.0, exact=exact)
    level = exact * 7.0
    cost = c["ric"].cost
    assert cost(0.9 * level, 5) < cost(0.0, 6) < cost(1e-3 * level, 7) < cost(100 * level, 7)


def test_the_ric_is_that_of_solve():
    """One formula: what `solve` says of its model, for real and complex data."""
    rng = np.random.default_rng(0)
    A = rng.standard_normal((30, 50))
    for B in (A, A + 1j * rng.standard_normal((30, 50))):
        y = B[:, 3] - B[:, 7] + 0.1 * rng.standard_normal(30)
        solution = solve(B, y)
        total = float(np.vdot(y, y).real)
        c = Criteria(30, 50, False, total, parts=2 if np.iscomplexobj(B) else 1)
        found = c["ric"].cost(solution.residual_norm**2, solution.support.size)
        assert found == pytest.approx(solution.score)


# --- several targets -----------------------------------------------------------------------------


@pytest.mark.parametrize("parts", [1, 2])
def test_targets_share_the_choice_of_features(parts):
    """What the number of features adds is shared by as many targets as are independent."""
    one = Criteria(50, 20, True, 10.0, 0.1, parts=parts)
    four = Criteria(50, 20, True, 10.0, 0.1, parts=parts, targets=4.0)
    rss, size = np.array([5.0, 2.0]), np.array([2, 3])
    for name in BY_LOSS:
        if name not in ("ric", "ebic"):
            np.testing.assert_array_equal(one[name].value(rss, size), four[name].value(rss, size))
    bic = one["bic"].value(rss, size)
    np.testing.assert_allclose(
        4 * (four["ebic"].value(rss, size) - bic), one["ebic"].value(rss, size) - bic
    )
    charge = (one["ric"].value(rss, size) - four["ric"].value(rss, size)) / size
    rarely = chi2(parts).sf(2 * math.log(20))
    np.testing.assert_allclose(charge, 2 * math.log(20) - chi2(4 * parts).isf(rarely) / 4)


# --- generalised cross-validation ----------------------------------------------------------------


@pytest.mark.parametrize("intercept", [True, False])
def test_generalised_cross_validation_is_that_of_equal_leverages(intercept):
    """The leave-one-out error of rows that all have the leverage p/n, up to a factor n."""
    n, rss = 40, 3.0
    one = GCV(Criteria(n, 10, intercept, 10.0))
    for k in (0, 2, 2.5, 7):
        p = k + intercept
        errors = np.full(n, math.sqrt(rss / n)) / (1 - p / n)
        assert one.cost(rss, k) == pytest.approx(np.mean(errors**2) / n)
    assert one.cost(rss, n) == math.inf
