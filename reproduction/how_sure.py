"""How sure, measured: calibration of probabilities, credible sets, and anchors outside the project.

`inclusion` has tables of many kinds, drawn beforehand by rule, and asks of all columns of a stated
probability how many are true. `credible-sets` has columns that are correlated as neighbouring
genotypes are, beside SuSiE; `fine-mapping` SuSiE's own example data. `best-subset` has the 480
settings of Hastie, Tibshirani and Tibshirani (2020) beside their published results. `averaging` has
two small tables beside R's BMS. R's packages take part where they are installed.
"""

from __future__ import annotations

from typing import Any

from reproduction.beyond import SOLVE
from reproduction.declaration import Contender, Experiment

POSTERIOR = Contender("posterior", "posterior")
SUSIE = Contender("susieR", "R.susieR")

DESIGNS = ("gaussian", "neighbours", "blocks", "table_columns")
"""What ``design`` = 0, 1, 2, 3 means: keys of `reproduction.generators.FAMILIES`."""

INCLUSION = Experiment(
    "inclusion",
    "Calibration of inclusion probabilities",
    {
        "design": tuple(range(len(DESIGNS))),
        "n": (100, 300),
        "m": (30, 300),
        "k": (0, 1, 3, 10),
    },
    (POSTERIOR, SOLVE),
    realizations=24,
    task="inclusion",
    kind="inclusion",
)

SETS = Experiment(
    "credible-sets",
    "Credible sets on columns like neighbouring genotypes, n = 500",
    {"n": (500,), "m": (300, 1000), "rho": (0.97, 0.997), "k": (1, 2, 3, 4, 5)},
    (POSTERIOR, SUSIE),
    realizations=40,
    task="credible_sets",
    kind="credible_sets",
)

FINE_MAPPING = Experiment(
    "fine-mapping",
    "Credible sets on SuSiE's example data",
    {"region": (2, 3), "trait": (0, 1)},
    (POSTERIOR, SUSIE),
    realizations=1,
    task="fine_mapping",
    kind="fine_mapping",
)

SETTINGS = {1: ("low", 100, 10, 5), 2: ("medium", 500, 100, 5),
            3: ("high-5", 50, 1000, 5), 4: ("high-10", 100, 1000, 5)}  # fmt: skip
"""What ``setting`` means: its name, rows, columns, and how many coefficients are large.

Their published results of the last have five (models of five columns have an F₁ of 1), not ten.
"""

NOTHING_TOLD = (
    Contender("posterior (2000 samples a chain)", "posterior", {"max_iter": 2000}),
    Contender("solve", "solve"),
    Contender("LassoCV", "sklearn.LassoCV"),
)
"""With the training rows alone. Longer chains take up to half a minute for 1,000 columns."""

VALIDATED = (Contender("forward with ridge (validation rows)", "validated"),)

SUBSETS = Experiment(
    "best-subset",
    "The settings of Hastie, Tibshirani and Tibshirani",
    {
        "setting": tuple(SETTINGS),
        "beta": (1, 2, 3, 5),
        "rho": (0, 0.35, 0.7),
        "snr": (0.05, 0.09, 0.14, 0.25, 0.42, 0.71, 1.22, 2.07, 3.52, 6),
    },
    (*VALIDATED, *NOTHING_TOLD),
    realizations=10,
    task="best_subset",
    kind="best_subset",
)

TABLES = ("hald", "uscrime")
"""What ``table`` = 0, 1 means: files of reproduction/data."""

BMS = Contender("R's BMS (60000 steps)", "R.BMS")

AVERAGING = Experiment(
    "averaging",
    "Inclusion probabilities of Hald's cement and of UScrime beside R's BMS",
    {"table": tuple(range(len(TABLES)))},
    (
        POSTERIOR,
        Contender("posterior (proved)", "posterior", {"max_models": 1_000_000}),
        BMS,
    ),
    realizations=10,
    task="averaging",
    kind="averaging",
)

EXPERIMENTS = {one.name: one for one in (INCLUSION, SETS, FINE_MAPPING, SUBSETS, AVERAGING)}
"""All of them by name."""

QUICK: dict[str, dict[str, Any]] = {
    INCLUSION.name: {"realizations": 2, "grid": {**INCLUSION.grid, "n": (100,), "m": (30,)}},
    SETS.name: {"realizations": 1, "grid": {**SETS.grid, "m": (300,), "k": (1, 3)}},
    FINE_MAPPING.name: {"grid": {"region": (3,), "trait": (0,)}},
    SUBSETS.name: {
        "realizations": 1,
        "grid": {**SUBSETS.grid, "setting": (1, 2), "rho": (0.35,), "snr": (0.25, 2.07)},
    },
    AVERAGING.name: {"realizations": 1},
}
"""What is smaller in a quick look."""
