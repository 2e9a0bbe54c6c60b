"""Rows that were condensed to triangles: all that a fit needs, without the rows themselves."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Integral
from typing import Any, Self

import numpy as np

from sparsewise._typing import Array
from sparsewise.errors import InputError, Parameter, TooFewRowsError
from sparsewise.model_selection.data import Data
from sparsewise.problem.preprocessing import Reduced
from sparsewise.suffstats.condensed import Condensed, Label


@dataclass(frozen=True, kw_only=True)
class CondensedData(Data):
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
        m, means = self.n_features, np.zeros(self.n_features + (self.condensed.n_targets or 1))
        if self.intercept:
            means = self.condensed.total.means
        level: Any = means[m:] if target.ndim == 2 else means[m].item()
        return Reduced(design, target, means[:m], level, self.weight, None, condensed=True)

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
            advice = "give each row's ", Parameter("fold"), " as it comes in."
            raise TooFewRowsError(wrong, advice)
        labels = self.condensed.labels
        return [([other for other in labels if other != fold], [fold]) for fold in folds]

    def squared_errors(self, columns: Array, coefs: Array, means: Array, level: Any) -> Array:
        k, *each = coefs.shape  # models, and targets if there are several
        m, q = self.n_features, np.size(level)
        coefs = coefs.reshape(k, each[0], q)
        whole = np.zeros((m + q, *coefs.shape[1:]))
        whole[columns] = -coefs
        whole[m + np.arange(q), :, np.arange(q)] = 1.0
        constants = np.tensordot(means, coefs, 1) - level
        squares = self.condensed.total.squared_norms(constants.ravel(), whole.reshape(m + q, -1))
        return squares.reshape(each)
