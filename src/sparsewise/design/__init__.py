"""How columns are reached: the only code that knows how A is stored."""

from sparsewise.design.base import Design
from sparsewise.design.choose import as_design
from sparsewise.design.dense import DenseDesign
from sparsewise.design.operator import OperatorDesign
from sparsewise.design.sparse import SparseDesign

__all__ = ["DenseDesign", "Design", "OperatorDesign", "SparseDesign", "as_design"]
