"""Beyond the paper: `solve`, told nothing, beside the paper's nine and other packages.

The draws are those of `paper`, where it has them, so that all see the same problems, and the
paper's nine come out as in its tables. They are told the noise: δ, as there. Who is told nothing is
called as a new user would call it; what they set to zero they did not choose. Peers are tried once
more in their favour: ARDRegression and LassoCV with coefficients above one half only (all true ones
are ±1), the others with leave to choose up to n/2 columns, which by default they don't have.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from reproduction.declaration import Contender, Experiment, Number
from reproduction.paper import (
    ALL,
    BP_ARD,
    FR,
    PHASE,
    RMP,
    RMP0,
    TABLE_1,
    TABLE_2,
)

SLOW = 128
"""Realisations of peers that take a tenth of a second or more each: 1,024 would take hours."""

SOLVE = Contender("solve", "solve")
RMP_INFERRED = Contender("rmp (σ inferred)", "rmp", {"price": "log m"})
SBL_INFERRED = Contender("sbl (σ inferred)", "sbl", {"updates": "mackay", "price": "log m"})
STEPWISE = Contender("stepwise (RIC)", "stepwise", {"criterion": "ric"})

ARD = Contender("ARDRegression", "sklearn.ARDRegression", most=SLOW)
LASSO = Contender("LassoCV", "sklearn.LassoCV", most=SLOW)
OMP_CV = Contender("OMP CV", "sklearn.OrthogonalMatchingPursuitCV")
ABESS = Contender("abess", "abess.LinearRegression")

OMP_CV_WIDE = replace(OMP_CV, label="OMP CV (up to n/2)", parameters={"most": "0.5*n"})
ABESS_WIDE = replace(ABESS, label="abess (up to n/2)", parameters={"most": "0.5*n"})
ARD_LARGE = replace(ARD, label="ARDRegression (above ½)", threshold=0.5)
LASSO_LARGE = replace(LASSO, label="LassoCV (above ½)", threshold=0.5)

GROUPS: dict[str, tuple[Contender, ...]] = {
    "nothing": (SOLVE, RMP_INFERRED, SBL_INFERRED, STEPWISE),
    "nothing (other packages)": (ARD, LASSO, OMP_CV, ABESS),
    "a little (other packages)": (ARD_LARGE, LASSO_LARGE, OMP_CV_WIDE, ABESS_WIDE),
    "the noise (paper)": ALL,
}
"""Contenders by what they are told besides A and y."""

EVERYBODY = tuple(one for group in GROUPS.values() for one in group)
TOLD_NOTHING = GROUPS["nothing"] + GROUPS["nothing (other packages)"]

UNCORRELATED = replace(
    TABLE_1,
    name="beyond-table1",
    title="Table 1 and beyond: uncorrelated features",
    grid={**TABLE_1.grid, "k": (12, 16, 20, 24, 28)},
    contenders=EVERYBODY,
    kind="beyond",
    draws=TABLE_1.name,
)

CORRELATED = replace(
    TABLE_2,
    name="beyond-table2",
    title="Table 2 and beyond: correlated features",
    contenders=EVERYBODY,
    kind="beyond",
    draws=TABLE_2.name,
)

BETTER_TOLD: dict[str, dict[str, Any]] = {
    "residual": {"residual": "noise"},
    # σ √(2 log m): what the best of m columns explains of noise.
    "delta": {"delta": "0.39*noise"},
    # Of a row, ‖ε‖/√n; what keeps noise out is then the price.
    "sigma": {"sigma": "0.125*noise", "price": "log m"},
}
"""What serves the paper's algorithms better than δ = 2‖ε‖ where there is more noise, at 64×128.

Twice the noise is then as large as what a true feature explains.
"""


def better_told(contender: Contender) -> Contender:
    """An algorithm of the paper with a tolerance of its own."""
    parameters = dict(contender.parameters)
    for name in contender.parameters:
        parameters |= BETTER_TOLD.get(name, {})
    return replace(contender, parameters=parameters)


NOISY = replace(
    UNCORRELATED,
    name="beyond-noisy",
    title="More noise: uncorrelated features, k = 16",
    grid={"n": (64,), "m": (128,), "k": (16,), "noise": (0.1, 0.4, 1.0)},
    contenders=tuple(better_told(one) if one in ALL else one for one in EVERYBODY),
    draws="",
)

PURE_NOISE = Experiment(
    "beyond-noise",
    "Pure noise: false features",
    {"n": (64, 200), "m": (20, 128, 600), "k": (0,), "noise": (1.0,)},
    TOLD_NOTHING,
    realizations=512,
    kind="false_features",
)

TRANSITION = replace(
    PHASE,
    name="beyond-phase",
    title="Fig. 2 and beyond: recovery by n/m and k/n, m = 128",
    contenders=(SOLVE, BP_ARD, FR, RMP0, RMP),
    realizations=64,
    kind="beyond_phase",
    draws=PHASE.name,
)

EXPERIMENTS = {one.name: one for one in (UNCORRELATED, CORRELATED, NOISY, PURE_NOISE, TRANSITION)}
"""All of them by name."""

QUICK: dict[str, dict[str, Any]] = {
    UNCORRELATED.name: {"realizations": 6},
    CORRELATED.name: {"realizations": 6},
    NOISY.name: {"realizations": 6},
    PURE_NOISE.name: {"realizations": 6, "grid": {**PURE_NOISE.grid, "m": (20, 128)}},
    TRANSITION.name: {
        "realizations": 4,
        "grid": {**PHASE.grid, "sampling": (0.1, 0.5, 0.9), "sparsity": (0.1, 0.2, 0.3, 0.4, 0.5)},
    },
}
"""What is smaller in a quick look."""

RATES: dict[str, dict[Number, float]] = {
    UNCORRELATED.name: {16: 0.98, 20: 0.96, 24: 0.90, 28: 0.60},
    CORRELATED.name: {5: 0.97},
    NOISY.name: {0.4: 0.95},
}
"""The least share of supports that `solve` is to find, by experiment and the axis that varies."""

FALSE_FEATURES: dict[tuple[int, int], float] = {(64, 128): 0.35, (200, 20): 0.35, (200, 600): 0.35}
"""The most false features a fit, by rows and columns of pure noise."""
