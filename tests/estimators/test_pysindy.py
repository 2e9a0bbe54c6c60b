"""PySINDy finds the Lorenz equations with these estimators as its optimisers."""

import warnings

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from sparsewise import BasisPursuitRegressor, SparseBayesRegressor

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # what others' imports warn of is theirs
    import pysindy

EQUATIONS = (
    {"x": -10.0, "y": 10.0},
    {"x": 28.0, "y": -1.0, "x z": -1.0},
    {"z": -8 / 3, "x y": 1.0},
)


def flow(_, state):
    x, y, z = state
    return [10 * (y - x), x * (28 - z) - y, x * y - 8 / 3 * z]


@pytest.fixture(scope="module")
def orbit():
    times = np.arange(0, 10, 0.002)
    solution = solve_ivp(flow, (0, 10), [-8, 8, 27], t_eval=times, rtol=1e-10, atol=1e-10)
    return times, solution.y.T


def identified(optimizer, orbit, noise, degree=3, **words):
    """The equations found from noisy positions alone, as one dictionary for each."""
    times, states = orbit
    noisy = states + noise * np.random.default_rng(0).standard_normal(states.shape)
    model = pysindy.SINDy(
        optimizer=pysindy.WrappedOptimizer(optimizer, **words),
        feature_library=pysindy.PolynomialLibrary(degree=degree),
        differentiation_method=pysindy.SmoothedFiniteDifference(),
    )
    model.fit(noisy, t=times, feature_names=["x", "y", "z"])
    names = model.get_feature_names()
    return [
        {names[j]: row[j] for j in np.flatnonzero(row)} for row in np.asarray(model.coefficients())
    ]


def assert_lorenz(found, rel):
    for equation, expected in zip(found, EQUATIONS, strict=True):
        assert equation.keys() == expected.keys()
        assert equation == pytest.approx(expected, rel=rel)


@pytest.mark.parametrize("noise", [0.01, 0.1])
@pytest.mark.parametrize(
    "optimizer",
    [
        # As PySINDy wants it: its library has a column of ones, which is a feature like another.
        SparseBayesRegressor(fit_intercept=False),
        # That column is the intercept's, and is not chosen. PySINDy drops the intercept, which is
        # as it should be here: the equations have no constant.
        SparseBayesRegressor(),
        SparseBayesRegressor("fast_sbl"),
    ],
    ids=str,
)
def test_lorenz(optimizer, noise, orbit):
    """Out of 20 terms of up to the third degree the right seven, and no other."""
    assert_lorenz(identified(optimizer, orbit, noise), rel=0.05)


def test_posterior_means_as_they_are(orbit):
    """Without PySINDy's own refit of the terms found."""
    optimizer = SparseBayesRegressor(fit_intercept=False)
    assert_lorenz(identified(optimizer, orbit, 0.01, unbias=False), rel=0.01)


def test_lorenz_by_basis_pursuit(orbit):
    optimizer = BasisPursuitRegressor("ard", fit_intercept=False)
    assert_lorenz(identified(optimizer, orbit, 0.01), rel=0.01)


def test_a_constant_that_is_there(orbit):
    """Moved away from the origin, the equations have constants: without an intercept they show."""
    times, states = orbit
    moved = states + np.array([5.0, 0.0, 0.0])
    found = identified(SparseBayesRegressor(fit_intercept=False), (times, moved), 0.01, degree=2)
    assert found[0] == pytest.approx({"1": 50.0, "x": -10.0, "y": 10.0}, rel=0.01)


@pytest.mark.parametrize(
    ("start", "step"), [((-8, 8, 27), 0.002), ((3, 5, 18), 0.005), ((-14, -2, 35), 0.01)]
)
def test_lorenz_without_noise(start, step):
    """The errors of differences are smooth: dozens of 56 terms fit them, unless they are noise."""
    times = np.arange(0, 10, step)
    states = solve_ivp(flow, (0, 10), start, t_eval=times, rtol=1e-10, atol=1e-10).y.T
    derivatives = np.gradient(states, step, axis=0, edge_order=2)
    library = pysindy.PolynomialLibrary(degree=5).fit(states)
    terms = np.asarray(library.transform(states))
    names = library.get_feature_names(["x", "y", "z"])
    for derivative, expected in zip(derivatives.T, EQUATIONS, strict=True):
        model = SparseBayesRegressor(noise_floor=0.03).fit(terms, derivative)
        assert {names[j] for j in np.flatnonzero(model.coef_)} == expected.keys()
        assert "caution" not in str(model.summary())
    free = SparseBayesRegressor().fit(terms, derivatives[:, 0])
    assert np.count_nonzero(free.coef_) > 4
    assert "a noise floor of 3 % treats these" in " ".join(str(free.summary()).split())
