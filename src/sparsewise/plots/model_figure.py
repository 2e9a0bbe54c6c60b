"""One figure that summarises a fitted model."""

from __future__ import annotations

from textwrap import fill
from typing import TYPE_CHECKING, Any

from sparsewise.errors import InputError
from sparsewise.plots.coefficient_display import MOST, CoefficientDisplay
from sparsewise.plots.criterion_display import CriterionDisplay
from sparsewise.plots.fitted import fitted
from sparsewise.plots.path_display import PathDisplay
from sparsewise.plots.style import need_matplotlib, nothing_to_draw

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def model_figure(estimator: Any, *, beside: str = "auto", units: str = "norm") -> Figure:
    """Coefficients, with the criterion or the path beside them.

    Parameters
    ----------
    estimator : estimator
        A fitted linear estimator of sparsewise, or a pipeline that ends with one.
    beside : {"auto", "criterion", "path"}
        What to draw beside the coefficients. "auto": the criterion that chose the number of
        features, otherwise the path.
    units : {"norm", "own"}
        Units of the coefficients; see `CoefficientDisplay`.

    Returns
    -------
    matplotlib Figure
        A figure to save with ``savefig``. It is not managed by pyplot: it needs no screen and need
        not be closed.
    """
    need_matplotlib()
    from matplotlib.figure import Figure

    if beside not in ("auto", "criterion", "path"):
        raise InputError(
            f'must be "auto", "criterion" or "path", not {beside!r}.', parameter="beside"
        )
    model, description = fitted(estimator, "model_figure")
    rows = min(len(description.features), MOST)
    figure = Figure(figsize=(11, max(4.4, 1.5 + 0.23 * rows)), dpi=150, layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=(1, 1.15))
    CoefficientDisplay.from_estimator(model, units=units, ax=left)
    by_criterion = description.criterion is not None and len(model.solution_.path) > 0
    if beside == "criterion" or (beside == "auto" and by_criterion):
        CriterionDisplay.from_estimator(model, ax=right)
    elif beside == "auto" and not len(model.solution_.path) and rows:
        nothing_to_draw(right, "this solver keeps no path")
        right.set_axis_off()
    else:
        PathDisplay.from_estimator(model, units=units, ax=right)
    # matplotlib's own wrapping takes "$" for mathematics.
    title = fill(description.title, 110)
    figure.suptitle(title, x=0.01, ha="left", fontsize="large", parse_math=False)
    return figure
