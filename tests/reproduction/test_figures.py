"""The figures: what is drawn is what was found, and the same each time."""

import sys
from dataclasses import replace

import matplotlib as mpl
import numpy as np
import pytest

from reproduction import beyond, figures, figures_by_information, style
from reproduction.declaration import Contender
from reproduction.paper import ALL, EXPERIMENTS, PAPER, TABLE_1
from reproduction.run import adapted
from reproduction.shared_support import SHARED
from reproduction.style import OURS
from tests.reproduction.made import found_beyond, like_the_paper, outcome, recovered
from tests.reproduction.small import OMP, small


def drawn(experiment, find=like_the_paper):
    made = outcome(None, [experiment], find)
    return figures.pictures(experiment, made.results, made.records)


def by_k(unit):
    return recovered(1 / unit.cell["k"], 20)


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_every_experiment_of_the_paper_has_a_figure(name, tmp_path):
    [picture] = drawn(adapted(EXPERIMENTS[name], quick=True))
    assert picture.name == name
    figures.save(picture, tmp_path)
    assert (tmp_path / f"{name}.png").read_bytes().startswith(b"\x89PNG")
    svg = (tmp_path / f"{name}.svg").read_text()
    assert "<svg" in svg
    assert "<dc:date>" not in svg
    assert svg.count("<image") == (name == "phase")  # drawn, not painted, but for the colour bar


@pytest.mark.parametrize("name", beyond.EXPERIMENTS)
def test_every_experiment_beyond_the_paper_has_a_figure(name, tmp_path):
    [picture] = drawn(adapted(beyond.EXPERIMENTS[name], quick=True), found_beyond)
    assert picture.name == name
    figures.save(picture, tmp_path)
    assert "<svg" in (tmp_path / f"{name}.svg").read_text()
    assert drawn(adapted(beyond.EXPERIMENTS[name], quick=True), lambda unit: "ValueError: no") == []


def test_lines_for_numbers_of_targets(tmp_path):
    def rising(unit):
        return recovered(min(unit.cell["targets"] / unit.cell["k"], 1.0), 20)

    [picture] = drawn(SHARED, rising)
    assert picture.name == "shared-support"
    panels = picture.figure.axes
    assert [ax.get_title(loc="left") for ax in panels] == ["OMP", "RMP$_\\sigma$", "M-SBL"]
    for ax in panels:
        lines = {line.get_label(): line for line in ax.get_lines()}
        assert list(lines) == ["1", "2", "4", "8"]
        np.testing.assert_array_equal(lines["8"].get_xdata(), SHARED.grid["k"])
        np.testing.assert_allclose(
            lines["2"].get_ydata(), [recovered_part(2 / k) for k in SHARED.grid["k"]]
        )
    figures.save(picture, tmp_path)
    assert "<svg" in (tmp_path / "shared-support.svg").read_text()
    assert drawn(SHARED, lambda unit: "ValueError: no") == []


def recovered_part(rate):
    return round(min(rate, 1.0) * 20) / 20


def dots(ax, colour):
    """What is drawn as filled dots of a colour, from top to bottom."""
    found = [line for line in ax.get_lines() if line.get_marker() == "o"]
    mine = [line for line in found if line.get_markerfacecolor() == colour]
    return [line.get_xdata()[0] for line in sorted(mine, key=lambda line: line.get_ydata()[0])]


def test_lines_by_what_is_told():
    [picture] = drawn(beyond.UNCORRELATED, found_beyond)
    panels = picture.figure.axes
    assert [ax.get_title(loc="left") for ax in panels] == [f"k = {k}" for k in range(12, 29, 4)]
    assert dots(panels[0], OURS) == [1.0]
    others = dots(panels[0], figures_by_information.BY_GROUP["the noise (paper)"])
    np.testing.assert_allclose(others, 0.6, atol=1e-3)
    rings = [line for line in panels[0].get_lines() if line.get_markerfacecolor() == "none"]
    assert [line.get_xdata()[0] for line in rings if line.get_marker() == "o"] == [
        PAPER["table1"][one.label][0] for one in ALL
    ]
    # The paper has no k = 28.
    assert all(line.get_markerfacecolor() != "none" for line in panels[4].get_lines()
               if line.get_marker() == "o")  # fmt: skip
    names = [tick.get_text() for tick in panels[0].get_yticklabels()]
    assert names[0] == "solve"
    assert len(names) == len(beyond.EVERYBODY)
    told = [text.get_text() for text in panels[0].texts]
    assert told == [f"told {what}" for what in beyond.GROUPS]


def test_groups_that_nobody_is_of_are_not_named():
    some = beyond.UNCORRELATED.only(["solve", "OMP"])
    [picture] = drawn(some, found_beyond)
    told = [text.get_text() for text in picture.figure.axes[0].texts]
    assert told == ["told nothing", "told the noise (paper)"]


def test_false_features_are_all_within_the_figure():
    [picture] = drawn(beyond.PURE_NOISE, found_beyond)
    for ax in picture.figure.axes:
        assert dots(ax, OURS) == [0.0]
        assert ax.get_xlim()[1] >= 200  # rows: more features than that nobody can choose


def test_all_transitions_in_one_panel():
    [picture] = drawn(beyond.TRANSITION, found_beyond)
    last = picture.figure.axes[5]
    assert last.get_visible()
    lines = {line.get_label(): line for line in last.get_lines()}
    assert set(lines) == {"solve", "BP ARD", "FR", "RMP$_0$", r"RMP$_\sigma$"}
    gap = np.array(lines["solve"].get_ydata())[:6] - np.array(lines["FR"].get_ydata())[:6]
    np.testing.assert_allclose(gap, 0.1, atol=0.06)


def test_the_same_results_give_the_same_files(tmp_path):
    texts = []
    for folder in (tmp_path / "one", tmp_path / "two"):
        folder.mkdir()
        [picture] = drawn(adapted(EXPERIMENTS["phase"], quick=True))
        figures.save(picture, folder)
        texts.append((folder / "phase.svg").read_bytes())
    assert texts[0] == texts[1]


def test_pyplot_and_settings_of_others_are_left_alone():
    before = dict(mpl.rcParams)
    loaded = "matplotlib.pyplot" in sys.modules
    drawn(adapted(TABLE_1, quick=True))
    assert dict(mpl.rcParams) == before
    assert ("matplotlib.pyplot" in sys.modules) == loaded


def test_tables_show_rates_and_the_paper_s_values():
    [picture] = drawn(TABLE_1)
    panels = picture.figure.axes
    assert [ax.get_title(loc="left") for ax in panels] == ["k = 12", "k = 16", "k = 20", "k = 24"]
    dots = [
        line
        for line in panels[1].get_lines()
        if line.get_marker() == "o" and len(line.get_xdata()) == 1
    ]
    filled = [line.get_xdata()[0] for line in dots if line.get_markerfacecolor() != "none"]
    rings = [line.get_xdata()[0] for line in dots if line.get_markerfacecolor() == "none"]
    np.testing.assert_allclose(filled, rings, atol=5e-4)
    assert len(rings) == 9


def test_heat_maps_hold_the_rates():
    experiment = adapted(EXPERIMENTS["phase"], quick=True)
    [picture] = drawn(experiment, lambda unit: recovered(unit.cell["sampling"], 20))
    panels = picture.figure.axes[:3]
    assert [ax.get_title(loc="left") for ax in panels] == ["FR", "RMP$_0$", r"RMP$_\sigma$"]
    grid = panels[0].collections[0].get_array()
    np.testing.assert_allclose(grid, np.tile([0.1, 0.3, 0.5, 0.7, 0.9], (6, 1)))


def test_one_axis_gives_lines_with_bands():
    experiment = small(grid={"n": (12,), "m": (20,), "k": (2, 4, 8), "noise": (0.01,)})
    [picture] = drawn(experiment, by_k)
    [ax] = picture.figure.axes
    curves = [line for line in ax.get_lines() if len(line.get_xdata()) == 3]
    assert len(curves) == len(ax.collections) == len(experiment.contenders)
    np.testing.assert_allclose(curves[0].get_ydata(), [0.5, 0.25, 0.125], atol=0.03)
    assert ax.get_xlabel() == "non-zero coefficients k"
    assert {text.get_text() for text in ax.texts} == {"OMP", r"RMP$_\sigma$", "BP"}


def test_two_axes_give_heat_maps_and_three_give_several():
    grid = {"n": (12, 16), "m": (20,), "k": (2, 4, 8), "noise": (0.01,)}
    [picture] = drawn(small(grid=grid), by_k)
    assert len(picture.figure.axes) == 4  # three contenders and the colour bar
    many = drawn(small(grid={**grid, "noise": (0.01, 0.1)}), by_k)
    assert [one.name for one in many] == ["small-noise0.01", "small-noise0.1"]
    grid = {
        "n": tuple(range(12, 19)),
        "m": (20,),
        "k": tuple(range(1, 8)),
        "noise": (1, 2, 3, 4, 5, 6, 7),
    }
    many = drawn(small(contenders=[OMP], grid=grid), by_k)
    assert len(many) == figures.MOST_FIGURES


def test_uneven_values_get_cells_of_one_size():
    grid = {"n": (12,), "m": (20,), "k": (2, 4), "noise": (0.001, 0.01, 0.1)}
    [picture] = drawn(small(grid=grid), by_k)
    ticks = [tick.get_text() for tick in picture.figure.axes[0].get_xticklabels()]
    assert ticks == ["0.001", "0.01", "0.1"]


def test_a_single_cell_gives_dots():
    [picture] = drawn(small(grid={"n": (12,), "m": (20,), "k": (2,), "noise": (0.01,)}), by_k)
    assert len(picture.figure.axes) == 1


def test_failed_units_leave_gaps_and_a_failed_run_no_figure(tmp_path):
    experiment = small(grid={"n": (12, 16), "m": (20,), "k": (2, 4, 8), "noise": (0.01,)})

    def find(unit):
        bad = unit.contender.label == "BP" or unit.cell["k"] == 4
        return "ValueError: no" if bad else by_k(unit)

    [picture] = drawn(experiment, find)
    figures.save(picture, tmp_path)
    grid = picture.figure.axes[0].collections[0].get_array()
    assert np.ma.count_masked(grid) == 2 or np.isnan(np.ma.filled(grid, np.nan)).sum() == 2
    assert drawn(experiment, lambda unit: "ValueError: no") == []
    for declared in EXPERIMENTS.values():
        quick = adapted(declared, quick=True)
        assert drawn(quick, lambda unit: "ValueError: no") == []
        assert figures.pictures(quick, [], []) == []


def test_names_that_look_like_formulas_or_paths_are_harmless(tmp_path):
    odd = Contender("$x_{", "omp", {"residual": "delta"})
    experiment = replace(small(contenders=[odd]), name="../a b", title="$\\frac{")
    [picture] = drawn(experiment, by_k)
    assert picture.name == "_a_b"
    figures.save(picture, tmp_path)
    assert (tmp_path / "_a_b.svg").exists()


def test_long_names_leave_room_for_what_follows(tmp_path):
    axes = {"n": (12, 16), "m": (20, 24), "k": (2, 4), "noise": (0.001, 0.002)}
    experiment = replace(small(grid=axes, contenders=[OMP], realizations=1), name="\U0001d4b3" * 80)
    pictures = drawn(experiment, by_k)
    assert len({picture.name for picture in pictures}) == len(pictures) > 1
    figures.save(pictures[0], tmp_path)


def test_contenders_keep_their_looks():
    labels = ["OMP", *(f"mine {i}" for i in range(7))]
    experiment = small(contenders=[Contender(label, "omp") for label in labels])
    looks = [style.look(experiment, label) for label in labels]
    assert looks[0] == style.LOOKS["OMP"]
    assert len(set(looks)) == len(looks)


def test_labels_are_moved_apart_no_further_than_needed():
    assert figures.spread([0.1, 0.5], 0.1) == [0.1, 0.5]
    np.testing.assert_allclose(
        figures.spread([0.5, 0.5, 0.52], 0.1), [0.40667, 0.50667, 0.60667], atol=1e-4
    )
    moved = figures.spread([0.0, 0.05, 0.16, 0.9], 0.1)
    assert np.diff(moved).min() >= 0.1 - 1e-12
    assert moved[-1] == 0.9
