"""Choosing among the models of a path: criteria, leave-one-out, cross-validation."""

from sparsewise.criteria.information import BY_LOSS as BY_LOSS
from sparsewise.criteria.information import Criteria as Criteria
