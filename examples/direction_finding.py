"""Direction finding: two sources closer than a beamwidth, told apart by their shared support.

A uniform line of 12 sensors, half a wavelength apart, takes 50 snapshots of two sources that are
five degrees apart. A beam of this array is some eight degrees wide: the conventional spectrum, the
mean of |a(θ)*y|² over snapshots, has a single hump. All snapshots share their directions, and that
is one support for 50 complex targets: M-SBL (`sbl` with targets of shape (n, q)) gives each
direction of a grid one prior variance for all snapshots, its power, and finds both. Simultaneous
OMP begins at the top of the hump, between the sources, and never leaves it.

    python examples/direction_finding.py [FIGURE]
"""

from __future__ import annotations

import sys
from typing import NamedTuple

import numpy as np

import sparsewise as sw

SENSORS, SNAPSHOTS = 12, 50
DIRECTIONS = (-2.0, 3.0)  # degrees from broadside
NOISE = 10 ** (-10 / 20)  # at each sensor 10 dB below a source
GRID = np.arange(-90, 90.5, 0.5)


class Found(NamedTuple):
    """Powers of the beamformer at every direction, and the two solutions."""

    beamformer: np.ndarray
    omp: sw.Solution
    sbl: sw.Solution


def steering(degrees) -> np.ndarray:
    """What a source of amplitude one in each direction is at the sensors, one a column."""
    return np.exp(1j * np.pi * np.outer(np.arange(SENSORS), np.sin(np.deg2rad(degrees))))


def circular(rng: np.random.Generator, *shape: int) -> np.ndarray:
    """Complex normal numbers of mean square one."""
    return (rng.standard_normal(shape) + 1j * rng.standard_normal(shape)) / np.sqrt(2)


def snapshots(seed: int = 0) -> np.ndarray:
    """What the sensors record of sources of unit power, one snapshot a column."""
    rng = np.random.default_rng(seed)
    sources = circular(rng, len(DIRECTIONS), SNAPSHOTS)
    return steering(DIRECTIONS) @ sources + NOISE * circular(rng, SENSORS, SNAPSHOTS)


def find(Y: np.ndarray) -> Found:
    """Directions by beamforming, simultaneous OMP and M-SBL."""
    A = steering(GRID)
    beamformer = np.mean(np.abs(A.conj().T @ Y / SENSORS) ** 2, axis=1)
    # The noise is equal in all snapshots, loud or quiet: so are their weights.
    together = sw.Targets(Y, weights=np.ones(SNAPSHOTS))
    omp = sw.omp(A, together, sparsity=len(DIRECTIONS))
    sbl = sw.sbl(A, together, sigma=NOISE, updates="mackay", price=np.log(GRID.size))
    return Found(beamformer, omp, sbl)


def powers(solution: sw.Solution) -> np.ndarray:
    """Mean square, over snapshots, of what comes from each direction that was found."""
    return np.mean(np.abs(solution.coef[solution.support]) ** 2, axis=1)


def draw(found: Found, file: str) -> None:
    """The conventional spectrum, and what the two others make of it."""
    import matplotlib.pyplot as plt
    from matplotlib.ticker import MultipleLocator

    style = {"font.size": 11, "svg.hashsalt": "sparsewise", "axes.axisbelow": True}
    with plt.rc_context(style):
        figure, ax = plt.subplots(figsize=(8.4, 4.6), layout="constrained")
        floor = -24
        for i, degrees in enumerate(DIRECTIONS):
            label = "" if i else "sources"
            ax.axvline(degrees, color="#8a8a8a", linewidth=1.2, linestyle=(0, (4, 3)), label=label)
        spectrum = decibels(found.beamformer)
        ax.fill_between(GRID, floor, spectrum, color="#56B4E9", alpha=0.18, linewidth=0)
        ax.plot(GRID, spectrum, color="#0072B2", linewidth=2, label="beamformer")
        for solution, colour, marker, name in (
            (found.omp, "#D55E00", "s", "simultaneous OMP"),
            (found.sbl, "#00805C", "o", "M-SBL"),
        ):
            at, heights = GRID[solution.support], decibels(powers(solution))
            ax.vlines(at, floor, heights, color=colour, linewidth=2.4)
            ax.plot(at, heights, marker, color=colour, markersize=8, label=name)
        ax.set(xlim=(-30, 30), ylim=(floor, 5), xlabel="direction", ylabel="power in dB")
        ax.xaxis.set_major_locator(MultipleLocator(5))
        ax.xaxis.set_major_formatter("{x:g}°")
        ax.grid(color="#e4e4e4", linewidth=0.8)
        ax.spines[["top", "right"]].set_visible(False)
        ax.legend(loc="upper left", frameon=False)
        ax.set_title(
            f"Two sources, {SENSORS} sensors, {SNAPSHOTS} snapshots at 10 dB",
            loc="left", fontweight="bold",
        )  # fmt: skip
        figure.savefig(file, metadata={"Date": None} if file.endswith("svg") else None)
        plt.close(figure)


def decibels(power: np.ndarray) -> np.ndarray:
    """Relative to a source."""
    return 10 * np.log10(power)


def main(file: str | None = None) -> Found:
    """Find, say what was found, and draw it."""
    found = find(snapshots())
    width = np.rad2deg(0.886 * 2 / SENSORS)
    print(f"sources at        {DIRECTIONS}, a beam is {width:.1f} degrees wide")
    print(f"simultaneous OMP  {GRID[found.omp.support].tolist()}")
    print(f"M-SBL             {GRID[found.sbl.support].tolist()}")
    if file is not None:
        draw(found, file)
    return found


if __name__ == "__main__":
    main(*sys.argv[1:2])
