"""Designs: the only code that knows how the matrix A is stored."""

from sparsewise.design.base import Design as Design
from sparsewise.design.centred import Centred as Centred
from sparsewise.design.choose import as_design as as_design
from sparsewise.design.dask import DaskDesign as DaskDesign
from sparsewise.design.dense import DenseDesign as DenseDesign
from sparsewise.design.operator import OperatorDesign as OperatorDesign
from sparsewise.design.rows import Rows as Rows
from sparsewise.design.sparse import SparseDesign as SparseDesign
from sparsewise.design.weighted import Weighted as Weighted
