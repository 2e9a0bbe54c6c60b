"""Squared residuals as shares of the target's: what is left, and what is explained."""

from __future__ import annotations

import math

from sparsewise.criteria.base import EXACT

WITHOUT_INTERCEPT = "without an intercept, R² compares with 0 rather than with the mean"


def rounded(squared: float, total: float, exact: float = EXACT) -> float:
    """Return a squared residual, zero if it is rounding error."""
    return squared if squared > exact * total else 0.0


def share(squared: float, total: float) -> float | None:
    """Return the share of the target's squared norm that is explained; None if it has none."""
    return 1 - squared / total if total > 0 else None


def r_squared(part: float | None) -> str:
    """Return that share in four decimals."""
    # Adding 0 takes the sign off a zero.
    return "-" if part is None else f"{round(part, 4) + 0.0:.4f}"


def finite(value: float) -> float | None:
    """Return the value, or None for an infinite one, which JSON doesn't know."""
    return value if math.isfinite(value) else None
