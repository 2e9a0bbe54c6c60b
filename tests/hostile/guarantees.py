"""Certificates, best subsets and the figures of dictionaries, against all subsets one by one.

The judge fits every subset in extended precision (`Fits`) and knows no more of the library than
what it was told: the status, the subsets it names, its bounds.
"""

from __future__ import annotations

import math
import sys
from contextlib import contextmanager
from fractions import Fraction
from itertools import combinations
from unittest import mock

import numpy as np
import scipy.sparse as sparse
from scipy.sparse.linalg import aslinearoperator
from scipy.special import erf

import sparsewise as sw
from sparsewise.guarantees import certificate, dictionary, recovery
from sparsewise.subsets.fit import Fit
from sparsewise.subsets.leaps_and_bounds import Search
from tests.hostile.campaign import Case, family, fault, oracle

#: Units of rounding that a norm may be off by, for coefficients of size one.
UNITS = 256
#: Columns nearer to the span of others are copies but for rounding (in units of it) ...
COPY = 16
#: ... and further than this (unit columns) are no matter of rounding: the library calls those with
#: a squared distance of 64 units dependent.
APART = 1024


# --- all subsets ----------------------------------------------------------------------------------


class Fits:
    """Least squares on every subset of some sizes, for unit columns and a unit target.

    Attributes
    ----------
    norm : dict
        ‖r‖ of each subset.
    distance : dict
        The least distance of one of its columns from the span of those before it; columns that are
        no more than rounding away from it add nothing, and count 0.
    """

    def __init__(self, A, y, include=(), exclude=()):
        self.eps = float(np.finfo(np.asarray(A).dtype).eps)
        wide = np.clongdouble if np.iscomplexobj(A) or np.iscomplexobj(y) else np.longdouble
        self.A, self.y = unit(np.asarray(A).astype(wide)), unit(np.asarray(y).astype(wide)[:, None])
        self.include, self.exclude = {*include}, {*exclude}
        self.norm, self.distance = {}, {}

    def of(self, size):
        """The subsets of a size that keep to the constraints."""
        m = self.A.shape[1]
        found = [
            columns
            for columns in combinations(range(m), size)
            if self.include <= {*columns} and not self.exclude & {*columns}
        ]
        self._measure([columns for columns in found if columns not in self.norm])
        return found

    def look_at(self, columns):
        """‖r‖ of one subset."""
        columns = tuple(sorted(map(int, columns)))
        if columns not in self.norm:
            self._measure([columns])
        return float(self.norm[columns])

    def unsure(self, columns):
        """What rounding errors of the data may make of ‖r‖, large coefficients making it more."""
        self.look_at(columns)
        apart = self.distance[tuple(sorted(map(int, columns)))]
        return UNITS * self.eps * (1 + len(columns) / apart if apart else 1.0)

    def _measure(self, found):
        """Gram and Schmidt, each direction twice, all subsets at once."""
        if not found:
            return
        sets = np.array(found, int).reshape(len(found), -1)
        rest = np.tile(self.y[:, 0], (len(sets), 1))
        basis, least = [], np.ones(len(sets), np.longdouble)
        for c in range(sets.shape[1]):
            q = self.A[:, sets[:, c]].T
            for _ in range(2):
                for b in basis:
                    q = q - b * np.sum(b.conj() * q, axis=1, keepdims=True)
            length = np.sqrt(np.sum(np.abs(q) ** 2, axis=1))
            copy = length <= COPY * self.eps
            least = np.where(copy, least, np.minimum(least, length))
            q = np.where(copy[:, None], 0, q / np.where(copy, 1, length)[:, None])
            basis.append(q)
        for _ in range(2):
            for b in basis:
                rest = rest - b * np.sum(b.conj() * rest, axis=1, keepdims=True)
        norms = np.sqrt(np.sum(np.abs(rest) ** 2, axis=1))
        self.norm.update(zip(found, norms, strict=True))
        self.distance.update(zip(found, map(float, least), strict=True))

    def are_clear(self, size):
        """Whether no subset of a size has columns that rounding hardly tells apart."""
        edge = math.sqrt(APART * self.eps)
        return all(self.distance[columns] > edge for columns in self.of(size))

    def copies(self, j):
        """The columns equal to column j, digit by digit, up to a power of two."""
        return [i for i in range(self.A.shape[1]) if i != j and self._same(i, j)]

    def _same(self, i, j):
        return self.A[:, j].any() and bool(np.all(self.A[:, i] == self.A[:, j]))


def unit(A):
    """Unit columns, zeros staying zeros, of numbers of any size."""
    size = np.abs(A).max(axis=0)
    A = A / np.where(size > 0, size, 1)
    norms = np.sqrt(np.sum(np.abs(A) ** 2, axis=0))
    return A / np.where(norms > 0, norms, 1)


# --- problems -------------------------------------------------------------------------------------


def normal(rng, kind, *shape):
    values = rng.standard_normal(shape)
    return values + 1j * rng.standard_normal(shape) if kind is complex else values


def draw_columns(case, kind):
    """A few columns: chance, whole numbers, nearly orthonormal, parts of the identity."""
    rng, sort = case.rng, case.choose("gaussian", "integers", "orthonormal", "identity")
    n, m = int(rng.integers(3, 9)), int(rng.integers(2, 7))
    if case.chance(0.1):
        n, m = n + 3, m + 4
    case.note(columns=sort)
    if sort == "gaussian":
        return normal(rng, kind, n, m)
    if sort == "integers":
        return rng.integers(-2, 3, (n, m)).astype(kind)
    if sort == "identity":
        return np.eye(n, dtype=kind)[:, rng.integers(0, n, m)]
    n = max(n, m)
    level = rng.choice([0.0, 0.05, 0.2])
    return np.linalg.qr(normal(rng, kind, n, n))[0][:, :m] + level * normal(rng, kind, n, m) / n


def disturbed(case, A):
    """With copies, near copies, combinations and columns of zeros among them."""
    rng, m = case.rng, A.shape[1]
    extra = []
    for _ in range(int(rng.choice([0, 1, 2]))):
        j, what = int(rng.integers(m)), case.choose("copy", "multiple", "near", "sum", "zero")
        case.note(extra=what)
        if what == "copy":
            extra.append(A[:, j] * rng.choice([1.0, 1.0, -1.0, 2.0]))
        elif what == "multiple":
            extra.append(A[:, j] * rng.choice([3.0, -0.1, 1 / 3]))
        elif what == "near":
            apart = 10.0 ** -rng.uniform(2, 15)
            case.note(apart=apart)
            extra.append(A[:, j] + apart * normal(rng, float, len(A)))
        elif what == "sum":
            extra.append(A[:, j] + A[:, int(rng.integers(m))])
        else:
            extra.append(np.zeros(len(A)))
    A = np.column_stack([A, *extra]).astype(A.dtype)
    return A[:, rng.permutation(A.shape[1])]


def draw_target(case, A, kind):
    """A few columns and noise, of which parts may be tiny."""
    rng, m = case.rng, A.shape[1]
    sizes = rng.choice([1.0, 1.0, 3.0, 1e-3, 1e-6, 1e-9, 1e-12], m) * rng.choice([-1, 1], m)
    sizes[rng.permutation(m)[int(rng.integers(1, 5)) :]] = 0
    noise = rng.choice([0.0, 1e-12, 1e-9, 1e-4, 0.1, 1.0])
    case.note(noise=float(noise))
    y = A @ sizes + noise * normal(rng, kind, len(A))
    return y if case.chance(0.97) else np.zeros_like(y)


class Drawn:
    """A problem: numbers, their container, constraints."""

    def __init__(self, case):
        rng = case.rng
        char = str(rng.choice(list("ddddDfF")))
        kind = complex if char in "DF" else float
        A = disturbed(case, draw_columns(case, kind))
        y = draw_target(case, A, kind)
        small = char in "fF"
        columns = scale(case, A.shape[1], 20 if small else 200)
        target = scale(case, 1, 20 if small else 200)
        self.A, self.y = (A * columns).astype(char), (y * target).astype(char)
        if case.chance(0.1):  # a real matrix and a complex target, or types of two precisions
            mixed = {"d": "D", "f": case.choose("F", "d"), "D": "D", "F": "D"}[char]
            self.y = self.y.astype(mixed) * (1j if mixed in "DF" else 1)
            case.note(mixed=mixed)
        m = A.shape[1]
        self.include, self.exclude = [], []
        if case.chance(0.4):
            order = rng.permutation(m).tolist()
            self.include = order[: int(rng.integers(0, 3))]
            self.exclude = order[len(self.include) :][: int(rng.integers(0, 3))]
        self.fits = Fits(self.A, self.y, self.include, self.exclude)
        container = case.choose("C", "C", "F", "csc", "csr", "operator")
        self.held = held(self.A, container)
        case.note(
            char=char, shape=A.shape, container=container, target=float(target[0]),
            include=self.include, exclude=self.exclude,
        )  # fmt: skip


def scale(case, count, most):
    """Factors of every size; powers of two keep copies equal to the last digit."""
    powers = case.rng.uniform(-most, most, count) * case.choose(0, 0, 1)
    return 2.0 ** np.round(powers * math.log2(10))


def held(A, container):
    if container == "operator":
        return aslinearoperator(A)
    if container in ("csc", "csr"):
        return getattr(sparse, f"{container}_array")(A)
    return np.asarray(A, order=container)


# --- certificates ---------------------------------------------------------------------------------


@oracle
def nothing_beats_the_best(found, fits):
    """What is "optimal" is beaten by no subset, in extended precision."""
    if found.status != "optimal":
        return
    ours = fits.look_at(found.columns)
    for other in fits.of(found.size):
        room = fits.unsure(found.columns) + fits.unsure(other)
        assert fits.look_at(other) >= ours - room, f"{other} beats {found.columns}: {found!r}"


@oracle
def better_is_better(found, fits):
    """What beats a subset does so, and keeps to size and constraints; by search it is the best."""
    assert (found.status == "beaten") == (found.better is not None), found
    if found.better is None:
        return
    assert found.better in fits.of(found.size), f"{found.better}: {found!r}"
    theirs = fits.look_at(found.better)
    assert theirs < fits.look_at(found.columns), found
    if found.proof == "search":
        for other in fits.of(found.size):
            room = fits.unsure(found.better) + fits.unsure(other)
            assert fits.look_at(other) >= theirs - room, f"{other} beats {found.better}"


@oracle
def ties_are_told(found, fits):
    """Subsets said to fit as well do; with exact copies none goes unsaid where all was searched."""
    ours = fits.look_at(found.columns)
    for other in found.ties:
        assert other in fits.of(found.size), (other, found)
        room = fits.unsure(found.columns) + fits.unsure(other)
        assert abs(fits.look_at(other) - ours) <= room, (other, found)
    words = str(found)
    assert ("these fit as well" in words) == bool(found.ties), words
    if found.status == "optimal" and len(found.ties) < 64:
        for out in {*found.columns} - fits.include:
            for into in {*fits.copies(out)} - {*found.columns} - fits.exclude:
                other = tuple(sorted({*found.columns, into} - {out}))
                assert other in found.ties, f"{into} is a copy of {out}: {found!r}"


@oracle
def swaps_are_right(found, fits, scale_of_y):
    """The best exchange of one column falls by what it says; where none is told, none falls."""
    if found.swap_optimal is None:
        return
    ours, unsure = fits.look_at(found.columns), fits.unsure(found.columns)
    pairs = [
        (out, into, tuple(sorted({*found.columns, into} - {out})))
        for out in {*found.columns} - fits.include
        for into in {*range(fits.A.shape[1])} - {*found.columns} - fits.exclude
    ]
    falls = {
        (out, into): (ours - fits.look_at(other)) * (ours + fits.look_at(other))
        for out, into, other in pairs
        if fits.distance[other] > math.sqrt(APART * fits.eps) or not fits.look_at(other)
    }
    most = max(falls.values(), default=0.0)
    room = 1e3 * fits.eps ** (2 / 3) * ours**2 + 8 * unsure * ours + unsure**2
    if found.swap is None:
        assert found.swap_optimal
        assert most <= room, (most, found)
        return
    out, into, fall = found.swap
    with np.errstate(over="ignore", under="ignore"):
        said = fall / scale_of_y / scale_of_y if math.isfinite(fall) and fall else None
    other = tuple(sorted({*found.columns, into} - {out}))
    assert fits.look_at(other) < ours, (other, found)
    told = (ours - fits.look_at(other)) * (ours + fits.look_at(other))
    assert told >= most * (1 - 1e-3) - room, (most, found)
    if said is not None and fall > 1e-290:
        assert abs(said - told) <= 1e-3 * told + room + 8 * fits.unsure(other), (said, told, found)


@oracle
def figures_are_finite(found, fits, scale_of_y):
    """‖r‖ is what it is, and no figure is NaN."""
    for figure in (found.residual_norm, found.bound, found.singular_value, found.min_abs):
        assert figure >= 0, found
    assert math.isfinite(found.residual_norm), found
    assert not math.isnan(found.margin), found
    if fits.y.any():
        room = fits.unsure(found.columns)
        error = abs(found.residual_norm / scale_of_y - fits.look_at(found.columns))
        assert error <= room, (error, found)


@oracle
def with_time_it_is_decided(found, fits):
    """A search without end leaves nothing open but what rounding, or a needless column, does."""
    if found.status != "unknown":
        return
    if found.exchanged == 0 and found.bound == 0:  # told: fewer of these fit as well
        ours = fits.look_at(found.columns)
        fewer = min(fits.look_at([j for j in found.columns if j != i]) for i in found.columns)
        near = fits.distance[found.columns] <= math.sqrt(APART * fits.eps)
        needless = math.sqrt(max(fewer**2 - ours**2, 0.0)) <= UNITS * fits.unsure(found.columns)
        assert near or needless, (fewer, ours, found)
        return
    assert found.reason, found
    assert not fits.are_clear(found.size), found


def norm_of(y):
    """‖y‖ of numbers of any size; 1 for zeros."""
    size = float(np.abs(y).max())
    return size * float(np.linalg.norm(y.astype(np.clongdouble) / size)) if size else 1.0


@family("certificates", share=3)
def certificates(case: Case) -> None:
    """A choice of columns, good or bad, is certified in one way or another."""
    drawn = Drawn(case)
    fits, m = drawn.fits, drawn.A.shape[1]
    free = [j for j in range(m) if j not in {*drawn.include, *drawn.exclude}]
    size = len(drawn.include) + int(case.rng.integers(0, min(len(free), 4) + 1))
    subsets = fits.of(size)
    columns = case.choose(*subsets)
    if case.chance(0.6):
        columns = min(subsets, key=fits.look_at)
    how = case.choose("nothing", "swaps", "search", "both", "a moment")
    words = {"include": drawn.include, "exclude": drawn.exclude}
    words["swaps"] = how in ("swaps", "both", "a moment")
    words["time_limit"] = {"search": None, "both": None, "a moment": 1e-9}.get(how, 0.0)
    case.note(subset=columns, how=how)
    found = sw.certify(drawn.held, drawn.y, columns, **words)
    assert found.columns == columns
    judge_certificate(found, fits, norm_of(drawn.y), decided=how in ("search", "both"))


def judge_certificate(found, fits, scale_of_y, decided):
    figures_are_finite(found, fits, scale_of_y)
    nothing_beats_the_best(found, fits)
    better_is_better(found, fits)
    ties_are_told(found, fits)
    swaps_are_right(found, fits, scale_of_y)
    if decided:
        with_time_it_is_decided(found, fits)


# --- best subsets ---------------------------------------------------------------------------------


@oracle
def bounds_hold(found, fits, scale_of_y):
    """No subset is below the bound of its size; gaps are shares; proved sizes are the best."""
    assert found.proved == (not any(found.gaps.values()))
    assert list(found.gaps) == list(found.lower_bounds)
    for size, gap in found.gaps.items():
        assert 0 <= gap <= 1, found.gaps
        ours = tuple(found.path.at(size).support.tolist())
        assert ours in fits.of(size), (size, ours)
        norm = fits.look_at(ours)
        for other in fits.of(size):
            room = fits.unsure(ours) + fits.unsure(other)
            low = norm * math.sqrt(1 - gap)
            assert fits.look_at(other) >= low - room, f"{other} beats {ours}, gap {gap}"
        squared = found.lower_bounds[size] / scale_of_y / scale_of_y
        if math.isfinite(found.lower_bounds[size]) and found.lower_bounds[size] > 1e-290:
            error = abs(squared - norm**2 * (1 - gap))
            room = fits.unsure(ours)
            assert error <= 4 * room * (norm + room), (size, squared, norm, gap)


@oracle
def the_lowest_of_equals(found, fits):
    """Of equal columns the lowest is taken."""
    for size in found.gaps:
        ours = {*found.path.at(size).support.tolist()}
        for j in ours - fits.include:
            lower = [i for i in fits.copies(j) if i < j and i not in ours | fits.exclude]
            assert not lower, f"column {j} is taken, {lower} are its copies"


@oracle
def with_time_it_is_proved(found, fits):
    """Only columns that rounding hardly tells apart leave a finished search open."""
    assert found.proved or not all(fits.are_clear(size) for size in found.gaps), found


@family("best_subsets", share=2)
def best_subsets(case: Case) -> None:
    """The best subsets of all sizes, with time and without."""
    drawn = Drawn(case)
    fits, (n, m) = drawn.fits, drawn.A.shape
    most = min(n, m - len(drawn.exclude))
    sparsity = int(case.rng.integers(min(len(drawn.include), most), most + 1))
    limit = case.choose(None, None, 0.0)
    case.note(sparsity=sparsity, time_limit=limit)
    words = {"include": drawn.include, "exclude": drawn.exclude, "time_limit": limit}
    try:
        found = sw.best_subset(drawn.held, drawn.y, sparsity=sparsity, **words)
        bounds_hold(found, fits, norm_of(drawn.y))
        the_lowest_of_equals(found, fits)
        if limit is None:
            with_time_it_is_proved(found, fits)
    except sw.InputError as refusal:  # perhaps of a model on the path, whose coefficients overflow
        justified_refusal(str(refusal), drawn, sparsity)


@oracle
def justified_refusal(words, drawn, sparsity):
    """Only included columns that are dependent, or too many, are refused."""
    if "beyond the range" in words:
        # Coefficients have the size of y over that of a column, times that of their part of y.
        top, norms = norm_of(drawn.y), np.array([norm_of(column) for column in drawn.A.T])
        powers = math.log10(top) - np.log10(norms[np.abs(drawn.A).max(axis=0) > 0])
        limits = np.finfo(drawn.A.dtype)
        low, high = math.log10(float(limits.tiny)) + 20, math.log10(float(limits.max)) - 20
        assert powers.min() < low or powers.max() > high, words
        return
    include = drawn.include
    fits = Fits(drawn.A, drawn.y)
    apart = math.sqrt(APART * fits.eps)
    fits.look_at(include)
    independent = fits.distance[tuple(sorted(include))] > apart
    full = all(
        abs(fits.look_at(include) - fits.look_at([j for j in include if j != i])) > 0
        for i in include
    )
    assert len(include) > sparsity or not (independent and full), words


# --- whole numbers --------------------------------------------------------------------------------


def exact_squares(A, y, size):
    """‖r‖² of every subset, as fractions; None where columns are dependent."""
    columns = [[Fraction(int(v)) for v in column] for column in A.T]
    target = [Fraction(int(v)) for v in y]

    def without(v, basis):
        for b, square in basis:
            part = sum(x * z for x, z in zip(b, v, strict=True)) / square
            v = [x - part * z for x, z in zip(v, b, strict=True)]
        return v

    squares = {}
    for subset in combinations(range(A.shape[1]), size):
        basis = []
        for j in subset:
            q = without(columns[j], basis)
            basis.append((q, sum(x * x for x in q)))
            if not basis[-1][1]:
                break
        independent = all(square for _, square in basis)
        squares[subset] = sum(x * x for x in without(target, basis)) if independent else None
    return squares


@oracle
def ties_are_exact(found, squares):
    """Best, beaten or as good as others: what fractions say, and all that is as good."""
    known = {columns: square for columns, square in squares.items() if square is not None}
    if found.exchanged == 0 and found.bound == 0:  # fewer of these fit as well: nothing is said
        assert found.status == "unknown", found
        return
    ours, least = known[found.columns], min(known.values())
    assert found.status == ("optimal" if ours == least else "beaten"), (ours, least, found)
    if found.better is not None:
        assert known[found.better] == least, (ours, least, found)
    as_good = {columns for columns, square in known.items() if square == ours}
    if found.status == "optimal":
        assert {*found.ties} == as_good - {found.columns}, (as_good, found)


@oracle
def subsets_are_exact(found, all_squares):
    """The best of each size by fractions, and proved."""
    assert found.proved, found
    for size, squares in all_squares.items():
        if size in found.gaps:
            columns = tuple(found.path.at(size).support.tolist())
            least = min(square for square in squares.values() if square is not None)
            assert squares[columns] == least, (columns, squares[columns], least)


@family("whole_numbers")
def whole_numbers(case: Case) -> None:
    """Small whole numbers, where ties abound and nothing is lost in rounding."""
    rng = case.rng
    n, m = int(rng.integers(2, 6)), int(rng.integers(2, 7))
    most = case.choose(1, 1, 2, 9)
    A, y = rng.integers(-most, most + 1, (n, m)), rng.integers(-most, most + 1, n)
    if case.chance(0.3):
        A = A[:, rng.integers(0, m, m)]
    scales = 2.0 ** (rng.integers(-500, 500, m + 1) * case.choose(0, 1))
    case.note(A=A.tolist(), y=y.tolist())
    B, b = A * scales[:m], y * scales[m]
    size = int(rng.integers(1, min(n, m) + 1))
    squares = exact_squares(A, y, size)
    columns = case.choose(*squares)
    if case.chance(0.7):
        known = {one: square for one, square in squares.items() if square is not None}
        columns = min(known, key=known.get, default=columns)
    case.note(subset=columns)
    words = {"swaps": case.chance(0.5), "time_limit": None}
    if squares[columns] is not None:
        ties_are_exact(sw.certify(B, b, columns, **words), squares)
    found = best_or_none(B, b, min(size, 3))
    if found is not None:
        subsets_are_exact(found, {k: exact_squares(A, y, k) for k in range(1, min(size, 3) + 1)})


def best_or_none(A, y, sparsity):
    """Best subsets, unless their coefficients are out of range."""
    try:
        found = sw.best_subset(A, y, sparsity=sparsity, time_limit=None)
        [found.path.at(size) for size in found.gaps]
    except sw.InputError as refusal:
        if "beyond the range" not in str(refusal):
            raise
        return None
    return found


# --- dictionaries ---------------------------------------------------------------------------------


@oracle
def sums_of_inner_products(said, A):
    """μ₁(1), …, from all inner products in extended precision."""
    inner = np.abs(A.conj().T @ A)
    np.fill_diagonal(inner, 0)
    ordered = -np.sort(-inner, axis=0)
    truth = np.cumsum(ordered, axis=0).max(axis=1)[: len(said)].astype(float)
    np.testing.assert_allclose(said, truth, rtol=0, atol=1e-5 if A.itemsize < 16 else 1e-12)


@oracle
def recovery_of_a_support(said, A, support, eps):
    """max ‖A_S⁺ a_j‖₁ by least squares; infinite only for dependent columns."""
    inside, outside = A[:, support], np.delete(A, support, axis=1)
    values = np.linalg.svd(inside, compute_uv=False) if support else np.ones(1)
    least = float(values.min()) if inside.shape[1] <= inside.shape[0] else 0.0
    if math.isinf(said.value):
        assert not said.holds
        assert least < math.sqrt(APART * eps), (least, said)
        return
    assert said.holds == (said.value < 1)
    weights = np.linalg.lstsq(inside, outside, rcond=None)[0]
    truth = float(np.abs(weights).sum(axis=0).max(initial=0.0))
    assert abs(said.value - truth) <= UNITS * eps * (1 + truth / least) / least, (said, truth)


@oracle
def noise_bounds(forward, backward, A, k, eps):
    """The formulas of Thm. 4.4 and 4.6, from inner products and singular values."""
    m = A.shape[1]
    inner = np.abs(A.conj().T @ A)
    np.fill_diagonal(inner, 0)
    sums = np.cumsum(-np.sort(-inner, axis=0), axis=0).max(axis=1)
    mu = float(sums[min(k, m - 1) - 1]) if m > 1 else 0.0
    truth = max(1 - 2 * mu, 0.0) / math.sqrt(2 * (1 + mu))
    assert abs(forward.bound - truth) <= 1e3 * eps, (forward, truth)
    assert forward.older <= forward.bound
    values = np.linalg.svd(A.astype(np.complex128), compute_uv=False)
    least = float(values.min()) if m <= len(A) else 0.0
    truth = math.sqrt(least**2 / (2 * (2 - min(least**2, 1.0))))
    assert backward.bound <= truth + 1e3 * eps, (backward, truth)
    assert backward.bound >= truth - 1e3 * eps, (backward, truth)
    assert backward.by_babel <= backward.bound + 1e3 * eps, backward


@oracle
def likely_recovery(said, A, k, min_abs, sigma, eps):
    """erf(δ/√2)^m, or (1 - e^(-δ²))^m for complex noise."""
    m = A.shape[1]
    inner = np.abs(A.conj().T @ A)
    np.fill_diagonal(inner, 0)
    sums = np.cumsum(-np.sort(-inner, axis=0), axis=0).max(axis=1)
    mu = float(sums[min(k, m - 1) - 1]) if m > 1 else 0.0
    delta = (0.5 - mu) * min_abs / sigma
    part = 1 - math.exp(-(delta**2)) if A.dtype.kind == "c" else float(erf(delta / math.sqrt(2)))
    truth = part**m if delta > 0 else 0.0
    for value in said:
        assert 0 <= value <= 1, said
    assert abs(said.bound - truth) <= 1e-9 + 1e3 * eps * m * min_abs / sigma, (said, truth)


@family("dictionaries")
def dictionaries(case: Case) -> None:
    """Coherence, Babel function, exact recovery and noise bounds of columns of any kind."""
    drawn = Drawn(case)
    is_complex, m, eps = np.iscomplexobj(drawn.A), drawn.A.shape[1], drawn.fits.eps
    A = unit(drawn.A.astype(np.clongdouble if is_complex else np.longdouble))
    double = A.astype(np.complex128 if is_complex else np.float64)
    if m > 1:
        k = int(case.rng.integers(1, m))
        said = sw.babel(drawn.held, k)
        sums_of_inner_products(said, A if eps < 1e-10 else A.astype(np.complex64))
        assert sw.coherence(drawn.held) == said[0]
    k = int(case.rng.integers(1, m + 1))
    support = case.rng.permutation(m)[: int(case.rng.integers(0, m + 1))].tolist()
    case.note(k=k, support=support)
    recovery_of_a_support(sw.exact_recovery(drawn.held, support), double, support, eps)
    forward, backward = sw.forward_noise_bound(drawn.held, k), sw.backward_noise_bound(drawn.held)
    noise_bounds(forward, backward, double, k, eps)
    sigma = float(10 ** case.rng.uniform(-2, 1))
    likely = sw.forward_recovery_probability(drawn.held, k, 1.0, sigma)
    likely_recovery(likely, double, k, 1.0, sigma, eps)


# --- faults ---------------------------------------------------------------------------------------


def patched(target, name, value):
    return mock.patch.object(target, name, value)


@fault(nothing_beats_the_best, family="certificates")
def nothing_is_ever_better():
    original = Fit.against
    return patched(Fit, "against", lambda self, columns: min(original(self, columns), 0))


@fault(nothing_beats_the_best, family="certificates")
def what_the_search_meets_is_lost():
    return patched(Search, "contenders", lambda self: [])


@fault(better_is_better, family="certificates")
def any_other_subset_is_better():
    return patched(Fit, "against", lambda self, columns: 1)


@fault(ties_are_told, family="certificates")
def equals_are_passed_over():
    original = Fit.against
    return patched(Fit, "against", lambda self, columns: original(self, columns) or -1)


@fault(swaps_are_right, family="certificates")
@contextmanager
def exchanges_lose_their_cross_term():
    original = certificate.exchanges_of_one

    def broken(fit):
        return original(fit)._replace(best=None)

    with patched(certificate, "exchanges_of_one", broken):
        yield


@fault(figures_are_finite, family="certificates")
def the_scale_is_squared():
    original = certificate.problem

    def broken(A, y, **how):
        data = original(A, y, **how)
        return data._replace(scale=data.scale * data.scale)

    return patched(certificate, "problem", broken)


@fault(with_time_it_is_decided, family="certificates")
def everything_is_in_doubt():
    return patched(Search, "in_doubt", lambda self: np.ones(1, bool))


@fault(ties_are_exact, family="whole_numbers")
def ties_beyond_one_exchange_are_lost():
    original = Search.contenders

    def broken(self):
        ours = {*self.subset(self.most)}
        return [one for one in original(self) if len(ours - {*one}) <= 1]

    return patched(Search, "contenders", broken)


@fault(subsets_are_exact, family="whole_numbers")
def the_search_rules_out_too_much():
    return patched(
        Search, "run", lambda self, seconds, ask=None: setattr(self, "_depth", -1) or True
    )


@fault(bounds_hold, family="best_subsets")
def bounds_are_too_high():
    return patched(Search, "proved", lambda self: np.ones(self.most + 1 - self.least, bool))


@fault(the_lowest_of_equals, family="best_subsets")
def equals_are_left_as_found():
    module = sys.modules[sw.best_subset.__module__]  # which its function hides
    return patched(module, "lowest_of_equals", lambda fit: tuple(fit.columns[::-1].tolist()))


@fault(with_time_it_is_proved, family="best_subsets")
def nothing_is_proved():
    return patched(Search, "proved", lambda self: np.zeros(self.most + 1 - self.least, bool))


@fault(justified_refusal, family="best_subsets")
def all_is_refused():
    def refuse(*args, **words):
        raise sw.InputError("No.")

    return patched(sw, "best_subset", refuse)


@fault(sums_of_inner_products, family="dictionaries")
def sums_forget_the_largest():
    original = dictionary.largest_sums
    return patched(dictionary, "largest_sums", lambda inner, most: 0.9 * original(inner, most))


@fault(recovery_of_a_support, family="dictionaries")
def weights_are_not_absolute():
    original = sw.exact_recovery
    return patched(
        sw, "exact_recovery", lambda A, S: original(A, S)._replace(value=0.0, holds=True)
    )


@fault(noise_bounds, family="dictionaries")
def singular_values_are_not_the_smallest():
    return patched(recovery, "extreme_singular_values", lambda design: (1.0, 1.0))


@fault(likely_recovery, family="dictionaries")
def noise_is_taken_for_real():
    original = recovery.recovery_probability

    def broken(m, k, delta, *more, circular=False):
        return original(m, k, 1.1 * delta, *more, circular=circular)

    return patched(recovery, "recovery_probability", broken)
