"""Choosing among the models of a path: criteria, leave-one-out, cross-validation."""

from sparsewise.selection.criteria import BY_RESIDUAL as BY_RESIDUAL
from sparsewise.selection.criteria import Criteria as Criteria
