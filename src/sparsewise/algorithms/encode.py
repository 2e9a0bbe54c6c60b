"""Sparse coding: the codes of many signals in one dictionary."""

from __future__ import annotations

from functools import partial
from typing import Any

from sparsewise._util.parameters import check_whole, shown
from sparsewise._util.text import look_up
from sparsewise.algorithms.registry import ALGORITHMS, Algorithm
from sparsewise.design import as_design
from sparsewise.engine.encoding import ByEngine, ByGram, Steps, is_by_gram, run
from sparsewise.errors import InputError, InputTypeError, Parameter, Part
from sparsewise.kernels import compile_first
from sparsewise.problem.signals import Signals
from sparsewise.results import Codes, Solution

BY_PRODUCTS = {
    "omp": Steps(by_gain=False),
    "gomp": Steps(by_gain=False),
    "forward": Steps(by_gain=True),
    "rmp0": Steps(by_gain=True, back=True),
}
"""The algorithms that need only a signal's inner products with the columns."""

PER_CALL = {"callback", "watch"}
"""Parameters that would be called at every step of every signal."""


def encode(
    A: Any,
    Y: Any,
    *,
    algorithm: str = "omp",
    sparsity: int | None = None,
    residual: float | None = None,
    delta: float | None = None,
    n_jobs: int | None = None,
    **others: Any,
) -> Codes:
    """The sparse code of each column of Y: every signal gets its own columns of A.

    The steps are always those of the function for one signal: ``encode(A, Y, algorithm="omp",
    sparsity=5)`` is ``omp(A, y, sparsity=5)`` for every column y. For `omp`, `forward`, `gomp` and
    `rmp0` a compiled loop takes them on the inner products A*A and A*Y, as long as these are
    precise enough to decide the next step. Otherwise, and for all other algorithms, the function
    itself is called. (`omp` on A*A is known as Batch-OMP.)

    Parameters
    ----------
    A : array-like, sparse matrix, operator or Design of shape (n, m)
        The columns to choose from: the dictionary.
    Y : array-like of shape (n, T)
        The signals, one per column. They are read in blocks, so Y may be a memory map of any size.
    algorithm : str
        The name of the function, as in ``sparsewise.ALGORITHMS``.
    sparsity : int, optional
        Most columns of a signal.
    residual : float, optional
        A signal is done once ‖r‖ <= residual.
    delta : float, optional
        Add what lowers ‖r‖² by more than δ², drop what raises it by at most δ².
    n_jobs : int, optional
        Threads that share the signals; None: one, -1: one for each processor.
    **others
        Further parameters of the algorithm, such as `batch` of `gomp`.

    Returns
    -------
    Codes
        Coefficients as a sparse array of shape (m, T), residuals, and why each signal ended.

    References
    ----------
    R. Rubinstein, M. Zibulevsky and M. Elad, "Efficient implementation of the K-SVD algorithm using
    batch orthogonal matching pursuit", CS Technion (2008).

    Examples
    --------
    >>> import numpy as np, sparsewise as sw
    >>> A = np.random.default_rng(0).standard_normal((16, 40))
    >>> Y = A[:, [3, 7]] @ [[1.0, 0.0], [2.0, 5.0]]
    >>> codes = sw.encode(A, Y, algorithm="omp", residual=1e-6)
    >>> codes.sizes
    array([2, 1])
    """
    if not isinstance(algorithm, str):
        raise InputTypeError(f"must be a name, not {shown(algorithm)}.", parameter="algorithm")
    look_up([algorithm], ALGORITHMS, "algorithm")
    stopping: dict[str, Any] = {"sparsity": sparsity, "residual": residual, "delta": delta}
    stopping = {name: value for name, value in stopping.items() if value is not None}
    parameters, record = {**stopping, **others}, ALGORITHMS[algorithm]
    _check_names(record, parameters)
    jobs = None if n_jobs is None else _check_jobs(n_jobs)
    compile_first()  # or the first codes would have other digits than the rest
    design = as_design(A)
    signals = Signals(Y, design.shape[0])
    record.check_parameters(design, **parameters)
    solve = partial(record, **parameters)
    coder = ByEngine(design, signals, solve, record.result.check is not Solution.check)
    if algorithm in BY_PRODUCTS and is_by_gram(design, signals, parameters):
        steps = BY_PRODUCTS[algorithm]._replace(batch=parameters.get("batch", 0))
        coder = ByGram(design, signals, solve, steps, stopping)
    return run(
        coder,
        jobs,
        algorithm=algorithm,
        least_squares=record.least_squares,
        ridge=parameters.get("ridge", 0.0),
    )


def _check_jobs(n_jobs: int) -> int:
    if check_whole(n_jobs, "n_jobs", -(1 << 31), 1 << 31) == 0:
        wrong = "must not be 0: None is one thread, -1 one for each processor."
        raise InputError(wrong, parameter="n_jobs")
    return n_jobs


def _check_names(algorithm: Algorithm, parameters: dict[str, Any]) -> None:
    """Raise an error unless the algorithm takes these parameters and needs no others."""
    accepted = [name for name in algorithm.parameters if name not in PER_CALL]
    for name in parameters:
        if name not in accepted:
            wrong = f"{algorithm.name} does not take ", Parameter(name)
            raise InputError(wrong, ("it takes ", *_listed(accepted), "."))
    for name in algorithm.required:
        if name not in parameters:
            raise InputError((f"{algorithm.name} needs ", Parameter(name)), "pass it to encode.")


def _listed(names: list[str]) -> list[Part]:
    """Parameters separated by commas."""
    parts: list[Part] = []
    for name in names:
        parts += [", " if parts else "", Parameter(name)]
    return parts
