"""The algorithms: one small file each, which registers itself in `ALGORITHMS`.

They are imported here in the order in which they are presented. Four are not registered:
`l1_path` returns a path rather than a model, `posterior` the probabilities of all models,
`best_subset` is for small problems only, and `encode` runs the others on many signals.
"""

# Names imported with `as` are part of the package's interface.
from sparsewise.algorithms.registry import ALGORITHMS as ALGORITHMS
from sparsewise.algorithms.registry import Algorithm as Algorithm
from sparsewise.algorithms.registry import Family as Family

from sparsewise.algorithms.solve import solve as solve
from sparsewise.algorithms.oblivious import oblivious as oblivious
from sparsewise.algorithms.mp import mp as mp
from sparsewise.algorithms.omp import omp as omp
from sparsewise.algorithms.gomp import gomp as gomp
from sparsewise.algorithms.forward import forward as forward
from sparsewise.algorithms.backward import backward as backward
from sparsewise.algorithms.lace import lace as lace
from sparsewise.algorithms.rmp0 import rmp0 as rmp0
from sparsewise.algorithms.foba import foba as foba
from sparsewise.algorithms.stepwise import stepwise as stepwise
from sparsewise.algorithms.srr import srr as srr
from sparsewise.algorithms.ompr import ompr as ompr
from sparsewise.algorithms.subspace_pursuit import subspace_pursuit as subspace_pursuit
from sparsewise.algorithms.rmp import rmp as rmp
from sparsewise.algorithms.fast_sbl import fast_sbl as fast_sbl
from sparsewise.algorithms.sbl import sbl as sbl
from sparsewise.algorithms.bp import bp as bp
from sparsewise.algorithms.bpdn import bpdn as bpdn
from sparsewise.algorithms.bp_candes import bp_candes as bp_candes
from sparsewise.algorithms.bp_ard import bp_ard as bp_ard
from sparsewise.algorithms.focuss import focuss as focuss
from sparsewise.algorithms.ista import ista as ista
from sparsewise.algorithms.fista import fista as fista

from sparsewise.algorithms.best_subset import best_subset as best_subset
from sparsewise.algorithms.encode import encode as encode
from sparsewise.algorithms.l1_path import l1_path as l1_path
from sparsewise.algorithms.posterior import posterior as posterior
