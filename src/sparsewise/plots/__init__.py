"""Figures; they need matplotlib (``pip install 'sparsewise[plot]'``).

Displays follow scikit-learn: the constructor holds data, ``plot`` draws them and sets ``ax_`` and
``figure_``, and ``from_estimator`` does both for a fitted estimator.
"""

from sparsewise.plots.coefficient_display import CoefficientDisplay as CoefficientDisplay
from sparsewise.plots.criterion_display import CriterionDisplay as CriterionDisplay
from sparsewise.plots.model_figure import model_figure as model_figure
from sparsewise.plots.path_display import PathDisplay as PathDisplay
from sparsewise.plots.recovery_probability import recovery_probability as recovery_probability
from sparsewise.plots.residual_display import ResidualDisplay as ResidualDisplay
from sparsewise.plots.stability_display import StabilityDisplay as StabilityDisplay
