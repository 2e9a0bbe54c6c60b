"""Certificates against enumeration, against the worst noise there is, and at the edges."""

import math
from collections import Counter
from functools import partial
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sparsewise as sw
from sparsewise import Certificate
from sparsewise.design import DenseDesign
from sparsewise.guarantees import certificate, dictionary
from sparsewise.guarantees.certificate import _singular_values, squared_margin
from sparsewise.guarantees.recovery import separation
from sparsewise.problem.problem import problem
from sparsewise.subsets.fit import Fit
from tests.problems import KNOWN, WORDS, normal, words
from tests.storages import STORAGES
from tests.subsets.enumeration import (
    bases,
    best,
    others,
    residual_norm,
    residual_norms,
    unit,
)

certify = partial(sw.certify, time_limit=0.0)
"""The bound, and exchanges, alone, unless a test says otherwise."""

TALL = KNOWN[1]


# --- random problems ------------------------------------------------------------------------------


def nearly_orthonormal(rng, n, m, level, kind=float):
    """An orthonormal system and a disturbance of this size: bounds that say something."""
    Q = np.linalg.qr(normal(rng, n, m, kind=kind))[0]
    return unit(Q + level * normal(rng, n, m, kind=kind) / math.sqrt(n))


def wide_design(rng, n, kind=float):
    """Two bases side by side, one a flat transform of the other: the least coherent there is."""
    flat = np.array([[1.0]])
    while len(flat) < n:
        flat = np.kron(flat, [[1, 1], [1, -1]])
    turn = np.linalg.qr(normal(rng, n, n, kind=kind))[0]
    return turn @ np.hstack([np.eye(n), flat / math.sqrt(n)])


def correlated_design(rng, n, m, kind=float):
    common = normal(rng, n, 1, kind=kind)
    return unit(normal(rng, n, m, kind=kind) + rng.uniform(0, 0.5) * common)


DESIGNS = {
    "disturbed": lambda rng, kind: nearly_orthonormal(rng, 9, 8, rng.uniform(0, 0.4), kind),
    "square": lambda rng, kind: nearly_orthonormal(rng, 8, 8, rng.uniform(0, 0.3), kind),
    "two bases": lambda rng, kind: wide_design(rng, 16, kind)[:, rng.permutation(32)[:17]],
    "tall": lambda rng, kind: normal(rng, 40, 9, kind=kind),
    "correlated": lambda rng, kind: correlated_design(rng, 30, 8, kind),
    "wide": lambda rng, kind: normal(rng, 6, 9, kind=kind),
}
CHOICES = ["forward", "omp", "backward", "rmp0", "any"]


def chosen(rng, A, y, k, how):
    """A support by one of several algorithms, or by chance."""
    n, m = A.shape
    if how in ("forward", "omp") or (how == "backward" and n < m):
        return getattr(sw, "omp" if how == "omp" else "forward")(A, y, sparsity=k).support
    if how == "backward":
        return sw.backward(A, y, sparsity=k).support
    if how == "rmp0":
        return sw.rmp0(A, y, delta=0.3 * float(np.linalg.norm(y))).support[:4]
    return rng.choice(m, k, replace=False)


def typed(A, char):
    return np.asarray(A).astype(char)


def random_problem(seed, design):
    """A, y and a support, the noise about as large as the bound."""
    rng = np.random.default_rng([seed, len(design)])
    char = rng.choice(["d", "d", "D", "f", "F"])
    kind = complex if char in "DF" else float
    A = typed(DESIGNS[design](rng, kind), char)
    n, m = A.shape
    k = int(rng.integers(1, 4 if m < 12 else 3))
    S = rng.choice(m, k, replace=False)
    x = rng.choice([1.0, 1.0, 3.0], k) * rng.choice([-1, 1, 1j if kind is complex else 1], k)
    clean = unit(A)[:, S] @ x
    noise = normal(rng, n, kind=kind)
    if rng.random() < 0.5:  # in the direction of a column
        noise = unit(A)[:, rng.integers(m)] + 0.1 * noise / np.linalg.norm(noise)
    bound = certify(A, typed(clean, char), S).bound
    size = rng.uniform(0.5, 1.5) * (bound if 0 < bound < math.inf else 0.3)
    y = clean + size * noise / np.linalg.norm(noise)
    if char in "dD":
        A = A * 10.0 ** rng.uniform(-6, 6, m)
        y = y * 10.0 ** rng.choice([0, -150, 150])
    y = typed(y, char)
    return A, y, chosen(rng, A, y, k, rng.choice(CHOICES)), rng


def is_best(A, y, columns):
    """Whether no other subset of as many columns fits as well, nor fewer of these."""
    ours = residual_norm(A, y, columns)
    size = float(np.linalg.norm(y))
    fewer = [[j for j in columns if j != i] for i in columns]
    rest = [residual_norms(A, y, others(np.shape(A)[1], columns)) / size]
    rest.append([residual_norm(A, y, few) / size for few in fewer])
    return bool(np.min(np.concatenate(rest), initial=np.inf) > ours / size)


@pytest.mark.parametrize("swaps", [False, True])
@pytest.mark.parametrize("part", range(3))
@pytest.mark.parametrize("design", DESIGNS)
def test_what_the_bound_certifies_is_the_unique_best(design, part, swaps):
    count = Counter()
    for seed in range(60 * part, 60 * part + 60):
        A, y, S, _ = random_problem(seed, design)
        c = certify(A, y, S, swaps=swaps)
        count[c.status, c.proof] += 1
        if c.proof == "bound":
            assert c.status == "optimal"
            assert is_best(A, y, c.columns), (seed, c)
        elif c.status == "beaten":
            assert residual_norm(A, y, c.better) < residual_norm(A, y, c.columns), (seed, c)
        assert c.residual_norm == pytest.approx(
            residual_norm(A, y, S), rel=1e-5, abs=1e-6 * float(np.linalg.norm(y))
        )
    assert count["unknown", None] + count["beaten", None] > 5
    if design != "wide" and (design != "correlated" or swaps):
        assert count["optimal", "bound"] > 5  # or nothing was tested


# --- the worst noise ------------------------------------------------------------------------------


class Adversary:
    """For A_S x + r with r ⟂ A_S of a given size, the r by which another subset fits best.

    T fits better where ‖P_T (v + r)‖ > ‖v‖, v = A_S x. A convex function on a sphere rises with
    every step r <- its gradient, scaled: from the direction in which it curves most this finds
    the maximum but for rare cases.
    """

    def __init__(self, A, S, at_least=1):
        k, m = len(S), A.shape[1]
        self.V = A[:, S]
        self.sets = np.array(
            [T for T in combinations(range(m), k) if len({*S} - {*T}) >= at_least], int
        )
        self.Q = bases(A, self.sets)
        full = np.linalg.qr(np.column_stack([self.V, np.eye(len(A), dtype=A.dtype)]))[0]
        self.rest = full[:, k:]
        self.B = self.rest.conj().T @ self.Q
        self.top = np.linalg.svd(self.B, full_matrices=False)[0][:, :, 0]

    def attack(self, x, size):
        """How much better than S the best other subset fits (‖r‖², relative), that one, and r."""
        v = self.V @ x
        inner = self.Q.conj().transpose(0, 2, 1) @ v
        b = np.einsum("szk,sk->sz", self.B, inner)
        phase = np.sum(self.top.conj() * b, axis=1)
        phase = np.where(np.abs(phase) > 1e-12, phase / np.maximum(np.abs(phase), 1e-300), 1.0)
        z = size * self.top * phase[:, None]
        for _ in range(40):
            step = np.einsum("szk,sk->sz", self.B, np.einsum("szk,sz->sk", self.B.conj(), z)) + b
            norm = np.linalg.norm(step, axis=1, keepdims=True)
            z = np.where(norm > 1e-12, size * step / np.maximum(norm, 1e-300), z)
        fitted = inner + np.einsum("szk,sz->sk", self.B.conj(), z)
        gains = np.sum(np.abs(fitted) ** 2, axis=1) - np.linalg.norm(v) ** 2
        worst = int(np.argmax(gains))
        return gains[worst] / size**2, self.sets[worst], self.rest @ z[worst]


def coefficients(rng, k, kind):
    """Signs and sizes to try: all equal, one small, chance."""
    if kind is complex:
        phases = np.exp(2j * np.pi * rng.random((6, k)))
    else:
        phases = np.array([(1, *signs) for signs in product([1, -1], repeat=k - 1)])
    sizes = [np.ones(k), np.r_[1, np.full(k - 1, 3.0)], 1 + rng.random(k) * [0, *[2] * (k - 1)]]
    return [signs * size for signs, size in product(phases, sizes)]


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("kind", [float, complex])
@pytest.mark.parametrize("k", [1, 2, 3])
def test_the_worst_noise_below_the_bound_fails(k, kind, seed):
    rng = np.random.default_rng([k, seed])
    n = 8
    A = nearly_orthonormal(rng, n, 7, [0.0, 0.1, 0.2, 0.3, 0.4][seed % 5], kind)
    if seed >= 5:
        A = wide_design(rng, n, kind)[:, rng.permutation(2 * n)[:10]]
        if kind is complex:
            A = unit(A * np.exp(2j * np.pi * rng.random(10)))
    S = sorted(rng.choice(A.shape[1], k, replace=False))
    adversary = Adversary(A, S)
    for x in coefficients(rng, k, kind):
        bound = certify(A, A[:, S] @ x, S).bound
        if bound == 0:
            continue
        gain, _, r = adversary.attack(x, 0.999 * bound)
        assert gain < 0
        y = A[:, S] @ x + r
        c = certify(A, y, S)
        assert (c.status, c.proof) == ("optimal", "bound")
        assert c.margin == pytest.approx(1 / 0.999)
        assert is_best(A, y, S)


@pytest.mark.parametrize("kind", [float, complex])
@pytest.mark.parametrize("seed", range(8))
def test_the_worst_noise_against_two_columns_where_one_is_settled(seed, kind):
    """With swaps=True the bound for one column is replaced by a look at each: push beyond it."""
    rng = np.random.default_rng([seed, 5])
    A = nearly_orthonormal(rng, 8, 7, 0.1 + 0.05 * (seed % 4), kind)
    S = sorted(rng.choice(7, 3, replace=False))
    two = Adversary(A, S, at_least=2)
    certified = 0
    for x in coefficients(rng, 3, kind):
        bound = certify(A, A[:, S] @ x, S).bound
        for factor in (0.9, 1.0, 1.1, 1.2, 1.3, 1.5):
            y = A[:, S] @ x + two.attack(x, factor * bound)[2]
            c = certify(A, y, S, swaps=True)
            if c.status == "optimal":
                certified += 1
                assert c.exchanged != 1
                assert is_best(A, y, S)
    assert certified


@pytest.mark.parametrize("kind", [float, complex])
@pytest.mark.parametrize("k", [1, 2, 4])
def test_orthonormal_columns_bear_exactly_the_smallest_coefficient(k, kind):
    rng = np.random.default_rng(k)
    A = np.linalg.qr(normal(rng, 9, 8, kind=kind))[0]
    S = sorted(rng.choice(8, k, replace=False))
    x = np.array([0.7, -1.1, 2.0, 0.9])[:k] * (1j if kind is complex else 1)
    c = certify(A, A[:, S] @ x, S)
    assert c.bound == pytest.approx(0.7)
    assert c.min_abs == pytest.approx(0.7)
    adversary = Adversary(A, S)
    assert adversary.attack(x, 0.999 * c.bound)[0] < 0
    gain, T, r = adversary.attack(x, 1.001 * c.bound)
    y = A[:, S] @ x + r
    assert gain > 0
    assert residual_norm(A, y, T) < residual_norm(A, y, S)
    c = certify(A, y, S, time_limit=None)
    assert c.status == "beaten"
    assert c.better == best(A, y, k)[0]


# --- the figures behind the bound -----------------------------------------------------------------


@given(st.floats(1e-6, 1.0), st.floats(1.0, 50.0))
def test_squared_margin(squared, above):
    s = math.sqrt(squared)
    assert squared_margin(squared, above) == pytest.approx((s / (2 - s / math.sqrt(above))) ** 2)
    assert squared_margin(squared, above) <= squared_margin(squared, 1.0) <= 1 + 1e-12
    assert squared_margin(-squared, above) == squared_margin(0.0, above) == 0
    # d columns have Λ <= d: with d times the squared coefficient this is the theorem's and more.
    d = math.ceil(above)
    assert d * squared_margin(squared, above) >= separation(squared) ** 2 * (1 - 1e-12)


def fits(A, S):
    return Fit(problem(A, A[:, S] @ np.arange(1.0, len(S) + 1)), np.array(sorted(S)))


def true_singular_values(A, S, most):
    """Over all d other columns: the least of S with them, the largest of them alone, squared."""
    U = unit(A)
    # A column of zeros can only make a subset smaller: it counts as orthogonal to all.
    outside = [j for j in range(A.shape[1]) if j not in S and U[:, j].any()]
    low, high = [], []
    for d in range(1, most + 1):
        sets = np.array(list(combinations(outside, d)))
        joint = np.column_stack([np.tile(sorted(S), (len(sets), 1)), sets])
        smallest = np.linalg.svd(U[:, joint].transpose(1, 0, 2), compute_uv=False)
        wide = joint.shape[1] > len(U)
        low.append(0.0 if wide else float(smallest[:, -1].min()) ** 2)
        largest = np.linalg.svd(U[:, sets].transpose(1, 0, 2), compute_uv=False)
        high.append(float(largest[:, 0].max()) ** 2)
    return np.array(low), np.array(high)


def check_singular_values(A, S):
    most = min(len(S), A.shape[1] - len(S))
    squared, sources, above = _singular_values(fits(A, S), most)
    low, high = true_singular_values(A, S, most)
    assert np.all(squared <= low + 1e-12)
    assert np.all(above >= high - 1e-12)
    return Counter(source for source, s in zip(sources, squared, strict=True) if s > 0)


def test_singular_values_are_bounded_from_below_and_above():
    told = Counter()
    for seed in range(80):
        rng = np.random.default_rng(seed)
        kind = [float, complex][seed % 2]
        k = 1 + seed % 4
        for A in (
            nearly_orthonormal(rng, 10, 9, rng.uniform(0, 0.4), kind),
            normal(rng, 60, 9, kind=kind),
            wide_design(rng, 8, kind)[:, :10],
            normal(rng, 20, 9, kind=kind)[:, [0, 1, 2, 3, 4, 5, 6, 7, 7]],
            np.column_stack([normal(rng, 20, 8, kind=kind), np.zeros(20)]),
        ):
            usable = np.flatnonzero(np.linalg.norm(A, axis=0))
            S = rng.choice(usable[:8], k, replace=False)
            told += check_singular_values(A, S)
    assert set(told) == {
        "the singular values of A",
        "the Babel function",
        "the Babel function around the support",
    }


def hidden_pair():
    """Columns 20 and 21 nearly span 16 + 17, which shows in the second block of columns alone."""
    rng = np.random.default_rng(0)
    A = np.linalg.qr(rng.standard_normal((30, 24)))[0][:, :22]
    A[:, :4] = A[:, :4] @ np.linalg.cholesky(np.full((4, 4), 0.35) + 0.65 * np.eye(4)).T
    common = A[:, 20].copy()
    both = unit((A[:, [16]] + A[:, [17]]) / math.sqrt(2) + 0.1 * A[:, [21]])[:, 0]
    A[:, 20] = math.sqrt(0.9) * common + math.sqrt(0.1) * both
    A[:, 21] = math.sqrt(0.9) * common - math.sqrt(0.1) * both
    return A, common


@pytest.mark.parametrize("swaps", [False, True])
def test_every_block_of_columns_counts(monkeypatch, swaps):
    monkeypatch.setattr(dictionary, "BLOCK_BYTES", 0)  # blocks of 16 columns
    A, common = hidden_pair()
    S = [16, 17, 18, 19]
    check_singular_values(A, S)
    y = A[:, S] @ [1.0, 1.0, 1000.0, 1000.0] + 0.4 * common
    assert residual_norm(A, y, [18, 19, 20, 21]) < residual_norm(A, y, S)
    assert certify(A, y, S, swaps=swaps).status != "optimal"


@pytest.mark.parametrize("shape", [(40, 34), (30, 40)])
def test_blocks_change_nothing(monkeypatch, shape):
    rng = np.random.default_rng(1)
    A = nearly_orthonormal(rng, *shape, 0.05) if shape[0] > shape[1] else normal(rng, *shape)
    y = A[:, [3, 17, 33]] @ [1.0, 2.0, 3.0] + 0.01 * normal(rng, shape[0])
    whole = certify(A, y, [3, 17, 33], swaps=True)
    monkeypatch.setattr(dictionary, "BLOCK_BYTES", 0)
    assert same(certify(A, y, [3, 17, 33], swaps=True), whole)


def test_the_bound_is_that_of_the_theorem_and_more():
    for seed in range(40):
        rng = np.random.default_rng(seed)
        A = nearly_orthonormal(rng, 12, 10, rng.uniform(0, 0.4))
        S = rng.choice(10, 1 + seed % 4, replace=False)
        c = certify(A, A[:, S] @ rng.uniform(1, 2, S.size), S)
        smallest = np.linalg.svd(A, compute_uv=False)[-1]
        assert c.bound >= separation(smallest**2) * c.min_abs * (1 - 1e-9)
        assert c.bound >= sw.backward_noise_bound(A, c.min_abs).bound * (1 - 1e-9)
        assert c.bound <= c.min_abs * (1 + 1e-9)


# --- exchanges of one column ----------------------------------------------------------------------


def exchanges(A, y, S):
    """By how much ‖r‖² falls (unit target) for each column out and in, in extended precision."""
    wide = np.result_type(A, np.longdouble)
    A, y = A.astype(wide), y.astype(wide)
    y = y / np.sqrt(np.sum(np.abs(y) ** 2))
    A = A / np.sqrt(np.sum(np.abs(A) ** 2, axis=0))

    def squared(columns):
        """Twice is enough: Gram-Schmidt, then y."""
        rest, basis = y.copy(), []
        for j in columns:
            q = A[:, j]
            for _ in range(2):
                for b in basis:
                    q = q - b * (b.conj() @ q)
            basis.append(q / np.sqrt(np.sum(np.abs(q) ** 2)))
        for _ in range(2):
            for b in basis:
                rest = rest - b * (b.conj() @ rest)
        return np.sum(np.abs(rest) ** 2)

    ours = squared(S)
    falls = np.full((A.shape[1], A.shape[1]), -np.inf)
    for i, j in product(S, range(A.shape[1])):
        if j not in S:
            falls[i, j] = ours - squared([*(c for c in S if c != i), j])
    return falls, float(ours)


SWAPS = {  # kind, distance of neighbours, noise, and the relative error that is allowed
    "plain": ("d", None, 0.3, 1e-6),
    "complex": ("D", None, 0.3, 1e-6),
    "single": ("f", None, 0.3, 1e-3),
    "single complex": ("F", None, 0.3, 1e-3),
    "single neighbours": ("f", 3e-2, 0.1, 1e-2),
    "neighbours": ("d", 1e-4, 0.1, 1e-6),
    "close neighbours": ("d", 1e-6, 0.1, 1e-6),
    "complex neighbours": ("D", 1e-4, 0.1, 1e-6),
    "little noise": ("d", None, 1e-8, 1e-6),
    "little noise, complex": ("D", None, 1e-8, 1e-6),
    "little noise, neighbours": ("d", 1e-4, 1e-8, 1e-4),
    "little noise, close neighbours": ("d", 1e-6, 1e-8, 1e-2),
}


@pytest.mark.parametrize("name", SWAPS)
def test_exchanges_against_each_one(name):
    char, apart, noise, tolerance = SWAPS[name]
    kind = complex if char in "DF" else float
    seen = Counter()
    for seed in range(30):
        rng = np.random.default_rng(seed)
        A = unit(normal(rng, 12, 7, kind=kind))
        if apart is not None:
            A[:, 5:] = A[:, :2] + apart * unit(normal(rng, 12, 2, kind=kind))
        A = typed(A * rng.uniform(0.5, 2, 7), char)
        S = [0, 1, 2]
        y = A[:, S] @ np.array([1.0, -2.0, 1.5])
        y = y + noise * np.linalg.norm(y) * unit(normal(rng, 12, 1, kind=kind))[:, 0]
        y = typed(y, char)
        if seed % 3 == 1:
            S = [0, 1, 3]
        if seed % 3 == 2:
            S = [2, 5 if apart else 0, 6 if apart else 1]
        c = certify(A, y, S, swaps=True)
        falls, ours = exchanges(A, y, S)
        slack = tolerance * ours
        assert c.swap_optimal == (c.swap is None)
        seen[c.swap_optimal] += 1
        if c.swap is None:
            assert falls.max() <= slack
            continue
        scale = float(np.linalg.norm(y)) ** 2
        assert c.status == "beaten"
        assert c.swap.fall > 0
        assert falls[c.swap.out, c.swap.into] > -1e-3 * slack
        assert falls[c.swap.out, c.swap.into] >= falls.max() - slack
        assert c.swap.fall / scale == pytest.approx(
            float(falls[c.swap.out, c.swap.into]), rel=max(tolerance, 1e-4), abs=slack
        )
        assert c.better == tuple(sorted({*S, c.swap.into} - {c.swap.out}))
    assert min(seen[True], seen[False]) > 2


@pytest.mark.parametrize("char", "df")
def test_a_copy_is_no_better(char):
    for seed in range(40):
        rng = np.random.default_rng(seed)
        B = rng.standard_normal((12, 6))
        A = np.column_stack([B, B[:, :2] * [3, -0.1]]).astype(char)
        y = (B[:, :2] @ [1.0, 2.0] + 0.3 * rng.standard_normal(12)).astype(char)
        S, _, _ = best(A, y, 2)
        c = certify(A, y, S, swaps=True)
        assert c.swap is None
        assert c.status == "unknown"  # the best, but the copy fits as well
        assert certify(A, y, S, time_limit=None).proof == "search"


@pytest.mark.parametrize("apart", [1e-2, 1e-4, 1e-6])
def test_a_tie_is_no_better(apart):
    for seed in range(40):
        Q = np.linalg.qr(np.random.default_rng(seed).standard_normal((12, 6)))[0]
        A = np.column_stack([Q[:, 0] + apart * Q[:, 1], Q[:, 0] - apart * Q[:, 1], Q[:, 2]])
        c = certify(A, Q[:, 0] + Q[:, 2] + 0.1 * Q[:, 4], [0, 2], swaps=True)
        assert c.swap is None
        assert c.status == "unknown"


@pytest.mark.parametrize(
    ("char", "apart"), [("f", 1e-4), ("f", 1e-3), ("d", 1e-8), ("d", 1e-7), ("d", 1e-6)]
)
def test_what_is_nearly_dependent_is_never_certified_away(char, apart):
    """Columns 1 and 2 fit far better than 0 and 2, by large coefficients."""
    Q = np.linalg.qr(np.random.default_rng(3).standard_normal((8, 8)))[0]
    A = np.column_stack([Q[:, 0], Q[:, 1], Q[:, 1] + apart * Q[:, 2]]).astype(char)
    y = (Q[:, 1] + 0.1 * Q[:, 0] + 0.5 * Q[:, 2]).astype(char)
    c = certify(A, y, [0, 2], swaps=True)
    assert c.status != "optimal"


def test_passes_over_the_design():
    rng = np.random.default_rng(0)
    A, y = rng.standard_normal((50, 30)), rng.standard_normal(50)
    plain, with_swaps = Watched(A), Watched(A)
    certify(plain, y, [1, 2, 3])
    certify(with_swaps, y, [1, 2, 3], swaps=True)
    assert plain.products <= 3
    assert with_swaps.products - plain.products == 2


class Watched(DenseDesign):
    """Counts the products with it."""

    products = 0

    def rmatmat(self, V):
        self.products += 1
        return super().rmatmat(V)


# --- the search -----------------------------------------------------------------------------------


@pytest.mark.parametrize("limit", [None, 60.0])
@pytest.mark.parametrize("design", DESIGNS)
def test_with_time_every_narrow_problem_is_decided(design, limit):
    seen = Counter()
    for seed in range(1000, 1040):
        A, y, S, _ = random_problem(seed, design)
        if A.dtype.char in "fF":
            A, y = A.astype(A.dtype.char.replace("f", "d").replace("F", "D")), y.astype("D")
            y = y.real if A.dtype.kind == "f" else y
        c = certify(A, y, S, time_limit=limit)
        truth, norm, runner_up = best(A, y, len(S))
        ours = residual_norm(A, y, S)
        size = float(np.linalg.norm(y))
        assert c.status == ("optimal" if c.columns == truth else "beaten"), (seed, c)
        assert c.better == (None if c.columns == truth else truth)
        seen[c.status, c.proof] += 1
        assert c.proof == "search" or (c.status, c.proof) == ("optimal", "bound")
        with_swaps = certify(A, y, S, swaps=True, time_limit=limit)
        assert (with_swaps.status, with_swaps.better) == (c.status, c.better)
        assert runner_up - norm > 1e-9 * size or ours == norm  # no ties among these
    assert seen["optimal", "search"] > 0


class NoSearch:
    def __init__(self, *args, **kwargs):
        raise AssertionError("searched")


def test_no_time_no_search(monkeypatch):
    monkeypatch.setattr(certificate, "Search", NoSearch)
    rng = np.random.default_rng(0)
    A, y = rng.standard_normal((6, 9)), rng.standard_normal(6)
    assert sw.certify(A, y, [0, 1], time_limit=0).status == "unknown"
    with pytest.raises(AssertionError, match="searched"):
        sw.certify(A, y, [0, 1], time_limit=1e-9)


def test_a_second_is_taken_where_the_bound_does_not_decide(monkeypatch):
    rng = np.random.default_rng(0)
    A = rng.standard_normal((300, 60))
    y = 0.5 * A[:, :6].sum(axis=1) + rng.standard_normal(300)
    assert certify(A, y, range(6)).status == "unknown"
    assert sw.certify(A, y, range(6)).proof == "search"
    assert sw.forward(A, y, sparsity=6).certificate(A, y).proof == "search"
    seconds = []
    monkeypatch.setattr(certificate.Search, "run", lambda search, given: seconds.append(given))
    sw.certify(A, y, range(6))
    assert seconds == [1.0]


def test_more_than_200_columns_are_not_searched(monkeypatch):
    monkeypatch.setattr(certificate, "Search", NoSearch)
    A = np.random.default_rng(0).standard_normal((5, 201))
    y = np.arange(5.0)
    assert certify(A, y, [0], time_limit=None).status == "unknown"
    with pytest.raises(AssertionError, match="searched"):
        certify(A[:, :200], y, [0], time_limit=None)


def test_what_the_bound_decides_is_not_searched(monkeypatch):
    monkeypatch.setattr(certificate, "Search", NoSearch)
    assert certify(np.eye(4), [5.0, 4.0, 0.1, 0.1], [0, 1], time_limit=None).proof == "bound"


def test_the_search_goes_beyond_an_exchange_of_one():
    y = [5.0, 4.0, 0.2, 0.1]
    one = certify(np.eye(4), y, [2, 3], swaps=True)
    assert (one.status, one.proof, one.better) == ("beaten", None, (0, 2))
    assert one.swap == (3, 0, pytest.approx(24.99))
    all_of_them = certify(np.eye(4), y, [2, 3], swaps=True, time_limit=None)
    assert (all_of_them.status, all_of_them.proof) == ("beaten", "search")
    assert all_of_them.better == (0, 1)
    assert all_of_them.swap == one.swap


def test_out_of_time_the_verdict_is_open_or_beaten():
    rng = np.random.default_rng(0)
    A, y = rng.standard_normal((80, 60)), rng.standard_normal(80)
    greedy = sw.forward(A, y, sparsity=20)
    c = greedy.certificate(A, y, time_limit=1e-9)
    assert c.status in ("unknown", "beaten")
    if c.better is not None:
        assert residual_norm(A, y, c.better) < greedy.residual_norm


# --- edges ----------------------------------------------------------------------------------------


def test_the_empty_support():
    c = certify(np.eye(3), [1.0, 2.0, 3.0], [], swaps=True)
    assert (c.status, c.proof, c.columns, c.size) == ("optimal", "bound", (), 0)
    assert c.residual_norm == pytest.approx(math.sqrt(14))
    assert c.margin == math.inf
    assert c.swap_optimal
    assert str(c) == "certified best subset of 0"


def test_all_columns():
    rng = np.random.default_rng(0)
    A, y = rng.standard_normal((6, 3)), rng.standard_normal(6)
    c = certify(A, y, range(3), swaps=True)
    assert (c.status, c.bound, c.exchanged) == ("optimal", math.inf, 0)
    assert "inf" not in repr(c)


@pytest.mark.parametrize("noise", [0.0, 1.0])
@pytest.mark.parametrize("limit", [0.0, None])
@pytest.mark.parametrize("S", [[0, 1, 2], [0, 2], [0, 1, 2, 3]])
def test_a_column_that_is_not_needed(S, limit, noise):
    """Fewer columns fit as well: nothing that proves uniqueness may be said."""
    for seed in range(10):
        Q = np.linalg.qr(np.random.default_rng(seed).standard_normal((7, 7)))[0]
        A = Q[:, :4] @ np.random.default_rng(seed).standard_normal((4, 4))
        needed = S[:-1]
        y = A[:, needed] @ np.arange(1.0, len(S)) + noise * Q[:, 5]
        c = certify(A, y, S, swaps=True, time_limit=limit)
        assert c.proof != "bound"
        assert c.status != "beaten"


def test_one_column_in_all():
    c = certify([[1.0], [1.0]], [1.0, 2.0], [0], swaps=True, time_limit=None)
    assert (c.status, c.columns) == ("optimal", (0,))
    assert certify([[1.0], [1.0]], [1.0, 2.0], []).status == "optimal"


def test_one_of_many_columns():
    A = unit(np.array([[1.0, 0.2, 0.1], [0.1, 1.0, 0.2], [0.2, 0.1, 1.0]]))
    y = A[:, 1] + 0.1 * np.linalg.qr(A)[0][:, 2]
    c = certify(A, y, [1], swaps=True)
    assert c.status == "optimal"
    assert is_best(A, y, [1])
    assert certify(A, y, [0], swaps=True).better == (1,)


@pytest.mark.parametrize("limit", [0.0, None])
def test_a_zero_target(limit):
    c = certify(np.eye(3), np.zeros(3), [1], swaps=True, time_limit=limit)
    assert c.proof != "bound"
    assert c.status != "beaten"
    assert c.residual_norm == 0
    assert c.margin == math.inf
    assert certify(np.eye(3), np.zeros(3), []).status == "optimal"


@pytest.mark.parametrize("char", "fdFD")
def test_an_exact_fit_is_certified(char):
    rng = np.random.default_rng(0)
    A = typed(nearly_orthonormal(rng, 10, 9, 0.1), char)
    c = certify(A, A[:, [2, 5]] @ typed([1, 2], char), [2, 5], swaps=True)
    assert (c.status, c.proof, c.swap) == ("optimal", "bound", None)
    assert c.margin > 1e4


def test_an_exact_fit_by_a_copy_is_no_proof():
    rng = np.random.default_rng(0)
    A = rng.standard_normal((10, 4))[:, [0, 1, 2, 3, 1]]
    c = certify(A, A[:, [0, 1]] @ [1.0, 2.0], [0, 1], swaps=True)
    assert c.status == "unknown"
    assert certify(A, A[:, [0, 1]] @ [1.0, 2.0], [0, 1], time_limit=None).proof == "search"


def test_zero_columns_outside_do_no_harm():
    rng = np.random.default_rng(0)
    A = nearly_orthonormal(rng, 20, 6, 0.05)
    y = A[:, [1, 4]] @ [1.0, 2.0] + 0.01 * rng.standard_normal(20)
    padded = np.insert(A, [0, 3, 6], 0.0, axis=1)
    for swaps in (False, True):
        c = certify(padded, y, [2, 6], swaps=swaps, time_limit=None)
        assert (c.status, c.proof) == ("optimal", "bound")


@pytest.mark.parametrize("swaps", [False, True])
@pytest.mark.parametrize("S", [[0, 1, 4], [0, 3], [0, 1, 2, 5]])
def test_a_dependent_support_is_told_in_one_sentence(S, swaps):
    """4 is a copy of 1, 3 is zero, 5 the sum of 0 and 1."""
    rng = np.random.default_rng(0)
    A = rng.standard_normal((9, 6))
    A[:, 3], A[:, 4], A[:, 5] = 0, 3 * A[:, 1], A[:, 0] + A[:, 1]
    y = rng.standard_normal(9)
    c = certify(A, y, S, swaps=swaps, time_limit=None)
    assert (c.status, c.proof, c.bound) == ("unknown", None, 0)
    assert str(c) == "not certified: fewer of these columns fit as well"
    assert c.residual_norm == pytest.approx(residual_norm(A, y, S))


def test_more_columns_than_rows():
    A = np.random.default_rng(0).standard_normal((3, 6))
    c = certify(A, np.ones(3), range(4), swaps=True)
    assert c.status == "unknown"
    assert "fewer of these columns" in str(c)


def test_wrong_columns_are_refused():
    A, y = np.eye(3), np.ones(3)
    with pytest.raises(ValueError, match="solution names column 3, but A has columns 0 to 2"):
        certify(A, y, [0, 3])
    with pytest.raises(ValueError, match="solution names column -1"):
        certify(A, y, [-1])
    with pytest.raises(TypeError, match=r"solution must list column numbers \(integers\)"):
        certify(A, y, [0.5])
    with pytest.raises(TypeError, match=r"solution must list column numbers \(integers\)"):
        certify(A, y, [True, False, True])
    with pytest.raises(ValueError, match="time_limit must be at least 0"):
        certify(A, y, [0], time_limit=-1)


def test_order_and_repeats_do_not_matter():
    y = [3.0, 2.0, 0.1]
    assert certify(np.eye(3), y, [1, 0, 1]) == certify(np.eye(3), y, np.array([0, 1]))


# --- what it says ---------------------------------------------------------------------------------


def test_it_reads_well():
    y = [5.0, 4.0, 1.0, 0.5]
    names = ["age", "sex", "bmi", "bp"]
    best_two = certify(np.eye(4), y, [0, 1], swaps=True)
    assert best_two.sentence() == str(best_two) == "certified best subset of 2"
    beaten = certify(np.eye(4), y, [0, 3], swaps=True)
    assert str(beaten) == "not the best subset of 2: 1 in place of 3 fits better"
    assert beaten.sentence(names) == "not the best subset of 2: sex in place of bp fits better"
    far = certify(np.eye(4), y, [2, 3], time_limit=None)
    assert far.sentence(names) == (
        "not the best subset of 2: age, sex in place of bmi, bp fits best"
    )
    lines = repr(beaten).splitlines()
    assert lines[0] == f"Certificate: {beaten}"
    assert all(len(line) < 100 for line in lines)
    assert any("residual" in line for line in lines)


def test_what_is_open_is_told():
    rng = np.random.default_rng(0)
    A = nearly_orthonormal(rng, 10, 8, 0.1)
    y = A[:, [0, 1]] @ [3.0, 1.0]
    bound = certify(A, y, [0, 1]).bound
    noise = np.linalg.qr(np.column_stack([A, rng.standard_normal(10)]))[0][:, 8]
    c = certify(A, y + 2 * bound * noise, [0, 1])
    assert str(c) == "not certified: residual is 2× the bound"
    assert c.margin == pytest.approx(0.5)
    assert f"certain below {c.bound:.4g}" in repr(c)
    assert f"singular value  at least {c.singular_value:.4g} with {c.exchanged}" in repr(c)
    searched = certify(A, y + 2 * bound * noise, [0, 1], time_limit=None)
    assert str(searched) == "certified best subset of 2 (every other was ruled out)"
    wide = rng.standard_normal((4, 12))
    blind = certify(wide, wide[:, :2] @ [1.0, 1.0] + 0.1, [0, 1])
    assert str(blind).startswith(
        "not certified: the bounds can't rule out other columns in place of these"
    )


def test_no_better_exchange_is_told():
    rng = np.random.default_rng(1)
    A, y = rng.standard_normal((8, 12)), rng.standard_normal(8)
    c = sw.best_subset(A, y, sparsity=3).certificate(A, y, swaps=True, time_limit=0)
    assert c.status == "unknown"
    assert c.swap_optimal
    assert str(c).endswith("; no exchange of one column for another fits better")


# --- the same for every scale, storage and algorithm ----------------------------------------------


def same(ours, theirs, scale=1.0, rtol=1e-8):
    """Whether two certificates differ by the unit of y alone."""
    for name in ("status", "columns", "proof", "better", "swap_optimal", "exchanged", "source"):
        assert getattr(ours, name) == getattr(theirs, name), name
    for name in ("residual_norm", "bound", "min_abs"):
        assert getattr(ours, name) == pytest.approx(scale * getattr(theirs, name), rel=rtol), name
    assert ours.singular_value == pytest.approx(theirs.singular_value, rel=rtol)
    assert (ours.swap is None) == (theirs.swap is None)
    if ours.swap is not None:
        assert ours.swap[:2] == theirs.swap[:2]
        assert ours.swap.fall == pytest.approx(scale**2 * theirs.swap.fall, rel=rtol)
    return True


@pytest.mark.parametrize("S", [[2, 9, 15, 20], [2, 9, 15, 21], [0, 1]])
@pytest.mark.parametrize("swaps", [False, True])
def test_scales_change_the_units_alone(S, swaps):
    rng = np.random.default_rng(0)
    plain = certify(TALL.A, TALL.y, S, swaps=swaps)
    for scale, spread in ((1.0, 3), (1e-100, 100), (1e100, 0)):
        A = TALL.A * 10.0 ** rng.uniform(-spread, spread, TALL.A.shape[1])
        A = A * rng.choice([-1, 1], A.shape[1])
        assert same(certify(A, scale * TALL.y, S, swaps=swaps), plain, scale)


@pytest.mark.parametrize("S", [[2, 9, 15, 20], [2, 9, 15, 21]])
def test_every_storage_gives_the_same(store, S):
    plain = certify(TALL.A, TALL.y, S, swaps=True)
    stored = certify(store(TALL.A), TALL.y, S, swaps=True)
    low = store.eps > 1e-10
    if low:  # the small residual of the planted problem is rounded, too
        assert stored.residual_norm == pytest.approx(plain.residual_norm, rel=1e-2, abs=1e-5)
        assert (stored.status, stored.better) == (plain.status, plain.better)
        assert stored.bound == pytest.approx(plain.bound, rel=1e-4)
    else:
        assert same(stored, plain, rtol=1e-6)


def test_every_storage_is_there():
    assert len(STORAGES) > 20


@pytest.mark.parametrize("p", KNOWN, ids=lambda p: p.name)
@pytest.mark.parametrize("name", [*WORDS, "best_subset"])
def test_every_algorithm_can_be_certified(name, p):
    call = words(name, p) if name in WORDS else {"sparsity": p.sparsity}
    if name == "best_subset" and p.A.shape[1] > 30:
        call["time_limit"] = 0.0
    solution = getattr(sw, name)(p.A, p.y, **call)
    c = solution.certificate(p.A, p.y, swaps=True, time_limit=0)
    assert isinstance(c, Certificate)
    assert c == certify(p.A, p.y, solution, swaps=True)
    assert c.columns == tuple(solution.support)
    if solution.least_squares:
        assert c.residual_norm == pytest.approx(solution.residual_norm, rel=1e-6, abs=1e-12)
    if c.columns == p.support and p.name != "wide":
        assert c.status == "optimal"
