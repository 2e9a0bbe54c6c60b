"""The factor of the active columns, the scores of the others, and the steps between them.

Row i of Q is the i-th basis vector q_i, and row i of U its recipe,
q_i = Σ_row U[i, row] a_row, in terms of the active columns scaled to unit norm; k rows are in use,
with room for more. (As matrices with these columns, A_S U = Q and Q*Q = I.) Real and complex
share the source: conjugates are written out.

There may be several targets: whatever belongs to them has one row for each, corr (q x m), t and x
(q x k), the residuals r (q x n). They share directions and energies, so that |corr|² and |x|² mean
sums over targets.

Columns may be damped: below A_S stands a diagonal matrix D, so that [A_S; D] U = [Q; D U] has
orthonormal columns, and the steps are those of ‖r‖² + ‖D x‖². Sparse Bayesian Learning has
d_i² = σ²/γ_i, a ridge term d_i² = ridge. With D = 0 (an array of no length) all this is stepwise
regression, the paper's theorem.
"""

from __future__ import annotations

import numpy as np

from sparsewise.kernels.compile import abs2, alone, column_square, jit, loop_jit, part_jit

# The state of a column.
OPEN, ACTIVE, EXCLUDED, NULL, DEPENDENT = range(5)

# Why a kernel came back.
MORE, FULL, SMALL, FITTED, EXACT, NONE_LEFT, LOCKED, STALE, FADED, DRIFTED, UNSURE = range(11)


@jit
def measure_columns(W, norms, inverse):
    """‖w_i‖ and 1/‖w_i‖ of every column of W, by plain squares.

    Returns the least square and the sum of all, which shows overflow and NaN.
    """
    n, width = W.shape
    for i in range(width):
        norms[i] = 0
    whole = n - n % 4
    for row in range(0, whole, 4):  # one after the other, as the rest is: the sums are the same
        for i in range(width):
            two = norms[i] + abs2(W[row, i]) + abs2(W[row + 1, i])
            norms[i] = two + abs2(W[row + 2, i]) + abs2(W[row + 3, i])
    for row in range(whole, n):
        for i in range(width):
            norms[i] += abs2(W[row, i])
    low, together = np.inf, 0.0
    for i in range(width):
        low = min(low, norms[i])
        together += norms[i]
        norms[i] = np.sqrt(norms[i])
        inverse[i] = 1 / norms[i] if norms[i] > 0 else 0
    return low, together


@part_jit
def sum_squares(M, width, out):
    """out_j = Σ_i |M_ij|² for the first columns of M: over targets, if these are its rows."""
    for j in range(width):
        out[j] = abs2(M[0, j])
    for i in range(1, len(M)):
        for j in range(width):
            out[j] += abs2(M[i, j])


@loop_jit
def largest(values):
    """The largest of them, by eight at a time: one after the other takes twice as long."""
    a = b = c = d = e = f = g = h = values[0]
    whole = values.size - values.size % 8
    for j in range(0, whole, 8):
        a = values[j] if values[j] > a else a
        b = values[j + 1] if values[j + 1] > b else b
        c = values[j + 2] if values[j + 2] > c else c
        d = values[j + 3] if values[j + 3] > d else d
        e = values[j + 4] if values[j + 4] > e else e
        f = values[j + 5] if values[j + 5] > f else f
        g = values[j + 6] if values[j + 6] > g else g
        h = values[j + 7] if values[j + 7] > h else h
    for j in range(whole, values.size):
        a = values[j] if values[j] > a else a
    return max(max(max(a, b), max(c, d)), max(max(e, f), max(g, h)))


@part_jit
def scores(corr, energy, state, by_gain, dependent, out, ridge=0.0):
    """Of every column the gain if it is added, |corr|²/(energy + ridge), or |corr|² (OMP's choice).

    The gain is the fall of ‖r‖² + ‖D x‖². -1 where a column can't be added. Returns the largest.
    """
    sum_squares(corr, energy.size, out)
    for j in range(energy.size):
        can = state[j] == OPEN and energy[j] > dependent
        price = energy[j] + ridge if can and by_gain else 1.0
        out[j] = out[j] / price if can else -1.0
    return largest(out)


@part_jit
def best_open(corr, energy, state, by_gain, dependent, tie, out, ridge=0.0):
    """The open column of the best score; of those within `tie` of it the first. -1: none."""
    top = scores(corr, energy, state, by_gain, dependent, out, ridge)
    if top < 0.0:
        return -1
    enough = top * (1.0 - tie)
    for j in range(energy.size):
        if out[j] >= enough:
            return j
    return -1


@part_jit
def orthogonalise(Q, U, d, k, v, b, h):
    """Unit v minus its part in the span of the first k basis vectors; h = Q*v. Returns ‖v‖².

    b takes what lies below v once the columns are damped. h needs room for 2k numbers. A second
    sweep follows where the first took away more than half: twice is enough (Kahan, Parlett).
    """
    damped = d.size > 0
    for i in range(k):
        h[i] = 0
    if damped:
        for row in range(k):
            b[row] = 0
    before = 1.0
    for sweep in range(2):
        for i in range(k):
            inner = Q.dtype.type(0)
            for row in range(v.size):
                inner += np.conj(Q[i, row]) * v[row]
            if damped and sweep > 0:
                for row in range(k):
                    inner += np.conj(U[i, row]) * d[row] * b[row]
            h[k + i] = inner
        after = 0.0
        for i in range(k):
            inner = h[k + i]
            h[i] += inner
            for row in range(v.size):
                v[row] -= inner * Q[i, row]
            if damped:
                for row in range(k):
                    b[row] -= inner * U[i, row] * d[row]
        for row in range(v.size):
            after += abs2(v[row])
        if damped:
            for row in range(k):
                after += abs2(b[row])
        if after > 0.5 * before:
            break
        before = after
    return after


@part_jit
def inner_with_rest(v, r, b, d, x, t, k):
    """t[:, k] = v*r for each residual r; below it stands -D x where columns are damped."""
    for i in range(len(r)):
        inner = r.dtype.type(0)
        for row in range(v.size):
            inner += np.conj(v[row]) * r[i, row]
        if d.size > 0:
            for row in range(k):
                inner -= np.conj(b[row]) * d[row] * x[i, row]
        t[i, k] = inner


@part_jit
def squares(U, k):
    """‖U‖²: how many digits the coefficients x = U t may lose, squared."""
    result = 0.0
    for i in range(k):
        for row in range(k):
            result += abs2(U[i, row])
    return result


@part_jit
def recipe(U, k, h, rho):
    """The recipe of the next basis vector: a = Q h + ρ q, hence q = (a - A_S U h) / ρ.

    [-U h; 1] / ρ. Returns its square.
    """
    for row in range(k):
        U[k, row] = 0
    for i in range(k):
        U[i, k] = 0
        for row in range(k):
            U[k, row] -= U[i, row] * h[i]
    square = 1 / (rho * rho)
    for row in range(k):
        U[k, row] /= rho
        square += abs2(U[k, row])
    U[k, k] = 1 / rho
    return square


@part_jit
def enter(Q, t, r, k, v, rho):
    """Take q = v/ρ into the basis, and out of r; t[:, k] is v*r, then q*r. Returns ‖r‖²."""
    for row in range(v.size):
        Q[k, row] = v[row] / rho
    total = 0.0
    for i in range(len(r)):
        inner = t[i, k] / rho
        t[i, k] = inner
        for row in range(v.size):
            r[i, row] -= inner * Q[k, row]
            total += abs2(r[i, row])
    return total


@part_jit
def append(Q, U, t, r, k, v, h, energy):
    """Take v/ρ into the basis, ρ² = energy, with its recipe (see `enter`). Returns ‖r‖²."""
    rho = np.sqrt(energy)
    recipe(U, k, h, rho)
    return enter(Q, t, r, k, v, rho)


@jit
def add(Q, U, d, t, r, k, V, dependent, frail, ridge, taken, rss, X):
    """Add the rows of V, columns of unit norm, unless they depend on those before them.

    So they do, too, where ‖U‖² would exceed `frail`. Where columns are damped, these are by
    d² = ridge. ``taken`` tells which came in, ``rss`` and X ‖r‖² and the coefficients after each of
    these; X[0] holds the coefficients on entry. Returns how many came in.
    """
    h = np.empty(2 * (k + len(V)), Q.dtype)
    b = np.empty(k + len(V) if d.size > 0 else 0, Q.dtype)
    size = squares(U, k)
    added = 0
    for i in range(len(V)):
        v = V[i]
        energy = orthogonalise(Q, U, d, k, v, b, h)
        taken[i] = energy > dependent
        if taken[i]:
            rho = np.sqrt(energy + ridge)
            larger = size + recipe(U, k, h, rho)
            taken[i] = larger <= frail
        if taken[i]:
            size = larger
            before = X[max(added - 1, 0)]
            if d.size > 0:
                d[k] = np.sqrt(ridge)
            inner_with_rest(v, r, b, d, before, t, k)
            rss[added] = enter(Q, t, r, k, v, rho)
            advance(before, U[k], t, k, X[added])
            k += 1
            added += 1
    return added


@part_jit
def project(W, scale, q, p):
    """p_i = scale_i w_i* q for every column w_i of the pool, four rows of it at a time."""
    n, width = W.shape
    for i in range(width):
        p[i] = 0
    whole = n - n % 4
    for row in range(0, whole, 4):
        for i in range(width):
            p[i] += (
                np.conj(W[row, i]) * q[row]
                + np.conj(W[row + 1, i]) * q[row + 1]
                + np.conj(W[row + 2, i]) * q[row + 2]
                + np.conj(W[row + 3, i]) * q[row + 3]
            )
    for row in range(whole, n):
        for i in range(width):
            p[i] += np.conj(W[row, i]) * q[row]
    for i in range(width):
        p[i] *= scale[i]


@jit
def open_scores(W, scale, r, corr, energy, floor, trust):
    """The scores of an empty model: corr = A*r, energy = 1."""
    for i in range(len(r)):
        project(W, scale, r[i], corr[i])
    for j in range(energy.size):
        energy[j] = 1
        floor[j] = trust


@part_jit
def lower(p, t, k, corr, energy, floor, state):
    """The scores after direction q came in: corr -= t p, energy -= |p|², with p = A*q.

    It is direction k, the t of which are t[:, k]. Returns how many open columns have fallen so far
    that rounding shows in them.
    """
    for i in range(len(corr)):
        along = t[i, k]
        for j in range(p.size):
            corr[i, j] -= along * p[j]
    stale = 0
    for j in range(p.size):
        energy[j] -= abs2(p[j])
        if energy[j] < floor[j] and state[j] == OPEN:
            stale += 1
    return stale


@part_jit
def advance(before, new, t, k, x):
    """x after direction k came in: what it was before, and t times the new recipe."""
    for i in range(len(x)):
        for row in range(k):
            x[i, row] = before[i, row] + t[i, k] * new[row]
        x[i, k] = t[i, k] * new[k]


@jit
def grow(
    W, scale, whole, corr, energy, floor, state, Q, U, d, t, r, k,
    by_gain, steps, limits, picks, rss, X,
):  # fmt: skip
    """Add the best column of the pool again and again, at most `steps` times.

    The pool is W (n x width), its columns times `scale` have unit norm.
    ``whole`` says that the pool is all of A; otherwise it is a guess to be checked, and the
    kernel comes back as soon as the pool alone can't tell (UNSURE).
    limits = (most columns, ‖r‖² to reach, gain to exceed, ‖r‖² that counts as zero,
    energy that counts as dependent, ‖U‖² that does, tie, ‖r‖² below which corr has lost digits,
    drift, σ², ridge).
    Where columns are damped, a new one is by d² = ridge; or, where that is 0, by
    d² = energy / (gain/σ² - 1), so that its γ = σ²/d² is the one of greatest evidence (eq. 3.1 of
    the paper).
    ``picks``, ``rss`` and X tell of each step the column, ‖r‖² and the coefficients (x grows by
    t times the new recipe; X[0] holds x on entry).
    Returns (columns added, why it came back, columns whose scores are up to date).
    """
    most, enough, gain_floor, nothing, dependent, frail, tie, faded, drift, noise, ridge = limits
    n, width = W.shape
    p = np.empty(width, Q.dtype)
    h = np.empty(2 * (k + steps), Q.dtype)
    v = np.empty(n, Q.dtype)
    damped = d.size > 0
    b = np.empty(k + steps if damped else 0, Q.dtype)
    values = np.empty(width, energy.dtype)
    recipes = squares(U, k)
    added, known, code = 0, 0, MORE
    while added < steps and code == MORE:
        j = best_open(corr, energy, state, by_gain, dependent, tie, values, ridge)
        if j < 0:
            code = NONE_LEFT
            break
        gain = column_square(corr, j) / (energy[j] + ridge)
        if gain <= gain_floor:
            code = SMALL
            break
        for row in range(n):
            v[row] = W[row, j] * scale[j]
        exact = orthogonalise(Q, U, d, k, v, b, h)
        depends = exact <= dependent
        if not depends and abs(exact - energy[j]) > drift * exact:
            code = DRIFTED
            break
        if not depends:
            inner_with_rest(v, r, b, d, X[max(added - 1, 0)], t, k)
            if damped:
                damping = ridge if ridge > 0 else exact / (gain / noise - 1)
                d[k] = np.sqrt(damping)
                exact += damping
            rho = np.sqrt(exact)
            size = recipes + recipe(U, k, h, rho)
            depends = size > frail
        if depends:
            if added and not whole:
                code = UNSURE
                break
            state[j] = DEPENDENT
            continue
        recipes = size
        left = enter(Q, t, r, k, v, rho)
        state[j] = ACTIVE
        picks[added] = j
        rss[added] = left
        advance(X[max(added - 1, 0)], U[k], t, k, X[added])
        k += 1
        added += 1
        if left <= enough:
            code = FITTED
        elif left <= nothing:
            code = EXACT
        elif k >= most:
            code = FULL
        else:
            project(W, scale, Q[k - 1], p)
            known = added
            if lower(p, t, k - 1, corr, energy, floor, state) > 0:
                code = STALE
            elif left < faded:
                code = FADED
    return added, code, known


@jit
def confirm(
    P, scale, t, first, picks, corr, energy, floor, state, by_gain, dependent, tie, ridge
):  # fmt: skip
    """Replay picks on the scores of all columns, given P = (A*Q_new)ᵀ, one row per new direction.

    The first of these is direction `first`. A pick stands if it is the best of all columns at its
    turn. Stops at the first that isn't, or when a score has gone stale. There may be one more pick
    than rows: the last one's pass can wait. Returns (picks confirmed, rows applied, stale columns).
    """
    p = np.empty(energy.size, P.dtype)
    values = np.empty(energy.size, energy.dtype)
    for i in range(picks.size):
        if i > 0:  # the first is the best by construction
            j = best_open(corr, energy, state, by_gain, dependent, tie, values, ridge)
            if j != picks[i]:
                return i, i, 0
        state[picks[i]] = ACTIVE
        if i == len(P):
            return i + 1, i, 0
        for j in range(energy.size):
            p[j] = P[i, j] * scale[j]
        stale = lower(p, t, first + i, corr, energy, floor, state)
        if stale > 0:
            return i + 1, i + 1, stale
    return picks.size, picks.size, 0


@jit
def restore(P, scale, t, first, corr, energy, floor, state, dependent, trust):
    """The scores after directions left: corr += t p, energy += |p|² for each row p of P.

    The first of these was direction `first`.
    """
    for i in range(len(P)):
        for target in range(len(corr)):
            along = t[target, first + i]
            for j in range(energy.size):
                corr[target, j] += along * (P[i, j] * scale[j])
        for j in range(energy.size):
            energy[j] += abs2(P[i, j] * scale[j])
    for j in range(energy.size):
        floor[j] = max(floor[j], trust * np.sqrt(max(energy[j], 0.0)))
        if state[j] == DEPENDENT and energy[j] > dependent:
            state[j] = OPEN
            floor[j] = np.inf  # it had no digits left: to be measured anew


@part_jit
def total(values, count):
    """The sum of the first values."""
    result = 0.0
    for i in range(count):
        result += values[i]
    return result


@part_jit
def coefficients(U, t, k, x, diagonal):
    """x = U t and diagonal_i = [(A_S*A_S)⁻¹]_ii = Σ_c |U[c, i]|². Returns ‖U‖²."""
    clear(x, diagonal, k)
    for c in range(k):
        accumulate(U, t, c, k, x, diagonal)
    return total(diagonal, k)


@part_jit
def clear(x, diagonal, k):
    """Zeros, for what is to be added up."""
    for row in range(k):
        diagonal[row] = 0
    for i in range(len(x)):
        for row in range(k):
            x[i, row] = 0


@part_jit
def copy(x, k, out):
    """The coefficients of k columns, as they are now, into `out`."""
    for i in range(len(x)):
        for row in range(k):
            out[i, row] = x[i, row]


@part_jit
def accumulate(U, t, c, k, x, diagonal):
    """Direction c's part of x and diagonal (see `coefficients`)."""
    along = t[0, c]
    for row in range(k):
        x[0, row] += U[c, row] * along
        diagonal[row] += abs2(U[c, row])
    for i in range(1, len(t)):
        along = t[i, c]
        for row in range(k):
            x[i, row] += U[c, row] * along


@part_jit
def cost(square, diagonal, by_loss):
    """The loss if the column is dropped, |x|²/diagonal; or |x|² (LACE's choice).

    The loss is the growth of ‖r‖² + ‖D x‖².
    """
    return square / diagonal if by_loss else square


@part_jit
def least(squares, diagonal, k, order, locked, by_loss, tie, nothing):
    """The active position whose loss |x_i|²/diagonal_i (or |x_i|²) is least; -1: all are locked.

    Within `tie` of the least, and among those that are zero but for rounding, the lowest column
    wins.
    """
    low = np.inf
    for i in range(k):
        if not locked[i]:
            value = cost(squares[i], diagonal[i], by_loss)
            if value < low:
                low = value
    best = -1
    for i in range(k):
        if not locked[i]:
            value = cost(squares[i], diagonal[i], by_loss)
            if value <= max(low * (1.0 + tie), nothing) and (best < 0 or order[i] < order[best]):
                best = i
    return best


@part_jit
def reflector(U, t, k, i, v):
    """v and v[k] = τ with (row i of the matrix U) (I - τ v v*) = β e_kᵀ; t is turned by it."""
    norm2 = 0.0
    for c in range(k):
        v[c] = np.conj(U[c, i])
        norm2 += abs2(v[c])
    norm = np.sqrt(norm2)
    size = np.sqrt(abs2(v[k - 1]))
    if size > 0:
        v[k - 1] += v[k - 1] / size * norm
    else:
        v[k - 1] = norm
    tau = 1.0 / (norm * (norm + size))  # 2 / ‖v‖²
    v[k] = tau
    for target in range(len(t)):
        inner = U.dtype.type(0)
        for c in range(k):
            inner += np.conj(v[c]) * t[target, c]
        inner *= tau
        for c in range(k):
            t[target, c] -= v[c] * inner
    return tau


@part_jit
def reflect(U, t, k, i, v, x, diagonal):
    """Turn the basis so that the direction only active column i needs comes last.

    In matrix terms (basis vectors and recipes as columns): H = I - τ v v* with
    (row i of U) H = β e_kᵀ. Then Q H is still orthonormal and A_S (U H) = Q H; no recipe but the
    last uses column i, so that the first k - 1 vectors of Q H span what is left without it.
    Writes these recipes without column i, turns t, keeps the reflector in v and v[k] = τ, and
    makes x and diagonal (see `coefficients`) on the way. Returns ‖U‖².
    """
    tau = reflector(U, t, k, i, v)
    w = np.zeros(k, U.dtype)
    for c in range(k):
        for row in range(k):
            w[row] += U[c, row] * v[c]
    for row in range(k):
        w[row] *= tau
    clear(x, diagonal, k - 1)
    for row in range(i, k - 1):
        w[row] = w[row + 1]
    for c in range(k - 1):
        factor = np.conj(v[c])
        for row in range(i, k - 1):
            U[c, row] = U[c, row + 1]
        for row in range(k - 1):
            U[c, row] -= w[row] * factor
        accumulate(U, t, c, k - 1, x, diagonal)
    return total(diagonal, k - 1)


@part_jit
def close_gap(order, locked, d, k, i):
    """The column at position i of k has left: what is known of those behind it moves up."""
    for position in range(i, k - 1):
        order[position] = order[position + 1]
        locked[position] = locked[position + 1]
    if d.size > 0:
        for position in range(i, k - 1):
            d[position] = d[position + 1]


@part_jit
def position(order, k, j):
    """Where column j stands among the k active ones; -1: it doesn't."""
    for i in range(k):
        if order[i] == j:
            return i
    return -1


@part_jit
def weighted_total(d, values, k):
    """Σ d_i² values_i of the first k; 0 where columns are not damped."""
    result = 0.0
    if d.size > 0:
        for i in range(k):
            result += d[i] * d[i] * values[i]
    return result


@part_jit
def penalty_without(U, d, x, diagonal, k, i):
    """‖D x‖² once position i is dropped: x_row falls by x_i Σ_row,i/Σ_ii, Σ = U U*."""
    result = 0.0
    if d.size > 0:
        for row in range(k):
            inner = U.dtype.type(0)
            for c in range(k):
                inner += U[c, row] * np.conj(U[c, i])
            for target in range(len(x)):
                left = x[target, row] - x[target, i] * inner / diagonal[i]
                result += d[row] * d[row] * abs2(left) if row != i else 0.0
    return result


@jit
def shrink(U, d, t, order, locked, k, rss, by_loss, steps, limits, given, V, dropped, left, df, X):
    """Drop the column that matters least again and again, at most `steps` times.

    Where columns are `given`, drop these, whatever they matter.

    limits = (columns allowed, loss allowed, ‖r‖² allowed, tie, loss that counts as zero,
    ‖U‖² met before, how much of it may be left): above the first number columns must go; below it
    they go as long as loss and residual stay within theirs. The errors of U are those of its
    largest size: once it has shrunk too far it is no longer to be trusted (DRIFTED).
    V keeps the reflectors, `dropped` the columns, `left` the ‖r‖², `df` the trace of the hat matrix
    (k - Σ d_i² diagonal_i), X the coefficients, step by step. Returns (columns dropped, why it came
    back, largest ‖U‖²).
    """
    allowed, loss_limit, rss_limit, tie, nothing, peak, share = limits
    x = np.empty((len(t), k), U.dtype)
    diagonal = np.empty(k, left.dtype)
    squares = np.empty(k, left.dtype)
    size = coefficients(U, t, k, x, diagonal)
    sum_squares(x, k, squares)
    objective = rss + weighted_total(d, squares, k)
    for step in range(steps):
        if given.size > 0:
            i = position(order, k, given[step])
        else:
            i = least(squares, diagonal, k, order, locked, by_loss, tie, nothing)
        if i < 0:
            return step, LOCKED, peak
        peak = max(peak, size)
        if size < share * peak and given.size == 0:
            return step, DRIFTED, peak
        loss = cost(squares[i], diagonal[i], True)
        if k <= allowed and given.size == 0:
            if loss_limit < 0:
                return step, FULL, peak
            if loss > loss_limit:
                return step, SMALL, peak
            if rss_limit < np.inf:
                penalty = penalty_without(U, d, x, diagonal, k, i)
                if objective + loss - penalty > rss_limit:
                    return step, FITTED, peak
        size = reflect(U, t, k, i, V[step], x, diagonal)
        dropped[step] = order[i]
        close_gap(order, locked, d, k, i)
        k -= 1
        objective += loss
        sum_squares(x, k, squares)
        left[step] = objective - weighted_total(d, squares, k)
        df[step] = k - weighted_total(d, diagonal, k)
        copy(x, k, X[step])
    return steps, MORE, peak


@part_jit
def apply(M, v, k, width):
    """M H for the reflector in v: the first k rows of M, which are vectors of this width."""
    w = np.zeros(width, M.dtype)
    for c in range(k):
        for row in range(width):
            w[row] += M[c, row] * v[c]
    for c in range(k):
        factor = v[k] * np.conj(v[c])
        for row in range(width):
            M[c, row] -= w[row] * factor


@jit
def turn(Q, V, k):
    """Q H for the reflectors in the rows of V, of sizes k, k-1, ...; in place."""
    for step in range(len(V)):
        apply(Q, V[step], k - step, Q.shape[1])


@part_jit
def judge(square, diagonal, d, prior):
    """What the evidence says of an active column: whether to keep it, and with which γ.

    With the column taken out, energy + d² = 1/diagonal and corr = x/diagonal, |x|² = square, hence
    u = |corr|²/(energy σ²) and g = γ s = energy/d². The log evidence it gives is
    β (u g/(1+g) - log(1+g)), greatest at g = u - 1 (eq. 3.1), and at 0 for u <= 1.
    prior = (σ², the u that is worth its price, price, β of all targets, g that is but rounding).
    Returns (u, share = g/(1+g), the rise of log evidence less price by the best change).
    """
    noise, enter, price, beta, nothing = prior
    own = d * d * diagonal  # 1/(1+g)
    share = max(1.0 - own, 1e-16)
    if share <= nothing:  # nor has u any digits: it goes, and may come back
        return 0.0, share, price
    u = square / (diagonal * share * noise)
    if u <= enter:
        return u, share, price - beta * (u * share + np.log(own))
    ratio = 1.0 / (own * u)  # (1+g)/u: one at the best γ, next to nothing far below it
    off = ratio - 1.0
    log = np.log1p(off) if ratio > 0.5 else np.log(ratio)
    return u, share, beta * (log - off / ratio)


@part_jit
def is_unsure(square, diagonal, d, size, prior, trusted, frail):
    """Whether a column must be measured before its best γ is known, or can be had.

    So it must where its share, a difference, has lost half of its digits, and where ‖U‖² = size
    might exceed `frail` with it: ‖U‖² grows by (u - 1)/(u share) at most.
    """
    u, share, _ = judge(square, diagonal, d, prior)
    return share < trusted or size * (u - 1.0) > frail * u * share


@part_jit
def best_change(squares, diagonal, d, k, order, locked, prior, tie, steepest):
    """The active position to change (-1: none), the rise that brings, and whether it goes.

    Either the steepest of all, or, as Algorithm 1 has it, the least relevant of those that are
    to go, and only if there are none, the steepest. Near-ties go to the lowest column.
    """
    enter = prior[1]
    best, rise, least, goes = -1, 0.0, np.inf, False
    for i in range(k):
        if locked[i]:
            continue
        u, _, value = judge(squares[i], diagonal[i], d[i], prior)
        if u <= enter and not steepest:
            if u < least * (1.0 - tie) or (u <= least * (1.0 + tie) and order[i] < order[best]):
                best, rise, least, goes = i, value, min(u, least), True
        elif least == np.inf:
            close = best >= 0 and value >= rise * (1.0 - tie) and order[i] < order[best]
            if value > rise * (1.0 + tie) or close:
                best, rise, goes = i, max(value, rise), u <= enter
    return best, rise, goes


@part_jit
def change(M, U, d, t, order, locked, k, i, goes, squares, diagonal, prior, v):
    """Take active column i out, or give it its best γ: O(k²) and a turn of the basis M.

    The basis is turned so that only its last direction uses column i; a new γ changes no more
    than the length of that direction. Returns (columns left, f): with p = A*q and t of the
    last direction as they are now, corr += f t p and energy += f |p|².
    """
    u, share, _ = judge(squares[i], diagonal[i], d[i], prior)
    reflector(U, t, k, i, v)
    apply(U, v, k, k)
    apply(M, v, k, M.shape[1])
    for c in range(k - 1):
        U[c, i] = 0
    if goes:
        for c in range(k):
            for row in range(i, k - 1):
                U[c, row] = U[c, row + 1]
        close_gap(order, locked, d, k, i)
        return k - 1, 1.0
    damping = share / (diagonal[i] * (u - 1.0))
    factor = 1.0 / np.sqrt(share + damping * diagonal[i])  # ρ² = energy + d², before over after
    growth = (damping - d[i] * d[i]) * diagonal[i]
    d[i] = np.sqrt(damping)
    for target in range(len(t)):
        t[target, k - 1] *= factor
    for row in range(k):
        U[k - 1, row] *= factor
    for row in range(M.shape[1]):
        M[k - 1, row] *= factor
    return k, growth


@jit
def revise(T, U, d, t, order, locked, k, rss, steps, limits, prior, columns, rises, left, X):
    """Delete or re-estimate active columns again and again, at most `steps` times: O(k²) each.

    rss = ‖r‖² + ‖D x‖²; limits = (rise to exceed, tie, share below which digits are lost, ‖U‖²
    not to exceed, ‖U‖² met before, how much of it may be left: see `shrink`).
    T gathers the turns of the basis. Of each step, `columns` tells the column (-1 - j if it
    was deleted), `rises` the rise of log evidence less price, `left` ‖r‖² and X the posterior
    mean. Returns (steps taken, columns left, why it came back, largest ‖U‖²). UNSURE: the next
    column to re-estimate is to be measured first (`is_unsure`).
    """
    least_rise, tie, trusted, frail, peak, worn = limits
    x = np.empty((len(t), k), U.dtype)
    squares = np.empty(k, left.dtype)
    diagonal = np.empty(k, left.dtype)
    v = np.empty(k + 1, U.dtype)
    step = 0
    while True:
        size = coefficients(U, t, k, x, diagonal)
        sum_squares(x, k, squares)
        peak = max(peak, size)
        if step > 0:
            left[step - 1] = rss
            for row in range(k):
                left[step - 1] -= d[row] * d[row] * squares[row]
            copy(x, k, X[step - 1])
        if k > 0 and size < worn * peak:
            return step, k, DRIFTED, peak
        i, rise, goes = best_change(squares, diagonal, d, k, order, locked, prior, tie, False)
        if i < 0 or (not goes and rise <= least_rise):
            return step, k, SMALL, peak
        if step == steps:
            return step, k, MORE, peak
        if not goes and is_unsure(squares[i], diagonal[i], d[i], size, prior, trusted, frail):
            return step, k, UNSURE, peak
        columns[step] = -1 - order[i] if goes else order[i]
        rises[step] = rise
        last = k - 1
        k, growth = change(T, U, d, t, order, locked, k, i, goes, squares, diagonal, prior, v)
        rss += growth * column_square(t, last)
        step += 1


scores_alone = alone(scores)
best_open_alone = alone(best_open)
lower_alone = alone(lower)
is_unsure_alone = alone(is_unsure)
best_change_alone = alone(best_change)
change_alone = alone(change)
