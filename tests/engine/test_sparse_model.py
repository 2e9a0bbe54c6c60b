"""What least squares and Sparse Bayesian Learning share, and that neither can spoil the other."""

from sparsewise.engine.active_set import ActiveSet
from sparsewise.engine.bayes.evidence import Evidence
from sparsewise.engine.sparse_model import SparseModel

LEAST_SQUARES = {"add", "drop", "grow", "shrink", "fill", "return_to", "gains", "losses"}
BAYESIAN = {"acquire", "revise", "ascend", "restore", "merge_copies", "noise", "log_evidence"}


def test_neither_has_the_verbs_of_the_other():
    assert set(dir(ActiveSet)) >= LEAST_SQUARES
    assert set(dir(Evidence)) >= BAYESIAN
    assert not set(dir(Evidence)) & LEAST_SQUARES
    assert not set(dir(ActiveSet)) & BAYESIAN
    assert not set(dir(SparseModel)) & (LEAST_SQUARES | BAYESIAN)
