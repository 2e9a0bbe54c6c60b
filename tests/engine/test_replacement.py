"""Exchanges: never worse than where they began, nor than steps forward."""

import numpy as np
import pytest
from sklearn.datasets import make_classification

import sparsewise
from sparsewise import ALGORITHMS
from tests.problems import FAMILIES

EXCHANGES = ("srr", "ompr", "subspace_pursuit")


def classes():
    """Repeated and redundant columns, and classes to tell by them, about their means."""
    X, y = make_classification(
        n_samples=200,
        n_features=20,
        n_informative=10,
        n_repeated=5,
        n_classes=8,
        n_clusters_per_class=1,
        flip_y=0.0,
        class_sep=10,
        shuffle=False,
        random_state=0,
    )
    return X - X.mean(axis=0), y - y.mean()


@pytest.mark.parametrize("sparsity", range(2, 15))
def test_replacement_fits_as_well_as_steps_forward(sparsity):
    X, y = classes()
    forward = sparsewise.forward(X, y, sparsity=sparsity)
    srr = sparsewise.srr(X, y, sparsity=sparsity)
    assert srr.residual_norm <= forward.residual_norm * (1 + 1e-9)
    assert srr.check(X, y).ok


@pytest.mark.parametrize("family", ["tall", "wide", "correlated wide", "complex correlated"])
@pytest.mark.parametrize("name", EXCHANGES)
def test_never_worse_than_the_start(name, family):
    for seed in range(20):
        p = FAMILIES[family](seed)
        forward = sparsewise.forward(p.A, p.y, sparsity=p.sparsity)
        other = sparsewise.oblivious(p.A, p.y, sparsity=p.sparsity)
        for start in (forward, other):
            solution = ALGORITHMS[name](p.A, p.y, sparsity=p.sparsity, start=start.support)
            assert solution.residual_norm <= start.residual_norm * (1 + 1e-9)
        if name == "srr":
            plain = sparsewise.srr(p.A, p.y, sparsity=p.sparsity, include=[3], exclude=[1])
            start = sparsewise.forward(p.A, p.y, sparsity=p.sparsity, include=[3], exclude=[1])
            assert plain.residual_norm <= start.residual_norm * (1 + 1e-9)
            assert 3 in plain.support
            assert 1 not in plain.support


def test_the_start_is_met_exactly_among_columns_that_nearly_agree():
    """One order of the columns may be refused where another came in: undoing knows the model."""
    for seed in range(0, 120, 3):
        rng = np.random.default_rng(seed)
        n, m = int(rng.integers(12, 60)), int(rng.integers(6, 40))
        k = int(rng.integers(2, min(n, m)))
        A = rng.normal(size=(n, 1)) + 1e-6 * rng.normal(size=(n, m))
        y = rng.normal(size=n) + A[:, 0]
        forward = sparsewise.forward(A, y, sparsity=k)
        for name in EXCHANGES:
            solution = ALGORITHMS[name](A, y, sparsity=k, start=forward.support)
            allowed = forward.residual_norm * (1 + 1e-6) + 1e-9 * np.linalg.norm(y)
            assert solution.residual_norm <= allowed
