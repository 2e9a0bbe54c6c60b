"""What the recovery guarantees promise, as a figure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from sparsewise.guarantees.recovery import (
    RecoveryProbability,
    orthonormal_recovery_probability,
)
from sparsewise.guarantees.recovery import recovery_probability as figures
from sparsewise.plots.style import new_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def recovery_probability(
    m: int = 16,
    k: Sequence[int] = (1, 2, 4, 8),
    *,
    delta: ArrayLike | None = None,
    mu_k: float = 0.0,
    mu_2k: float = 0.0,
    ax: Axes | None = None,
) -> Axes:
    """Bounds on the probability of recovery against δ: Fig. 1 of the paper.

    Drawn are the bound of Cai and Wang, the proved bound erf(δ/√2)^m, Thm. 4.5 as printed for each
    k, and, since the last is above it, what OMP and Forward Regression really achieve with
    orthonormal columns and the largest k.

    Parameters
    ----------
    m : int
        Number of columns.
    k : sequence of int
        Numbers of non-zero coefficients.
    delta : array-like, optional
        Where to draw, δ = (1/2 - μ₁(k)) min|x_i| / σ; from 0 to 5 by default.
    mu_k, mu_2k : float
        μ₁(k) and μ₁(2k); 0 for orthonormal columns.
    ax : matplotlib Axes, optional
        Where to draw; by default a new figure.

    Returns
    -------
    matplotlib Axes
    """
    at = np.linspace(0.02, 5, 250) if delta is None else np.asarray(delta, dtype=float)
    if ax is None:
        ax = new_axes(7, 4.5)

    def curve(size: int, which: str) -> list[float]:
        found: list[RecoveryProbability] = [figures(m, size, d, mu_k, mu_2k) for d in at]
        return [getattr(point, which) for point in found]

    shades = np.linspace(0.35, 0.9, len(k))
    for size, shade in zip(k, shades, strict=True):
        label = f"Thm. 4.5 as printed, k = {size}"
        ax.plot(at, curve(size, "theorem"), color=_blue(shade), linewidth=1.4, label=label)
    ax.plot(at, curve(1, "bound"), color="black", linewidth=2.2, label="proved here, any k")
    ax.plot(at, curve(1, "older"), color="tab:red", linestyle="--", label="Cai and Wang, any k")
    if mu_2k == 0:
        exact = [orthonormal_recovery_probability(m, max(k), d) for d in at]
        label = f"achieved with orthonormal columns, k = {max(k)}"
        ax.plot(at, exact, color="tab:green", linestyle=":", linewidth=2, label=label)
    ax.set(
        xlabel=r"$\delta = (1/2 - \mu_1(k)) \, \min|x_i| \, / \, \sigma$",
        ylabel="probability of recovery, at least",
        xlim=(0, float(at.max())),
        ylim=(-0.02, 1.02),
        title=f"OMP and Forward Regression, m = {m} columns",
    )
    ax.grid(alpha=0.3)
    ax.legend(frameon=False, fontsize="small", loc="lower right")
    return ax


def _blue(shade: float) -> tuple[float, ...]:
    """Light for 0, dark for 1."""
    light, dark = np.array([0.75, 0.87, 0.97]), np.array([0.03, 0.19, 0.42])
    return tuple((light + shade * (dark - light)).tolist())
