"""One name for one thing: the glossary of CONTRIBUTING.md, held against every public signature."""

import inspect
import re
from pathlib import Path

import pytest

import sparsewise

ROOT = Path(__file__).parent.parent
TAIL = ["include", "exclude", "start", "callback"]
ESTIMATOR_TAIL = ["fit_intercept", "include", "exclude", "certify"]


def glossary() -> dict[str, str]:
    """The parameters of the table in CONTRIBUTING.md, and what they mean."""
    page = (ROOT / "CONTRIBUTING.md").read_text()
    table = page.split("### Parameters")[1].split("\n#")[0]
    rows = re.findall(r"^\| (`.*?`) \| (.+?) \|$", table, re.MULTILINE)
    return {name: meaning for names, meaning in rows for name in re.findall(r"`(\w+)`", names)}


def public() -> dict[str, inspect.Signature]:
    """Every public function and estimator by name."""
    found = {name: getattr(sparsewise, name) for name in dir(sparsewise)}
    return {
        name: inspect.signature(value)
        for name, value in found.items()
        if inspect.isfunction(value) or name.endswith(("Regressor", "Selection"))
    }


PUBLIC = public()


def in_order(names, wanted):
    """Those of the names that are wanted, as they stand."""
    return [name for name in names if name in wanted]


@pytest.mark.parametrize("name", PUBLIC)
def test_every_parameter_is_in_the_glossary(name):
    assert set(PUBLIC[name].parameters) <= set(glossary())


def test_the_glossary_has_nothing_else():
    used = {parameter for signature in PUBLIC.values() for parameter in signature.parameters}
    assert set(glossary()) == used


@pytest.mark.parametrize("name", sparsewise.ALGORITHMS)
def test_constraints_start_and_callback_come_last_in_one_order(name):
    names = list(PUBLIC[name].parameters)
    tail = in_order(names, TAIL)
    assert tail == [one for one in TAIL if one in names]
    # Only what watches the algorithm may follow.
    assert [one for one in names[names.index(tail[0]) :] if one not in ("watch", *tail)] == []


@pytest.mark.parametrize("name", [name for name in PUBLIC if name.endswith("Regressor")])
def test_estimators_share_one_order(name):
    names = list(PUBLIC[name].parameters)
    assert in_order(names, ESTIMATOR_TAIL) == [one for one in ESTIMATOR_TAIL if one in names]


@pytest.mark.parametrize("name", sparsewise.ALGORITHMS)
def test_everything_but_the_data_is_passed_by_name(name):
    parameters = PUBLIC[name].parameters
    assert list(parameters)[:2] == ["A", "y"]
    by_name = inspect.Parameter.KEYWORD_ONLY
    assert all(one.kind is by_name for one in list(parameters.values())[2:])


def test_completion_shows_everything_public_and_nothing_else():
    shown = dir(sparsewise)
    assert set(sparsewise.ALGORITHMS) <= set(shown)
    assert {"StepwiseRegressor", "PathDisplay", "Solution", "certify"} <= set(shown)
    for name in shown:
        assert getattr(sparsewise, name).__doc__
    assert not {"annotations", "Any", "TYPE_CHECKING", "algorithms", "import_module"} & set(shown)


def test_import_star_takes_what_completion_shows():
    names: dict = {}
    exec("from sparsewise import *", names)
    assert set(names) - {"__builtins__"} == set(dir(sparsewise))
