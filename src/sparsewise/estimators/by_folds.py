"""Linear estimators that folds of rows may choose for."""

from __future__ import annotations

from typing import Any, Self

from numpy.typing import ArrayLike

from sparsewise.errors import InputError, Parameter
from sparsewise.estimators.base import SparseLinearModel
from sparsewise.estimators.state import reset_on_failure


class ByFolds(SparseLinearModel):
    """An estimator with ``criterion="cv"``, whose folds may keep groups of rows together."""

    criterion: str
    cv: Any

    @property
    def _chooses_by(self) -> str | None:
        """The criterion that chooses, if one does."""
        return self.criterion

    def fit(
        self,
        X: Any,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> Self:
        """Choose features and fit their coefficients.

        Parameters
        ----------
        X : array-like, data frame or sparse matrix of shape (n, m), or rows in another form
            The features, as in `SparseLinearModel.fit`.
        y : array-like or data frame of shape (n,), or (n, q)
            The target, or several that are to share their features, one a column.
        sample_weight : array-like of shape (n,), optional
            How often each row counts: 2 is the same as the row given twice, 0 as leaving it out.
        groups : array-like of shape (n,), optional
            Rows with the same entry belong together: with ``criterion="cv"``, none is predicted
            from others of its group. `cv` is a splitter for groups then, or a number of folds
            (those of `GroupKFold`).

        Returns
        -------
        estimator
            The estimator itself.
        """
        with reset_on_failure(self):
            self._check_settings()
            if groups is not None and self._chooses_by != "cv":
                by_cv = Parameter("criterion", "cv")
                wrong = "keeps rows together in folds, and there are none but with ", by_cv, "."
                raise InputError(wrong, parameter="groups")
            self._fit(self._data(X, y, sample_weight, groups))
        return self
