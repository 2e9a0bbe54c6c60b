"""The leave-one-out errors of a path, computed when they are first asked for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sparsewise._typing import Array
from sparsewise.model_selection.data import Data
from sparsewise.model_selection.leave_one_out import leave_one_out
from sparsewise.model_selection.residual_variance import residual_variance
from sparsewise.model_selection.tabular_data import TabularData
from sparsewise.results import Path


@dataclass
class LeaveOneOutErrors:
    """The leave-one-out error of every model on a path, and s² of Mallows' Cp with it.

    They take the whole table, and no fit needs them. A copy or a pickle holds no table.

    Parameters
    ----------
    errors : ndarray, optional
        The errors, if they are known already.
    data : Data, optional
        The data to compute them from, until that is done.
    variance : float, optional
        s², the residual variance with all features, if it was computed with them.
    """

    errors: Array | None = None
    data: Data | None = None
    variance: float | None = None

    def along(self, path: Path, with_variance: bool) -> Array:
        """The errors at the start and after each step; NaN if X has changed or is not there."""
        if self.errors is None:
            data, self.data = self.data, None
            self.errors = np.full(1 + len(path), np.nan)
            if isinstance(data, TabularData) and data.is_finite():
                self.errors = leave_one_out(data, path)
            is_same = np.isfinite(self.errors).any() or not isinstance(data, TabularData)
            if with_variance and data is not None and is_same:
                self.variance = residual_variance(data)
        return self.errors

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "data": None}
