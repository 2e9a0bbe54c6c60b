"""Sparse models by stepwise regression, matching pursuit and Sparse Bayesian Learning.

>>> import numpy as np, sparsewise as sw
>>> A = np.random.default_rng(0).standard_normal((50, 200))
>>> y = A[:, [3, 77]] @ [2.0, -1.0]
>>> sw.rmp0(A, y, delta=1e-6).support
array([ 3, 77])
"""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

# What `import ... as ...` and `import *` name is public; every algorithm is among it.
from sparsewise.algorithms import *  # noqa: F403
from sparsewise.design import Design as Design
from sparsewise.design import OperatorDesign as OperatorDesign
from sparsewise.design import as_design as as_design
from sparsewise.errors import InputError as InputError
from sparsewise.errors import InputTypeError as InputTypeError
from sparsewise.errors import InputWarning as InputWarning
from sparsewise.guarantees import Certificate as Certificate
from sparsewise.guarantees import babel as babel
from sparsewise.guarantees import backward_noise_bound as backward_noise_bound
from sparsewise.guarantees import certify as certify
from sparsewise.guarantees import coherence as coherence
from sparsewise.guarantees import exact_recovery as exact_recovery
from sparsewise.guarantees import forward_noise_bound as forward_noise_bound
from sparsewise.guarantees import forward_recovery_probability as forward_recovery_probability
from sparsewise.guarantees import recovery_probability as recovery_probability
from sparsewise.problem.problem import DependentColumnsError as DependentColumnsError
from sparsewise.problem.targets import Targets as Targets
from sparsewise.results import BayesianCheck as BayesianCheck
from sparsewise.results import BayesianSolution as BayesianSolution
from sparsewise.results import BestSubsets as BestSubsets
from sparsewise.results import Check as Check
from sparsewise.results import Codes as Codes
from sparsewise.results import CodesCheck as CodesCheck
from sparsewise.results import CredibleSet as CredibleSet
from sparsewise.results import L1Check as L1Check
from sparsewise.results import L1Path as L1Path
from sparsewise.results import L1Solution as L1Solution
from sparsewise.results import Model as Model
from sparsewise.results import ModelPosterior as ModelPosterior
from sparsewise.results import MultistartCheck as MultistartCheck
from sparsewise.results import MultistartSolution as MultistartSolution
from sparsewise.results import Path as Path
from sparsewise.results import Reweighted as Reweighted
from sparsewise.results import ShrunkSolution as ShrunkSolution
from sparsewise.results import Solution as Solution
from sparsewise.results import Start as Start
from sparsewise.results import Step as Step
from sparsewise.results import Stop as Stop
from sparsewise.suffstats.condensed import Condensed as Condensed
from sparsewise.suffstats.gram import from_gram as from_gram
from sparsewise.version import __version__ as __version__

if TYPE_CHECKING:
    from sparsewise.estimators import BasisPursuitRegressor as BasisPursuitRegressor
    from sparsewise.estimators import PursuitRegressor as PursuitRegressor
    from sparsewise.estimators import RelevanceVectorRegressor as RelevanceVectorRegressor
    from sparsewise.estimators import SparseBayesRegressor as SparseBayesRegressor
    from sparsewise.estimators import SparseRegressor as SparseRegressor
    from sparsewise.estimators import StepwiseRegressor as StepwiseRegressor
    from sparsewise.inference import SelectiveTests as SelectiveTests
    from sparsewise.inference import StabilitySelection as StabilitySelection
    from sparsewise.inference import selective_tests as selective_tests
    from sparsewise.plots import CoefficientDisplay as CoefficientDisplay
    from sparsewise.plots import CriterionDisplay as CriterionDisplay
    from sparsewise.plots import PathDisplay as PathDisplay
    from sparsewise.plots import ResidualDisplay as ResidualDisplay
    from sparsewise.plots import StabilityDisplay as StabilityDisplay

_ON_DEMAND = {
    "estimators": (
        "BasisPursuitRegressor",
        "PursuitRegressor",
        "RelevanceVectorRegressor",
        "SparseBayesRegressor",
        "SparseRegressor",
        "StepwiseRegressor",
    ),
    "inference": ("SelectiveTests", "StabilitySelection", "selective_tests"),
    "plots": (
        "CoefficientDisplay",
        "CriterionDisplay",
        "PathDisplay",
        "ResidualDisplay",
        "StabilityDisplay",
    ),
}
"""By room: scikit-learn takes longer to import than all the rest, and matplotlib is an extra."""


def __dir__() -> list[str]:
    """Everything public, what is imported on demand included: what completion shows."""
    here = (
        name
        for name, value in globals().items()
        if getattr(value, "__module__", "sparsewise").startswith("sparsewise")
        and not name.startswith("_")
        and not isinstance(value, ModuleType)
    )
    on_demand = (name for names in _ON_DEMAND.values() for name in names)
    return sorted({*here, *on_demand} - {"annotations", "TYPE_CHECKING", "Any"})


if not TYPE_CHECKING:  # a checker knows these names, and should find those that don't exist

    def __getattr__(name: str) -> Any:
        """Estimators and displays on demand, and what ``import *`` takes."""
        if name == "__all__":
            return __dir__()
        for room, names in _ON_DEMAND.items():
            if name in names:
                return getattr(import_module(f"sparsewise.{room}"), name)
        raise AttributeError(f"module 'sparsewise' has no attribute {name!r}")
