"""What is said of the paper's numbers: right where they agree, and where they don't."""

import math
from dataclasses import replace

import numpy as np
import pytest

from reproduction import comparison
from reproduction.claims import (
    SIZES,
    boston_claims,
    bounds_claims,
    errors_at,
    growths,
    line,
    mean_and_error,
    phase_claims,
    timing_claims,
    transitions,
)
from reproduction.comparison import (
    Compared,
    compared,
    declared_in_paper,
    expected_outside,
    rows,
    sentences,
)
from reproduction.paper import (
    BOSTON,
    BOUNDS,
    EXPERIMENTS,
    FR,
    PAPER,
    PHASE,
    RMP0,
    TABLE_1,
    TABLE_2,
    TIMING,
)
from reproduction.run import adapted
from tests.reproduction.made import like_the_paper, outcome, recovered


def cell(successes, paper, trials=1024, label="OMP", k=12):
    return Compared("table1", label, k, successes, trials, paper)


def verdicts(claims):
    return [claim.agrees for claim in claims]


def test_the_joint_interval_is_that_of_two_proportions_and_the_rounding():
    # 512 of 1,024 against 0.50: pooled rate 1/2, variance 1/4 · 2/1,024.
    half = cell(512, 0.50)
    assert half.margin == pytest.approx(1.959964 * math.sqrt(0.5 / 1024) + 0.005)
    assert half.agrees
    assert cell(512 + 49, 0.50).agrees  # 0.048 off
    assert not cell(512 + 50, 0.50).agrees  # 0.049 off
    assert not cell(512 - 50, 0.50).agrees


def test_a_rate_of_zero_leaves_only_the_rounding():
    assert cell(0, 0.0).margin == 0.005
    assert cell(0, 0.0).agrees
    assert not cell(15, 0.0).agrees


def test_fewer_realisations_have_a_wider_interval():
    assert cell(8, 0.5, trials=16).margin > 3 * cell(512, 0.5).margin
    assert cell(11, 0.5, trials=16).agrees


def test_how_many_fall_outside_by_chance_against_a_simulation():
    cells = [cell(512, 0.5), cell(310, 0.3), cell(41, 0.04), cell(0, 0.0)]
    rng = np.random.default_rng(0)
    runs, found = 4000, 0
    for one in cells:
        rate = (one.successes + 1024 * one.paper) / 2048
        here, there = rng.binomial(1024, rate, runs), rng.binomial(1024, rate, runs)
        found += sum(
            not cell(int(a), round(b / 1024, 2)).agrees for a, b in zip(here, there, strict=True)
        )
    expected = expected_outside(cells)
    assert 0 < expected < 0.05 * len(cells)
    assert abs(found / runs - expected) < 4 * math.sqrt(expected / runs)


def test_the_cells_of_a_run_meet_the_paper_s_values(tmp_path):
    results = outcome(tmp_path, [TABLE_1, TABLE_2], like_the_paper).results
    for name in ("table1", "table2"):
        cells = compared(results, name)
        assert len(cells) == 36
        assert all(one.agrees for one in cells)
        for one in cells:
            place = EXPERIMENTS[name].grid["k"].index(one.k)
            assert one.paper == PAPER[name][one.label][place]
        assert "All 36 cells agree" in sentences(cells)[0]


def test_a_cell_that_differs_is_named_with_its_explanation(tmp_path, monkeypatch):
    def find(unit):
        if unit.contender.label == "FoBa" and unit.cell["k"] == 16:
            return recovered(0.70, 1024)
        return like_the_paper(unit)

    cells = compared(outcome(tmp_path, [TABLE_1], find).results, "table1")
    said = " ".join(sentences(cells))
    assert "35 of 36 cells agree with the paper**, 1 lies outside" in said
    assert "FoBa at k = 16 differs**: 0.700 here, 0.82 in the paper" in said
    assert "no explanation" in said
    monkeypatch.setitem(comparison.EXPLANATIONS, ("table1", "FoBa", 16), "the moon was full")
    assert "the moon was full" in " ".join(sentences(cells))


def test_small_differences_that_point_one_way_are_seen_in_the_row(tmp_path):
    def find(unit):
        shift = -0.03 if unit.contender.label == "FSBL" else 0.0
        found = like_the_paper(unit)
        return recovered(max(0.0, np.mean(found["success"]) + shift), 1024)

    cells = compared(outcome(tmp_path, [TABLE_2], find).results, "table2")
    assert all(one.agrees for one in cells)
    off = [row for row in rows(cells) if not row.agrees]
    assert [row.label for row in off] == ["FSBL"]
    assert off[0].difference == pytest.approx(-0.03, abs=1e-3)
    assert "FSBL comes out lower than in the paper by 0.030" in " ".join(sentences(cells))


def test_wide_intervals_are_said_to_be_wide(tmp_path):
    quick = adapted(TABLE_1, quick=True)
    cells = compared(outcome(tmp_path, [quick], like_the_paper).results, "table1")
    assert "With 16 realisations a cell the intervals are wide" in sentences(cells)[-1]


def test_failed_units_are_not_compared(tmp_path):
    def find(unit):
        return "ValueError: no" if unit.contender.label == "BP" else like_the_paper(unit)

    cells = compared(outcome(tmp_path, [TABLE_1], find).results, "table1")
    assert len(cells) == 32
    nothing = compared(
        outcome(tmp_path, [TABLE_1], lambda unit: "ValueError: no").results, "table1"
    )
    assert nothing == []
    assert "nothing can be compared" in sentences(nothing)[0]


def test_a_name_alone_does_not_make_an_experiment_the_paper_s():
    assert declared_in_paper(adapted(TABLE_1, quick=True, algorithms=["OMP"]))
    assert not declared_in_paper(replace(TABLE_1, title="My own"))
    other = replace(TABLE_1, contenders=(replace(FR, parameters={"sparsity": "k"}),))
    assert not declared_in_paper(other)


# --- claims ---------------------------------------------------------------------------------------


def test_a_line_is_that_of_least_squares():
    rng = np.random.default_rng(0)
    x = rng.standard_normal(12)
    y = 2 + 3 * x + rng.standard_normal(12)
    fit = line(x.tolist(), y.tolist())
    (slope, height), covariance = np.polyfit(x, y, 1, cov=True)
    assert fit.slope == pytest.approx(slope)
    assert fit.height == pytest.approx(height)
    assert fit.error == pytest.approx(math.sqrt(covariance[0, 0]))
    assert line([1.0, 1.0], [1.0, 2.0]) is None
    assert math.isnan(line([1.0, 2.0], [1.0, 3.0]).error)


def test_growth_exponents_are_found(tmp_path):
    found = growths(outcome(tmp_path, [TIMING], like_the_paper).results)
    assert [growth.label for growth in found] == [one.label for one in TIMING.contenders]
    for growth in found:
        assert growth.fit.slope == pytest.approx(2)
        assert growth.fit.error == pytest.approx(0, abs=1e-6)
        assert growth.last == pytest.approx(2)


def test_timing_claims_follow_the_times(tmp_path):
    results = outcome(tmp_path, [TIMING], like_the_paper).results
    slowest, rmp, rmp0, updates, foba = timing_claims(results)
    assert verdicts([slowest, rmp, rmp0, updates, foba]) == [True, True, True, True, False]
    assert "100 times" in rmp0.here

    def homotopy(unit):
        seconds = 1e-6 * unit.cell["m"] * (9 if unit.contender.label == "FSBL" else 1)
        return recovered(0.5, 5, seconds)

    slowest, rmp, *_ = timing_claims(outcome(tmp_path, [TIMING], homotopy).results)
    assert verdicts([slowest, rmp]) == [False, False]
    assert "FSBL at m = 32" in slowest.here
    assert "homotopy" in rmp.here


def test_phase_claims_follow_the_rates(tmp_path):
    results = outcome(tmp_path, [PHASE], like_the_paper).results
    found = {one.label: one for one in transitions(results)}
    # k is rounded up, so the edge is found at its own k/n, near the one that was put in.
    np.testing.assert_allclose(found["FR"].sparsity, 0.2, atol=0.04)
    expected = 0.15 + 0.4 * np.array(found["RMP₀"].sampling)
    np.testing.assert_allclose(found["RMP₀"].sparsity, expected, atol=0.04)
    assert verdicts(phase_claims(results)) == [True, True, True, True]


def test_phase_claims_see_what_differs(tmp_path):
    def find(unit):
        edge = {"FR": 0.15 + 0.4 * unit.cell["sampling"], "RMP₀": 0.3, "RMP_σ": 0.5}
        rate = 0.5 + 4 * (edge[unit.contender.label] - unit.cell["sparsity"])
        return recovered(min(1.0, max(0.0, rate)), 256)

    claims = phase_claims(outcome(tmp_path, [PHASE], find).results)
    assert verdicts(claims) == [False, False, False, False]


def test_claims_need_their_algorithms(tmp_path):
    only = replace(PHASE, contenders=(FR,))
    claims = phase_claims(outcome(tmp_path, [only], like_the_paper).results)
    assert verdicts(claims) == [None]
    only = replace(TIMING, contenders=(RMP0,))
    assert timing_claims(outcome(tmp_path, [only], like_the_paper).results) == []
    assert timing_claims([]) == phase_claims([]) == []
    assert boston_claims([]) == bounds_claims([]) == []


def test_errors_are_interpolated_split_by_split():
    found = [
        {"size": [2.0, 8.0, 8.0, 0.0], "rmse": [6.0, 3.0, 5.0, 9.0]},
        {"size": [4.0, 16.0], "rmse": [4.0, 2.0]},
    ]
    records = [
        {"settings": {"contender": "FR", "cell": {"split": i}}, "values": values}
        for i, values in enumerate(found)
    ]
    curves = errors_at(records, (2, 4, 8, 16))["FR"]
    # Two models of one size count as their mean, and half way in the logarithm is half way.
    expected = [[6, 5, 4, np.nan], [np.nan, 4, 3, 2]]
    np.testing.assert_allclose(curves, expected)
    mean, error = mean_and_error(curves)
    np.testing.assert_allclose(mean, [np.nan, 4.5, 3.5, np.nan])
    np.testing.assert_allclose(error, [np.nan, 0.5, 0.5, np.nan])


def bent(shift):
    """Records of Fig. 4 with errors moved by a function of contender and size."""

    def find(unit):
        values = like_the_paper(unit)
        pairs = zip(values["size"], values["rmse"], strict=True)
        rmse = [error + shift(unit.contender.label, size) for size, error in pairs]
        return values | {"rmse": rmse}

    return outcome(None, [BOSTON], find).records


def test_boston_claims_follow_the_errors():
    assert verdicts(boston_claims(bent(lambda label, size: 0.0))) == [True, True, True, True]
    shift = {"FSBL": -1.0, "FR": 0.5}
    best, forward, fsbl, rmp = boston_claims(bent(lambda label, size: shift.get(label, 0.0)))
    assert verdicts([best, forward, fsbl, rmp]) == [False, False, False, True]
    assert "FSBL than RMP₀ at 4 features (0.50 ± 0.00)" in best.here
    assert not any(claim.partly for claim in (best, forward, fsbl))
    assert max(SIZES) == 128


def test_boston_claims_that_hold_for_some_sizes_hold_in_part():
    shift = {("FSBL", 32): -0.6, ("FR", 8): 0.5}
    best, forward, fsbl, _ = boston_claims(bent(lambda *where: shift.get(where, 0.0)))
    for claim in (best, forward, fsbl):
        assert claim.agrees is False
        assert claim.partly
    assert "3 of 54 comparisons" in best.here  # FSBL at 32, against each of the three


def test_the_printed_theorem_is_said_not_to_hold(tmp_path):
    records = outcome(tmp_path, [replace(BOUNDS, realizations=25)], like_the_paper).records
    [claim] = bounds_claims(records)
    assert claim.agrees is False
    assert "k >= 2" in claim.here
    assert "k = 1," not in claim.here
    for k in (2, 4, 8):
        assert f"k = {k}, δ" in claim.here
