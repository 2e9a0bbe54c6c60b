"""The scikit-learn layer: a constructor, one call, attributes."""

from sparsewise.estimators.basis_pursuit import BasisPursuitRegressor
from sparsewise.estimators.by_algorithm import for_algorithm
from sparsewise.estimators.pursuit import PursuitRegressor
from sparsewise.estimators.relevance_vector import RelevanceVectorRegressor
from sparsewise.estimators.sparse_bayes import SparseBayesRegressor
from sparsewise.estimators.sparse_regressor import SparseRegressor
from sparsewise.estimators.stepwise import StepwiseRegressor

__all__ = [
    "BasisPursuitRegressor",
    "PursuitRegressor",
    "RelevanceVectorRegressor",
    "SparseBayesRegressor",
    "SparseRegressor",
    "StepwiseRegressor",
    "for_algorithm",
]
