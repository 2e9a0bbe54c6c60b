"""What is no matrix, no target, or holds no numbers: refused in a sentence that says so."""

from __future__ import annotations

import datetime
import re
from typing import Any

import numpy as np
import scipy.sparse as sparse

from sparsewise import Targets
from sparsewise.errors import InputError
from tests.hostile.calls import BY_COLUMNS, words
from tests.hostile.campaign import Case, family, oracle
from tests.hostile.inputs import CONTAINERS, complex_gaussian, gaussian
from tests.hostile.refusals import one_sentence


@oracle
def data_refused(name: str, outcome: Any) -> None:
    """No answer is given for what is no data, and the refusal says which of the two it is."""
    assert isinstance(outcome, InputError), f"{name} gave {outcome!r}"
    assert re.search(rf"\b{name}\b", str(outcome)), f"{name} is not named: {outcome}"


@oracle
def place_named(outcome: InputError, count: int, row: int, column: int | None) -> None:
    """The sentence counts what is not finite, and names the first place by column and row."""
    text = str(outcome)
    assert f"has {count} NaN" in text, text
    assert f"row {row}" in text, text
    assert column is None or f"column {column}" in text, text


def not_matrices(n: int, m: int) -> dict[str, Any]:
    """What is no matrix of n rows."""
    A = np.ones((n, m))
    return {
        "a vector": np.ones(n),
        "a cube": np.ones((n, m, 2)),
        "a number": 3.0,
        "None": None,
        "words": [["a"] * m] * n,
        "a word": "A",
        "ragged": [[1.0] * (1 + i % 2) for i in range(max(n, 2))],
        "no rows": np.ones((0, m)),
        "no columns": np.ones((n, 0)),
        "sparse without columns": sparse.csr_array((n, 0)),
        "objects": np.full((n, m), object()),
        "None inside": np.full((n, m), None),
        "dates": np.full((n, m), np.datetime64("2020-01-01")),
        "durations": np.full((n, m), np.timedelta64(1, "D")),
        "bytes": np.full((n, m), b"1"),
        "records": np.zeros((n, m), [("a", float)]),
        "dict": {"a": [1.0] * n},
        "set": {1.0, 2.0},
        "masked": np.ma.masked_greater(np.arange(n * m, dtype=float).reshape(n, m), n * m - 2),
        "a function": lambda x: x,
        "a class": np.ndarray,
        "a date": datetime.date(2020, 1, 1),
        "frame of words": frame(n, m),
        "rows too few": A[:-1] if n > 1 else np.ones((2, m)),
    }


def frame(n: int, m: int) -> Any:
    import pandas as pd

    return pd.DataFrame({f"x{j}": ["a"] * n for j in range(m)})


def not_targets(n: int, multi_target: bool) -> dict[str, Any]:
    """What is no target of n entries, nor several."""
    matrices = {"a column": np.ones((n, 1)), "a matrix": np.ones((n, n))}
    weights = {
        "too many weights": Targets(np.ones((n, 2)), weights=np.ones(3)),
        "a weight of zero": Targets(np.ones((n, 2)), weights=[1.0, 0.0]),
        "weights that are no numbers": Targets(np.ones((n, 2)), weights=[1.0, "a"]),
        "targets of one more row": Targets(np.ones((n + 1, 2))),
    }
    return {
        **(weights if multi_target else matrices),
        "too long": np.ones(n + 1),
        "too short": np.ones(n - 1),
        "a row": np.ones((1, n)) if n > 1 else None,
        "a matrix of one more row": np.ones((n + 1, 2)),
        "a matrix without columns": np.ones((n, 0)),
        "a cube": np.ones((n, 1, 2)),
        "a number": 1.0 if n > 1 else "a",
        "None": None,
        "empty": [],
        "words": ["a"] * n,
        "a word": "y",
        "objects": np.array([object()] * n),
        "dates": np.full(n, np.datetime64("2020-01-01")),
        "masked": np.ma.masked_less(np.arange(n, dtype=float), 1.0),
        "sparse": sparse.csr_array(np.ones((n, 1))),
        "dict": dict.fromkeys(range(n), 1.0),
        "ragged": [[1.0], [1.0, 2.0]],
        "a function": lambda: 1,
    }


@family("bad_data", share=1)
def bad_data(case: Case) -> None:
    name = case.choose(*BY_COLUMNS)
    n, m = int(case.rng.integers(1, 9)), int(case.rng.integers(1, 9))
    A = (complex_gaussian if case.chance(0.2) else gaussian)(case.rng, n, m)
    y = case.rng.standard_normal(n)
    call = words(case, name, A, y)
    case.note(algorithm=name, shape=A.shape)
    kind = case.choose("matrix", "target", "not finite", "not finite y")
    if kind == "matrix":
        bad, value = draw(case, not_matrices(n, m))
        outcome = attempt(name, value, y, call)
        data_refused("y" if bad == "rows too few" else "A", outcome)
    elif kind == "target":
        bad, value = draw(case, not_targets(n, BY_COLUMNS[name].multi_target))
        outcome = attempt(name, A, value, call)
        data_refused("weights" if "weight" in bad else "y", outcome)
    elif kind == "not finite":
        spoil(case, A)
        container = case.choose(*CONTAINERS)
        case.note(container=container)
        with np.errstate(all="ignore"):
            outcome = attempt(name, CONTAINERS[container](A), y, call)
        data_refused("A", outcome)
        if "operator" not in str(outcome):
            rows, columns = np.nonzero(~np.isfinite(A))
            first = np.lexsort((rows, columns))[0]
            place_named(outcome, rows.size, rows[first], columns[first])
    else:
        if BY_COLUMNS[name].multi_target and case.chance(0.5):
            y = case.rng.standard_normal((n, case.choose(1, 2, 5)))
        spoil(case, y)
        outcome = attempt(name, A, y, call)
        data_refused("y", outcome)
        columns, rows = np.nonzero(~np.isfinite(y.reshape(n, -1).T))
        place_named(outcome, rows.size, rows[0], None)
        assert y.ndim == 1 or f"target {columns[0]}," in str(outcome), str(outcome)


def draw(case: Case, among: dict[str, Any]) -> tuple[str, Any]:
    kind = case.choose(*among)
    case.note(bad=kind)
    return kind, among[kind]


def spoil(case: Case, values: np.ndarray) -> None:
    """Put NaN or infinity into some places."""
    for _ in range(int(case.rng.integers(1, 4))):
        place = tuple(int(case.rng.integers(size)) for size in values.shape)
        values[place] = case.choose(np.nan, np.inf, -np.inf)


def attempt(name: str, A: Any, y: Any, call: dict[str, Any]) -> Any:
    """The answer, or the refusal, which is one sentence."""
    try:
        return BY_COLUMNS[name](A, y, **call)
    except InputError as refusal:
        one_sentence(refusal)
        return refusal
