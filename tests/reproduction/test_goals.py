"""What solve is to reach: judged by the numbers, on made-up ones and on a few real draws."""

from dataclasses import replace

import numpy as np
import pytest

from reproduction import beyond, how_sure, paper, shared_support
from reproduction.beyond import (
    CORRELATED,
    EVERYBODY,
    GROUPS,
    NOISY,
    PURE_NOISE,
    SOLVE,
    TRANSITION,
    UNCORRELATED,
)
from reproduction.catalogue import DECLARED, is_among, named
from reproduction.generators import draw, generator
from reproduction.goals import (
    false_claims,
    false_features,
    heads,
    rate_claims,
    shared_claims,
    sizes,
    transition_claims,
)
from reproduction.run import adapted, run
from reproduction.shared_support import SHARED
from tests.reproduction.made import found_beyond, outcome, recovered


def claims_of(experiment, find=found_beyond):
    made = outcome(None, [experiment], find)
    return rate_claims(experiment, made.results)


# --- the declaration ------------------------------------------------------------------------------


def test_names_of_the_command_line():
    assert named("beyond") == list(beyond.EXPERIMENTS.values())
    assert named("all") == list(paper.EXPERIMENTS.values())
    assert named("beyond-noise") == [PURE_NOISE]
    assert named("how-sure") == list(how_sure.EXPERIMENTS.values())
    theirs = (paper, beyond, shared_support, how_sure)
    assert set().union(*(one.EXPERIMENTS for one in theirs)) == set(DECLARED)
    assert is_among(adapted(NOISY, quick=True), DECLARED)
    assert not is_among(replace(NOISY, title="My own"), DECLARED)


def test_the_more_targets_the_better():
    quick = adapted(SHARED, quick=True)
    rising = outcome(None, [quick], lambda unit: recovered(unit.cell["targets"] / 8, 8))
    claims = shared_claims(rising.results)
    assert [claim.agrees for claim in claims] == [True, True, True]
    assert "0.125 with 1; 0.250 with 2; 0.500 with 4; 1.000 with 8." in claims[0].here
    level = outcome(None, [quick], lambda unit: recovered(min(unit.cell["targets"], 2) / 8, 8))
    assert all(claim.agrees is False and claim.partly for claim in shared_claims(level.results))
    failed = outcome(None, [quick], lambda unit: "ValueError: no")
    assert shared_claims(failed.results) == []


def test_everybody_is_told_something():
    labels = [one.label for group in GROUPS.values() for one in group]
    assert len(set(labels)) == len(labels)
    for experiment in (UNCORRELATED, CORRELATED, NOISY, PURE_NOISE):
        assert {one.label for one in experiment.contenders} <= set(labels)
    assert [one.label for one in GROUPS["the noise (paper)"]] == [one.label for one in paper.ALL]
    assert GROUPS["nothing"][0] == SOLVE
    assert not SOLVE.parameters


@pytest.mark.parametrize(
    ("theirs", "ours"), [(paper.TABLE_1, UNCORRELATED), (paper.TABLE_2, CORRELATED)]
)
def test_the_draws_are_those_of_the_paper_s_tables(theirs, ours):
    cells = {cell.name: cell for cell in ours.cells()}
    for cell in theirs.cells():
        one = draw(theirs, cell, generator(cell, 3, 0))
        other = draw(ours, cells[cell.name], generator(cells[cell.name], 3, 0))
        assert (one.y == other.y).all()
    assert ours.realizations == theirs.realizations == 1024


def test_the_paper_s_nine_are_told_what_they_were():
    for label, one in {one.label: one for one in paper.ALL}.items():
        assert one in UNCORRELATED.contenders
        [told] = [other for other in NOISY.contenders if other.label == label]
        assert told != one
        assert told.algorithm == one.algorithm
        assert set(told.parameters) - {"price"} == set(one.parameters)


# --- claims ---------------------------------------------------------------------------------------


def test_heads_tell_what_varies():
    assert list(heads(UNCORRELATED).values()) == [f"k = {k}" for k in (12, 16, 20, 24, 28)]
    assert list(heads(NOISY).values()) == ["‖ε‖ = 0.1", "‖ε‖ = 0.4", "‖ε‖ = 1"]
    assert sizes(PURE_NOISE)[200, 600] == "200×600"


def test_aims_that_are_reached():
    for experiment in (UNCORRELATED, CORRELATED, NOISY):
        claims = claims_of(experiment)
        assert len(claims) == len(beyond.RATES[experiment.name]) + 1
        assert all(claim.agrees for claim in claims)


def test_aims_that_are_missed():
    def find(unit):
        worse = unit.contender == SOLVE and unit.cell["k"] == 24
        return recovered(0.5 if worse else 0.99, 1024)

    *targets, nine = claims_of(UNCORRELATED, find)
    assert [claim.agrees for claim in targets] == [True, True, False, True]
    assert targets[2].paper == "at least 0.90 of supports at k = 24."
    assert targets[2].here == "0.500 (0.469–0.531)."
    assert (nine.agrees, nine.partly) == (False, True)
    assert "0.500 and 0.990 (OMP) at k = 24" in nine.here


def test_aims_need_solve():
    assert claims_of(UNCORRELATED.only(["OMP", "LassoCV"])) == []
    [*targets] = claims_of(UNCORRELATED.only(["solve"]))
    assert len(targets) == 4
    assert claims_of(UNCORRELATED, lambda unit: "ValueError: no") == []


def test_false_features_are_counted_with_their_errors():
    def records(size, label="solve"):
        settings = {"contender": label, "cell": {"n": 64, "m": 128}}
        return [{"settings": settings, "values": {"size": size}}]

    sizes = [0.0, 0.0, 1.0, 1.0]
    one = false_features(records(sizes))["solve"][64, 128]
    assert (one.mean, one.draws) == (0.5, 4)
    assert one.error == pytest.approx((1 / 3) ** 0.5 / 2)
    assert one.text == "0.500 ± 0.289"
    [claim] = false_claims(records(sizes))
    assert claim.agrees is False
    [claim] = false_claims(records(sizes[:3]))
    assert claim.agrees is True
    assert false_features(records(sizes[:1]))["solve"][64, 128].error == 0
    assert false_features([]) == {}
    assert false_claims(records(sizes, "abess")) == []


def test_the_transition_is_ahead_at_every_ratio_or_not():
    quick = adapted(TRANSITION, quick=True)

    def is_ahead(unit):
        return (unit.contender.label == "solve") == (unit.cell["sampling"] < 0.8)

    def by_edge(edges):
        def find(unit):
            rate = 0.5 + 4 * (edges(unit) - unit.cell["sparsity"])
            return recovered(min(1.0, max(0.0, rate)), 256)

        return transition_claims(outcome(None, [quick], find).results)

    [claim] = by_edge(lambda unit: 0.35 if unit.contender.label == "solve" else 0.25)
    assert claim.agrees
    assert "larger by 0.1" in claim.here
    [claim] = by_edge(lambda unit: 0.35 if is_ahead(unit) else 0.25)
    assert (claim.agrees, claim.partly) == (False, True)
    assert claim.here.endswith("which could be chance, at n/m = 0.9.")
    assert transition_claims([]) == []


# --- real draws -----------------------------------------------------------------------------------


def rates(folder, experiment, realizations, labels, **grid):
    smaller = replace(
        experiment.only(labels), realizations=realizations, grid=experiment.grid | grid
    )
    found = run([smaller], folder, jobs=1)
    assert not found.failed
    return found


def test_solve_told_nothing_is_ahead_of_the_paper_s_nine(tmp_path):
    labels = ["solve", "RMP_σ", "OMP"]
    found = rates(tmp_path, UNCORRELATED, 12, labels, k=(20,)).results
    by = {row["algorithm"]: row["rate"] for row in found}
    assert by["solve"] >= 0.9
    assert by["RMP_σ"] <= 0.7
    assert by["OMP"] <= 0.3


def test_correlated_and_noisy(tmp_path):
    found = rates(tmp_path / "correlated", CORRELATED, 12, ["solve"], k=(5,)).results
    assert found[0]["rate"] >= 0.9
    found = rates(tmp_path / "noisy", NOISY, 12, ["solve"], noise=(0.4,)).results
    assert found[0]["rate"] >= 0.8


def test_pure_noise_has_no_true_feature(tmp_path):
    labels = ["solve", "ARDRegression"]
    records = rates(tmp_path, PURE_NOISE, 8, labels, n=(64,), m=(20,)).records
    by = false_features(records)
    assert by["solve"][64, 20].mean <= 1
    assert by["ARDRegression"][64, 20].mean >= 5
    [found] = [one["values"] for one in records if one["settings"]["contender"] == "solve"]
    assert [size == 0 for size in found["size"]] == [success == 1 for success in found["success"]]
    assert np.isfinite(found["error"]).all()


def test_all_contenders_take_part_in_every_cell(tmp_path):
    """With the packages that are here; each on one draw."""
    from reproduction.run import attended

    wanted, _ = attended([replace(NOISY, realizations=1, grid=NOISY.grid | {"noise": (0.1,)})])
    assert len(wanted[0].contenders) >= len(EVERYBODY) - 2
    found = run(wanted, tmp_path, jobs=1)
    assert [row["error_message"] for row in found.failed] == []
