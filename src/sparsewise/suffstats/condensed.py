"""Any number of rows as a triangle, for tables larger than memory, or than one machine.

A saved one is a line of text, the format's name and version and a checksum, and then NumPy arrays;
nothing in it could be executed, and whatever is not as it was written is refused.
"""

from __future__ import annotations

import hashlib
import io
import json
import math
import os
import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import reduce
from operator import add
from typing import Any, Self
from zipfile import ZIP_STORED, BadZipFile, ZipFile

import numpy as np
from numpy.typing import ArrayLike

from sparsewise._typing import Array
from sparsewise._util.files import read_file, write_file
from sparsewise._util.text import count, quoted
from sparsewise.design import DenseDesign, Design, as_design
from sparsewise.design.base import not_finite, working_type
from sparsewise.design.choose import as_floats
from sparsewise.errors import InputError
from sparsewise.suffstats.triangle import ARRAYS, Triangle, number_of_rows

FORMAT = "sparsewise-condensed"
VERSION = "1"
NOT_OURS = "this is not a Condensed that sparsewise saved"

FORGED = BadZipFile, NotImplementedError, EOFError, struct.error
"""What Python raises of files that were never saved."""

MOST_BYTES = 1 << 32
"""The largest triangle that is made: of some 23,000 features."""

ATTRIBUTES = "n_features", "feature_names", "n_targets", "target_names", "dtype"
"""What is known of the columns."""

Label = int | str | None
"""What a fold is called; None: rows that were given no label."""


class Condensed:
    """Rows of a regression, condensed into a triangle as they come: exact, in bounded memory.

    Holds R of the QR of [1 X y], rows times the roots of their weights: (m + 2)² numbers, however
    many rows there were. Algorithms and estimators find in it what they find in all rows, since
    they see these through inner products alone. It is made chunk by chunk, in any order,
    on any machine: triangles add up. Several targets that share their features are so many columns
    in place of y.

    Attributes
    ----------
    n_rows : float
        Σ w, the number of rows if no weights were given.
    n_features : int or None
        Columns of X; None before the first rows.
    feature_names : list of str or None
        Their names, if X was a data frame.
    n_targets : int or None
        Columns of y; None if it has one dimension, and before the first rows.
    target_names : list of str or None
        Their names, if y was a data frame.
    dtype : numpy.dtype or None
        The precision of the rows.
    folds : list
        Labels of the folds, in the order in which they came; empty if none were given.

    Examples
    --------
    >>> import numpy as np, sparsewise as sw
    >>> rng = np.random.default_rng(0)
    >>> rows = sw.Condensed()
    >>> for _ in range(10):
    ...     X = rng.standard_normal((1000, 20))
    ...     y = 1 + X[:, [3, 7]] @ [2.0, -1.0] + 0.1 * rng.standard_normal(1000)
    ...     rows = rows.update(X, y)
    >>> rows.n_rows
    10000
    >>> sw.forward(*rows.system(), sparsity=2).support
    array([3, 7])
    """

    def __init__(self) -> None:
        self._parts: dict[Label, Triangle] = {}
        self._total: Triangle | None = None
        self.n_features: int | None = None
        self.feature_names: list[str] | None = None
        self.n_targets: int | None = None
        self.target_names: list[str] | None = None
        self.dtype: np.dtype[Any] | None = None

    @property
    def n_rows(self) -> float:
        """The sum of the weights: an int if whole."""
        return number_of_rows(float(sum(part.weight for part in self._parts.values())))

    @property
    def count(self) -> int:
        """How many rows of positive weight there were."""
        return sum(part.count for part in self._parts.values())

    @property
    def folds(self) -> list[Label]:
        """The labels of the folds; empty if none were given."""
        return [label for label in self._parts if label is not None]

    @property
    def labels(self) -> list[Label]:
        """Those of the folds, and None if some rows have none."""
        return list(self._parts)

    def __repr__(self) -> str:
        if self.n_features is None:
            return "Condensed()"
        rows = f"{self.n_rows:g} row{'' if self.n_rows == 1 else 's'} of "
        rows += count(self.n_features, "feature")
        rows += "" if self.n_targets is None else f" and {count(self.n_targets, 'target')}"
        return f"<Condensed: {rows}{f' in {len(self.folds)} folds' if self.folds else ''}>"

    def update(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        fold: Label | ArrayLike = None,
    ) -> Self:
        """Take in some rows: all of them, or none if something is wrong with one.

        Parameters
        ----------
        X : array-like, data frame or sparse matrix of shape (n, m)
            The features; complex ones, too.
        y : array-like of shape (n,) or (n, q)
            The target, or several, one a column.
        sample_weight : array-like of shape (n,), optional
            How often each row counts; one of weight 0 is as good as not there.
        fold : int, str or array-like of shape (n,), optional
            The fold that the rows, or each of them, belong to in cross-validation: a triangle is
            kept for each.

        Returns
        -------
        Condensed
            Itself.
        """
        names, target_names = column_names(X), column_names(y)
        features, target = as_design(X), as_floats(y, "y")
        n, m = features.shape
        check_targets(target, n)
        n_targets = None if target.ndim == 1 else target.shape[1]
        if self.n_features is not None:
            check_alike(m, names, self.n_features, self.feature_names)
            self._check_targets_alike(n_targets, target_names)
        columns = as_design(target.reshape(n, -1))
        check_size(m, columns.shape[1])
        weights = None if sample_weight is None else checked_weights(sample_weight, n)
        parts = dict(self._parts)
        for label, rows in _by_fold(fold, weights, n):
            grown = parts[label].copy() if label in parts else Triangle.empty(m + columns.shape[1])
            grown.update([features, columns], weights, rows)
            parts[label] = grown
        self._parts, self._total = parts, None
        self.n_features, self.feature_names = m, names
        self.n_targets, self.target_names = n_targets, target_names if n_targets else None
        kinds = [features.dtype, *([] if self.dtype is None else [self.dtype])]
        kinds += [np.dtype(np.complex64)] if target.dtype.kind == "c" else []
        self.dtype = np.result_type(*kinds)
        return self

    def __add__(self, other: Condensed) -> Condensed:
        """The rows of both."""
        if not isinstance(other, Condensed):
            return NotImplemented
        if self.n_features is None or other.n_features is None:
            return (self if other.n_features is None else other).copy()
        check_alike(other.n_features, other.feature_names, self.n_features, self.feature_names)
        self._check_targets_alike(other.n_targets, other.target_names)
        merged = self.copy()
        for label, part in other._parts.items():
            own = merged._parts.get(label)
            merged._parts[label] = part if own is None else own + part
        merged.dtype = np.result_type(*(one.dtype for one in (self, other) if one.dtype))
        return merged

    def system(self, intercept: bool = True) -> tuple[Design, Array]:
        """A matrix and a target whose inner products are those of all rows: A, y of algorithms.

        Parameters
        ----------
        intercept : bool
            Whether to take out what a constant explains, as for a model with an intercept.

        Returns
        -------
        A : Design of shape (at most m + 2, m), or (at most m + q + 1, m)
            It remembers how many rows it stands for.
        y : ndarray
            As many entries as A has rows, or as many rows, with one target a column.
        """
        total = self.total
        matrix = total.centred() if intercept else total.plain()
        with np.errstate(over="ignore"):
            rounded = matrix.astype(self.dtype)
        if np.isfinite(rounded).all():  # norms may be out of range though entries are not
            matrix = rounded
        if not len(matrix):
            raise InputError("There is 1 row, but a model with an intercept needs at least 2.")
        m, rows = self.n_features, self.n_rows - intercept
        error = total.error_of(matrix, self.n_targets or 1)
        target = matrix[:, -1] if self.n_targets is None else matrix[:, m:]
        return DenseDesign(matrix[:, :m], rows=rows, error=error), target.copy()

    @property
    def total(self) -> Triangle:
        """The triangle of all rows."""
        if not self._parts:
            raise InputError("There are no rows yet", "call update(X, y) first.")
        if self._total is None:
            self._total = reduce(add, self._parts.values())
        return self._total

    def copy(self) -> Condensed:
        """The same rows, to be added to."""
        return self._with(dict(self._parts))

    def some(self, labels: Iterable[Label]) -> Condensed:
        """The rows of these folds alone."""
        return self._with({label: self._parts[label] for label in labels})

    def as_fold(self, label: Label) -> Condensed:
        """The same rows, all in one fold."""
        return self._with({label: self.total} if self._parts else {})

    @classmethod
    def from_triangles(cls, triangles: dict[Label, Triangle], **attributes: Any) -> Self:
        """What these triangles hold, by their folds; attributes as of the class."""
        condensed = cls()
        vars(condensed).update(attributes, _parts=triangles)
        return condensed

    def to_arrays(self) -> dict[str, Array]:
        """All that is known: the attributes as JSON in ``header``, and the arrays of each triangle.

        Those of the i-th are called ``i/R``, ``i/shift`` and so on. `from_arrays` reads them.
        """
        header = {name: getattr(self, name) for name in ATTRIBUTES} | {"labels": list(self._parts)}
        header["dtype"] = None if self.dtype is None else self.dtype.str
        arrays = {"header": np.frombuffer(json.dumps(header).encode(), np.uint8)}
        for i, part in enumerate(self._parts.values()):
            arrays |= {f"{i}/{name}": array for name, array in part.to_arrays().items()}
        return arrays

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Array]) -> Self:
        """What `to_arrays` was made of; ValueError, KeyError or TypeError: of nothing such."""
        header = json.loads(arrays["header"].tobytes())
        attributes = {name: header[name] for name in ATTRIBUTES}
        for number, names in (("n_features", "feature_names"), ("n_targets", "target_names")):
            _check_number(header[number], header[names])
        if header["n_targets"] == 0:
            raise ValueError("there is no target")
        if header["dtype"] is not None:
            attributes["dtype"] = working_type(np.dtype(header["dtype"]), "dtype")
        known = header["n_features"] is None, header["dtype"] is None, not header["labels"]
        if len(set(known)) > 1:
            raise ValueError("rows, features and their type are known together, or not at all")
        columns = (header["n_features"] or 0) + (header["n_targets"] or 1)
        triangles: dict[Label, Triangle] = {}
        for i, label in enumerate(header["labels"]):
            own = {name: arrays[f"{i}/{name}"] for name in ARRAYS}
            triangles[_label(label)] = Triangle.from_arrays(own, columns)
        if len(triangles) < len(header["labels"]):
            raise ValueError("folds have the same label")
        return cls.from_triangles(triangles, **attributes)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write to a file, whole or not at all; `load` reads it back exactly."""
        content = io.BytesIO()
        np.savez(content, allow_pickle=False, **self.to_arrays())
        body = content.getvalue()
        first = f"{FORMAT} {VERSION} {hashlib.sha256(body).hexdigest()}\n"
        write_file(path, first.encode() + body)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read what `save` has written; anything else is refused in one sentence."""
        first, _, body = read_file(path).partition(b"\n")
        name, version, digest = [*first.decode("ascii", "replace").split(" "), "", ""][:3]
        if name != FORMAT:
            raise _refused(path, f"{NOT_OURS}.")
        if version != VERSION:
            wrong = f"it has version {version} of the format, but this sparsewise reads {VERSION}."
            raise _refused(path, wrong)
        if digest != hashlib.sha256(body).hexdigest():
            raise _refused(path, "it was changed or cut off since it was saved.")
        try:
            return cls.from_arrays(stored_arrays(body))
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError, *FORGED):
            raise _refused(path, f"{NOT_OURS}.") from None

    # ------------------------------------------------------------------ what these need

    def _with(self, parts: dict[Label, Triangle]) -> Condensed:
        """The same features, with other rows."""
        return Condensed.from_triangles(parts, **{name: getattr(self, name) for name in ATTRIBUTES})

    def _check_targets_alike(self, targets: int | None, names: list[str] | None) -> None:
        """Refuse rows of other targets than those of the rows so far."""
        if targets == self.n_targets:
            check_names(names, self.target_names, "y")
            return
        has, had = (
            "a single target" if number is None else count(number, "target column")
            for number in (targets, self.n_targets)
        )
        wrong = f"has {has}, but the rows so far have {had}"
        raise InputError(wrong, "give the same targets every time.", parameter="y")


def stored_arrays(body: bytes) -> dict[str, Array]:
    """The arrays of a file of `np.savez`, which together are no larger than the file.

    It compresses nothing, and each array fills its place: other files are refused unread.
    """
    arrays: dict[str, Array] = {}
    with ZipFile(io.BytesIO(body)) as file:
        if sum(one.file_size for one in file.infolist()) > len(body):
            raise ValueError("what is in the file is larger than the file")
        for one in file.infolist():
            if one.compress_type != ZIP_STORED:
                raise ValueError(f"{one.filename} is compressed")
            content = io.BytesIO(file.read(one))
            if np.lib.format.read_magic(content) != (1, 0):
                raise ValueError(f"{one.filename} is of another version")
            shape, is_fortran, dtype = np.lib.format.read_array_header_1_0(content)
            data = content.read()
            if dtype.hasobject or math.prod(shape) * dtype.itemsize != len(data):
                raise ValueError(f"{one.filename} does not hold {shape} of {dtype}")
            array = np.frombuffer(bytearray(data), dtype)
            name = one.filename.removesuffix(".npy")
            arrays[name] = array.reshape(shape, order="F" if is_fortran else "C")
    return arrays


def check_size(features: int, targets: int = 1) -> None:
    """Refuse what makes a triangle too large, before time is lost with it."""
    size = 8 * (features + targets + 1) ** 2
    if size > MOST_BYTES:
        besides = "" if targets == 1 else f" beside the {targets} of y"
        wrong = f"has {features} columns{besides}, whose triangle would take {size / 2**30:.3g} GB"
        advice = "give all rows at once, as an array or a Dask array, or fewer columns."
        raise InputError(wrong, advice, parameter="X")


def check_alike(
    features: int, names: Sequence[str] | None, known_features: int, known: Sequence[str] | None
) -> None:
    """Refuse rows of other features than those of the rows so far."""
    if features != known_features:
        wrong = f"has {count(features, 'column')}, but the rows so far have {known_features}"
        raise InputError(wrong, "give the same features every time.", parameter="X")
    check_names(names, known, "X")


def check_names(names: Sequence[str] | None, known: Sequence[str] | None, parameter: str) -> None:
    """Refuse columns of other names than there were; their number is looked at elsewhere."""
    same = f"give the same {'targets' if parameter == 'y' else 'features'} every time."
    if names is None and known is None:
        return
    if names is None or known is None:
        has = "no names" if names is None else "names"
        wrong = f"has {has} for its columns, unlike the rows so far"
        raise InputError(wrong, same, parameter=parameter)
    for j, (name, former) in enumerate(zip(names, known, strict=False)):
        if name != former:
            wrong = f"has {quoted(name)} for column {j}, which was {quoted(former)} so far"
            raise InputError(wrong, same, parameter=parameter)


def column_names(X: Any) -> list[str] | None:
    """The names of a data frame's columns."""
    columns = getattr(X, "columns", None)
    return None if columns is None or callable(columns) else [str(name) for name in columns]


def checked_target(y: ArrayLike, n: int) -> Array:
    """The target of so many rows, or several of them, one a column: real numbers."""
    target = as_floats(y, "y")
    check_targets(target, n)
    if target.dtype.kind == "c":
        raise InputError("must be real numbers.", parameter="y")
    if len(bad := np.argwhere(~np.isfinite(target))):
        raise not_finite("y", len(bad), bad[0])
    return target


def check_targets(target: Array, n: int) -> None:
    """Refuse what is not one number for each row, nor one for each target besides."""
    if target.ndim != 2:
        check_one_each(target, n, "y")
    elif len(target) != n:
        wrong = f"must have shape ({n},) or ({n}, q), one row per row of X, not {target.shape}"
        if target.shape[1] == n:
            raise InputError(wrong, "pass y.T.", parameter="y")
        raise InputError(f"{wrong}.", parameter="y")
    elif not target.size:
        raise InputError("has no columns, and so no targets.", parameter="y")


def checked_weights(sample_weight: ArrayLike, n: int) -> Array:
    """How often each of so many rows counts: one number for each, or for all."""
    weights = as_floats(sample_weight, "sample_weight")
    if weights.ndim == 0:
        weights = np.full(n, weights)
    check_one_each(weights, n, "sample_weight")
    if weights.dtype.kind == "c" or not (np.isfinite(weights) & (weights >= 0)).all():
        raise InputError("must be numbers from 0 up.", parameter="sample_weight")
    return weights.astype(np.float64)


def check_one_each(values: Array, n: int, name: str) -> None:
    """Refuse what is not one number for each row."""
    if values.shape != (n,):
        wrong = f"must have shape ({n},), one entry per row of X, not {values.shape}."
        raise InputError(wrong, parameter=name)


def _by_fold(fold: Any, weights: Array | None, n: int) -> Iterator[tuple[Label, Array | None]]:
    """Labels, and the rows of positive weight that have them; None: all rows."""
    counts = np.ones(n, bool) if weights is None else weights > 0
    if fold is None or np.ndim(fold) == 0:
        if counts.any():
            yield _label(fold), None if counts.all() else np.flatnonzero(counts)
        return
    labels = np.asarray(fold)
    if labels.shape != (n,):
        raise InputError(
            f"must be one label, or one for each of {count(n, 'row')}, but their shape is "
            f"{labels.shape}.",
            parameter="fold",
        )
    for label in dict.fromkeys(labels[counts].tolist()):
        yield _label(label), np.flatnonzero(counts & (labels == label))


def _check_number(number: Any, names: Any) -> None:
    """Refuse a number of columns that is none, or not that of their names."""
    if number is not None and (type(number) is not int or number < 0):
        raise ValueError(f"{number!r} is no number of columns")
    if names is None:
        return
    if type(names) is not list or not all(type(name) is str for name in names):
        raise ValueError("names are no list of text")
    if len(names) != number:
        raise ValueError(f"{number} columns have {len(names)} names")


def _label(fold: Any) -> Label:
    """A label as it is kept, and saved."""
    if isinstance(fold, np.generic):
        fold = fold.item()
    if isinstance(fold, float) and fold.is_integer():
        fold = int(fold)
    if fold is None or (isinstance(fold, (int, str)) and not isinstance(fold, bool)):
        return fold
    raise InputError(f"must be a whole number or a text, not {fold!r}.", parameter="fold")


def _refused(path: str | os.PathLike[str], why: str) -> InputError:
    return InputError(f"can't read {quoted(os.fspath(path))}: {why}")
