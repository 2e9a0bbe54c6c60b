import json

import pytest

from reproduction.declaration import Cell, Contender, Unit, complete, resolved
from tests.reproduction.small import BP, OMP, small


def test_cells_are_all_combinations():
    experiment = small(grid={"n": (8, 16), "m": (32,), "k": (1, 2, 3), "noise": (0.1,)})
    cells = [(cell["n"], cell["m"], cell["k"]) for cell in experiment.cells()]
    assert cells == [(n, 32, k) for n in (8, 16) for k in (1, 2, 3)]


def test_units_are_cells_times_contenders():
    experiment = small(contenders=(OMP, BP))
    units = [(unit.cell["k"], unit.contender.label) for unit in experiment.units()]
    assert units == [(2, "OMP"), (2, "BP"), (4, "OMP"), (4, "BP")]


def test_only_keeps_the_order_of_the_contenders():
    chosen = small().only(["BP", "OMP"])
    assert [one.label for one in chosen.contenders] == ["OMP", "BP"]


@pytest.mark.parametrize(
    ("given", "follows"),
    [
        ({"m": 128, "sampling": 0.5, "sparsity": 0.25}, {"n": 64, "k": 16}),
        ({"m": 128, "sampling": 0.1, "sparsity": 0.05}, {"n": 13, "k": 1}),
        # 0.15·20 is a little more than 3 in floating point.
        ({"n": 20, "m": 40, "sparsity": 0.15}, {"k": 3}),
        ({"m": 10, "sampling": 0.01}, {"n": 1}),
        ({"noise": 0.01}, {"delta": 0.02}),
        ({"noise": 0.01, "delta": 0.5}, {"delta": 0.5}),
        ({"split": 3}, {}),
    ],
)
def test_what_follows_from_the_quantities_given(given, follows):
    assert complete(given) == given | follows


@pytest.mark.parametrize(
    ("value", "meaning"),
    [
        ("delta", 0.01),
        ("0.1*delta", 0.001),
        (" 2 * delta ", 0.02),
        ("1e-1*delta", 0.001),
        (".5*k", 2.0),
        ("k", 4),
        ("log k", 1.3862943611),
        ("2*log k", 2.7725887222),
        ("log", "log"),
        ("log none", "log none"),
        ("log(k)", "log(k)"),
        ("homotopy", "homotopy"),
        ("1..2*delta", "1..2*delta"),
        ("delta*2", "delta*2"),
        (0.3, 0.3),
        (None, None),
        ([1, 2], [1, 2]),
    ],
)
def test_names_of_quantities_stand_for_their_values(value, meaning):
    found = resolved(value, Cell("e", {"k": 4, "delta": 0.01}))
    assert found == pytest.approx(meaning) if isinstance(meaning, float) else found == meaning


def test_words_are_those_of_the_cell():
    contender = Contender("a", "omp", {"residual": "2*delta", "sparsity": "k", "start": [1]})
    words = contender.arguments(Cell("e", {"k": 4, "delta": 0.01}))
    assert words == {"residual": 0.02, "sparsity": 4, "start": [1]}


def test_keys_of_cells_are_those_of_every_machine():
    cell = Cell("table1", {"n": 64, "m": 128, "k": 12, "noise": 5e-3, "delta": 1e-2})
    assert cell.key == 1221827301


def test_keys_tell_cells_apart():
    cells = [
        cell
        for name in ("a", "b")
        for cell in small(name, grid={"n": (8, 9), "m": (32, 33), "k": (1, 2)}).cells()
    ]
    assert len({cell.key for cell in cells}) == len(cells) == 16


@pytest.mark.parametrize(
    "change",
    [
        {"name": "other"},
        {"family": "correlated"},
        {"signal": "normal"},
        {"task": "bounds"},
        {"realizations": 5},
        {"contenders": (Contender("OMP", "omp", {"residual": "noise"}),)},
        {"contenders": (Contender("OMP", "forward", {"residual": "delta"}),)},
        {"contenders": (Contender("OMP", "omp", {"residual": "delta"}, threshold=1e-3),)},
        {"grid": {"n": (12,), "m": (21,), "k": (2,), "noise": (5e-3,)}},
    ],
)
def test_settings_tell_apart_what_gives_other_results(change):
    def settings(**more):
        return next(small(**{"contenders": (OMP,)} | more).units()).settings(0)

    assert settings() == settings()
    assert settings() != settings(**change)
    assert json.loads(json.dumps(settings(**change))) == settings(**change)


def test_some_contenders_are_drawn_less_often():
    slow = Contender("slow", "omp", {"residual": "delta"}, most=3)
    few, many = (next(small(contenders=(slow,), realizations=n).units()) for n in (2, 5))
    assert (few.realizations, many.realizations) == (2, 3)
    assert many.settings(0)["realizations"] == 3


def test_the_draws_of_another_experiment():
    own, others = small("mine"), small("mine", draws="small")
    assert [cell.key for cell in others.cells()] == [cell.key for cell in small().cells()]
    assert [cell.key for cell in others.cells()] != [cell.key for cell in own.cells()]
    settings = [next(one.units()).settings(0) for one in (own, others)]
    assert settings[0] != settings[1]
    assert "draws" not in settings[0]  # so that a run of an earlier release goes on


def test_settings_have_the_seed():
    unit = next(small().units())
    assert isinstance(unit, Unit)
    assert unit.settings(0) != unit.settings(1)
