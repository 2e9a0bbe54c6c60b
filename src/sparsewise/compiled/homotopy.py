"""The path of ℓ1-penalised least squares (Osborne et al. 2000, Efron et al. 2004).

For unit columns and real data, x minimises ½‖A x - y‖² + Σ ω_j |x_j| exactly if, with c = Aᵀr,

    c_j = s_j ω_j  where x_j ≠ 0, s_j being its sign,        |c_j| <= ω_j  elsewhere.

While the weights move along a line, ω + τ Δ, so do the active coefficients and the residual. On the
active columns, with A_S U = Q (see `stepwise`), e = Uᵀ(s ω) and g = Uᵀ(s Δ),

    x = U (t - e),   r = r_LS + Q e,   dx/dτ = -U g,   dr/dτ = u = Q g,   dc/dτ = Aᵀu,

until a column reaches its weight and comes in, or a coefficient reaches zero and goes. One product
Aᵀu leads from each such bend to the next. Weights that shrink to zero make the path of the lasso;
weights that turn into others make a warm start.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from sparsewise.compiled.jit import abs2, inner_jit, jit
from sparsewise.compiled.stepwise import append, apply, orthogonalise, project, reflect

# The state of a column.
OPEN, ACTIVE, BARRED, PARKED = range(4)

# What comes next, or why the kernel came back.
END, MET, ADD, DROP, STALE, CYCLE, MORE = range(7)

# Places in `State.at`: the number of active columns, ‖r_LS‖², how much of the way is left, how much
# was left when c was last made from scratch, and for how many bends nothing has moved.
SIZE, RSS, LEFT, FRESH, STILL = range(5)


class State(NamedTuple):
    """Where the path is.

    Attributes
    ----------
    Q, U, t, r : arrays
        The factor of the active columns (see `stepwise`); r is the least-squares residual.
    order, sign, free : arrays
        Of each active column its number, the sign of its coefficient, and whether it costs nothing.
    x, dx, e, g, u : arrays
        What `aim` computes.
    corr, weight, delta, state : arrays of length m
        c, ω, what ω has still to go, and what each column is: open, active, barred or parked.
    v, h : arrays
        Room to work in.
    at : array
        Numbers that change: see SIZE and the following.
    """

    Q: Any
    U: Any
    t: Any
    r: Any
    order: Any
    sign: Any
    free: Any
    x: Any
    dx: Any
    e: Any
    g: Any
    u: Any
    corr: Any
    weight: Any
    delta: Any
    state: Any
    v: Any
    h: Any
    at: Any


@jit
def aim(s):
    """Where x is, and where x and r are going. Returns ‖r‖²."""
    k = int(s.at[SIZE])
    squares = s.at[RSS]
    now, going = s.h[:k], s.h[k : 2 * k]
    for row in range(k):
        s.x[row] = 0
        s.dx[row] = 0
        now[row] = s.sign[row] * s.weight[s.order[row]]
        going[row] = s.sign[row] * s.delta[s.order[row]]
    for row in range(s.u.size):
        s.u[row] = 0
    for c in range(k):
        e = s.U.dtype.type(0)
        g = s.U.dtype.type(0)
        for row in range(k):
            e += s.U[c, row] * now[row]
            g += s.U[c, row] * going[row]
        s.e[c] = e
        s.g[c] = g
        squares += e * e
        for row in range(k):
            s.x[row] += (s.t[c] - e) * s.U[c, row]
            s.dx[row] -= g * s.U[c, row]
        for row in range(s.u.size):
            s.u[row] += g * s.Q[c, row]
    return squares


@inner_jit
def first_zero(s):
    """The first active coefficient to reach zero, and when; ties: the lowest column."""
    first, when = -1, np.inf
    for i in range(int(s.at[SIZE])):
        speed = -s.sign[i] * s.dx[i]
        if speed > 0 and not s.free[i]:
            time = max(s.sign[i] * s.x[i], 0.0) / speed
            if time < when or (time == when and s.order[i] < s.order[first]):
                first, when = i, time
    return first, when


@inner_jit
def first_to_reach(s, b, slow, noise):
    """The first open column to reach its weight, and when; ties: the lowest.

    A speed that is rounding error leads nowhere: copies of an active column move along with it.
    Nor can it be told what happens where the weight itself is within the noise of c.
    """
    first, when = -1, np.inf
    for j in range(b.size):
        if s.state[j] == OPEN:
            least = slow * (abs(b[j]) + abs(s.delta[j]))
            above, below = b[j] - s.delta[j], -b[j] - s.delta[j]
            if above > least:
                time = max(s.weight[j] - s.corr[j], 0.0) / above
                if time < when and s.weight[j] + time * s.delta[j] > noise:
                    first, when = j, time
            if below > least:
                time = max(s.weight[j] + s.corr[j], 0.0) / below
                if time < when and s.weight[j] + time * s.delta[j] > noise:
                    first, when = j, time
    return first, when


@inner_jit
def time_to_meet(s, bound):
    """When ‖r‖² = ‖r_LS‖² + ‖e + τ g‖² comes to this bound; infinity: not on this line.

    Where it falls and is below the bound, it has just been met at a bend, but for rounding.
    """
    a, b, c = 0.0, 0.0, s.at[RSS] - bound
    for i in range(int(s.at[SIZE])):
        a += s.g[i] * s.g[i]
        b += s.g[i] * s.e[i]
        c += s.e[i] * s.e[i]
    if abs(c) <= 1e-14 * bound or (c < 0 and b < 0):
        return 0.0
    inside = b * b - a * c
    if a == 0 or inside < 0:
        return np.inf
    root = np.sqrt(inside)
    if c > 0:  # it has to fall
        return c / (root - b) if b < 0 else np.inf
    return -c / (root + b)


@inner_jit
def ends_well(s, slow, noise):
    """Whether no coefficient has the wrong sign at the end of the line, but for rounding.

    Coefficients that are zero at the end may seem to be so a little before.
    """
    k = int(s.at[SIZE])
    largest = 0.0
    for i in range(k):
        largest = max(largest, abs(s.x[i] + s.dx[i]))
    for i in range(k):
        if not s.free[i] and s.sign[i] * (s.x[i] + s.dx[i]) < -slow * largest:
            diagonal = 0.0
            for c in range(k):
                diagonal += abs2(s.U[c, i])
            if s.sign[i] * (s.x[i] + s.dx[i]) < -2 * noise * np.sqrt(diagonal):
                return False
    return True


@jit
def next_bend(s, b, bound, exact, slow, noise):
    """What comes first (END, MET, ADD or DROP), which column or position, and when.

    Where the weights go to zero (exact >= 0) and the least-squares residual is zero, c shrinks
    along with the weights: no column can reach its own.
    """
    i, zero = first_zero(s)
    j, reach = -1, np.inf
    if s.at[RSS] > exact:
        j, reach = first_to_reach(s, b, slow, noise)
    elif ends_well(s, slow, noise):
        zero = np.inf
    meet = time_to_meet(s, bound) if bound >= 0 else np.inf
    if meet <= min(zero, reach, 1.0):
        return MET, -1, meet
    if min(zero, reach) >= 1.0:
        return END, -1, 1.0
    if zero <= reach:
        return DROP, i, zero
    return ADD, j, reach


@jit
def move(s, b, time):
    """Along the line: x, ω, what is left of its way, and c."""
    for i in range(int(s.at[SIZE])):
        s.x[i] += time * s.dx[i]
    for j in range(b.size):
        s.weight[j] += time * s.delta[j]
        s.delta[j] *= 1 - time
        s.corr[j] += time * b[j]
    s.at[LEFT] *= 1 - time
    s.at[STILL] = 0 if time > 0 else s.at[STILL] + 1


@jit
def leave(s, i):
    """The active column at position i goes."""
    k = int(s.at[SIZE])
    s.state[s.order[i]] = OPEN
    reflect(s.U, s.t, k, i, s.h, s.x, s.dx)
    apply(s.Q, s.h, k, s.Q.shape[1])
    squares = 0.0
    for row in range(s.r.size):
        s.r[row] += s.t[k - 1] * s.Q[k - 1, row]
        squares += abs2(s.r[row])
    for row in range(i, k - 1):
        s.order[row] = s.order[row + 1]
        s.sign[row] = s.sign[row + 1]
        s.free[row] = s.free[row + 1]
    s.at[SIZE], s.at[RSS] = k - 1, squares
    for j in range(s.state.size):
        if s.state[j] == PARKED:
            s.state[j] = OPEN


@inner_jit
def makes_way(s, side, dependent):
    """The position whose coefficient is the first to vanish in favour of a dependent column.

    a = A_S z with z = U h: x - σ τ z on S and σ τ on the new column fit as well for every τ, and
    cost the same. Without column i, a has the energy |z_i|²/Σ_c|U_ci|², which must let it in.
    -1: none vanishes.
    """
    k = int(s.at[SIZE])
    first, when = -1, np.inf
    for i in range(k):
        z = s.U.dtype.type(0)
        diagonal = 0.0
        for c in range(k):
            z += s.h[c] * s.U[c, i]
            diagonal += abs2(s.U[c, i])
        speed = s.sign[i] * side * z
        if speed > 0 and z * z > 4 * dependent * diagonal and not s.free[i]:
            time = max(s.sign[i] * s.x[i], 0.0) / speed
            if time < when:
                first, when = i, time
    return first


@inner_jit
def remainder(s, v):
    """What the active columns leave of v, into s.v; returns its square."""
    none = np.empty(0, s.t.dtype)
    for row in range(v.size):
        s.v[row] = v[row]
    return orthogonalise(s.Q, s.U, none, int(s.at[SIZE]), s.v, none, s.h)


@jit
def enter(s, j, v, dependent):
    """Column j, v, comes in; if it depends on the active ones, one of them goes instead.

    Returns the position that has gone, -1 if none has, -2 if the column could not come in.
    """
    side = 1.0 if s.corr[j] > 0 else -1.0
    energy = remainder(s, v)
    gone = -1
    if energy <= dependent or int(s.at[SIZE]) == s.t.size:
        gone = makes_way(s, side, dependent)
        if gone < 0:
            s.state[j] = PARKED
            return -2
        leave(s, gone)
        energy = remainder(s, v)
    k = int(s.at[SIZE])
    inner = s.t.dtype.type(0)
    for row in range(v.size):
        inner += s.v[row] * s.r[row]
    s.at[RSS] = append(s.Q, s.U, s.t, s.r, k, s.v, s.h, inner, energy)
    s.order[k] = j
    s.sign[k] = side
    s.free[k] = False
    s.state[j] = ACTIVE
    s.at[SIZE] = k + 1
    return gone


@jit
def round_off(s, came, slow):
    """Coefficients that are rounding errors are zero; so is that of a column that has just come."""
    k = int(s.at[SIZE])
    if came:
        s.x[k - 1] = 0
    largest = 0.0
    for i in range(k):
        largest = max(largest, abs(s.x[i]))
    for i in range(k):
        if abs(s.x[i]) <= slow * largest:
            s.x[i] = 0


@jit
def follow(W, scale, s, bound, limits, columns, left, squares, X):
    """Go along the line, from bend to bend, as long as there is room to tell of them.

    W and `scale` are all of A. limits = (‖r_LS‖² that counts as zero, energy that counts as
    dependent, speed that counts as none, error of c, bends without progress that are too many, how
    far the way may shrink before c is made anew). Of each bend, `columns` takes the column that
    came (or -1 - j for j that went), `left` how much of the way was left, `squares` ‖r‖² and X the
    coefficients after it. Returns (bends, why it came back).
    """
    exact, dependent, slow, noise, still, faded = limits
    b = np.empty(s.corr.size, s.corr.dtype)
    v = np.empty(s.r.size, s.r.dtype)
    done, told, gone = 0, 0, -1
    while True:
        square = aim(s)
        k = int(s.at[SIZE])
        if done > told:
            told = done
            squares[done - 1] = square
            round_off(s, columns[done - 1] >= 0, slow)
            for row in range(k):
                X[done - 1, row] = s.x[row]
            if gone >= 0:  # an exchange is two bends: the other column is still there, at zero
                squares[done - 2] = square
                X[done - 2, gone] = 0
                for row in range(k):
                    X[done - 2, row if row < gone else row + 1] = s.x[row]
        if done + 2 > columns.size or (k == s.t.size and k < min(W.shape)):
            return done, MORE
        if s.at[LEFT] < faded * s.at[FRESH]:
            return done, STALE
        project(W, scale, s.u, b)
        kind, at, time = next_bend(s, b, bound, exact, slow, noise)
        move(s, b, time)
        if kind in (MET, END):
            return done, kind
        if s.at[STILL] > still:
            return done, CYCLE
        gone = -1
        if kind == DROP:
            columns[done] = -1 - s.order[at]
            leave(s, at)
        else:
            for row in range(v.size):
                v[row] = W[row, at] * scale[at]
            was = s.order.copy()
            gone = enter(s, at, v, dependent)
            if gone == -2:
                gone = -1
                continue
            columns[done] = at
            if gone >= 0:
                left[done] = s.at[LEFT]
                done += 1
                columns[done] = -1 - was[gone]
        left[done] = s.at[LEFT]
        done += 1
