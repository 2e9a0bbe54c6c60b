"""One prepared design serves many threads at once: the answers of one after the other."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import numpy as np
import pytest
import scipy.sparse as sparse
from scipy.sparse.linalg import aslinearoperator

from sparsewise import ALGORITHMS, as_design
from sparsewise.design import Centred, Weighted
from sparsewise.design.kernel_matrix import KernelDesign
from sparsewise.estimators.kernel_functions import Stationary
from tests.problems import normal
from tests.storages import counts, strided

N, M = 60, 40
LARGE = 1 << 17  # entries: too many to be looked at as a whole


def table(n=N, m=M):
    rng = np.random.default_rng(31)
    return normal(rng, n, m) * (rng.random((n, m)) < 0.6) + 0.0


def kernel_matrix():
    points = np.sort(np.random.default_rng(32).uniform(0, 20, N))[:, None]
    return KernelDesign(Stationary("matern12", 0.5), points, points[:M])


DESIGNS = {
    "C order": lambda: as_design(np.ascontiguousarray(table())),
    "Fortran order": lambda: as_design(np.asfortranarray(table())),
    "strided": lambda: as_design(strided(table())),
    "large": lambda: as_design(table(N, LARGE // N)),
    "csr_array": lambda: as_design(sparse.csr_array(table())),
    "csc_array": lambda: as_design(sparse.csc_array(table())),
    "operator": lambda: as_design(aslinearoperator(table())),
    "kernel matrix": kernel_matrix,
    "weighted": lambda: Weighted(as_design(table()), np.sqrt(counts(N))),
    "weighted csc_array": lambda: Weighted(as_design(sparse.csc_array(table())), counts(N)),
    "centred": lambda: Centred(as_design(table()), counts(N)),
    "centred csr_array": lambda: Centred(as_design(sparse.csr_array(table()))),
    "centred operator": lambda: Centred(as_design(aslinearoperator(table()))),
    "centred kernel matrix": lambda: Centred(kernel_matrix()),
}

PARAMETERS = {
    "omp": {"sparsity": 6},
    "forward": {"sparsity": 6},
    "rmp0": {"delta": 0.5},
    "srr": {"sparsity": 4},
    "rmp": {"sigma": 0.3},
    "bpdn": {"residual": 2.0},
}


def solves(design):
    """Every algorithm on a few targets, real and complex, as functions without arguments."""
    n = design.shape[0]
    rng = np.random.default_rng(33)
    for number in range(3):
        y = design.columns(np.array([3, 8, 21])) @ [4.0, -3.0, 2.0 + number] + 0.1 * normal(rng, n)
        for name, parameters in PARAMETERS.items():
            yield lambda y=y, name=name, more=parameters: ALGORITHMS[name](design, y, **more)
        yield lambda y=y: ALGORITHMS["forward"](design, y * (1 + 1j), sparsity=3)


def at_once(functions, threads=8):
    """The values of functions, called from several threads that begin together."""
    ready = Barrier(threads)

    def share(first):
        ready.wait()
        return [function() for function in functions[first::threads]]

    with ThreadPoolExecutor(threads) as pool:
        shares = list(pool.map(share, range(threads)))
    return [shares[i % threads][i // threads] for i in range(len(functions))]


def same(one, other):
    np.testing.assert_array_equal(one.support, other.support)
    np.testing.assert_array_equal(one.coef, other.coef)
    assert one.stop is other.stop
    assert len(one.path) == len(other.path)


def prepare(design):
    design.norms()
    design.in_rough_units().norms()


@pytest.mark.parametrize("name", DESIGNS)
def test_a_prepared_design(name):
    alone, shared = DESIGNS[name](), DESIGNS[name]()
    prepare(alone)
    expected = [solve() for solve in solves(alone)]
    assert sum(solution.support.size > 1 for solution in expected) > len(expected) / 2
    prepare(shared)
    for one, other in zip(at_once(list(solves(shared))), expected, strict=True):
        same(one, other)
        assert one.n_passes == other.n_passes


@pytest.mark.parametrize("name", DESIGNS)
def test_a_design_that_nobody_has_measured(name):
    """Several threads may measure it: that costs passes, and changes nothing else."""
    expected = [solve() for solve in solves(DESIGNS[name]())]
    for one, other in zip(at_once(list(solves(DESIGNS[name]()))), expected, strict=True):
        same(one, other)
