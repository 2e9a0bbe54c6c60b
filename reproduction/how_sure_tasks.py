"""What is done in a cell of `how_sure`: probabilities, sets, predictions, judged by the truth."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import cache, partial
from typing import Any

import numpy as np

from reproduction.declaration import Cell, Unit
from reproduction.generators import DATA, FAMILIES, Draw, chain, generator, genotypes
from reproduction.how_sure import DESIGNS, SETTINGS, TABLES
from reproduction.measure import noted, timed
from reproduction.peers import competitor
from reproduction.r_peers import R_PEERS
from sparsewise import InputWarning, forward, posterior
from sparsewise._typing import Array

Values = dict[str, list[float]]

# --- inclusion probabilities ----------------------------------------------------------------------

BINS = (0.0, 0.05, 0.2, 0.5, 0.8, 0.95, 1.0)
"""Limits of the bins of stated probabilities."""

EFFECTS: tuple[Callable[[np.random.Generator, int], Array], ...] = (
    lambda rng, k: rng.choice([-1.0, 1.0], k),
    lambda rng, k: rng.standard_normal(k),
    lambda rng, k: rng.standard_t(3, k),
)
"""True coefficients: ±1, normal, t with three degrees of freedom."""

NOISES: tuple[Callable[[np.random.Generator, int], Array], ...] = (
    lambda rng, n: rng.standard_normal(n),
    lambda rng, n: rng.standard_t(4, n) / math.sqrt(2),
)
"""Noise of variance one: normal, t with four degrees of freedom."""

SNR = (0.2, 5.0)
"""Signal-to-noise ratios are between these, equally probable on a scale of logarithms."""


def drawn_table(cell: Cell, realization: int, seed: int) -> Draw:
    """Columns of a design; effects and noise take turns over the realisations."""
    rng = generator(cell, realization, seed)
    n, m, k = int(cell["n"]), int(cell["m"]), int(cell["k"])
    A = FAMILIES[DESIGNS[int(cell["design"])]](rng, n, m)
    A = A / np.linalg.norm(A, axis=0) * math.sqrt(n)
    effects = EFFECTS[realization % len(EFFECTS)]
    noise = NOISES[realization // len(EFFECTS) % len(NOISES)]
    return with_effects(rng, A, effects(rng, k), math.exp(rng.uniform(*np.log(SNR))), noise(rng, n))


def with_effects(
    rng: np.random.Generator, A: Array, effects: Array, snr: float, noise: Array
) -> Draw:
    """The effects at random places, scaled to a signal-to-noise ratio."""
    x = np.zeros(A.shape[1])
    x[rng.choice(x.size, effects.size, replace=False)] = effects
    if effects.size:
        x *= math.sqrt(snr) / np.std(A @ x)
    return Draw(A, A @ x + noise, x)


def inclusion(unit: Unit, seed: int) -> Values:
    """How many columns are chosen, how many of them are true; of probabilities, these by bins."""
    values: Values = {}
    for realization in range(unit.realizations):
        with noted(f"realisation {realization}"):
            A, y, x = drawn_table(unit.cell, realization, seed)
            found, seconds, rough = solved(unit, A, y, realization == 0)
            coef = found.coef
            chosen = found.support if hasattr(found, "support") else np.flatnonzero(coef)
            true = x != 0
            row = {"chosen": chosen.size, "hits": true[chosen].sum(), "true": true.sum()}
            row |= {"seconds": seconds, "warned": rough}
            if hasattr(found, "inclusion"):
                row |= binned(found.inclusion, true)
        append(values, row)
    return values


def binned(probabilities: Array, true: Array) -> dict[str, float]:
    """Columns of each bin of probabilities, the sum of these, and how many are true."""
    which = np.digitize(probabilities, BINS[1:-1])
    row: dict[str, float] = {}
    for i in range(len(BINS) - 1):
        here = which == i
        row |= {f"columns_{i}": here.sum(), f"expected_{i}": probabilities[here].sum()}
        row |= {f"true_{i}": true[here].sum()}
    return row


def solved(unit: Unit, A: Array, y: Array, first: bool) -> tuple[Any, float, bool]:
    """What a contender finds, its seconds of processor time, and whether it warned."""
    name = unit.contender.algorithm
    algorithm = posterior if name == "posterior" else competitor(name)
    call = partial(algorithm, A, y, **unit.contender.arguments(unit.cell))
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always", InputWarning)
        found, seconds = timed(call, first, time.process_time)
    return found, seconds, any(issubclass(one.category, InputWarning) for one in told)


def append(values: Values, row: dict[str, Any]) -> None:
    """Add what was found in a realisation."""
    for name, value in row.items():
        values.setdefault(name, []).append(float(value))


# --- credible sets --------------------------------------------------------------------------------

NEIGHBOURS = 50
"""Columns that hang together; those beside them begin anew."""

EXPLAINED = (0.1, 0.2, 0.4)
"""Shares of the variance that the effects explain."""


def linked_columns(rng: np.random.Generator, n: int, m: int, rho: float) -> Array:
    """Counts 0, 1, 2 of a variant on two copies of a chromosome, correlated with the next ones."""
    from scipy.special import ndtri

    limits = ndtri(rng.uniform(0.1, 0.5, m))
    counts = np.zeros((n, m))
    for _ in range(2):
        normal = rng.standard_normal((n, m))
        for begin in range(0, m, NEIGHBOURS):
            chain(normal[:, begin : begin + NEIGHBOURS], rho)
        counts += normal < limits
    return counts


def linked_table(cell: Cell, realization: int, seed: int) -> Draw:
    """Such columns with normal effects, centred."""
    rng = generator(cell, realization, seed)
    n, m, k = int(cell["n"]), int(cell["m"]), int(cell["k"])
    A = linked_columns(rng, n, m, cell["rho"])
    A -= A.mean(axis=0)
    share = EXPLAINED[realization % len(EXPLAINED)]
    effects = rng.standard_normal(k)
    A, y, x = with_effects(rng, A, effects, share / (1 - share), rng.standard_normal(n))
    return Draw(A, y - y.mean(), x)


def credible_sets(unit: Unit, seed: int) -> Values:
    """Sets, how many hold a true column, their columns, and true columns in sets."""
    tables = [linked_table(unit.cell, i, seed) for i in range(unit.realizations)]
    return sets_on(unit, tables)


def fine_mapping(unit: Unit, seed: int) -> Values:
    """The same on a trait of SuSiE's example data."""
    A, traits, effects = genotypes(int(unit.cell["region"]))
    i = int(unit.cell["trait"])
    return sets_on(unit, [Draw(A, traits[:, i], effects[:, i])])


def sets_on(unit: Unit, tables: Sequence[Draw]) -> Values:
    """Credible sets of a contender on tables, judged by the true coefficients."""
    values: Values = {}
    found = _in_r if unit.contender.algorithm in R_PEERS else _by_posterior
    for (_, _, x), (sets, seconds, rough) in zip(tables, found(unit, tables), strict=True):
        append(values, judged(sets, x) | {"seconds": seconds, "warned": rough})
    return values


def judged(sets: Sequence[Collection[int]], x: Array) -> dict[str, float]:
    """How many sets hold a true column, and how many true columns are in sets."""
    true, held = set(np.flatnonzero(x).tolist()), {j for one in sets for j in one}
    return {
        "sets": len(sets),
        "covered": sum(not true.isdisjoint(one) for one in sets),
        "columns": sum(map(len, sets)),
        "hits": len(true & held),
        "true": len(true),
    }


Found = Iterable[tuple[list[Any], float, bool]]


def _by_posterior(unit: Unit, tables: Sequence[Draw]) -> Found:
    for i, (A, y, _) in enumerate(tables):
        with noted(f"realisation {i}"):
            found, seconds, rough = solved(unit, A, y, i == 0)
            yield [one.columns for one in found.credible_sets()], seconds, rough


def _in_r(unit: Unit, tables: Sequence[Draw]) -> Found:
    for words in R_PEERS[unit.contender.algorithm]([(A, y) for A, y, _ in tables]):
        seconds, *sets = words.split()
        yield [[int(j) - 1 for j in one.split(",")] for one in sets], float(seconds), False


# --- Hastie, Tibshirani and Tibshirani ------------------------------------------------------------

RIDGES = (0.0, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0)
"""Of unit columns."""

LONGEST = 50
"""Most columns, as theirs had."""


def best_subset_table(
    cell: Cell, realization: int, seed: int
) -> tuple[Draw, tuple[Array, Array], Array, float]:
    """Training rows, as many validation rows, the covariance of the columns, and σ²."""
    _, n, m, k = SETTINGS[int(cell["setting"])]
    rng, x = generator(cell, realization, seed), coefficients(int(cell["beta"]), m, k)
    rho = cell["rho"]
    covariance = rho ** np.abs(np.subtract.outer(np.arange(m), np.arange(m))) if rho else np.eye(m)
    variance = float(x @ covariance @ x) / cell["snr"]
    A, A_valid = (chain(rng.standard_normal((n, m)), rho) for _ in range(2))
    y, y_valid = (X @ x + math.sqrt(variance) * rng.standard_normal(n) for X in (A, A_valid))
    return Draw(A, y, x), (A_valid, y_valid), covariance, variance


def coefficients(kind: int, m: int, k: int) -> Array:
    """Their β: k ones, equally spaced (1) or first (2); 10 to 0.5 (3); ones and a tail 2⁻ⁱ (5)."""
    x = np.zeros(m)
    if kind == 1:
        x[np.round(np.linspace(1, m, k)).astype(int) - 1] = 1.0
    else:
        x[:k] = np.linspace(10, 0.5, k) if kind == 3 else 1.0
    if kind == 5:
        x[k:] = 0.5 ** np.arange(1, m - k + 1)
    return x


def best_subset(unit: Unit, seed: int) -> Values:
    """Relative test error, F₁ of the support, size and time."""
    values: Values = {}
    for realization in range(unit.realizations):
        with noted(f"realisation {realization}"):
            table = best_subset_table(unit.cell, realization, seed)
            (A, y, x), validation, covariance, variance = table
            if unit.contender.algorithm == "validated":
                start = time.process_time()
                coef = validated(A, y, *validation)
                support, seconds = np.flatnonzero(coef), time.process_time() - start
            else:
                found, seconds, _ = solved(unit, A, y, realization == 0)
                coef = found.coef
                support = getattr(found, "support", np.flatnonzero(coef))
        error = coef - x
        hits = np.count_nonzero(x[support])
        f1 = 2 * hits / (support.size + np.count_nonzero(x))
        test_error = 1 + float(error @ covariance @ error) / variance
        row = {"test_error": test_error, "f1": f1, "size": support.size, "seconds": seconds}
        append(values, row)
    return values


def validated(A: Array, y: Array, A_valid: Array, y_valid: Array) -> Array:
    """Forward regression with a ridge: how many columns and which ridge, validation rows choose."""
    best, least = np.zeros(A.shape[1]), float(y_valid @ y_valid)
    for ridge in RIDGES:
        path = forward(A, y, sparsity=min(LONGEST, *A.shape), ridge=ridge).path
        columns, coefs = path.coefs_after(range(1, len(path) + 1))
        losses = np.square(y_valid[:, None] - A_valid[:, columns] @ coefs).sum(axis=0)
        i = int(np.argmin(losses))
        if losses[i] < least:
            best, least = np.zeros(A.shape[1]), float(losses[i])
            best[columns] = coefs[:, i]
    return best


# --- R's BMS --------------------------------------------------------------------------------------

SURELY_ALL = 1_000_000
"""Models that may be added up, some of them again and again: enough for 15 columns."""


@cache
def small_table(name: str) -> tuple[Array, Array]:
    """Columns and target of a file of reproduction/data, centred."""
    table = np.loadtxt(DATA / f"{name}.csv", delimiter=",", skiprows=1)
    table -= table.mean(axis=0)
    return table[:, :-1], table[:, -1]


def averaging(unit: Unit, seed: int) -> Values:
    """The largest error of an inclusion probability, against the sum over all models, and time.

    Each contender's errors are those of sampling, under its own prior; of ours, bounds on them, as
    our sum leaves out what it proves to be little.
    """
    A, y = small_table(TABLES[int(unit.cell["table"])])
    values: Values = {}
    if (peer := R_PEERS.get(unit.contender.algorithm)) is not None:
        for line in peer([(A, y)] * unit.realizations):
            seconds, error = map(float, line.split())
            append(values, {"error": error, "seconds": seconds})
        return values
    exact = posterior(A, y, max_models=SURELY_ALL)
    unseen = exact.inclusion_error.max()
    for realization in range(unit.realizations):
        arguments = unit.contender.arguments(unit.cell) | {"seed": seed + realization}
        call = partial(posterior, A, y, **arguments)
        found, seconds = timed(call, realization == 0, time.process_time)
        error = np.abs(found.inclusion - exact.inclusion).max() + unseen
        append(values, {"error": error, "seconds": seconds})
    return values
