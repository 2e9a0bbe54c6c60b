"""Who else takes rows chunk by chunk: time and error on the same tall data.

scikit-learn's stochastic gradients, Dask's least squares and dask-ml's (``pip install dask-ml``).
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from typing import NamedTuple

import numpy as np

import sparsewise as sw
from reproduction.measure import duration
from reproduction.tables import markdown


class Table(NamedTuple):
    """Rows of a regression, and the truth about them."""

    X: np.ndarray
    y: np.ndarray
    coef: np.ndarray


def table(n: int, m: int, seed: int = 0) -> Table:
    """Every tenth feature matters, the noise is as large as all of them together."""
    rng = np.random.default_rng(0)
    coef = np.zeros(m)
    coef[::10] = rng.choice([-1.0, 1.0], coef[::10].size) / coef[::10].size ** 0.5
    rng = np.random.default_rng(seed + 1)
    X = rng.standard_normal((n, m))
    return Table(X, 3 + X @ coef + rng.standard_normal(n), coef)


PASSES = (1, 5)
"""Of stochastic gradients over all rows."""


def peers(n: int, m: int = 100) -> str:
    """Time and error of whoever takes rows in chunks."""
    data = table(n, m)
    exact = np.linalg.lstsq(np.column_stack([np.ones(n), data.X]), data.y, rcond=None)[0][1:]
    told = [["", "time", "passes", "features", "error", "off least squares"]]
    for name, (passes, fit) in contenders(n // 20).items():
        start = time.process_time()
        coef = fit(data)
        seconds = time.process_time() - start
        size = np.linalg.norm(data.coef)
        error = np.linalg.norm(coef - data.coef) / size
        chosen = coef != 0
        reference = exact if chosen.all() else least_squares(data, chosen)
        off = np.linalg.norm(coef - reference) / size
        told.append(
            [name, duration(seconds), passes, f"{chosen.sum()}", f"{error:.2%}", f"{off:.0e}"]
        )
    return markdown(told)


def least_squares(data: Table, chosen: np.ndarray) -> np.ndarray:
    """Coefficients of these features and an intercept, all rows at once."""
    coef = np.zeros(chosen.size)
    A = np.column_stack([np.ones(len(data.X)), data.X[:, chosen]])
    coef[chosen] = np.linalg.lstsq(A, data.y, rcond=None)[0][1:]
    return coef


def contenders(chunk: int) -> dict[str, tuple[str, Callable[[Table], np.ndarray]]]:
    """By name: passes over the rows, and a function to the coefficients."""
    from sklearn.linear_model import SGDRegressor

    def chunks(data: Table) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        for start in range(0, len(data.X), chunk):
            yield data.X[start : start + chunk], data.y[start : start + chunk]

    def ours(data: Table) -> np.ndarray:
        return np.asarray(sw.StepwiseRegressor().fit(chunks(data)).coef_)

    def sgd(passes: int) -> Callable[[Table], np.ndarray]:
        def fit(data: Table) -> np.ndarray:
            model = SGDRegressor(random_state=0)
            for _ in range(passes):
                for X, y in chunks(data):
                    model.partial_fit(X, y)
            return np.asarray(model.coef_)

        return fit

    ours(table(2 * chunk, 20))  # compiles and imports
    every: dict[str, tuple[str, Callable[[Table], np.ndarray]]] = {
        "`StepwiseRegressor().fit(chunks)`": ("1", ours)
    }
    for passes in PASSES:
        every["scikit-learn `SGDRegressor.partial_fit`" + " again" * (passes > 1)] = (
            f"{passes}",
            sgd(passes),
        )
    if find_spec("dask"):
        every["`dask.array.linalg.lstsq`"] = "1", dask_lstsq(chunk)
    if find_spec("dask_ml"):
        for solver in ("admm", "newton"):
            name = f"dask-ml `LinearRegression({solver!r})`".replace("'", '"')
            every[name] = "many", dask_ml(chunk, solver)
    else:
        print("Some peers need: pip install dask-ml", file=sys.stderr)
    return every


def dask_lstsq(chunk: int) -> Callable[[Table], np.ndarray]:
    import dask
    import dask.array as da

    def fit(data: Table) -> np.ndarray:
        A = np.column_stack([data.X, np.ones(len(data.X))])
        X, y = da.from_array(A, chunks=(chunk, -1)), da.from_array(data.y, chunks=chunk)
        with dask.config.set(scheduler="synchronous"):
            return np.asarray(da.linalg.lstsq(X, y)[0].compute()[:-1])

    return fit


def dask_ml(chunk: int, solver: str) -> Callable[[Table], np.ndarray]:
    import dask
    import dask.array as da
    from dask_ml.linear_model import LinearRegression

    def fit(data: Table) -> np.ndarray:
        X = da.from_array(data.X, chunks=(chunk, -1))
        y = da.from_array(data.y, chunks=chunk)
        with dask.config.set(scheduler="synchronous"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return np.asarray(LinearRegression(solver=solver).fit(X, y).coef_)

    return fit
