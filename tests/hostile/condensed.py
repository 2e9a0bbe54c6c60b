"""Rows in chunks, merged in any order, and sums of them: judged by the rows, in extended precision.

A case draws a table and cuts it up; what a triangle gives is held against what weights and
intercept leave of the table itself. Sums are judged by the same oracles, in half of the digits.
"""

from __future__ import annotations

import hashlib
import io
import json
import math
import pickle
import re
import tempfile
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.sparse import csc_array, csr_array
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import sparsewise as sw
from sparsewise.design import DenseDesign, Design
from sparsewise.errors import InputError, InputWarning
from sparsewise.suffstats.triangle import Triangle
from tests.hostile import estimators
from tests.hostile.calls import LEAST_SQUARES, SEARCHES, Call, words
from tests.hostile.campaign import Case, family, fault, oracle
from tests.hostile.estimators import Given
from tests.hostile.inputs import GENERIC, MATRICES, balanced
from tests.hostile.least_squares import lengths, long
from tests.hostile.refusals import justified, one_sentence
from tests.hostile.solutions import (
    greedy_steps,
    least_squares,
    monotone_path,
    path_models,
    reason_holds,
    stated_residual,
    well_formed,
    worst_on_path,
)

Array = NDArray[Any]

#: Units of rounding by which inner products of unit columns may be off.
CLOSE = 4096
#: A column that varies by fewer units of rounding than this, of its mean, may count as constant.
CONSTANT = 256
#: How the rows of a chunk may be held.
HOLDERS: dict[str, Callable[[Array], Any]] = {
    "array": np.asarray,
    "Fortran": np.asfortranarray,
    "csr": csr_array,
    "csc": csc_array,
    "strided": lambda X: np.repeat(X, 2, axis=0)[::2],
}


@dataclass
class Rows:
    """A table, and whether a model of it has an intercept."""

    X: Array
    y: Array
    weights: Array | None
    intercept: bool
    kind: str
    offset: bool

    @property
    def is_generic(self) -> bool:
        """Whether columns have no ties, and are not all but parallel."""
        return self.kind in GENERIC and (self.intercept or not self.offset)

    @property
    def dtype(self) -> np.dtype[Any]:
        return np.result_type(self.X, np.complex64) if self.is_complex else self.X.dtype

    @property
    def wide(self) -> np.dtype[Any]:
        return np.result_type(self.dtype, np.float64)

    @property
    def is_complex(self) -> bool:
        return np.iscomplexobj(self.X) or np.iscomplexobj(self.y)

    def left(self) -> Left:
        """What weights and intercept leave of [X y]."""
        Z, powers = balanced(np.column_stack([self.X, self.y]).astype(self.wide))
        Z, w = long(Z), np.ones(len(self.y)) if self.weights is None else self.weights
        w = w.astype(np.longdouble)
        means = (w[:, None] * Z).sum(axis=0) / w.sum() * self.intercept
        # Where rows agree, rounding of their mean is all that would be left of them.
        first = Z[np.argmax(w > 0)]
        means = np.where((Z[w > 0] == first).all(axis=0) & self.intercept, first, means)
        return Left(np.sqrt(w)[:, None] * (Z - means), w, powers, means)


class Left(NamedTuple):
    """Rows without weights and intercept, each column times 2 to minus a power; and the means."""

    B: Array
    weights: Array
    powers: Array
    means: Array


def scaled(A: Array, powers: Array) -> Array:
    """Columns times powers of two."""
    real = np.ldexp(A.real, powers)
    return real + 1j * np.ldexp(A.imag, powers) if np.iscomplexobj(A) else real


def table(case: Case) -> Rows:
    """Rows of any kind: weights, offsets, constants, units, types."""
    n, m = int(case.rng.integers(1, 60)), int(case.rng.integers(1, 9))
    if case.chance(0.2):
        n, m = int(case.rng.integers(1, 9)), int(case.rng.integers(4, 16))
    kind = case.choose(*GENERIC, "gaussian", *MATRICES)
    X = MATRICES[kind](case.rng, n, m)
    y = X[:, : 1 + m // 3].sum(axis=1)
    if case.chance(0.8):
        y = y + 0.3 * np.linalg.norm(y) / math.sqrt(n) * case.rng.standard_normal(n)
    offset = float(case.choose(3.0, 1e3, 1e6, -1e6)) if case.chance(0.3) else 0.0
    X[:, case.rng.random(m) < 0.5] += offset
    case.note(offset=offset)
    if case.chance(0.15):
        X[:, case.rng.integers(m)] = case.choose(0.0, 1 / 3, -7e5)
    y = y + case.choose(0.0, 1.0, 1e6) if case.chance(0.5) else y
    if case.chance(0.1):
        y = np.full(n, float(case.choose(0.0, 0.1)))
    single = case.chance(0.2)
    if case.chance(0.3):
        far = 8 if single else 100
        X = X * 10.0 ** case.rng.integers(-far, far + 1, m).astype(float)
        y = y * 10.0 ** float(case.rng.integers(-far, far + 1))
    if single:
        X = X.astype(np.complex64 if np.iscomplexobj(X) else np.float32)
    rows = Rows(X, y, weights(case, n), case.chance(0.7), kind, bool(offset))
    case.note(matrix=kind, shape=X.shape, dtype=str(X.dtype), intercept=rows.intercept)
    return rows


def weights(case: Case, n: int) -> Array | None:
    kind = case.choose("none", "none", "ones", "counts", "shares", "huge", "tiny")
    case.note(weights=kind)
    return {
        "none": None,
        "ones": np.ones(n),
        "counts": case.rng.integers(0, 4, n).astype(float),
        "shares": case.rng.uniform(0.1, 2, n),
        "huge": case.rng.uniform(1, 2, n) * 1e12,
        "tiny": case.rng.uniform(1, 2, n) * 1e-9,
    }[kind]


def gathered(case: Case, rows: Rows) -> sw.Condensed:
    """The rows in chunks of any size, in any order, some of them by adding up."""
    n = len(rows.y)
    order = case.rng.permutation(n)
    cuts = np.sort(case.rng.integers(0, n + 1, int(case.rng.integers(0, 6))))
    chunks = [at for at in np.split(order, cuts) if at.size]
    holder, named = case.choose(*HOLDERS), case.chance(0.1)
    labels = case.rng.integers(0, 3, n) if case.chance(0.2) else None
    case.note(chunks=[len(at) for at in chunks], holder=holder, folds=labels is not None)
    heap = [sw.Condensed()]
    for at in chunks:
        X = rows.X[at]
        if named:
            X = pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])])
        else:
            X = HOLDERS[holder](X)
        w = None if rows.weights is None else rows.weights[at]
        into = heap[-1] if case.chance(0.5) else sw.Condensed()
        into.update(X, rows.y[at], w, fold=None if labels is None else labels[at])
        heap += [] if into is heap[-1] else [into]
    while len(heap) > 1:
        i, j = case.rng.choice(len(heap), 2, replace=False).tolist()
        heap = [one for k, one in enumerate(heap) if k not in (i, j)] + [heap[i] + heap[j]]
    return heap[0]


def summed(rows: Rows) -> sw.Condensed:
    """The same from sums, in the precision of the rows."""
    Z = np.column_stack([rows.X, rows.y]).astype(rows.wide)
    w = np.ones(len(Z)) if rows.weights is None else rows.weights
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        M = Z.conj().T @ (w[:, None] * Z)
        means = w @ Z / w.sum()
        G = M[:-1, :-1].astype(rows.dtype)
    known = {"X_mean": means[:-1], "y_mean": means[-1]} if rows.intercept else {}
    return sw.from_gram(G, M[:-1, -1], M[-1, -1].real, w.sum(), **known)


# --- oracles -------------------------------------------------------------------------------------


@oracle
def same_inner_products(rows: Rows, design: Design, target: Array, of_sums: bool) -> None:
    """Those of the triangle are those of the rows, relative to the norms of their columns."""
    B, w, powers, means = rows.left()
    R = long(scaled(np.column_stack([design.columns(slice(None)), target]), -powers))
    norms = lengths(B)
    eps = float(np.finfo(design.dtype).eps)
    size = np.abs(B / np.sqrt(np.where(w > 0, w, 1))[:, None]).max(axis=0)
    constant = size == 0
    assert not R[:, constant].any(), "a constant column is not zero"
    level = CONSTANT * (eps if not of_sums else math.sqrt(eps))
    may_vanish = size <= level * np.abs(means)
    told = ~(may_vanish & ~R.any(axis=0)) & ~constant
    unit = np.where(norms > 0, norms, 1)
    off = np.abs(B.conj().T @ B - R.conj().T @ R) / unit / unit[:, None]
    allowed = CLOSE * max(eps, design.error**2)
    off = off[told][:, told]
    assert (off <= allowed).all(), f"off by {float(off.max()) / allowed:.3g} times enough"


@oracle
def coarse(rows: Rows, refusal: InputError) -> None:
    """Sums are refused only where offsets have cost them their digits."""
    B, w, _, means = rows.left()
    lost = math.sqrt(float(np.finfo(rows.dtype).eps)) * np.abs(means) * np.sqrt(w.sum())
    norms = lengths(B)
    found = re.search(r"^(The target|Column (\d+)) is known to", str(refusal))
    assert found, f"refused for no reason that we know: {refusal}"
    j = int(found[2] or rows.X.shape[1])
    assert norms[j] <= 1e3 * lost[j], f"{refusal}: {norms[j]:.3g} beside {lost[j]:.3g}"


@oracle
def rows_are_counted(rows: Rows, condensed: sw.Condensed) -> None:
    """Weights add up, and features are as many as they were."""
    total = float(len(rows.y) if rows.weights is None else rows.weights.sum())
    assert math.isclose(condensed.n_rows, total, rel_tol=1e-9), f"{condensed.n_rows} of {total}"
    assert condensed.n_features == rows.X.shape[1]
    assert condensed.dtype == rows.dtype, f"{condensed.dtype}, not {rows.dtype}"


@oracle
def survives_a_file(condensed: sw.Condensed, intercept: bool) -> None:
    """What was saved, or sent to another process, is what it was, to the last bit."""
    with tempfile.TemporaryDirectory() as folder:
        condensed.save(Path(folder, "rows"))
        loaded = sw.Condensed.load(Path(folder, "rows"))
    A, y = condensed.system(intercept)
    for again in (loaded, pickle.loads(pickle.dumps(condensed))):
        B, z = again.system(intercept)
        assert np.array_equal(A.columns(slice(None)), B.columns(slice(None))), "another matrix"
        assert np.array_equal(y, z), "another target"
        assert (A.rows, A.error, again.folds) == (B.rows, B.error, condensed.folds)


@oracle
def answers_of_the_rows(call: Call, solution: Any, design: Design) -> None:
    """On columns of general position, the rows themselves give the same answer."""
    exact = call.exact
    whole = DenseDesign(call.truth, rows=design.rows)
    try:
        expected = call.record(whole, call.y, **call.words)
    except InputError:
        return
    S = expected.support.tolist()
    fit = exact.fit(S)
    # Where nothing is left, what comes last is rounding, and so is the reason to stop.
    if fit.norm <= 1e-3 or len(S) >= len(call.truth) - 2 or fit.condition > 1e3:
        return
    assert solution.support.tolist() == S, f"{solution.support}, not {S}"
    apart = exact.unit_coef(solution.coef, S) - exact.unit_coef(expected.coef, S)
    off = float(np.abs(apart).max(initial=0.0)) / (fit.size * fit.condition)
    rounding = max(float(np.finfo(design.dtype).eps), design.error**2)
    assert off <= 1e5 * rounding, f"coefficients are off by {off / rounding:.3g} units of rounding"


@oracle
def holds_for_the_triangle(solution: Any, design: Design, target: Array) -> None:
    """It passes its own check."""
    checked = solution.check(design, target)
    assert checked.ok, str(checked)


def judge(call: Call, solution: Any) -> None:
    """What can be said of an answer from the rows alone."""
    well_formed(call, solution)
    call.worst = worst_on_path(call, solution)
    stated_residual(call, solution)
    least_squares(call, solution.coef, solution.support.tolist())
    if call.algorithm not in SEARCHES:
        monotone_path(call, solution)
        path_models(call, solution)
        greedy_steps(call, solution)
    if call.algorithm not in (*SEARCHES, "stepwise"):  # whose criteria count rows by their weights
        reason_holds(call, solution)


def a_call_on(case: Case, rows: Rows, design: Design, target: Array) -> Call:
    """An algorithm on a triangle, with the rows as the truth it is judged by."""
    B, _, powers, _ = rows.left()
    name = case.choose(*LEAST_SQUARES)
    A = scaled(B, powers)
    # Columns that count as constant are zero, for the judges, too.
    A[:, np.append(design.norms() == 0, not target.any())] = 0
    A, y = A[:, :-1].astype(design.dtype), A[:, -1].astype(target.dtype)
    drawn = words(case, name, np.empty(design.shape), y)
    case.note(algorithm=name, **drawn)
    return Call(name, A, design, y, drawn, given=target)


def try_on(case: Case, rows: Rows, condensed: sw.Condensed, of_sums: bool) -> None:
    """What an algorithm makes of a triangle."""
    design, target = condensed.system(rows.intercept)
    same_inner_products(rows, design, target, of_sums)
    survives_a_file(condensed, rows.intercept)
    call = a_call_on(case, rows, design, target)
    exact = call.exact
    exact.eps, exact.part = (
        design.tolerances.eps,
        4 * exact.part * design.tolerances.eps / exact.eps,
    )
    try:
        solution = call()
    except InputError as refusal:
        one_sentence(refusal)
        if not str(refusal).startswith("cp needs") or design.rows > design.shape[1]:
            justified(call, refusal)
        return
    judge(call, solution)
    holds_for_the_triangle(solution, design, target)
    # Where sums have few digits, they tell less of what explains little.
    if rows.is_generic and (not of_sums or design.error < 1e-6):
        answers_of_the_rows(call, solution, design)


def has_none(rows: Rows) -> bool:
    """Whether there are too few rows that count."""
    counted = len(rows.y) if rows.weights is None else int(np.count_nonzero(rows.weights))
    return counted < 1 + rows.intercept


@family("condensed", share=2)
def in_chunks(case: Case) -> None:
    """A table in chunks."""
    rows = table(case)
    condensed = gathered(case, rows)
    try:
        condensed.system(rows.intercept)
    except InputError as refusal:
        one_sentence(refusal)
        if not has_none(rows):
            raise
        return
    rows_are_counted(rows, condensed)
    try_on(case, rows, condensed, of_sums=False)


@family("sums")
def by_sums(case: Case) -> None:
    """Sums of a table's squares and products."""
    rows = table(case)
    if has_none(rows) or (rows.weights is not None and rows.weights.sum() < 1):
        return
    try:
        condensed = summed(rows)
    except InputError as refusal:
        one_sentence(refusal)
        if not re.search("NaN or infinite|too small for its digits", str(refusal)):
            raise
        return
    rows_are_counted(rows, condensed)
    try:
        condensed.system(rows.intercept)
    except InputError as refusal:
        one_sentence(refusal)
        coarse(rows, refusal)
        return
    try_on(case, rows, condensed, of_sums=True)


# --- estimators ----------------------------------------------------------------------------------


def split(case: Case, given: Given) -> list[tuple[Any, ...]]:
    """The rows of a table in chunks, in their order."""
    cuts = np.sort(case.rng.integers(0, len(given.y) + 1, int(case.rng.integers(0, 5))))
    parts = [given.X, given.y, *([] if given.weights is None else [given.weights])]
    pieces = zip(*(np.split(part, cuts) for part in parts), strict=True)
    return [chunk for chunk in pieces if len(chunk[1])]


def fit_to_chunks(model: Any, chunks: list[tuple[Any, ...]], how: str) -> Any:
    """The model, by one of the ways in which chunks are taken."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InputWarning)
        if how == "fit":
            return model.fit(iter(chunks))
        if how == "condensed":
            rows = sw.Condensed()
            for chunk in chunks:
                rows = sw.Condensed().update(*chunk) + rows
            return model.fit(rows)
        for chunk in chunks:
            for rows in one_by_one(chunk) if how == "row by row" else [chunk]:
                model.partial_fit(*rows)
        try:
            model.predict(np.zeros((1, model.n_features_in_)))
        except NotFittedError as refusal:  # of too few rows
            raise InputError(str(refusal)) from None
        return model


def one_by_one(chunk: tuple[Any, ...], most: int = 12) -> Iterator[tuple[Any, ...]]:
    """The first rows of a chunk alone, and the others together."""
    cuts = range(1, min(len(chunk[1]), most))
    yield from zip(*(np.split(part, cuts) for part in chunk), strict=True)


@oracle
def chunks_do_not_matter(told: Any, expected: Any) -> None:
    """The same fit as to all rows at once; equal features may stand in for each other."""
    counted = told.n_rows_, expected.n_rows_
    assert math.isclose(*counted, rel_tol=1e-9), "{} rows of {}".format(*counted)
    size = math.sqrt(float(expected.criteria_.total)) or 1.0
    norms = [float(model.solution_.residual_norm) for model in (told, expected)]
    assert abs(norms[0] - norms[1]) <= 1e-6 * size, f"residual {norms[0]}, of all rows {norms[1]}"
    if not np.array_equal(told.get_support(), expected.get_support()):
        return
    unit = np.abs(expected.coef_).max(initial=0.0)
    assert np.allclose(told.coef_, expected.coef_, rtol=1e-5, atol=1e-7 * unit), "coefficients"


@family("estimators on chunks")
def on_chunks(case: Case) -> None:
    """An estimator fitted to chunks, beside the same fitted to all rows."""
    given = estimators.table(case)
    estimators.weigh(case, given)
    if given.flaws:
        return
    model = estimators.estimator(case, given)
    by_rows = {"cv", "loo"} & {str(model.get_params().get("criterion"))}
    if by_rows or given.flaws:
        return
    chunks = split(case, given)
    how = case.choose("fit", "condensed", "partial_fit", "row by row")
    case.note(how=how, chunks=[len(chunk[1]) for chunk in chunks])
    results = []
    for attempt in (
        lambda: estimators.fit(clone(model), given.X, given, given.weights),
        lambda: fit_to_chunks(clone(model), chunks, how),
    ):
        try:
            results.append(attempt())
        except InputError as refusal:
            one_sentence(refusal)
            results.append(refusal)
    refused = [isinstance(result, InputError) for result in results]
    both_or_neither(refused, results)
    if not any(refused):
        chunks_do_not_matter(results[1], results[0])


@oracle
def both_or_neither(refused: list[bool], results: list[Any]) -> None:
    """What is refused as a table is refused in chunks, and nothing else."""
    assert refused[0] == refused[1], f"one of them is refused: {results}"


# --- files that nobody saved ---------------------------------------------------------------------


def forge(case: Case, arrays: dict[str, Array]) -> None:
    """Change an array, or what is said of them."""
    name = case.choose(*arrays)
    array, how = arrays[name], case.choose("type", "shape", "values", "gone", "header")
    if how == "gone":
        del arrays[name]
    elif how == "shape":
        arrays[name] = case.choose(array[..., None], np.resize(array, (3, 2)), array.ravel()[:0])
    elif how == "values":
        arrays[name] = np.full_like(array, case.choose(0, 1, 200))
    elif how == "type":
        arrays[name] = np.resize(array, array.shape).astype(
            case.choose("f2", "f4", "u1", "U3", "c8", "M8[s]", "?", ">f8")
        )
    else:
        known = json.loads(arrays["header"].tobytes())
        word = case.choose(*known)
        known[word] = case.choose(None, -1, 10**11, 1.5, "x", [], [None, None], {}, True, "f8", 2)
        arrays["header"] = np.frombuffer(json.dumps(known).encode(), np.uint8)
    case.note(name=name, how=how)


@family("forged")
def forged_file(case: Case) -> None:
    """A file with a valid checksum whose arrays are not those that were saved."""
    n, m = int(case.rng.integers(1, 9)), int(case.rng.integers(1, 4))
    X, y = case.rng.standard_normal((n, m)), case.rng.standard_normal(n)
    rows = sw.Condensed()
    for fold in case.choose([None], [0, 1], ["a"]):
        rows.update(X, y, fold=fold)
    arrays = rows.to_arrays()
    forge(case, arrays)
    compressed = case.chance(0.2)
    content = io.BytesIO()
    (np.savez_compressed if compressed else np.savez)(content, **arrays)
    body = bytearray(content.getvalue())
    for _ in range(case.choose(0, 0, 1, 3)):
        body[int(case.rng.integers(len(body)))] = int(case.rng.integers(256))
    digest = hashlib.sha256(body).hexdigest()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "rows")
        path.write_bytes(f"sparsewise-condensed 1 {digest}\n".encode() + body)
        try:
            loaded = sw.Condensed.load(path)
        except InputError as refusal:
            one_sentence(refusal)
            return
    is_usable(loaded)


@oracle
def is_usable(loaded: sw.Condensed) -> None:
    """What a file was read as takes more rows, and is fitted; or both are refused."""
    if loaded.n_features is None:
        return
    X = np.zeros((2, loaded.n_features))
    y = np.zeros(2 if loaded.n_targets is None else (2, loaded.n_targets))
    named = [
        part if names is None else pd.DataFrame(part, columns=names)
        for part, names in ((X, loaded.feature_names), (y, loaded.target_names))
    ]
    model = sw.StepwiseRegressor(sparsity=1)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            model.fit(loaded)
            loaded.update(*named)
        except InputError as refusal:
            one_sentence(refusal)
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
            raise AssertionError(f"{type(error).__name__}: {error}") from None


# --- faults --------------------------------------------------------------------------------------


@fault(same_inner_products, family="condensed")
def merged_without_a_shift():
    def as_it_was(self: Triangle, shift: Array) -> Triangle:
        twin = self.copy()
        twin.shift = shift
        return twin

    return patch.object(Triangle, "_shifted", as_it_was)


@fault(rows_are_counted, family="condensed")
def weights_forgotten():
    return patch.object(sw.Condensed, "n_rows", property(lambda rows: rows.count))


@fault(survives_a_file, family="sums")
def files_that_forget_the_error():
    load = sw.Condensed.load

    def without_error(path: Any) -> sw.Condensed:
        loaded = load(path)
        for part in loaded._parts.values():
            part.error = 0 * part.error
        return loaded

    return patch.object(sw.Condensed, "load", without_error)


@fault(coarse, family="sums")
def refused_without_need():
    def refuse(self: Triangle, matrix: Array, targets: int = 1) -> float:
        raise InputError("Column 0 is known to be refused.")

    return patch.object(Triangle, "error_of", refuse)


@fault(answers_of_the_rows, family="condensed")
def triangles_taken_for_coarse():
    return patch.object(Triangle, "error_of", lambda self, matrix, targets=1: 1e-2)


@fault(holds_for_the_triangle, family="condensed")
def nothing_holds():
    check = sw.Solution._check_fit
    return patch.object(sw.Solution, "_check_fit", lambda *a: replace(check(*a), ok=False))


@fault(chunks_do_not_matter, family="estimators on chunks")
def the_last_rows_lost():
    update = sw.Condensed.update

    def shorter(self: Any, X: Any, y: Any, weights: Any = None, **more: Any) -> Any:
        if len(y) > 1:
            X, y = X[:-1], y[:-1]
            weights = None if weights is None else weights[:-1]
        return update(self, X, y, weights, **more)

    return patch.object(sw.Condensed, "update", shorter)


@fault(is_usable, family="forged")
def arrays_taken_as_they_come():
    def unchecked(arrays: Any, columns: int) -> Triangle:
        return Triangle(**{k: v if v.ndim else v.item() for k, v in arrays.items()})

    return patch.object(Triangle, "from_arrays", unchecked)


@fault(both_or_neither, family="estimators on chunks")
def no_chunks_taken():
    def refuse(*args: Any, **more: Any) -> None:
        raise InputError("There is no reason to refuse this.")

    return patch.object(sw.Condensed, "system", refuse)
