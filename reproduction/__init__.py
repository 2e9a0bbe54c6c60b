"""Experiments and benchmarks of sparsewise, beside the package: ``python -m reproduction``.

Experiments (`paper`, `beyond`, `shared_support`, or a file of your own) say how often supports are
recovered; `benchmarks` says how long that takes, beside other packages. Both run on one thread: the
variables below are read when a BLAS or an OpenMP runtime is loaded, so they are set before numpy is.
"""

import os

THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "NUMBA_NUM_THREADS",
)

for _variable in THREAD_VARIABLES:
    os.environ[_variable] = "1"
