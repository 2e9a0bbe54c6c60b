"""What is measured and what is to be reached, as data."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from benchmarks import memory, peers
from benchmarks.measure import Measurement, race
from benchmarks.problems import autoregressive, decaying, friedman, gaussian, loud, ripple

PREPARED = "forward, A prepared"
GEMVS = "k GEMVs"
SPAMS = "SPAMS OMP"
SKLEARN = "scikit-learn OMP"
FASTCAN = "fastcan"
ABESS = "abess"
FROLS = "pysindy FROLS"
LSTSQ = "numpy lstsq"
INFERRED = "rmp, σ inferred"
MACKAY = "sbl, MacKay"
THOUSAND = "1,000 GEMVs"
ARD = "scikit-learn ARDRegression"
RVR = "RelevanceVectorRegressor"
EMRVR = "sklearn-rvm EMRVR"
CLARABEL = "Clarabel"
ECOS = "ECOS"
SPGL1 = "spgl1"
LARS = "scikit-learn lars_path"
CLARABEL_ARD = "the same rounds on Clarabel"

CONTENDERS: Mapping[str, peers.Contender] = {
    "forward": peers.forward,
    PREPARED: peers.forward_prepared,
    "omp": peers.omp,
    "rmp0": peers.rmp0,
    "backward": peers.backward_path,
    "best_subset": peers.best_subset,
    GEMVS: peers.gemvs,
    SPAMS: peers.spams_omp,
    SKLEARN: peers.sklearn_omp,
    FASTCAN: peers.fastcan,
    ABESS: peers.abess,
    FROLS: peers.frols,
    LSTSQ: peers.lstsq,
    "rmp": peers.rmp,
    INFERRED: peers.rmp_noise_inferred,
    "fast_sbl": peers.fast_sbl,
    MACKAY: peers.sbl_mackay,
    THOUSAND: peers.thousand_gemvs,
    ARD: peers.sklearn_ard,
    RVR: peers.relevance_vector,
    EMRVR: peers.emrvr,
    "bpdn": peers.bpdn,
    "bp_ard": peers.bp_ard,
    "l1_path": peers.l1_path,
    CLARABEL: peers.clarabel,
    ECOS: peers.ecos,
    SPGL1: peers.spgl1,
    LARS: peers.lars_path,
    CLARABEL_ARD: peers.clarabel_ard,
}


# What tells whose answers are better: the squared residuals, the log evidence, how often the
# support behind the data was found, the squared error on test points, or Σ|x| within a bound on the
# residual.
Judged = Literal["residual", "evidence", "recovery", "error", "objective"]


@dataclass(frozen=True)
class Case:
    """A problem and those who solve it."""

    name: str
    title: str
    measure: Callable[[int], list[Measurement]]
    rounds: int = 15
    quick_rounds: int = 4
    in_quick: bool = True
    unit: str = "s"


@dataclass(frozen=True)
class Comparison:
    """`ours` over `against`, at most `bound`; over k GEMVs, that is GEMVs per step."""

    case: str
    ours: str
    against: str
    bound: float | None = None
    strict: bool = False  # below the bound, not at it
    judged: Judged = "residual"


def timed(
    make: Callable[[int], Any], *names: str, problems: int = 1, on_clock: int = 1
) -> Callable[[int], list[Measurement]]:
    """A race between the named contenders on the problem that `make` makes from seed 0.

    Where greedy choices often fail, one problem says little about whose answers are better:
    `problems` of them, from seeds 0, 1, …, are solved to compare those. Where the number of
    steps varies, one problem says little about time either: the first `on_clock` are timed.
    """

    def measure(rounds: int) -> list[Measurement]:
        contenders = {name: CONTENDERS[name] for name in names}
        return race([make(seed) for seed in range(problems)], contenders, rounds, on_clock)

    return measure


CASES = (
    Case(
        "small",
        "64×128, k = 16",
        timed(
            lambda seed: gaussian(64, 128, 16, seed=seed),
            *("forward", PREPARED, "omp", GEMVS, SPAMS, SKLEARN, FASTCAN, ABESS, FROLS),
            problems=1000,
        ),
        rounds=100,
        quick_rounds=30,
    ),
    Case(
        "rmp0",
        "500×1000, k = 50",
        timed(
            lambda seed: gaussian(500, 1000, 50, seed=seed),
            "rmp0",
            "forward",
            GEMVS,
            SPAMS,
            FASTCAN,
            FROLS,
        ),
    ),
    Case(
        "backward",
        "2000×500, full path",
        timed(lambda seed: gaussian(2000, 500, 20, seed=seed), "backward", LSTSQ),
        rounds=10,
    ),
    Case(
        "subsets",
        "500×30, noise as large as the signal, k = 10",
        timed(lambda seed: loud(500, 30, 10, seed=seed), "best_subset", ABESS, problems=100),
    ),
    Case(
        "large",
        "1000×10000, k = 100, Fortran order",
        timed(
            lambda seed: gaussian(1000, 10000, 100, seed=seed),
            "forward",
            "omp",
            GEMVS,
            SPAMS,
            SKLEARN,
        ),
    ),
    Case(
        "large-c",
        "1000×10000, k = 100, C order",
        timed(
            lambda seed: gaussian(1000, 10000, 100, order="C", seed=seed),
            "forward",
            "omp",
            GEMVS,
            SKLEARN,
        ),
    ),
    Case(
        "decaying",
        "1000×10000, k = 100, correlated (singular values 1/p²)",
        timed(lambda seed: decaying(1000, 10000, 100, seed=seed), "forward", GEMVS, SPAMS),
        in_quick=False,
    ),
    Case(
        "autoregressive",
        "1000×10000, k = 100, correlated (neighbours 0.95)",
        timed(lambda seed: autoregressive(1000, 10000, 100, seed=seed), "forward", GEMVS, SPAMS),
        in_quick=False,
    ),
    Case(
        "huge",
        "2000×50000, k = 100",
        timed(
            lambda seed: gaussian(2000, 50000, 100, seed=seed),
            "forward",
            "omp",
            GEMVS,
            SPAMS,
            SKLEARN,
        ),
        rounds=3,
        in_quick=False,
    ),
    Case(
        "memory",
        "2000×50000, k = 100, Fortran order, peak extra memory",
        lambda _: memory.measure_in_child(2000, 50000, 100),
        in_quick=False,
        unit="B",
    ),
    Case(
        "sbl",
        "64×128, k = 16, Bayesian (mean of 8)",
        timed(
            lambda seed: gaussian(64, 128, 16, seed=seed),
            *("rmp", INFERRED, "fast_sbl", MACKAY, "rmp0", THOUSAND, ARD),
            problems=200,
            on_clock=8,
        ),
        rounds=20,
        quick_rounds=5,
    ),
    Case(
        "sbl-correlated",
        "64×128, k = 16, Bayesian, correlated (mean of 8)",
        timed(
            lambda seed: decaying(64, 128, 16, seed=seed),
            *("rmp", "fast_sbl", MACKAY, "rmp0"),
            problems=200,
            on_clock=8,
        ),
        rounds=20,
        quick_rounds=5,
    ),
    Case(
        "sbl-500",
        "500×1000, k = 50, Bayesian (mean of 3)",
        timed(
            lambda seed: gaussian(500, 1000, 50, seed=seed),
            *("rmp", "fast_sbl", "rmp0"),
            problems=10,
            on_clock=3,
        ),
    ),
    Case(
        "sbl-500-correlated",
        "500×1000, k = 50, Bayesian, correlated (mean of 3)",
        timed(
            lambda seed: decaying(500, 1000, 50, seed=seed),
            *("rmp", "fast_sbl", "rmp0"),
            problems=10,
            on_clock=3,
        ),
        in_quick=False,
    ),
    Case(
        "sbl-1000",
        "1000×10000, k = 100, Bayesian",
        timed(lambda seed: gaussian(1000, 10000, 100, seed=seed), "rmp", "fast_sbl", "rmp0"),
        rounds=7,
        in_quick=False,
    ),
    Case(
        "ard",
        "500×1000, k = 50, Bayesian",
        timed(lambda seed: gaussian(500, 1000, 50, seed=seed), "rmp", INFERRED, ARD),
        in_quick=False,
    ),
    Case(
        "friedman",
        "1,000 points, Friedman's function of 5 variables (mean of 3)",
        timed(lambda seed: friedman(1000, seed=seed), RVR, EMRVR, problems=5, on_clock=3),
        rounds=5,
        in_quick=False,
    ),
    Case(
        "ripple",
        "1,000 points, sin(ρ)/ρ in two variables (mean of 3)",
        timed(lambda seed: ripple(1000, seed=seed), RVR, EMRVR, problems=5, on_clock=3),
        rounds=5,
        in_quick=False,
    ),
    Case(
        "l1",
        "64×128, k = 16, ℓ1 (mean of 8)",
        timed(
            lambda seed: gaussian(64, 128, 16, seed=seed),
            *("bpdn", CLARABEL, ECOS, SPGL1, "l1_path", LARS, "bp_ard", CLARABEL_ARD),
            problems=100,
            on_clock=8,
        ),
        rounds=10,
        quick_rounds=3,
    ),
    Case(
        "l1-500",
        "500×1000, k = 50, ℓ1",
        timed(
            lambda seed: gaussian(500, 1000, 50, seed=seed),
            *("bpdn", CLARABEL, SPGL1, "l1_path", LARS),
        ),
        rounds=7,
        in_quick=False,
    ),
)

COMPARISONS = (
    Comparison("small", "forward", SPAMS, bound=1.2),
    Comparison("small", "forward", SKLEARN, bound=1 / 8),
    Comparison("small", PREPARED, SPAMS, bound=1.2),
    Comparison("small", PREPARED, SKLEARN, bound=1 / 8),
    Comparison("small", "forward", FASTCAN),
    Comparison("small", "forward", ABESS),
    Comparison("small", "forward", FROLS),
    Comparison("small", "forward", GEMVS),
    Comparison("small", "omp", SKLEARN),
    Comparison("rmp0", "rmp0", FROLS, bound=1 / 20),
    Comparison("rmp0", "rmp0", FASTCAN, bound=1.0, strict=True),
    Comparison("rmp0", "forward", SPAMS),
    Comparison("backward", "backward", LSTSQ, bound=2.0),
    Comparison("subsets", "best_subset", ABESS),
    Comparison("large", "forward", GEMVS, bound=1.1),
    Comparison("large", "omp", GEMVS),
    Comparison("large", "forward", SPAMS),
    Comparison("large", "omp", SKLEARN),
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
    Comparison("memory", memory.RESIDENT, memory.ARRAY, bound=0.05, strict=True),
    Comparison("memory", memory.TRACED, memory.ARRAY, bound=0.05, strict=True),
    Comparison("sbl", "rmp", ARD, bound=1 / 100, judged="evidence"),
    Comparison("sbl", INFERRED, ARD, judged="recovery"),
    Comparison("sbl", MACKAY, ARD, judged="evidence"),
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
    Comparison("ard", "rmp", ARD, bound=1 / 200, judged="evidence"),
    Comparison("ard", INFERRED, ARD, judged="recovery"),
    Comparison("friedman", RVR, EMRVR, bound=1 / 20, judged="error"),
    Comparison("ripple", RVR, EMRVR, bound=1 / 20, judged="error"),
    Comparison("l1", "bpdn", CLARABEL, bound=1 / 10, judged="objective"),
    Comparison("l1", "bpdn", ECOS, bound=1 / 10, judged="objective"),
    Comparison("l1", "bpdn", SPGL1, bound=1 / 5, judged="objective"),
    Comparison("l1", "l1_path", LARS, bound=1.0, judged="objective"),
    Comparison("l1", "bp_ard", CLARABEL_ARD, bound=1 / 10, judged="recovery"),
    Comparison("l1-500", "bpdn", CLARABEL, bound=1 / 50, judged="objective"),
    Comparison("l1-500", "bpdn", SPGL1, judged="objective"),
    Comparison("l1-500", "l1_path", LARS, bound=1.0, judged="objective"),
)
