"""Estimators: every container, weight, parameter and scale; judged from the table alone.

An oracle is told what was given, as plain numbers in extended precision, and looks at nothing of
the library but the fitted attributes.
"""

from __future__ import annotations

import math
import pickle
import re
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pandas as pd
import polars as pl
import scipy.sparse
from sklearn.base import clone
from sklearn.exceptions import DataConversionWarning

import sparsewise as sw
from sparsewise import errors
from sparsewise.criteria.base import Criterion
from sparsewise.errors import InputError, InputWarning
from sparsewise.estimators import base, dtypes, inputs, relevance_vector, state
from sparsewise.model_selection import tabular_data as tables
from sparsewise.problem import preprocessing as reduction
from tests.hostile.campaign import Case, family, fault, oracle
from tests.hostile.refusals import one_sentence

LONG = np.longdouble


@dataclass
class Given:
    """What an estimator is fitted to, and what it stands for in plain numbers."""

    X: np.ndarray
    y: np.ndarray
    weights: np.ndarray | None = None
    flaws: list[str] = field(default_factory=list)
    large: bool = False  # whether an array is taken as one that is too large to be copied

    @property
    def rows(self) -> float:
        return float(len(self.y) if self.weights is None else self.weights.sum())


# --- what is drawn -------------------------------------------------------------------------------


def table(case: Case) -> Given:
    """Few features that matter; some constant, equal, far from zero, or of other units."""
    n, m = int(case.rng.integers(2, 41)), int(case.rng.integers(1, 9))
    if case.chance(0.8):
        n += 3 * m
    X = case.rng.standard_normal((n, m))
    y = X[:, : max(1, m // 3)].sum(axis=1) + 0.3 * case.rng.standard_normal(n)
    given = Given(X, y)
    if case.chance(0.25):
        j = int(case.rng.integers(m))
        kind = case.choose("constant", "copy", "zero", "far", "binary")
        X[:, j] = {
            "constant": np.full(n, 1 / 3),
            "copy": X[:, m - 1 - j],
            "zero": np.zeros(n),
            "far": X[:, j] + 1e6,
            "binary": X[:, j] > 0,
        }[kind]
        case.note(column=(j, kind))
    if case.chance(0.3):
        powers = case.rng.uniform(-1, 1, m) * case.choose(3, 15, 100)
        X *= 2.0 ** np.round(powers * 3)
        case.note(powers=powers)
    if case.chance(0.15):
        y *= 2.0 ** int(case.choose(-400, -60, 60, 400))
    if case.chance(0.1):
        y[:] = case.choose(0.0, 0.1, 7.0)
        case.note(target="constant")
    case.note(n=n, m=m)
    return given


def weigh(case: Case, given: Given) -> None:
    """Weights of rows, good and bad."""
    n = len(given.y)
    kind = case.choose("none", "none", "none", "ones", "counts", "shares", "huge", "bad")
    if kind == "bad":
        kind = case.choose("negative", "nan", "zeros", "short", "text")
        given.flaws.append(f"weights: {kind}")
    case.note(weights=kind)
    given.weights = {
        "none": None,
        "ones": np.ones(n),
        "counts": case.rng.integers(0, 4, n).astype(float),
        "shares": case.rng.uniform(0.1, 2, n),
        "huge": case.rng.uniform(1, 2, n) * 1e12,
        "negative": case.rng.standard_normal(n),
        "nan": np.full(n, np.nan),
        "zeros": np.zeros(n),
        "short": np.ones(n + 1),
        "text": np.full(n, "a"),
    }[kind]


CONTAINERS = (
    "array", "Fortran", "list", "pandas", "polars", "csr", "csc", "memory map", "objects",
    "read-only", "strided", "reversed", "single", "single, sparse", "half", "integers", "truths",
    "foreign", "masked", "matrix",
)  # fmt: skip
WRONG = ("text", "number", "empty", "nan", "infinite", "none", "3-d", "complex", "no columns")


def contain(case: Case, given: Given) -> Any:
    """The table in some container; what it stands for is changed where that can't hold it."""
    kind = case.choose(*CONTAINERS) if case.chance(0.9) else case.choose(*WRONG)
    case.note(container=kind)
    if kind in WRONG:
        given.flaws.append(kind)
    if kind in ("single", "single, sparse", "half"):
        size = np.abs(given.X).max(axis=0)
        most = 1e4 if kind == "half" else 1e15
        X = given.X / np.where((size > most) | ((size < 1 / most) & (size > 0)), size, 1.0)
        X = X.astype(np.float16 if kind == "half" else np.float32)
        given.X = X.astype(float)
        return scipy.sparse.csr_array(X) if "sparse" in kind else X
    if kind in ("integers", "truths"):
        size = np.abs(given.X).max(axis=0)
        whole = np.round(given.X / np.where(size > 0, size, 1) * 9).astype(int)
        whole = whole > 2 if kind == "truths" else whole
        given.X = whole.astype(float)
        return whole
    return contained(kind, given.X)


def contained(kind: str, X: np.ndarray) -> Any:
    """The same numbers in a container of this kind, or what is none."""
    names = [f"f{j}" for j in range(X.shape[1])]
    hole = X.copy()
    hole[-1, 0] = np.inf if kind == "infinite" else np.nan
    wide = np.zeros((2 * X.shape[0], 2 * X.shape[1]))
    wide[::2, ::2] = X
    make = {
        "Fortran": lambda: np.asfortranarray(X),
        "list": X.tolist,
        "pandas": lambda: pd.DataFrame(X, columns=names),
        "polars": lambda: pl.DataFrame(X, schema=names),
        "csr": lambda: scipy.sparse.csr_matrix(X),
        "csc": lambda: scipy.sparse.csc_array(X),
        "memory map": lambda: mapped(X),
        "objects": lambda: X.astype(object),
        "read-only": lambda: frozen(X),
        "strided": lambda: wide[::2, ::2],
        "reversed": lambda: X[::-1, ::-1].copy()[::-1, ::-1],
        "foreign": lambda: X.astype(">f8"),
        "masked": lambda: np.ma.MaskedArray(X, mask=False),
        "matrix": lambda: pd.DataFrame(X).to_numpy(),
        "text": lambda: np.full(X.shape, "a"),
        "number": lambda: 3.0,
        "empty": lambda: np.empty((0, X.shape[1])),
        "no columns": lambda: np.empty((X.shape[0], 0)),
        "nan": lambda: hole,
        "infinite": lambda: hole,
        "none": lambda: [[None] * X.shape[1]] * X.shape[0],
        "3-d": lambda: X[:, :, None],
        "complex": lambda: X + 1j,
    }
    return make.get(kind, lambda: X)()


def frozen(X: np.ndarray) -> np.ndarray:
    X = X.copy()
    X.flags.writeable = False
    return X


def mapped(X: np.ndarray) -> np.ndarray:
    with tempfile.TemporaryDirectory() as folder:  # the map outlives the name of its file
        path = Path(folder, "X")
        X.tofile(path)
        return np.memmap(path, X.dtype, "r", shape=X.shape)


def odd_columns(case: Case, given: Given, model: Any) -> None:
    """Constraints, good and bad."""
    m = given.X.shape[1]
    kind = case.choose("inside", "inside", "negative", "beyond", "both", "text", "float", "all out")
    columns = case.rng.permutation(m)[: max(1, m // 3)].tolist()
    one = case.choose("include", "exclude")
    values = {
        "inside": columns,
        "negative": [-1],
        "beyond": [m],
        "both": columns,
        "text": ["nobody"],
        "float": [0.5],
        "all out": list(range(m)),
    }[kind]
    model.set_params(**{one: values})
    if kind == "both":
        model.set_params(include=columns, exclude=columns)
    if kind != "inside" or one == "include":  # what is included may not be told apart
        given.flaws.append(f"{one}: {kind}")
    case.note(constraints=(one, kind))


HOSTILE = (-1, 0, 1e-320, 1e308, math.nan, math.inf, 10**400, "a", [1], True, 2.5, 10**6)


def estimator(case: Case, given: Given) -> Any:
    """One of the linear ones, in some setting."""
    unit = float(np.abs(given.y).max(initial=0.0)) or 1.0
    settings = (
        lambda: sw.StepwiseRegressor(
            case.choose("forward", "backward", "both", "foba"),
            criterion=case.choose("aic", "aicc", "bic", "ebic", "ric", "adjusted_r2", "loo"),
        ),
        lambda: sw.StepwiseRegressor("both", start=case.choose(None, "full", "empty", [0])),
        lambda: sw.StepwiseRegressor(sparsity=case.choose(0, 1, 3, 50)),
        lambda: sw.StepwiseRegressor(
            case.choose("forward", "both"), delta=unit * case.rng.random()
        ),
        lambda: sw.SparseBayesRegressor(case.choose("rmp", "fast_sbl")),
        lambda: sw.SparseBayesRegressor(sigma=unit * case.choose(1e-3, 0.1, 10.0)),
        lambda: sw.BasisPursuitRegressor(
            debias=case.chance(0.5), sigma=unit * case.choose(0.5, 2.0)
        ),
        lambda: sw.BasisPursuitRegressor(penalty=unit * case.rng.random()),
        lambda: sw.PursuitRegressor(
            case.choose("omp", "forward", "srr", "ompr", "oblivious"), sparsity=case.choose(1, 2)
        ),
        lambda: sw.SparseRegressor(
            case.choose("ric", "bic", "aic", "cv"), effort=case.choose(1, 4), cv=2
        ),
        lambda: sw.SparseRegressor(
            debias=case.chance(0.5), sigma=case.choose(None, unit * case.choose(1e-3, 0.1, 10.0))
        ),
    )
    model = case.choose(*settings)()
    model.set_params(fit_intercept=case.chance(0.8))
    if case.chance(0.2):
        odd_columns(case, given, model)
    if case.chance(0.15):
        name = case.choose(
            *sorted(set(model.get_params()) - {"verbose", "n_jobs", "certify", "cv"})
        )
        value = case.choose(*HOSTILE)
        model.set_params(**{name: value})
        given.flaws.append(f"{name}={value!r}"[:40])
    case.note(model=repr(model))
    return model


# --- what is asked -------------------------------------------------------------------------------


def fit(model: Any, X: Any, given: Given, weights: Any = None) -> Any:
    """The fitted model, without what warnings have to say."""
    copied = 0 if given.large else reduction.COPIED
    with warnings.catch_warnings(), patch.object(reduction, "COPIED", copied):
        warnings.simplefilter("ignore", InputWarning)
        warnings.simplefilter("ignore", DataConversionWarning)
        words = {} if weights is None else {"sample_weight": weights}
        return model.fit(X, given.y, **words)


def refused(call: Any, given: Given, model: Any) -> bool:
    """Whether a call was refused, which must be for a reason; nothing is left of the fit then."""
    try:
        call()
    except (ValueError, TypeError) as refusal:
        if isinstance(refusal, InputError):  # scikit-learn has its own words
            one_sentence(refusal)
        is_justified(refusal, given)
        leaves_nothing(model)
        return True
    return False


@oracle
def is_justified(refusal: Exception, given: Given) -> None:
    """Good tables are not refused; those with few rows may be, in the library's own words."""
    if given.flaws:
        return
    told, (n, m) = str(refusal), given.X.shape
    if reach := re.match(r"No x has ‖A x - y‖ <= (\S+): the distance .* is (\S+);", told):
        bound, distance = map(float, reach.groups())
        assert bound < distance, told
        assert any(math.isclose(distance, d, rel_tol=1e-6) for d in distances(given)), told
        return
    if "beyond the range of float32" in told:
        size = float(np.abs(given.y).max())
        assert not 1e-15 < size < 1e15, told
        return
    if "are out of range; scale" in told:
        sizes = np.abs(given.X).max(axis=0)
        ratio = np.log10(np.abs(given.y).max()) - np.log10(sizes[sizes > 0])
        assert np.abs(ratio).max() > 100, told
        return
    few = isinstance(refusal, InputError) and given.rows <= m + 3
    assert few or n < 3, f"{type(refusal).__name__}: {told}"


def distances(given: Given) -> Iterator[float]:
    """How far the target is from the features, without and with an intercept."""
    root = np.sqrt(np.ones(len(given.y)) if given.weights is None else given.weights)
    size = np.abs(given.X).max(axis=0)
    unit = given.X / np.where(size > 0, size, 1)
    for A in (unit, np.column_stack([np.ones(len(unit)), unit])):
        A, y = root[:, None] * A, root * given.y
        scale = np.abs(y).max() or 1.0
        yield float(scale * np.linalg.norm(y / scale - A @ np.linalg.lstsq(A, y / scale)[0]))


@oracle
def leaves_nothing(model: Any) -> None:
    """A fit that failed leaves no attribute that could answer."""
    left = [name for name in vars(model) if name.endswith("_")]
    assert not left, f"{left} are left"


# --- what comes out ------------------------------------------------------------------------------


def precision(model: Any) -> float:
    return float(np.finfo(model.coef_.dtype).eps)


def wide(given: Given, model: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """X, y, weights and coefficients in extended precision."""
    ones = np.ones(len(given.y)) if given.weights is None else given.weights
    return tuple(np.asarray(a).astype(LONG) for a in (given.X, given.y, ones, model.coef_))


@oracle
def predicts_what_it_says(model: Any, X: Any, given: Given) -> None:
    """X coef + intercept, to the rounding of these."""
    Z, _, _, coef = wide(given, model)
    told = np.asarray(model.predict(X)).astype(LONG)
    expected = Z @ coef + LONG(float(model.intercept_))
    size = np.abs(Z) @ np.abs(coef) + abs(LONG(float(model.intercept_)))
    size = np.maximum(size, size.mean())  # means of features are rounded, too
    tiny = float(np.finfo(told.dtype if model.coef_.dtype == np.float64 else np.float32).tiny)
    off = np.abs(told - expected) - 1e3 * precision(model) * size - tiny
    assert np.isfinite(told.astype(float)).all(), "a prediction is not finite"
    assert (off <= 0).all(), f"off by {np.abs(told - expected).max()} of {size.max()}"
    assert not np.isnan(model.coef_).any()


@oracle
def solves_the_normal_equations(model: Any, given: Given) -> None:
    """Where coefficients are those of least squares: the residual has nothing of its features."""
    if not model.solution_.least_squares:
        return
    Z, y, weights, coef = wide(given, model)
    total = weights.sum()
    mean = weights @ Z / total if model.fit_intercept else np.zeros(len(coef), LONG)
    level = weights @ y / total if model.fit_intercept else LONG(0)
    A, b = Z - mean, y - level
    r = b - A @ coef
    norm = np.sqrt(weights @ np.square(A))
    scale = np.sqrt(weights @ np.square(y)) + norm @ np.abs(coef)
    # What rounding of X costs about its mean, relative to what is left of it.
    lost = 1 + np.sqrt(weights @ np.square(Z)) / np.where(norm > 0, norm, 1)
    chosen = np.flatnonzero(model.get_support())
    gradient = np.abs((weights * r) @ A)[chosen]
    allowed = 3e4 * precision(model) * (norm * lost)[chosen] * scale
    assert (gradient <= allowed).all(), f"{gradient} of {allowed}"
    rest = float(np.sqrt(weights @ np.square(r)))
    told = float(model.solution_.residual_norm)
    slack = 3e4 * precision(model) * float(scale * lost[chosen].max(initial=1))
    assert abs(told - rest) <= slack, f"residual {told}, but it is {rest}"


@oracle
def criteria_are_their_formulas(model: Any, given: Given) -> None:
    """AIC and BIC of every model on the path, R² of every step, and sizes that fit the steps."""
    columns = {name: values.tolist() for name, values in model._path_columns().items()}
    n, total = float(model.n_rows_), float(model.criteria_.total)
    assert math.isclose(n, given.rows, rel_tol=1e-9), f"{n} rows, not {given.rows}"
    for i, rss in enumerate(columns["rss"]):
        p = columns["size"][i] + model.fit_intercept
        if total > 0:
            assert abs(columns["r2"][i] - max(0.0, 1 - rss / total)) <= 1e-9, "R²"
        for name, price in (("aic", 2.0), ("bic", math.log(n))):
            if rss > 0 and columns.get(name) and not math.isnan(columns[name][i]):
                value = n * (math.log(rss) - math.log(n)) + price * p
                assert math.isclose(columns[name][i], value, rel_tol=1e-9, abs_tol=1e-6), name
    assert columns["action"][0] == "start"


@oracle
def keeps_its_precision(model: Any, X: Any) -> None:
    """Single precision stays single in all that was found; everything else is double."""
    dtype = np.float32 if getattr(X, "dtype", None) == np.float32 else np.float64
    for name in ("coef_", "intercept_", "covariance_", "coef_std_", "means_", "noise_"):
        value = getattr(model, name, None)
        size = np.abs(np.asarray(0.0 if value is None else value, float))
        real = np.finfo(dtype)
        if value is not None and ((size == 0) | ((size >= real.tiny) & (size <= real.max))).all():
            assert np.asarray(value).dtype == dtype, f"{name} is {np.asarray(value).dtype}"
    assert model.predict(X).dtype == dtype


@oracle
def is_an_estimator(model: Any, X: Any, given: Given, weights: Any) -> None:
    """A clone has the same parameters, a pickle the same answers, another fit the same model."""
    again = clone(model)
    assert repr(again) == repr(model)
    assert again.get_params().keys() == model.get_params().keys()
    fit(again, X, given, weights)
    carried = pickle.loads(pickle.dumps(model))
    for other in (again, carried):
        assert np.array_equal(other.coef_, model.coef_), "other coefficients"
        assert np.array_equal(other.predict(X), model.predict(X)), "other predictions"


@oracle
def containers_do_not_matter(model: Any, given: Given, weights: Any) -> None:
    """The same numbers as an array fit as well; equal features may stand in for each other."""
    if model.coef_.dtype == np.float32:
        return
    plain = fit(clone(model), given.X.copy(), replace(given, large=False), weights)
    told, expected = (float(m.solution_.residual_norm) for m in (model, plain))
    size = math.sqrt(float(plain.criteria_.total)) or 1.0
    assert abs(told - expected) <= 1e-5 * size, f"residual {told}, of an array {expected}"


@oracle
def units_do_not_matter(model: Any, given: Given, weights: Any, powers: np.ndarray) -> None:
    """Features in other units, by powers of two: coefficients in theirs."""
    if model.coef_.dtype == np.float32 or not getattr(model, "standardize", True):
        return
    other = fit(clone(model), given.X * 2.0**powers, replace(given, X=given.X), weights)
    told, expected = (float(m.solution_.residual_norm) for m in (other, model))
    size = math.sqrt(float(model.criteria_.total)) or 1.0
    assert abs(told - expected) <= 1e-5 * size, f"residual {told}, in other units {expected}"
    same = np.array_equal(other.get_support(), model.get_support())
    if same:
        back = other.coef_ * 2.0**powers
        assert np.allclose(back, model.coef_, rtol=1e-4, atol=1e-6 * np.abs(model.coef_).max())


@family("estimators", share=2)
def linear(case: Case) -> None:
    """A linear estimator on some table, in some container."""
    given = table(case)
    X = contain(case, given)
    weigh(case, given)
    given.large = case.chance(0.3)
    case.note(large=given.large)
    model = estimator(case, given)
    weights = given.weights
    if isinstance(weights, np.ndarray) and case.chance(0.3):
        weights = case.choose(weights.tolist(), weights.astype(object), weights)
    if case.chance(0.3):  # an earlier fit, of which nothing must be left
        leave_behind(model)
    if refused(lambda: fit(model, X, given, weights), given, model):
        return
    if any(flaw.startswith(("weights", *WRONG)) for flaw in given.flaws):
        assert not {"nan", "infinite", "none", "text", "complex"} & set(given.flaws), "taken"
    predicts_what_it_says(model, X, given)
    keeps_its_precision(model, X)
    solves_the_normal_equations(model, given)
    criteria_are_their_formulas(model, given)
    is_an_estimator(model, X, given, weights)
    containers_do_not_matter(model, given, weights)
    if case.chance(0.3):
        units_do_not_matter(model, given, weights, case.rng.integers(-40, 40, given.X.shape[1]))


def leave_behind(model: Any) -> None:
    """What an earlier fit of the model might have left."""
    before = vars(sw.StepwiseRegressor(certify=True).fit(np.eye(9)[:, :3], np.arange(9.0)))
    model.__dict__.update({name: one for name, one in before.items() if name.endswith("_")})


# --- relevance vectors ---------------------------------------------------------------------------

PROFILES = {
    "matern12": lambda r: np.exp(-r),
    "matern32": lambda r: (1 + math.sqrt(3) * r) * np.exp(-math.sqrt(3) * r),
    "matern52": lambda r: (1 + math.sqrt(5) * r + 5 / 3 * r**2) * np.exp(-math.sqrt(5) * r),
    "rbf": lambda r: np.exp(-(r**2) / 2),
}


@oracle
def is_a_sum_of_kernels(model: Any, X: np.ndarray, given: Given) -> None:
    """Intercept and weights times kernels of distances, features over their deviations."""
    Z = given.X
    units = np.ones(Z.shape[1])
    if model.length_scale == "median" and model.scale and Z.shape[1] > 1:
        units = Z.std(axis=0)
        varies = units > 1e-12 * np.abs(Z).max(axis=0)
        units = np.where(varies, units, 1.0)
        units[varies] /= np.exp(np.log(units[varies]).mean())
    centres = Z[model.relevance_]
    apart = (Z[:, None] - centres[None]) / units / model.length_scale_
    K = PROFILES[model.kernel](np.sqrt(np.square(apart).sum(axis=2)))
    expected = float(model.intercept_) + K @ model.coef_.astype(float)
    size = 1 + np.abs(K) @ np.abs(model.coef_.astype(float)) + abs(float(model.intercept_))
    told = model.predict(X)
    assert np.isfinite(told).all(), "a prediction is not finite"
    eps = float(np.finfo(model.coef_.dtype).eps)
    assert (np.abs(told - expected) <= 1e5 * eps * size).all(), f"off: {told - expected}"


@family("relevance vectors")
def kernels(case: Case) -> None:
    """Kernel regression, in any units."""
    n, p = int(case.rng.integers(3, 30)), int(case.rng.integers(1, 4))
    given = Given(case.rng.uniform(-3, 3, (n, p)), np.zeros(n))
    given.y = np.sin(given.X[:, 0]) + 0.1 * case.rng.standard_normal(n)
    if case.chance(0.5):
        given.X *= 10.0 ** case.rng.uniform(-8, 8, p)
    if case.chance(0.2):
        given.X[:, -1] = case.choose(0.0, 1 / 3, 1e9)
    model = sw.RelevanceVectorRegressor(
        case.choose(*PROFILES),
        scale=case.chance(0.8),
        length_scale=case.choose("median", "median", 2.0),
        algorithm=case.choose("rmp", "fast_sbl"),
        fit_intercept=case.chance(0.8),
    )
    X: Any = given.X.astype(np.float32) if case.chance(0.3) else given.X
    given.X = np.asarray(X, float)
    if case.chance(0.2):
        name = case.choose("length_scale", "sigma", "delta", "n_candidates", "cache_size", "kernel")
        value = case.choose(*HOSTILE)
        model.set_params(**{name: value})
        given.flaws.append(name)
    case.note(n=n, p=p, model=repr(model))
    if case.chance(0.3):
        leave_behind(model)
    if refused(lambda: fit(model, X, given), given, model):
        return
    assert not hasattr(model, "certificate_")
    if isinstance(model.kernel, str) and model.sigma is None:
        is_a_sum_of_kernels(model, X, given)
    if model.n_candidates is None:  # which are drawn anew for each fit
        again = fit(clone(model), X, given)
        assert np.array_equal(again.predict(X), model.predict(X)), "another fit, another model"


@family("categories")
def declared(case: Case) -> None:
    """A table with a column that is declared to hold categories, whose levels may be numbers."""
    n, kind = int(case.rng.integers(1, 30)), case.choose("pandas", "polars", "enum")
    levels = case.choose(["1", "2", "3"], ["10", "2.5"], ["0"], ["nan", "1"], ["a", "1"])
    cells = [None if case.chance(0.1) else case.choose(*levels) for _ in range(n)]
    numbers = kind == "pandas" and levels[0] == "1" and case.chance(0.5)
    case.note(kind=kind, levels=levels, numbers=numbers)
    if numbers:
        cells, levels = [c and int(c) for c in cells], [int(c) for c in levels]
    a, y = case.rng.standard_normal((2, n))
    if kind == "pandas":
        X = pd.DataFrame({"a": a, "g": pd.Categorical(cells, categories=levels)})
    else:
        dtype = pl.Categorical if kind == "polars" else pl.Enum(levels)
        X = pl.DataFrame({"a": a, "g": pl.Series(cells, dtype=dtype)})
    as_target = case.chance(0.3)
    model = case.choose(sw.StepwiseRegressor, sw.SparseRegressor, sw.RelevanceVectorRegressor)()
    try:
        model.fit(X[["a"]], X["g"]) if as_target else model.fit(X, y)
    except InputError as refusal:
        one_sentence(refusal)
        categories_are_refused(str(refusal))
    else:
        categories_are_refused("fitted")


@oracle
def categories_are_refused(told: str) -> None:
    """Categories are never a number's, whatever they are called."""
    assert "holds categories" in told, told


# --- faults --------------------------------------------------------------------------------------


def wrapped(where: Any, name: str, change: Any) -> AbstractContextManager[object]:
    """A function of the library whose answer is changed."""
    right = getattr(where, name)
    return patch.object(where, name, lambda *a, **k: change(right(*a, **k), *a))


@fault(predicts_what_it_says, family="estimators")
def off_by_a_thousandth():
    return wrapped(
        base.Predictor,
        "expected",
        lambda told, *_: (told[0] + 1e-3 * (1 + told[0]), told[1]),
    )


@fault(solves_the_normal_equations, family="estimators")
def coefficients_too_large():
    def change(state, *_):
        solution = replace(state.solution_, coef=1.01 * state.solution_.coef)
        return replace(state, solution_=solution, coef_=1.01 * state.coef_)

    return wrapped(base.SparseLinearModel, "_fitted", change)


@fault(criteria_are_their_formulas, family="estimators")
def another_bic():
    return wrapped(Criterion, "value", lambda value, *_: value + 1.0)


@fault(keeps_its_precision, family="estimators")
def double_for_all():
    return patch.object(state, "in_precision", lambda dtype, value: value)


@fault(leaves_nothing, family="estimators")
def half_a_fit():
    return patch.object(state, "forget", lambda estimator: None)


@fault(one_sentence, family="estimators")
def several_lines():
    return wrapped(errors.Message, "sentence", lambda text, *_: f"{text}\n\x1b[0m")


@fault(is_justified, family="estimators")
def refuses_all():
    def reduce(*args):
        raise InputError("is refused, whatever it is.", parameter="X")

    return patch.object(tables, "reduce", reduce)


@fault(is_an_estimator, family="estimators")
def forgetful_pickle():
    def double(kept, *_):
        return {**kept, "coef_": 2 * kept["coef_"]}

    return wrapped(state.FittedState, "__getstate__", double)


@fault(containers_do_not_matter, family="estimators")
def frames_in_disorder():
    right = inputs.validate_data

    def validate(estimator, X="no validation", *args, **words):
        told = right(estimator, X, *args, **words)
        if isinstance(told, tuple) and isinstance(X, (pd.DataFrame, pl.DataFrame)):
            return np.abs(told[0]), told[1]
        return told

    return patch.object(inputs, "validate_data", validate)


@fault(units_do_not_matter, family="estimators")
def small_is_zero():
    right = reduction.reduce

    def reduce(X, *args):
        if isinstance(X, np.ndarray):
            X = np.where(np.abs(X) < 1e-6, 0.0, X)
        return right(X, *args)

    return patch.object(tables, "reduce", reduce)


@fault(is_a_sum_of_kernels, family="relevance vectors")
def scales_of_another():
    return wrapped(relevance_vector, "spreads", lambda scale, *_: scale * 1.1)


@fault(categories_are_refused, family="categories")
def categories_that_look_like_numbers_pass():
    return patch.object(dtypes, "DECLARED", ("no type",))
