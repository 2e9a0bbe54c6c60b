"""Recovery rates against Tables 1 and 2 of the paper, on fewer realisations.

Setting: n = 64, m = 128, ±1 weights, unit columns, δ = 10⁻², ‖ε‖ = δ/2; OMP and Forward Regression
stop at ‖r‖ ≤ δ. The paper's rates come from 1,024 realisations and are rounded to two digits.
"""

import numpy as np
import pytest

from sparsewise import foba, forward, omp, rmp0

DELTA = 1e-2
TRIALS = 500

ALGORITHMS = {
    "OMP": lambda A, y: omp(A, y, residual=DELTA),
    "FR": lambda A, y: forward(A, y, residual=DELTA),
    "FoBa": lambda A, y: foba(A, y, delta=DELTA),
    "RMP0": lambda A, y: rmp0(A, y, delta=DELTA, max_outer=1),
    "RMP0+": lambda A, y: rmp0(A, y, delta=DELTA),
}

PAPER = {
    ("uncorrelated", 12): {"OMP": 0.53, "FR": 0.54, "FoBa": 0.99, "RMP0": 0.99, "RMP0+": 0.99},
    ("uncorrelated", 16): {"OMP": 0.15, "FR": 0.14, "FoBa": 0.82, "RMP0": 0.80, "RMP0+": 0.80},
    ("uncorrelated", 20): {"OMP": 0.02, "FR": 0.01, "FoBa": 0.31, "RMP0": 0.31, "RMP0+": 0.31},
    ("correlated", 2): {"OMP": 0.00, "FR": 0.04, "FoBa": 0.71, "RMP0": 0.72, "RMP0+": 0.72},
    ("correlated", 4): {"OMP": 0.00, "FR": 0.00, "FoBa": 0.28, "RMP0": 0.28, "RMP0+": 0.32},
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


@pytest.mark.parametrize(("kind", "k"), PAPER, ids=str)
def test_recovery_rates(kind, k):
    rng = np.random.default_rng(2021)
    found = dict.fromkeys(ALGORITHMS, 0)
    for _ in range(TRIALS):
        A, y, support = trial(rng, kind, k)
        for name, solve in ALGORITHMS.items():
            found[name] += np.array_equal(solve(A, y).support, support)
    for name, rate in PAPER[kind, k].items():
        # Three standard errors of ours and of the paper's together, and its rounding.
        spread = 3 * np.sqrt(max(rate * (1 - rate), 0.01) * (1 / TRIALS + 1 / 1024)) + 0.005
        assert abs(found[name] / TRIALS - rate) <= spread, (name, found[name] / TRIALS, rate)
