"""One's own experiment from a YAML file."""

from __future__ import annotations

import inspect
import math
import re
import sys
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from reprlib import Repr
from typing import Any

import yaml

from sparsewise._util.text import listing, look_up, printable, quoted
from sparsewise.algorithms import ALGORITHMS
from sparsewise.errors import InputError
from sparsewise.experiments.catalogue import DECLARED
from sparsewise.experiments.declaration import Cell, Contender, Experiment, Number, resolved
from sparsewise.experiments.draws import FAMILIES, SIGNALS
from sparsewise.experiments.paper import EXPERIMENTS

WHOLE = ("n", "m", "k", "targets")
QUANTITIES = (*WHOLE, "noise", "delta", "sampling", "sparsity")
FIELDS = ("name", "title", "family", "signal", "realizations", "algorithms", *QUANTITIES)

MOST = 10**15
"""Of any quantity: its products must stay finite."""

COUNT = "a whole number of at least 1"
MOST_BYTES = 2**18
MOST_NODES = 20_000
"""Of a file: numbers, words, lists and mappings; reading so many takes about a second."""
MOST_DEPTH = 20
MOST_LETTERS = 5_000
"""Of a number or a word: some numbers are read in quadratic time."""
MOST_CELLS = 10_000
MOST_UNITS = 100_000
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
    for one in contenders if "targets" in grid else ():
        if not getattr(ALGORITHMS[one.algorithm], "multi_target", True):
            raise InputError(f"{quoted(one.label)} can't share targets: it takes one at a time")
    labels = Counter(one.label for one in contenders)
    if len(labels) < len(contenders):
        [(label, _)] = labels.most_common(1)
        raise InputError(f"two algorithms are called {quoted(label)}")
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
    """YAML without tags of Python, where 1e-3 is a number and no word comes twice.

    What is read is bounded, and so is the time: a few lines can stand for 10⁹ words.
    """

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._nodes = self._depth = 0

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        """As ever, but not too many, nor one in the other too deeply."""
        self._count(1)
        if self._depth == MOST_DEPTH:
            raise yaml.YAMLError(f"it is nested more than {MOST_DEPTH} levels deep")
        self._depth += 1
        node = super().compose_node(parent, index)
        self._depth -= 1
        return node

    def compose_scalar_node(self, anchor: Any) -> yaml.ScalarNode:
        """As ever, but not too long."""
        node = super().compose_scalar_node(anchor)
        if len(node.value) > MOST_LETTERS:
            raise yaml.YAMLError(f"a word has more than {MOST_LETTERS:,} letters")
        return node

    def compose_mapping_node(self, anchor: Any) -> yaml.MappingNode:
        """As ever, but a second value for a word is an error instead of the one that counts."""
        node = super().compose_mapping_node(anchor)
        keys = Counter(key.value for key, _ in node.value if isinstance(key, yaml.ScalarNode))
        twice = [key for key, times in keys.items() if times > 1]
        if twice:
            raise yaml.YAMLError(f"{listing(twice)} is there twice")
        # At once, so that whatever is merged has been merged into already: its size is known.
        self._count(sum(map(_pairs, (value for key, value in node.value if key.tag == MERGE))))
        self.flatten_mapping(node)
        return node

    def _count(self, more: int) -> None:
        self._nodes += more
        if self._nodes > MOST_NODES:
            raise yaml.YAMLError(f"it has more than {MOST_NODES:,} entries")


MERGE = "tag:yaml.org,2002:merge"


def _pairs(merged: yaml.Node) -> int:
    """How many pairs there are in a mapping, or a list of mappings, that is merged into another."""
    many = merged.value if isinstance(merged, yaml.SequenceNode) else [merged]
    return sum(len(one.value) for one in many)


# YAML 1.2 has these as numbers; PyYAML follows 1.1, where they need a point and a sign.
_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float",
    re.compile(r"[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)[eE][-+]?[0-9]+$"),
    list("-+.0123456789"),
)


def _load(path: Path, shown: str) -> Any:
    try:
        with path.open("rb") as file:
            data = file.read(MOST_BYTES + 1)
        text = data.decode("utf-8-sig")
    except FileNotFoundError:
        raise InputError(f"there is no file {shown}") from None
    except OSError as error:
        raise InputError(f"can't read {shown}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise InputError(f"can't read {shown}: it is not text in UTF-8") from None
    except ValueError as error:  # of a null byte in the name
        raise InputError(f"can't read {shown}: {error}") from None
    if len(data) > MOST_BYTES:
        raise InputError(f"{shown} is too large to declare an experiment: over {MOST_BYTES} bytes")
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
        try:
            text = short.repr(value)
        except ValueError:  # Python writes no more than some thousand digits
            text = "a number of very many digits"
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
    if name in DECLARED:
        whose = "the paper" if name in EXPERIMENTS else "this package"
        raise InputError(f"{quoted(name)} is an experiment of {whose}: choose another name")
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
    seen: set[Number] = set()
    for one in many:
        _require(fits(one), f"{name} must be {kind}, or a list of such", one)
        if one > MOST:
            raise InputError(f"{name} is too large: {_shown(one)}")
        if one in seen:
            raise InputError(f"{name} has {one} twice")
        seen.add(one)
    return tuple(many)


def _is_number(value: Any) -> bool:
    return (isinstance(value, int) and not isinstance(value, bool)) or (
        isinstance(value, float) and not math.isnan(value)
    )


def _is_finite(value: Any) -> bool:
    return _is_number(value) and abs(value) <= sys.float_info.max


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
    fits = isinstance(threshold, str) or (_is_finite(threshold) and threshold >= 0)
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
    return value is None or isinstance(value, bool | str) or _is_finite(value)


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
        _check_names(contender, cells[0])
    units = len(cells) * len(experiment.contenders)
    if units > MOST_UNITS:
        what = f"{len(cells):,} cells with {len(experiment.contenders):,} algorithms each"
        raise InputError(f"{what} are too many", f"there may be {MOST_UNITS:,} of both together")


def _check_names(contender: Contender, cell: Cell) -> None:
    """Refuse a word that stands for nothing; all cells have the same quantities."""
    takes = _parameters(contender.algorithm)
    given = {"threshold": contender.threshold, **contender.parameters}
    for name, value in given.items():
        if not isinstance(value, str) or (name in takes and isinstance(takes[name].default, str)):
            continue
        if not _is_finite(resolved(value, cell)):
            known = f"a number nor one of {listing(cell.quantities)}"
            wrong = f'"{name}" of {quoted(contender.label)} is {quoted(value)}'
            neither = f"which is neither {known}, perhaps with a factor in front"
            raise InputError(f"{wrong}, {neither}")
