"""What a model costs, from its loss and its degrees of freedom."""

from sparsewise.criteria.base import Criterion as Criterion
from sparsewise.criteria.base import OwnCriterion as OwnCriterion
from sparsewise.criteria.information import Criteria as Criteria
