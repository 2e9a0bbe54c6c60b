"""Sparse models by stepwise regression and matching pursuit.

>>> import numpy as np, sparsewise as sw
>>> A = np.random.default_rng(0).standard_normal((50, 200))
>>> y = A[:, [3, 77]] @ [2.0, -1.0]
>>> sw.rmp0(A, y, delta=1e-6).support
array([ 3, 77])
"""

from sparsewise.algorithms import (
    ALGORITHMS,
    backward,
    foba,
    forward,
    gomp,
    lace,
    mp,
    oblivious,
    omp,
    ompr,
    rmp0,
    srr,
    subspace_pursuit,
)
from sparsewise.design import Design, OperatorDesign, as_design
from sparsewise.problem import DependentColumnsError
from sparsewise.solution import Check, Model, Path, Solution, Step, Stop

__version__ = "0.1.0"

__all__ = [
    "ALGORITHMS",
    "Check",
    "DependentColumnsError",
    "Design",
    "Model",
    "OperatorDesign",
    "Path",
    "Solution",
    "Step",
    "Stop",
    "as_design",
    "backward",
    "foba",
    "forward",
    "gomp",
    "lace",
    "mp",
    "oblivious",
    "omp",
    "ompr",
    "rmp0",
    "srr",
    "subspace_pursuit",
]
