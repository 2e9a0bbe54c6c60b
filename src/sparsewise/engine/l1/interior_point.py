"""Cone programs through Clarabel's interior-point method (Goulart and Chen, 2024)."""

from __future__ import annotations

from typing import Any

import numpy as np

from sparsewise._typing import Array
from sparsewise.engine.l1.cone_program import ConeProgram, deinterleave, embed, stack, unstack
from sparsewise.errors import InputError, Parameter


def interior_point(program: ConeProgram, tol: float) -> tuple[Array, Array]:
    """x and ν of Clarabel: an interior point, so no x_j is zero."""
    try:
        import clarabel
    except ImportError:
        raise ImportError(
            "solver='conic' needs Clarabel; install it: pip install 'sparsewise[conic]'."
        ) from None
    from scipy import sparse

    E, y = embed(program.B), stack(program.y)
    size, J = E.shape[1], np.flatnonzero(program.w)

    # Variables: the parts of each x_j, then t_j for each penalised column.
    fits: list[Any] = [sparse.hstack([sparse.csc_array(E), sparse.csc_array((y.size, J.size))])]
    right, cones = [y], [clarabel.ZeroConeT(y.size)]
    if program.bound > 0:
        fits.insert(0, sparse.csc_array((1, size + J.size)))
        right, cones = [np.array([program.bound]), y], [clarabel.SecondOrderConeT(y.size + 1)]
    sizes, more = _absolute_values(clarabel, program.w.size, J, program.is_complex)
    M = sparse.csc_matrix(sparse.vstack([*fits, sizes]))
    rhs = np.concatenate([*right, np.zeros(sizes.shape[0])])
    cost = np.concatenate([np.zeros(size), program.w[J]])

    quadratic = sparse.csc_matrix((cost.size, cost.size))  # none
    solver = clarabel.DefaultSolver(quadratic, cost, M, rhs, cones + more, _settings(clarabel, tol))
    solved = solver.solve()
    if solved.status not in (clarabel.SolverStatus.Solved, clarabel.SolverStatus.AlmostSolved):
        raise InputError(
            f"Clarabel ended with status {solved.status}",
            ("raise ", Parameter("residual"), " a little, or use the default solver."),
        )
    z = -np.asarray(solved.z)[len(rhs) - sizes.shape[0] - y.size :][: y.size]
    x = np.asarray(solved.x)[:size]
    return deinterleave(x, program.is_complex), unstack(z, program.is_complex)


def _absolute_values(clarabel: Any, k: int, J: Array, is_complex: bool) -> tuple[Any, list[Any]]:
    """Rows and cones of |x_j| <= t_j: two half-lines, or a three-dimensional second-order cone."""
    from scipy import sparse

    p = J.size
    if not is_complex:
        pick = sparse.csc_array((np.ones(p), (np.arange(p), J)), shape=(p, k))
        eye = sparse.eye_array(p)
        half_lines = sparse.vstack([sparse.hstack([pick, -eye]), sparse.hstack([-pick, -eye])])
        return half_lines, [clarabel.NonnegativeConeT(2 * p)]
    at = 3 * np.arange(p)
    rows = np.concatenate([at, at + 1, at + 2])
    columns = np.concatenate([2 * k + np.arange(p), 2 * J, 2 * J + 1])
    discs = sparse.csc_array((-np.ones(3 * p), (rows, columns)), shape=(3 * p, 2 * k + p))
    return discs, [clarabel.SecondOrderConeT(3)] * p


def _settings(clarabel: Any, tol: float) -> Any:
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = tol
    # At these reduced tolerances, "almost solved" is a good start for Newton's method.
    settings.reduced_tol_gap_abs = settings.reduced_tol_gap_rel = 1e-5
    settings.reduced_tol_feas = 1e-6
    return settings
