"""The posterior over models by enumeration: every subset, every d², least squares from scratch."""

import math
from itertools import combinations

import numpy as np
from scipy import special


def enumerate_models(A, Y, beta, d2, log_prior, sigma=None, targets=1.0, include=()):
    """Probability of every subset of columns, and the mean of the coefficients.

    Columns of A have norm one, and so has Y, one target a row.
    """
    n, m = A.shape
    half = (2 if np.iscomplexobj(A) else 1) * targets / 2
    free = m - len(include)
    entries = []
    for k in range(m + 1):
        for S in combinations(range(m), k):
            if not set(include) <= set(S):
                continue
            size = k - len(include)
            prior = special.betaln(size + 1, free - size + beta) - special.betaln(1, beta)
            B = A[:, S]
            for d, log_d in zip(d2, log_prior, strict=True):
                C = np.eye(n) + B @ B.conj().T / d
                loss = float(sum((y.conj() @ np.linalg.solve(C, y)).real for y in Y))
                fit = n * math.log(loss) if sigma is None else loss / sigma**2
                log_det = np.linalg.slogdet(C)[1]
                x = np.linalg.solve(B.conj().T @ B + d * np.eye(k), B.conj().T @ Y.T)
                entries.append((S, prior + log_d - half * (log_det + fit), x))
    top = max(value for _, value, _ in entries)
    total = sum(math.exp(value - top) for _, value, _ in entries)
    shares, mean = {}, np.zeros((m, len(Y)), A.dtype)
    for S, value, x in entries:
        share = math.exp(value - top) / total
        shares[S] = shares.get(S, 0.0) + share
        mean[list(S)] += share * x
    return shares, mean


def inclusion(shares, m):
    """The probability of each column."""
    return np.array([sum(p for S, p in shares.items() if j in S) for j in range(m)])
