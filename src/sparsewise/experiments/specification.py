"""One's own experiment from a YAML file."""

from __future__ import annotations

import inspect
import math
import re
from collections.abc import Hashable, Mapping, Sequence
from pathlib import Path
from reprlib import Repr
from typing import Any

import yaml

from sparsewise.algorithms import ALGORITHMS
from sparsewise.errors import InputError
from sparsewise.experiments.declaration import Cell, Contender, Experiment, Number, resolved
from sparsewise.experiments.draws import FAMILIES, SIGNALS
from sparsewise.experiments.paper import EXPERIMENTS
from sparsewise.wording import listing, look_up, printable, quoted

WHOLE = ("n", "m", "k")
QUANTITIES = (*WHOLE, "noise", "delta", "sampling", "sparsity")
FIELDS = ("name", "title", "family", "signal", "realizations", "algorithms", *QUANTITIES)

MOST = 10**15
"""Of any quantity: its products must stay finite."""

COUNT = "a whole number of at least 1"
MOST_CELLS = 10_000
MOST_ENTRIES = 2**30
"""Of a matrix; so many take 8 GB."""

NAME = re.compile(r"\w[\w.-]{0,79}")


def read_specification(path: str | Path) -> Experiment:
    """The experiment that a YAML file declares.

    ::

        name: mine                       # for the files; the file's own name by default
        title: How dense may it be?      # for the report
        family: gaussian                 # a key of FAMILIES: gaussian, correlated, ...
        signal: signs                    # a key of SIGNALS: signs, normal, uniform
        n: 64                            # one value or a list each; cells are all combinations
        m: 128
        k: [8, 12, 16]
        noise: 0.005                     # norm of the noise
        delta: 0.01                      # 2·noise by default
        realizations: 200
        algorithms:                      # by the name they are to have
          OMP: {algorithm: omp, residual: delta}
          BP: {algorithm: bpdn, residual: delta, threshold: 0.1*delta}
    """
    path = Path(path)
    shown = printable(str(path))
    declared = _mapping(_load(path, shown), shown)
    look_up(declared, FIELDS, f"word in {shown}:")
    for needed in ("m", "algorithms", "realizations"):
        if needed not in declared:
            raise InputError(f'{shown} lacks "{needed}"')
    name = _name(declared.get("name", re.sub(r"[^\w.-]+", "-", path.stem).strip(".-")))
    title = _text(declared.get("title", name), "title")
    grid = _grid(declared, shown)
    algorithms = _mapping(declared["algorithms"], "algorithms")
    contenders = tuple(_contender(label, value) for label, value in algorithms.items())
    draws = declared["realizations"]
    _require(_is_count(draws) and draws <= MOST, f"realizations must be {COUNT}", draws)
    family = _text(declared.get("family", "gaussian"), "family")
    signal = _text(declared.get("signal", "signs"), "signal")
    experiment = Experiment(name, title, grid, contenders, draws, family=family, signal=signal)
    look_up([experiment.family], FAMILIES, "family")
    look_up([experiment.signal], SIGNALS, "signal")
    _check_cells(experiment)
    return experiment


# --- YAML -----------------------------------------------------------------------------------------


class _Loader(yaml.SafeLoader):
    """YAML without tags of Python, where 1e-3 is a number and no word comes twice."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        """As ever, but a second value for a word is an error instead of the one that counts."""
        keys = [key.value for key, _ in node.value if isinstance(key, yaml.ScalarNode)]
        twice = {key for key in keys if keys.count(key) > 1}
        if twice:
            raise yaml.constructor.ConstructorError(
                problem=f"{listing(sorted(twice))} is there twice", problem_mark=node.start_mark
            )
        return super().construct_mapping(node, deep)


# YAML 1.2 has these as numbers; PyYAML follows 1.1, where they need a point and a sign.
_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float",
    re.compile(r"[-+]?(\d+\.?\d*|\.\d+)[eE][-+]?\d+"),
    list("-+.0123456789"),
)


def _load(path: Path, shown: str) -> Any:
    try:
        text = path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise InputError(f"there is no file {shown}") from None
    except OSError as error:
        raise InputError(f"can't read {shown}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise InputError(f"can't read {shown}: it is not text in UTF-8") from None
    try:
        return yaml.load(text, _Loader)
    except Exception as error:
        # Besides its own errors, PyYAML raises whatever comes of a date that is none, say.
        raise InputError(f"{shown} is not YAML that can be used: {_shown(error)}") from None


def _shown(value: Any) -> str:
    """A value in a few words, however large it is."""
    if isinstance(value, Exception):
        text = str(value) or type(value).__name__
    else:
        short = Repr()
        short.maxlevel, short.maxstring, short.maxother = 2, 60, 60
        text = short.repr(value)
    text = printable(text)
    return text if len(text) <= 300 else f"{text[:300]}..."


# --- words and numbers ----------------------------------------------------------------------------


def _require(fits: object, rule: str, value: Any) -> None:
    """Refuse a value that breaks a rule."""
    if not fits:
        raise InputError(f"{rule}, not {_shown(value)}")


def _mapping(value: Any, what: str) -> Mapping[str, Any]:
    pairs = isinstance(value, dict) and value and all(isinstance(key, str) for key in value)
    _require(pairs, f"{what} must hold pairs of a word and a value", value)
    return value


def _text(value: Any, what: str) -> str:
    _require(isinstance(value, str) and value.strip(), f"{what} must be a word", value)
    return printable(value)


def _name(name: Any) -> str:
    """What files are called after."""
    rule = "name must be of letters, digits, dots, - and _, 80 at the most"
    _require(isinstance(name, str) and NAME.fullmatch(name), rule, name)
    if name in EXPERIMENTS:
        raise InputError(f"{quoted(name)} is an experiment of the paper: choose another name")
    return str(name)


def _grid(declared: Mapping[str, Any], shown: str) -> dict[str, tuple[Number, ...]]:
    grid = {name: _values(declared[name], name) for name in QUANTITIES if name in declared}
    for wanted, other in (("n", "sampling"), ("k", "sparsity")):
        if (wanted in grid) == (other in grid):
            raise InputError(f'{shown} must have one of "{wanted}" and "{other}"')
    cells = math.prod(len(values) for values in grid.values())
    if cells > MOST_CELLS:
        lists = listing(name for name in grid if len(grid[name]) > 1)
        most = f"there may be {MOST_CELLS:,}: make them shorter"
        raise InputError(f"the lists of {lists} make {cells:,} cells", most)
    return grid


def _values(value: Any, name: str) -> tuple[Number, ...]:
    """One number or several."""
    many = value if isinstance(value, list) else [value]
    if not many:
        raise InputError(f"{name} is an empty list")
    fits, kind = (_is_count, COUNT) if name in WHOLE else (_is_size, "a number of at least 0")
    for i, one in enumerate(many):
        _require(fits(one), f"{name} must be {kind}, or a list of such", one)
        if one > MOST:
            raise InputError(f"{name} is too large: {_shown(one)}")
        if one in many[:i]:
            raise InputError(f"{name} has {one} twice")
    return tuple(many)


def _is_number(value: Any) -> bool:
    return (isinstance(value, int) and not isinstance(value, bool)) or (
        isinstance(value, float) and not math.isnan(value)
    )


def _is_size(value: Any) -> bool:
    return _is_number(value) and value >= 0


def _is_count(value: Any) -> bool:
    return _is_size(value) and isinstance(value, int) and value >= 1


# --- algorithms -----------------------------------------------------------------------------------


def _contender(label: str, value: Any) -> Contender:
    label = _text(label, "the name of an algorithm")
    parameters = dict(_mapping(value, f"algorithm {quoted(label)}"))
    if "algorithm" not in parameters:
        raise InputError(f'algorithm {quoted(label)} lacks "algorithm": {listing(ALGORITHMS)}')
    name = _text(parameters.pop("algorithm"), f'"algorithm" of {quoted(label)}')
    look_up([name], ALGORITHMS, "algorithm")
    threshold = parameters.pop("threshold", 0.0)
    rule = 'must be a number of at least 0 or a quantity such as "0.1*delta"'
    fits = isinstance(threshold, str) or _is_size(threshold)
    _require(fits, f'"threshold" of {quoted(label)} {rule}', threshold)
    _check_parameters(label, name, parameters)
    return Contender(label, name, parameters, threshold)


def _check_parameters(label: str, name: str, given: Mapping[str, Any]) -> None:
    taken = _parameters(name)
    look_up(given, taken, f"parameter of {quoted(label)} ({name}):")
    for parameter, one in taken.items():
        if one.default is inspect.Parameter.empty and parameter not in given:
            raise InputError(f'{quoted(label)} lacks "{parameter}", which {name} needs')
    for parameter, value in given.items():
        fits = all(_is_plain(one) for one in (value if isinstance(value, list) else [value]))
        rule = f'"{parameter}" of {quoted(label)} must be a number, a word or a list of such'
        _require(fits, rule, value)


def _parameters(name: str) -> dict[str, inspect.Parameter]:
    """What an algorithm takes that can be written down."""
    known = inspect.signature(ALGORITHMS[name]).parameters
    return {one: known[one] for one in known if one not in ("A", "y", "callback")}


def _is_plain(value: Any) -> bool:
    return value is None or isinstance(value, bool | str) or _is_number(value)


# --- cells ----------------------------------------------------------------------------------------


def _check_cells(experiment: Experiment) -> None:
    """Refuse what can't be drawn, before anything is."""
    cells = experiment.cells()
    for cell in cells:
        n, m, k = cell["n"], cell["m"], cell["k"]
        if not 1 <= k <= m:
            wrong = "k must be at least 1" if k < 1 else f"{k} of {m} columns can't be chosen"
            raise InputError(f"{wrong}: there is no cell with {cell.name}")
        if n * m > MOST_ENTRIES:
            raise InputError(f"a matrix of {n:,} × {m:,} is too large: make n or m smaller")
    for contender in experiment.contenders:
        _check_names(contender, cells)


def _check_names(contender: Contender, cells: Sequence[Cell]) -> None:
    """Refuse a word that stands for nothing."""
    takes = _parameters(contender.algorithm)
    given = {"threshold": contender.threshold, **contender.parameters}
    for name, value in given.items():
        if not isinstance(value, str) or (name in takes and isinstance(takes[name].default, str)):
            continue
        if any(isinstance(resolved(value, cell), str) for cell in cells):
            known = f"a number nor one of {listing(cells[0].quantities)}"
            wrong = f'"{name}" of {quoted(contender.label)} is {quoted(value)}'
            neither = f"which is neither {known}, perhaps with a factor in front"
            raise InputError(f"{wrong}, {neither}")
