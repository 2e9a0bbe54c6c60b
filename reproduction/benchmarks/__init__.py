"""Benchmarks of sparsewise against its peers: ``python -m reproduction.benchmarks``.

One thread for everybody: the variables below are read when a BLAS or an OpenMP runtime is loaded,
so they have to be set before numpy is, which is why they are set here.
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
