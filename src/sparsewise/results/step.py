"""One step of an algorithm."""

from __future__ import annotations

import math
from typing import Literal, NamedTuple

Action = Literal["start", "add", "drop", "update"]


class Step(NamedTuple):
    """One step of an algorithm: what it did and where that led.

    An "update" gives a feature of a Bayesian model another prior variance; these models tell
    their log evidence, too, all at the same, final σ.

    Attributes
    ----------
    action : {"add", "drop", "update"}
        What it did.
    columns : tuple of int
        With which columns: one, unless columns come and go in groups.
    loss : float
        What is left unexplained after it; for least squares ‖r‖².
    size : int
        The number of columns in the model after it.
    df : float
        Its degrees of freedom: as many as columns, unless coefficients are shrunk.
    log_evidence : float
        That of a Bayesian model, at the σ of the solution (inferred before the first step where it
        was not given), else NaN.
    """

    action: Literal["add", "drop", "update"]
    columns: tuple[int, ...]
    loss: float
    size: int
    df: float
    log_evidence: float = math.nan

    @property
    def column(self) -> int:
        """The column, where it is one."""
        (column,) = self.columns
        return column

    @property
    def squared_residual(self) -> float:
        """‖r‖²: the loss of least squares."""
        return self.loss
