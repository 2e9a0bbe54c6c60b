"""Steps forward on inner products of columns: no basis of long vectors is kept.

When column j comes in, what it adds has with all columns the inner products

    p_k = (A*a_j - Σ_i h_i p_i) / ρ,    h_i = q_i*a_j = p_i[j]*,    ρ² = energy_j,

so that a step takes those of one column of A and a few vectors as long as A is wide; four columns
at a time, the best one and those next to it, cost half of what they do one by one, and most of
them come in later. Squares keep half of the digits that columns have: `error` says how many, and
where these leave a choice open the steps end (UNSURE), for the basis to go on from there.
"""

from __future__ import annotations

import numpy as np

from sparsewise.kernels.compile import column_square, jit, part_jit
from sparsewise.kernels.gram_stepwise import EPS, SHARE, direction, how_many, score_error
from sparsewise.kernels.stepwise import (
    ACTIVE,
    FULL,
    MORE,
    SMALL,
    UNSURE,
    advance,
    best_open,
    lower,
    recipe,
)

# Columns whose inner products are made in one pass over A.
FOUR = 4


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
def look_up(W, turned, scale, values, j, J, K, place, known):
    """The inner products of column j and its runners-up, of unit columns, in one pass over A.

    Rows of K from `known` on take them, and `place` where they are. Returns how many are known.
    """
    found = runners_up(values, place, j, J)
    G = K[known : known + FOUR]
    if turned:
        along_columns(W, J, G)
    else:
        along_rows(W, J, G)
    for c in range(found):
        place[J[c]] = known + c
        for i in range(scale.size):
            G[c, i] *= scale[i] * scale[J[c]]
    return known + found


@part_jit
def leave(W, turned, scale, picks, k, x, r):
    """Take A_S x, of unit columns, out of the targets in r; x has one row for each."""
    for i in range(len(r)):
        for c in range(k):
            j = picks[c]
            factor = x[i, c] * scale[j]
            if turned:
                for row in range(r.shape[1]):
                    r[i, row] -= factor * W[j, row]
            else:
                for row in range(r.shape[1]):
                    r[i, row] -= factor * W[row, j]


@part_jit
def lowest(energy, values):
    """The least energy of a column that can be chosen."""
    low = 1.0
    for j in range(energy.size):
        low = energy[j] if values[j] >= 0 and energy[j] < low else low
    return low


@part_jit
def is_open_question(values, j, tie, off):
    """Whether scores that are off by this part of them leave open which column is the best.

    Ties that are far wider than that are ties for the basis, too.
    """
    if 4 * off <= tie:
        return False
    return not off < 0.25 or how_many(values, values[j] * (1 - 2 * (tie + off))) > 1


@jit
def grow_by_products(
    W, turned, scale, corr, energy, floor, state, U, t, r,
    by_gain, steps, limits, picks, rss, X,
):  # fmt: skip
    """Add the best column again and again, from an empty model, at most `steps` times.

    W is A, or, if it is `turned`, A transposed; columns times `scale` have unit norm.
    limits = (most columns, ‖r‖² at which to look whether it is enough, gain to exceed, energy that
    counts as dependent, ‖U‖² not to exceed, tie). What is written are U, t, r, and what
    `stepwise.grow` tells of each step. Returns (columns added, why it came back, passes over A).
    """
    most, enough, gain_floor, dependent, sturdy, tie = limits
    width = energy.size
    K = np.empty((min(FOUR * steps, width) + FOUR, width), U.dtype)
    P = np.empty((steps, width), U.dtype)
    place = np.empty(width, np.int64)
    for i in range(width):
        place[i] = -1
    J = np.empty(FOUR, np.int64)
    h = np.empty(steps, U.dtype)
    values = np.empty(width, energy.dtype)
    k, known, passes, code = 0, 0, 0, MORE
    size, left = 0.0, 1.0
    while k < steps and code == MORE:
        j = best_open(corr, energy, state, by_gain, dependent, tie, values)
        if j < 0:
            code = UNSURE
            break
        for i in range(k):
            h[i] = np.conj(P[i, j])
        rho = np.sqrt(energy[j])
        size += recipe(U, k, h, rho)
        error = SHARE * EPS * size
        off = score_error(values[j], lowest(energy, values), error, by_gain)
        gain = column_square(corr, j) / energy[j]
        if size > sturdy or is_open_question(values, j, tie, off):
            code = UNSURE
            break
        if gain * (1 - off) <= gain_floor:
            code = SMALL if gain * (1 + off) <= gain_floor else UNSURE
            break
        for i in range(len(t)):
            t[i, k] = corr[i, j] / rho
        state[j] = ACTIVE
        picks[k] = j
        advance(X[max(k - 1, 0)], U[k], t, k, X[k])
        left -= column_square(t, k)
        k += 1
        if left <= enough + error:
            code = UNSURE
        elif k >= most:
            code = FULL
        elif k < steps:
            if place[j] < 0:
                known = look_up(W, turned, scale, values, j, J, K, place, known)
                passes += 1
            for i in range(width):
                P[k - 1, i] = K[place[j], i]
            direction(P, k - 1, h)
            for i in range(width):
                P[k - 1, i] /= rho
            lower(P[k - 1], t, k - 1, corr, energy, floor, state)
    if k > 0:
        leave(W, turned, scale, picks, k, X[k - 1], r)
        rss[k - 1] = 0.0
        for row in range(r.shape[1]):
            rss[k - 1] += column_square(r, row)
        for i in range(k - 1, 0, -1):
            rss[i - 1] = rss[i] + column_square(t, i)
    return k, code, passes
