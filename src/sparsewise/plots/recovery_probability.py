"""Recovery guarantees as a figure (Fig. 1 of the paper)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from sparsewise._typing import Array
from sparsewise.guarantees.recovery import orthonormal_recovery_probability
from sparsewise.guarantees.recovery import recovery_probability as figures
from sparsewise.plots.style import new_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes


Curve = tuple[Sequence[float] | Array, Sequence[float] | Array]
"""Values of δ, and the bound at each."""

LINES: dict[str, dict[str, Any]] = {
    "bound": {"color": "black", "linewidth": 2.4},
    "older": {"color": "#d55e00", "linestyle": "--", "linewidth": 1.8},
    "achieved": {"color": "#00805c", "linestyle": ":", "linewidth": 2.4},
}
"""Line styles of the other bounds, by kind."""


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

    Draws the bound of Cai and Wang, the proved bound erf(δ/√2)^m, Thm. 4.5 as printed for each k,
    and, since the last exceeds it, the probability that OMP and Forward Regression achieve with
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
    ax = new_axes(7, 4.5) if ax is None else ax

    def curve(size: int, which: str) -> list[float]:
        return [getattr(figures(m, size, d, mu_k, mu_2k), which) for d in at]

    others = {
        "bound": ("proved here, any k", (at, curve(1, "bound"))),
        "older": ("Cai and Wang, any k", (at, curve(1, "older"))),
    }
    if mu_2k == 0:
        exact = [orthonormal_recovery_probability(m, max(k), d) for d in at]
        label = f"achieved with orthonormal columns, k = {max(k)}"
        others["achieved"] = (label, (at, exact))
    printed = {size: (at, curve(size, "theorem")) for size in k}
    draw_bounds(ax, "Thm. 4.5 as printed", printed, others)
    ax.set_title(f"OMP and Forward Regression, m = {m} columns")
    ax.grid(alpha=0.3)
    return ax


def draw_bounds(
    ax: Axes,
    theorem: str,
    printed: Mapping[int, Curve],
    others: Mapping[str, tuple[str, Curve]],
) -> None:
    """Draw bounds on the probability of recovery against δ in one Axes.

    Parameters
    ----------
    ax : matplotlib Axes
        Where to draw.
    theorem : str
        The label of Thm. 4.5 as printed.
    printed : mapping
        Its curve for each k.
    others : mapping
        By kind, a key of `LINES`: a label and a curve.
    """
    for k, shade in zip(printed, np.linspace(0.25, 1.0, len(printed)), strict=True):
        label = f"{theorem}, k = {k}"
        ax.plot(*printed[k], color=_blue(float(shade)), linewidth=1.6, label=label)
    for kind, (label, curve) in others.items():
        ax.plot(*curve, label=label, **LINES[kind])
    drawn = [*printed.values(), *(curve for _, curve in others.values())]
    ax.set(
        xlabel=r"$\delta = (1/2 - \mu_1(k)) \, \min|x_i| \, / \, \sigma$",
        ylabel="probability of recovery, at least",
        xlim=(0, float(max(max(at) for at, _ in drawn))),
        ylim=(-0.02, 1.02),
    )
    ax.legend(frameon=False, fontsize="small", loc="lower right")


def _blue(shade: float) -> tuple[float, ...]:
    """A blue from light (0) to dark (1)."""
    light, dark = np.array([0.75, 0.87, 0.97]), np.array([0.03, 0.19, 0.42])
    return tuple((light + shade * (dark - light)).tolist())
