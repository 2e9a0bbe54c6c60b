"""The posterior over models, compiled: weighted tempered Gibbs sampling on inner products.

A chain is at one model S at a time, with a slab N(0, σ²/d²) on its coefficients. The factor of
[A_S; d I] is held by recipes alone: row c of U says of which columns direction q_c is made, so that
p = q* A is a sum of k rows of the Gram matrix, whether a column comes or goes:

    corr -= t conj(p)     energy -= |p|²      (signs reversed where a column leaves)

From corr and energy follow the odds of every column given all others, by the formulas of `odds`.
Column j flips with probability in proportion to

    f_j = (p_j + κ/m) / (2 P(j as it is)),

and the state counts with the weight 1/Σf (Zanella and Roberts, 2019).

G. Zanella and G. Roberts, "Scalable importance tempering and Bayesian variable selection", Journal
of the Royal Statistical Society B 81, 2019.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from sparsewise.kernels.compile import abs2, jit, part_jit

OUT, IN, LOCKED, BARRED = 0, 1, 2, 3
"""A column is out of the model or in it, must be in it, or can't come in."""

SIZE, AT, FLIPS, WANTED, RECORDED, WRITTEN = range(6)
"""Places in `Chain.count`."""

LOSS, LOG_DET, SUM = range(3)
"""Places in `Chain.at`."""

MOST = 300.0
"""Log odds beyond this are as good as certain."""

REMAKE = 100
"""Flips after which the state is made from scratch, so that rounding doesn't add up."""


class Data(NamedTuple):
    """What chains share.

    Attributes
    ----------
    rows : array of shape (slots, m)
        Rows of the Gram matrix A*A of unit columns, as many as are at hand.
    slot : array of int
        Which of them is that of column j; -1: none.
    b : array of shape (q, m)
        A*y, for targets of norm one together.
    twin : array of int
        The lowest column of which each is a copy, but for its sign and scale: itself, as a rule.
    log_prior : array
        Of one model of k columns, those apart that must be in it.
    damping, log_damping_prior : arrays
        Values of d², and the logarithms of their prior probabilities.
    half : float
        Half of the real numbers that a measurement stands for: ½ of one real target.
    measurements : float
        n.
    noise : float
        σ² if it is known, else 0.
    tempering : float
        κ.
    """

    rows: Any
    slot: Any
    b: Any
    twin: Any
    log_prior: Any
    damping: Any
    log_damping_prior: Any
    half: float
    measurements: float
    noise: float
    tempering: float


class Chain(NamedTuple):
    """A model, its factor, and the scores of all columns.

    Attributes
    ----------
    U, t, corr, energy : arrays
        Recipes of the directions, q*y, A*r, and squared distances from their span.
    order, place : arrays of int
        The columns of the model; where each column is among them, or -1.
    state : array of int
        OUT, IN, LOCKED or BARRED.
    copies : array of int
        For each lowest of copies, how many of them are in the model.
    probability, flip, mean, variance : arrays
        p_j, f_j, the mean of the coefficient of column j if it is in, and its variance over σ².
    p, u : arrays
        Room for a direction.
    at : array
        LOSS: what is left of ‖y‖² = 1, y*(I + A_S A_S*/d²)⁻¹y; LOG_DET: log det (A_S*A_S + d² I);
        SUM: Σf.
    count : array of int
        SIZE of the model; AT which value of d²; FLIPS since it was made from scratch; WANTED: the
        column whose row must be at hand first, or -1; RECORDED models, and columns WRITTEN.
    """

    U: Any
    t: Any
    corr: Any
    energy: Any
    order: Any
    place: Any
    state: Any
    copies: Any
    probability: Any
    flip: Any
    mean: Any
    variance: Any
    p: Any
    u: Any
    at: Any
    count: Any


class Sums(NamedTuple):
    """Sums over the states of a chain, each with its weight.

    Attributes
    ----------
    weight : array of shape (2,)
        Of the weights, and of their squares.
    inclusion, mean, square : arrays
        Of p_j; of p_j times the mean, and the mean square, of the coefficient.
    sizes, damping : arrays
        Of the weights of models of each size, and with each d².
    noise : array of shape (1,)
        Of σ².
    columns, ends, weights, log_posterior : arrays
        The models met, one after the other, as far as there is room.
    """

    weight: Any
    inclusion: Any
    mean: Any
    square: Any
    sizes: Any
    damping: Any
    noise: Any
    columns: Any
    ends: Any
    weights: Any
    log_posterior: Any


@part_jit
def direction(data, chain, k):
    """p = q* A of the direction whose recipe is u: one pass over k rows, by fours."""
    p, u, order, slot, rows = chain.p, chain.u, chain.order, data.slot, data.rows
    for j in range(p.size):
        p[j] = 0.0
    fours = k - k % 4
    for i in range(0, fours, 4):
        one, two = rows[slot[order[i]]], rows[slot[order[i + 1]]]
        three, four = rows[slot[order[i + 2]]], rows[slot[order[i + 3]]]
        a, b, c, d = np.conj(u[i]), np.conj(u[i + 1]), np.conj(u[i + 2]), np.conj(u[i + 3])
        for j in range(p.size):
            p[j] += a * one[j] + b * two[j] + c * three[j] + d * four[j]
    for i in range(fours, k):
        one, a = rows[slot[order[i]]], np.conj(u[i])
        for j in range(p.size):
            p[j] += a * one[j]


@part_jit
def move(chain, t, sign):
    """corr and energy, when a direction p with q*y = t comes (sign 1) or goes (-1)."""
    p, corr, energy = chain.p, chain.corr, chain.energy
    for q in range(len(corr)):
        part = sign * t[q]
        for j in range(p.size):
            corr[q, j] -= part * np.conj(p[j])
    for j in range(p.size):
        energy[j] -= sign * abs2(p[j])


@part_jit
def add(data, chain, j, damping):
    """Column j joins the model."""
    U, t, order, u, count = chain.U, chain.t, chain.order, chain.u, chain.count
    k = count[SIZE]
    own = data.rows[data.slot[j]]
    for i in range(k):
        u[i] = 0.0
    length = own[j].real + damping
    for c in range(k):
        h = U[c, 0] * 0.0
        for i in range(k):
            # a_j* a_i = own[order[i]], so that this is q_c* a_j.
            h += np.conj(U[c, i] * own[order[i]])
        length -= abs2(h)
        for i in range(k):
            u[i] -= h * U[c, i]
    inverse = 1.0 / math.sqrt(max(length, 1e-300))
    u[k] = 1.0
    order[k] = j
    for i in range(k + 1):
        u[i] *= inverse
        U[k, i] = u[i]
        U[i, k] = 0.0
    U[k, k] = u[k]
    for q in range(len(t)):
        value = t[q, 0] * 0.0
        for i in range(k + 1):
            value += np.conj(u[i]) * data.b[q, order[i]]
        t[q, k] = value
        chain.at[LOSS] -= abs2(value)
    chain.at[LOG_DET] -= 2 * math.log(inverse)
    chain.place[j] = k
    chain.copies[data.twin[j]] += 1
    if chain.state[j] == OUT:
        chain.state[j] = IN
    count[SIZE] = k + 1
    direction(data, chain, k + 1)
    move(chain, t[:, k], 1.0)


@part_jit
def drop(data, chain, i):
    """The column at position i leaves the model.

    What it alone spans is q = Σ_c conj(U_ci) q_c but for its length. A reflection makes that the
    last direction; the others then make do without the column.
    """
    U, t, order, u, count = chain.U, chain.t, chain.order, chain.u, chain.count
    k = count[SIZE]
    square = 0.0
    for c in range(k):
        square += abs2(U[c, i])
    length = math.sqrt(square)
    for a in range(k):
        u[a] = 0.0
    for c in range(k):
        part = np.conj(U[c, i]) / length
        for a in range(k):
            u[a] += part * U[c, a]
    direction(data, chain, k)
    lost = np.empty(len(t), t.dtype)
    for q in range(len(t)):
        value = t[q, 0] * 0.0
        for c in range(k):
            value += U[c, i] * t[q, c]
        lost[q] = value / length
        chain.at[LOSS] += abs2(lost[q])
    chain.at[LOG_DET] += math.log(square)
    move(chain, lost, -1.0)
    reflect(U, t, u, i, k, length)
    j = order[i]
    for a in range(i, k - 1):
        order[a] = order[a + 1]
        chain.place[order[a]] = a
        for c in range(k - 1):
            U[c, a] = U[c, a + 1]
    chain.place[j] = -1
    chain.copies[data.twin[j]] -= 1
    chain.state[j] = OUT
    count[SIZE] = k - 1


@part_jit
def reflect(U, t, v, i, k, length):
    """Householder: U ← U - f v (v* U) and t ← t - f conj(v) (vᵀ t), so that U_ci = 0 for c < k - 1.

    v = w/‖w‖ + s e_{k-1} with w = U_{·i} and s the sign, or phase, of its last entry.
    """
    for c in range(k):
        v[c] = U[c, i] / length
    last = math.sqrt(abs2(v[k - 1]))
    v[k - 1] += v[k - 1] / last if last > 0 else 1.0
    square = 0.0
    for c in range(k):
        square += abs2(v[c])
    f = 2.0 / square
    for a in range(k):
        inner = v[0] * 0.0
        for c in range(k):
            inner += np.conj(v[c]) * U[c, a]
        inner *= f
        for c in range(k):
            U[c, a] -= inner * v[c]
    for q in range(len(t)):
        inner = v[0] * 0.0
        for c in range(k):
            inner += v[c] * t[q, c]
        inner *= f
        for c in range(k):
            t[q, c] -= inner * np.conj(v[c])


@part_jit
def remake(data, chain, damping):
    """The factor and the scores of the same model from scratch, with this d²."""
    k = chain.count[SIZE]
    columns = chain.order[:k].copy()
    for q in range(len(data.b)):
        for j in range(chain.energy.size):
            chain.corr[q, j] = data.b[q, j]
    for j in range(chain.energy.size):
        chain.energy[j] = 1.0
        chain.copies[j] = 0
    chain.at[LOSS], chain.at[LOG_DET] = 1.0, 0.0
    chain.count[SIZE] = chain.count[FLIPS] = 0
    for j in columns:
        add(data, chain, j, damping)


@part_jit
def rising(gain, value, weight, inverse_loss, measurements, least):
    """least - h n log(1 - gain/loss) of every column; its variance over σ² shrinks by what is left.

    By log(1 - s) = -2 artanh(s/(2 - s)) and its series, which compilers turn into vectors; to nine
    digits, and to all of them where the series is slow.
    """
    for j in range(gain.size):
        s = gain[j] * inverse_loss
        s = s if s < 1 - 1e-14 else 1 - 1e-14
        gain[j] = s
        weight[j] *= 1.0 - s
        z = s / (2.0 - s)
        y = z * z
        series = 1 / 11 + y * (1 / 13 + y * (1 / 15 + y / 17))
        series = 1 + y * (1 / 3 + y * (1 / 5 + y * (1 / 7 + y * (1 / 9 + y * series))))
        value[j] = least + 2 * measurements * z * series
    for j in range(gain.size):
        if gain[j] > 0.3:
            value[j] = least - measurements * math.log1p(-gain[j])


@part_jit
def exponentials(x):
    """exp(x) of every entry, in its place: (exp(x/256))^256 by Taylor's series, as vectors.

    To twelve digits up to |x| = 32; the few beyond are left to the library, or bounded.
    """
    for j in range(x.size):
        if not -32.0 < x[j] < 32.0:
            # Marked by its sign: the exponential itself is positive.
            x[j] = -32.0 - math.exp(min(max(x[j], -MOST), MOST))
    for j in range(x.size):
        y = max(x[j], -32.0) * (1 / 256)
        e = 1 + y / 5 * (1 + y / 6 * (1 + y / 7 * (1 + y / 8)))
        e = 1 + y * (1 + y / 2 * (1 + y / 3 * (1 + y / 4 * e)))
        for _ in range(8):
            e = e * e
        x[j] = -32.0 - x[j] if x[j] <= -32.0 else e


@part_jit
def odds(data, chain, locked):
    """p_j, f_j, and mean and variance of the coefficient of every column, given the others.

    The logarithm of the odds that column j is in, by its energy e and correlation c if it is out,
    and by its coefficient x and w = Σ_c |U_cj|² if it is in, is

        Δ log prior - h log((e + d²)/d²) - h n log(1 - |c|²/((e + d²) loss))
        Δ log prior + h log(d² w) + h n log(1 + |x|²/(w loss))

    with h = ½ for one real target and unknown noise. Where σ² is known, gain/σ² takes the place of
    -n log(1 - gain/loss).
    """
    count, at = chain.count, chain.at
    k, m = count[SIZE], chain.energy.size
    d2, loss, half, rows = data.damping[count[AT]], at[LOSS], data.half, data.measurements
    free = k - locked
    floor = data.tempering / m
    is_full = k + 1 >= len(chain.U) or free + 1 >= data.log_prior.size
    up = -MOST if is_full else data.log_prior[free + 1] - data.log_prior[free]
    by_noise = half / data.noise if data.noise > 0 else 0.0
    value, weight, share = chain.flip, chain.variance, chain.probability
    for j in range(m):
        energy = chain.energy[j] if chain.energy[j] > 0.0 else 0.0
        weight[j] = 1.0 / (energy + d2)
        share[j] = 0.0
    for q in range(len(chain.corr)):
        for j in range(m):
            chain.mean[q, j] = chain.corr[q, j] * weight[j]
            share[j] += abs2(chain.corr[q, j]) * weight[j]
    if by_noise > 0:
        for j in range(m):
            value[j] = up + by_noise * share[j]
    else:
        rising(share, value, weight, 1.0 / loss, half * rows, up)
    exponentials(value)
    if half == 0.5:
        for j in range(m):
            value[j] *= math.sqrt(d2 / (max(chain.energy[j], 0.0) + d2))
    else:
        for j in range(m):
            value[j] *= math.exp(half * math.log(d2 / (max(chain.energy[j], 0.0) + d2)))
    for j in range(m):
        ratio = value[j]
        inside = ratio / (1.0 + ratio)
        chain.probability[j] = inside
        chain.flip[j] = 0.5 * (inside + floor) * (1.0 + ratio)
    total = 0.0
    for j in range(m):
        if chain.state[j] != OUT or is_full or chain.copies[data.twin[j]] > 0:
            chain.probability[j] = chain.flip[j] = 0.0
    for j in range(m):
        total += chain.flip[j]
    down = data.log_prior[free] - data.log_prior[free - 1] if free else 0.0
    for i in range(k):
        j = chain.order[i]
        square = 0.0
        for c in range(k):
            square += abs2(chain.U[c, i])
        gain = 0.0
        for q in range(len(chain.t)):
            x = chain.t[q, 0] * 0.0
            for c in range(k):
                x += chain.U[c, i] * chain.t[q, c]
            chain.mean[q, j] = x
            gain += abs2(x)
        gain /= square
        chain.variance[j] = square
        if chain.state[j] == LOCKED:
            chain.probability[j] = 1.0
            continue
        value = down + half * math.log(d2 * square)
        value += by_noise * gain if by_noise > 0 else half * rows * math.log1p(gain / loss)
        value = max(min(value, MOST), -MOST)
        ratio = math.exp(value)
        inside = ratio / (1.0 + ratio)
        chain.probability[j] = inside
        chain.flip[j] = 0.5 * (inside + floor) * (1.0 + ratio) / ratio
        total += chain.flip[j]
    at[SUM] = total


@part_jit
def log_mass(data, k, g, loss, log_det):
    """The logarithm of the posterior of k columns and of d², less that of the prior of the size.

    By the loss of a model, or by one that no model of a branch is below.
    """
    fit = loss / data.noise if data.noise > 0 else data.measurements * math.log(loss)
    shape = data.half * (log_det - k * math.log(data.damping[g]) + fit)
    return data.log_damping_prior[g] - shape


@part_jit
def log_posterior(data, k, locked, g, loss, log_det):
    """The logarithm of the posterior of a model of k columns and of d², but for a constant."""
    return data.log_prior[k - locked] + log_mass(data, k, g, loss, log_det)


@part_jit
def loss_and_log_det(data, chain, L, x, damping):
    """What the model leaves of ‖y‖² = 1 with this d², and log det (A_S*A_S + d² I), by Cholesky."""
    k, order = chain.count[SIZE], chain.order
    loss, log_det = 1.0, 0.0
    for i in range(k):
        row = data.rows[data.slot[order[i]]]
        for c in range(i + 1):
            value = row[order[c]] + (damping if i == c else 0.0)
            for a in range(c):
                value -= L[i, a] * np.conj(L[c, a])
            L[i, c] = math.sqrt(max(value.real, 1e-300)) if i == c else value / L[c, c]
        log_det += 2 * math.log(L[i, i].real)
    for q in range(len(data.b)):
        for i in range(k):
            value = data.b[q, order[i]]
            for a in range(i):
                value -= L[i, a] * x[a]
            x[i] = value / L[i, i]
            loss -= abs2(x[i])
    return max(loss, 1e-300), log_det


@part_jit
def change_damping(data, chain, kept, locked, where, whether):
    """A Metropolis step of d², proposed from its posterior given the model; Σf decides.

    The chain's own distribution is the posterior times Σf.
    """
    count, k = chain.count, chain.count[SIZE]
    values = np.empty(data.damping.size)
    for g in range(values.size):
        loss, log_det = loss_and_log_det(data, chain, kept.U, chain.u, data.damping[g])
        values[g] = log_posterior(data, k, locked, g, loss, log_det)
    values = np.exp(values - values.max())
    goal, there = where * values.sum(), 0
    while there + 1 < values.size and values[there] < goal:
        goal -= values[there]
        there += 1
    if there == count[AT]:
        return
    before, old, flips = chain.at[SUM], count[AT], count[FLIPS]
    kept.U[:k, :k] = chain.U[:k, :k]
    kept.t[:, :k] = chain.t[:, :k]
    kept.corr[:] = chain.corr
    kept.energy[:] = chain.energy
    kept.at[:] = chain.at
    count[AT] = there
    remake(data, chain, data.damping[there])
    odds(data, chain, locked)
    if whether * before < chain.at[SUM]:
        return
    count[AT], count[FLIPS] = old, flips
    chain.U[:k, :k] = kept.U[:k, :k]
    chain.t[:, :k] = kept.t[:, :k]
    chain.corr[:] = kept.corr
    chain.energy[:] = kept.energy
    chain.at[:] = kept.at
    odds(data, chain, locked)


@part_jit
def weigh(data, chain, sums, locked):
    """Count the state with its weight, and every column with its probability."""
    k, at, count = chain.count[SIZE], chain.at, chain.count
    weight = 1.0 / at[SUM]
    sums.weight[0] += weight
    sums.weight[1] += weight * weight
    noise = data.noise if data.noise > 0 else at[LOSS] / data.measurements
    sums.noise[0] += weight * noise
    sums.sizes[k] += weight
    sums.damping[count[AT]] += weight
    for j in range(sums.inclusion.size):
        sums.inclusion[j] += weight * chain.probability[j]
    for q in range(len(sums.mean)):
        for j in range(sums.inclusion.size):
            part = weight * chain.probability[j]
            sums.mean[q, j] += part * chain.mean[q, j]
            sums.square[q, j] += part * (abs2(chain.mean[q, j]) + noise * chain.variance[j])
    at_record, written = count[RECORDED], count[WRITTEN]
    if at_record < sums.ends.size and written + k <= sums.columns.size:
        for i in range(k):
            sums.columns[written + i] = chain.order[i]
        sums.ends[at_record] = written + k
        sums.weights[at_record] = weight
        sums.log_posterior[at_record] = log_posterior(
            data, k, locked, count[AT], at[LOSS], at[LOG_DET]
        )
        count[RECORDED], count[WRITTEN] = at_record + 1, written + k


@jit
def begin(data, chain, columns):
    """Start from these columns."""
    for j in columns:
        chain.order[chain.count[SIZE]] = j
        chain.count[SIZE] += 1
    remake(data, chain, data.damping[chain.count[AT]])


@jit
def sample(data, chain, kept, sums, locked, uniforms, first, every, counts):
    """A flip for each row of uniforms from the first on and, every few of them, a step of d².

    Returns where to go on: before the end where the row of column count[WANTED] is not at hand.
    """
    count = chain.count
    for s in range(first, len(uniforms)):
        if count[WANTED] < 0:
            if count[FLIPS] >= REMAKE:
                remake(data, chain, data.damping[count[AT]])
            if s % every == 0 and data.damping.size > 1:
                odds(data, chain, locked)
                change_damping(data, chain, kept, locked, uniforms[s, 1], uniforms[s, 2])
            else:
                odds(data, chain, locked)
            if counts:
                weigh(data, chain, sums, locked)
            goal = uniforms[s, 0] * chain.at[SUM]
            j, reached = -1, 0.0
            for c in range(chain.flip.size):
                if chain.flip[c] > 0:
                    j = c
                    reached += chain.flip[c]
                    if reached >= goal:
                        break
        else:
            j = count[WANTED]
            count[WANTED] = -1
        if j < 0:  # there is one model only
            continue
        if chain.place[j] >= 0:
            drop(data, chain, chain.place[j])
        elif data.slot[j] < 0:
            count[WANTED] = j
            return s
        else:
            add(data, chain, j, data.damping[count[AT]])
        count[FLIPS] += 1
    return len(uniforms)


class Total(NamedTuple):
    """Sums over all models but those that are bounded; masses are relative to a reference.

    Attributes
    ----------
    mass : array of shape (2,)
        Of the models seen, and a bound on that of all others.
    inclusion, mean, square, sizes, damping, noise : arrays
        As in `Sums`, with the masses of models as weights.
    columns, ends, weights : arrays
        The models seen, as far as there is room; `count` says how many, and how many columns.
    count : array of int
        Models recorded, columns written, and models seen.
    """

    mass: Any
    inclusion: Any
    mean: Any
    square: Any
    sizes: Any
    damping: Any
    noise: Any
    columns: Any
    ends: Any
    weights: Any
    count: Any


@part_jit
def grow_triangle(G, b, L, Z, at, chosen, k, j, d2):
    """Column j joins k others: a further row of L L* = A_S*A_S + d² I, and of Z = L⁻¹ A_S*y.

    Keeps what is left of ‖y‖² and log det in the rows of `at`.
    """
    square = G[j, j].real + d2
    for c in range(k):
        value = G[j, chosen[c]]
        for a in range(c):
            value -= L[k, a] * np.conj(L[c, a])
        L[k, c] = value / L[c, c]
        square -= abs2(L[k, c])
    L[k, k] = math.sqrt(max(square, 1e-300))
    chosen[k] = j
    loss = at[k, LOSS]
    for q in range(len(b)):
        value = b[q, j]
        for a in range(k):
            value -= L[k, a] * Z[a, q]
        Z[k, q] = value / L[k, k]
        loss -= abs2(Z[k, q])
    at[k + 1, LOSS] = max(loss, 1e-300)
    at[k + 1, LOG_DET] = at[k, LOG_DET] + math.log(max(square, 1e-300))


@part_jit
def prior_sum(log_prior, k, w, first):
    """Σ over subsets T of columns from the first on of prior(k + |T|) Π_T w_j.

    By elementary symmetric polynomials of the w_j.
    """
    e = np.zeros(w.size - first + 1)
    e[0] = 1.0
    for j in range(first, w.size):
        for c in range(j - first + 1, 0, -1):
            e[c] += w[j] * e[c - 1]
    total = 0.0
    for c in range(e.size):
        total += math.exp(log_prior[k + c]) * e[c]
    return total


@part_jit
def count_model(data, total, L, Z, chosen, k, g, loss, mass):
    """Add a model to the sums: x = L*⁻¹ Z, and the diagonal of (L L*)⁻¹ for its variances."""
    noise = data.noise if data.noise > 0 else loss / data.measurements
    total.mass[0] += mass
    total.sizes[k] += mass
    total.damping[g] += mass
    total.noise[0] += mass * noise
    total.count[2] += 1
    inverse = np.zeros((k, k), L.dtype)
    for i in range(k):
        inverse[i, i] = 1.0 / L[i, i]
        for c in range(i):
            value = L[0, 0] * 0.0
            for a in range(c, i):
                value -= L[i, a] * inverse[a, c]
            inverse[i, c] = value / L[i, i]
    for i in range(k):
        j = chosen[i]
        total.inclusion[j] += mass
        square = 0.0
        for a in range(i, k):
            square += abs2(inverse[a, i])
        for q in range(Z.shape[1]):
            x = Z[0, 0] * 0.0
            for a in range(i, k):
                x += np.conj(inverse[a, i]) * Z[a, q]
            total.mean[q, j] += mass * x
            total.square[q, j] += mass * (abs2(x) + noise * square)
    at, written = total.count[0], total.count[1]
    if at < total.ends.size and written + k <= total.columns.size:
        for i in range(k):
            total.columns[written + i] = chosen[i]
        total.ends[at] = written + k
        total.weights[at] = mass
        total.count[0], total.count[1] = at + 1, written + k


@jit
def add_up(data, G, reference, threshold, most, total):
    """The sum over all models of m columns, but for branches of little mass, which are bounded.

    A node has columns I that are in, and columns F from some place on that are open. No model of
    its branch leaves less of ‖y‖² than I ∪ F does, and det(A_S*A_S/d² + I) grows by at least
    (e_j + d²)/d² with column j, e_j being its energy given all of I ∪ F. So the branch has at most
    the mass

        p(d) det(A_I*A_I/d² + I)^(-h) loss(I ∪ F)^(-h n) Σ_T prior(|I ∪ T|) Π_T (d²/(e_j + d²))^h.

    Columns come in an order in which the most probable are first. Returns whether it came to an
    end before `most` models were seen.
    """
    m, q = len(G), len(data.b)
    inverse = np.empty((m + 1, m, m), G.dtype)
    X = np.empty((m + 1, q, m), G.dtype)
    left, at = np.empty(m + 1), np.zeros((m + 1, 2))
    L, Z = np.zeros((m, m), G.dtype), np.zeros((m, q), G.dtype)
    chosen, place = np.zeros(m, np.int64), np.zeros(m + 1, np.int64)
    w = np.zeros(m)
    for g in range(data.damping.size):
        d2 = data.damping[g]
        inverse[0] = np.linalg.inv(G + d2 * np.eye(m).astype(G.dtype))
        left[0] = 1.0
        for t in range(q):
            for i in range(m):
                value = G[0, 0] * 0.0
                for c in range(m):
                    value += inverse[0, i, c] * data.b[t, c]
                X[0, t, i] = value
                left[0] -= (np.conj(data.b[t, i]) * value).real
        at[0, LOSS], at[0, LOG_DET] = 1.0, 0.0
        place[0] = k = 0
        mass = math.exp(data.log_prior[0] + log_mass(data, 0, g, 1.0, 0.0) - reference)
        count_model(data, total, L, Z, chosen, 0, g, 1.0, mass)
        while k >= 0:
            j = place[k]
            if j == m:
                k -= 1
                continue
            M = inverse[k]
            grow_triangle(G, data.b, L, Z, at, chosen, k, j, d2)
            for c in range(j + 1, m):
                w[c] = math.exp(data.half * math.log(min(d2 * M[c, c].real, 1.0)))
            bound = log_mass(data, k + 1, g, max(left[k], 1e-300), at[k + 1, LOG_DET])
            bound = math.exp(bound - reference) * prior_sum(data.log_prior, k + 1, w, j + 1)
            place[k] = j + 1
            is_seen = bound > threshold
            for i in range(k):
                if data.twin[chosen[i]] == data.twin[j]:
                    is_seen, bound = False, 0.0  # a copy is in the model
            if is_seen:
                own = log_mass(data, k + 1, g, at[k + 1, LOSS], at[k + 1, LOG_DET])
                mass = math.exp(data.log_prior[k + 1] + own - reference)
                count_model(data, total, L, Z, chosen, k + 1, g, at[k + 1, LOSS], mass)
                if total.count[2] >= most:
                    return False
                inverse[k + 1] = M
                X[k + 1] = X[k]
                left[k + 1] = left[k]
                place[k + 1] = j + 1
            else:
                total.mass[1] += bound
            own_part = M[j, j].real
            for t in range(q):
                x = X[k, t, j] / own_part
                left[k] += abs2(X[k, t, j]) / own_part
                for c in range(m):
                    X[k, t, c] -= M[c, j] * x
            for i in range(m):
                if i != j:
                    part = M[i, j] / own_part
                    for c in range(m):
                        if c != j:
                            M[i, c] -= part * M[j, c]
            for c in range(m):
                M[c, j] = M[j, c] = 0.0
            if is_seen:
                k += 1
    return True
