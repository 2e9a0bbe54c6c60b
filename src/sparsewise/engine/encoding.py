"""Codes of many signals: one prepared dictionary, blocks of signals, threads."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterable
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from sparsewise import plan
from sparsewise._typing import Array
from sparsewise._util.progress import unseen, waiting
from sparsewise._util.threads import in_threads
from sparsewise.design import Design
from sparsewise.design.base import BLOCK_BYTES
from sparsewise.engine.stopping import stopping_criterion
from sparsewise.errors import InputError
from sparsewise.kernels import load_gram_kernels, load_kernels
from sparsewise.problem.problem import MODERATE, problem, product
from sparsewise.problem.signals import Signals, unit_signals
from sparsewise.results import Codes, Solution, Stop
from sparsewise.results.codes import as_proof
from sparsewise.tolerances import tolerances

COPY = 8.0
"""Unit columns that differ by fewer units of rounding than this are copies of each other."""

TILE = 256
"""Rows of a Gram matrix that are looked through at once."""

FAR = 16.0
"""Columns are far from dependent if rounding could be so many times as large."""

FRAIL = 1e8
"""‖U‖² up to which coefficients have their digits after one refinement, with double precision."""

CACHE_LINE = 64
"""Bytes that are read at once."""

SHARES = 4
"""Blocks for each thread, so that all end at about the same time."""

STOPS = tuple(Stop)

Solve = Callable[[Design, Array], Solution]
"""An algorithm with its parameters, for one signal."""


class Steps(NamedTuple):
    """What an algorithm does, where inner products are enough: see `Rule` of the kernels."""

    by_gain: bool
    back: bool = False
    batch: int = 0


class Part(NamedTuple):
    """The codes of a block: how long each is, all columns and values, ‖r‖ and stop of each.

    Columns of each signal are ascending; stops are numbers, places in STOPS; proofs are those of
    `Codes`.
    """

    sizes: Array
    columns: Array
    values: Array
    residual_norms: Array
    stops: Array
    proofs: tuple[Solution, ...] = ()


class ByEngine:
    """Every signal by the function for one: the design is prepared once, and shared.

    Parameters
    ----------
    design : Design
        The dictionary.
    signals : Signals
        What is to be coded.
    solve : callable
        The algorithm with its parameters.
    proves : bool
        Whether solutions are checked for more than residual and normal equations.

    Attributes
    ----------
    wait : Waiting
        Told of every signal that is done.
    """

    signal_bytes = 1 << 14  # results of some hundred entries, and the signal

    def __init__(
        self, design: Design, signals: Signals, solve: Solve, proves: bool = False
    ) -> None:
        self.design, self.signals, self.solve, self.proves = design, signals, solve, proves
        self.wait = unseen()
        self.dtype = design.dtype
        if signals.is_complex and self.dtype.kind != "c":
            self.dtype = np.result_type(self.dtype, np.complex64)

    def code(self, ends: tuple[int, int]) -> Part:
        """The codes of the signals between these ends."""
        first, last = ends
        block = self.signals.block(first, last)
        unit_signals(block, first, np.result_type(block, np.float64))  # refuses NaN by its name
        found = [self.one(block[:, s], first + s) for s in range(last - first)]
        return Part(
            np.array([one.support.size for one in found], np.int64),
            np.concatenate([one.support for one in found]),
            np.concatenate([one.coef[one.support] for one in found]).astype(self.dtype),
            np.array([one.residual_norm for one in found]),
            np.array([STOPS.index(one.stop) for one in found], np.int64),
            tuple(map(as_proof, found)) if self.proves else (),
        )

    def one(self, y: Array, t: int) -> Solution:
        """The solution of signal t."""
        try:
            found = self.solve(self.design, y)
        except InputError as error:
            raise InputError((f"Signal {t}: ", *error.words)) from None
        self.wait.update(1)
        return found


class ByGram(ByEngine):
    """Signals by their inner products with all columns, and the columns' with each other.

    Those for which these have too few digits are left to the function for one signal, `solve`.
    Parameters are those of `ByEngine`, and two more.

    Parameters
    ----------
    design, signals, solve : Design, Signals and callable
        As for `ByEngine`.
    steps : Steps
        What the algorithm does.
    stopping : dict
        Its stopping parameters.
    """

    def __init__(
        self,
        design: Design,
        signals: Signals,
        solve: Solve,
        steps: Steps,
        stopping: dict[str, Any],
    ) -> None:
        super().__init__(design, signals, solve)
        self._kernels = load_gram_kernels()
        self._steps = steps
        n, m = design.shape
        # On a target of norm one the criterion is in the units of the data.
        unit = problem(design, np.eye(1, n)[0])
        self._stopping = stopping_criterion("encode", unit, **stopping)
        self._residual, self._delta = stopping.get("residual"), stopping.get("delta")
        self._room = max(1, min(self._stopping.most, n, m))
        self.signal_bytes = 8 * (1 + self._is_complex) * (n + m + 3 * self._room)
        # Made here rather than by the first thread that needs them.
        self.inverse_norms = self._inverse_norms()
        self.dictionary = self._prepared()
        self._rule, self._meanings = self._ruled(), self._told()
        self._own = threading.local()

    @property
    def _is_complex(self) -> bool:
        return bool(self.dtype.kind == "c")

    @property
    def _double(self) -> np.dtype[Any]:
        """What it is computed in."""
        return np.dtype(np.complex128 if self._is_complex else np.float64)

    def _inverse_norms(self) -> Array:
        """1 / ‖a_j‖ in double precision; 0 for a column of zeros."""
        norms = self.design.norms()
        known = self.design.inverse_norms() > 0
        return np.divide(1.0, norms, out=np.zeros(norms.size), where=known)

    def _prepared(self) -> Any:
        """What kernels take of the columns; copies of earlier ones, and zeros, are closed."""
        kernels, states = self._kernels, load_kernels()
        columns = np.array(self.design.columns(slice(None)).T, self._double, order="C")
        columns *= self.inverse_norms[:, None]
        K = columns @ columns.conj().T
        closed = (self.inverse_norms == 0) | copies(K, columns, self.design.tolerances.eps)
        state = np.where(closed, states.EXCLUDED, states.OPEN).astype(np.int8)
        is_open = np.where(closed, 0.0, 1.0)
        energy = np.where(closed, np.inf, 1.0) if self._steps.by_gain else is_open.copy()
        extreme = self.design.measured.extreme
        units = np.ones(len(K)) if extreme else self.inverse_norms
        return kernels.Dictionary(K, columns, state, is_open, energy, units)

    def _ruled(self) -> Any:
        """What kernels take of the algorithm."""
        steps, tolerance = self._steps, self.design.tolerances
        trust = max(tolerances(np.dtype(np.float64)).trust, FAR * tolerance.dependent)
        # In single precision errors are too large to guess energies.
        known = steps.by_gain and self.dtype.char in "fF"
        return self._kernels.Rule(
            steps.by_gain, steps.back, steps.batch, self._stopping.most, tolerance.tie,
            tolerance.exact, tolerance.dependent, tolerance.eps, trust,
            min(tolerance.frail / FAR, FRAIL), 0.0 if known else trust,
            bool(self.dictionary.is_open.min() == 0),
        )  # fmt: skip

    def _room_for(self, signals: int) -> _Room:
        """Where this thread works, block after block: new memory would have to be cleared first."""
        room: _Room | None = getattr(self._own, "room", None)
        if room is None or len(room.inner) < signals:
            room = self._own.room = _Room(
                self._work(),
                np.empty((signals, self.design.shape[1]), self._double),
                np.empty((signals, self._room), np.int64),
                np.zeros((signals, self._room), self._double),
            )
        return room

    def _work(self) -> Any:
        """Room for one thread to take the steps of a signal in."""
        n, m = self.design.shape
        room = self._room

        def numbers(*shape: int) -> Array:
            return _aligned(shape, self._double)

        return self._kernels.Work(
            M=numbers(room, m + room), t=numbers(1, room), h=numbers(room), v=numbers(room + 1),
            x=numbers(1, room), diagonal=np.empty(room), corr=numbers(1, m), energy=_aligned((m,)),
            values=_aligned((m,), np.float32), others=_aligned((m,)), state=np.empty(m, np.int8),
            order=np.empty(room, np.int64), locked=np.zeros(room, np.bool_), r=numbers(1, n),
            at=np.empty(3), none=np.empty(0),
        )  # fmt: skip

    def code(self, ends: tuple[int, int]) -> Part:
        """The codes of the signals between these ends."""
        first, last = ends
        block = self.signals.block(first, last)
        Y, norms = unit_signals(block, first, self._double)
        found = self._by_products(Y, norms)
        nothing = norms == 0
        low, high = MODERATE[self.dtype.char in "fF"]
        unsure = (found.codes == self._kernels.UNSURE) | (norms < low) | (norms > high)
        found.sizes[unsure | nothing] = 0
        values, beyond = self._in_units(found, norms)
        stops = self._meanings[found.codes]
        stops[nothing] = STOPS.index(Stop.ZERO_TARGET)
        lengths = np.where(nothing, 0.0, np.sqrt(found.rss) * norms)
        left = np.flatnonzero((unsure | beyond) & ~nothing)
        self.wait.update(last - first - left.size)
        for s in left.tolist():
            one = self.one(block[:, s], first + s)
            size = found.sizes[s] = one.support.size
            lengths[s], stops[s] = one.residual_norm, STOPS.index(one.stop)
            found.order[s, :size], values[s, :size] = one.support, one.coef[one.support]
        taken = found.taken
        return Part(found.sizes, found.order[taken], values[taken], lengths, stops)

    def _by_products(self, Y: Array, norms: Array) -> _Found:
        """The codes of unit signals, one a row, as far as inner products tell."""
        steps, count = self._steps, len(Y)
        chosen = np.empty(self._room, np.int64) if steps.batch else None
        before = np.empty(self._room, np.int64) if steps.back else None
        exact, scale = self.design.tolerances.exact, np.where(norms > 0, norms, 1.0)
        enough, floors = np.full(count, -1.0), np.full(count, exact)
        with np.errstate(over="ignore", under="ignore"):
            if self._residual is not None:
                enough = np.square(self._residual / scale)
            if self._delta is not None:
                floors = np.maximum(np.square(self._delta / scale), exact)
        room = self._room_for(count)
        found = _Found(
            room.order[:count],
            room.X[:count],
            np.empty(count, np.int64),
            np.zeros(count),
            np.empty(count, np.int64),
        )
        inner = np.matmul(Y, self.dictionary.columns.conj().T, out=room.inner[:count])
        scales = np.ones(count) if self.design.measured.extreme else norms
        # Uncompiled, NumPy would warn of energies that are 0: their columns are not chosen.
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            self._kernels.encode(
                self.dictionary, self._rule, room.work, chosen, before, Y, inner, scales,
                enough, floors, *found,
            )  # fmt: skip
        return found

    def _in_units(self, found: _Found, norms: Array) -> tuple[Array, Array]:
        """Coefficients in the units of the data, and which signals have some out of range."""
        beyond = np.zeros(norms.size, np.bool_)
        if not self.design.measured.extreme:  # kernels have done it
            return found.X.astype(self.dtype, copy=False), beyond
        taken, values = found.taken, np.zeros(found.X.shape, self.dtype)
        scale, factors = np.repeat(norms, found.sizes), self.inverse_norms[found.order[taken]]
        with np.errstate(over="ignore", under="ignore"):
            flat = product(found.X[taken], scale, factors).astype(self.dtype)
        wrong = ~np.isfinite(flat) | (np.abs(flat) < np.finfo(self.dtype).tiny)
        beyond[np.repeat(np.arange(norms.size), found.sizes)[wrong]] = True
        values[taken] = flat
        return values, beyond

    def _told(self) -> Array:
        """By the number that a kernel gives: why it ended, as a place in STOPS."""
        kernels, stopping = self._kernels, self._stopping
        meanings = np.zeros(kernels.STABLE + 1, np.int64)
        for code, stop in (
            (kernels.FULL, stopping.full),
            (kernels.FITTED, Stop.RESIDUAL),
            (kernels.EXACT, Stop.EXACT_FIT),
            (kernels.SMALL, stopping.small),
            (kernels.STABLE, Stop.STABLE),
        ):
            meanings[code] = STOPS.index(stop)
        return meanings


def _aligned(shape: tuple[int, ...], dtype: Any = np.float64) -> Array:
    """An array that begins with a line of the cache: others can take steps half as long again."""
    size = math.prod(shape) * np.dtype(dtype).itemsize
    room = np.empty(size + CACHE_LINE, np.uint8)
    first = -room.ctypes.data % CACHE_LINE
    return room[first : first + size].view(dtype).reshape(shape)


class _Room(NamedTuple):
    """What a thread works in: `Work` of the kernels, inner products, columns and coefficients."""

    work: Any
    inner: Array
    order: Array
    X: Array


class _Found(NamedTuple):
    """What kernels write: columns and coefficients, how many, ‖r‖², and why it ended."""

    order: Array
    X: Array
    sizes: Array
    rss: Array
    codes: Array

    @property
    def taken(self) -> Array:
        """Which places of `order` and X are in use."""
        return np.arange(self.order.shape[1]) < self.sizes[:, None]


def copies(K: Array, columns: Array, eps: float) -> Array:
    """Which unit columns are copies of earlier ones, but for a factor of size one."""
    found = np.zeros(len(K), np.bool_)
    for first in range(0, len(K), TILE):
        i, j = np.nonzero(np.abs(K[first : first + TILE, first:]) > 1 - COPY * eps)
        i, j = i + first, j + first
        i, j = i[i < j], j[i < j]
        # Entry j of row i is a_j* a_i: a copy is a_j = a_i times its conjugate.
        apart = columns[j] - K[i, j].conj()[:, None] * columns[i]
        found[j[np.linalg.norm(apart, axis=1) <= COPY * eps]] = True
    return found


def is_by_gram(design: Design, signals: Signals, parameters: Iterable[str]) -> bool:
    """Whether signals are coded by inner products, where an algorithm has these parameters."""
    is_complex = signals.is_complex or design.dtype.kind == "c"
    task = plan.Task(
        design.shape,
        lambda: plan.needs(signals=True).union(parameters, design.needs(design.dtype)),
        signals=signals.count,
        itemsize=16 if is_complex else 8,
    )
    return plan.kernel_for(task) is plan.GRAM


def run(coder: ByEngine, n_jobs: int | None, **told: Any) -> Codes:
    """All codes, by blocks of signals that threads share; and what is told of them besides."""
    from joblib import effective_n_jobs
    from scipy.sparse import csc_array

    signals, m = coder.signals, coder.design.shape[1]
    threads = effective_n_jobs(n_jobs)
    share = -(-signals.count // (SHARES * threads))
    size = max(1, min(share, BLOCK_BYTES // coder.signal_bytes))
    # What takes time, in compiled code and BLAS, lets other threads run.
    with waiting(f"encoding {signals.count:,} signals", signals.count) as coder.wait:
        parts = in_threads(coder.code, list(signals.blocks(size)), threads)
    parts.append(_no_codes(coder.dtype))
    *arrays, proofs = zip(*parts, strict=True)
    sizes, columns, values, lengths, stops = map(np.concatenate, arrays)
    starts = np.concatenate([[0], np.cumsum(sizes)])
    index = np.int32 if max(m, starts[-1]) <= np.iinfo(np.int32).max else np.int64
    entries: Any = values, columns.astype(index), starts.astype(index)
    coef = csc_array(entries, shape=(m, signals.count))
    return Codes(
        coef=coef,
        residual_norms=lengths,
        stops=np.array(STOPS, object)[stops],
        proofs=tuple(chain(*proofs)),
        **told,
    )


def _no_codes(dtype: np.dtype[Any]) -> Part:
    none = np.empty(0, np.int64)
    return Part(none, none, np.empty(0, dtype), np.empty(0), none)
