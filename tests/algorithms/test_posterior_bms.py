"""Inclusion probabilities of two small tables, beside R's BMS (tests/data/bms.R).

BMS has Zellner's g prior, N(0, g σ² (A_S*A_S)⁻¹) with g = n, `posterior` independent coefficients,
N(0, σ²/d²), with a prior on d: no choice of parameters makes them one. So the sum over all models
is written here once, for a marginal likelihood that is given: with that of BMS it gives what BMS
gives, with ours what `posterior` gives.
"""

import csv
from itertools import combinations

import numpy as np
import pytest
from scipy.special import betaln

import sparsewise as sw
from reproduction.generators import DATA
from sparsewise.criteria.base import Sample
from sparsewise.criteria.model_prior import log_posterior
from sparsewise.problem.problem import problem
from tests.data import HERE

TABLES = ("hald", "uscrime")


def read(name):
    table = np.loadtxt(DATA / f"{name}.csv", delimiter=",", skiprows=1)
    table -= table.mean(axis=0)
    return table[:, :-1] / np.linalg.norm(table[:, :-1], axis=0), table[:, -1]


def by_bms(name, prior):
    with (HERE / f"{name}_bms.csv").open() as file:
        return np.array([float(row[prior]) for row in csv.DictReader(file)])


def added_up(A, y, log_marginal, log_prior):
    """The probability of each column, by all models."""
    m = A.shape[1]
    y = y / np.linalg.norm(y)
    models = [S for k in range(m + 1) for S in combinations(range(m), k)]
    logs = np.empty(len(models))
    for i, S in enumerate(models):
        left, values, _ = np.linalg.svd(A[:, S], full_matrices=False)
        logs[i] = log_marginal(values**2, (left.T @ y) ** 2) + log_prior(len(S))
    weights = np.exp(logs - logs.max())
    inside = np.array([[j in S for j in range(m)] for S in models])
    return weights @ inside / weights.sum()


def zellner(n):
    """Of BMS: g = n, an intercept with a flat prior, so n - 1 rows are left."""

    def log_marginal(spectrum, shares):
        k = len(spectrum)
        return (n - 1 - k) / 2 * np.log1p(n) - (n - 1) / 2 * np.log1p(n * (1 - shares.sum()))

    return log_marginal


@pytest.mark.parametrize("name", TABLES)
def test_the_sum_is_that_of_bms_under_its_prior(name):
    A, y = read(name)
    n, m = A.shape
    for prior, log_prior in {
        "random": lambda k: betaln(1 + k, 1 + m - k),
        "fixed": lambda k: 0.0,
    }.items():
        found = added_up(A, y, zellner(n), log_prior)
        np.testing.assert_allclose(found, by_bms(name, prior), atol=1e-9)


@pytest.mark.parametrize("name", TABLES)
def test_the_sum_is_that_of_posterior_under_ours(name):
    A, y = read(name)
    m = A.shape[1]
    sample = Sample.of(problem(A, y))
    expected = added_up(
        A, y, lambda s, t: log_posterior(s, t, sample), lambda k: betaln(1 + k, m**0.5 + m - k)
    )
    proved = sw.posterior(A, y, max_models=1_000_000)
    assert proved.proved > 0.999
    assert (np.abs(proved.inclusion - expected) <= proved.inclusion_error + 1e-9).all()
    sampled = sw.posterior(A, y, max_models=0)
    assert np.abs(sampled.inclusion - expected).max() < 0.03
