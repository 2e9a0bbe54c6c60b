"""Results of checking a solution from the data alone."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, TypeVar

from sparsewise._typing import Array

C = TypeVar("C", bound="Check")


@dataclass(frozen=True)
class Check:
    """The result of `Solution.check`, which recomputes a solution from the data alone.

    Attributes
    ----------
    ok : bool
        Whether everything below holds to the precision of the data.
    residual_norm : float
        ‖y - A coef‖, recomputed.
    residual_error : float
        Its difference from the stated one, relative to ‖y‖.
    normal_equations : float
        max over the support of |a_j* r| / (‖a_j‖ ‖y‖): zero for least squares. With a ridge, of
        |u_j* r - ridge z_j| / ‖y‖ for unit columns u_j and their coefficients z_j.
    support_ok : bool
        The support is ascending, within range, and holds every non-zero coefficient.
    residual_norms : ndarray of shape (q,)
        ‖y_t - A coef_t‖ of each target, in its own units.
    """

    ok: bool
    residual_norm: float
    residual_error: float
    normal_equations: float
    support_ok: bool
    residual_norms: Array = field(repr=False, compare=False)

    def extended(self, kind: type[C], **figures: Any) -> C:
        """The same check with further figures, or others in place of its own."""
        return kind(**vars(self) | figures)

    def __repr__(self) -> str:
        return f"{self._opening}; normal equations {self.normal_equations:.1e}; {self._support})"

    @property
    def _opening(self) -> str:
        verdict = "holds" if self.ok else "DOES NOT HOLD"
        residual = f"(residual {self.residual_norm:.6g}, off by {self.residual_error:.1e}"
        return f"Check: the solution {verdict} {residual}"

    @property
    def _support(self) -> str:
        return f"support {'consistent' if self.support_ok else 'inconsistent'}"


@dataclass(frozen=True, repr=False)
class BayesianCheck(Check):
    """The result of `BayesianSolution.check`.

    Attributes
    ----------
    posterior_error : float
        Largest relative difference of mean and covariance from those of gamma and sigma.
    log_evidence_error : float
        Difference of the stated log evidence from the one of gamma and sigma.
    possible_increase : float
        By how much changing a single gamma (adding, deleting, re-estimating) could raise
        log_evidence - price·(number of features).
    increase_by_noise : float
        By how much another sigma, with gamma/sigma² fixed, could raise the log evidence (and the
        log of its prior); a smaller sigma counts only if features pay at least log m. 0 if sigma
        was given.
    path_error : float
        By how much ‖r‖ told of models on the path differs at most from that of their coefficients,
        relative to ‖y‖; NaN where these are out of range. `ok` doesn't depend on it: models on the
        way are not refitted, and where columns are nearly dependent they have fewer digits than the
        answer.
    """

    posterior_error: float = 0.0
    log_evidence_error: float = 0.0
    possible_increase: float = 0.0
    increase_by_noise: float = 0.0
    path_error: float = 0.0

    def __repr__(self) -> str:
        return (
            f"{self._opening};\n"
            f"  posterior off by {self.posterior_error:.1e}; evidence off by "
            f"{self.log_evidence_error:.1e};\n  no change of one gamma raises it by more than "
            f"{self.possible_increase:.1e}, another sigma by {self.increase_by_noise:.1e};\n"
            f"  {self._support}; models on the path off by {self.path_error:.1e})"
        )


@dataclass(frozen=True, repr=False)
class MultistartCheck(Check):
    """The result of `MultistartSolution.check`.

    Attributes
    ----------
    sigma_error, covariance_error : float
        Largest differences of the stated noise and covariance from those of these columns,
        relative to the noise and to the standard deviations.
    score_error, chance_error : float
        Differences of the stated score and chance from those of these columns.
    possible_fall : float
        By how much adding, dropping or exchanging a single column could lower the score.
    """

    sigma_error: float = 0.0
    covariance_error: float = 0.0
    score_error: float = 0.0
    chance_error: float = 0.0
    possible_fall: float = 0.0

    def __repr__(self) -> str:
        return (
            f"{self._opening};\n  sigma off by {self.sigma_error:.1e}, covariance by "
            f"{self.covariance_error:.1e}; score off by {self.score_error:.1e}, chance by "
            f"{self.chance_error:.1e};\n  no addition, deletion or exchange of one column lowers "
            f"the score by more than {self.possible_fall:.1e};\n  {self._support})"
        )


@dataclass(frozen=True)
class L1Check(Check):
    """The result of `L1Solution.check`: optimality from the data and the dual vector alone.

    Attributes
    ----------
    infeasibility : float
        By how much ‖r‖ exceeds its bound, relative to ‖y‖.
    dual_infeasibility : float
        The largest relative excess of |a_j*ν| over w_j.
    gap : float
        The difference of primal and dual objective, relative to the larger.
    """

    infeasibility: float
    dual_infeasibility: float
    gap: float

    def __repr__(self) -> str:
        return (
            f"{super().__repr__()[:-1]}; bound exceeded by {self.infeasibility:.1e}, dual by "
            f"{self.dual_infeasibility:.1e}; duality gap {self.gap:.1e})"
        )
