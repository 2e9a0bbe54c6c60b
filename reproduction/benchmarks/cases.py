"""What is measured and what is to be reached, as data."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

from reproduction.benchmarks import peers
from reproduction.benchmarks import peers_l1 as peers_l1  # which enters its contenders
from reproduction.benchmarks.answers import PEERS, Contender
from reproduction.benchmarks.ours import OURS
from reproduction.benchmarks.problems import (
    autoregressive,
    circular,
    decaying,
    diabetes,
    friedman,
    gaussian,
    loud,
    ripple,
    survey,
)

CONTENDERS: Mapping[str, Contender] = {**OURS, **PEERS}

# What tells whose answers are better: the squared residuals, the log evidence, how often the
# support behind the data was found, the squared error on test rows, what both minimise (within the
# same bound on the residual, if there is one), or the BIC.
Judged = Literal["residual", "evidence", "recovery", "error", "objective", "criterion"]

# What is measured: the ratio of the times, their difference, or the ratio of the peaks of memory.
Measured = Literal["time", "extra time", "memory"]

GREEDY = "Greedy pursuits"
BACK = "Dropping and exchanging columns"
BAYES = "Sparse Bayesian Learning"
L1 = "Basis pursuit and the lasso"
NOTHING = "Told nothing"
TABLES = "Estimators"


@dataclass(frozen=True)
class Case:
    """A problem and those who solve it.

    `make` makes it from ``seed=``, which is 0 for the clock. Where greedy choices often fail, one
    problem says little about whose answers are better: `problems` of them, from seeds 0, 1, …, are
    solved to compare those. Where the number of steps varies, one problem says little about time
    either: the first `on_clock` are timed. With `memory`, each contender also runs in a process of
    its own that watches the peak of its memory. Quick runs leave the `slow` contenders out.
    """

    name: str
    group: str
    title: str
    make: Callable[..., Any]
    short: str = ""  # for the figure
    problems: int = 1
    on_clock: int = 1
    rounds: int = 15
    quick_rounds: int = 4
    in_quick: bool = True
    slow: tuple[str, ...] = ()
    memory: bool = False
    also: tuple[str, ...] = ()  # contenders that nobody is compared with

    @property
    def label(self) -> str:
        """The title, shortened for a figure."""
        return self.short or self.title.partition(", k = ")[0]

    @property
    def contenders(self) -> tuple[str, ...]:
        """Whoever is compared."""
        pairs = [(c.ours, c.against) for c in COMPARISONS if c.case == self.name]
        names = [*(name for pair in pairs for name in pair), *self.also]
        return tuple(dict.fromkeys(name for name in names if name != peers.ARRAY))


@dataclass(frozen=True)
class Comparison:
    """`ours` over `against`, at most `bound`; over k GEMVs, that is GEMVs per step.

    Where "extra time" is measured, the bound is in seconds. `headline` rows are in the README.
    """

    case: str
    ours: str
    against: str
    bound: float | None = None
    strict: bool = False  # below the bound, not at it
    judged: Judged = "residual"
    measured: Measured = "time"
    headline: bool = False


def compared(
    case: str, ours: str | tuple[str, ...], *against: str, **options: Any
) -> list[Comparison]:
    """Each of ours with each of the others."""
    several = (ours,) if isinstance(ours, str) else ours
    return [Comparison(case, one, other, **options) for one in several for other in against]


# Where the number of steps varies: how many problems are solved, and how many timed.
EIGHT: Any = {"problems": 200, "on_clock": 8, "rounds": 20, "quick_rounds": 5}
EIGHT_L1: Any = {"problems": 100, "on_clock": 8, "rounds": 10, "quick_rounds": 3}
SIXTEEN: Any = {"problems": 200, "on_clock": 16, "rounds": 10, "quick_rounds": 3}

# fmt: off
CASES = (
    Case("small", GREEDY, "64×128, k = 16", partial(gaussian, 64, 128, 16), problems=1000,
         rounds=100, quick_rounds=30),
    Case("wide", GREEDY, "200×1000, k = 30", partial(gaussian, 200, 1000, 30), rounds=50),
    Case("tall", GREEDY, "1000×50, k = 20", partial(gaussian, 1000, 50, 20), rounds=100),
    Case("taller", GREEDY, "5000×100, k = 30", partial(gaussian, 5000, 100, 30), rounds=50),
    Case("medium", GREEDY, "500×1000, k = 50", partial(gaussian, 500, 1000, 50),
         slow=("pysindy FROLS",), memory=True, also=("k GEMVs",)),
    Case("large", GREEDY, "1000×10000, k = 100, Fortran order", partial(gaussian, 1000, 10000, 100),
         memory=True),
    Case("large-c", GREEDY, "1000×10000, k = 100, C order",
         partial(gaussian, 1000, 10000, 100, order="C"), short="the same, in C order"),
    Case("decaying", GREEDY, "1000×10000, k = 100, correlated (singular values 1/p²)",
         partial(decaying, 1000, 10000, 100), short="the same, singular values 1/p²",
         in_quick=False),
    Case("autoregressive", GREEDY, "1000×10000, k = 100, correlated (neighbours 0.95)",
         partial(autoregressive, 1000, 10000, 100), short="the same, neighbours alike",
         in_quick=False),
    Case("huge", GREEDY, "2000×50000, k = 100", partial(gaussian, 2000, 50000, 100), rounds=3,
         in_quick=False, memory=True),
    Case("backward", BACK, "2000×500, full path", partial(gaussian, 2000, 500, 20), rounds=10),
    Case("eliminate", BACK, "256×64, noise as large as the signal, full path",
         partial(loud, 256, 64, 8), short="256×64, all sizes", problems=20, rounds=10,
         quick_rounds=2),
    Case("exchange", BACK, "64×128, k = 16, exchanges", partial(gaussian, 64, 128, 16),
         problems=500, rounds=50, quick_rounds=15),
    Case("subsets", BACK, "500×30, noise as large as the signal, k = 10",
         partial(loud, 500, 30, 10), short="500×30, noisy", problems=100),
    Case("sbl", BAYES, "64×128, k = 16, Bayesian (mean of 8)", partial(gaussian, 64, 128, 16),
         **EIGHT),
    Case("sbl-correlated", BAYES, "64×128, k = 16, Bayesian, correlated (mean of 8)",
         partial(decaying, 64, 128, 16), **EIGHT, also=("sbl, MacKay",)),
    Case("sbl-500", BAYES, "500×1000, k = 50, Bayesian (mean of 3)",
         partial(gaussian, 500, 1000, 50), problems=10, on_clock=3),
    Case("sbl-500-correlated", BAYES, "500×1000, k = 50, Bayesian, correlated (mean of 3)",
         partial(decaying, 500, 1000, 50), problems=10, on_clock=3, in_quick=False),
    Case("sbl-1000", BAYES, "1000×10000, k = 100, Bayesian", partial(gaussian, 1000, 10000, 100),
         rounds=7, in_quick=False, memory=True),
    Case("ard", BAYES, "500×1000, k = 50, Bayesian", partial(gaussian, 500, 1000, 50),
         in_quick=False, memory=True),
    Case("friedman", BAYES, "1,000 points, Friedman's function of 5 variables (mean of 3)",
         partial(friedman, 1000), short="1,000 points in 5 variables", problems=5, on_clock=3,
         rounds=5, in_quick=False),
    Case("ripple", BAYES, "1,000 points, sin(ρ)/ρ in two variables (mean of 3)",
         partial(ripple, 1000), short="1,000 points in 2 variables", problems=5, on_clock=3,
         rounds=5, in_quick=False),
    Case("l1", L1, "64×128, k = 16, ℓ1 (mean of 8)", partial(gaussian, 64, 128, 16),
         short="64×128, bounded residual", **EIGHT_L1),
    Case("l1-500", L1, "500×1000, k = 50, ℓ1", partial(gaussian, 500, 1000, 50),
         short="500×1000, bounded residual", rounds=7, in_quick=False, memory=True),
    Case("l1-complex", L1, "256×1024, k = 30, ℓ1, complex", partial(circular, 256, 1024, 30),
         short="256×1024, complex", rounds=7, in_quick=False),
    Case("bp", L1, "64×128, exact fit (mean of 8)", partial(gaussian, 64, 128, 16),
         short="64×128, exact fit", **EIGHT_L1),
    Case("bp-500", L1, "500×1000, exact fit", partial(gaussian, 500, 1000, 50), rounds=5,
         in_quick=False),
    Case("lasso", L1, "500×1000, k = 50, lasso", partial(gaussian, 500, 1000, 50),
         short="500×1000, lasso", rounds=7),
    Case("lasso-1000", L1, "1000×10000, k = 100, lasso", partial(gaussian, 1000, 10000, 100),
         short="1000×10000, lasso", rounds=3, in_quick=False, memory=True),
    Case("nothing", NOTHING, "64×128, k = 16 (mean of 16)", partial(gaussian, 64, 128, 16),
         short="64×128, k = 16", **SIXTEEN, slow=("scikit-learn ARDRegression",)),
    Case("nothing-20", NOTHING, "64×128, k = 20 (mean of 16)", partial(gaussian, 64, 128, 20),
         short="64×128, k = 20", **SIXTEEN),
    Case("nothing-24", NOTHING, "64×128, k = 24 (mean of 16)", partial(gaussian, 64, 128, 24),
         short="64×128, k = 24", **SIXTEEN),
    Case("nothing-correlated", NOTHING,
         "64×128, k = 5, correlated (singular values 1/p², mean of 16)",
         partial(decaying, 64, 128, 5), short="64×128, singular values 1/p²", **SIXTEEN),
    Case("nothing-500", NOTHING, "500×1000, k = 100", partial(gaussian, 500, 1000, 100),
         short="500×1000, k = 100", problems=5, rounds=3, quick_rounds=1, in_quick=False),
    Case("nothing-2000", NOTHING, "2000×20000, k = 50", partial(gaussian, 2000, 20000, 50),
         rounds=3, quick_rounds=1, in_quick=False),
    Case("selection", TABLES, "2000×60, 10 features matter, five folds",
         partial(survey, 2000, 60, 10), short="2000×60, five folds", problems=2, rounds=5,
         quick_rounds=1),
    Case("selection-half", TABLES, "2000×60, 10 features matter, five folds",
         partial(survey, 2000, 60, 10), short="2000×60, five folds", rounds=5, in_quick=False),
    Case("overhead", TABLES, "442×10 (diabetes), estimator over bare function", diabetes,
         rounds=100, quick_rounds=30),
)

COMPARISONS = (
    *compared("small", "forward", "SPAMS OMP", bound=1.4, headline=True),
    *compared("small", "forward", "scikit-learn OMP", bound=1 / 8, headline=True),
    *compared("small", "forward, A prepared", "SPAMS OMP", bound=1.2),
    *compared("small", "forward, A prepared", "scikit-learn OMP", bound=1 / 8),
    *compared("small", "forward", "fastcan", "abess", "pysindy FROLS", "k GEMVs"),
    *compared("small", "omp", "scikit-learn OMP"),
    *compared("wide", "forward", "SPAMS OMP", bound=1.0, headline=True),
    *compared("wide", "forward", "scikit-learn OMP"),
    *compared("tall", "forward", "SPAMS OMP", bound=1.3),
    *compared("tall", "forward", "scikit-learn OMP"),
    *compared("taller", "forward", "SPAMS OMP", bound=1.3, headline=True),
    *compared("taller", "forward", "scikit-learn OMP"),
    *compared("medium", "rmp0", "pysindy FROLS", bound=1 / 20, headline=True),
    *compared("medium", "rmp0", "fastcan", bound=1.0, strict=True, headline=True),
    *compared("medium", "forward", "SPAMS OMP"),
    *compared("medium", "omp", "scikit-learn OMP"),
    *compared("medium", "oblivious", "scikit-learn SelectKBest"),
    *compared("medium", "mp", "PyLops MP"),
    *compared("medium", "gomp", "omp", judged="recovery"),
    *compared("medium", ("foba", "srr", "ompr", "subspace_pursuit"), "abess", judged="recovery"),
    *compared("large", "forward", "k GEMVs", bound=1.1, headline=True),
    *compared("large", "omp", "k GEMVs"),
    *compared("large", "forward", "SPAMS OMP", headline=True),
    *compared("large", "omp", "scikit-learn OMP", headline=True),
    *compared("large-c", "forward", "k GEMVs", bound=1.1),
    *compared("large-c", "omp", "k GEMVs", "scikit-learn OMP"),
    *compared("decaying", "forward", "k GEMVs", "SPAMS OMP"),
    *compared("autoregressive", "forward", "k GEMVs", "SPAMS OMP"),
    *compared("huge", "forward", "k GEMVs", "SPAMS OMP"),
    *compared("huge", "omp", "scikit-learn OMP"),
    *compared("huge", "forward", "the array", bound=0.05, strict=True, measured="memory",
              headline=True),
    *compared("backward", "backward", "numpy lstsq", bound=2.0, headline=True),
    *compared("eliminate", "backward, path", "pysindy SSR, by residual", headline=True),
    *compared("eliminate", "lace, path", "pysindy SSR, by coefficient"),
    *compared("exchange", "srr", "abess", judged="recovery", headline=True),
    *compared("exchange", ("ompr", "subspace_pursuit", "foba"), "abess", judged="recovery"),
    *compared("exchange", "gomp", "omp", judged="recovery"),
    *compared("subsets", "best_subset", "abess", headline=True),
    *compared("subsets", "stepwise", "abess, by BIC", judged="criterion", headline=True),
    *compared("sbl", "rmp", "scikit-learn ARDRegression", bound=1 / 100, judged="evidence",
              headline=True),
    *compared("sbl", "rmp, σ inferred", "scikit-learn ARDRegression", judged="recovery"),
    *compared("sbl", ("fast_sbl", "sbl, MacKay", "sbl, EM", "sbl, convex"),
              "scikit-learn ARDRegression", judged="evidence"),
    *compared("sbl", "rmp", "rmp0", bound=3.0, judged="recovery"),
    *compared("sbl", "rmp", "fast_sbl", bound=1.0, judged="evidence"),
    *compared("sbl", "sbl, MacKay", "1,000 GEMVs", bound=1.0),
    *compared("sbl-correlated", "rmp", "rmp0", judged="recovery"),
    *compared("sbl-correlated", "rmp", "fast_sbl", bound=1.0, judged="evidence"),
    *compared("sbl-500", "rmp", "rmp0", bound=3.0, judged="recovery"),
    *compared("sbl-500", "rmp", "fast_sbl", bound=1.0, judged="evidence"),
    *compared("sbl-500-correlated", "rmp", "rmp0", judged="recovery"),
    *compared("sbl-500-correlated", "rmp", "fast_sbl", bound=1.0, judged="evidence"),
    *compared("sbl-1000", "rmp", "rmp0", judged="recovery"),
    *compared("sbl-1000", "rmp", "fast_sbl", bound=1.0, judged="evidence"),
    *compared("ard", "rmp", "scikit-learn ARDRegression", bound=1 / 200, judged="evidence",
              headline=True),
    *compared("ard", "rmp, σ inferred", "scikit-learn ARDRegression", judged="recovery"),
    *compared("friedman", "RelevanceVectorRegressor", "sklearn-rvm EMRVR", bound=1 / 20,
              judged="error", headline=True),
    *compared("ripple", "RelevanceVectorRegressor", "sklearn-rvm EMRVR", bound=1 / 20,
              judged="error"),
    *compared("l1", "bpdn", "Clarabel", bound=1 / 10, judged="objective", headline=True),
    *compared("l1", "bpdn", "ECOS", bound=1 / 10, judged="objective"),
    *compared("l1", "bpdn", "spgl1", bound=1 / 5, judged="objective", headline=True),
    *compared("l1", "bpdn", "SPAMS lasso", judged="objective", headline=True),
    *compared("l1", "l1_path", "scikit-learn lars_path", bound=1.0, judged="objective",
              headline=True),
    *compared("l1", "bp_ard", "the same rounds on Clarabel", bound=1 / 10, judged="recovery"),
    *compared("l1", "bp_candes", "Candès' rounds on Clarabel", judged="recovery"),
    *compared("l1", "focuss", "bp_candes", judged="recovery"),
    *compared("l1-500", "bpdn", "Clarabel", bound=1 / 50, judged="objective", headline=True),
    *compared("l1-500", "bpdn", "spgl1", "SPAMS lasso", judged="objective"),
    *compared("l1-500", "l1_path", "scikit-learn lars_path", bound=1.0, judged="objective"),
    *compared("l1-complex", "bpdn", "spgl1", bound=2.0, judged="objective"),
    *compared("bp", "bp", "HiGHS", "spgl1, A x = y", judged="objective"),
    *compared("bp-500", "bp", "HiGHS", judged="objective", headline=True),
    *compared("bp-500", "bp", "spgl1, A x = y", judged="objective"),
    *compared("lasso", "ista", "PyLops ISTA", judged="objective"),
    *compared("lasso", "fista", "PyLops FISTA", "scikit-learn Lasso", judged="objective"),
    *compared("lasso", "l1_path, to λ", "scikit-learn Lasso", judged="objective", headline=True),
    *compared("lasso", "l1_path, to λ", "SPAMS lasso, penalty", judged="objective"),
    *compared("lasso-1000", "fista", "PyLops FISTA", "scikit-learn Lasso", judged="objective"),
    *compared("lasso-1000", "l1_path, to λ", "scikit-learn Lasso", judged="objective"),
    *compared("nothing", "solve", "bp_ard", bound=2.0, judged="recovery", headline=True),
    *compared("nothing", "solve", "abess, told nothing", judged="recovery"),
    *compared("nothing", "solve", "scikit-learn ARDRegression", judged="recovery", headline=True),
    *compared("nothing-20", "solve", "bp_ard", bound=2.0, judged="recovery"),
    *compared("nothing-20", "solve", "abess, told nothing", judged="recovery"),
    *compared("nothing-24", "solve", "bp_ard", bound=12.0, judged="recovery"),
    *compared("nothing-24", "solve", "abess, told nothing", judged="recovery"),
    *compared("nothing-correlated", "solve", "bp_ard", bound=2.0, judged="recovery"),
    *compared("nothing-correlated", "solve", "abess, told nothing", judged="recovery"),
    *compared("nothing-500", "solve", "forward", "rmp", "abess", judged="recovery"),
    *compared("nothing-2000", "solve", "forward", "rmp", "abess", judged="recovery"),
    *compared("selection-half", 'StepwiseRegressor("forward", criterion="cv")',
              "scikit-learn SequentialFeatureSelector", bound=1 / 100, judged="error",
              headline=True),
    *compared("selection", 'StepwiseRegressor("forward", criterion="cv")',
              "SequentialFeatureSelector, told the number", bound=1 / 100, judged="error",
              headline=True),
    *compared("overhead", "StepwiseRegressor()", "bare forward and RIC", bound=0.001, strict=True,
              measured="extra time", headline=True),
    *compared("overhead", "SparseBayesRegressor()", "bare rmp", bound=0.001, strict=True,
              measured="extra time"),
    *compared("overhead", "BasisPursuitRegressor(residual=…)", "bare bpdn", bound=0.001,
              strict=True, measured="extra time"),
    *compared("overhead", 'PursuitRegressor("omp", sparsity=5)', "bare omp", bound=0.001,
              strict=True, measured="extra time"),
)
# fmt: on
