"""What is measured and what is to be reached, as data."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from reproduction.benchmarks import ours, peers, peers_l1
from reproduction.benchmarks.answers import Contender
from reproduction.benchmarks.ours import (
    BACKWARD_K,
    BARE_BPDN,
    BARE_FORWARD,
    BARE_OMP,
    BARE_RMP,
    BASIS_PURSUIT,
    CHOSEN_BY_CV,
    CONVEX,
    EM,
    INFERRED,
    LACE_K,
    MACKAY,
    PREPARED,
    PURSUIT,
    RVR,
    SPARSE_BAYES,
    STEPWISE,
)
from reproduction.benchmarks.peers import (
    ABESS,
    ABESS_BIC,
    ABESS_TOLD_NOTHING,
    ARD,
    ARRAY,
    BEST,
    EMRVR,
    FASTCAN,
    FROLS,
    GEMVS,
    LSTSQ,
    PYLOPS_MP,
    SFS,
    SFS_TOLD,
    SKLEARN,
    SPAMS,
    SSR_COEFFICIENT,
    SSR_RESIDUAL,
    THOUSAND,
)
from reproduction.benchmarks.peers_l1 import (
    CLARABEL,
    CLARABEL_ARD,
    CLARABEL_CANDES,
    ECOS,
    HIGHS,
    LARS,
    LASSO,
    PYLOPS_FISTA,
    PYLOPS_ISTA,
    SPAMS_LARS,
    SPAMS_PENALISED,
    SPGL1,
    SPGL1_BP,
)
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

CONTENDERS: Mapping[str, Contender] = {
    **ours.CONTENDERS,
    **peers.CONTENDERS,
    **peers_l1.CONTENDERS,
}

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

    `make` makes it from a seed, which is 0 for the clock. Where greedy choices often fail, one
    problem says little about whose answers are better: `problems` of them, from seeds 0, 1, …, are
    solved to compare those. Where the number of steps varies, one problem says little about time
    either: the first `on_clock` are timed. With `memory`, each contender also runs in a process of
    its own that watches the peak of its memory. Quick runs leave the `slow` contenders out.
    """

    name: str
    group: str
    title: str
    make: Callable[[int], Any]
    contenders: tuple[str, ...]
    short: str = ""  # for the figure
    problems: int = 1
    on_clock: int = 1
    rounds: int = 15
    quick_rounds: int = 4
    in_quick: bool = True
    slow: tuple[str, ...] = ()
    memory: bool = False

    @property
    def label(self) -> str:
        """The title, shortened for a figure."""
        return self.short or self.title


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


CASES = (
    Case(
        "small",
        GREEDY,
        "64×128, k = 16",
        lambda seed: gaussian(64, 128, 16, seed=seed),
        ("forward", PREPARED, "omp", GEMVS, SPAMS, SKLEARN, FASTCAN, ABESS, FROLS),
        short="64×128",
        problems=1000,
        rounds=100,
        quick_rounds=30,
    ),
    Case(
        "wide",
        GREEDY,
        "200×1000, k = 30",
        lambda seed: gaussian(200, 1000, 30, seed=seed),
        ("forward", SPAMS, SKLEARN),
        short="200×1000",
        rounds=50,
    ),
    Case(
        "tall",
        GREEDY,
        "1000×50, k = 20",
        lambda seed: gaussian(1000, 50, 20, seed=seed),
        ("forward", SPAMS, SKLEARN),
        short="1000×50",
        rounds=100,
    ),
    Case(
        "taller",
        GREEDY,
        "5000×100, k = 30",
        lambda seed: gaussian(5000, 100, 30, seed=seed),
        ("forward", SPAMS, SKLEARN),
        short="5000×100",
        rounds=50,
    ),
    Case(
        "medium",
        GREEDY,
        "500×1000, k = 50",
        lambda seed: gaussian(500, 1000, 50, seed=seed),
        (
            *("rmp0", "forward", "omp", "gomp", "mp", "oblivious", "foba"),
            *("srr", "ompr", "subspace_pursuit"),
            *(GEMVS, SPAMS, FASTCAN, FROLS, SKLEARN, BEST, PYLOPS_MP, ABESS),
        ),
        short="500×1000",
        slow=(FROLS,),
        memory=True,
    ),
    Case(
        "large",
        GREEDY,
        "1000×10000, k = 100, Fortran order",
        lambda seed: gaussian(1000, 10000, 100, seed=seed),
        ("forward", "omp", GEMVS, SPAMS, SKLEARN),
        short="1000×10000",
        memory=True,
    ),
    Case(
        "large-c",
        GREEDY,
        "1000×10000, k = 100, C order",
        lambda seed: gaussian(1000, 10000, 100, order="C", seed=seed),
        ("forward", "omp", GEMVS, SKLEARN),
        short="the same, in C order",
    ),
    Case(
        "decaying",
        GREEDY,
        "1000×10000, k = 100, correlated (singular values 1/p²)",
        lambda seed: decaying(1000, 10000, 100, seed=seed),
        ("forward", GEMVS, SPAMS),
        short="the same, singular values 1/p²",
        in_quick=False,
    ),
    Case(
        "autoregressive",
        GREEDY,
        "1000×10000, k = 100, correlated (neighbours 0.95)",
        lambda seed: autoregressive(1000, 10000, 100, seed=seed),
        ("forward", GEMVS, SPAMS),
        short="the same, neighbours alike",
        in_quick=False,
    ),
    Case(
        "huge",
        GREEDY,
        "2000×50000, k = 100",
        lambda seed: gaussian(2000, 50000, 100, seed=seed),
        ("forward", "omp", GEMVS, SPAMS, SKLEARN),
        short="2000×50000",
        rounds=3,
        in_quick=False,
        memory=True,
    ),
    Case(
        "backward",
        BACK,
        "2000×500, full path",
        lambda seed: gaussian(2000, 500, 20, seed=seed),
        ("backward", LSTSQ),
        rounds=10,
    ),
    Case(
        "eliminate",
        BACK,
        "256×64, noise as large as the signal, full path",
        lambda seed: loud(256, 64, 8, seed=seed),
        (BACKWARD_K, LACE_K, SSR_RESIDUAL, SSR_COEFFICIENT),
        short="256×64, all sizes",
        problems=20,
        rounds=10,
        quick_rounds=2,
    ),
    Case(
        "exchange",
        BACK,
        "64×128, k = 16, exchanges",
        lambda seed: gaussian(64, 128, 16, seed=seed),
        ("srr", "ompr", "subspace_pursuit", "foba", "gomp", "omp", ABESS),
        short="64×128",
        problems=500,
        rounds=50,
        quick_rounds=15,
    ),
    Case(
        "subsets",
        BACK,
        "500×30, noise as large as the signal, k = 10",
        lambda seed: loud(500, 30, 10, seed=seed),
        ("best_subset", "stepwise", ABESS, ABESS_BIC),
        short="500×30, noisy",
        problems=100,
    ),
    Case(
        "sbl",
        BAYES,
        "64×128, k = 16, Bayesian (mean of 8)",
        lambda seed: gaussian(64, 128, 16, seed=seed),
        ("rmp", INFERRED, "fast_sbl", MACKAY, EM, CONVEX, "rmp0", THOUSAND, ARD),
        short="64×128",
        problems=200,
        on_clock=8,
        rounds=20,
        quick_rounds=5,
    ),
    Case(
        "sbl-correlated",
        BAYES,
        "64×128, k = 16, Bayesian, correlated (mean of 8)",
        lambda seed: decaying(64, 128, 16, seed=seed),
        ("rmp", "fast_sbl", MACKAY, "rmp0"),
        problems=200,
        on_clock=8,
        rounds=20,
        quick_rounds=5,
    ),
    Case(
        "sbl-500",
        BAYES,
        "500×1000, k = 50, Bayesian (mean of 3)",
        lambda seed: gaussian(500, 1000, 50, seed=seed),
        ("rmp", "fast_sbl", "rmp0"),
        problems=10,
        on_clock=3,
    ),
    Case(
        "sbl-500-correlated",
        BAYES,
        "500×1000, k = 50, Bayesian, correlated (mean of 3)",
        lambda seed: decaying(500, 1000, 50, seed=seed),
        ("rmp", "fast_sbl", "rmp0"),
        problems=10,
        on_clock=3,
        in_quick=False,
    ),
    Case(
        "sbl-1000",
        BAYES,
        "1000×10000, k = 100, Bayesian",
        lambda seed: gaussian(1000, 10000, 100, seed=seed),
        ("rmp", "fast_sbl", "rmp0"),
        rounds=7,
        in_quick=False,
        memory=True,
    ),
    Case(
        "ard",
        BAYES,
        "500×1000, k = 50, Bayesian",
        lambda seed: gaussian(500, 1000, 50, seed=seed),
        ("rmp", INFERRED, ARD),
        short="500×1000",
        in_quick=False,
        memory=True,
    ),
    Case(
        "friedman",
        BAYES,
        "1,000 points, Friedman's function of 5 variables (mean of 3)",
        lambda seed: friedman(1000, seed=seed),
        (RVR, EMRVR),
        short="1,000 points in 5 variables",
        problems=5,
        on_clock=3,
        rounds=5,
        in_quick=False,
    ),
    Case(
        "ripple",
        BAYES,
        "1,000 points, sin(ρ)/ρ in two variables (mean of 3)",
        lambda seed: ripple(1000, seed=seed),
        (RVR, EMRVR),
        short="1,000 points in 2 variables",
        problems=5,
        on_clock=3,
        rounds=5,
        in_quick=False,
    ),
    Case(
        "l1",
        L1,
        "64×128, k = 16, ℓ1 (mean of 8)",
        lambda seed: gaussian(64, 128, 16, seed=seed),
        (
            *("bpdn", CLARABEL, ECOS, SPGL1, SPAMS_LARS, "l1_path", LARS),
            *("bp_ard", CLARABEL_ARD, "bp_candes", CLARABEL_CANDES, "focuss"),
        ),
        short="64×128, bounded residual",
        problems=100,
        on_clock=8,
        rounds=10,
        quick_rounds=3,
    ),
    Case(
        "l1-500",
        L1,
        "500×1000, k = 50, ℓ1",
        lambda seed: gaussian(500, 1000, 50, seed=seed),
        ("bpdn", CLARABEL, SPGL1, SPAMS_LARS, "l1_path", LARS),
        short="500×1000, bounded residual",
        rounds=7,
        in_quick=False,
        memory=True,
    ),
    Case(
        "l1-complex",
        L1,
        "256×1024, k = 30, ℓ1, complex",
        lambda seed: circular(256, 1024, 30, seed=seed),
        ("bpdn", SPGL1),
        short="256×1024, complex",
        rounds=7,
        in_quick=False,
    ),
    Case(
        "bp",
        L1,
        "64×128, exact fit (mean of 8)",
        lambda seed: gaussian(64, 128, 16, seed=seed),
        ("bp", HIGHS, SPGL1_BP),
        short="64×128, exact fit",
        problems=100,
        on_clock=8,
        rounds=10,
        quick_rounds=3,
    ),
    Case(
        "bp-500",
        L1,
        "500×1000, exact fit",
        lambda seed: gaussian(500, 1000, 50, seed=seed),
        ("bp", HIGHS, SPGL1_BP),
        short="500×1000, exact fit",
        rounds=5,
        in_quick=False,
    ),
    Case(
        "lasso",
        L1,
        "500×1000, k = 50, lasso",
        lambda seed: gaussian(500, 1000, 50, seed=seed),
        (
            *("ista", "fista", ours.TO_PENALTY),
            *(LASSO, SPAMS_PENALISED, PYLOPS_ISTA, PYLOPS_FISTA),
        ),
        short="500×1000, lasso",
        rounds=7,
    ),
    Case(
        "lasso-1000",
        L1,
        "1000×10000, k = 100, lasso",
        lambda seed: gaussian(1000, 10000, 100, seed=seed),
        ("fista", ours.TO_PENALTY, LASSO, PYLOPS_FISTA),
        short="1000×10000, lasso",
        rounds=3,
        in_quick=False,
        memory=True,
    ),
    Case(
        "nothing",
        NOTHING,
        "64×128, k = 16 (mean of 16)",
        lambda seed: gaussian(64, 128, 16, seed=seed),
        ("solve", "bp_ard", ABESS_TOLD_NOTHING, ARD),
        short="64×128, k = 16",
        problems=200,
        on_clock=16,
        rounds=10,
        quick_rounds=3,
        slow=(ARD,),
    ),
    Case(
        "nothing-20",
        NOTHING,
        "64×128, k = 20 (mean of 16)",
        lambda seed: gaussian(64, 128, 20, seed=seed),
        ("solve", "bp_ard", ABESS_TOLD_NOTHING),
        short="64×128, k = 20",
        problems=200,
        on_clock=16,
        rounds=10,
        quick_rounds=3,
    ),
    Case(
        "nothing-24",
        NOTHING,
        "64×128, k = 24 (mean of 16)",
        lambda seed: gaussian(64, 128, 24, seed=seed),
        ("solve", "bp_ard", ABESS_TOLD_NOTHING),
        short="64×128, k = 24",
        problems=200,
        on_clock=16,
        rounds=10,
        quick_rounds=3,
    ),
    Case(
        "nothing-correlated",
        NOTHING,
        "64×128, k = 5, correlated (singular values 1/p², mean of 16)",
        lambda seed: decaying(64, 128, 5, seed=seed),
        ("solve", "bp_ard", ABESS_TOLD_NOTHING),
        short="64×128, singular values 1/p²",
        problems=200,
        on_clock=16,
        rounds=10,
        quick_rounds=3,
    ),
    Case(
        "nothing-500",
        NOTHING,
        "500×1000, k = 100",
        lambda seed: gaussian(500, 1000, 100, seed=seed),
        ("solve", "forward", "rmp", ABESS),
        short="500×1000, k = 100",
        problems=5,
        rounds=3,
        quick_rounds=1,
        in_quick=False,
    ),
    Case(
        "nothing-2000",
        NOTHING,
        "2000×20000, k = 50",
        lambda seed: gaussian(2000, 20000, 50, seed=seed),
        ("solve", "forward", "rmp", ABESS),
        short="2000×20000",
        rounds=3,
        quick_rounds=1,
        in_quick=False,
    ),
    Case(
        "selection",
        TABLES,
        "2000×60, 10 features matter, five folds",
        lambda seed: survey(2000, 60, 10, seed=seed),
        (CHOSEN_BY_CV, SFS_TOLD),
        short="2000×60, five folds",
        problems=2,
        rounds=5,
        quick_rounds=1,
    ),
    Case(
        "selection-half",
        TABLES,
        "2000×60, 10 features matter, five folds",
        lambda seed: survey(2000, 60, 10, seed=seed),
        (CHOSEN_BY_CV, SFS),
        short="2000×60, five folds",
        rounds=5,
        in_quick=False,
    ),
    Case(
        "overhead",
        TABLES,
        "442×10 (diabetes), estimator over bare function",
        lambda seed: diabetes(seed=seed),
        (
            *(STEPWISE, BARE_FORWARD, SPARSE_BAYES, BARE_RMP),
            *(BASIS_PURSUIT, BARE_BPDN, PURSUIT, BARE_OMP),
        ),
        rounds=100,
        quick_rounds=30,
    ),
)

COMPARISONS = (
    Comparison("small", "forward", SPAMS, bound=1.4, headline=True),
    Comparison("small", "forward", SKLEARN, bound=1 / 8, headline=True),
    Comparison("small", PREPARED, SPAMS, bound=1.2),
    Comparison("small", PREPARED, SKLEARN, bound=1 / 8),
    Comparison("small", "forward", FASTCAN),
    Comparison("small", "forward", ABESS),
    Comparison("small", "forward", FROLS),
    Comparison("small", "forward", GEMVS),
    Comparison("small", "omp", SKLEARN),
    Comparison("wide", "forward", SPAMS, bound=1.0, headline=True),
    Comparison("wide", "forward", SKLEARN),
    Comparison("tall", "forward", SPAMS, bound=1.3),
    Comparison("tall", "forward", SKLEARN),
    Comparison("taller", "forward", SPAMS, bound=1.3, headline=True),
    Comparison("taller", "forward", SKLEARN),
    Comparison("medium", "rmp0", FROLS, bound=1 / 20, headline=True),
    Comparison("medium", "rmp0", FASTCAN, bound=1.0, strict=True, headline=True),
    Comparison("medium", "forward", SPAMS),
    Comparison("medium", "omp", SKLEARN),
    Comparison("medium", "oblivious", BEST),
    Comparison("medium", "mp", PYLOPS_MP),
    Comparison("medium", "gomp", "omp", judged="recovery"),
    Comparison("medium", "foba", ABESS, judged="recovery"),
    Comparison("medium", "srr", ABESS, judged="recovery"),
    Comparison("medium", "ompr", ABESS, judged="recovery"),
    Comparison("medium", "subspace_pursuit", ABESS, judged="recovery"),
    Comparison("large", "forward", GEMVS, bound=1.1, headline=True),
    Comparison("large", "omp", GEMVS),
    Comparison("large", "forward", SPAMS, headline=True),
    Comparison("large", "omp", SKLEARN, headline=True),
    Comparison("large-c", "forward", GEMVS, bound=1.1),
    Comparison("large-c", "omp", GEMVS),
    Comparison("large-c", "omp", SKLEARN),
    Comparison("decaying", "forward", GEMVS),
    Comparison("decaying", "forward", SPAMS),
    Comparison("autoregressive", "forward", GEMVS),
    Comparison("autoregressive", "forward", SPAMS),
    Comparison("huge", "forward", GEMVS),
    Comparison("huge", "forward", SPAMS),
    Comparison("huge", "omp", SKLEARN),
    Comparison("huge", "forward", ARRAY, bound=0.05, strict=True, measured="memory", headline=True),
    Comparison("backward", "backward", LSTSQ, bound=2.0, headline=True),
    Comparison("eliminate", BACKWARD_K, SSR_RESIDUAL, headline=True),
    Comparison("eliminate", LACE_K, SSR_COEFFICIENT),
    Comparison("exchange", "srr", ABESS, judged="recovery", headline=True),
    Comparison("exchange", "ompr", ABESS, judged="recovery"),
    Comparison("exchange", "subspace_pursuit", ABESS, judged="recovery"),
    Comparison("exchange", "foba", ABESS, judged="recovery"),
    Comparison("exchange", "gomp", "omp", judged="recovery"),
    Comparison("subsets", "best_subset", ABESS, headline=True),
    Comparison("subsets", "stepwise", ABESS_BIC, judged="criterion", headline=True),
    Comparison("sbl", "rmp", ARD, bound=1 / 100, judged="evidence", headline=True),
    Comparison("sbl", INFERRED, ARD, judged="recovery"),
    Comparison("sbl", "fast_sbl", ARD, judged="evidence"),
    Comparison("sbl", MACKAY, ARD, judged="evidence"),
    Comparison("sbl", EM, ARD, judged="evidence"),
    Comparison("sbl", CONVEX, ARD, judged="evidence"),
    Comparison("sbl", "rmp", "rmp0", bound=3.0, judged="recovery"),
    Comparison("sbl", "rmp", "fast_sbl", bound=1.0, judged="evidence"),
    Comparison("sbl", MACKAY, THOUSAND, bound=1.0),
    Comparison("sbl-correlated", "rmp", "rmp0", judged="recovery"),
    Comparison("sbl-correlated", "rmp", "fast_sbl", bound=1.0, judged="evidence"),
    Comparison("sbl-500", "rmp", "rmp0", bound=3.0, judged="recovery"),
    Comparison("sbl-500", "rmp", "fast_sbl", bound=1.0, judged="evidence"),
    Comparison("sbl-500-correlated", "rmp", "rmp0", judged="recovery"),
    Comparison("sbl-500-correlated", "rmp", "fast_sbl", bound=1.0, judged="evidence"),
    Comparison("sbl-1000", "rmp", "rmp0", judged="recovery"),
    Comparison("sbl-1000", "rmp", "fast_sbl", bound=1.0, judged="evidence"),
    Comparison("ard", "rmp", ARD, bound=1 / 200, judged="evidence", headline=True),
    Comparison("ard", INFERRED, ARD, judged="recovery"),
    Comparison("friedman", RVR, EMRVR, bound=1 / 20, judged="error", headline=True),
    Comparison("ripple", RVR, EMRVR, bound=1 / 20, judged="error"),
    Comparison("l1", "bpdn", CLARABEL, bound=1 / 10, judged="objective", headline=True),
    Comparison("l1", "bpdn", ECOS, bound=1 / 10, judged="objective"),
    Comparison("l1", "bpdn", SPGL1, bound=1 / 5, judged="objective", headline=True),
    Comparison("l1", "bpdn", SPAMS_LARS, judged="objective", headline=True),
    Comparison("l1", "l1_path", LARS, bound=1.0, judged="objective", headline=True),
    Comparison("l1", "bp_ard", CLARABEL_ARD, bound=1 / 10, judged="recovery"),
    Comparison("l1", "bp_candes", CLARABEL_CANDES, judged="recovery"),
    Comparison("l1", "focuss", "bp_candes", judged="recovery"),
    Comparison("l1-500", "bpdn", CLARABEL, bound=1 / 50, judged="objective", headline=True),
    Comparison("l1-500", "bpdn", SPGL1, judged="objective"),
    Comparison("l1-500", "bpdn", SPAMS_LARS, judged="objective"),
    Comparison("l1-500", "l1_path", LARS, bound=1.0, judged="objective"),
    Comparison("l1-complex", "bpdn", SPGL1, bound=2.0, judged="objective"),
    Comparison("bp", "bp", HIGHS, judged="objective"),
    Comparison("bp", "bp", SPGL1_BP, judged="objective"),
    Comparison("bp-500", "bp", HIGHS, judged="objective", headline=True),
    Comparison("bp-500", "bp", SPGL1_BP, judged="objective"),
    Comparison("lasso", "ista", PYLOPS_ISTA, judged="objective"),
    Comparison("lasso", "fista", PYLOPS_FISTA, judged="objective"),
    Comparison("lasso", "fista", LASSO, judged="objective"),
    Comparison("lasso", ours.TO_PENALTY, LASSO, judged="objective", headline=True),
    Comparison("lasso", ours.TO_PENALTY, SPAMS_PENALISED, judged="objective"),
    Comparison("lasso-1000", "fista", PYLOPS_FISTA, judged="objective"),
    Comparison("lasso-1000", "fista", LASSO, judged="objective"),
    Comparison("lasso-1000", ours.TO_PENALTY, LASSO, judged="objective"),
    Comparison("nothing", "solve", "bp_ard", bound=2.0, judged="recovery", headline=True),
    Comparison("nothing", "solve", ABESS_TOLD_NOTHING, judged="recovery"),
    Comparison("nothing", "solve", ARD, judged="recovery", headline=True),
    Comparison("nothing-20", "solve", "bp_ard", bound=2.0, judged="recovery"),
    Comparison("nothing-20", "solve", ABESS_TOLD_NOTHING, judged="recovery"),
    Comparison("nothing-24", "solve", "bp_ard", bound=12.0, judged="recovery"),
    Comparison("nothing-24", "solve", ABESS_TOLD_NOTHING, judged="recovery"),
    Comparison("nothing-correlated", "solve", "bp_ard", bound=2.0, judged="recovery"),
    Comparison("nothing-correlated", "solve", ABESS_TOLD_NOTHING, judged="recovery"),
    *(
        Comparison(case, "solve", other, judged="recovery")
        for case in ("nothing-500", "nothing-2000")
        for other in ("forward", "rmp", ABESS)
    ),
    Comparison("selection-half", CHOSEN_BY_CV, SFS, bound=1 / 100, judged="error", headline=True),
    Comparison("selection", CHOSEN_BY_CV, SFS_TOLD, bound=1 / 100, judged="error", headline=True),
    *(
        Comparison(
            *("overhead", estimator, bare),
            bound=1e-3,
            strict=True,
            measured="extra time",
            headline=estimator == STEPWISE,
        )
        for estimator, bare in (
            (STEPWISE, BARE_FORWARD),
            (SPARSE_BAYES, BARE_RMP),
            (BASIS_PURSUIT, BARE_BPDN),
            (PURSUIT, BARE_OMP),
        )
    ),
)
