"""What a model costs, from its loss and its degrees of freedom."""

from sparsewise.criteria.information import Criteria as Criteria
