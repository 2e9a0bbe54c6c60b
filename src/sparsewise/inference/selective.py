"""Tests of each column of a forward path, given how it was chosen."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from sparsewise._typing import Array
from sparsewise._util.numbers import numerals
from sparsewise._util.parameters import check_count, check_number, check_positive, shown
from sparsewise._util.text import count
from sparsewise.design.choose import as_floats, is_dask
from sparsewise.engine.stopping import stopping_criterion
from sparsewise.errors import InputError
from sparsewise.inference.selection_event import ForwardSteps, SelectionEvent, Step
from sparsewise.inference.truncated import (
    arc_tail,
    log_of_rest,
    log_t_tail,
    normal_interval,
    normal_tail,
)
from sparsewise.problem.preprocessing import reduce
from sparsewise.problem.problem import Problem, problem

STEPS = 20
"""Default limit on steps."""


@dataclass(frozen=True, repr=False, eq=False, kw_only=True)
class SelectiveTests:
    """Tests along a forward path, one for each step: the result of `selective_tests`.

    Attributes
    ----------
    columns : ndarray of int
        The columns, in the order in which they came.
    coefs : ndarray
        The coefficient of each in the model of its step: least squares on the columns so far.
    p_values : ndarray
        One-sided, in the direction of the sign of the coefficient, and conditional on the columns
        and signs of all steps so far: uniform if the column adds nothing to those before it.
    intervals : ndarray of shape (steps, 2), or None
        Confidence intervals for what `coefs` estimate, conditional on the same; a limit that the
        data say nothing of is infinite. None where sigma is unknown.
    naive_p_values : ndarray
        Those of two-sided z or t tests, as if the columns had been given: not valid after a
        selection, and here to compare with.
    sigma : float or None
        The standard deviation of the noise, if it was known.
    level : float
        The coverage of each interval.
    df : ndarray of int
        Degrees of freedom of the residual after each step.
    """

    columns: Array
    coefs: Array
    p_values: Array
    intervals: Array | None
    naive_p_values: Array
    sigma: float | None
    level: float
    df: Array

    @property
    def two_sided(self) -> Array:
        """Two-sided p-values, 2 min(p, 1 - p)."""
        return np.asarray(2 * np.minimum(self.p_values, 1 - self.p_values))

    def forward_stop(self, rate: float) -> int:
        """How many steps to take at this false discovery rate, by ForwardStop.

        The largest k with -Σ_{i<=k} log(1 - p_i)/k <= rate. The share of steps among these that
        add nothing is at most `rate` on average where the p-values of such steps are independent
        (G'Sell, Wager, Chouldechova and Tibshirani 2016). Those of a path aren't quite: where one
        is large, the next tends to be small, so that the rate is a guide and not proved.
        """
        share = check_number(rate, "rate")
        if not 0 < share < 1:
            raise InputError(f"must be between 0 and 1, not {shown(rate)}.", parameter="rate")
        steps = np.arange(1, self.p_values.size + 1)
        fine = np.flatnonzero(np.cumsum(log_of_rest(self.p_values)) / steps <= share)
        return int(fine[-1]) + 1 if fine.size else 0

    def __len__(self) -> int:
        return self.columns.size

    def __repr__(self) -> str:
        noise = "unknown" if self.sigma is None else f"{self.sigma:.5g}"
        head = f"Selective tests of {count(len(self), 'forward step')}, sigma {noise}"
        if not len(self):
            return head
        rows = [["step", "column", "coef", "p", "naive p"]]
        told = [numerals(self.coefs.tolist()), _told(self.p_values), _told(self.naive_p_values)]
        if self.intervals is not None:
            rows[0].append(f"{100 * self.level:.4g} % interval")
            told.append([f"[{low:.4g}, {high:.4g}]" for low, high in self.intervals])
        steps = zip(self.columns.tolist(), *told, strict=True)
        rows += [[str(k), *map(str, row)] for k, row in enumerate(steps, 1)]
        widths = [max(map(len, cells)) for cells in zip(*rows, strict=True)]
        lines = ("  ".join(c.rjust(w) for c, w in zip(row, widths, strict=True)) for row in rows)
        return "\n".join([head, *lines])


def _told(p_values: Array) -> list[str]:
    """p-values as text."""
    return [f"{p:.4f}" if p >= 1e-4 else f"{p:.1e}" for p in p_values]


class _Test(NamedTuple):
    """What is told of one step: p-values, u*y, the interval for u*μ, and their unit."""

    p: float
    naive: float
    t: float
    low: float
    high: float
    recipe: float


def selective_tests(
    A: Any,
    y: ArrayLike,
    *,
    sparsity: int | None = None,
    sigma: float | None = None,
    level: float = 0.95,
    fit_intercept: bool = False,
    include: Iterable[int] = (),
    exclude: Iterable[int] = (),
) -> SelectiveTests:
    """p-values and intervals along the path of `forward`, that allow for the selection.

    The columns are those of ``forward(A, y, sparsity=…)``, and of
    ``StepwiseRegressor("forward", sparsity=…)`` with `fit_intercept`: the t-tests of such a model
    take the best of many columns for a given one. Here, the test of each step is conditional on
    the columns and signs of all steps so far.

    With y = μ + noise, normal and of equal variance σ² in all rows, u the direction that step k
    adds to the model, and P the projection on the model before it:

    - σ known: u*y given the rest of y is a truncated normal variable, of mean u*μ (Tibshirani,
      Taylor, Lockhart and Tibshirani 2016). The test is of u*μ = 0: column j has a coefficient of
      zero in the best linear approximation of μ by the columns so far. The interval is for that
      coefficient. μ need not be linear in the columns.
    - σ unknown: u*y given P y, the norm of y - P y and its direction outside u is a truncated t
      variable (Loftus and Taylor 2015). The test is of μ = P μ: the columns before step k explain
      all there is. There are no intervals, since the conditioning depends on the coefficient.

    What is conditional on a path of a given length, or until ForwardStop says so
    (`SelectiveTests.forward_stop`), need not hold for a model that a criterion has chosen on it.
    Steps that drop columns (`stepwise`, `foba`, ``StepwiseRegressor("both")``) aren't covered.

    Parameters
    ----------
    A : array-like, sparse matrix, operator or Design of shape (n, m)
        The columns to choose from; real.
    y : array-like of shape (n,)
        The target; real.
    sparsity : int, optional
        Most columns of the last model; by default 20, those of `include` not counted, or as many
        as there can be.
    sigma : float, optional
        Standard deviation of the noise, if it is known: from other data, or from a residual of all
        columns where rows are many.
    level : float
        The coverage of each interval.
    fit_intercept : bool
        Whether the model has a constant, which takes a degree of freedom.
    include, exclude : iterable of int
        Columns that are in the model from the start, and untested, and columns that stay out; for
        reasons other than y.

    Returns
    -------
    SelectiveTests
        ``columns``, ``p_values``, ``intervals``, ``forward_stop``.

    References
    ----------
    R. J. Tibshirani, J. Taylor, R. Lockhart and R. Tibshirani, "Exact post-selection inference for
    sequential regression procedures", JASA 111, 2016.

    J. R. Loftus and J. E. Taylor, "Selective inference in regression models with groups of
    variables", arXiv:1511.01478, 2015.

    M. G. G'Sell, S. Wager, A. Chouldechova and R. Tibshirani, "Sequential selection procedures and
    false discovery rate control", JRSS B 78, 2016.
    """
    noise = None if sigma is None else check_positive(sigma, "sigma")
    share = check_number(level, "level")
    if not 0 < share < 1:
        raise InputError(f"must be between 0 and 1, not {shown(level)}.", parameter="level")
    data = _real_problem(A, y, fit_intercept, include, exclude)
    locked = len(data.constraints.include)
    # Without sigma, at least one degree of freedom must be left to tell it.
    highest = min(data.shape[1], data.shape[0], int(data.design.rows) - (noise is None))
    most = check_count(sparsity, "sparsity", 0, highest)
    most = min(locked + STEPS, highest) if most is None else most
    rows, unit = int(data.design.rows), None if noise is None else noise / data.scale
    steps, event = ForwardSteps(data, room=most), SelectionEvent(data.tolerances.dependent)
    columns: list[int] = []
    tests: list[_Test] = []
    for step in steps.steps(stopping_criterion("selective_tests", data, sparsity=most)):
        event.add(step)
        columns.append(step.column)
        tests.append(
            _by_t(event, step, rows - steps.size)
            if unit is None
            else _by_z(event, step, unit, share)
        )
    told = np.array(tests, float).reshape(-1, len(_Test._fields))
    p, naive, t, low, high, recipe = told.T
    units = data.units.values(np.array(columns, np.int64), recipe).astype(float)
    return SelectiveTests(
        columns=np.array(columns, np.int64),
        coefs=units * t,
        p_values=p,
        intervals=None if noise is None else np.sort(units[:, None] * np.stack([low, high], 1)),
        naive_p_values=naive,
        sigma=noise,
        level=share,
        df=rows - steps.size + np.arange(len(columns))[::-1],
    )


def _real_problem(
    A: Any, y: ArrayLike, fit_intercept: bool, include: Iterable[int], exclude: Iterable[int]
) -> Problem:
    """The data, checked, and without their means where the model has a constant."""
    data = problem(A, y, include=include, exclude=exclude)
    if data.is_complex:
        name = "A" if data.design.dtype.kind == "c" else "y"
        raise InputError(
            "is complex, but these tests are of real data",
            "stack real and imaginary parts if their noise is alike.",
            parameter=name,
        )
    if not fit_intercept:
        return data
    if is_dask(A):
        raise InputError(
            "is a Dask collection, of which the means can't be taken here",
            "pass A.compute(), or leave out the intercept.",
            parameter="A",
        )
    reduced = reduce(data.design, as_floats(y, "y"), None, True)
    constraints = data.constraints
    data = problem(reduced.design, reduced.target)
    return data._replace(constraints=constraints)


def _by_z(event: SelectionEvent, step: Step, sigma: float, level: float) -> _Test:
    """The truncated normal test, and the interval for u*μ."""
    down, up = event.line(step)
    t, down, up = step.t / sigma, down / sigma, up / sigma
    low, high = normal_interval(t, down, up, level)
    naive = 2 * normal_tail(t, math.inf, math.inf)
    p = normal_tail(t, down, up)
    return _Test(p, naive, step.t, low * sigma, high * sigma, step.sign * step.recipe)


def _by_t(event: SelectionEvent, step: Step, df: int) -> _Test:
    """The truncated t test."""
    w, low, high = event.arcs(step)
    naive = math.exp(log_t_tail(w, df))
    p = arc_tail(w, low, high, df)
    return _Test(p, naive, step.t, math.nan, math.nan, step.sign * step.recipe)
