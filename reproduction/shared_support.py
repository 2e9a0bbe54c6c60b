"""Several targets with one support: how recovery rises with their number.

The setting of Cotter et al. (2005) and of Wipf and Rao (2007): n = 25, m = 50, normal columns
(here of unit norm) and normal coefficients, which no target has in common with another; all that is
shared is where they are. With one target OMP and SBL give up early; with several, columns that
explain a little of each stand out, and M-SBL bears nearly as many as there are rows.
"""

from __future__ import annotations

from typing import Any

from reproduction.declaration import Contender, Experiment
from reproduction.paper import OMP, RMP

M_SBL = Contender("M-SBL", "sbl", {"sigma": "delta"})

SHARED = Experiment(
    "shared-support",
    "Recovery of a shared support, n = 25, m = 50",
    {
        "n": (25,),
        "m": (50,),
        "k": tuple(range(2, 25, 2)),
        "targets": (1, 2, 4, 8),
        "noise": (1e-3,),
    },
    (OMP, RMP, M_SBL),
    realizations=256,
    signal="normal",
    kind="shared_support",
)

EXPERIMENTS = {SHARED.name: SHARED}
"""By name."""

QUICK: dict[str, dict[str, Any]] = {
    SHARED.name: {"realizations": 8, "grid": {**SHARED.grid, "k": (4, 8, 12, 16, 20)}}
}
"""What is smaller in a quick look."""
