"""Solution, Path, Stop and Check: what a user reads."""

import dataclasses

import numpy as np
import pytest

import sparsewise
from sparsewise import ALGORITHMS, Stop
from sparsewise.engine.log import Log
from sparsewise.problem.problem import problem
from tests.problems import (
    BAYES,
    BY_COLUMNS,
    FAMILIES,
    KNOWN,
    LEAST_SQUARES,
    SEARCHES,
    hilbert,
    unit_columns,
    words,
)

TALL = next(p for p in KNOWN if p.name == "tall")


@pytest.fixture(params=BY_COLUMNS)
def solution(request):
    return ALGORITHMS[request.param](TALL.A, TALL.y, **words(request.param, TALL))


def test_fields(solution):
    assert ALGORITHMS[solution.algorithm]
    assert solution.support.dtype == np.int64
    assert list(solution.support) == TALL.truth
    assert solution.coef.shape == (TALL.A.shape[1],)
    assert isinstance(solution.residual_norm, float)
    assert isinstance(solution.n_passes, int)
    assert solution.n_passes > 0
    assert solution.least_squares == (solution.algorithm in LEAST_SQUARES)
    assert isinstance(solution.stop, Stop)
    r = TALL.y - TALL.A @ solution.coef
    assert solution.residual_norm == pytest.approx(np.linalg.norm(r), rel=1e-9)


def test_frozen(solution):
    with pytest.raises(dataclasses.FrozenInstanceError):
        solution.coef = None


def fits_one_screen(text):
    lines = text.splitlines()
    return len(lines) <= 24 and max(map(len, lines)) <= 120


def test_repr_is_readable(solution):
    text = repr(solution)
    assert fits_one_screen(text)
    assert solution.algorithm in text
    assert str(solution.stop) in text
    assert solution.stop.advice in text
    assert all(str(j) in text for j in TALL.truth)


def test_repr_of_large_and_empty_models_fits_one_screen():
    p = FAMILIES["complex wide"](0)
    assert fits_one_screen(repr(sparsewise.forward(p.A, p.y, sparsity=16)))
    assert fits_one_screen(repr(sparsewise.forward(p.A, 0 * p.y, sparsity=3)))


def test_path_is_a_sequence(solution):
    path = solution.path
    steps = list(path)
    assert len(path) == len(steps) > 0
    assert path[0] == steps[0]
    assert path[-1] == steps[-1]
    assert list(path[:2]) == steps[:2]
    with pytest.raises(IndexError):
        path[len(path)]
    for step in steps:
        updates = ("update",) if solution.algorithm in BAYES else ()
        assert step.action in ("add", "drop", *updates)
        assert isinstance(step.log_evidence, float)
        assert np.isnan(step.log_evidence) == (solution.algorithm not in BAYES)
        assert all(0 <= j < TALL.A.shape[1] for j in step.columns)
        assert len(step.columns) == 1 or solution.algorithm in SEARCHES
        assert all(isinstance(j, int) for j in step.columns)
        assert isinstance(step.size, int)
        assert isinstance(step.squared_residual, float)
    assert fits_one_screen(repr(path))


@pytest.mark.parametrize("stop", Stop)
def test_every_stop_has_words_and_one_sentence_of_advice(stop):
    assert 2 <= len(str(stop).split()) <= 12
    assert stop.advice[0].isupper() or stop.advice.startswith("max_")
    assert stop.advice.endswith(".")
    assert stop.advice.count(". ") == 0


def test_stops_of_the_contract():
    expected = "SPARSITY RESIDUAL DELTA EXACT_FIT EXHAUSTED DEPENDENT STABLE NO_IMPROVEMENT"
    expected += " MAX_ITER MAX_OUTER CALLBACK ZERO_TARGET EVIDENCE PROVED TIME_LIMIT"
    expected += " CONVERGED SETTLED CRITERION BEST INTERRUPTED PENALTY UNSETTLED ROUNDING"
    expected += " FOUND_AGAIN EFFORT NOTHING_FOUND BY_CHANCE"
    assert {stop.name for stop in Stop} == set(expected.split())
    assert len({str(stop) for stop in Stop}) == len(Stop)


@pytest.mark.parametrize("name", ["forward", "oblivious", "gomp", "omp"])
def test_dependent_to_working_precision_is_not_told_as_more(name):
    """A further column may lower the residual, by coefficients that have lost half of their digits.

    Half of them, or nearly: a column is dependent, too, with an energy of 64 units of rounding.
    """
    A, y = hilbert(13, 14), np.ones(13)
    more = {"batch": 3} if name == "gomp" else {}
    solution = ALGORITHMS[name](A, y, sparsity=9, **more)
    assert solution.stop is Stop.DEPENDENT
    assert "to working precision" in str(solution.stop)
    assert "half of their digits" in solution.stop.advice
    assert "residual" not in solution.stop.advice
    chosen = solution.support.tolist()
    for j in set(range(14)) - set(chosen):
        B = unit_columns(A[:, [*chosen, j]])
        size = np.square(np.linalg.pinv(B, rcond=0)).sum()  # ‖U‖²
        assert size > 1 / (100 * np.finfo(float).eps)


# --- check ---------------------------------------------------------------------------------------


def test_check_of_a_sound_solution(solution):
    check = solution.check(TALL.A, TALL.y)
    assert check.ok
    assert check.support_ok
    assert check.residual_norm == pytest.approx(solution.residual_norm, rel=1e-8)
    assert check.residual_error < 1e-12
    if solution.least_squares:
        assert check.normal_equations < 1e-12
    assert "holds" in repr(check)
    assert fits_one_screen(repr(check))


def tampered(solution, **changes):
    return dataclasses.replace(solution, **changes).check(TALL.A, TALL.y)


def test_check_finds_a_wrong_coefficient(solution):
    coef = solution.coef.copy()
    coef[TALL.truth[0]] *= 1.01
    check = tampered(solution, coef=coef)
    assert not check.ok
    assert check.residual_error > 1e-4
    assert "DOES NOT" in repr(check)


def test_check_finds_a_coefficient_outside_the_support(solution):
    assert not tampered(solution, support=solution.support[1:]).support_ok
    assert not tampered(solution, support=solution.support[1:]).ok


def test_check_finds_an_unsorted_support(solution):
    assert not tampered(solution, support=solution.support[::-1]).support_ok


def test_check_finds_a_wrong_residual(solution):
    assert not tampered(solution, residual_norm=solution.residual_norm + 0.01).ok


def test_check_finds_other_data(solution):
    assert not solution.check(TALL.A, TALL.y[::-1]).ok


def test_check_finds_what_is_not_least_squares():
    """The residual may be stated rightly, and the fit still not be the best on its support."""
    solution = sparsewise.forward(TALL.A, TALL.y, sparsity=4)
    coef = solution.coef * 1.001
    norm = float(np.linalg.norm(TALL.y - TALL.A @ coef))
    check = tampered(solution, coef=coef, residual_norm=norm)
    assert check.residual_error < 1e-12
    assert check.normal_equations > 1e-5
    assert not check.ok


def test_the_model_before_the_first_step():
    p = FAMILIES["tall"](0)
    path = sparsewise.forward(p.A, p.y, sparsity=3).path
    assert path.initial.support.size == 0
    assert path.initial.squared_residual == pytest.approx(np.vdot(p.y, p.y).real)
    assert path.at(0).squared_residual == path.initial.squared_residual
    assert path.sizes == [0, 1, 2, 3]
    full = sparsewise.backward(p.A, p.y, sparsity=3).path.initial
    exact = np.linalg.lstsq(p.A, p.y, rcond=None)[0]
    np.testing.assert_allclose(full.coef, exact, rtol=1e-8)
    assert list(full.support) == list(range(p.A.shape[1]))


def test_dependent_columns_are_listed_in_the_error():
    A = np.array([[1.0, 2.0, 0.0, 1.0], [0.0, 0.0, 1.0, 1.0], [0.0, 0.0, 0.0, 0.0]])
    with pytest.raises(sparsewise.DependentColumnsError) as caught:
        sparsewise.backward(A, np.ones(3), sparsity=1)
    assert caught.value.columns == [1, 3]


def test_models_after_some_steps_are_those_of_the_list():
    rng = np.random.default_rng(5)
    A, y = rng.standard_normal((40, 60)), rng.standard_normal(40)
    path = sparsewise.rmp0(A, y, delta=0.4, start=[7, 3]).path
    models = [path.initial, *path.models()]
    for steps, model in enumerate(models):
        np.testing.assert_array_equal(path.after(steps).coef, model.coef)
        np.testing.assert_array_equal(path.after(steps).support, model.support)
    wanted = [len(path), 0, 2, 2]
    columns, coefs = path.coefs_after(wanted)
    assert columns.tolist() == sorted({j for i in wanted for j in models[i].support.tolist()})
    np.testing.assert_array_equal(coefs, np.array([models[i].coef[columns] for i in wanted]).T)
    with pytest.raises(IndexError, match=f"has {len(path)} steps, not {len(path) + 1}"):
        path.after(len(path) + 1)


# --- degrees of freedom --------------------------------------------------------------------------


def test_degrees_of_freedom_are_columns_unless_recorded():
    rng = np.random.default_rng(0)
    A = rng.standard_normal((20, 6))
    y = A[:, 1] - A[:, 4] + 0.3 * rng.standard_normal(20)
    solution = sparsewise.rmp0(A, y, delta=0.5, start=[0, 2])
    path = solution.path
    assert solution.df == solution.support.size
    assert path.initial.df == 2
    assert [step.df for step in path] == [step.size for step in path]
    np.testing.assert_array_equal(path.dfs, path.n_columns)
    assert path.n_columns.tolist() == [2, *(step.size for step in path)]
    assert path.dfs.size == path.losses.size == 1 + len(path)
    for model, step in zip(path.models(), path, strict=True):
        assert (model.df, model.loss) == (step.df, step.loss)


def test_degrees_of_freedom_that_are_recorded():
    """Those of shrunk coefficients: the trace of a hat matrix, a step's own number."""
    data = problem(np.eye(4), np.array([3.0, 2.0, 1.0, 0.5]))
    steps = []
    log = Log(data, steps.append)
    log.record("start", [3], [0.9], [np.ones(1)], 1, df=[0.5])
    log.record("add", [0, 1], [0.4, 0.1], np.ones((2, 3)), 3, df=[1.25, 1.75])
    log.record("drop", [0], [0.5], np.ones((1, 2)), 2, df=[1.0])
    columns = np.array([1, 3])
    solution = log.solution("forward", Stop.DELTA, columns, np.ones((1, 2)), 0.5, df=1.0)
    assert solution.df == 1.0
    path = solution.path
    assert path.dfs.tolist() == [0.5, 1.25, 1.75, 1.0]
    assert path.n_columns.tolist() == [1, 2, 3, 2]
    assert [step.df for step in steps] == [1.25, 1.75, 1.0]
    assert (path.initial.df, path.after(1).df, path.at(3).df) == (0.5, 1.25, 1.75)
