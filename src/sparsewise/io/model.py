"""A fitted linear model on its own: what predicting needs, saved as JSON and read back exactly.

A saved model is a JSON object with a format version and a checksum. It holds numbers and names and
nothing that could be executed; whatever is not as it was written is refused with one sentence.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Literal, NoReturn, Self, overload

import numpy as np
import numpy.typing as npt

from sparsewise._util.files import read_file, write_file
from sparsewise._util.predictive_std import observation_std
from sparsewise._util.text import count, listing, quoted
from sparsewise.errors import InputError
from sparsewise.version import __version__

FloatArray = npt.NDArray[np.float64]
Scalar = str | float | int | bool | None

FORMAT = "sparsewise-model"
VERSION = 1
"""The version of the format."""
MISSING_LEVEL = "missing"
"""What a missing value is called where it is a level, or has a feature of its own."""
NOT_OURS = "this is not a model that sparsewise saved"
MOST_BYTES = 2**30
"""A covariance of 6,000 features takes as much; what is larger is no model of ours."""


@dataclass(frozen=True)
class Source:
    """A column of a table, and the features that are made of it.

    Parameters
    ----------
    name : str
        The column.
    levels : tuple of str, optional
        The values of a column of text, at least two; None for a column of numbers.
    fill : float or str, optional
        What stands for a missing value: a number, or one of the levels; None if there must be none.
    indicator : bool
        Whether "column=missing", 1 where a number is missing and else 0, is a feature, too.
    """

    name: str
    levels: tuple[str, ...] | None = None
    fill: float | str | None = None
    indicator: bool = False

    @property
    def features(self) -> tuple[str, ...]:
        """The column itself, or "column=level" for each level; of two levels, the second."""
        if self.levels is None:
            return (self.name, *([self.missing] if self.indicator else []))
        return tuple(f"{self.name}={level}" for level in self.encoded)

    @property
    def missing(self) -> str:
        """The feature that tells missing values."""
        return f"{self.name}={MISSING_LEVEL}"

    @property
    def encoded(self) -> tuple[str, ...]:
        """The levels that have a feature: of two, one is enough to tell both."""
        levels = self.levels or ()
        return levels[1:] if len(levels) == 2 else levels


@dataclass(frozen=True, eq=False)
class LinearModel:
    """A linear model of chosen features, with all that predicting from a table needs.

    The prediction is ``intercept + x·coef``, computed as ``level + (x - means)·coef``. A new
    observation scatters about it with the variance

        σ² (1 + 1/n) + (x - x̄)ᵀ Σ (x - x̄)

    that is noise, the mean of the target, and the coefficients; without an intercept x̄ and 1/n
    are zero. Several targets that share their features have coefficients, an intercept and a noise
    each, and Σ is proportional to the variance of the noise.

    Parameters
    ----------
    target : str, or tuple of str
        What is predicted: one target, or q of them.
    features : sequence of str
        The chosen features, as `Source.features` calls them.
    coef : array of shape (k,), or (q, k)
        Their coefficients.
    intercept : float, or array of shape (q,)
        The constant; 0 if the model has none.
    means : array of shape (k,)
        Means of the features in the data of the fit; zeros if the model has no intercept.
    covariance : array of shape (k, k), optional
        Of the coefficients; None where it is not known. Of several targets, that of one whose noise
        is the root mean square (of those that have any).
    noise : float, or array of shape (q,), optional
        Standard deviation of the noise; None where it is not known.
    rows : float
        Rows of the fit, or the sum of their weights.
    has_intercept : bool
        Whether the model has a constant.
    encoding : sequence of Source, optional
        The columns of a table that the features come from; by default each is a column of numbers.
    method : str
        How the model was found.
    facts : mapping, optional
        What else is worth knowing, by name: text, numbers, truth values or None.
    """

    target: str | tuple[str, ...]
    features: tuple[str, ...]
    coef: FloatArray
    intercept: Any
    means: FloatArray
    covariance: FloatArray | None
    noise: Any
    rows: float
    has_intercept: bool = True
    encoding: tuple[Source, ...] = ()
    method: str = ""
    facts: Mapping[str, Scalar] = field(default_factory=dict)

    def __post_init__(self) -> None:
        encoding = self.encoding or tuple(map(Source, self.features))
        vars(self).update(_checked(vars(self) | {"encoding": encoding}))

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        *,
        target: str | Sequence[str],
        names: Sequence[str] | None = None,
        encoding: Iterable[Source] | None = None,
        method: str = "",
        facts: Mapping[str, Scalar] | None = None,
    ) -> Self:
        """Take the model out of a fitted estimator.

        Parameters
        ----------
        estimator : SparseLinearModel
            Or anything with ``coef_``, ``intercept_``, ``means_``, ``covariance_``, ``noise_``,
            ``n_rows_``, ``fit_intercept`` and ``get_support``.
        target : str, or sequence of str
            What it predicts: a name for each target where ``coef_`` has a row for each.
        names : sequence of str, optional
            Names of all features it was fitted to; by default those it knows, or x0, x1, ...
        encoding : iterable of Source, optional
            The columns these features come from; those of features not chosen are left out.
        method : str
            How the model was found.
        facts : mapping, optional
            What else is worth knowing; the version of sparsewise is added.
        """
        coef = np.asarray(estimator.coef_, dtype=np.float64)
        if names is None:
            names = getattr(estimator, "feature_names_in_", None)
        if names is None:
            names = [f"x{j}" for j in range(coef.shape[-1])]
        chosen = np.flatnonzero(estimator.get_support())
        features = tuple(str(names[int(j)]) for j in chosen)
        used = (one for one in encoding or () if not set(features).isdisjoint(one.features))
        has_intercept = bool(estimator.fit_intercept)
        exact = getattr(estimator, "_state_", estimator)  # single precision has rounded the others
        covariance = exact.covariance_
        if covariance is not None:
            lower = np.asarray(covariance, dtype=np.float64)
            covariance = np.tril(lower) + np.tril(lower, -1).T  # exactly symmetric
        return cls(
            target=target if isinstance(target, str) else tuple(target),
            features=features,
            coef=coef[..., chosen],
            intercept=exact.intercept_ if has_intercept else np.zeros(coef.shape[:-1])[()],
            means=exact.means_ if has_intercept else np.zeros(chosen.size),
            covariance=covariance,
            noise=exact.noise_,
            rows=float(estimator.n_rows_),
            has_intercept=has_intercept,
            encoding=tuple(used),
            method=method,
            facts={**(facts or {}), "sparsewise": __version__},
        )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, LinearModel):
            return NotImplemented
        # As text, so that 0.0 and -0.0 are two.
        return _dump(_plain(self)) == _dump(_plain(other))

    def __hash__(self) -> int:
        return hash(_dump(_plain(self)))

    @property
    def level(self) -> Any:
        """The prediction where all features are at their means; of several targets, one each."""
        with np.errstate(over="ignore"):
            parts = np.column_stack(
                [np.ravel(self.intercept), np.atleast_2d(self.means * self.coef)]
            )
        levels = [_sum(row) for row in parts.tolist()]
        return levels[0] if isinstance(self.target, str) else np.array(levels)

    @overload
    def predict(self, X: npt.ArrayLike, return_std: Literal[False] = False) -> FloatArray: ...

    @overload
    def predict(
        self, X: npt.ArrayLike, return_std: Literal[True]
    ) -> tuple[FloatArray, FloatArray]: ...

    def predict(
        self, X: npt.ArrayLike, return_std: bool = False
    ) -> FloatArray | tuple[FloatArray, FloatArray]:
        """The expected target of each row, and how far new observations scatter about it.

        Parameters
        ----------
        X : array of shape (n, k)
            One column for each of ``features``, in this order.
        return_std : bool
            Whether to return standard deviations of new observations, too.
        """
        X = _floats(X)
        k = len(self.features)
        if X.ndim != 2 or X.shape[1] != k:
            raise InputError(f"X must have {count(k, 'column')}, one for each feature of the model")
        _check_finite(X, "X holds a value that is not finite")
        # About the means, as in the fit: far from zero, the intercept and the rest would each be
        # much larger than their sum.
        with np.errstate(over="ignore", invalid="ignore"):
            Z = X - self.means
            mean = self.level + Z @ self.coef.T
        _check_finite(mean, "the prediction is too large for a number")
        return (mean, self._std(Z)) if return_std else mean

    def _std(self, Z: FloatArray) -> FloatArray:
        """Standard deviations of new observations, the features being so far from their means."""
        if self.noise is None or self.covariance is None:
            unknown = "noise" if self.noise is None else "covariance of its coefficients"
            raise InputError(
                f"the model tells no standard deviations, as the {unknown} is not known: fit it "
                "by a stepwise or Bayesian method"
            )
        std = observation_std(Z, self.covariance, self.noise, self.has_intercept / self.rows)
        _check_finite(std, "the standard deviation is too large for a number")
        return std

    # ------------------------------------------------------------------ as text

    def to_json(self) -> str:
        """The model as JSON: ASCII, a line for each field; `from_json` reads it back exactly."""
        content = {"format": FORMAT, "version": VERSION, **_plain(self)}
        content["sha256"] = _checksum(content)
        lines = (f" {json.dumps(name)}: {_dump(value)}" for name, value in content.items())
        return "{\n" + ",\n".join(lines) + "\n}\n"

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read a model from what `to_json` wrote; anything else is an `InputError`."""
        try:
            return cls(**_checked(_unsealed(_parsed(text))))
        except RecursionError:
            raise InputError(f"{NOT_OURS}: it is nested too deeply") from None

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to a file, as a whole or not at all: a failure leaves the old file."""
        text = self.to_json()
        if len(text) > MOST_BYTES:
            raise InputError(
                f"the model is too large to be saved: {count(len(self.features), 'feature')}"
            )
        write_file(path, text.encode("ascii"))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a model from a file that `save` wrote; anything else is an `InputError`."""
        name = quoted(os.fspath(path))
        data = read_file(path, MOST_BYTES + 1)
        if len(data) > MOST_BYTES:
            raise InputError(f"{name} is too large to be a model that sparsewise saved")
        try:
            return cls.from_json(data.decode("utf-8-sig"))
        except UnicodeDecodeError:
            raise InputError(f"{name} is not a model that sparsewise saved") from None
        except InputError as error:
            raise InputError(f"{name}: {error}") from None


def _sum(parts: list[float]) -> float:
    """Summed exactly; what is beyond numbers is left to `predict` to refuse."""
    return math.fsum(parts) if max(map(abs, parts)) < 1e300 else sum(parts)


# --- to JSON --------------------------------------------------------------------------------------


def _plain(model: LinearModel) -> dict[str, Any]:
    """The fields as JSON takes them."""
    content = {
        name: value.tolist() if isinstance(value, np.ndarray) else value
        for name, value in vars(model).items()
    }
    return content | {"encoding": [_plain_source(source) for source in model.encoding]}


def _plain_source(source: Source) -> dict[str, Any]:
    name, levels, fill, indicator = vars(source).values()
    return {"column": name, "levels": levels, "fill": fill, "indicator": indicator}


def _dump(content: Any) -> str:
    """One text for equal content, whatever the order of fields and the spaces between them."""
    return json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False)


def _checksum(content: Mapping[str, Any]) -> str:
    rest = {name: value for name, value in content.items() if name != "sha256"}
    return hashlib.sha256(_dump(rest).encode("ascii")).hexdigest()


# --- from JSON ------------------------------------------------------------------------------------


def _parsed(text: str) -> Any:
    """JSON without what it allows but we never write: repeated keys, NaN, numbers beyond floats."""
    try:
        return json.loads(
            text, object_pairs_hook=_unique, parse_constant=_constant, parse_float=_finite
        )
    except InputError:
        raise
    except ValueError:
        raise InputError(f"{NOT_OURS}: it is not JSON") from None


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    content = dict(pairs)
    if len(content) < len(pairs):
        raise _broken("a field is there twice")
    return content


def _constant(text: str) -> NoReturn:
    raise _broken(f"{text} is not a number")


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise _broken(f"{text[:20]} is too large for a number")
    return value


def _unsealed(content: Any) -> dict[str, Any]:
    """The fields of a model, without what only guards them."""
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise InputError(NOT_OURS)
    _check_version(content.get("version"))
    if content.get("sha256") != _checksum(content):
        raise InputError("the model was changed after it was saved: save it again from the fit")
    names = {entry.name for entry in fields(LinearModel)}
    written = content.keys() - {"format", "version", "sha256"}
    if written != names:
        odd = sorted(written ^ names)
        raise _broken(f"its fields are not those of version {VERSION}: {listing(odd)}")
    return {name: content[name] for name in names}


def _check_version(version: Any) -> None:
    if type(version) is not int or version < VERSION:
        raise InputError(f"the model's format version is unknown: this sparsewise reads {VERSION}")
    if version > VERSION:
        raise InputError(
            f"the model was written by a newer sparsewise: its format version is "
            f"{str(version)[:9]}, and this one reads {VERSION}; update sparsewise"
        )


def _broken(why: str) -> InputError:
    return InputError(f"the model can't be used: {why}")


# --- what a model must be -------------------------------------------------------------------------


def _checked(content: dict[str, Any]) -> dict[str, Any]:
    """The fields of a model from plain ones, each of its type and fitting the others."""
    features = _texts(content["features"], "features")
    k, (target, each) = len(features), _targets(content["target"])
    has_intercept, noise = content["has_intercept"], content["noise"]
    _require(isinstance(has_intercept, bool), "has_intercept must be true or false")
    checked: dict[str, Any] = {
        "target": target,
        "features": features,
        "coef": _array(content["coef"], (*each, k), "coef"),
        "intercept": _each(content["intercept"], each, "intercept"),
        "means": _array(content["means"], (k,), "means"),
        "covariance": _covariance(content["covariance"], k),
        "noise": None if noise is None else _each(noise, each, "noise"),
        "rows": _number(content["rows"], "rows"),
        "has_intercept": has_intercept,
        "encoding": _encoding(content["encoding"], features),
        "method": _text(content["method"], "method"),
        "facts": _facts(content["facts"]),
    }
    _require(noise is None or np.all(checked["noise"] >= 0), "noise must not be negative")
    _require(checked["rows"] > 0, "rows must be positive")
    if not has_intercept and (np.any(checked["intercept"]) or checked["means"].any()):
        raise _broken("without an intercept, intercept and means must be 0")
    return checked


def _targets(value: Any) -> tuple[str | tuple[str, ...], tuple[int, ...]]:
    """What is predicted, and the shape of what there is of it: (), or (q,) of several targets."""
    if not isinstance(value, list | tuple):
        return _text(value, "target"), ()
    names = tuple(_text(name, "target") for name in value)
    _require(len(names) > 0, "target must have a name at least")
    return names, (len(names),)


def _each(value: Any, each: tuple[int, ...], name: str) -> Any:
    """A number, or an array of one for each target."""
    return _array(value, each, name, "target") if each else _number(value, name)


def _require(is_so: bool | np.bool_, what: str) -> None:
    if not is_so:
        raise _broken(what)


def _text(value: Any, name: str) -> str:
    _require(isinstance(value, str), f"{name} must be text")
    return str(value)


def _texts(values: Any, name: str) -> tuple[str, ...]:
    """Texts, each there once."""
    _require(isinstance(values, list | tuple), f"{name} must be a list")
    texts = tuple(_text(value, name) for value in values)
    _require(len(set(texts)) == len(texts), f"{name} must all be different")
    return texts


def _number(value: Any, name: str) -> float:
    """A finite float; a whole number will do."""
    if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
        raise _broken(f"{name} must be a number")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    _require(math.isfinite(number), f"{name} must be finite")
    return number


def _array(values: Any, shape: tuple[int, ...], name: str, by: str = "feature") -> FloatArray:
    """A read-only array of finite floats of this shape, from an array or nested lists."""
    if not isinstance(values, np.ndarray):
        values = _nested(values, shape, name, by)
    _require(
        values.dtype.kind in "fiu" and values.shape == shape,
        f"{name} must have {_numbers(shape, by)}",
    )
    array = np.array(values, dtype=np.float64)
    _require(np.isfinite(array).all(), f"{name} must be finite")
    array.flags.writeable = False
    return array


def _nested(values: Any, shape: tuple[int, ...], name: str, by: str) -> FloatArray:
    """An array of this shape from nested lists; NumPy would take texts for numbers, too."""
    _require(
        isinstance(values, list | tuple) and len(values) == shape[0],
        f"{name} must have {_numbers(shape, by)}",
    )
    if len(shape) == 1:
        return np.array([_number(value, name) for value in values], dtype=np.float64)
    rows = [_nested(row, shape[1:], name, by) for row in values]
    return np.array(rows, dtype=np.float64).reshape(shape)


def _numbers(shape: tuple[int, ...], by: str) -> str:
    return f"{' x '.join(map(str, shape))} numbers, as the model has {count(shape[-1], by)}"


def _covariance(values: Any, k: int) -> FloatArray | None:
    if values is None:
        return None
    covariance = _array(values, (k, k), "covariance")
    _require(np.array_equal(covariance, covariance.T), "covariance must be symmetric")
    _require((np.diagonal(covariance) >= 0).all(), "covariance must not have a negative variance")
    return covariance


def _encoding(values: Any, features: Sequence[str]) -> tuple[Source, ...]:
    """The columns, which between them have each feature once."""
    _require(isinstance(values, list | tuple), "encoding must be a list")
    sources = tuple(_source(value) for value in values)
    _texts([source.name for source in sources], "columns of the encoding")
    made = _texts([name for source in sources for name in source.features], "encoded features")
    unknown = set(features).difference(made)
    if unknown:
        raise _broken(f"the encoding does not tell what {listing(sorted(unknown))} is made of")
    return sources


def _source(value: Any) -> Source:
    if isinstance(value, Source):
        value = _plain_source(value)
    if not isinstance(value, dict) or value.keys() != {"column", "levels", "fill", "indicator"}:
        raise _broken("encoding must tell a column, its levels, fill and indicator")
    name, fill, indicator = _text(value["column"], "column"), value["fill"], value["indicator"]
    _require(isinstance(indicator, bool), "indicator must be true or false")
    _require(not indicator or fill is not None, "what has an indicator must be filled")
    if value["levels"] is None:
        return Source(name, None, None if fill is None else _number(fill, "fill"), indicator)
    levels = _texts(value["levels"], "levels")
    _require(len(levels) > 1, "a column of text must have two levels or more")
    _require(fill is None or fill in levels, "fill must be one of the levels")
    _require(not indicator, "a column of text has no indicator")
    return Source(name, levels, fill)


def _facts(values: Any) -> dict[str, Scalar]:
    """Names and plain values."""
    _require(isinstance(values, dict), "facts must be an object")
    return {_text(name, "a fact's name"): _fact(value, name) for name, value in values.items()}


def _fact(value: Any, name: str) -> Scalar:
    value = value.item() if isinstance(value, np.generic) else value
    usable = value is None or isinstance(value, bool | str)
    usable |= isinstance(value, float) and math.isfinite(value)
    usable |= isinstance(value, int) and abs(value) < 2**63  # larger ones might not be read back
    _require(usable, f"the fact {quoted(name)} must be text, a finite number, or true or false")
    return value


def _floats(X: npt.ArrayLike) -> FloatArray:
    """An array of floats; texts, dates and complex numbers are none, though NumPy takes them."""
    try:
        array = np.asarray(X)
        if array.dtype.kind not in "biufO":
            raise TypeError
        with np.errstate(over="ignore"):  # what becomes infinite is refused by its row
            return array.astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        raise InputError("X must be an array of real numbers") from None


def _check_finite(values: FloatArray, trouble: str) -> None:
    finite = np.isfinite(values) if values.ndim == 1 else np.isfinite(values).all(axis=1)
    if not finite.all():
        raise InputError(f"{trouble}, in row {int(np.argmin(finite)) + 1}")
