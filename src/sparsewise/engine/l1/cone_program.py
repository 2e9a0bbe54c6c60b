"""min Σ w_j|x_j| s.t. ‖B x - y‖ <= bound as data, and complex numbers as pairs of real ones."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sparsewise._typing import Array

EPS = float(np.finfo(float).eps)


class ConeProgram(NamedTuple):
    """min Σ w_j|x_j| s.t. ‖B x - y‖ <= bound; no column is excluded."""

    B: Array
    w: Array
    y: Array
    bound: float

    @property
    def is_complex(self) -> bool:
        """Whether the coefficients are complex."""
        return bool(self.B.dtype.kind == "c")

    def judge(self, x: Array, nu: Array) -> tuple[Array, float]:
        """The dual vector scaled to be feasible, and the accuracy of x that it proves.

        That is the relative gap Σ w_j|x_j| - (Re y*ν - bound ‖ν‖), plus infeasibilities.
        """
        free = self.w == 0
        nu = nu - self.B[:, free] @ lstsq(self.B[:, free], nu)
        inner = np.abs(self.B.conj().T @ nu)
        nu = nu / max(float((inner[~free] / self.w[~free]).max(initial=0.0)), EPS)
        inner = np.abs(self.B.conj().T @ nu) - self.w
        beyond = float((inner / np.where(free, 1.0, self.w)).max(initial=0.0))
        proof = Proof.of(self.w, x, self.y, self.y - self.B @ x, nu, self.bound)
        return nu, proof.gap + beyond + proof.rounding


class Proof(NamedTuple):
    """What a dual feasible vector ν, |b_j*ν| <= w_j, proves about coefficients x.

    Attributes
    ----------
    gap : float
        Σ w_j|x_j| - (Re y*ν - bound ‖ν‖), relative, plus the excess of ‖r‖ over the bound.
    rounding : float
        The rounding error of the gap.
    """

    gap: float
    rounding: float

    @classmethod
    def of(
        cls, w: Array, x: Array, y: Array, r: Array, nu: Array, bound: float, eps: float = EPS
    ) -> Proof:
        """The proof for weights w and coefficients x of the same columns."""
        primal, length = float(w @ np.abs(x)), float(np.linalg.norm(nu))
        product = float(np.vdot(y, nu).real)
        dual = product - bound * length
        largest = max(primal, abs(dual), EPS)
        exceeded = float(np.linalg.norm(r)) - bound
        # |u_j*ν| <= w_j can't be checked more precisely than |u_j*ν| is known.
        relative_length = length / float(w.min(where=w > 0, initial=1.0))
        rounding = 16 * eps * (1 + abs(product) / largest + float(np.abs(x).sum()))
        gap = abs(primal - dual) / largest + max(exceeded, 0.0)
        return cls(gap, rounding + 2 * eps * relative_length)


def lstsq(B: Array, y: Array) -> Array:
    """The least-squares coefficients of y in the columns of B."""
    return np.linalg.lstsq(B, y, rcond=None)[0] if B.shape[1] else np.zeros(0, y.dtype)


def inner(u: Array, v: Array) -> float:
    """Re u*v."""
    return float(np.vdot(u, v).real)


# Real matrices and vectors stay as they are. Complex coefficients become interleaved real and
# imaginary parts; a complex vector of measurements becomes all real parts, then all imaginary ones.


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
    """Real and imaginary parts alternating."""
    return np.column_stack([x.real, x.imag]).ravel() if x.dtype.kind == "c" else x


def deinterleave(x: Array, is_complex: bool) -> Array:
    """The inverse of `interleave`."""
    return x[0::2] + 1j * x[1::2] if is_complex else x


def unstack(v: Array, is_complex: bool) -> Array:
    """The inverse of `stack`."""
    half = v.size // 2
    return v[:half] + 1j * v[half:] if is_complex else v
