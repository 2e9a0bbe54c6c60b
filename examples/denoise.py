"""Denoise an image by patches: ``python examples/denoise.py [PICTURE]``.

Every patch of 8×8 pixels is a signal. Its code has as many atoms of a dictionary as it takes to
come within the noise, and what the codes make of overlapping patches is averaged (Elad and Aharon
2006). The dictionary begins as cosines and learns from the noisy patches: codes, then least squares
for the atoms, in turn (the method of optimal directions; Engan, Aase and Husøy 1999).
"""

from __future__ import annotations

import sys

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

import sparsewise as sw

SIDE = 8
"""Pixels of a patch, each way."""


def cosines(side: int = SIDE, count: int = 16) -> np.ndarray:
    """count² products of cosines, unit columns; all but the constant one have mean zero."""
    wave = np.cos(np.outer(np.arange(side) + 0.5, np.arange(count)) * np.pi / count)
    wave[:, 1:] -= wave[:, 1:].mean(axis=0)
    wave /= np.linalg.norm(wave, axis=0)
    return np.kron(wave, wave)


def patches(image: np.ndarray, side: int = SIDE) -> np.ndarray:
    """All patches that overlap, one a column."""
    windows = sliding_window_view(image, (side, side))
    return windows.reshape(-1, side * side).T


def image_of(Y: np.ndarray, shape: tuple[int, int], side: int = SIDE) -> np.ndarray:
    """The image whose patches these are, averaged where they overlap."""
    total, times = np.zeros(shape), np.zeros(shape)
    rows, columns = shape[0] - side + 1, shape[1] - side + 1
    for i, values in enumerate(Y):
        at = np.s_[i // side : i // side + rows, i % side : i % side + columns]
        total[at] += values.reshape(rows, columns)
        times[at] += 1
    return total / times


def learned(A: np.ndarray, Y: np.ndarray, residual: float, rounds: int = 6) -> np.ndarray:
    """Atoms that suit the signals better: codes, then least squares for the atoms, in turn."""
    for _ in range(rounds):
        X = sw.encode(A, Y, residual=residual, n_jobs=-1).coef
        G = (X @ X.T).toarray() + 1e-3 * np.eye(A.shape[1])
        better = np.linalg.solve(G, X @ Y.T).T
        norms = np.linalg.norm(better, axis=0)
        used = norms > 1e-6 * norms.max()
        A = np.where(used, better / np.where(used, norms, 1.0), A)
    return A


def denoised(noisy: np.ndarray, sigma: float, rounds: int = 6) -> tuple[np.ndarray, sw.Codes]:
    """The image without the noise of this standard deviation, and the codes of its patches."""
    Y = patches(noisy)
    residual = 1.12 * sigma * SIDE  # what noise leaves of a patch, and a little more
    sample = np.random.default_rng(0).choice(Y.shape[1], min(10_000, Y.shape[1]), replace=False)
    A = learned(cosines(), Y[:, sample], residual, rounds)
    codes = sw.encode(A, Y, residual=residual, n_jobs=-1)
    estimate = image_of(codes.reconstruct(A), noisy.shape)
    return 0.95 * estimate + 0.05 * noisy, codes


def decibels(image: np.ndarray, truth: np.ndarray) -> float:
    """The peak signal-to-noise ratio, for pixels between 0 and 1."""
    return -10 * float(np.log10(np.square(image - truth).mean()))


def photograph() -> np.ndarray:
    """A part of a photograph that comes with scikit-learn, in shades of grey."""
    from sklearn.datasets import load_sample_image

    return load_sample_image("china.jpg")[60:316, 140:396].mean(axis=2) / 255


def main(picture: str) -> None:
    """Add noise, take it away again, and draw what becomes of it."""
    import matplotlib.pyplot as plt

    truth, sigma = photograph(), 25 / 255
    noisy = truth + sigma * np.random.default_rng(0).standard_normal(truth.shape)
    clean, codes = denoised(noisy, sigma)
    print(codes)
    atoms = image_of(np.broadcast_to(codes.sizes, (SIDE**2, len(codes))), truth.shape)
    figure, axes = plt.subplots(1, 4, figsize=(12, 3.1), layout="constrained")
    panels = {
        "the image": truth,
        f"with noise: {decibels(noisy, truth):.1f} dB": noisy,
        f"denoised: {decibels(clean, truth):.1f} dB": clean,
    }
    for ax, (title, image) in zip(axes, panels.items(), strict=False):
        ax.imshow(image, cmap="gray", vmin=0, vmax=1, interpolation="nearest")
        ax.set_title(title, fontsize=11)
    shown = axes[3].imshow(atoms, cmap="magma", interpolation="nearest")
    axes[3].set_title("atoms a patch", fontsize=11)
    figure.colorbar(shown, ax=axes[3], shrink=0.82, pad=0.02)
    for ax in axes:
        ax.set_axis_off()
    figure.savefig(picture, dpi=90)


if __name__ == "__main__":
    main(sys.argv[1] if sys.argv[1:] else "denoise.png")
