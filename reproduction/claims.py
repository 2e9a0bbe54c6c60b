"""What the paper says of its figures, and what the numbers here say to it."""

from __future__ import annotations

import math
from collections.abc import Container, Iterable, Mapping, Sequence
from itertools import pairwise, product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from reproduction import paper
from reproduction.declaration import Contender
from reproduction.document import TEXTS
from reproduction.tables import Row, succeeded
from reproduction.units import Record
from sparsewise._typing import Array

HOMOTOPY = TEXTS["homotopy"]

SIZES = (2, 4, 8, 16, 32, 64, 128)
"""Numbers of features at which errors are compared."""

# How the paper's words are read as numbers.
ORDERS = (10**1.5, 10**2.5)
"""Two orders of magnitude."""
INDEPENDENT = 0.25
"""A slope of at most so much of that of RMP₀ is none."""
IDENTICAL = 0.02
"""Rates that differ by less on average are virtually identical."""
SPARSE = 8
"""Models of at most so many features are highly sparse."""
COMPETITIVE = 0.02
"""An error that is larger by less, relatively, is competitive."""


class Claim(NamedTuple):
    """A sentence of the paper and what was found.

    Attributes
    ----------
    paper : str
        The sentence.
    agrees : bool or None
        Whether it holds here; None where it can't be told.
    here : str
        The numbers.
    partly : bool
        Whether a sentence that does not hold does so for some sizes.
    """

    paper: str
    agrees: bool | None
    here: str
    partly: bool = False


class Line(NamedTuple):
    """A least-squares line: its slope, the standard error (NaN for two points), and its height."""

    slope: float
    error: float
    height: float

    @property
    def margin(self) -> float:
        """Two standard errors of the slope, or 0 where two points leave none."""
        return 0.0 if math.isnan(self.error) else 2 * self.error

    @property
    def text(self) -> str:
        """The slope with its standard error."""
        return f"{self.slope:.2f}" + ("" if math.isnan(self.error) else f" ± {self.error:.2f}")


def line(x: ArrayLike, y: ArrayLike) -> Line | None:
    """Fit y = height + slope·x; None for fewer than two different x."""
    at, of = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    if np.unique(at).size < 2:
        return None
    centred = at - at.mean()
    slope = float(centred @ of / (centred @ centred))
    rest = of - of.mean() - slope * centred
    free = at.size - 2
    error = math.sqrt(rest @ rest / free / (centred @ centred)) if free > 0 else math.nan
    return Line(slope, error, float(of.mean() - slope * at.mean()))


# --- time against size ----------------------------------------------------------------------------


def _values(results: Iterable[Row], name: str, *axes: str) -> dict[str, dict[Any, float]]:
    """For each contender, in the order of the results: a value at each point of these axes."""
    found: dict[str, dict[Any, float]] = {}
    for row in succeeded(results, name):
        found.setdefault(row["algorithm"], {})[tuple(row[axis] for axis in axes)] = row[name]
    return found


class Growth(NamedTuple):
    """How the time of a contender grows: seconds ~ m^exponent.

    Attributes
    ----------
    label : str
        The contender.
    seconds : dict
        The median time for each number of columns, smallest first.
    """

    label: str
    seconds: dict[int, float]

    @property
    def fit(self) -> Line | None:
        """Log seconds against log m."""
        return line(np.log([*self.seconds]), np.log([*self.seconds.values()]))

    @property
    def last(self) -> float | None:
        """The exponent between the two largest sizes, where fixed costs matter least."""
        if len(self.seconds) < 2:
            return None
        (before, quick), (size, slow) = list(self.seconds.items())[-2:]
        return math.log(slow / quick) / math.log(size / before)


def growths(results: Iterable[Row]) -> list[Growth]:
    """One for each contender, in the order of the results."""
    return [
        Growth(label, {m: times[m,] for (m,) in sorted(times)})
        for label, times in _values(results, "seconds", "m").items()
    ]


def timing_claims(results: Iterable[Row]) -> list[Claim]:
    """BP ARD is slowest; RMP two orders of magnitude faster; FoBa scales worse than RMP₀."""
    found = {growth.label: growth for growth in growths(results)}
    ard, rmp, rmp0, foba = (
        found.get(one.label) for one in (paper.BP_ARD, paper.RMP, paper.RMP0, paper.FOBA)
    )
    claims = []
    if ard and len(found) > 1:
        claims.append(_slowest_claim(ard, found.values()))
        claims += [_faster_claim(ard, one) for one in (rmp, rmp0) if one]
    if rmp and rmp0:
        ratio = _mean_ratio(rmp, rmp0)
        said = "RMP_σ takes longer than RMP₀, because it updates γ many times."
        here = "no common sizes" if ratio is None else f"RMP_σ takes {ratio:.3g} times as long."
        claims.append(Claim(said, None if ratio is None else ratio > 1, here))
    if foba and rmp0 and foba.fit and rmp0.fit:
        claims.append(_foba_claim(foba.fit, rmp0.fit))
    return claims


def _slowest_claim(ard: Growth, all_of_them: Iterable[Growth]) -> Claim:
    said = "BP ARD is the slowest."
    slowest: dict[str, list[str]] = {}
    for m in ard.seconds:
        there = {one.label: one.seconds[m] for one in all_of_them if m in one.seconds}
        slowest.setdefault(max(there, key=there.__getitem__), []).append(str(m))
    if list(slowest) == [ard.label]:
        return Claim(said, True, "It is, at every m.")
    at = "; ".join(f"{label} at m = {', '.join(sizes)}" for label, sizes in slowest.items())
    return Claim(
        said, False, f"Slowest here: {at}. {TEXTS['homotopy']}", partly=ard.label in slowest
    )


def _faster_claim(ard: Growth, quick: Growth) -> Claim:
    said = f"{quick.label} is on average two orders of magnitude faster than BP ARD."
    ratio = _mean_ratio(ard, quick)
    if ratio is None:
        return Claim(said, None, "They have no common sizes.")
    here = f"BP ARD takes {ratio:.3g} times as long as {quick.label} (geometric mean over m)."
    agrees = ORDERS[0] <= ratio <= ORDERS[1]
    return Claim(said, agrees, here if agrees else f"{here} {TEXTS['homotopy']}")


def _foba_claim(foba: Line, rmp0: Line) -> Claim:
    margin = 2 * math.hypot(foba.error, rmp0.error)
    return Claim(
        "FoBa scales worse than RMP₀, because it is not given the efficient backward updates.",
        None if math.isnan(margin) else foba.slope - rmp0.slope > margin,
        f"Exponents are {foba.text} for FoBa and {rmp0.text} for RMP₀. Here both have the same "
        "updates.",
    )


def _mean_ratio(slow: Growth, quick: Growth) -> float | None:
    """How many times as long, by the geometric mean over common sizes."""
    common = [m for m in slow.seconds if m in quick.seconds]
    logs = [math.log(slow.seconds[m] / quick.seconds[m]) for m in common]
    return math.exp(sum(logs) / len(logs)) if logs else None


# --- phase transitions ----------------------------------------------------------------------------


class Transition(NamedTuple):
    """Where half of all supports are recovered: k/n against n/m."""

    label: str
    sampling: tuple[float, ...]
    sparsity: tuple[float, ...]

    @property
    def fit(self) -> Line | None:
        """A line through all; None for fewer than two."""
        return line(self.sampling, self.sparsity)

    @property
    def text(self) -> str:
        """Where it begins and ends, and its slope."""
        if self.fit is None:
            return "Too few sampling ratios to tell."
        return (
            f"Half of all supports are recovered at k/n = {self.sparsity[0]:.2f} for n/m = "
            f"{self.sampling[0]:g} and at {self.sparsity[-1]:.2f} for n/m = "
            f"{self.sampling[-1]:g}; a line through all has a slope of {self.fit.text}."
        )


def transitions(results: Iterable[Row]) -> list[Transition]:
    """One for each contender; sampling ratios where no k crosses 50 % are left out."""
    found = []
    for label, rates in _values(results, "rate", "sampling", "sparsity", "k", "n").items():
        columns: dict[float, dict[float, list[float]]] = {}
        for (sampling, _, k, n), rate in rates.items():
            # k is whole, so that its own ratio counts.
            columns.setdefault(sampling, {}).setdefault(k / n, []).append(rate)
        halves = {sampling: _half(columns[sampling]) for sampling in sorted(columns)}
        kept = {sampling: at for sampling, at in halves.items() if at is not None}
        found.append(Transition(label, tuple(kept), tuple(kept.values())))
    return found


def _half(rates: Mapping[float, Sequence[float]]) -> float | None:
    """The k/n where the rate falls through 50 %."""
    points = [(at, sum(many) / len(many)) for at, many in sorted(rates.items())]
    for (x0, y0), (x1, y1) in pairwise(points):
        if y0 >= 0.5 > y1:
            return x0 + (x1 - x0) * (y0 - 0.5) / (y0 - y1)
    return None


def phase_claims(results: Iterable[Row]) -> list[Claim]:
    """RMP improves with n/m, FR does not; RMP₀ and RMP_σ are nearly the same."""
    found = {one.label: one for one in transitions(results)}
    claims = [
        Claim(
            f"{one.label} recovers denser signals the larger n/m is.",
            None if (fit := one.fit) is None else fit.slope > fit.margin,
            one.text,
        )
        for one in (found[label] for label in _present(found, paper.RMP0, paper.RMP))
    ]
    if forward := found.get(paper.FR.label):
        claims.append(_fr_claim(forward, found.get(paper.RMP0.label)))
    return claims + _same_claim(results)


def _fr_claim(forward: Transition, rmp0: Transition | None) -> Claim:
    """That FR does not depend on n/m: at most a quarter as much as RMP₀ does, or not clearly."""
    agrees, here = None, forward.text
    fit, other = forward.fit, rmp0.fit if rmp0 else None
    if fit and other:
        agrees = abs(fit.slope) <= max(INDEPENDENT * other.slope, fit.margin)
        share = f"{abs(fit.slope / other.slope):.0%}"
        here += f" That is {share} of the slope of RMP₀; up to {INDEPENDENT:.0%} passes for none."
    return Claim("FR depends on k/n and apparently not on n/m.", agrees, here)


def _same_claim(results: Iterable[Row]) -> list[Claim]:
    rates = _values(results, "rate", "sampling", "sparsity")
    one, other = rates.get(paper.RMP0.label, {}), rates.get(paper.RMP.label, {})
    apart = {where: other[where] - one[where] for where in one if where in other}
    if not apart:
        return []
    mean = sum(abs(gap) for gap in apart.values()) / len(apart)
    most = max(apart, key=lambda where: abs(apart[where]))
    close = sum(abs(gap) < IDENTICAL for gap in apart.values()) / len(apart)
    here = (
        f"On average over {len(apart)} cells their rates differ by {mean:.3f} (less than "
        f"{IDENTICAL} passes for identical), in {close:.0%} of cells by less than {IDENTICAL}. "
        f"The largest difference is that of RMP_σ at n/m = {most[0]:g}, k/n = {most[1]:g}: "
        f"{apart[most]:+.2f}."
    )
    return [Claim("RMP₀ and RMP_σ perform virtually identically.", mean < IDENTICAL, here)]


# --- error against sparsity -----------------------------------------------------------------------


def errors_at(records: Iterable[Record], sizes: ArrayLike) -> dict[str, Array]:
    """Test error of models of given size: for each contender, splits × sizes.

    For each split, errors are interpolated between the models that different δ led to; NaN where
    no model is that small or large. Bins would mix models of different sizes, differently for each
    contender, where the error falls steeply.
    """
    many = [one for one in records if "rmse" in one["values"]]
    splits = sorted(
        {one["settings"]["cell"]["split"] for one in many if max(one["values"]["size"]) >= 1}
    )
    wanted = np.log(np.asarray(sizes, dtype=float))
    found: dict[str, Array] = {}
    for record in many:
        row = np.full((len(splits), wanted.size), np.nan)
        curves = found.setdefault(record["settings"]["contender"], row)
        size, rmse = (np.array(record["values"][name]) for name in ("size", "rmse"))
        at, place = np.unique(size[size >= 1], return_inverse=True)
        if at.size:
            means = np.bincount(place, rmse[size >= 1]) / np.bincount(place)
            curve = np.interp(wanted, np.log(at), means, left=np.nan, right=np.nan)
            curves[splits.index(record["settings"]["cell"]["split"])] = curve
    return found


def mean_and_error(many: Array) -> tuple[Array, Array]:
    """Mean over splits and its standard error; NaN where fewer than 9 in 10 splits tell.

    Splits differ more than contenders do: a mean over few of them would jump.
    """
    known = np.isfinite(many)
    count = known.sum(axis=0)
    enough = (count >= 2) & (count >= 0.9 * len(many))
    safe = np.maximum(count, 2)
    mean = np.where(known, many, 0).sum(axis=0) / safe
    square = np.where(known, np.square(many - mean), 0).sum(axis=0) / (safe - 1)
    return np.where(enough, mean, np.nan), np.where(enough, np.sqrt(square / safe), np.nan)


def by_size(many: Array) -> dict[int, tuple[float, float]]:
    """The same for each of `SIZES` where it is known."""
    means = zip(SIZES, *(column.tolist() for column in mean_and_error(many)), strict=True)
    return {size: (mean, error) for size, mean, error in means if math.isfinite(mean)}


def boston_claims(records: Iterable[Record]) -> list[Claim]:
    """RMP and FoBa have the best trade-off, FR is competitive if sparse, SBL errs more."""
    curves = errors_at(records, SIZES)
    leaders = _present(curves, paper.RMP0, paper.RMP0_PLUS, paper.FOBA)
    if not leaders:
        return []
    claims = [_best_claim(curves, leaders)] if len(curves) > len(leaders) else []
    if paper.FR.label in curves:
        claims.append(_competitive_claim(curves, leaders))
    bayesian = _present(curves, paper.FSBL, paper.RMP)
    return claims + [_larger_claim(curves, label, leaders[0]) for label in bayesian]


def _best_claim(curves: Mapping[str, Array], leaders: Sequence[str]) -> Claim:
    """Nobody else is better by more than two standard errors, at any size."""
    said = f"{_joined(leaders)} have the best trade-off at all sparsity levels."
    others = [label for label in curves if label not in leaders]
    gaps = [
        (other, leader, size, gap, error)
        for other, leader in product(others, leaders)
        for size, (gap, error) in by_size(curves[other] - curves[leader]).items()
    ]
    if not gaps:
        return Claim(said, None, "Too few model sizes to tell.")
    beaten = [one for one in gaps if one[3] < -2 * one[4]]
    if not beaten:
        return Claim(said, True, "No other algorithm is better by more than two standard errors.")
    names = "; ".join(
        f"{other} than {leader} at {size} features ({-gap:.2f} ± {error:.2f})"
        for other, leader, size, gap, error in beaten
    )
    here = (
        f"Lower errors, by more than two standard errors, have {names}: {len(beaten)} of "
        f"{len(gaps)} comparisons, of which {0.023 * len(gaps):.1f} would come out so by chance if "
        "there were no differences at all."
    )
    sizes = {one[2] for one in gaps}
    return Claim(said, False, here, partly={one[2] for one in beaten} < sizes)


def _competitive_claim(curves: Mapping[str, Array], leaders: Sequence[str]) -> Claim:
    """Close to the best leader at all highly sparse sizes, and not at some larger one."""
    forward, *means = (by_size(curves[label]) for label in (paper.FR.label, *leaders))
    excess = {
        size: error / min(found[size][0] for found in means if size in found) - 1
        for size, (error, _) in forward.items()
        if size in means[0]
    }
    said = "FR is competitive for highly sparse models, and not as effective otherwise."
    sparse = [value for size, value in excess.items() if size <= SPARSE]
    dense = [value for size, value in excess.items() if size > SPARSE]
    if not sparse or not dense:
        return Claim(said, None, "Too few model sizes to tell.")
    numbers = ", ".join(f"{value:+.1%} at {size}" for size, value in excess.items())
    agrees = max(sparse) < COMPETITIVE < max(dense)
    partly = min(sparse) < COMPETITIVE < max(dense)
    here = f"Its error beside the best of {_joined(leaders)}: {numbers} features."
    rule = f"Within {COMPETITIVE:.0%} is competitive, up to {SPARSE} features is highly sparse."
    return Claim(said, agrees, f"{here} {rule}", partly)


def _larger_claim(curves: Mapping[str, Array], label: str, leader: str) -> Claim:
    gaps = by_size(curves[label] - curves[leader])
    said = f"SBL has larger errors ({label})."
    if not gaps:
        return Claim(said, None, "Too few model sizes to tell.")
    larger = [size for size, (gap, error) in gaps.items() if gap > 2 * error]
    smaller = [size for size, (gap, error) in gaps.items() if gap < -2 * error]
    parts = [f"{gap:+.2f} ± {error:.2f} at {size}" for size, (gap, error) in gaps.items()]
    agrees = not smaller and 2 * len(larger) >= len(gaps)
    here = f"RMSE less that of {leader}, split by split: {', '.join(parts)} features."
    return Claim(said, agrees, here, partly=bool(larger))


# --- bounds ---------------------------------------------------------------------------------------


def bounds_claims(records: Iterable[Record]) -> list[Claim]:
    """The printed theorem is above what is achieved; the proved bound is below."""
    curves = bound_curves(records)
    if paper.THEOREM.label not in curves or paper.ACHIEVED.label not in curves:
        return []
    promised, achieved = curves[paper.THEOREM.label], curves[paper.ACHIEVED.label]
    broken = []
    for k in (k for k in promised if k in achieved):
        (at, bound), (_, real) = promised[k], achieved[k]
        i = int(np.argmax(bound - real))
        if bound[i] > real[i] + 1e-9:
            numbers = f"promised {bound[i]:.4g}, achieved {real[i]:.4g}"
            broken.append(f"k = {k}, δ = {at[i]:.2g}: {numbers}")
    here = f"As printed it does not hold for k >= 2: {'; '.join(broken)}."
    said = "Thm. 4.5 (percn) bounds the probability of recovery from below."
    return [Claim(said, not broken, here if broken else "It does here.")]


def bound_curves(records: Iterable[Record]) -> dict[str, dict[int, tuple[Array, Array]]]:
    """For each contender and k: δ, and the probability there."""
    found: dict[str, dict[int, tuple[Array, Array]]] = {}
    for record in records:
        settings, values = record["settings"], record["values"]
        if "probability" in values:
            curve = np.array(values["delta"]), np.array(values["probability"])
            found.setdefault(settings["contender"], {})[int(settings["cell"]["k"])] = curve
    return found


# --- text -----------------------------------------------------------------------------------------


def _present(found: Container[str], *contenders: Contender) -> list[str]:
    """The labels of those that took part."""
    return [one.label for one in contenders if one.label in found]


def _joined(names: Sequence[str]) -> str:
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))
