"""Probabilities, sets and predictions judged by the truth; anchors outside the project."""

from dataclasses import replace
from statistics import fmean

import numpy as np
import pytest

from reproduction import how_sure_tasks as tasks
from reproduction import r_peers
from reproduction.declaration import Contender
from reproduction.document import to_markdown
from reproduction.generators import FAMILIES, genotypes
from reproduction.how_sure import (
    AVERAGING,
    EXPERIMENTS,
    FINE_MAPPING,
    INCLUSION,
    POSTERIOR,
    QUICK,
    SETS,
    SUBSETS,
    SUSIE,
)
from reproduction.how_sure_sections import published, reliability, share
from reproduction.peers import absent
from reproduction.r_peers import R_PEERS, RPeer
from reproduction.run import adapted, run
from reproduction.sections import section

needs_susie = pytest.mark.skipif(
    R_PEERS["R.susieR"].missing, reason="R or its package susieR is missing"
)


def cell_of(experiment, **values):
    return next(one for one in experiment.cells() if values.items() <= one.quantities.items())


# --- what is drawn --------------------------------------------------------------------------------


def test_blocks_and_real_columns_are_correlated():
    rng = np.random.default_rng(0)
    R = np.corrcoef(FAMILIES["blocks"](rng, 4000, 20), rowvar=False)
    assert np.abs(R[:10, :10] - 0.99)[~np.eye(10, dtype=bool)].max() < 0.005
    assert np.abs(R[:10, 10:]).max() < 0.1
    A = FAMILIES["table_columns"](rng, 300, 300)
    assert A.shape == (300, 300)
    np.testing.assert_allclose(A.std(axis=0), 1)


@pytest.mark.parametrize("design", range(4))
def test_tables_have_so_many_effects_and_this_noise(design):
    cell = cell_of(INCLUSION, design=design, n=300, m=30, k=3)
    for realization in (0, 5):
        A, y, x = tasks.drawn_table(cell, realization, 0)
        assert (A.shape, np.count_nonzero(x)) == ((300, 30), 3)
        snr = np.var(A @ x) / np.var(y - A @ x)
        assert 0.1 < snr < 10
    A, y, x = tasks.drawn_table(cell_of(INCLUSION, design=design, n=100, m=30, k=0), 0, 0)
    assert not x.any()
    assert 0.5 < np.var(y) < 2


def test_linked_columns_count_to_two_and_begin_anew():
    A = tasks.linked_columns(np.random.default_rng(0), 4000, 100, 0.97)
    assert set(np.unique(A)) == {0.0, 1.0, 2.0}
    R = np.corrcoef(A, rowvar=False)
    assert np.diag(R, 1)[:49].mean() > 0.5
    assert np.abs(R[:50, 50:]).max() < 0.1


def test_genotypes_are_those_of_susie():
    for region, columns, effects in ((2, 1002, 4), (3, 1001, 6)):
        A, traits, true = genotypes(region)
        assert A.shape == (574, columns)
        assert np.count_nonzero(true) == effects
        for i in range(2):
            x, y = true[:, i], traits[:, i]
            assert np.corrcoef(A @ x, y)[0, 1] > 0.2


def test_settings_are_those_of_hastie_and_others():
    assert len(SUBSETS.cells()) == 480
    np.testing.assert_array_equal(np.flatnonzero(tasks.coefficients(1, 10, 5)), [0, 2, 5, 7, 9])
    np.testing.assert_allclose(tasks.coefficients(3, 10, 5)[:6], [10, 7.625, 5.25, 2.875, 0.5, 0])
    np.testing.assert_allclose(tasks.coefficients(5, 10, 5)[4:8], [1, 0.5, 0.25, 0.125])
    cell = cell_of(SUBSETS, setting=2, beta=2, rho=0.7, snr=0.25)
    (A, y, x), (A_valid, y_valid), covariance, variance = tasks.best_subset_table(cell, 0, 0)
    assert A.shape == A_valid.shape == (500, 100)
    assert abs(np.cov(A, rowvar=False) - covariance).max() < 0.3
    assert x @ covariance @ x / variance == pytest.approx(0.25)
    for X, target in ((A, y), (A_valid, y_valid)):
        assert np.var(target - X @ x) == pytest.approx(variance, rel=0.2)


def test_published_results_are_as_they_were_printed():
    found = published(SUBSETS)
    assert {len(many) for many in found.values()} == {480}
    errors = {name: fmean(pair[0] for pair in many.values()) for name, many in found.items()}
    assert round(errors["L0Learn (L0L2)"], 3) == 1.165
    assert round(errors["relaxed lasso"], 3) == 1.168
    assert round(errors["lasso"], 3) == 1.225


# --- how it is judged -----------------------------------------------------------------------------


def test_bins_count_all_columns():
    probabilities = np.array([0.01, 0.1, 0.15, 0.6, 0.97, 1.0])
    true = np.array([False, False, True, True, True, True])
    row = tasks.binned(probabilities, true)
    assert [row[f"columns_{i}"] for i in range(6)] == [1, 2, 0, 1, 0, 2]
    expected, share_true, many = reliability(row)[1]
    assert (round(expected, 3), share_true, many) == (0.125, 0.5, 2)


def test_sets_are_judged_by_the_true_columns():
    x = np.array([0.0, 1.0, 0.0, -1.0, 0.0])
    row = tasks.judged([(0, 1), (2, 4)], x)
    assert row == {"sets": 2, "covered": 1, "columns": 4, "hits": 1, "true": 2}
    assert tasks.judged([], x)["hits"] == 0


def test_shares_have_intervals():
    assert share(95, 100) == "0.950 (0.888–0.978)"
    assert share(0, 0) == "–"


def test_validation_rows_choose_the_model_that_predicts_them_best():
    cell = cell_of(SUBSETS, setting=1, beta=2, rho=0, snr=6)
    (A, y, _), validation, _, _ = tasks.best_subset_table(cell, 0, 0)
    coef = tasks.validated(A, y, *validation)
    assert set(range(5)) <= set(np.flatnonzero(coef))
    noise = np.random.default_rng(0).standard_normal(100)
    unrelated = tasks.validated(A, noise, validation[0], np.zeros(100))
    assert not unrelated.any()


# --- R --------------------------------------------------------------------------------------------


def test_packages_of_r_that_are_missing_are_left_out(monkeypatch):
    monkeypatch.setitem(R_PEERS, "R.nowhere", RPeer("nowhere", "susie.R"))
    reason = absent(Contender("nowhere", "R.nowhere"))
    assert "R or its package nowhere is missing" in reason
    monkeypatch.setattr(r_peers.shutil, "which", lambda name: None)
    assert RPeer("another", "susie.R").missing


@needs_susie
def test_susie_finds_a_clear_effect_and_failures_are_told():
    A, y, x = tasks.linked_table(cell_of(SETS, m=300, rho=0.97, k=1), 2, 0)
    [line] = R_PEERS["R.susieR"]([(A, y)])
    _, first = line.split()
    assert str(np.flatnonzero(x)[0] + 1) in first.split(",")
    with pytest.raises(RuntimeError, match=r"susie.R failed"):
        R_PEERS["R.susieR"]([(A * np.nan, y)])


# --- from declaration to report -------------------------------------------------------------------

SMALLEST = {
    INCLUSION.name: {"design": (0, 3), "n": (60,), "m": (8,), "k": (0, 3)},
    SETS.name: {"n": (100,), "m": (50,), "rho": (0.97,), "k": (1,)},
    FINE_MAPPING.name: {"region": (3,), "trait": (1,)},
    SUBSETS.name: {"setting": (1,), "beta": (2,), "rho": (0,), "snr": (2.07,)},
    AVERAGING.name: {"table": (0, 1)},
}


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_each_is_run_and_judged(name, tmp_path):
    experiment = adapted(EXPERIMENTS[name], quick=True, realizations=1)
    ours = [one.label for one in experiment.contenders if one.algorithm not in R_PEERS]
    experiment = replace(experiment, grid=SMALLEST[name]).only(ours)
    outcome = run([experiment], tmp_path, jobs=1)
    assert not outcome.failed
    judged = section(experiment, outcome.of(name), outcome.records_of(name))
    said = to_markdown([*judged.before, *judged.after])
    assert POSTERIOR.label in said
    assert "aim" in judged.headline
    assert name in QUICK


@needs_susie
def test_susie_stands_beside_it(tmp_path):
    experiment = replace(SETS, grid=SMALLEST[SETS.name], realizations=2)
    outcome = run([experiment], tmp_path, jobs=1)
    judged = section(experiment, outcome.of(SETS.name), outcome.records_of(SETS.name))
    said = to_markdown([*judged.before, *judged.after])
    assert SUSIE.label in said
    assert "at least SuSiE's power" in said
