"""Leaps and bounds, compiled: the exact best subset of each size (Furnival and Wilson, 1974).

A node of the search tree is a set of columns of which the first few are fixed, held as the triangle
R and the vector t of its least-squares problem: the first j columns leave ‖r‖² = rss + Σ_{c >= j}
|t_c|². Of several targets, t has a row for each, and squares are sums over them.
Child i drops column i and fixes those before it, so that every subset is met once.
A subset of a set never fits better than the set: a child that is no better than the best subsets
found so far is left out with all that is below it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from sparsewise.kernels.compile import abs2, alone, column_square, jit, part_jit

LARGE = 1000.0
"""Coefficients up to this many times those of the incumbent are thought of in looking for ties."""


class Stack(NamedTuple):
    """The nodes from the root to the current one, and what the search has found.

    Attributes
    ----------
    R, t, columns : arrays
        Of each node; column c of R is column columns[c] of the root; t has one target a row.
    width, fixed : arrays of int
        How many columns a node has, and how many of them can't be dropped.
    rss, loss : arrays
        ‖r‖² of all columns of a node, and how much it grows by if one of them is dropped.
    floor : array
        What no subset of a node is below, by the bounds on the way to it: rounding may make its
        own ‖r‖² lower.
    next : array of int
        The next child to look at; children go down to `fixed`.
    best, sets : arrays
        The lowest ‖r‖² of each size found so far, and its columns.
    doubt : array
        The lowest ‖r‖² of each size by columns that rounding hardly tells apart, where that seems
        better than the best at that time.
    met, count : arrays of int
        Subsets of the largest size about as good as the best (if there is room for any), and how
        many they are.
    """

    R: Any
    t: Any
    columns: Any
    width: Any
    fixed: Any
    rss: Any
    loss: Any
    floor: Any
    next: Any
    best: Any
    sets: Any
    doubt: Any
    met: Any
    count: Any


class Scratch(NamedTuple):
    """Room to work in."""

    M: Any
    v: Any
    order: Any


@part_jit
def without(R, t, width, i, S, s):
    """R and t without column i into S and s, triangular again by rotations.

    Returns how much ‖r‖² grows by.
    """
    for row in range(width):
        for c in range(width - 1):
            S[row, c] = R[row, c] if c < i else R[row, c + 1]
        for target in range(len(t)):
            s[target, row] = t[target, row]
    for c in range(i, width - 1):
        length = np.sqrt(abs2(S[c, c]) + abs2(S[c + 1, c]))
        if length == 0:
            continue
        a, b = S[c, c] / length, S[c + 1, c] / length
        for col in range(c, width - 1):
            upper, lower = S[c, col], S[c + 1, col]
            S[c, col] = np.conj(a) * upper + np.conj(b) * lower
            S[c + 1, col] = a * lower - b * upper
        for target in range(len(t)):
            upper, lower = s[target, c], s[target, c + 1]
            s[target, c] = np.conj(a) * upper + np.conj(b) * lower
            s[target, c + 1] = a * lower - b * upper
        S[c + 1, c] = 0
    return column_square(s, width - 1)


@part_jit
def measure_losses(R, t, width, fixed, U, loss):
    """How much ‖r‖² grows by if column i is dropped: |x_i|² / Σ_c |U_ic|² with U = R⁻¹.

    |x_i|² is the sum over targets.

    Row by row, from u_i R = e_i: the direction u_i is orthogonal to all other columns but for
    rounding, however close these are to each other (that of R U = I may be anywhere).
    """
    for i in range(fixed, width):
        u = U[i]
        for c in range(i + 1, width):
            u[c] = 0
        u[i] = -1
        size, length = 0.0, 0.0
        for c in range(i, width):
            u[c] = -u[c] / R[c, c]
            length += abs2(u[c])
            for col in range(c + 1, width):
                u[col] += u[c] * R[c, col]
        for target in range(len(t)):
            x = 0 * t[target, i]
            for c in range(i, width):
                x += u[c] * t[target, c]
            size += abs2(x)
        loss[i] = size / length


@part_jit
def sort_by_loss(loss, fixed, width, order):
    """The free columns by falling loss into `order`; whether they were in order already."""
    in_order = True
    for i in range(fixed, width):
        at = i
        while at > fixed and loss[order[at - 1]] < loss[i]:
            order[at] = order[at - 1]
            at -= 1
            in_order = False
        order[at] = i
    return in_order


@part_jit
def rearrange(R, columns, loss, fixed, width, order, scratch):
    """The free columns in this order, with all that belongs to them."""
    M, v = scratch.M, scratch.v
    for i in range(fixed, width):
        for row in range(width):
            M[row, i] = R[row, order[i]]
        v[i] = loss[order[i]]
        order[i] = columns[order[i]]
    for i in range(fixed, width):
        for row in range(width):
            R[row, i] = M[row, i]
        loss[i] = v[i]
        columns[i] = order[i]


@part_jit
def reflect(v, w, first, width, scale):
    """v - scale·w w*v, from an entry on."""
    inner = np.conj(w[first]) * v[first]
    for row in range(first + 1, width):
        inner += np.conj(w[row]) * v[row]
    inner *= scale
    for row in range(first, width):
        v[row] -= inner * w[row]


@part_jit
def triangular(R, t, fixed, width, w):
    """R upper triangular again, from column `fixed` on, by reflections; t turns with it."""
    for c in range(fixed, width - 1):
        length = 0.0
        for row in range(c, width):
            w[row] = R[row, c]
            length += abs2(w[row])
        norm, size = np.sqrt(length), np.sqrt(abs2(w[c]))
        if norm == 0:
            continue
        w[c] += norm * w[c] / size if size > 0 else norm
        scale = 1 / (norm * (norm + size))
        for col in range(c, width):
            reflect(R[:, col], w, c, width, scale)
        for target in range(len(t)):
            reflect(t[target], w, c, width, scale)
        for row in range(c + 1, width):
            R[row, c] = 0


@part_jit
def independent(R, width, dependent):
    """How many of the first columns are independent: |R_cc|² is what those before c leave of it."""
    for c in range(width):
        if abs2(R[c, c]) <= dependent:
            return c
    return width


@part_jit
def is_combination(R, c, ridge, w):
    """Whether column c is a combination of those before it, but for the ridge and rounding.

    A combination with coefficients w has a ridge of its own of ridge·√(1 + ‖w‖²).
    """
    length = 1.0
    for row in range(c - 1, -1, -1):
        w[row] = R[row, c]
        for col in range(row + 1, c):
            w[row] -= R[row, col] * w[col]
        w[row] /= R[row, row]
        length += abs2(w[row])
    return abs2(R[c, c]) <= 16 * ridge * ridge * length


@part_jit
def can_be_told_apart(R, first, size, dependent, ridge, w):
    """Whether the first columns, but for nearly dependent ones, are more than combinations.

    Combinations add nothing: another subset without them is as good.
    """
    for c in range(first, size):
        if abs2(R[c, c]) <= dependent and is_combination(R, c, ridge, w):
            return False
    return True


@part_jit
def is_better(rss, best, rounding):
    """Whether ‖r‖² is below the best by more than rounding errors of ‖r‖ can make up."""
    if best == np.inf:
        return True
    return rss < best - 2 * rounding * np.sqrt(best) - rounding * rounding


@part_jit
def is_as_good(rss, best, rounding):
    """Whether it is not above the best by more than rounding, even for large coefficients."""
    rounding *= LARGE
    return rss < best + 2 * rounding * np.sqrt(best) + rounding * rounding


@part_jit
def meet(stack, columns, size, rss, rounding):
    """Keep a subset about as good as the best, if there is room; those that were have to go."""
    if is_better(rss, stack.best[size], rounding):
        stack.count[0] = 0
    if stack.count[0] < len(stack.met) and is_as_good(rss, stack.best[size], rounding):
        for c in range(size):
            stack.met[stack.count[0], c] = columns[c]
        stack.count[0] += 1


@part_jit
def look_at(stack, depth, least, most, rounding, dependent, ridge, scratch):
    """Look at the first columns of a node, in falling order of loss: good subsets of each size.

    With the best first, the children with the most below them are the least promising.
    """
    R, t, columns = stack.R[depth], stack.t[depth], stack.columns[depth]
    loss, width, fixed = stack.loss[depth], stack.width[depth], stack.fixed[depth]
    measure_losses(R, t, width, fixed, scratch.M, loss)
    if width - fixed > 2 and not sort_by_loss(loss, fixed, width, scratch.order):
        rearrange(R, columns, loss, fixed, width, scratch.order, scratch)
        triangular(R, t, fixed, width, scratch.M[0])
    rss, largest = stack.rss[depth], independent(R, width, dependent)
    for size in range(width, max(fixed, least) - 1, -1):
        best = stack.best[size]
        if size <= min(largest, most):
            if size == most:
                meet(stack, columns, size, rss, rounding)
            if rss < best:
                stack.best[size] = rss
                for c in range(size):
                    stack.sets[size, c] = columns[c]
        elif (
            size <= most
            and rss < stack.doubt[size]
            and is_better(rss, best, rounding)
            and can_be_told_apart(R, largest, size, dependent, ridge, scratch.M[0])
        ):
            stack.doubt[size] = rss
        rss += column_square(t, size - 1)
    stack.next[depth] = min(width, most) - 1 if width > least else -1


enter = alone(look_at)


@jit
def search(stack, depth, nodes, least, most, rounding, dependent, ridge, scratch):
    """Go on from a node, for at most so many nodes; return the depth then: -1 when all is done."""
    while depth >= 0 and nodes > 0:
        i = stack.next[depth]
        stack.next[depth] -= 1
        if i < stack.fixed[depth]:
            depth -= 1
            continue
        bound = max(stack.rss[depth] + stack.loss[depth, i], stack.floor[depth])
        # Below child i are subsets of i + 1 columns and more; larger ones fit no worse.
        best = stack.best[max(i + 1, least)]
        # What may be as good is gone after while there is room for it.
        with_ties = stack.count[0] < len(stack.met) and is_as_good(bound, best, rounding)
        if not with_ties and not is_better(bound, best, rounding):
            continue
        width = stack.width[depth]
        S, s = stack.R[depth + 1], stack.t[depth + 1]
        grown = without(stack.R[depth], stack.t[depth], width, i, S, s)
        for c in range(width - 1):
            stack.columns[depth + 1, c] = stack.columns[depth, c if c < i else c + 1]
        stack.rss[depth + 1], stack.floor[depth + 1] = stack.rss[depth] + grown, bound
        stack.width[depth + 1], stack.fixed[depth + 1] = width - 1, i
        depth += 1
        nodes -= 1
        look_at(stack, depth, least, most, rounding, dependent, ridge, scratch)
    return depth
