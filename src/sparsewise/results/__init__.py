"""What algorithms return: solutions, the paths to them, why they ended, and their checks."""

from sparsewise.results.bayesian import (
    MINOR,
    BayesianSolution,
    InferredNoise,
    log_evidence,
    mean_log,
    weight,
)
from sparsewise.results.best_subsets import BestSubsets, Progress
from sparsewise.results.check import BayesianCheck, Check, L1Check, MultistartCheck
from sparsewise.results.codes import Codes, CodesCheck
from sparsewise.results.l1 import L1Path, L1Solution, Reweighted, Round
from sparsewise.results.multistart import MultistartSolution, Start, each_sigma
from sparsewise.results.path import Model, Path, Stretch
from sparsewise.results.shrunk import ShrunkSolution
from sparsewise.results.solution import Posterior, Solution
from sparsewise.results.step import Action, Step
from sparsewise.results.stop import Stop

__all__ = [
    "MINOR",
    "Action",
    "BayesianCheck",
    "BayesianSolution",
    "BestSubsets",
    "Check",
    "Codes",
    "CodesCheck",
    "InferredNoise",
    "L1Check",
    "L1Path",
    "L1Solution",
    "Model",
    "MultistartCheck",
    "MultistartSolution",
    "Path",
    "Posterior",
    "Progress",
    "Reweighted",
    "Round",
    "ShrunkSolution",
    "Solution",
    "Start",
    "Step",
    "Stop",
    "Stretch",
    "each_sigma",
    "log_evidence",
    "mean_log",
    "weight",
]
