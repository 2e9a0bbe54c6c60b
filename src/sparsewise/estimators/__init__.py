"""The scikit-learn layer: a constructor, one call, attributes."""

from sparsewise.estimators.relevance_vector import RelevanceVectorRegressor

__all__ = ["RelevanceVectorRegressor"]
