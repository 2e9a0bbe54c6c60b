"""Recovery rates against Tables 1 and 2 of the paper, on fewer realisations.

Setting: n = 64, m = 128, ±1 weights, unit columns, δ = 10⁻², ‖ε‖ = δ/2; OMP and Forward Regression
stop at ‖r‖ ≤ δ; σ = δ for RMP_σ and Fast SBL, whose δ_L = 10⁻² refers to twice the log evidence.
The paper's rates come from 1,024 realisations and are rounded to two digits.
"""

import numpy as np
import pytest

from sparsewise import fast_sbl, foba, forward, omp, rmp, rmp0

DELTA = 1e-2
TRIALS = 500
BAYES_TRIALS = 200

ALGORITHMS = {
    "OMP": lambda A, y: omp(A, y, residual=DELTA),
    "FR": lambda A, y: forward(A, y, residual=DELTA),
    "FoBa": lambda A, y: foba(A, y, delta=DELTA),
    "RMP0": lambda A, y: rmp0(A, y, delta=DELTA, max_outer=1),
    "RMP0+": lambda A, y: rmp0(A, y, delta=DELTA),
}

BAYES = {
    "FSBL": lambda A, y: fast_sbl(A, y, sigma=DELTA, min_increase=5e-3),
    "RMP": lambda A, y: rmp(A, y, sigma=DELTA, min_increase=5e-3),
}

PAPER = {
    ("uncorrelated", 12): {"OMP": 0.53, "FR": 0.54, "FoBa": 0.99, "RMP0": 0.99, "RMP0+": 0.99},
    ("uncorrelated", 16): {"OMP": 0.15, "FR": 0.14, "FoBa": 0.82, "RMP0": 0.80, "RMP0+": 0.80},
    ("uncorrelated", 20): {"OMP": 0.02, "FR": 0.01, "FoBa": 0.31, "RMP0": 0.31, "RMP0+": 0.31},
    ("correlated", 2): {"OMP": 0.00, "FR": 0.04, "FoBa": 0.71, "RMP0": 0.72, "RMP0+": 0.72},
    ("correlated", 4): {"OMP": 0.00, "FR": 0.00, "FoBa": 0.28, "RMP0": 0.28, "RMP0+": 0.32},
}

PAPER_BAYES = {
    ("uncorrelated", 12): {"FSBL": 0.99, "RMP": 0.99},
    ("uncorrelated", 16): {"FSBL": 0.80, "RMP": 0.81},
    ("uncorrelated", 20): {"FSBL": 0.31, "RMP": 0.31},
    ("correlated", 2): {"FSBL": 0.76, "RMP": 0.81},
    ("correlated", 3): {"FSBL": 0.54, "RMP": 0.58},
    ("correlated", 4): {"FSBL": 0.38, "RMP": 0.45},
    ("correlated", 5): {"FSBL": 0.26, "RMP": 0.30},
}


def dictionary(rng, kind):
    A = rng.standard_normal((64, 128))
    if kind == "correlated":
        A = (rng.standard_normal((64, 64)) / np.arange(1, 65) ** 2) @ A
    return A / np.linalg.norm(A, axis=0)


def trial(rng, kind, k):
    A = dictionary(rng, kind)
    support = np.sort(rng.choice(128, k, replace=False))
    noise = rng.standard_normal(64)
    y = A[:, support] @ rng.choice([-1.0, 1.0], k) + noise * (DELTA / 2 / np.linalg.norm(noise))
    return A, y, support


def compare(algorithms, trials, kind, k, paper):
    rng = np.random.default_rng(2021)
    found = dict.fromkeys(algorithms, 0)
    for _ in range(trials):
        A, y, support = trial(rng, kind, k)
        for name, solve in algorithms.items():
            found[name] += np.array_equal(solve(A, y).support, support)
    for name, rate in paper.items():
        # Three standard errors of ours and of the paper's together, and its rounding.
        spread = 3 * np.sqrt(max(rate * (1 - rate), 0.01) * (1 / trials + 1 / 1024)) + 0.005
        assert abs(found[name] / trials - rate) <= spread, (name, found[name] / trials, rate)


@pytest.mark.parametrize(("kind", "k"), PAPER, ids=str)
def test_recovery_rates(kind, k):
    compare(ALGORITHMS, TRIALS, kind, k, PAPER[kind, k])


@pytest.mark.parametrize(("kind", "k"), PAPER_BAYES, ids=str)
def test_recovery_rates_of_sparse_bayesian_learning(kind, k):
    compare(BAYES, BAYES_TRIALS, kind, k, PAPER_BAYES[kind, k])
