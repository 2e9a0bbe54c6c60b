"""Problems with known answers, families of random problems, and the words each algorithm takes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sparsewise.algorithms import ALGORITHMS, Family


@dataclass(frozen=True)
class Problem:
    """A design, a target, and tolerances that make sense for them."""

    name: str
    A: np.ndarray
    y: np.ndarray  # of shape (n,), or (n, q)
    sparsity: int
    delta: float
    support: tuple[int, ...] | None = None  # the known answer, where there is one

    @property
    def truth(self) -> list[int]:
        """The known support; an error where there is none."""
        assert self.support is not None
        return list(self.support)

    @property
    def size(self) -> float:
        """‖y‖: the unit of residuals; of several targets the root mean square."""
        return float(np.linalg.norm(self.y)) / self.y[0].size ** 0.5


def normal(rng: np.random.Generator, *shape: int, kind: type = float) -> np.ndarray:
    """Standard normal entries, real or complex."""
    real = rng.standard_normal(shape)
    return real + 1j * rng.standard_normal(shape) if kind is complex else real


def hilbert(n: int, m: int) -> np.ndarray:
    """1/(i + j + 1): columns that soon depend on each other, to working precision."""
    return np.asarray(1 / (np.arange(n)[:, None] + np.arange(m) + 1.0))


def unit_columns(A: np.ndarray) -> np.ndarray:
    return A / np.linalg.norm(A, axis=0)


def independent(A: np.ndarray, among: list[int] | None = None) -> list[int]:
    """The first columns of A that are well independent of those before them (Gram-Schmidt)."""
    chosen: list[int] = []
    basis = np.zeros((A.shape[0], 0), dtype=A.dtype)
    for j in range(A.shape[1]) if among is None else among:
        size = np.linalg.norm(A[:, j])
        q = A[:, j] / size if size > 0 else A[:, j]
        for _ in range(2 if chosen else 0):  # an empty product may raise stray floating-point flags
            q = q - basis @ (basis.conj().T @ q)
        if np.linalg.norm(q) > 1e-3:
            chosen.append(int(j))
            basis = np.column_stack([basis, q / np.linalg.norm(q)])
    return chosen


# --- problems with known answers -----------------------------------------------------------------


def planted(name: str, A: np.ndarray, support: list[int], coef: list, noise: float) -> Problem:
    """y = A x + noise, few large coefficients (per unit column): every algorithm finds them."""
    rng = np.random.default_rng(1000)
    kind = complex if np.iscomplexobj(A) else float
    e = normal(rng, A.shape[0], kind=kind)
    y = unit_columns(A)[:, support] @ np.array(coef) + noise * e / np.linalg.norm(e)
    return Problem(name, A, y, len(support), delta=0.1, support=tuple(support))


def known_problems() -> list[Problem]:
    """Small problems whose answer every algorithm of the contract finds."""
    rng = np.random.default_rng(7)
    orthonormal = np.linalg.qr(normal(rng, 20, 20))[0]
    tall = normal(rng, 150, 24)
    tall_complex = normal(rng, 80, 24, kind=complex)
    wide = normal(rng, 100, 160)
    scaled = normal(rng, 100, 24) * 10.0 ** rng.uniform(-3, 3, 24)
    return [
        planted("orthonormal", orthonormal, [3, 7, 12], [2.0, -1.0, 0.5], noise=0.0),
        planted("tall", tall, [2, 9, 15, 20], [2.0, -1.5, 1.8, -2.2], noise=1e-3),
        planted("tall complex", tall_complex, [1, 8, 21], [2.0, 1.5j, -1.2 + 1.2j], noise=1e-3),
        planted("wide", wide, [17, 64, 101], [3.0, -2.5, 2.8], noise=1e-3),
        planted("badly scaled", scaled, [0, 11, 23], [2.0, -1.5, 1.8], noise=1e-3),
    ]


KNOWN = known_problems()


# --- families of random problems -----------------------------------------------------------------


def noisy(name: str, A: np.ndarray, rng: np.random.Generator, sparsity: int) -> Problem:
    """A target with a few true columns and a good deal of noise: no fit is ever exact."""
    kind = complex if np.iscomplexobj(A) else float
    n, m = A.shape
    x = np.zeros(m, dtype=kind)
    x[rng.choice(m, size=sparsity, replace=False)] = normal(rng, sparsity, kind=kind)
    clean = A @ x
    e = normal(rng, n, kind=kind)
    y = clean + 0.3 * np.linalg.norm(clean) * e / np.linalg.norm(e)
    return Problem(name, A, y, sparsity, delta=0.12 * float(np.linalg.norm(y)))


def gaussian(seed: int, n: int, m: int, sparsity: int, kind: type = float) -> Problem:
    rng = np.random.default_rng([seed, n, m])
    return noisy(f"gaussian {n}x{m} #{seed}", normal(rng, n, m, kind=kind), rng, sparsity)


def correlated(seed: int, n: int, m: int, sparsity: int, kind: type = float) -> Problem:
    """U diag(1/p^2) V with unit columns: strongly coherent."""
    rng = np.random.default_rng([seed, n, m, 2])
    decay = 1 / np.arange(1, n + 1) ** 2
    A = (normal(rng, n, n, kind=kind) * decay) @ normal(rng, n, m, kind=kind)
    return noisy(f"correlated {n}x{m} #{seed}", unit_columns(A), rng, sparsity)


def orthonormal(seed: int, n: int = 16, sparsity: int = 5) -> Problem:
    rng = np.random.default_rng([seed, n, 3])
    return noisy(f"orthonormal #{seed}", np.linalg.qr(normal(rng, n, n))[0], rng, sparsity)


def duplicated(seed: int, n: int = 20, m: int = 24, sparsity: int = 5) -> Problem:
    """Copies, negated and rescaled copies, a zero and a constant column: ties everywhere."""
    rng = np.random.default_rng([seed, n, m, 4])
    half = normal(rng, n, m // 2)
    half[:, 0] = 1.0
    A = np.column_stack([half, half * rng.choice([1.0, -1.0, 3.0, -0.1], m // 2)])
    A = A[:, rng.permutation(A.shape[1])]
    A[:, seed % m] = 0.0
    return noisy(f"duplicates #{seed}", A, rng, sparsity)


def rank_deficient(seed: int, n: int = 20, m: int = 30, rank: int = 8, kind: type = float):
    """Rank below both sides; the last direction would tie all columns, so we stop short of it."""
    rng = np.random.default_rng([seed, n, m, 5])
    A = normal(rng, n, rank, kind=kind) @ normal(rng, rank, m, kind=kind)
    return noisy(f"rank deficient #{seed}", A, rng, rank - 2)


FAMILIES: dict[str, Callable[[int], Problem]] = {
    "tall": lambda seed: gaussian(seed, 40, 15, 5),
    "wide": lambda seed: gaussian(seed, 24, 48, 6),
    "square": lambda seed: gaussian(seed, 12, 12, 4),
    "correlated tall": lambda seed: correlated(seed, 24, 12, 5),
    "correlated wide": lambda seed: correlated(seed, 16, 40, 5),
    "orthonormal": orthonormal,
    "duplicates": duplicated,
    "rank deficient": rank_deficient,
    "complex tall": lambda seed: gaussian(seed, 30, 14, 5, kind=complex),
    "complex wide": lambda seed: gaussian(seed, 16, 40, 5, kind=complex),
    "complex correlated": lambda seed: correlated(seed, 16, 30, 4, kind=complex),
    "complex rank deficient": lambda seed: rank_deficient(seed, kind=complex),
}


# --- several targets -----------------------------------------------------------------------------


def multi_target(p: Problem, q: int) -> Problem:
    """The same columns with q targets that share a few of them, each in units of its own.

    What is known of p's target is known of these: where that is planted, so are they, and noise
    is a thousandth of them; else it is about a third, and no fit is ever exact.
    """
    rng = np.random.default_rng([q, *p.name.encode()])
    kind = complex if np.iscomplexobj(p.A) else float
    n, m = p.A.shape
    norms = np.linalg.norm(p.A, axis=0)
    support = p.support or tuple(rng.choice(m, size=p.sparsity, replace=False))
    X = normal(rng, len(support), q, kind=kind)
    if p.support:  # no coefficient is small
        X = X / np.abs(X) * rng.uniform(1.0, 2.0, X.shape)
    clean = (p.A / np.where(norms > 0, norms, 1.0))[:, support] @ X
    noise = 1e-3 if p.support else 0.3
    E = normal(rng, n, q, kind=kind)
    Y = clean + noise * np.linalg.norm(clean, axis=0) * unit_columns(E)
    Y = Y * 10.0 ** rng.uniform(-3, 3, q)
    shared = Problem(f"{p.name}, {q} targets", p.A, Y, p.sparsity, delta=0.0, support=p.support)
    return replace(shared, delta=0.12 * shared.size)


# --- the words of each algorithm -----------------------------------------------------------------

Words = dict[str, Any]


def start_for_elimination(p: Problem) -> Words:
    """Backward algorithms begin with all columns; where these are dependent, with some of them."""
    if p.support is not None:
        few = range(p.A.shape[0] // 3)
        return {"start": sorted({*p.support, *few})} if p.A.shape[1] > p.A.shape[0] else {}
    chosen = independent(p.A)
    return {} if len(chosen) == p.A.shape[1] else {"start": chosen}


def price(delta: float) -> Callable[[float, int], float]:
    """The criterion of RMP₀: each column must be worth δ²."""
    return lambda rss, size: rss + size * delta**2


#: One natural way to stop each algorithm: the words of a first call.
WORDS: dict[str, Callable[[Problem], Words]] = {
    "oblivious": lambda p: {"sparsity": p.sparsity},
    "mp": lambda p: {"sparsity": p.sparsity, "residual": p.delta},
    "omp": lambda p: {"sparsity": p.sparsity},
    "gomp": lambda p: {"sparsity": p.sparsity, "batch": 2},
    "forward": lambda p: {"sparsity": p.sparsity},
    "backward": lambda p: {"sparsity": p.sparsity} | start_for_elimination(p),
    "lace": lambda p: {"sparsity": p.sparsity} | start_for_elimination(p),
    "rmp0": lambda p: {"delta": p.delta},
    "foba": lambda p: {"delta": p.delta},
    "stepwise": lambda p: {"criterion": price(p.delta)},
    "srr": lambda p: {"sparsity": p.sparsity},
    "ompr": lambda p: {"sparsity": p.sparsity},
    "subspace_pursuit": lambda p: {"sparsity": p.sparsity},
    # A standard deviation of zero is none; the noise is then inferred.
    "rmp": lambda p: {"sigma": p.delta or None},
    "fast_sbl": lambda p: {"sigma": p.delta or None},
    # EM takes hundreds of updates; on the larger problems MacKay's few dozen do.
    "sbl": lambda p: {"sigma": p.delta or None, "updates": "em" if p.A.size < 10**4 else "mackay"},
    "solve": lambda p: {},
}

RECORDS = {name: ALGORITHMS[name] for name in WORDS}
BY_COLUMNS = list(WORDS)  # the contract of these tests; ℓ1 has its own
L1 = [name for name, record in ALGORITHMS.items() if record.family is Family.L1]
# A posterior mean in place of least squares.
BAYES = [name for name, record in RECORDS.items() if record.family is Family.BAYESIAN]
SEARCHES = [name for name, record in RECORDS.items() if record.family is Family.SEARCH]
# How they come to a model is their own choice: no reference takes the same steps.
BY_PROPERTY = ["sbl", *SEARCHES]
BY_DELTA = [name for name, record in RECORDS.items() if record.stopping == ("delta",)]
BY_CRITERION = [name for name, record in RECORDS.items() if record.takes("criterion")]
TAKES_START = [name for name, record in RECORDS.items() if record.takes("start")]
LEAST_SQUARES = [name for name, record in RECORDS.items() if record.least_squares]
HAS_SPARSITY = [name for name, record in RECORDS.items() if record.takes("sparsity")]
FIXED_SIZE = [name for name, record in RECORDS.items() if "sparsity" in record.required]
ELIMINATION = [name for name, record in RECORDS.items() if record.starts_full]
SEVERAL = [name for name, record in RECORDS.items() if record.multi_target]
FORWARD = ["omp", "gomp", "forward"]  # only ever grow, by least squares


def words(name: str, p: Problem) -> Words:
    """The stopping words of one call; an algorithm that is not listed here fails its tests."""
    return WORDS[name](p)


def as_complex(name: str, p: Problem) -> Words:
    """The words of the same steps once real data are typed as complex.

    The log evidence of a circular normal lacks the factor ½: its rises are twice as large.
    """
    call = words(name, p)
    if name not in BAYES:
        return call
    return call | {"min_increase": 2 * call.get("min_increase", 1e-6)}


def tall(p: Problem) -> bool:
    """Whether the columns leave some of the target unexplained."""
    return len(independent(p.A)) < p.A.shape[0]


def variants(name: str, p: Problem) -> dict[str, Words]:
    """Several calls of one algorithm: each stopping word, include, exclude, start and options."""
    base = words(name, p)
    norm = p.size
    usable = independent(p.A)
    last, first, other = usable[-1], usable[0], usable[len(usable) // 2]
    some = usable[1 : 1 + p.sparsity]
    calls = {
        "plain": base,
        "exclude": base | {"exclude": [first, last]},
        "include": base | {"include": [other]},
    }
    if name in ELIMINATION:
        whole = base.get("start", usable)
        kept = {key: value for key, value in base.items() if key == "start"}
        calls["exclude"] |= {"start": [j for j in whole if j not in (first, last)]}
        calls["start"] = base | {"start": usable[: p.sparsity + 3]}
        calls["delta"] = kept | {"delta": 2 * p.delta}
        calls["residual"] = kept | {"residual": 0.7 * norm}
        calls["all words"] = base | {"delta": 3 * p.delta, "residual": 0.8 * norm}
    elif name in TAKES_START:
        if name not in FIXED_SIZE or len(some) == p.sparsity:
            calls["start"] = base | {"start": some}
        calls["start and include"] = base | {"start": some[:1], "include": [other]}
    if name in (*FORWARD, "mp"):
        tolerance = {key: value for key, value in base.items() if key == "batch"}
        calls["residual"] = tolerance | {"residual": 0.5 * norm}
        calls["both"] = base | {"residual": 0.6 * norm}
    if RECORDS[name].family is Family.EXCHANGE:
        calls["residual"] = base | {"residual": 0.6 * norm}
        calls["one round"] = base | {"max_iter": 1}
    if name == "ompr":
        calls["half step"] = base | {"step": 0.5}
    if name == "mp":
        calls["few iterations"] = base | {"max_iter": 7}
    if name == "gomp":
        calls["batch of 3"] = base | {"batch": 3}
    if name == "forward":
        calls["delta"] = {"delta": p.delta}
    if name == "rmp0":
        calls["one round"] = base | {"max_outer": 1}
        calls["coarse"] = {"delta": 3 * p.delta}
    if name == "foba":
        calls["bold"] = base | {"nu": 0.9}
    if name == "stepwise":
        criteria = ["aicc", "ebic", "ric", *(["aic", "bic", "adjusted_r2"] if tall(p) else [])]
        calls |= {criterion: {"criterion": criterion} for criterion in criteria}
        calls["from all"] = {"criterion": "aicc", "start": usable}
        calls["ebic and include"] = {"criterion": "ebic", "include": [other], "start": some}
    if name in BAYES:
        calls["small sigma"] = base | {"sigma": p.delta / 4}
        calls["fine"] = base | {"min_increase": 1e-5}
        calls["price"] = base | {"price": 1.0}
        calls["price and include"] = base | {"price": 0.3, "include": [other, first]}
    if name == "sbl":
        calls |= {updates: base | {"updates": updates} for updates in ("mackay", "convex")}
    if name in ("rmp", "fast_sbl"):
        calls["few steps"] = base | {"max_iter": 3}
    if name == "rmp":
        calls["one round"] = base | {"max_outer": 1}
    return calls
