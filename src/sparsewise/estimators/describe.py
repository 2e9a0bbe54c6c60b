"""What there is to say of a fitted estimator, said once: every front end reads it from here."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from sparsewise._util.predictive_std import typical
from sparsewise._util.text import printable, shortened
from sparsewise.criteria.base import EXACT
from sparsewise.criteria.information import BY_LOSS, NAMES
from sparsewise.errors import InputWarning, Parameter, Words
from sparsewise.estimators.base import SparseLinearModel
from sparsewise.estimators.selection_rule import SelectionRule, selection_rule
from sparsewise.estimators.uncertainty import OUT_OF_RANGE, is_out_of_range
from sparsewise.results import Stop
from sparsewise.summary.contents import (
    NOTE,
    Coefficient,
    Description,
    Fact,
    PathRow,
    Response,
)
from sparsewise.summary.r2 import r_squared, rounded, share

MOST_TARGETS = 24
"""Something is said of each of so many targets."""

NOTHING_LEFT = "there are no more rows than coefficients"

OBVIOUS = (
    Stop.BEST,
    Stop.CRITERION,
    Stop.DELTA,
    Stop.EXHAUSTED,
    Stop.PENALTY,
    Stop.RESIDUAL,
    Stop.SPARSITY,
)
"""Reasons for stopping that go without saying once the rule of choice has been told."""


def describe(model: SparseLinearModel) -> Description:
    """All there is to say of a fitted estimator."""
    solution, rule = model.solution_, selection_rule(model)
    is_exact, loss = _is_exact(model, rule), _loss(model, model.solution_.residual_norm**2)
    no_std = _no_std(model, rule, is_exact)
    criteria = dict(_criteria(model, rule, loss))
    targets = tuple(_responses(model))
    return Description(
        target=shortened([one.name for one in targets]) or model._state_.columns.target,
        candidates=model.n_features_in_,
        intercept=_intercept(model, is_exact),
        features=tuple(_features(model, is_exact)),
        std_title="" if no_std else _std_title(model),
        r2=share(loss, model.criteria_.total),
        loss=loss,
        noise=None if model.noise_ is None else typical(model.noise_),
        log_evidence=rule.log_evidence,
        price=rule.price,
        criterion=rule.criterion,
        criteria=criteria,
        validation_curve=rule.validation_curve,
        facts=tuple(_facts(model, rule, is_exact, no_std, criteria)),
        stop=solution.stop,
        path=tuple(_path(model, is_exact)),
        passes=solution.n_passes,
        targets=targets,
    )


# --- numbers --------------------------------------------------------------------------------------


def _loss(model: SparseLinearModel, squared: float) -> float:
    return rounded(squared, model.criteria_.total, model.criteria_.exact)


def _is_exact(model: SparseLinearModel, rule: SelectionRule) -> bool:
    """Whether there is no noise to speak of: the evidence has no bound then."""
    is_none = model.noise_ is not None and not np.any(model.noise_)
    if is_none or rule.sigma_given:
        return is_none
    rows = model.n_rows_ - model.fit_intercept
    return model.solution_.is_noiseless(model.criteria_.total, rows)


def _responses(model: SparseLinearModel) -> Iterator[Response]:
    """What is explained of each target, where there are columns of them."""
    if model.coef_.ndim == 1:
        return
    q = len(model.coef_)
    noise: list[Any] = [None] * q if model.noise_ is None else model.noise_.tolist()
    state = model._state_
    each = zip(state.columns.targets(q), state.losses, state.totals, noise, strict=True)
    for name, squared, total, sigma in each:
        loss = rounded(float(squared), float(total), model.criteria_.exact)
        yield Response(name, share(loss, float(total)), loss, sigma)


def _intercept(model: SparseLinearModel, is_exact: bool) -> Coefficient | None:
    """The constant; zero where it is the rounding error of a difference."""
    if not model.fit_intercept:
        return None
    values, std = np.asarray(model.intercept_, np.float64), model.intercept_std_
    shift = model._state_.means_ @ model.solution_.coef[model.solution_.support]
    size = np.maximum(np.abs(values + shift), np.abs(shift))
    values = np.where(np.abs(values) <= math.sqrt(EXACT) * size, 0.0, values)
    return Coefficient("(intercept)", _plain(values), _known(std, is_exact))


def _features(model: SparseLinearModel, is_exact: bool) -> Iterator[Coefficient]:
    stds, name = model.coef_std_, model._state_.columns.feature
    for j in model.solution_.support.tolist():
        std = None if stds is None else stds[..., j]
        yield Coefficient(name(j), _plain(model.coef_[..., j]), _known(std, is_exact))


def _known(std: Any, is_exact: bool) -> Any:
    """Standard deviations, where there are any: zero if the fit is exact."""
    return None if std is None else _plain(np.zeros_like(std) if is_exact else std)


def _plain(values: Any) -> Any:
    """A float; of several targets a tuple of them."""
    values = np.asarray(values, np.float64)
    return tuple(values.tolist()) if values.ndim else values.item()


def _criteria(
    model: SparseLinearModel, rule: SelectionRule, loss: float
) -> Iterator[tuple[str, float]]:
    """The criteria of a least-squares model, those that are defined."""
    if not model.solution_.least_squares or model.criteria_.total == 0:
        return
    for name in BY_LOSS:
        value = float(model.criteria_[name].value(loss, model.solution_.df))
        if not math.isnan(value):
            yield name, value
    if rule.loo is not None:
        yield "loo", rule.loo


def _path(model: SparseLinearModel, is_exact: bool) -> Iterator[PathRow]:
    """The start, every step, and what leads from the last to the model."""
    solution, total = model.solution_, model.criteria_.total
    start, rows = solution.path.start, model.n_rows_ - model.fit_intercept
    first = solution.path.initial.loss, solution.start_evidence(rows)
    met: list[tuple[int | None, str, Iterable[int], int, float, float]]
    met = [(0, "start", start, len(start), *first)]
    for i, step in enumerate(solution.path, start=1):
        met.append((i, step.action, step.columns, step.size, step.loss, step.log_evidence))
    if solution.ending:
        last = solution.support.size, solution.residual_norm**2, math.nan
        met.append((None, solution.ending, (), *last))
    for number, action, columns, size, squared, log_evidence in met:
        names, loss = tuple(map(model._state_.columns.feature, columns)), _loss(model, squared)
        evidence = None if is_exact or math.isnan(log_evidence) else log_evidence
        yield PathRow(number, action, names, size, loss, share(loss, total), evidence)


# --- sentences ------------------------------------------------------------------------------------


def _facts(
    model: SparseLinearModel,
    rule: SelectionRule,
    is_exact: bool,
    no_std: Words,
    criteria: dict[str, float],
) -> Iterator[Fact]:
    solution, total = model.solution_, model.criteria_.total
    if std := _std(model, no_std):
        yield _std_title(model) if not no_std else "std. error", std
    yield "rows", _rows(model)
    if model.coef_.ndim == 2 and len(model.coef_) > 1:
        yield from _shared(model)
    if solution.ridge:
        yield (
            "ridge",
            f"coefficients minimise ‖r‖² + {solution.ridge:g} ‖z‖², z those of features of norm 1: "
            f"{solution.df:.4g} degrees of freedom",
        )
    for parameter in ("include", "exclude"):
        if columns := _constrained(model, parameter):
            names = [printable(model._state_.columns.feature(j)) for j in columns]
            yield f"{parameter}d", shortened(names)
    if total > 0:
        yield "choice", rule.sentence
        yield from rule.facts
    # The evidence is worth telling even of a constant target, but not of an exact fit.
    if (total > 0) if rule.log_evidence is None else not is_exact:
        yield from solution.facts()
    if criteria and not is_exact:
        yield "criteria", ", ".join(_values(criteria, rule.criterion or "ric"))
    yield "noise", _noise(model, rule, is_exact)
    yield from _subset(model)
    if total == 0:
        what = "constant: the model is its mean" if model.fit_intercept else "zero: so is the model"
        yield "stopped", f"the target is {what}"
    elif solution.stop not in OBVIOUS:
        yield "stopped", solution.stop.reason
    for note in model._state_.notes:
        yield NOTE, note
    for warning in model.warnings_:
        yield NOTE, _clause(warning)


def _constrained(model: SparseLinearModel, parameter: str) -> list[int]:
    """The columns that `include` or `exclude` lists."""
    return model._state_.columns.numbers(getattr(model, parameter), parameter)


def _shared(model: SparseLinearModel) -> Iterator[Fact]:
    """That several targets share their features, how they are weighed, and what is explained."""
    about = " about its mean" if model.fit_intercept else ""
    yield (
        "targets",
        f"{len(model.coef_)}, with the same features; each counts by its norm{about}, and squared "
        "residuals and criteria are means over them",
    )
    yield "R²", _by_target(model, [r_squared(one.r2) for one in _responses(model)])


def _by_target(model: SparseLinearModel, words: list[str]) -> str:
    """Something of each target, by name."""
    pairs = zip(model._state_.columns.targets(len(words)), words, strict=True)
    return shortened([f"{printable(name)}: {word}" for name, word in pairs], MOST_TARGETS)


def _clause(warning: InputWarning) -> Words:
    """What was warned of, as facts are told: without the full stop."""
    *words, last = warning.words
    return (*words, last.removesuffix(".") if isinstance(last, str) else last)


def _is_posterior(model: SparseLinearModel) -> bool:
    """Whether coefficients are posterior means, with standard deviations to match."""
    return model.solution_.posterior is not None and not model.solution_.least_squares


def _std_title(model: SparseLinearModel) -> str:
    return "± std" if _is_posterior(model) else "std. error"


def _std(model: SparseLinearModel, no_std: Words) -> Words:
    """What the standard deviations are, or why there are none; nothing of an empty model."""
    chosen = model.solution_.support.tolist()
    if no_std:
        why = (no_std,) if isinstance(no_std, str) else no_std
        return ("none: ", *why) if chosen else ""
    if _is_posterior(model):
        return (
            "posterior standard deviation, conditional on the selection: as if these features, "
            "their prior variances and the noise had been given"
        )
    if not chosen:
        only = "conditional on the selection: as if no feature had any effect"
        return only if model.fit_intercept else ""
    if set(_constrained(model, "include")).issuperset(chosen):
        fit = "ridge fit, without its bias" if model.solution_.ridge else "least-squares fit"
        return f"of the {fit}; all features were asked for"
    bias = "of the ridge fit, without its bias; " if model.solution_.ridge else ""
    return bias + (
        "conditional on the selection: as if these features had been given; having been "
        "chosen by the same data they are less certain than that"
    )


def _no_std(model: SparseLinearModel, rule: SelectionRule, is_exact: bool) -> Words:
    """Why the coefficients have no standard deviations; empty if they do."""
    if is_exact:
        return "the fit is exact"
    if model.coef_std_ is not None:
        return ""
    if is_out_of_range(model._state_):
        return OUT_OF_RANGE
    if model.solution_.least_squares:
        return NOTHING_LEFT
    # Without a row to spare the noise is not known, but a fit may be exact all the same.
    squared = model.solution_.residual_norm**2
    return rule.shrinkage if _loss(model, squared) else "the fit is exact"


def _rows(model: SparseLinearModel) -> str:
    rows = model.n_rows_
    told = f"{rows:.0f}" if float(rows).is_integer() else f"{rows:g}, the sum of the weights"
    note = model._state_.note
    return f"{told}, {note}" if note else told


def _noise(model: SparseLinearModel, rule: SelectionRule, is_exact: bool) -> str:
    if is_exact and rule.log_evidence is not None:
        return "σ = 0: the fit is exact, but for rounding, and the evidence without bound"
    if is_exact:
        return "σ = 0: the fit is exact, but for rounding"
    if model.noise_ is None:
        return f"unknown: {NOTHING_LEFT}"
    fitted = "that of the residual" if rule.log_evidence is None else "inferred"
    origin = "as given" if rule.sigma_given else fitted
    values = [f"{value:.4g}" for value in np.ravel(model.noise_)]
    if len(values) > 1:
        return f"σ of {_by_target(model, values)}; {origin}"
    return f"σ = {values[0]}, {origin}"


def _subset(model: SparseLinearModel) -> Iterator[Fact]:
    """Whether other features, as many, fit better, or how to ask that."""
    attributes = model._state_.attributes
    if "certificate_" in attributes:
        names = [printable(model._state_.columns.feature(j)) for j in range(model.n_features_in_)]
        yield "subset", model.certificate_.sentence(names)
    elif "uncertified_" in attributes:
        reason = model.uncertified_.rstrip(".")
        yield "subset", f"not certified: {reason[:1].lower()}{reason[1:]}"
    elif model.certify is False and model.solution_.support.size and model.criteria_.total > 0:
        ask = Parameter("certify", True)
        rest = " asks whether other features, as many, fit better"
        yield "subset", ("not looked at: ", ask, rest)


def _values(criteria: dict[str, float], first: str) -> Iterator[str]:
    """The criterion of choice first, and those that people ask for."""
    for name in dict.fromkeys([first, "aic", "bic", "adjusted_r2"]):
        if name in BY_LOSS and math.isfinite(criteria.get(name, math.nan)):
            decimals = 4 if name == "adjusted_r2" else 2
            yield f"{NAMES[name]} = {criteria[name]:.{decimals}f}"
