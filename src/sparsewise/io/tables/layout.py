"""How rows become numbers, once all of them were looked at; and the numbers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from sparsewise.errors import InputError, Parameter
from sparsewise.io.model import Source
from sparsewise.io.tables.names import positions
from sparsewise.io.tables.parsing import FloatArray, fill, numbers
from sparsewise.io.tables.profile import Looked, Survey, Wanted

Labels = npt.NDArray[Any]


class Chunk(NamedTuple):
    """Some rows as numbers, and to which folds they belong; several targets are columns of y."""

    X: FloatArray
    y: FloatArray
    weights: FloatArray | None
    folds: Labels | None

    def __len__(self) -> int:  # rows, not fields
        return len(self.y)


@dataclass(frozen=True)
class Layout:
    """How rows become numbers: targets to be explained by the features called ``names``.

    Attributes
    ----------
    label : str
        What the table is called.
    names : tuple of str
        The features.
    targets : tuple of str
        The columns to be explained: one, or several by the same features.
    wanted : Wanted
        The columns that are used, and how.
    rows : int
        Rows without a missing value.
    counted_rows : int
        How many of them count: those of weight 0 do not.
    encoding : tuple of Source
        The columns that the features are made of.
    truths : frozenset of str
        Columns of text that say true and false.
    folds : tuple of str
        The labels of folds, in order; empty if no column tells them.
    fold : str or None
        The column that tells them.
    dropped : int
        Rows left out for their missing values.
    notes : tuple of str
        What was left out, filled in or is odd, in words.
    """

    label: str
    names: tuple[str, ...]
    targets: tuple[str, ...]
    wanted: Wanted
    rows: int
    counted_rows: int
    encoding: tuple[Source, ...] = ()
    truths: frozenset[str] = frozenset()
    folds: tuple[str, ...] = ()
    fold: str | None = None
    dropped: int = 0
    notes: tuple[str, ...] = ()

    @property
    def target(self) -> str | list[str]:
        """The target by its name, or several by theirs."""
        return self.targets[0] if len(self.targets) == 1 else list(self.targets)

    @property
    def weight_column(self) -> str | None:
        """The column that says how often each row counts."""
        return self.wanted.weights

    @property
    def bytes(self) -> int:
        """What the numbers take in memory."""
        return self.rows * (len(self.names) + len(self.targets)) * 8

    def positions(self, names: Iterable[str]) -> list[int]:
        """Return where features stand; a column of text stands for its levels.

        With all of them but the first, since these tell that one.
        """
        levels = {source.name: source.features for source in self.encoding if source.levels}
        wanted = []
        for name in names:
            made = levels.get(name, ())
            few = made[1:] if len(made) > 1 else made
            wanted += [one for one in few if one in self.names] or [name]
        return positions(wanted, self.names)

    def chunk(self, looked: Looked, X: FloatArray | None = None) -> Chunk:
        """Return the complete ones of some rows as numbers, with features in X if it is given."""
        cells, kept = looked.cells, looked.kept
        X = self.features(looked, X)

        def told(name: str) -> FloatArray:
            return numbers(cells[name], kept, name in self.truths)

        weights = None if self.weight_column is None else told(self.weight_column)
        folds = None
        if self.fold is not None:
            folds = np.array(cells[self.fold].values.filter(kept).to_list(), dtype=str)
        y = np.column_stack([told(name) for name in self.targets])
        return Chunk(X, y if len(self.targets) > 1 else y[:, 0], weights, folds)

    def features(self, looked: Looked, X: FloatArray | None = None) -> FloatArray:
        """Return the features of the complete ones of some rows."""
        if X is None:
            X = np.empty((looked.survey.kept, len(self.names)), order="F")
        fill(X, looked.cells, self.encoding, self.names, looked.kept, self.truths)
        return X

    def all_features(self, looked: Looked) -> FloatArray:
        """Return the features of some rows; those of incomplete ones are NaN."""
        X = np.full((looked.survey.rows, len(self.names)), np.nan)
        X[looked.kept.filter(looked.filled).to_numpy()] = self.features(looked)
        return X


@dataclass(frozen=True, kw_only=True)
class Table(Layout):
    """A numeric table: y is to be explained by the columns of X, called ``names``.

    Of several targets, each is a column of y.
    """

    X: FloatArray
    y: FloatArray
    weights: FloatArray | None = None
    fold_labels: Labels | None = None

    @classmethod
    def gathered(cls, layout: Layout, looked: Iterable[Looked]) -> Table:
        """All rows in one matrix, contiguous by columns."""
        X, chunks, start = _room(layout.rows, len(layout.names)), [], 0
        for one in looked:
            end = start + one.survey.kept
            chunks.append(layout.chunk(one, X[start:end]))
            start = end
        _, y, weights, folds = zip(*chunks, strict=True)
        return cls(
            **vars(layout),
            X=X,
            y=np.concatenate(y),
            weights=None if layout.weight_column is None else np.concatenate(weights),
            fold_labels=None if layout.fold is None else np.concatenate(folds),
        )


def matrix(layout: Layout, looked: Sequence[Looked], blank: bool) -> FloatArray:
    """All features in one matrix, contiguous by columns; incomplete rows of NaN, if they may be."""
    if blank:
        return np.concatenate([layout.all_features(one) for one in looked])
    X, start = _room(layout.rows, len(layout.names)), 0
    for one in looked:
        end = start + one.survey.kept
        layout.features(one, X[start:end])
        start = end
    return X


def _room(n: int, m: int) -> FloatArray:
    """Return an array of so many rows and columns, contiguous by columns."""
    try:
        return np.empty((n, m), order="F")
    except MemoryError:
        wrong = f"{n} rows and {m} features need {n * m * 8 / 1e9:.0f} GB, which is more than "
        how = "there is: choose fewer by ", Parameter("features"), " or ", Parameter("exclude")
        raise InputError((wrong, *how)) from None


def surveyed(looked: Iterable[Looked]) -> Survey:
    """Add up what pieces hold."""
    return sum((one.survey for one in looked), Survey())
