"""Contenders of other packages: called as a new user would call them, or left out with a reason."""

import pickle
import warnings
from dataclasses import replace

import numpy as np
import pytest
from sklearn.linear_model import ARDRegression, LassoCV, OrthogonalMatchingPursuitCV

from reproduction import peers
from reproduction.declaration import Contender
from reproduction.generators import draw, generator
from reproduction.peers import PEERS, Peer, absent, competitor
from reproduction.run import attended
from reproduction.tasks import perform, recovery
from sparsewise import ALGORITHMS
from sparsewise.errors import InputError
from tests.reproduction.small import OMP, small

NOWHERE = Peer("no_such_package", lambda A, y: y, brought_by="sparsewise[bench]")
MISSING = Contender("nowhere", "nowhere.Regression")


@pytest.fixture
def nowhere(monkeypatch):
    monkeypatch.setitem(PEERS, MISSING.algorithm, NOWHERE)


def problem(n=24, m=32, k=3, seed=0):
    experiment = small(grid={"n": (n,), "m": (m,), "k": (k,), "noise": (5e-3,)})
    return draw(experiment, experiment.cells()[0], generator(experiment.cells()[0], 0, seed))


@pytest.mark.parametrize(
    ("name", "estimator"),
    [
        ("sklearn.ARDRegression", ARDRegression(fit_intercept=False)),
        ("sklearn.LassoCV", LassoCV(fit_intercept=False)),
        ("sklearn.OrthogonalMatchingPursuitCV", OrthogonalMatchingPursuitCV(fit_intercept=False)),
    ],
)
def test_scikit_learn_is_as_it_comes(name, estimator):
    A, y, _ = problem()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = estimator.fit(A, y).coef_
    # Warnings are errors here: what has not converged is not told.
    np.testing.assert_array_equal(PEERS[name](A, y).coef, expected)


def test_matching_pursuit_may_choose_more_than_it_does_by_default():
    A, y, x = problem(n=60, m=64, k=8)
    cross_validated = PEERS["sklearn.OrthogonalMatchingPursuitCV"]
    assert np.count_nonzero(cross_validated(A, y).coef) <= 6
    np.testing.assert_array_equal(
        np.flatnonzero(cross_validated(A, y, most=30.0).coef), np.flatnonzero(x)
    )
    assert np.count_nonzero(cross_validated(A[:, :4], y, most=30.0).coef) <= 4


def test_abess_finds_an_easy_support_whatever_the_units():
    pytest.importorskip("abess")
    A, y, x = problem(n=60, m=40)
    for scale in (1e-6, 1.0, 1e6):
        coef = PEERS["abess.LinearRegression"](A, scale * y).coef
        np.testing.assert_array_equal(np.flatnonzero(coef), np.flatnonzero(x))
        np.testing.assert_allclose(coef / scale, x, atol=0.01)
    assert np.count_nonzero(PEERS["abess.LinearRegression"](A, y, most=2.0).coef) <= 2
    np.testing.assert_array_equal(PEERS["abess.LinearRegression"](A, 0 * y).coef, 0 * x)


def test_a_peer_takes_part_like_an_algorithm():
    lasso = Contender("LassoCV", "sklearn.LassoCV", threshold=0.5)
    unit = next(small(contenders=[lasso], realizations=2).units())
    values = recovery(unit, 0)
    for i in range(2):
        A, y, x = draw(unit.experiment, unit.cell, generator(unit.cell, i, 0))
        coef = LassoCV(fit_intercept=False).fit(A, y).coef_
        assert values["size"][i] == np.count_nonzero(np.abs(coef) > 0.5)
        assert values["error"][i] == pytest.approx(np.linalg.norm(coef - x) / np.linalg.norm(x))


def test_names_are_those_of_algorithms_or_peers():
    assert competitor("omp") is ALGORITHMS["omp"]
    assert competitor("sklearn.LassoCV") is PEERS["sklearn.LassoCV"]
    assert not set(PEERS) & set(ALGORITHMS)
    [unit] = list(small(contenders=[Contender("none", "none")], grid={
        "n": (6,), "m": (8,), "k": (1,), "noise": (0.1,)}).units())  # fmt: skip
    assert perform(unit, 0)["error"] == "KeyError: 'none'"


def test_peers_can_be_sent_to_other_processes():
    assert pickle.loads(pickle.dumps(PEERS)) == PEERS


# --- what is missing ------------------------------------------------------------------------------


def test_who_is_missing_is_left_out_with_the_reason(nowhere):
    reason = (
        "nowhere is left out, because the package no_such_package is missing: "
        "pip install 'sparsewise[bench]' brings it"
    )
    assert absent(MISSING) == reason
    assert absent(OMP) == absent(Contender("LassoCV", "sklearn.LassoCV")) == ""
    both, only = small(contenders=[OMP, MISSING]), small("other", [MISSING])
    wanted, reasons = attended([both, only])
    assert wanted == [replace(both, contenders=(OMP,))]
    assert reasons == [reason]
    assert attended([small()]) == ([small()], [])


def test_nobody_is_left(nowhere):
    with pytest.raises(InputError, match=r"^nowhere is left out, because the package"):
        attended([small(contenders=[MISSING])])


def test_every_package_is_one_that_an_extra_or_we_ourselves_bring():
    for peer in peers.PEERS.values():
        brought = {"sklearn": "sparsewise", "abess": "sparsewise[bench]"}
        assert peer.brought_by == brought[peer.package]
