"""min Σ w_j|x_j| s.t. ‖B x - y‖ <= bound, and how complex numbers become real ones in it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sparsewise.design.base import Array

EPS = float(np.finfo(float).eps)


class ConeProgram(NamedTuple):
    """min Σ w_j|x_j| s.t. ‖B x - y‖ <= bound with all columns allowed."""

    B: Array
    w: Array
    y: Array
    bound: float

    @property
    def is_complex(self) -> bool:
        """Whether the coefficients are complex."""
        return bool(self.B.dtype.kind == "c")

    def judge(self, x: Array, nu: Array) -> tuple[Array, float]:
        """The dual vector brought into its set, and what it proves of x.

        That is the relative gap Σ w_j|x_j| - (Re y*ν - bound ‖ν‖), plus what is infeasible.
        """
        free = self.w == 0
        nu = nu - self.B[:, free] @ fitted(self.B[:, free], nu)
        inner = np.abs(self.B.conj().T @ nu)
        nu = nu / max(float((inner[~free] / self.w[~free]).max(initial=0.0)), EPS)
        primal = float(self.w @ np.abs(x))
        parts = float(np.vdot(self.y, nu).real), self.bound * float(np.linalg.norm(nu))
        dual = parts[0] - parts[1]
        largest = max(primal, abs(dual), EPS)
        exceeded = float(np.linalg.norm(self.y - self.B @ x)) - self.bound
        inner = np.abs(self.B.conj().T @ nu) - self.w
        beyond = (inner / np.where(free, 1.0, self.w)).max(initial=0.0)
        # |u_j*ν| <= w_j can't be told more precisely than |u_j*ν| itself.
        dearth = float(np.linalg.norm(nu)) / self.w[~free].min(initial=1.0)
        rounding = 16 * EPS * (1 + abs(parts[0]) / largest + float(np.abs(x).sum()))
        gap = abs(primal - dual) / largest
        return nu, gap + max(exceeded, 0.0) + float(beyond) + rounding + 2 * EPS * dearth


def fitted(B: Array, y: Array) -> Array:
    """The least-squares coefficients of y in the columns of B."""
    return np.linalg.lstsq(B, y, rcond=None)[0] if B.shape[1] else np.zeros(0, y.dtype)


# Real matrices and vectors stay as they are. Complex coefficients become pairs of real ones, one
# after the other; a complex vector of measurements becomes its real part, then its imaginary one.


def embed(B: Array) -> Array:
    """Complex columns as pairs of real ones: [Re -Im; Im Re], interleaved."""
    if B.dtype.kind != "c":
        return B
    n, k = B.shape
    E = np.empty((2 * n, 2 * k))
    E[:n, 0::2], E[:n, 1::2] = B.real, -B.imag
    E[n:, 0::2], E[n:, 1::2] = B.imag, B.real
    return E


def stack(v: Array) -> Array:
    """[Re; Im]."""
    return np.concatenate([v.real, v.imag]) if v.dtype.kind == "c" else v


def interleave(x: Array) -> Array:
    """Real and imaginary parts in turn."""
    return np.column_stack([x.real, x.imag]).ravel() if x.dtype.kind == "c" else x


def deinterleave(x: Array, is_complex: bool) -> Array:
    """The inverse of `interleave`."""
    return x[0::2] + 1j * x[1::2] if is_complex else x


def unstack(v: Array, is_complex: bool) -> Array:
    """The inverse of `stack`."""
    half = v.size // 2
    return v[:half] + 1j * v[half:] if is_complex else v
