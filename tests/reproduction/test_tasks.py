"""What is done in a cell: recovery, kernel regression, bounds; and how it is measured."""

import pickle
from dataclasses import replace

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import Matern

from reproduction.declaration import Cell, Contender, Unit
from reproduction.generators import FAMILIES, draw, generator
from reproduction.measure import noted
from reproduction.paper import BOSTON, BOUNDS
from reproduction.shared_support import SHARED
from reproduction.tasks import (
    TASKS,
    boston,
    bounds,
    deltas,
    described,
    entries,
    kernel_regression,
    perform,
    recovery,
    split,
)
from sparsewise import ALGORITHMS, Targets, forward, omp
from tests.reproduction.small import BP, OMP, RMP, small


def unit_of(experiment, i=0):
    return list(experiment.units())[i]


# --- recovery -------------------------------------------------------------------------------------


@pytest.mark.parametrize(("label", "k"), [("OMP", 10), ("RMP_σ", 14), ("M-SBL", 16)])
def test_recovery_rises_with_the_targets(label, k):
    """A small part of the known figure."""
    grid = {**SHARED.grid, "k": (k,), "targets": (1, 2, 8)}
    part = replace(SHARED.only([label]), grid=grid, realizations=24)
    rates = [np.mean(recovery(unit, seed=0)["success"]) for unit in part.units()]
    assert rates[0] < rates[1] < rates[2]
    assert rates[0] < 0.6 < 0.8 < rates[2]


def test_recovery_of_several_targets_counts_columns():
    experiment = small(contenders=[OMP], grid={**SHARED.grid, "k": (3,), "targets": (2,)})
    unit = unit_of(experiment)
    values = recovery(unit, seed=0)
    A, y, x = draw(experiment, unit.cell, generator(unit.cell, 0, 0))
    coef = omp(A, Targets(y, weights=[1, 1]), residual=unit.cell["delta"]).coef
    assert values["size"][0] == np.count_nonzero(coef.any(axis=1)) == 3
    assert values["error"][0] == pytest.approx(np.linalg.norm(coef - x) / np.linalg.norm(x))


def test_recovery_is_what_the_algorithm_finds():
    unit = unit_of(small(contenders=[OMP], realizations=8), 1)
    values = recovery(unit, seed=3)
    assert set(values["success"]) == {0.0, 1.0}
    for i in range(8):
        A, y, x = draw(unit.experiment, unit.cell, generator(unit.cell, i, 3))
        coef = omp(A, y, residual=1e-2).coef
        assert values["success"][i] == np.array_equal(np.flatnonzero(coef), np.flatnonzero(x))
        assert values["size"][i] == np.count_nonzero(coef)
        assert values["error"][i] == pytest.approx(np.linalg.norm(coef - x) / 2)
        assert values["seconds"][i] > 0


def test_what_is_below_the_threshold_is_not_found():
    def sizes(threshold):
        contender = Contender("BP", "bpdn", {"residual": "delta"}, threshold)
        return np.array(recovery(unit_of(small(contenders=[contender])), 0)["size"])

    assert (sizes("100*delta") <= sizes(0.1)).all()
    assert sizes(0.1).sum() < sizes(0.0).sum()
    assert sizes(10.0).sum() == 0


# --- kernel regression ----------------------------------------------------------------------------


def test_the_table():
    X, y = boston()
    assert X.shape == (506, 13)
    # As Harrison and Rubinfeld's table is known: means of MEDV, RM and CRIM.
    np.testing.assert_allclose(y.mean(), 22.5328, atol=1e-4)
    np.testing.assert_allclose(X[:, 5].mean(), 6.2846, atol=1e-4)
    np.testing.assert_allclose(X[:, 0].mean(), 3.6135, atol=1e-4)


def test_a_split():
    K, y, K_test, y_test, unit = split(Cell("boston", {"split": 3}), 0)
    assert K.shape == (379, 379)
    assert K_test.shape == (127, 379)
    np.testing.assert_allclose(np.diag(K), 1)
    np.testing.assert_allclose([y.mean(), y.std()], [0, 1], atol=1e-12)
    together = np.sort(np.concatenate([y, y_test]))
    everything = np.sort(boston()[1])
    np.testing.assert_allclose((together - together[0]) * unit, everything - everything[0])


def test_the_kernel_is_matern():
    """Against scikit-learn's; the length scale follows from one value of the kernel."""
    cell = Cell("boston", {"split": 0})
    K = split(cell, 0)[0]
    X, y = boston()
    train = np.sort(generator(cell, 0, 0).permutation(len(y))[:379])
    Z = (X[train] - X[train].mean(axis=0)) / X[train].std(axis=0)
    distances = np.linalg.norm(Z[:, None] - Z[None], axis=2)
    scale = np.median(distances[np.triu_indices(379, 1)])
    np.testing.assert_allclose(K, Matern(scale, nu=1.5)(Z), rtol=1e-10)


def test_splits_depend_on_seed_and_number_alone():
    def target(number, seed):
        return split(Cell("boston", {"split": number}), seed)[1]

    np.testing.assert_array_equal(target(1, 0), target(1, 0))
    assert not np.array_equal(target(1, 0), target(2, 0))
    assert not np.array_equal(target(1, 0), target(1, 1))


def test_kernel_regression_is_what_the_algorithm_finds():
    experiment = small(
        "boston", [Contender("FR", "forward", {"delta": "delta"})], {"split": (0,)}, 3
    )
    unit = unit_of(experiment)
    values = kernel_regression(unit, 0)
    np.testing.assert_allclose(values["delta"], deltas(3))
    K, y, K_test, y_test, scale = split(unit.cell, 0)
    for i, delta in enumerate(values["delta"]):
        solution = forward(K, y, delta=delta)
        assert values["size"][i] == solution.support.size
        errors = scale * (y_test - K_test @ solution.coef)
        assert values["rmse"][i] == pytest.approx(np.sqrt(np.mean(errors**2)))
    assert values["size"] == sorted(values["size"], reverse=True)


def test_the_paper_has_one_split_for_all():
    assert {one.label for one in BOSTON.contenders} == {
        "FR",
        "RMP₀",
        "RMP₀+",
        "FoBa",
        "FSBL",
        "RMP_σ",
    }
    assert len(BOSTON.cells()) >= 30


# --- bounds ---------------------------------------------------------------------------------------


def test_bounds_hold_and_the_new_one_is_better_than_the_older():
    at: dict = {}
    for unit in BOUNDS.units():
        at[unit.cell["k"], unit.contender.algorithm] = bounds(unit, 0)
    for k in (1, 2, 4, 8):
        found = {
            which: np.array(at[k, which]["probability"]) for which in ("bound", "older", "achieved")
        }
        assert (found["bound"] <= found["achieved"] + 1e-12).all()
        assert (found["older"] <= found["bound"] + 1e-12).all()
        assert (np.diff(found["achieved"]) >= -1e-12).all()
        assert found["achieved"][-1] > 0.99
        assert at[k, "bound"]["delta"][-1] == 5.0
    assert at[1, "bound"] == bounds(unit_of(BOUNDS, 1), seed=7)


# --- whatever goes wrong --------------------------------------------------------------------------


def test_perform_tells_values_and_time():
    outcome = perform(unit_of(small()), 0)
    assert set(outcome) == {"values", "error", "seconds"}
    assert outcome["error"] is None
    assert outcome["seconds"] > sum(outcome["values"]["seconds"]) > 0


def test_an_unknown_task():
    assert perform(unit_of(small(task="none")), 0)["error"] == "KeyError: 'none'"


def test_an_interrupt_is_raised(monkeypatch):
    def interrupted(unit, seed):
        raise KeyboardInterrupt

    monkeypatch.setitem(TASKS, "interrupted", interrupted)
    with pytest.raises(KeyboardInterrupt):
        perform(unit_of(small(task="interrupted")), 0)


@pytest.mark.parametrize("values", [{}, {"success": []}, {"success": [1.0, float("inf")]}])
def test_values_that_cannot_be_used(monkeypatch, values):
    monkeypatch.setitem(TASKS, "odd", lambda unit, seed: values)
    outcome = perform(unit_of(small(task="odd")), 0)
    assert outcome["values"] == {}
    assert outcome["error"].startswith("ValueError: ")


def test_errors_in_one_line_without_control_characters():
    with pytest.raises(ValueError, match="first") as caught, noted("realisation 3"):
        raise ValueError("first\n\tsecond \x1b[31m")
    assert described(caught.value) == "realisation 3: ValueError: first second ?[31m"


# --- registries -----------------------------------------------------------------------------------


def test_entries_are_what_a_unit_needs():
    task, family, signal, algorithm = entries(unit_of(small(contenders=[RMP])))
    assert task == {"recovery": recovery}
    assert family == {"gaussian": FAMILIES["gaussian"]}
    assert set(signal) == {"signs"}
    assert algorithm == {"rmp": ALGORITHMS["rmp"]}


@pytest.mark.parametrize("contender", [OMP, RMP, BP])
def test_built_in_entries_can_be_sent_by_plain_pickle(contender):
    """Not all backends of joblib have cloudpickle."""
    needed = entries(unit_of(small(contenders=[contender])))
    assert pickle.loads(pickle.dumps(needed)) == needed


def test_needed_entries_are_made_known(monkeypatch):
    added = Contender("mine", "mine_too")
    unit = Unit(small(), small().cells()[0], added)
    mine = [{}, {}, {}, {"mine_too": lambda A, y: omp(A, y, sparsity=2)}]
    assert "mine_too" in perform(unit, 0)["error"]
    try:
        assert perform(unit, 0, mine)["error"] is None
    finally:
        ALGORITHMS.pop("mine_too", None)
