"""Sparse models by stepwise regression, matching pursuit and Sparse Bayesian Learning.

>>> import numpy as np, sparsewise as sw
>>> A = np.random.default_rng(0).standard_normal((50, 200))
>>> y = A[:, [3, 77]] @ [2.0, -1.0]
>>> sw.rmp0(A, y, delta=1e-6).support
array([ 3, 77])
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sparsewise.algorithms import (
    ALGORITHMS,
    backward,
    bp,
    bp_ard,
    bp_candes,
    bpdn,
    fast_sbl,
    fista,
    foba,
    focuss,
    forward,
    gomp,
    ista,
    l1_path,
    lace,
    mp,
    oblivious,
    omp,
    ompr,
    rmp,
    rmp0,
    sbl,
    srr,
    stepwise,
    subspace_pursuit,
)
from sparsewise.algorithms.best_subset import best_subset
from sparsewise.design import Design, OperatorDesign, as_design
from sparsewise.guarantees import (
    Certificate,
    babel,
    backward_noise_bound,
    certify,
    coherence,
    exact_recovery,
    forward_noise_bound,
    forward_recovery_probability,
    recovery_probability,
)
from sparsewise.problem import DependentColumnsError
from sparsewise.results import (
    BayesianCheck,
    BayesianSolution,
    BestSubsets,
    Check,
    L1Check,
    L1Path,
    L1Solution,
    Model,
    Path,
    Reweighted,
    Solution,
    Step,
    Stop,
)
from sparsewise.version import __version__ as __version__

if TYPE_CHECKING:
    from sparsewise.estimators import (
        BasisPursuitRegressor,
        PursuitRegressor,
        RelevanceVectorRegressor,
        SparseBayesRegressor,
        StepwiseRegressor,
    )
    from sparsewise.plots import CoefficientDisplay, CriterionDisplay, PathDisplay

__all__ = [
    "ALGORITHMS",
    "BasisPursuitRegressor",
    "BayesianCheck",
    "BayesianSolution",
    "BestSubsets",
    "Certificate",
    "Check",
    "CoefficientDisplay",
    "CriterionDisplay",
    "DependentColumnsError",
    "Design",
    "L1Check",
    "L1Path",
    "L1Solution",
    "Model",
    "OperatorDesign",
    "Path",
    "PathDisplay",
    "PursuitRegressor",
    "RelevanceVectorRegressor",
    "Reweighted",
    "Solution",
    "SparseBayesRegressor",
    "Step",
    "StepwiseRegressor",
    "Stop",
    "as_design",
    "babel",
    "backward",
    "backward_noise_bound",
    "best_subset",
    "bp",
    "bp_ard",
    "bp_candes",
    "bpdn",
    "certify",
    "coherence",
    "exact_recovery",
    "fast_sbl",
    "fista",
    "foba",
    "focuss",
    "forward",
    "forward_noise_bound",
    "forward_recovery_probability",
    "gomp",
    "ista",
    "l1_path",
    "lace",
    "mp",
    "oblivious",
    "omp",
    "ompr",
    "recovery_probability",
    "rmp",
    "rmp0",
    "sbl",
    "srr",
    "stepwise",
    "subspace_pursuit",
]


def __getattr__(name: str) -> Any:
    """Estimators and displays on demand: scikit-learn takes longer to import than all the rest."""
    if name.endswith("Regressor") and name in __all__:
        from sparsewise import estimators

        return getattr(estimators, name)
    if name.endswith("Display") and name in __all__:
        from sparsewise import plots

        return getattr(plots, name)
    raise AttributeError(f"module 'sparsewise' has no attribute {name!r}")
