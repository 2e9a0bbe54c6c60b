"""The path of ℓ1-penalised least squares (Osborne et al. 2000, Efron et al. 2004).

For unit columns and real data, x minimises ½‖A x - y‖² + Σ ω_j |x_j| exactly if, with c = Aᵀr,

    c_j = s_j ω_j  where x_j ≠ 0, s_j being its sign,        |c_j| <= ω_j  elsewhere.

While the weights move along a line, ω + τ Δ, so do the active coefficients and the residual. On the
active columns, with A_S U = Q (see `stepwise`), e = Uᵀ(s ω) and g = Uᵀ(s Δ),

    x = U (t - e),   r = r_LS + Q e,   dx/dτ = -U g,   dr/dτ = u = Q g,   dc/dτ = Aᵀu,

until a column reaches its weight and comes in, or a coefficient reaches zero and goes. One product
Aᵀu leads from each such bend to the next. Weights that shrink to zero make the path of the lasso;
weights that turn into others make a warm start.

`follow` is the whole loop. Where it has no matrix at hand it asks its caller for each product and
each column, and goes on where it was.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from sparsewise.kernels.compile import abs2, jit, loop_jit, part_jit
from sparsewise.kernels.stepwise import (
    append,
    apply,
    close_gap,
    orthogonalise,
    project,
    reflector,
)

# The state of a column.
OPEN, ACTIVE, BARRED, PARKED = range(4)

# What comes next; where `follow` begins, what it asks for, or why it came back.
ADD, DROP, LOOK, PRODUCT, COLUMN, WORN, END, MET, STALE, CYCLE, MORE = range(11)

# Places in `State.at`: ‖r_LS‖²; how much of the way is left, how much was left when c was last made
# from scratch, and how much is to be left in the end; ‖r‖ when c was last made; and the largest
# recipe that U has seen since it was: rounding errors of the columns grow by it.
RSS, LEFT, FRESH, LEAST, LENGTH, WEAR = range(6)

REST = 1 - 2.0**-10
"""The longest part of a way to zero that is gone at once: what is left of it keeps its digits."""

CLOSE = 1e-6
"""A column of more energy than this is independent of the others, however these are."""

# Places in `State.count`: the number of active columns; for how many bends nothing has moved; the
# column or position of the next bend; bends recorded; the position that the last one gave up for
# another column (NONE, or NO_BEND where there is none to record); and passes over W.
SIZE, STILL, PLACE, BENDS, GIVEN_UP, PASSES = range(6)
NONE, NO_BEND = -1, -2


class State(NamedTuple):
    """Where the path is.

    Attributes
    ----------
    Q, U, t, r, order, locked : arrays
        The factor of the active columns (see `stepwise`), for a single target; r is the
        least-squares residual, and locked are the columns that cost nothing.
    x, dx, e, g, u : arrays
        What `aim` computes.
    corr, weight, delta, sign, state : arrays of length m
        c, ω, what ω has still to go, the sign of an active coefficient, and what each column is:
        open, active, barred or parked.
    b, a : arrays of length m and n
        Aᵀu, and the unit column that comes in.
    v, h : arrays
        Room to work in.
    at, count : arrays
        Numbers that change: see RSS and SIZE, and the following.
    columns, left, squares, X : arrays
        Room to record bends in: of each the column that came (or -1 - j for a column j that went),
        how much of the way was left, ‖r‖² and the active coefficients (X begins as zeros).
    """

    Q: Any
    U: Any
    t: Any
    r: Any
    order: Any
    locked: Any
    x: Any
    dx: Any
    e: Any
    g: Any
    u: Any
    corr: Any
    weight: Any
    delta: Any
    sign: Any
    state: Any
    b: Any
    a: Any
    v: Any
    h: Any
    at: Any
    count: Any
    columns: Any
    left: Any
    squares: Any
    X: Any


@loop_jit
def aim(k, rss, Q, U, t, h, x, dx, e, g, u, order, sign, weight, delta):
    """Where x is, and where x and r are going. Returns ‖r‖²."""
    squares = rss
    for row in range(k):
        x[row] = 0
        dx[row] = 0
        j = order[row]
        h[row] = sign[j] * weight[j]
        h[k + row] = sign[j] * delta[j]
    for row in range(u.size):
        u[row] = 0
    for c in range(k):
        inner = U.dtype.type(0)
        speed = U.dtype.type(0)
        for row in range(k):
            inner += U[c, row] * h[row]
            speed += U[c, row] * h[k + row]
        e[c] = inner
        g[c] = speed
        squares += inner * inner
        for row in range(k):
            x[row] += (t[0, c] - inner) * U[c, row]
            dx[row] -= speed * U[c, row]
        for row in range(u.size):
            u[row] += speed * Q[c, row]
    return squares


@loop_jit
def first_zero(k, order, sign, locked, x, dx):
    """The first active coefficient to reach zero, and when; ties: the lowest column."""
    first, when = -1, np.inf
    for i in range(k):
        side = sign[order[i]]
        speed = -side * dx[i]
        if speed > 0 and not locked[i]:
            time = max(side * x[i], 0.0) / speed
            if time < when or (time == when and order[i] < order[first]):
                first, when = i, time
    return first, when


@part_jit
def time_to_leave(corr, speed, weight, delta, noise):
    """When c_j leaves the noise, if the weight is within it by then; 0: it is not."""
    if speed <= 0:
        return np.inf
    time = max(noise - corr, 0.0) / speed
    return time if weight + time * delta <= noise else 0.0


@loop_jit
def first_to_reach(b, corr, weight, delta, state, slow, noise):
    """The first open column to reach its weight, and when; ties: the lowest.

    A speed that is rounding error leads nowhere: copies of an active column move along with it.
    A weight within the noise of c can't be told from zero: there, c has to leave the noise.
    """
    first, when = -1, np.inf
    one = b.dtype.type(1)
    for j in range(b.size):
        if state[j] == OPEN:
            least = slow * (abs(b[j]) + abs(delta[j]))
            for side in (one, -one):
                speed = side * b[j] - delta[j]
                if speed > least:
                    time = max(weight[j] - side * corr[j], 0.0) / speed
                    if time < when:
                        if weight[j] + time * delta[j] <= noise:
                            there = side * corr[j], side * b[j], weight[j], delta[j]
                            time = max(time, time_to_leave(*there, noise))
                        if time < when:
                            first, when = j, time
    return first, when


@part_jit
def time_to_meet(k, e, g, rss, bound):
    """When ‖r‖² = ‖r_LS‖² + ‖e + τ g‖² comes to this bound; infinity: not on this line.

    A line with a bound leads to or from zero: beyond, or before, all of the way is ‖r_LS‖².

    Where it falls and is below the bound, it has just been met at a bend, but for rounding.
    """
    a, b, c = 0.0, 0.0, rss - bound
    for i in range(k):
        a += g[i] * g[i]
        b += g[i] * e[i]
        c += e[i] * e[i]
    if abs(c) <= 1e-14 * bound or (c < 0 and b < 0):
        return 0.0
    inside = b * b - a * c
    if a == 0 or (inside < 0 and rss >= bound):
        return np.inf
    root = np.sqrt(max(inside, 0.0))  # below zero by rounding: the bound is close to the end
    if c > 0:  # it has to fall
        return c / (root - b) if b < 0 else np.inf
    return -c / (root + b)


@part_jit
def ends_well(k, U, order, sign, locked, x, dx, slow, noise):
    """Whether no coefficient has the wrong sign at the end of the line, but for rounding.

    Coefficients that are zero at the end may seem to be so a little before.
    """
    largest = 0.0
    for i in range(k):
        largest = max(largest, abs(x[i] + dx[i]))
    for i in range(k):
        end = sign[order[i]] * (x[i] + dx[i])
        if not locked[i] and end < -slow * largest:
            diagonal = 0.0
            for c in range(k):
                diagonal += abs2(U[c, i])
            if end < -2 * noise * np.sqrt(diagonal):
                return False
    return True


@part_jit
def largest_open(weight, state):
    """The largest weight of an open column."""
    largest = 0.0
    for j in range(state.size):
        if state[j] == OPEN:
            largest = max(largest, weight[j])
    return largest


@loop_jit
def next_bend(s, bound, exact, slow, noise):
    """What comes first (END, MET, ADD or DROP, or LOOK: nothing yet), its place, and when.

    Where the weights go to zero (exact >= 0) and the least-squares residual is zero, c shrinks
    along with the weights: no column can reach its own.
    """
    end = 1.0 - s.at[LEAST] / s.at[LEFT]
    k, order, sign, locked, x, dx = s.count[SIZE], s.order, s.sign, s.locked, s.x, s.dx
    i, zero = first_zero(k, order, sign, locked, x, dx)
    j, reach = -1, np.inf
    if s.at[RSS] > exact:
        j, reach = first_to_reach(s.b, s.corr, s.weight, s.delta, s.state, slow, noise)
    elif ends_well(k, s.U, order, sign, locked, x, dx, slow, noise):
        zero = np.inf
    meet = time_to_meet(k, s.e, s.g, s.at[RSS], bound) if bound >= 0 else np.inf
    first = min(zero, reach, meet, end)
    if first > REST and exact >= 0:
        fitted = s.at[RSS] <= exact
        if meet < np.inf or end < 1.0:
            return LOOK, -1, REST
        if not (fitted or zero < 1.0) and largest_open(s.weight, s.state) > noise:
            return LOOK, -1, REST
    if meet <= first:
        return MET, -1, meet
    if end <= first:
        return END, -1, end
    if zero <= reach:
        return DROP, i, zero
    return ADD, j, reach


@loop_jit
def move(k, x, dx, corr, b, weight, delta, time, to_zero):
    """Along the line: x, ω, what is left of its way, and c."""
    for i in range(k):
        x[i] += time * dx[i]
    for j in range(b.size):
        weight[j] += time * delta[j]
        delta[j] *= 1 - time
        corr[j] += time * b[j]
    if to_zero:  # what is left of the way is the weight itself, with all of its digits
        for j in range(b.size):
            weight[j] = -delta[j]


@part_jit
def leave(s, i):
    """The active column at position i goes; the factor's arrays close up."""
    k = s.count[SIZE]
    s.state[s.order[i]] = OPEN
    recipe = 0.0
    for c in range(k):
        recipe += abs2(s.U[c, i])
    s.at[WEAR] = max(s.at[WEAR], np.sqrt(recipe))
    reflector(s.U, s.t, k, i, s.h)
    apply(s.U, s.h, k, k)
    apply(s.Q, s.h, k, s.Q.shape[1])
    for c in range(k - 1):
        for row in range(i, k - 1):
            s.U[c, row] = s.U[c, row + 1]
    squares = 0.0
    for row in range(s.r.size):
        s.r[0, row] += s.t[0, k - 1] * s.Q[k - 1, row]
        squares += abs2(s.r[0, row])
    close_gap(s.order, s.locked, np.empty(0), k, i)  # nothing is damped
    s.count[SIZE], s.at[RSS] = k - 1, squares
    for j in range(s.state.size):
        if s.state[j] == PARKED:
            s.state[j] = OPEN


@part_jit
def makes_way(k, U, h, order, sign, locked, x, side, dependent):
    """The position whose coefficient is the first to vanish in favour of a dependent column.

    a = A_S z with z = U h: x - σ τ z on S and σ τ on the new column fit as well for every τ, and
    cost the same. Without column i, a has the energy |z_i|²/Σ_c|U_ci|², which must let it in.
    -1: none vanishes.
    """
    first, when = -1, np.inf
    for i in range(k):
        z = U.dtype.type(0)
        diagonal = 0.0
        for c in range(k):
            z += h[c] * U[c, i]
            diagonal += abs2(U[c, i])
        own = sign[order[i]]
        speed = own * side * z
        if speed > 0 and z * z > 4 * dependent * diagonal and not locked[i]:
            time = max(own * x[i], 0.0) / speed
            if time < when:
                first, when = i, time
    return first


@part_jit
def remainder(a, k, Q, U, v, h):
    """What the active columns leave of the new one, into v; returns its square."""
    none = np.empty(0, Q.dtype)
    for row in range(a.size):
        v[row] = a[row]
    return orthogonalise(Q, U, none, k, v, none, h)


@part_jit
def note(columns, left, at, count, column):
    """A bend; what it leads to is recorded once that is known."""
    done = count[BENDS]
    columns[done] = column
    left[done] = at[LEFT]
    count[BENDS] = done + 1


@part_jit
def rounding(k, U, h, energy, dependent):
    """The energy that rounding may have left of a = A_S z + rest: it grows with (1 + Σ|z|)²."""
    if energy > CLOSE:
        return dependent
    total = 1.0
    for i in range(k):
        z = U.dtype.type(0)
        for c in range(k):
            z += h[c] * U[c, i]
        total += abs(z)
    return dependent * total * total


@part_jit
def enter(s, j, dependent):
    """Column j, s.a, comes in; if it depends on the active ones, one of them goes instead.

    Where none can make way, the column is parked until one goes.
    """
    side = 1.0 if s.corr[j] > 0 else -1.0
    k = s.count[SIZE]
    energy = remainder(s.a, k, s.Q, s.U, s.v, s.h)
    given_up, gone = NONE, NONE
    least = rounding(k, s.U, s.h, energy, dependent)
    if energy <= least or k == s.t.size:
        # What rounding leaves of the column may be all that has brought c so far.
        if s.weight[j] > np.sqrt(least) * s.at[LENGTH]:
            given_up = makes_way(k, s.U, s.h, s.order, s.sign, s.locked, s.x, side, least)
        if given_up < 0:
            s.state[j] = PARKED
            return
        gone = s.order[given_up]
        leave(s, given_up)
        energy = remainder(s.a, k - 1, s.Q, s.U, s.v, s.h)
        if energy <= dependent:  # rounding errors had made a way that is none
            note(s.columns, s.left, s.at, s.count, -1 - gone)
            s.count[GIVEN_UP] = NONE
            s.state[j] = PARKED
            return
    note(s.columns, s.left, s.at, s.count, j)
    if given_up >= 0:
        note(s.columns, s.left, s.at, s.count, -1 - gone)
    k = s.count[SIZE]
    inner = s.t.dtype.type(0)
    for row in range(s.v.size):
        inner += s.v[row] * s.r[0, row]
    s.t[0, k] = inner
    s.at[RSS] = append(s.Q, s.U, s.t, s.r, k, s.v, s.h, energy)
    recipe = 0.0
    for row in range(k + 1):
        recipe += abs(s.U[k, row])
    s.at[WEAR] = max(s.at[WEAR], recipe)
    s.order[k] = j
    s.locked[k] = False
    s.sign[j] = side
    s.state[j] = ACTIVE
    s.count[SIZE] = k + 1
    s.count[GIVEN_UP] = given_up


@part_jit
def round_off(k, U, t, e, x, came, slow):
    """Coefficients that are rounding errors are zero.

    So is that of a column that has just come: what the last direction adds to x, all of it rounding
    error, goes with it.
    """
    if came:
        extra = t[0, k - 1] - e[k - 1]
        for row in range(k - 1):
            x[row] -= extra * U[k - 1, row]
        x[k - 1] = 0
    largest = 0.0
    for i in range(k):
        largest = max(largest, abs(x[i]))
    for i in range(k):
        if abs(x[i]) <= slow * largest:
            x[i] = 0


@part_jit
def record(s, square, slow):
    """‖r‖² and the coefficients after the last bend."""
    k, last, given_up = s.count[SIZE], s.count[BENDS] - 1, s.count[GIVEN_UP]
    round_off(k, s.U, s.t, s.e, s.x, s.columns[last] >= 0, slow)
    s.squares[last] = square
    for row in range(k):
        s.X[last, row] = s.x[row]
    if given_up >= 0:  # an exchange is two bends: the other column is still there, at zero
        s.squares[last - 1] = square
        for row in range(k):
            s.X[last - 1, row if row < given_up else row + 1] = s.x[row]
    s.count[GIVEN_UP] = NO_BEND


@loop_jit
def look(s, limits):
    """At a bend, or at the start: record it and look where to go, for which Aᵀu is needed."""
    slow, faded, worn = limits[2], limits[5], limits[6]
    if s.at[WEAR] > worn:
        return WORN
    k = s.count[SIZE]
    square = aim(
        k, s.at[RSS], s.Q, s.U, s.t, s.h, s.x, s.dx, s.e, s.g, s.u,
        s.order, s.sign, s.weight, s.delta,
    )  # fmt: skip
    if s.count[GIVEN_UP] != NO_BEND:
        record(s, square, slow)
    full = k == s.t.size and k < min(s.r.size, s.corr.size)
    if s.count[BENDS] + 2 > s.columns.size or full:
        return MORE
    return STALE if s.at[LEFT] < faded * s.at[FRESH] else PRODUCT


@loop_jit
def go(s, bound, limits):
    """With Aᵀu, to the next bend: a column goes, or one is needed that comes."""
    exact, _, slow, noise, still, _, _ = limits
    kind, place, time = next_bend(s, bound, exact, slow, noise * s.at[LENGTH])
    move(s.count[SIZE], s.x, s.dx, s.corr, s.b, s.weight, s.delta, time, exact >= 0)
    s.at[LEFT] *= 1 - time
    s.count[STILL] = 0 if time > 0 else s.count[STILL] + 1
    if kind in (MET, END, LOOK):
        return kind
    if s.count[STILL] > still:
        return CYCLE
    s.count[PLACE] = place
    if kind == ADD:
        return COLUMN
    note(s.columns, s.left, s.at, s.count, -1 - s.order[place])
    leave(s, place)
    s.count[GIVEN_UP] = NONE
    return LOOK


@jit
def follow(W, scale, s, code, bound, limits):
    """Go along the line, from bend to bend, as long as there is room to record them.

    W and `scale` are all of A, or W has no entries: then PRODUCT asks for s.b = Aᵀu and COLUMN for
    s.a, the unit column s.count[PLACE], and the path goes on once that code is handed back. It
    begins with LOOK, and goes on with it once the factor was made anew for WORN.
    limits = (‖r_LS‖² that counts as zero, energy that counts as dependent, speed that counts as
    none, relative error of c, bends without progress that are too many, how far the way may shrink
    before c is made anew, the recipe that wears U out). Returns what it asks for, or why it came
    back: the line ends (END), ‖r‖² meets the bound (MET), c is to be made anew (STALE), the path
    goes in circles (CYCLE), or there is no room for more (MORE).
    """
    while True:
        if code == LOOK:
            code = look(s, limits)
        elif code == PRODUCT:
            code = go(s, bound, limits)
        else:
            enter(s, s.count[PLACE], limits[1])
            code = LOOK
        if code == PRODUCT and W.size > 0:
            project(W, scale, s.u, s.b)
            s.count[PASSES] += 1
        elif code == COLUMN and W.size > 0:
            j = s.count[PLACE]
            for row in range(s.a.size):
                s.a[row] = W[row, j] * scale[j]
        elif code != LOOK:
            return code


@jit
def conditions(inner, w, columns, x, y, r, nu, penalty, noise):
    """How well x minimises: ‖r‖, ‖r - λν‖, Σ|x|, Σ w|x|, yᵀν, ‖ν‖ and how far ν is from feasible.

    That is, with Aᵀν as `inner`, by how much |a_jᵀν| exceeds w_j, or a_jᵀν differs from
    w_j sign(x_j) on the support: relative to w_j, less a rounding error of `noise` ‖ν‖. What costs
    nothing is held to a weight of 1.
    """
    length, aside, size, cost, product, dual, worst = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for row in range(r.size):
        length += abs2(r[row])
        aside += abs2(r[row] - penalty * nu[row])
        product += y[row] * nu[row]
        dual += abs2(nu[row])
    dual = np.sqrt(dual)
    for i in range(columns.size):
        j = columns[i]
        size += abs(x[i])
        cost += w[j] * abs(x[i])
        off = abs(inner[j] - w[j] * np.sign(x[i])) - noise * dual
        worst = max(worst, off / (w[j] if w[j] > 0 else 1.0))
        inner[j] = 0
    for j in range(inner.size):
        off = abs(inner[j]) - w[j] - noise * dual
        if off > 0:
            worst = max(worst, off / (w[j] if w[j] > 0 else 1.0))
    return np.sqrt(length), np.sqrt(aside), size, cost, product, dual, worst


@jit
def descend(gram, x, corr, limits, sweeps):
    """Sweeps of coordinate descent, updating x and c = B*r in place; `gram` is B*B, row by row.

    With the others fixed, x_j = z(1 - ω/|z|)/‖b_j‖², or 0 if |z| <= ω, with z = c + ‖b_j‖² x_j.
    """
    for _ in range(sweeps):
        for j in range(x.size):
            now = x[j]
            if now == 0 and abs(corr[j]) <= limits[j]:
                continue
            energy = gram[j, j]
            z = corr[j] + energy * now
            size = abs(z)
            new = z * ((size - limits[j]) / (size * energy)) if size > limits[j] else 0.0
            if new != now:
                x[j] = new
                for i in range(x.size):
                    corr[i] -= gram[j, i] * (new - now)
