"""Linear estimators whose features may be chosen by cross-validation."""

from __future__ import annotations

from typing import Any, Self

from numpy.typing import ArrayLike

from sparsewise.errors import InputError, Parameter
from sparsewise.estimators.base import SparseLinearModel, check_parameters
from sparsewise.estimators.chunks import number_of_folds
from sparsewise.estimators.requirements import Requirements
from sparsewise.estimators.state import Fitted, reset_on_failure


class CrossValidatedModel(SparseLinearModel):
    """An estimator with ``criterion="cv"``, whose folds may keep groups of rows together."""

    criterion: str
    cv: Any

    cv_errors_ = Fitted()

    @property
    def _rule(self) -> str:
        """The criterion that chooses; empty if something else does."""
        return self.criterion

    def _requirements(self) -> Requirements:
        needs = super()._requirements()
        return needs._replace(n_folds=number_of_folds(self.cv)) if self._rule == "cv" else needs

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
            Weights that tell how precise rows are, as those of R's ``lm``, need a mean of 1.
        groups : array-like of shape (n,), optional
            Rows with the same entry belong together: with ``criterion="cv"``, none is predicted
            from others of its group. `cv` is a splitter for groups then, or a number of folds
            (those of `GroupKFold`).

        Returns
        -------
        estimator
            The estimator itself.
        """
        if groups is not None:
            with reset_on_failure(self):
                check_parameters(self)
                if self._rule != "cv":
                    by_cv = Parameter("criterion", "cv")
                    wrong = "keeps rows together in folds, and there are none but with ", by_cv, "."
                    raise InputError(wrong, parameter="groups")
        return self._fit(X, y, sample_weight, groups)
