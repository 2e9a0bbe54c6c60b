"""Figures of a fit and of a path, as files."""

from __future__ import annotations

import io
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

from sparsewise.errors import InputError
from sparsewise.files import write_file
from sparsewise.wording import quoted

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from sparsewise.estimators.base import SparseLinearModel

FORMATS = (".png", ".pdf", ".svg")


def check_format(path: str) -> None:
    """Raise an error for what can't be drawn, before there is anything to lose."""
    if Path(path).suffix.lower() not in FORMATS:
        raise InputError(f"--plot needs a file that ends in {', '.join(FORMATS)}: {quoted(path)}")
    try:
        import matplotlib as matplotlib
    except ImportError:
        raise InputError(
            "--plot needs matplotlib; install it with: pip install 'sparsewise[plot]'"
        ) from None


def draw_fit(model: SparseLinearModel, path: str) -> None:
    """Draw the coefficients and the way to them."""
    from sparsewise.plots import model_figure

    _write(model_figure(model), path)


def draw_path(model: SparseLinearModel, path: str) -> None:
    """Draw the coefficients along the path, and the criteria where there are any.

    Those of basis pursuit are drawn against the penalty.
    """
    from matplotlib.figure import Figure

    from sparsewise.plots import CriterionDisplay, PathDisplay
    from sparsewise.plots.fitted import met, path_penalties

    criteria = "bic" in model.path_.columns
    figure = Figure(figsize=(11 if criteria else 6.5, 4.5), dpi=150, layout="constrained")
    left, *right = figure.subplots(1, 1 + criteria, squeeze=False)[0]
    by = "step" if path_penalties(model, met(model).models) is None else "penalty"
    PathDisplay.from_estimator(model, by=by, whole=True, ax=left)
    for ax in right:
        CriterionDisplay.from_estimator(model, whole=True, ax=ax)
    _write(figure, path)


def _write(figure: Figure, path: str) -> None:
    drawn = io.BytesIO()
    # A sign that the font lacks is drawn as a box: not worth a word.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        figure.savefig(drawn, format=Path(path).suffix[1:].lower())
    write_file(path, drawn.getvalue())
