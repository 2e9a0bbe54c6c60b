"""Tests along forward paths, against the selection event written out, sampled and simulated."""

import math

import dask.array
import numpy as np
import pytest
import scipy.sparse as sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse.linalg import aslinearoperator
from scipy.special import ndtr
from scipy.stats import kstest
from scipy.stats import t as student

import sparsewise as sw
from sparsewise import StepwiseRegressor, forward, selective_tests
from sparsewise.errors import InputError
from sparsewise.inference.selection_event import SelectionEvent
from sparsewise.inference.truncated import normal_tail
from tests.references import inference as naive
from tests.test_bad_input import refused


def data(seed, n=30, m=8, correlation=0.5, signal=(1.0, -0.6)):
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((n, m)) + correlation * rng.standard_normal((n, 1))
    x = np.zeros(m)
    x[: len(signal)] = signal
    return A, A @ x + rng.standard_normal(n)


def pivots(A, y, found, sigma):
    """The tail of u·y for a mean at each end of each interval, by the event written out."""
    chosen, signs, events = naive.forward_path(A, y, len(found))
    for k, (low, high) in enumerate(found.intervals):
        u = naive.direction(A, chosen[: k + 1], signs[: k + 1])
        first, last = naive.limits(events[k], y, u)
        at = u @ y
        # u·μ in units of the coefficient
        unit = signs[k] * (u @ y) / abs(found.coefs[k])
        means = sorted((low * unit, high * unit))
        yield [
            normal_tail((at - x) / sigma, (at - first) / sigma, (last - at) / sigma) for x in means
        ]


# --- against what is written out ------------------------------------------------------------------


@given(seed=st.integers(0, 10_000), wide=st.booleans())
@settings(max_examples=25, deadline=None)
def test_sigma_known_is_the_polyhedral_lemma_on_all_inequalities(seed, wide):
    A, y = data(seed, *((12, 20) if wide else (30, 8)))
    found = selective_tests(A, y, sparsity=4, sigma=1.3, level=0.9)
    chosen, signs, events = naive.forward_path(A, y, 4)
    assert found.columns.tolist() == chosen
    for k, p in enumerate(found.p_values):
        u = naive.direction(A, chosen[: k + 1], signs[: k + 1])
        low, high = (limit / 1.3 for limit in naive.limits(events[k], y, u))
        assert p == pytest.approx(naive.normal_p_value(low, u @ y / 1.3, high), rel=1e-6, abs=1e-9)
    for tails in pivots(A, y, found, 1.3):
        assert tails == pytest.approx([0.05, 0.95], abs=1e-6)


@pytest.mark.parametrize("seed", range(6))
def test_sigma_unknown_is_the_part_of_the_circle_where_all_inequalities_hold(seed):
    A, y = data(seed, *((12, 16) if seed % 2 else (25, 6)))
    found = selective_tests(A, y, sparsity=4)
    chosen, signs, events = naive.forward_path(A, y, 4)
    assert found.columns.tolist() == chosen
    for k, p in enumerate(found.p_values):
        u = naive.direction(A, chosen[: k + 1], signs[: k + 1])
        circle = naive.circle(A, y, chosen[: k + 1], u)
        df = len(y) - k - 1
        assert found.df[k] == df
        assert p == pytest.approx(naive.t_p_value(events[k], y, u, *circle, df), abs=1e-3)
    assert found.intervals is None


def test_arcs_end_where_an_inequality_does(monkeypatch):
    """To rounding; inequalities of earlier steps may cut a piece out of the middle."""
    arcs = []
    original = SelectionEvent.arcs

    def spy(self, step):
        arcs.append(original(self, step))
        return arcs[-1]

    monkeypatch.setattr(SelectionEvent, "arcs", spy)
    several = 0
    # Of random matrices, one in a hundred has more than one arc: the first few of these are such.
    rare = [(4, 5, 2, 191), (4, 20, 2, 239), (10, 50, 4, 31), (10, 50, 4, 128), (10, 50, 4, 207)]
    for n, m, steps, seed in rare + [(5, 6, 3, seed) for seed in range(30)]:
        rng = np.random.default_rng(seed)
        A, y = rng.standard_normal((n, m)), rng.standard_normal(n)
        selective_tests(A, y, sparsity=steps)
        chosen, signs, events = naive.forward_path(A, y, steps)
        u = naive.direction(A, chosen, signs)
        fit, rho, v = naive.circle(A, y, chosen, u)
        w, low, high = arcs[-1]

        def least(at, G=events[-1], parts=(fit, rho, u, v)):
            """The least of all inequalities at tan(ψ/2)."""
            fit, rho, u, v = parts
            psi = 2 * np.arctan(at)
            return (G @ (fit + rho * (u * np.cos(psi) + v * np.sin(psi)))).min()

        arc = high > low
        several += np.count_nonzero(arc) > 1
        assert ((low <= w) & (w <= high)).any()
        for first, last in zip(low[arc], high[arc], strict=True):
            assert least((first + last) / 2) > 0
            for end in {first, last} - {0.0, 1.0}:
                assert abs(least(end)) < 1e-12
        for first, last in zip(high[arc][:-1], low[arc][1:], strict=True):
            assert least((first + last) / 2) < 0
    assert several == len(rare)


@pytest.mark.parametrize("seed", range(3))
def test_p_values_are_shares_of_samples_that_take_the_same_path(seed):
    """y is drawn anew where the test leaves it free, and kept if the path is the same."""
    A, y = data(seed, 6, 3, signal=())
    known, unknown = selective_tests(A, y, sparsity=2, sigma=1.0), selective_tests(A, y, sparsity=2)
    chosen, signs, _ = naive.forward_path(A, y, 2)
    rng, draws = np.random.default_rng(seed), 200_000
    for k in (0, 1):
        path = chosen[: k + 1], signs[: k + 1]
        u = naive.direction(A, *path)
        t, rest = rng.standard_normal(draws), y - u * (u @ y)
        same = naive.takes_path(A, rest[:, None] + np.outer(u, t), *path)
        share = np.mean(t[same] >= u @ y)
        assert known.p_values[k] == pytest.approx(share, abs=4 / math.sqrt(same.sum()))
        fit, rho, v = naive.circle(A, y, path[0], u)
        h = np.sqrt(rng.chisquare(len(y) - k - 1, draws))
        t, h = t / np.hypot(t, h), h / np.hypot(t, h)
        same = naive.takes_path(A, fit[:, None] + rho * (np.outer(u, t) + np.outer(v, h)), *path)
        share = np.mean(t[same] >= u @ y / rho)
        assert unknown.p_values[k] == pytest.approx(share, abs=4 / math.sqrt(same.sum()))


def test_a_single_column_was_not_selected():
    """Its p-value is the two-sided one: nothing but its sign was chosen."""
    A, y = data(0, 20, 1, signal=(0.3,))
    known = selective_tests(A, y, sigma=1.0)
    assert known.p_values == pytest.approx(known.naive_p_values)
    t = A[:, 0] @ y / np.linalg.norm(A)
    assert known.naive_p_values[0] == pytest.approx(2 * ndtr(-abs(t)))
    unknown = selective_tests(A, y, fit_intercept=True)
    a, z = A[:, 0] - A.mean(), y - y.mean()
    r = a @ z / math.sqrt(a @ a * (z @ z))
    two_sided = 2 * student.sf(abs(r) * math.sqrt(18 / (1 - r * r)), 18)
    assert unknown.p_values == pytest.approx([two_sided])
    assert unknown.naive_p_values == pytest.approx([two_sided])


def test_orthonormal_columns():
    """The best of them is a normal variable that is larger than the second."""
    y = np.array([0.5, -3.0, 1.0, 2.0])
    found = selective_tests(np.eye(4), y, sigma=1.0, sparsity=3)
    assert found.columns.tolist() == [1, 3, 2]
    # Steps after the first are truncated from above, too.
    first = ndtr(-3.0) / ndtr(-2.0)
    second = (ndtr(-2.0) - ndtr(-3.0)) / (ndtr(-1.0) - ndtr(-3.0))
    third = (ndtr(-1.0) - ndtr(-2.0)) / (ndtr(-0.5) - ndtr(-2.0))
    assert found.p_values == pytest.approx([first, second, third])
    np.testing.assert_allclose(found.two_sided, 2 * np.minimum(found.p_values, 1 - found.p_values))


# --- calibration ----------------------------------------------------------------------------------


def autoregressive(rng, n, m, correlation):
    A = rng.standard_normal((n, m))
    for j in range(1, m):
        A[:, j] = correlation * A[:, j - 1] + math.sqrt(1 - correlation**2) * A[:, j]
    return A


@pytest.mark.parametrize("sigma", [1.0, None])
@pytest.mark.parametrize(("shape", "correlation"), [((100, 20), 0.0), ((64, 128), 0.9)])
def test_uniform_where_there_is_nothing_to_find(shape, correlation, sigma):
    """Of 10,000 paths, the distance is at most 0.016 for each of both shapes and correlations."""
    rng, n = np.random.default_rng(3), shape[0]
    paths = []
    for _ in range(500):
        A, y = autoregressive(rng, *shape, correlation), 3 + rng.standard_normal(n)
        found = selective_tests(A, y, sparsity=3, sigma=sigma, fit_intercept=True)
        paths.append([found.p_values, found.naive_p_values])
    p, given = np.array(paths).transpose(1, 2, 0)
    assert max(kstest(step, "uniform").statistic for step in p) < 0.07
    assert min(kstest(step, "uniform").statistic for step in given) > 0.4


def test_intervals_cover_the_coefficient_of_their_step():
    rng = np.random.default_rng(4)
    covered = []
    for _ in range(500):
        A = autoregressive(rng, 60, 20, 0.5)
        mu = A[:, [1, 5]] @ [0.5, -0.4]
        found = selective_tests(
            A, mu + 2 * rng.standard_normal(60), sparsity=3, sigma=2.0, level=0.9
        )
        for k, (low, high) in enumerate(found.intervals):
            best = np.linalg.lstsq(A[:, found.columns[: k + 1]], mu, rcond=None)[0]
            covered.append(low <= best[-1] <= high)
    assert np.mean(covered) == pytest.approx(0.9, abs=0.03)


# --- the path, and what must not matter -----------------------------------------------------------


def assert_same(found, expected, rtol=1e-7):
    np.testing.assert_array_equal(found.columns, expected.columns)
    np.testing.assert_allclose(found.p_values, expected.p_values, rtol=rtol, atol=rtol)
    np.testing.assert_allclose(found.naive_p_values, expected.naive_p_values, rtol=rtol, atol=rtol)
    np.testing.assert_allclose(found.coefs, expected.coefs, rtol=rtol)
    if expected.intervals is not None:
        np.testing.assert_allclose(found.intervals, expected.intervals, rtol=1e3 * rtol)


def test_the_columns_are_those_of_forward_and_of_the_estimator():
    A, y = data(1, 50, 20)
    found = selective_tests(A, y, sparsity=6)
    solution = forward(A, y, sparsity=6)
    assert found.columns.tolist() == [step.column for step in solution.path]
    assert found.coefs[-1] == pytest.approx(solution.coef[found.columns[-1]])
    model = StepwiseRegressor("forward", sparsity=6).fit(A, y)
    found = selective_tests(A, y, sparsity=6, fit_intercept=True)
    assert found.columns.tolist() == [step.column for step in model.solution_.path]
    assert found.coefs[-1] == pytest.approx(model.coef_[found.columns[-1]])


@pytest.mark.parametrize("sigma", [1.0, None])
def test_units_signs_and_storage_do_not_matter(sigma):
    A, y = data(2, 40, 12)
    expected = selective_tests(A, y, sparsity=4, sigma=sigma)
    for B in (sparse.csc_array(A), aslinearoperator(A), sw.as_design(A), np.asfortranarray(A)):
        assert_same(selective_tests(B, y, sparsity=4, sigma=sigma), expected)
    units = np.resize([1e3, -1e-3, 1.0], 12)
    found = selective_tests(A * units, 1e5 * y, sparsity=4, sigma=sigma and 1e5)
    np.testing.assert_allclose(found.p_values, expected.p_values, rtol=1e-7)
    np.testing.assert_allclose(found.coefs * units[found.columns] / 1e5, expected.coefs)
    single = selective_tests(A.astype(np.float32), y.astype(np.float32), sparsity=4, sigma=sigma)
    assert_same(single, expected, rtol=1e-3)


@pytest.mark.parametrize("sigma", [1.0, None])
def test_an_intercept_takes_a_degree_of_freedom(sigma):
    A, y = data(3, 25, 6)
    found = selective_tests(A + 7, y - 4, sparsity=3, sigma=sigma, fit_intercept=True)
    # An orthonormal basis of what is orthogonal to a constant column.
    Q = np.linalg.qr(np.column_stack([np.ones(25), np.eye(25, 24)]))[0][:, 1:]
    assert_same(found, selective_tests(Q.T @ A, Q.T @ y, sparsity=3, sigma=sigma))
    assert found.df.tolist() == [23, 22, 21]
    for B in (sparse.csr_array(A + 7), aslinearoperator(A + 7)):
        assert_same(selective_tests(B, y - 4, sparsity=3, sigma=sigma, fit_intercept=True), found)


@pytest.mark.parametrize("sigma", [1.0, None])
def test_included_columns_are_given_and_excluded_ones_are_not_there(sigma):
    A, y = data(4, 25, 8)
    found = selective_tests(A, y, sparsity=5, sigma=sigma, include=[6, 2], exclude=[0])
    Q = np.linalg.qr(A[:, [6, 2]], mode="complete")[0][:, 2:]
    others = [1, 3, 4, 5, 7]
    expected = selective_tests(Q.T @ A[:, others], Q.T @ y, sparsity=3, sigma=sigma)
    np.testing.assert_allclose(found.p_values, expected.p_values, rtol=1e-7)
    np.testing.assert_array_equal(found.columns, np.array(others)[expected.columns])


@pytest.mark.parametrize("sigma", [1.0, None])
def test_copies_of_columns_and_columns_of_zeros_say_nothing(sigma):
    A, y = data(5, 20, 6)
    expected = selective_tests(A, y, sparsity=4, sigma=sigma)
    more = np.column_stack([A, A[:, ::-1], -2 * A[:, :3], np.zeros(20)])
    assert_same(selective_tests(more, y, sparsity=4, sigma=sigma), expected)


# --- extremes -------------------------------------------------------------------------------------


def test_far_out_in_the_tails():
    A, _ = data(6, 60, 10)
    noise = np.random.default_rng(0).standard_normal(60)
    for size in (1e2, 1e4, 1e6):
        y = size * A[:, 3] + noise
        known, unknown = selective_tests(A, y, sparsity=2, sigma=1.0), selective_tests(A, y)
        for found in (known, unknown):
            assert found.columns[0] == 3
            assert 0 <= found.p_values[0] < 1e-25
            assert np.isfinite(found.p_values).all()
            assert 0.001 < found.p_values[1] <= 1
        low, high = known.intervals[0]
        assert low < size < high
        assert high - low < 1


def test_an_exact_fit_and_nothing_at_all():
    A, _ = data(7, 20, 6)
    found = selective_tests(A, 3 * A[:, 2])
    assert found.columns.tolist() == [2]
    assert found.p_values[0] == pytest.approx(0, abs=1e-100)
    for y in (np.zeros(20), np.ones(20)):
        nothing = selective_tests(A, y, fit_intercept=True, sigma=1.0)
        assert len(nothing) == nothing.forward_stop(0.1) == 0
        assert nothing.intervals.shape == (0, 2)
        assert "0 forward steps" in repr(nothing)


def test_an_interval_without_limits():
    """Of two columns that do as well, nothing is known but that the first was taken."""
    found = selective_tests(np.eye(2), [1.0, 1.0], sigma=1.0, sparsity=1)
    assert found.p_values.tolist() == [1.0]
    assert found.intervals.tolist() == [[-math.inf, math.inf]]
    assert "[-inf, inf]" in repr(found)


# --- what is said ---------------------------------------------------------------------------------


def test_forward_stop_is_its_formula():
    A, y = data(8, 60, 15, signal=(2.0, -2.0, 2.0))
    found = selective_tests(A, y, sigma=1.0)
    means = np.cumsum(-np.log1p(-found.p_values)) / np.arange(1, len(found) + 1)
    for rate in (0.01, 0.1, 0.3):
        steps = found.forward_stop(rate)
        assert steps == max([k for k, mean in enumerate(means, 1) if mean <= rate], default=0)
    assert found.forward_stop(0.1) >= 3
    assert len(found) == 15  # as many as there are, at most 20


def test_the_table():
    A, y = data(9)
    lines = repr(selective_tests(A, y, sparsity=3, sigma=1.0, level=0.9)).splitlines()
    assert lines[0] == "Selective tests of 3 forward steps, sigma 1"
    assert lines[1].split()[:3] == ["step", "column", "coef"]
    assert "90 % interval" in lines[1]
    assert len({len(line) for line in lines[1:]}) == 1
    assert "interval" not in repr(selective_tests(A, y, sparsity=3))


def test_bad_input():
    A, y = data(10)
    with refused("complex", "real"):
        selective_tests(A + 1j, y)
    with refused("y is complex"):
        selective_tests(A, y + 1j)
    with refused("sigma", "greater than 0"):
        selective_tests(A, y, sigma=0)
    with refused("level", "between 0 and 1"):
        selective_tests(A, y, level=95)
    with refused("sparsity", "between 0 and 8"):
        selective_tests(A, y, sparsity=9)
    with refused("sparsity", "between 0 and 7"):  # nothing would be left to tell sigma
        selective_tests(A[:8], y[:8], sparsity=8)
    with refused("rate", "between 0 and 1"):
        selective_tests(A, y).forward_stop(10)
    with refused("y", "30"):
        selective_tests(A, y[:-1], fit_intercept=True)
    with refused("y"):
        selective_tests(A, np.column_stack([y, y]))
    with refused("include"):
        selective_tests(A, y, include=[8])
    with refused("Dask", "compute"):
        selective_tests(dask.array.from_array(A), y, fit_intercept=True)
    with pytest.raises(InputError):
        selective_tests(A, np.where(y > 1, np.nan, y))
