"""Stepwise regression on inner products of columns: of many signals, or of one model.

With G = A*A of unit columns, a step needs neither A nor the target. Row i of M holds what is known
of basis vector q_i: its inner products with all columns, p_i = A*q_i, and behind these its recipe
u_i (see `stepwise`). When unit column j comes in, with h_i = q_i*a_j,

    [p | u]_k = ([A*a_j | e_k] - Σ_i h_i [p | u]_i) / ρ,    ρ² = 1 - Σ_i |h_i|²,

so that one loop over long rows makes both, and a drop reflects both at once.

Many signals share G, which is made first (`encode`). One model needs the rows of the columns that
come in, and these are made as they do (`grow_lazily`): four at a time, the best column's and those
of the columns next to it, cost half of what they do one by one, and most of them come in later.
What a kernel does without is None, so that numba leaves out the code for it.

As in `stepwise`, what belongs to targets has one row for each. Codes are of one target: there the
loops over targets, which would slow down the short steps, are left out with the lazy rows.

Squares keep half of the digits that columns have, so no decision is taken here that rounding could
turn: `unit_error` bounds the errors of corr and energy, here and in the engine, and where these
leave a choice open the kernel comes back (UNSURE), for the engine to take the steps.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from sparsewise.kernels.compile import abs2, column_square, jit, loop_jit, part_jit
from sparsewise.kernels.stepwise import (
    ACTIVE,
    EXACT,
    FITTED,
    FULL,
    MORE,
    OPEN,
    SMALL,
    UNSURE,
    advance,
    apply,
    close_gap,
    coefficients,
    largest,
    least,
    reflector,
    scores,
    sum_squares,
)

# Columns whose inner products are made in one pass over A.
FOUR = 4

# Why a code is what it is, besides what kernels say of a step: nothing changes any more.
STABLE = 100

# Places in `Work.at`: ‖r‖², ‖U‖² and the largest ‖U‖² met.
RSS, SIZE, PEAK = range(3)

EPS = 2.0**-52
"""All is computed in double precision."""

SHARE = 4.0
"""Errors, in units of eps times what amplifies them: several times the largest that tests meet."""

SINGLE = 2.0**-20
"""Errors of scores in single precision, in which they are quicker to look through."""

TINY = 2.0**-100
"""The least score that has its digits in single precision."""

COARSE = 0.1
"""A relative error of scores from which on nothing is told apart."""

REFINED = 64.0
"""‖U‖² from which on coefficients are refined once with the columns themselves."""

ROUNDS = 100
"""Most rounds forward and back: far more than ever are."""


class Dictionary(NamedTuple):
    """Unit columns, as kernels take them.

    Attributes
    ----------
    K : array of shape (m, m)
        Row j holds a_l* a_j for every l.
    columns : array of shape (m, n)
        A unit column in each row.
    state, is_open : arrays
        Which columns can be chosen: OPEN, and as a number, 1 or 0.
    energy : array
        What `Work.energy` begins with.
    units : array
        What coefficients of unit columns are multiplied by.
    """

    K: Any
    columns: Any
    state: Any
    is_open: Any
    energy: Any
    units: Any


class LazyRows(NamedTuple):
    """Where rows of G come from that are made as columns come in.

    Attributes
    ----------
    W : array
        A, or its transpose, C-ordered.
    is_transposed : bool
        Whether a column of A is a row of W.
    scale : array of length m
        What makes unit columns of those of A.
    place : array of int, of length m
        Which row of K holds a_l* a_j for every l; -1: none does yet.
    columns : array of int, of length four
        Those whose rows are being made.
    count : array of int
        How many rows are made, and in how many passes over A.
    """

    W: Any
    is_transposed: Any
    scale: Any
    place: Any
    columns: Any
    count: Any


class Rule(NamedTuple):
    """What is done with each signal.

    Attributes
    ----------
    by_gain : bool
        Whether the best column is that of the largest gain, or the one closest to r.
    back : bool
        Whether columns are dropped again: forward and back until nothing changes.
    batch : int
        Columns that come in at once; 0: one by one.
    most : int
        Most columns.
    tie, nothing, dependent, eps : float
        Tolerances of the engine.
    trust : float
        Energies below this have lost half of their digits, or may be those of dependent columns;
        so may columns be with |corr|² below this part of ‖r‖².
    frail : float
        ‖U‖² from which on columns may be dependent.
    loose : float
        Energies are taken to be at least this, to be checked at the end; 0: known at each step.
    copies : bool
        Whether columns are closed because they are copies of others: a tie, while there are digits.
    """

    by_gain: Any
    back: Any
    batch: Any
    most: Any
    tie: Any
    nothing: Any
    dependent: Any
    eps: Any
    trust: Any
    frail: Any
    loose: Any
    copies: Any


class Work(NamedTuple):
    """Room to work in, for one signal after the other.

    Attributes
    ----------
    M : array of shape (room, m + room)
        Inner products with all columns and recipe of each direction.
    t, x, r, corr : arrays of one row
        Coordinates and coefficients of the signal, its residual, and corr = A*r.
    h, v, diagonal : arrays
        Coordinates of the column that comes in, a reflector, and squares of recipes.
    energy, others : arrays of length m
        By gain, the energy of a closed column is infinite; else `energy` is 1 for an open column
        and 0 for a closed one. `others` is room for scores.
    values : array of float32, of length m
        Scores, in single precision.
    state : array of int8
        What each column is.
    order, locked : arrays
        The active columns in the order in which they came, and that none is locked.
    at : array
        Numbers that change: see RSS, SIZE and PEAK.
    none : array of no length
        The damping.
    """

    M: Any
    t: Any
    h: Any
    v: Any
    x: Any
    diagonal: Any
    corr: Any
    energy: Any
    values: Any
    others: Any
    state: Any
    order: Any
    locked: Any
    r: Any
    at: Any
    none: Any


@part_jit
def smallest(values):
    """The smallest of them; NaN if one is."""
    low = np.inf
    for j in range(values.size):
        low = low if values[j] >= low else values[j]
    return low


@loop_jit
def how_many(values, level):
    """How many of them are at least this."""
    many = 0
    for j in range(values.size):
        many += values[j] >= level
    return many


@loop_jit
def none_yet():
    """No columns: for a 0 that is written out, numba would compile all that takes it once more."""
    return np.int64(0)


@part_jit
def first(values, level):
    """The place of the first of them that is at least this; -1: none is."""
    for j in range(values.size):
        if values[j] >= level:
            return j
    return -1


@loop_jit
def only_one(values, level):
    """The place of the one that is at least this; -1: there are several."""
    many, places = 0, 0
    for j in range(values.size):
        enough = values[j] >= level
        many += enough
        places += j if enough else 0
    return places if many == 1 else -1


@loop_jit
def unit_error(peak, eps):
    """A bound on the errors of corr, energy and ‖r‖², of unit columns and a unit signal.

    Here they grow as those of a Cholesky factor, by ‖U‖²; in the engine by ‖U‖ at most.
    """
    return SHARE * (EPS * peak + eps * np.sqrt(peak))


@loop_jit
def score_error(top, energy, error, by_gain):
    """By what part of it a score as large as `top` may be off, if energies are at least this.

    No smaller score is off by more than that part of `top`.
    """
    if not by_gain:
        return 2 * error / np.sqrt(top)
    return error * (1 / energy + 2 / np.sqrt(top * energy))


@loop_jit
def is_told(top, rule, rss):
    """Whether the best score is one of columns that are independent, and has its digits."""
    return top > TINY and (rule.by_gain or top > rule.trust * rss)


@part_jit
def lowest(energy, values):
    """The least energy of a column that can be chosen: its score is not -1."""
    low = 1.0
    for j in range(energy.size):
        low = energy[j] if values[j] >= 0 and energy[j] < low else low
    return low


@part_jit
def choose_among(corr, energy, values, state, others, rule, rss, error):
    """The best column where several are close; -1 if rounding leaves it open.

    The rule is `best_open`'s: a choice stands if it is the same for ties that are wider, and
    narrower, by the error of the scores, or if there is nothing else to choose. Without values in
    single precision errors are small (`Rule.frail`): columns that look dependent are.
    """
    top = scores(corr, energy, state, rule.by_gain, rule.dependent, others)
    if not rule.by_gain:
        low = 1.0
    elif values is None:
        low = lowest(energy, others)
    else:
        low = smallest(energy)
    if not (is_told(top, rule, rss) and low > rule.dependent):
        return -1
    off = score_error(top, low, error, rule.by_gain)
    if not off < COARSE:
        return -1
    wide, narrow = top * (1 - rule.tie - off), top * (1 - rule.tie + off)
    j = first(others, wide)
    if off <= rule.tie and others[j] >= narrow:  # none before j is, either
        return j
    return j if how_many(others, wide) == 1 else -1


@loop_jit
def choose(corr, energy, values, state, others, rule, rss, error):
    """The column of the best score; -1 if rounding leaves it open.

    Values in single precision tell it, if there are any, unless another is as close as these can't
    tell.
    """
    if values is None:
        return choose_among(corr, energy, values, state, others, rule, rss, error)
    top = np.float64(largest(values))
    if not is_told(top, rule, rss):
        return -1
    low = smallest(energy) if rule.by_gain and rule.loose == 0 else rule.loose
    off = SINGLE + rule.tie + score_error(top, low, error, rule.by_gain)
    j = only_one(values, np.float32(top * (1 - off)))
    if j >= 0:
        return j
    return choose_among(corr, energy, values, state, others, rule, rss, error)


@part_jit
def choose_several(corr, is_open, others, chosen, rule, rss, error, wanted):
    """The columns closest to r, near-ties by column, into `chosen`; how many: -1 if it is open.

    As `ActiveSet.ranking` has it: a tie reaches as far down as its leader's value allows.
    """
    count = 0
    for j in range(is_open.size):
        others[j] = abs2(corr[0, j]) * is_open[j]
    while count < wanted:
        top = largest(others)
        if not (top > 0.0 and top > rule.trust * rss):
            return -1
        off = score_error(top, 1.0, error, False)
        if not off < (rule.tie if rule.copies else COARSE):
            return -1
        low, high = top * (1 - rule.tie - off), top * (1 - rule.tie + off)
        alone = how_many(others, low) == 1
        for j in range(others.size):
            if others[j] >= low and count < wanted:
                if not alone and others[j] < high:
                    return -1
                chosen[count] = j
                others[j] = -1.0
                count += 1
    return count


@loop_jit
def direction(M, k, h):
    """Take the rows above out of row k of M, four at a time: what is new in it, but for its length.

    Indices count from 0, as vector units like them best.
    """
    width = M.shape[1]
    whole = k - k % 4
    for c in range(0, whole, 4):
        h0, h1, h2, h3 = h[c], h[c + 1], h[c + 2], h[c + 3]
        for i in range(width):
            one = h0 * M[c, i] + h1 * M[c + 1, i]
            two = h2 * M[c + 2, i] + h3 * M[c + 3, i]
            M[k, i] -= one + two
    if k - whole >= 2:
        h0, h1 = h[whole], h[whole + 1]
        for i in range(width):
            M[k, i] -= h0 * M[whole, i] + h1 * M[whole + 1, i]
    if k % 2:
        h0 = h[k - 1]
        for i in range(width):
            M[k, i] -= h0 * M[k - 1, i]


@loop_jit
def lower_gains(M, k, scale, t, corr, energy, values):
    """Scale p = A*q, in row k, to its length; corr -= t p, energy -= |p|², and the gains."""
    along, c = t[0, k], corr[0]
    for j in range(energy.size):
        M[k, j] *= scale
        c[j] -= along * M[k, j]
        energy[j] -= abs2(M[k, j])
        if values is not None:
            values[j] = np.float32(abs2(c[j])) / np.float32(energy[j])


@loop_jit
def lower_correlations(M, k, scale, t, corr, is_open, values):
    """Scale p = A*q, in row k, to its length; corr -= t p, and the |corr|² of open columns."""
    along, c = t[0, k], corr[0]
    for j in range(is_open.size):
        M[k, j] *= scale
        c[j] -= along * M[k, j]
        if values is not None:
            values[j] = abs2(c[j]) * is_open[j]


@part_jit
def along_rows(W, J, G):
    """G[c, i] = w_i* w_J[c] for four columns J of W, four rows of it at a time."""
    n, width = W.shape
    A, B, C, D = G[0], G[1], G[2], G[3]
    for i in range(width):
        A[i], B[i], C[i], D[i] = 0, 0, 0, 0
    whole = n - n % 4
    for row in range(0, whole, 4):
        w0, w1, w2, w3 = W[row, J[0]], W[row, J[1]], W[row, J[2]], W[row, J[3]]
        x0, x1, x2, x3 = W[row + 1, J[0]], W[row + 1, J[1]], W[row + 1, J[2]], W[row + 1, J[3]]
        y0, y1, y2, y3 = W[row + 2, J[0]], W[row + 2, J[1]], W[row + 2, J[2]], W[row + 2, J[3]]
        z0, z1, z2, z3 = W[row + 3, J[0]], W[row + 3, J[1]], W[row + 3, J[2]], W[row + 3, J[3]]
        for i in range(width):
            w, x = np.conj(W[row, i]), np.conj(W[row + 1, i])
            y, z = np.conj(W[row + 2, i]), np.conj(W[row + 3, i])
            A[i] += w * w0 + x * x0 + y * y0 + z * z0
            B[i] += w * w1 + x * x1 + y * y1 + z * z1
            C[i] += w * w2 + x * x2 + y * y2 + z * z2
            D[i] += w * w3 + x * x3 + y * y3 + z * z3
    for row in range(whole, n):
        for c in range(FOUR):
            for i in range(width):
                G[c, i] += np.conj(W[row, i]) * W[row, J[c]]


@part_jit
def along_columns(W, J, G):
    """The same where a column is a row of W, two of them at a time."""
    width, n = W.shape
    p, q, r, s = W[J[0]], W[J[1]], W[J[2]], W[J[3]]
    for first in range(0, width, 2):
        second = min(first + 1, width - 1)
        x, y = W[first], W[second]
        zero = W.dtype.type(0)
        a, b, c, d, e, f, g, h = zero, zero, zero, zero, zero, zero, zero, zero
        for row in range(n):
            u, v = np.conj(x[row]), np.conj(y[row])
            a += u * p[row]
            b += u * q[row]
            c += u * r[row]
            d += u * s[row]
            e += v * p[row]
            f += v * q[row]
            g += v * r[row]
            h += v * s[row]
        G[0, first], G[1, first], G[2, first], G[3, first] = a, b, c, d
        G[0, second], G[1, second], G[2, second], G[3, second] = e, f, g, h


@part_jit
def runners_up(values, place, j, J):
    """Into J column j and the best besides, of those without a `place`. Returns how many.

    Where there are fewer than four, j stands again.
    """
    for c in range(FOUR):
        J[c] = j
    found = 1
    low = 0.0
    for i in range(values.size):
        if values[i] > low and place[i] < 0 and i != j:
            c = min(found, FOUR - 1)
            while c > 1 and values[J[c - 1]] < values[i]:
                J[c] = J[c - 1]
                c -= 1
            J[c] = i
            found = min(found + 1, FOUR)
            low = values[J[FOUR - 1]] if found == FOUR else 0.0
    return found


@part_jit
def look_up(W, is_transposed, scale, values, j, J, G, place, made):
    """The inner products of column j and its runners-up, of unit columns, in one pass over A.

    Rows of G take them, and `place` where they are among all that are made. Returns how many.
    """
    found = runners_up(values, place, j, J)
    if is_transposed:
        along_columns(W, J, G)
    else:
        along_rows(W, J, G)
    for c in range(found):
        place[J[c]] = made + c
        for i in range(scale.size):
            G[c, i] *= scale[i] * scale[J[c]]
    return found


@part_jit
def row_of(K, lazy, j, values):
    """Which row of K holds A*a_j; it is made if it is not there. Values: all scores."""
    if lazy is None:
        return j
    if lazy.place[j] < 0:
        made = lazy.count[0]
        lazy.count[0] += look_up(
            lazy.W, lazy.is_transposed, lazy.scale, values, j, lazy.columns, K[made : made + FOUR],
            lazy.place, made,
        )  # fmt: skip
        lazy.count[1] += 1
    return lazy.place[j]


@loop_jit
def measure(M, k, j, h):
    """h = Q*a_j, and what is left of the square of unit column j."""
    left = 1.0
    for i in range(k):
        h[i] = np.conj(M[i, j])
        left -= abs2(h[i])
    return left


@loop_jit
def target_square(M, j, lazy):
    """Σ_i |M_ij|² over all targets i."""
    if lazy is None:  # one target
        return abs2(M[0, j])
    return column_square(M, j)


@loop_jit
def take_in(
    K, lazy, M, t, h, corr, energy, values, others, k, j, left, by_gain, is_followed
):  # fmt: skip
    """Add column j of this energy; the scores change if a step follows.

    Returns the square of its recipe.
    """
    m, width = energy.size, M.shape[1]
    scale = 1 / np.sqrt(left)
    t[0, k] = corr[0, j] * scale
    if lazy is not None:
        for target in range(1, len(t)):
            t[target, k] = corr[target, j] * scale
    energy[j] = np.inf if by_gain else 0.0
    for i in range(m, width):
        M[k, i] = 0
    M[k, m + k] = 1
    if is_followed:
        row = row_of(K, lazy, j, others)
        for i in range(m):
            M[k, i] = K[row, i]
        direction(M, k, h)
        if by_gain:
            lower_gains(M, k, scale, t, corr, energy, values)
        else:
            lower_correlations(M, k, scale, t, corr, energy, values)
        if lazy is not None:
            for target in range(1, len(t)):
                for i in range(m):
                    corr[target, i] -= t[target, k] * M[k, i]
    elif values is not None:
        direction(M[:, m:], k, h)
    else:  # the last step of one model: a plain loop is soon compiled
        for c in range(k):
            for i in range(m, width):
                M[k, i] -= h[c] * M[c, i]
    square = 0.0
    for i in range(m, width):
        M[k, i] *= scale
        square += abs2(M[k, i])
    return square


@part_jit
def combine(M, t, k, x):
    """x = U t."""
    for i in range(k):
        x[i] = 0
    for c in range(k):
        recipe = M[c, M.shape[1] - x.size :]
        for i in range(k):
            x[i] += t[c] * recipe[i]


@part_jit
def leave(columns, y, order, k, x, r):
    """r = y - A_S x. Returns ‖r‖²."""
    for row in range(y.size):
        r[row] = y[row]
    for i in range(k):
        a = columns[order[i]]
        for row in range(y.size):
            r[row] -= x[i] * a[row]
    square = 0.0
    for row in range(y.size):
        square += abs2(r[row])
    return square


@part_jit
def refine(columns, M, order, k, x, r, h):
    """x += U U* A_S* r, which brings back the digits that squares lost."""
    for i in range(k):
        a, inner = columns[order[i]], 0 * r[0]
        for row in range(r.size):
            inner += np.conj(a[row]) * r[row]
        h[i] = inner
    for c in range(k):
        recipe, left = M[c, M.shape[1] - x.size :], 0 * r[0]
        for i in range(k):
            left += np.conj(recipe[i]) * h[i]
        for i in range(k):
            x[i] += left * recipe[i]


@part_jit
def fit(columns, y, M, t, order, k, x, r, h, is_refined):
    """x = U t of one signal, perhaps refined once, and r = y - A_S x. Returns ‖r‖²."""
    combine(M, t[0], k, x[0])
    rss = leave(columns, y, order, k, x[0], r[0])
    if is_refined:
        refine(columns, M, order, k, x[0], r[0], h)
        rss = leave(columns, y, order, k, x[0], r[0])
    return rss


@part_jit
def judge_fit(columns, y, M, t, order, k, x, r, h, at, rule, enough):
    """Whether r, made from the columns, is small enough: FITTED, EXACT, MORE, or UNSURE."""
    if columns is None:
        return UNSURE
    left = at[RSS] = fit(columns, y, M, t, order, k, x, r, h, True)
    length, off = np.sqrt(left), SHARE * rule.eps * np.sqrt(at[PEAK])
    if abs(length - np.sqrt(rule.nothing)) <= off:
        return UNSURE
    if enough >= 0 and abs(length - np.sqrt(enough)) <= off:
        return UNSURE
    if left <= enough:
        return FITTED
    return EXACT if left <= rule.nothing else MORE


@loop_jit
def is_near(rss, enough, nothing, error):
    """Whether 1 - Σ|t|² is too near a bound to say on which side ‖r‖² is."""
    return abs(rss - enough) <= error or rss <= nothing + error


@loop_jit
def judge_gain(gain, floor, off):
    """Whether a gain that is off by so much is worth it: MORE, SMALL or UNSURE."""
    if abs(gain - floor) <= off:
        return UNSURE
    return MORE if gain > floor else SMALL


@loop_jit
def grow(
    K, lazy, columns, y, M, t, h, x, r, corr, energy, values, others, state, order, at,
    rule, k, enough, floor,
):  # fmt: skip
    """Add the best column again and again (see `stepwise.grow`).

    Rows of G are K, unless they are made lazily. Without columns, fits that are nearly close enough
    are left to the engine; without room for values in single precision, scores are looked through
    in double.

    Returns (columns, why it ended).
    """
    if k >= rule.most:
        return k, FULL
    while True:
        error = unit_error(at[PEAK], rule.eps)
        code = FITTED if at[RSS] <= enough else MORE
        if is_near(at[RSS], enough, rule.nothing, error):
            code = judge_fit(columns, y, M, t, order, k, x, r, h, at, rule, enough)
        if code == MORE and k >= rule.most:
            code = FULL
        if code != MORE:
            break
        j = choose(corr, energy, values, state, others, rule, at[RSS], error)
        if j < 0:
            return k, UNSURE
        left = measure(M, k, j, h)
        if not left > rule.trust:
            return k, UNSURE
        size = np.sqrt(target_square(corr, j, lazy))
        gain, off = size * size / left, error * (1 / left + 2 / size)
        if rule.copies and not off < rule.tie:
            return k, UNSURE
        code = judge_gain(gain, floor, gain * off)
        if code != MORE:
            break
        order[k] = j
        state[j] = ACTIVE
        at[SIZE] += take_in(
            K, lazy, M, t, h, corr, energy, values, others, k, j, left, rule.by_gain,
            k + 1 < rule.most or rule.back,
        )  # fmt: skip
        at[PEAK] = max(at[PEAK], at[SIZE])
        at[RSS] -= target_square(t, k, lazy)
        k += 1
        if not at[PEAK] < rule.frail:
            return k, UNSURE
    if rule.by_gain and rule.loose > 0 and how_many(energy, rule.loose) < energy.size:
        return k, UNSURE
    return k, code


@part_jit
def grow_by_batches(dictionary, y, work, chosen, rule, enough, floor):
    """Add `batch` columns at a time (see `gomp`). Returns (columns, why it ended)."""
    K, M, t, h, x, r, at = dictionary.K, work.M, work.t, work.h, work.x, work.r, work.at
    corr, energy, values, order = work.corr, work.energy, work.values, work.order
    columns = dictionary.columns
    k = none_yet()
    while k < rule.most:
        error = unit_error(at[PEAK], rule.eps)
        code = FITTED if at[RSS] <= enough else MORE
        if is_near(at[RSS], enough, rule.nothing, error):
            code = judge_fit(columns, y, M, t, order, k, x, r, h, at, rule, enough)
        if code != MORE:
            return k, code
        wanted = min(rule.batch, rule.most - k)
        count = choose_several(corr, energy, work.others, chosen, rule, at[RSS], error, wanted)
        if count < 0:
            return k, UNSURE
        top = abs2(corr[0, chosen[0]])
        code = judge_gain(top, floor, top * score_error(top, 1.0, error, False))
        if code != MORE:
            return k, code
        for i in range(count):
            j = chosen[i]
            left = measure(M, k, j, h)
            if not left > rule.trust:
                return k, UNSURE
            order[k] = j
            at[SIZE] += take_in(
                K, None, M, t, h, corr, energy, values, work.others, k, j, left, False, True
            )
            at[PEAK] = max(at[PEAK], at[SIZE])
            at[RSS] -= abs2(t[0, k])
            k += 1
        if not at[PEAK] < rule.frail:
            return k, UNSURE
    return k, FULL


@part_jit
def least_certain(work, rule, k, low, error):
    """The active position whose loss is least (`stepwise.least`); -1 if rounding leaves it open."""
    off = 2 * error / np.sqrt(low)
    if not off < COARSE:
        return -1
    wide, narrow = rule.tie + off, rule.tie - off
    squares = work.others
    sum_squares(work.x, k, squares)
    i = least(squares, work.diagonal, k, work.order, work.locked, True, wide, rule.nothing)
    close = 0
    for other in range(k):
        close += squares[other] / work.diagonal[other] <= low * (1 + wide)
    if close == 1:
        return i
    if narrow < 0:
        return -1
    same = least(squares, work.diagonal, k, work.order, work.locked, True, narrow, rule.nothing)
    return i if i == same else -1


@part_jit
def take_out(work, start, k, i):
    """Drop the column at position i: a reflection of all rows, and the scores without the last."""
    m = work.energy.size
    j = work.order[i]
    U = work.M[:, m:]
    reflector(U, work.t, k, i, work.v)
    apply(work.M, work.v, k, m + k)
    for c in range(k - 1):
        for row in range(i, k - 1):
            U[c, row] = U[c, row + 1]
        for row in range(k - 1, U.shape[1]):
            U[c, row] = 0
    close_gap(work.order, work.locked, work.none, k, i)
    k -= 1
    p, t, corr = work.M[k], work.t[0], work.corr[0]
    for other in range(m):
        corr[other] += t[k] * p[other]
        work.energy[other] += abs2(p[other])
    work.state[j] = OPEN
    corr[j], work.energy[j] = start[j], 1
    for c in range(k):
        corr[j] -= t[c] * work.M[c, j]
        work.energy[j] -= abs2(work.M[c, j])
    for other in range(m):
        work.values[other] = abs2(corr[other]) / work.energy[other]


@part_jit
def shrink(work, rule, start, k, ceiling):
    """Drop the column of least loss while that is at most this. Returns (columns, why it ended)."""
    U, x = work.M[:, work.energy.size :], work.x[0]
    while k > 0:
        work.at[SIZE] = coefficients(U, work.t, k, work.x, work.diagonal)
        work.at[PEAK] = max(work.at[PEAK], work.at[SIZE])
        error = unit_error(work.at[PEAK], rule.eps)
        low = np.inf
        for i in range(k):
            low = min(low, abs2(x[i]) / work.diagonal[i])
        code = judge_gain(low, ceiling, 2 * np.sqrt(low) * error)
        if code != SMALL:
            return k, code
        i = least_certain(work, rule, k, low, error)
        if i < 0:
            return k, UNSURE
        work.at[RSS] += abs2(x[i]) / work.diagonal[i]
        take_out(work, start, k, i)
        k -= 1
    work.at[SIZE] = 0.0
    return k, MORE


@part_jit
def is_as_before(order, k, before, size):
    """Whether the active columns are those that were active before a round, so many."""
    if k != size:
        return False
    for i in range(k):
        found = False
        for other in range(k):
            found = found or before[other] == order[i]
        if not found:
            return False
    return True


@part_jit
def alternate(dictionary, y, work, before, rule, start, floor):
    """Forward and back until nothing changes (see `rmp0`). Returns (columns, why it ended).

    No round but the last leaves ‖r‖² + δ²|S| as it was, so that no earlier support comes again.
    """
    k = none_yet()
    for _ in range(ROUNDS):
        size = k
        for i in range(k):
            before[i] = work.order[i]
        k, code = grow(
            dictionary.K, None, dictionary.columns, y, work.M, work.t, work.h, work.x, work.r,
            work.corr, work.energy, work.values, work.others, work.state, work.order, work.at,
            rule, k, -1.0, floor,
        )  # fmt: skip
        if code == UNSURE:
            return k, UNSURE
        k, code = shrink(work, rule, start, k, floor)
        if code == UNSURE:
            return k, UNSURE
        if is_as_before(work.order, k, before, size):
            return k, STABLE
    return k, UNSURE


@loop_jit
def begin(dictionary, start, corr, energy, values, state, at):
    """The scores of an empty model."""
    for j in range(start.size):
        corr[0, j] = start[j]
        values[j] = abs2(start[j]) * dictionary.is_open[j]
    for j in range(start.size):
        energy[j] = dictionary.energy[j]
        state[j] = dictionary.state[j]
    at[RSS], at[SIZE], at[PEAK] = 1.0, 0.0, 1.0


@loop_jit
def tell(active, values, k, scale, units, order, x):
    """The coefficients of the active columns in the units of the data, columns ascending."""
    for i in range(k):
        j, at = active[i], i
        value = values[i] * (scale * units[j])
        while at > 0 and order[at - 1] > j:
            order[at], x[at] = order[at - 1], x[at - 1]
            at -= 1
        order[at], x[at] = j, value


@jit
def encode(
    dictionary, rule, work, chosen, before, Y, C, scales, enough, floors,
    order, X, sizes, rss, codes,
):  # fmt: skip
    """The code of each row of Y, a unit signal, given its inner products C with all columns.

    Columns come in by batches if there is room for those `chosen`, and are dropped again if there
    is room for those `before` a round; else both are None. `scales`, `enough` and `floors` are
    norm, ‖r‖² to reach and gain to exceed, of each signal.

    Writes columns, ascending, and their coefficients in the units of the data, how many these are,
    ‖r‖² of the unit signal, and why it ended; UNSURE: the signal is left to the engine.
    """
    # Out of the tuples once: within the loop it would take longer than a step.
    K, columns = dictionary.K, dictionary.columns
    M, t, h, x, r, active, at = work.M, work.t, work.h, work.x, work.r, work.order, work.at
    corr, energy, values, others = work.corr, work.energy, work.values, work.others
    state, units = work.state, dictionary.units
    for s in range(len(Y)):
        begin(dictionary, C[s], corr, energy, values, state, at)
        if chosen is not None:
            k, code = grow_by_batches(dictionary, Y[s], work, chosen, rule, enough[s], floors[s])
        elif before is not None:
            k, code = alternate(dictionary, Y[s], work, before, rule, C[s], floors[s])
        else:
            k, code = grow(
                K, None, columns, Y[s], M, t, h, x, r, corr, energy, values, others, state, active,
                at, rule, none_yet(), enough[s], floors[s],
            )  # fmt: skip
        sizes[s], codes[s] = k, code
        if code != UNSURE:
            rss[s] = fit(columns, Y[s], M, t, active, k, x, r, h, at[PEAK] > REFINED)
            tell(active, x[0], k, scales[s], units, order[s], X[s])


@part_jit
def take_away(W, is_transposed, scale, order, k, x, r):
    """Take A_S x, of unit columns, out of the targets in r. Returns what is left, ‖r‖²."""
    for target in range(len(r)):
        for i in range(k):
            j = order[i]
            factor = x[target, i] * scale[j]
            if is_transposed:
                for row in range(r.shape[1]):
                    r[target, row] -= factor * W[j, row]
            else:
                for row in range(r.shape[1]):
                    r[target, row] -= factor * W[row, j]
    square = 0.0
    for row in range(r.shape[1]):
        square += column_square(r, row)
    return square


@jit
def grow_lazily(
    W, is_transposed, scale, corr, energy, state, U, t, r, by_gain, limits, picks, rss, X
):  # fmt: skip
    """Add the best column again and again, from an empty model, to one target or several.

    W is A or its transpose, the columns of which times `scale` have unit norm; r holds the targets.
    limits = (‖r‖² to reach, gain to exceed, and of `Rule` tie, nothing, dependent, eps, trust,
    frail): a named tuple takes Python longer to hand over than all steps on a small matrix.
    Writes U, t, r, and what `stepwise.grow` tells of each step. Returns (columns added, why it
    ended, passes over A).
    """
    enough, floor, tie, nothing, dependent, eps, trust, frail = limits
    m, steps = energy.size, picks.size
    rule = Rule(by_gain, False, 0, steps, tie, nothing, dependent, eps, trust, frail, 0.0, False)
    place = np.empty(m, np.int64)
    for j in range(m):
        place[j] = -1
        energy[j] = 1.0 if state[j] == OPEN else np.inf if by_gain else 0.0
    count = np.zeros(2, np.int64)
    lazy = LazyRows(W, is_transposed, scale, place, np.empty(FOUR, np.int64), count)
    K = np.empty((min(FOUR * steps, m) + FOUR, m), U.dtype)
    M = np.empty((steps, m + steps), U.dtype)
    at = np.empty(3)
    at[RSS], at[SIZE], at[PEAK] = 1.0, 0.0, 1.0
    k, code = grow(
        K, lazy, None, None, M, t, np.empty(steps, U.dtype), None, None, corr, energy, None,
        np.empty(m, energy.dtype), state, picks, at, rule, none_yet(), enough, floor,
    )  # fmt: skip
    for c in range(k):
        for row in range(k):
            U[c, row] = M[c, m + row]
        advance(X[max(c - 1, 0)], U[c], t, c, X[c])
    if k > 0:
        rss[k - 1] = take_away(W, is_transposed, scale, picks, k, X[k - 1], r)
        for c in range(k - 1, 0, -1):
            rss[c - 1] = rss[c] + column_square(t, c)
    return k, code, count[1]
