"""Which way is quicker, by size; and which kernel takes which steps.

Every way leads to the same answer: the numbers of this file say only what is quicker, or what fits
into memory. So they stand here, side by side, each with its unit and its reason, and in no other
file (`tests/test_plan.py` looks).

The functions take plain numbers and import no other room, since all rooms ask: a design whether it
is small, long before there is a problem, and an estimator before there is a design. What rounding
allows is another matter: see `tolerances`.

A quick kernel declares what it supports (`Kernel`). Whatever else a task needs, now or in years to
come, goes to the general step, which supports everything: a new capability is a new word among the
needs of a task, and no kernel has to be told of it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import compress
from typing import NamedTuple

Shape = tuple[int, int]
"""Rows and columns of A."""

# --- what size a matrix has -----------------------------------------------------------------------

SMALL = 1 << 16
"""Entries of an A that is copied and looked at as a whole: half a megabyte, which stays in the
cache, so that calls are what costs."""

TALL, LONG = 4, 1 << 15
"""Rows for each column, and entries, that a tall matrix has at least: inner products of its columns
then cost less than copies of them."""


def is_small(shape: Shape) -> bool:
    """Whether a step looks at all columns of A in one compiled loop, not at a pool of them."""
    n, m = shape
    return n * m <= SMALL


def is_tall(shape: Shape) -> bool:
    """Whether columns are few and long."""
    n, m = shape
    return n >= TALL * m and n * m >= LONG


def correlates_in_a_loop(shape: Shape) -> bool:
    """Whether a compiled loop makes the first scores sooner than a call of BLAS does.

    A tall matrix would have to be copied for it.
    """
    return is_small(shape) and not is_tall(shape)


# --- when to condense rows into sufficient statistics ---------------------------------------------


class CondenseLimits(NamedTuple):
    """From which shape on it pays to condense rows into a triangle.

    A triangle of c columns takes n c² operations once, as many as c passes over n rows, and
    whatever follows works on c rows. So data must be tall, and narrow where few passes would do.

    Attributes
    ----------
    rows : int
        Rows for each column of the triangle, at least.
    spare : int
        Further rows, so that those of a triangle are fewer even if it is tiny.
    columns : float
        Columns of the triangle, at most; those of all targets but one count, too.
    entries : int
        Entries of the table, at least: below, calls are what costs.
    """

    rows: int
    spare: int = 0
    columns: float = math.inf
    entries: int = 0


CONDENSE_SEARCH = CondenseLimits(rows=2, spare=3, columns=256)
"""A search makes hundreds of passes."""

CONDENSE_LARGE_ARRAY = CondenseLimits(rows=4, columns=256)
"""An array that is too large for a copy about its means: a path makes as many passes."""

CONDENSE_FOLDS = CondenseLimits(rows=32, columns=256, entries=1 << 18)
"""Folds of a table: it pays even for short paths."""

CONDENSE_ON_WORKERS = CondenseLimits(rows=4, columns=1024)
"""Dask collections, which cost more to read: one pass, after which further ones cost nothing."""

CONDENSE_BEYOND_WORKERS = CONDENSE_ON_WORKERS._replace(columns=8192)
"""Those that don't fit into the memory of the workers; the triangle takes half a gigabyte."""

CONDENSE_UNREAD = CondenseLimits(rows=2, spare=3)
"""Rows of files, or of a kernel, that can't be kept: they would have to be read or made again."""


def condenses(limits: CondenseLimits, n: float, m: int, targets: int = 1) -> bool:
    """Whether to condense n rows of m features; n may be NaN: not counted yet."""
    columns = m + targets - 1
    if n < limits.rows * columns + limits.spare or n * m < limits.entries:
        return False
    return columns <= limits.columns


TABLE_IN_MEMORY = 1 << 27
"""Bytes up to which a table is read as a whole: those of a text, or 8 for each cell of Parquet."""

# --- which columns are looked at together ---------------------------------------------------------

JOINTLY = 1 << 28
"""Products, n m min(n, m), of one joint update of all columns: about 0.1 s. Beyond, passes over A
find the columns that may matter first."""

JOINTLY_IN_DOUBT = 1 << 33
"""The same, of all starts together that update all columns though these are many, since what passes
found may be there by chance: about 4 s."""

PRODUCTS_OF_A_SEARCH = 1 << 10
"""Products with an operator that a search makes anyway: one for each of the columns that steps
forward nearly take, and one for each step."""

KERNEL_JOINTLY = 1 << 18
"""Entries of a kernel matrix whose columns are all updated together to infer the noise: about a
second for all rounds."""


def updates_jointly(shape: Shape) -> bool:
    """Whether all columns are updated together, rather than those that may matter."""
    n, m = shape
    return n * m * min(n, m) <= JOINTLY


def joint_starts_in_doubt(shape: Shape, itemsize: int = 8) -> int:
    """How many starts update all columns though these are many, where the answer is in doubt."""
    n, m = shape
    if updates_jointly(shape) or n * m * itemsize > GRAM_BYTES:
        return 0
    return JOINTLY_IN_DOUBT // (n * m * min(n, m))


def computes_all_columns(shape: Shape, itemsize: int, measured: bool) -> bool:
    """Whether a search computes all columns of an operator once, and keeps them.

    Their norms need all columns, unless they are known (`measured`), and so do joint updates.
    """
    n, m = shape
    needed = not measured or m <= PRODUCTS_OF_A_SEARCH or updates_jointly(shape)
    return needed and n * m * itemsize <= GRAM_BYTES


def infers_from_all(shape: Shape) -> bool:
    """Whether the noise is inferred from all columns of a kernel matrix, rather than from some."""
    n, m = shape
    return n * m <= KERNEL_JOINTLY


LASSO_BY_PATH = SMALL
"""Entries of an A on which all bends of an ℓ1 path down to one penalty take less time than Newton's
method at that penalty: they are one compiled call, each of its steps a dozen calls."""


def solves_by_path(shape: Shape) -> bool:
    """Whether the minimiser at one penalty is found by the exact path that leads to it."""
    n, m = shape
    return n * m <= LASSO_BY_PATH


# --- what is done without being asked for ---------------------------------------------------------

EFFORTLESS = 1 << 30
"""Products, n m k + n k², that a path of k features may take in any case: about a second."""

QUICK = 1 << 20
"""Products, n m², of a factorisation that takes no longer than a fit: about a millisecond."""


def effortless_steps(n: float, m: int) -> int:
    """How many features k a path may have that need not end early: n m k + n k² <= EFFORTLESS."""
    return int((math.sqrt(m * m + 4 * EFFORTLESS / n) - m) / 2)


def factorises_at_once(shape: Shape) -> bool:
    """Whether the fit of all features is made along with that of some, rather than on demand."""
    n, m = shape
    return n * m * m <= QUICK


# --- which kernel takes the steps -----------------------------------------------------------------

IN_CACHE = 1 << 20
"""Entries of an A, 8 MB, up to which passes over it are so quick that guessing steps saves hardly
any: inner products then pay for any shape."""

AT_ONCE = 1 << 24
"""Entries of a tall A, 128 MB, up to which all steps together take about a second: Ctrl-C need not
be looked for in between."""

GRAM_BYTES = 1 << 29
"""Most bytes that a Gram matrix, or the columns as an array, may take."""

SIGNALS = 32
"""Columns for each signal up to which a Gram matrix pays: it takes as long as that many signals."""

OUT_OF_CACHE = 1 << 24
"""Bytes of an A that doesn't stay in a cache: from there on, guessing bends of an ℓ1 path pays."""


class Task(NamedTuple):
    """Steps to take.

    Attributes
    ----------
    shape : tuple of int
        Rows and columns of A.
    needs : callable
        Tells, once a kernel would pay, the words for what it must support beyond least squares in
        double precision on an array in one piece, one column a step from an empty model. In use
        are, besides names of parameters:

        - of A: "single" precision, columns of "extreme" norms, entries with an "error", another
          "storage" than an array in one piece, an "operator", columns held by "remote" processes;
        - of the model: several "targets", a "start" (it has columns), "ridge", "groups", "signs";
        - of the outcome: a "path" of models, a "basis" to go on with, codes of many "signals",
          the bends of an "l1" path;
        - of the way: as many steps as there happen to be ("open_ended"), a "callback" after each,
          "careful" ones where digits are short.
    steps : int
        Most steps.
    signals : int
        How many signals share A.
    itemsize : int
        Bytes of an entry.
    """

    shape: Shape
    needs: Callable[[], frozenset[str]]
    steps: int = 1
    signals: int = 1
    itemsize: int = 8


class Kernel(NamedTuple):
    """A quick way to take steps.

    Attributes
    ----------
    name : str
        Where it is.
    supports : frozenset of str
        Which needs of a task it meets.
    pays : callable
        Whether it is quicker than the general step for a task.
    """

    name: str
    supports: frozenset[str]
    pays: Callable[[Task], bool]

    def takes(self, task: Task) -> bool:
        """Whether the task is one for this kernel."""
        return self.pays(task) and task.needs() <= self.supports


def _lazy_gram_pays(task: Task) -> bool:
    n, m = task.shape
    if correlates_in_a_loop(task.shape) or task.steps < 2:
        return False
    return n * m <= (AT_ONCE if is_tall(task.shape) else IN_CACHE)


def _gram_pays(task: Task) -> bool:
    n, m = task.shape
    return max(n, m) * m * task.itemsize <= GRAM_BYTES and SIGNALS * task.signals >= m


def _lookahead_pays(task: Task) -> bool:
    n, m = task.shape
    return n * m * task.itemsize >= OUT_OF_CACHE


LAZY_GRAM = Kernel(
    "kernels/gram_stepwise.py: grow_lazily",
    frozenset({"path", "targets", "exclude"}),
    _lazy_gram_pays,
)
"""Steps forward of one model by inner products of its columns, made as columns come in."""

GRAM = Kernel(
    "kernels/gram_stepwise.py: encode",
    frozenset(
        {"signals", "sparsity", "residual", "delta", "batch", "single", "extreme", "storage",
         "operator"}
    ),
    _gram_pays,
)  # fmt: skip
"""Steps of many signals by the inner products of all columns."""

PATH_LOOKAHEAD = Kernel(
    "engine/l1/path_lookahead.py",
    frozenset({"l1", "single", "extreme", "error", "storage", "remote"}),
    _lookahead_pays,
)
"""Bends of an ℓ1 path guessed from a few columns, and checked against all of them in one pass."""

KERNELS = (LAZY_GRAM, GRAM, PATH_LOOKAHEAD)
"""All quick kernels; no task is one for two of them."""


def kernel_for(task: Task) -> Kernel | None:
    """The quick kernel that takes these steps; None: the general step does."""
    return next((kernel for kernel in KERNELS if kernel.takes(task)), None)


def needs(**asked: object) -> frozenset[str]:
    """The words whose values are true, as needs of a task."""
    return frozenset(compress(asked, asked.values()))


# The posterior over models.

GRAM_COLUMNS = 256
"""Columns whose inner products with all others are made in one pass."""

GRAM_AHEAD = 7
"""Rows of the Gram matrix that are made along with one that is needed: they share its pass."""

RECORDED_SIZE = 24
"""Columns of a model for which there is room in a record, on average."""


def makes_whole_gram(m: int) -> bool:
    """Whether all inner products are made at once: 32 MB at most."""
    return m <= 2000


def gram_slots(m: int) -> int:
    """How many rows of the Gram matrix are kept: 400 MB of them."""
    return min(m, max(64, int(5e7 / m)))


MOST_SAMPLED = 200
"""Most columns of a model in the posterior over models."""


def sampled_at_once(m: int) -> int:
    """Flips between two looks at whether somebody has interrupted: about a tenth of a second."""
    return max(50, int(3e6 / m))


MODELS_ADDED_UP = 100_000
"""Models that are added up, rather than sampled, at most: half a second."""


def adds_up_models(columns: int) -> bool:
    """Whether all subsets of so many columns may be added up, little branches bounded."""
    return columns <= 30


def most_flips(m: int) -> int:
    """Models that each chain samples at most: about two seconds for moderate m."""
    return int(min(max(3e7 / m, 4000), 64_000))
