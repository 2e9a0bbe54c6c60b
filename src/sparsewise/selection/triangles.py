"""Triangles in place of a table: all of it but the rows themselves."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Integral
from typing import Any, Self

import numpy as np

from sparsewise.condensed import Condensed, Label
from sparsewise.design.base import Array
from sparsewise.errors import InputError, Parameter
from sparsewise.selection.data import Data
from sparsewise.selection.reduction import Reduced


@dataclass(frozen=True, kw_only=True)
class Triangles(Data):
    """Rows that were condensed, fold by fold.

    Parameters
    ----------
    condensed : Condensed
        The rows.
    """

    condensed: Condensed

    @cached_property
    def reduced(self) -> Reduced:
        design, target = self.condensed.system(self.intercept)
        means, level = np.zeros(self.n_features), 0.0
        if self.intercept:
            of_all = self.condensed.total.means
            means, level = of_all[:-1], of_all[-1].item()
        return Reduced(design, target, means, level, self.weight, None, condensed=True)

    @property
    def n_features(self) -> int:
        return self.condensed.n_features or 0

    @property
    def count(self) -> int:
        return self.condensed.count

    @property
    def weight(self) -> float:
        return self.condensed.n_rows

    @property
    def is_weighted(self) -> bool:
        return self.count != self.weight

    def kept(self) -> Self:
        return replace(self, condensed=self.condensed.copy())

    def part(self, rows: list[Label]) -> Self:
        return replace(self, condensed=self.condensed.some(rows), factors=[], warnings=[])

    def count_of(self, rows: list[Label]) -> int:
        return self.condensed.some(rows).count

    def splits(self, cv: Any) -> list[tuple[list[Label], list[Label]]]:
        """All folds but one to learn from, and that one to predict.

        The folds are those that the rows were gathered in, whatever number is asked for; rows
        without one are always learnt from.
        """
        folds = self.condensed.folds
        if cv is not None and not isinstance(cv, Integral):
            wrong = "chooses rows, but these have been condensed"
            advice = "give a number, or each row's ", Parameter("fold"), " as it comes in."
            raise InputError(wrong, advice, parameter="cv")
        if len(folds) < 2:
            wrong = "Cross-validation needs two folds or more, but the rows were condensed into one"
            raise InputError(wrong, ("give each row's ", Parameter("fold"), " as it comes in."))
        labels = self.condensed.labels
        return [([other for other in labels if other != fold], [fold]) for fold in folds]

    def squared_errors(self, columns: Array, coefs: Array, means: Array, level: float) -> Array:
        whole = np.zeros((self.n_features + 1, coefs.shape[1]))
        whole[columns], whole[-1] = -coefs, 1.0
        return self.condensed.total.squared_norms(means @ coefs - level, whole)
