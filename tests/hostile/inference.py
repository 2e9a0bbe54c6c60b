"""Tests along forward paths, against the selection event written out inequality by inequality."""

from __future__ import annotations

from unittest import mock

import numpy as np

import sparsewise as sw
from sparsewise.inference import selective
from sparsewise.inference.selection_event import SelectionEvent
from sparsewise.inference.truncated import normal_tail
from tests.hostile.campaign import Case, family, fault, oracle
from tests.hostile.guarantees import unit
from tests.references import inference as naive

#: Points of a circle at which inequalities are looked at, and how well these tell a p-value.
POINTS, CLOSE = 4_001, 0.02


@family("selective_tests")
def selective_tests(case: Case) -> None:
    """Chance, ties, copies and near copies, dependent columns, exact fits; units of any size."""
    rng = case.rng
    n, m = int(rng.integers(2, 20)), int(rng.integers(1, 16))
    sort = case.choose("chance", "chance", "signs", "near copies", "low rank", "exact")
    A, y = rng.standard_normal((n, m)), rng.standard_normal(n)
    if sort == "signs":
        A, y = np.sign(A), np.sign(y)
    elif sort == "near copies":
        A[:, m // 2 :] = A[:, : m - m // 2] + 10.0 ** rng.uniform(-17, -3) * A[:, m // 2 :]
    elif sort == "low rank":
        A = rng.standard_normal((n, 2)) @ rng.standard_normal((2, m))
    elif sort == "exact":
        y = A[:, : 1 + m // 3].sum(axis=1)
    reach = case.choose(0, 5, 120)
    A, y = A * 10.0 ** rng.uniform(-reach, reach, m), y * 10.0 ** rng.uniform(-reach, reach)
    size = float(np.linalg.norm(y / np.abs(y).max()) * np.abs(y).max())
    sigma = size * 10.0 ** rng.uniform(-4, 2) if case.chance(0.5) else None
    intercept = case.chance(0.4)
    case.note(shape=(n, m), sort=sort, reach=reach, sigma=sigma, fit_intercept=intercept)
    found = sw.selective_tests(A, y, sigma=sigma, fit_intercept=intercept)
    probabilities(found)
    if sort == "chance" and not intercept and len(found):
        the_selection_event(found, unit(A), y / size, sigma and sigma / size)


@oracle
def probabilities(found):
    """p-values are between 0 and 1, and intervals have two ends, in order."""
    for p in (found.p_values, found.naive_p_values, found.two_sided):
        assert np.all((p >= 0) & (p <= 1)), p
    assert np.isfinite(found.coefs).all()
    assert 0 <= found.forward_stop(0.1) <= len(found)
    if found.intervals is not None:
        low, high = found.intervals.T
        assert np.all(low <= high), found.intervals


@oracle
def the_selection_event(found, A, y, sigma):
    """The p-values of the first steps are those that all inequalities together give."""
    steps = min(len(found), len(A) - 1, 4)
    chosen, signs, events = naive.forward_path(A, y, steps)
    assert found.columns[:steps].tolist() == chosen
    for k in range(steps):
        u = naive.direction(A, chosen[: k + 1], signs[: k + 1])
        if sigma is not None:
            low, high = naive.limits(events[k], y, u)
            at = u @ y
            expected = normal_tail(at / sigma, (at - low) / sigma, (high - at) / sigma)
            assert abs(found.p_values[k] - expected) < 1e-4, (k, found.p_values[k], expected)
        elif (df := len(A) - k - 1) > 1:  # with one, nearly all may lie within a point
            circle = naive.circle(A, y, chosen[: k + 1], u)
            expected = naive.t_p_value(events[k], y, u, *circle, df, points=POINTS)
            assert not abs(found.p_values[k] - expected) > CLOSE, (k, found.p_values[k], expected)


@fault(the_selection_event, family="selective_tests")
def earlier_steps_are_forgotten():
    original = SelectionEvent._steps
    return mock.patch.object(SelectionEvent, "_steps", lambda self: list(original(self))[-1:])


@fault(probabilities, family="selective_tests")
def tails_of_twice_the_size():
    original = selective.arc_tail
    return mock.patch.object(selective, "arc_tail", lambda *how: 2 * original(*how))
