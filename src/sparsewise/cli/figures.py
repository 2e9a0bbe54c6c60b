"""Figures of a fit and of a path, as files."""

from __future__ import annotations

import io
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sparsewise._util.files import write_file
from sparsewise._util.text import quoted
from sparsewise.cli.options import check_place, reading
from sparsewise.errors import InputError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from sparsewise.estimators.base import SparseLinearModel
    from sparsewise.io.tables import Table

FORMATS = (".png", ".pdf", ".svg")


def check_figure(option: str, path: str | None) -> None:
    """Raise an error for what can't be drawn, before there is anything to lose."""
    check_place(option, path)
    if path is None:
        return
    if Path(path).suffix.lower() not in FORMATS:
        raise InputError(f"{option} needs a file that ends in {', '.join(FORMATS)}: {quoted(path)}")
    try:
        import matplotlib as matplotlib
    except ImportError:
        raise InputError(
            f"{option} needs matplotlib; install it with: pip install 'sparsewise[plot]'"
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

    criteria = "bic" in model._path_columns()
    figure = Figure(figsize=(11 if criteria else 6.5, 4.5), dpi=150, layout="constrained")
    left, *right = figure.subplots(1, 1 + criteria, squeeze=False)[0]
    by = "step" if path_penalties(model, met(model)[0]) is None else "penalty"
    PathDisplay.from_estimator(model, by=by, whole=True, ax=left)
    for ax in right:
        CriterionDisplay.from_estimator(model, whole=True, ax=ax)
    _write(figure, path)


def draw_residuals(model: SparseLinearModel, table: Table, path: str) -> None:
    """Draw residuals, and observed targets, against predicted ones.

    Rows that were condensed are read again, some at a time, and those that are drawn are kept.
    """
    from matplotlib.figure import Figure

    from sparsewise.plots import ResidualDisplay
    from sparsewise.plots.residual_display import KINDS

    observed, predicted = _observed_and_predicted(model, table)
    names = None if isinstance(table.target, str) else table.targets
    display = ResidualDisplay(y_true=observed, y_pred=predicted, target_names=names)
    figure = Figure(figsize=(11, 4.5), dpi=150, layout="constrained")
    for ax, kind in zip(figure.subplots(1, 2), KINDS, strict=True):
        display.plot(ax, kind=kind)
    _write(figure, path)


def _observed_and_predicted(model: SparseLinearModel, table: Table) -> tuple[Any, Any]:
    """Return the targets of rows, observed and predicted; of every k-th row if they are many."""
    import numpy as np

    from sparsewise.plots.residual_display import MOST

    if table.data is not None:
        return table.y, model.predict(table.data.features)
    every, rows, observed, predicted = -(-table.rows // MOST), 0, [], []
    with reading("reading all rows", table.stored.size) as report:
        for chunk in table.chunks(report):
            drawn = slice(-rows % every, None, every)
            rows += len(chunk)
            if chunk.y[drawn].size:
                observed.append(chunk.y[drawn])
                predicted.append(model.predict(chunk.features[drawn]))
    return np.concatenate(observed), np.concatenate(predicted)


def _write(figure: Figure, path: str) -> None:
    image = io.BytesIO()
    # A character that the font lacks is drawn as a box, without a warning.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        figure.savefig(image, format=Path(path).suffix[1:].lower())
    write_file(path, image.getvalue())
