"""Designs: the only code that knows how the matrix A is stored."""

from sparsewise.design.base import Design
from sparsewise.design.centred import Centred
from sparsewise.design.choose import as_design
from sparsewise.design.dask import DaskDesign
from sparsewise.design.dense import DenseDesign
from sparsewise.design.operator import OperatorDesign
from sparsewise.design.rows import Rows
from sparsewise.design.sparse import SparseDesign
from sparsewise.design.weighted import Weighted

__all__ = [
    "Centred",
    "DaskDesign",
    "DenseDesign",
    "Design",
    "OperatorDesign",
    "Rows",
    "SparseDesign",
    "Weighted",
    "as_design",
]
