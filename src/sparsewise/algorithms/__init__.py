"""One algorithm, one small file."""

from __future__ import annotations

from collections.abc import Callable

from sparsewise.algorithms.backward import backward
from sparsewise.algorithms.bp import bp
from sparsewise.algorithms.bp_ard import bp_ard
from sparsewise.algorithms.bp_candes import bp_candes
from sparsewise.algorithms.bpdn import bpdn
from sparsewise.algorithms.fast_sbl import fast_sbl
from sparsewise.algorithms.fista import fista
from sparsewise.algorithms.foba import foba
from sparsewise.algorithms.focuss import focuss
from sparsewise.algorithms.forward import forward
from sparsewise.algorithms.gomp import gomp
from sparsewise.algorithms.ista import ista
from sparsewise.algorithms.l1_path import l1_path
from sparsewise.algorithms.lace import lace
from sparsewise.algorithms.mp import mp
from sparsewise.algorithms.oblivious import oblivious
from sparsewise.algorithms.omp import omp
from sparsewise.algorithms.ompr import ompr
from sparsewise.algorithms.rmp import rmp
from sparsewise.algorithms.rmp0 import rmp0
from sparsewise.algorithms.sbl import sbl
from sparsewise.algorithms.srr import srr
from sparsewise.algorithms.stepwise import stepwise
from sparsewise.algorithms.subspace_pursuit import subspace_pursuit
from sparsewise.solution import Solution

ALGORITHMS: dict[str, Callable[..., Solution]] = {
    "oblivious": oblivious,
    "mp": mp,
    "omp": omp,
    "gomp": gomp,
    "forward": forward,
    "backward": backward,
    "lace": lace,
    "rmp0": rmp0,
    "foba": foba,
    "stepwise": stepwise,
    "srr": srr,
    "ompr": ompr,
    "subspace_pursuit": subspace_pursuit,
    "rmp": rmp,
    "fast_sbl": fast_sbl,
    "sbl": sbl,
    "bp": bp,
    "bpdn": bpdn,
    "bp_candes": bp_candes,
    "bp_ard": bp_ard,
    "focuss": focuss,
    "ista": ista,
    "fista": fista,
}
"""Every algorithm by name."""

__all__ = [
    "ALGORITHMS",
    "backward",
    "bp",
    "bp_ard",
    "bp_candes",
    "bpdn",
    "fast_sbl",
    "fista",
    "foba",
    "focuss",
    "forward",
    "gomp",
    "ista",
    "l1_path",
    "lace",
    "mp",
    "oblivious",
    "omp",
    "ompr",
    "rmp",
    "rmp0",
    "sbl",
    "srr",
    "stepwise",
    "subspace_pursuit",
]
