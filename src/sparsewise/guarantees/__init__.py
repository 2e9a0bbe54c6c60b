"""Recovery guarantees and optimality certificates (section 4 of the paper)."""

from sparsewise.guarantees.certificate import Certificate, certify
from sparsewise.guarantees.dictionary import ExactRecovery, babel, coherence, exact_recovery
from sparsewise.guarantees.recovery import (
    BackwardBound,
    ForwardBound,
    RecoveryProbability,
    backward_noise_bound,
    forward_noise_bound,
    forward_recovery_probability,
    recovery_probability,
)
from sparsewise.subsets.exchanges import Swap

__all__ = [
    "BackwardBound",
    "Certificate",
    "ExactRecovery",
    "ForwardBound",
    "RecoveryProbability",
    "Swap",
    "babel",
    "backward_noise_bound",
    "certify",
    "coherence",
    "exact_recovery",
    "forward_noise_bound",
    "forward_recovery_probability",
    "recovery_probability",
]
