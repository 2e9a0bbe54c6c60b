"""The rule by which each estimator selected its features, in words."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from functools import singledispatch
from typing import NamedTuple

from sparsewise._util.text import count, printable, shortened
from sparsewise.algorithms import ALGORITHMS, Family
from sparsewise.criteria.information import BY_LOSS, NAMES
from sparsewise.criteria.ric import CHARGES
from sparsewise.errors import Parameter, Words
from sparsewise.estimators.base import SparseLinearModel
from sparsewise.estimators.basis_pursuit import BasisPursuitRegressor
from sparsewise.estimators.pursuit import PursuitRegressor
from sparsewise.estimators.sparse_bayes import SparseBayesRegressor
from sparsewise.estimators.sparse_regressor import SparseRegressor
from sparsewise.estimators.stepwise import StepwiseRegressor
from sparsewise.summary.contents import Fact, ValidationCurve


class SelectionRule(NamedTuple):
    """How the features were selected.

    Attributes
    ----------
    sentence : str
        The rule in words.
    criterion : str or None
        The criterion that selected the model, if one did.
    validation_curve : ValidationCurve or None
        The errors by size, if cross-validation selected the model.
    loo : float or None
        The leave-one-out error, if that selected the model.
    log_evidence, price : float or None, float
        The log evidence, if it selected the model, and what a feature had to raise it by.
    sigma_given : bool
        Whether the noise was given.
    facts : tuple of Fact
        What else there is to say of the rule.
    shrinkage : str or tuple
        Why the coefficients are not those of least squares, if they are not.
    """

    sentence: str
    criterion: str | None = None
    validation_curve: ValidationCurve | None = None
    loo: float | None = None
    log_evidence: float | None = None
    price: float = 0.0
    sigma_given: bool = False
    facts: tuple[Fact, ...] = ()
    shrinkage: Words = ""


@singledispatch
def selection_rule(model: SparseLinearModel) -> SelectionRule:
    """How a fitted estimator selected its features; each registers its own words below."""
    return SelectionRule(f"that of {model.solution_.algorithm}")


@selection_rule.register
def _(model: SparseBayesRegressor) -> SelectionRule:
    price = "any that raised the log evidence was taken"
    if model.price_ > 0:
        price = f"each feature had to raise the log evidence by {model.price_:.4g}"
    if model.price is None:
        m = model.criteria_.features
        price += f" = log {m}, being one of {m}" if m > 1 else " = log 2"
    return SelectionRule(
        price,
        log_evidence=model.log_evidence_,
        price=model.price_,
        sigma_given=model.sigma is not None,
    )


@selection_rule.register
def _(model: BasisPursuitRegressor) -> SelectionRule:
    """What is least, and under which condition."""
    shrinkage = ("the coefficients are shrunk (", Parameter("debias", True), " refits them)")
    is_focuss = isinstance(model.weights, str) and model.weights == "focuss"
    facts: tuple[Fact, ...] = ()
    if model.standardize and not is_focuss and model.solution_.support.size:
        same = "features cost as columns of norm 1 would, so that their units don't matter"
        facts = (("costs", same),)
    if model.residual_ is None:
        rule = f"the lasso, least ½‖r‖² + λ Σ w|x| at λ = {model.penalty:g}"
        return SelectionRule(rule, facts=facts, shrinkage=shrinkage)
    least = "Σ|x|^0.8" if is_focuss else "Σ w|x|"
    noise = ""
    if model.residual is None:
        given = "" if model.sigma is None else ", as given"
        s = model.residual_ / math.sqrt(model.n_rows_)
        noise = f": s √n, as large as the noise (s = {s:.4g}{given})"
    rule = f"least {least} with a residual of norm at most {model.residual_:.4g}{noise}"
    return SelectionRule(rule, facts=facts, shrinkage=shrinkage)


@selection_rule.register
def _(model: StepwiseRegressor) -> SelectionRule:
    """The rule, and how many sizes it chose from."""
    way = "path forward and back" if model.direction == "both" else f"{model.direction} path"
    if model.delta is not None:
        delta = float(model.delta_ or 0.0)
        bic = "" if model.delta == model.delta_ else _price_in_the_bic(delta, model.n_rows_)
        rule = "every feature had to lower the squared residual by more than delta², delta = "
        return SelectionRule(f"{rule}{delta:.4g}{bic}")
    if model.sparsity is not None:
        most = count(model.sparsity, "feature")
        return SelectionRule(f"at most {most}, as asked for, on the {way}")
    name = NAMES[model.criterion]
    if model.criterion == "cv":
        errors = model.cv_errors_
        folds = ValidationCurve(errors.sizes, errors.mean, errors.std, model.one_standard_error)
        return SelectionRule(_folds(model), "cv", folds, facts=_capped(model))
    if model.direction == "both" and model.criterion in BY_LOSS:
        change = "raises" if model.criterion == "adjusted_r2" else "lowers"
        rule = f"no single feature more or less {change} {name}"
        return SelectionRule(rule, model.criterion, facts=_capped(model))
    among = f"of {_span(model.solution_.path.sizes)} on the {way}"
    if model.criterion == "loo":
        rule = f"least {name} (mean square {model.loo_:.5g}) {among}"
        return SelectionRule(rule, "loo", loo=model.loo_, facts=_capped(model))
    most = "largest" if model.criterion == "adjusted_r2" else "least"
    return SelectionRule(f"{most} {name} {among}", model.criterion, facts=_capped(model))


@selection_rule.register
def _(model: PursuitRegressor) -> SelectionRule:
    """What was asked of a pursuit."""
    asked = []
    if model.sparsity is not None:
        asked.append(f"at most {count(model.sparsity, 'feature')}, as asked for")
    if model.residual is not None:
        asked.append(f"a residual of norm {model.residual:.4g}")
    if model.delta is not None:
        asked.append(f"a change of the squared residual by delta², delta = {model.delta:.4g}")
    exchanges = ALGORITHMS[model.algorithm].family is Family.EXCHANGE
    if not asked or (model.sparsity is None and exchanges):
        asked.append("as many features as have the least RIC on the path of omp")
    shrinkage = f"{model.algorithm} does not refit the coefficients (omp does)"
    return SelectionRule(" and ".join(asked), shrinkage=shrinkage)


def _capped(model: StepwiseRegressor) -> tuple[Fact, ...]:
    """That more features might have been chosen, had they been allowed."""
    size = model.solution_.support.size
    if size != model.max_features or size >= model.criteria_.features:
        return ()
    return (
        (
            "cap",
            (
                Parameter("max_features", size),
                " allows no more: raise it to see whether others help",
            ),
        ),
    )


@selection_rule.register
def _(model: SparseRegressor) -> SelectionRule:
    """What each feature was charged, and which other models came close."""
    m, charge = model.criteria_.features, f"each feature costs {model.charge_:.4g}"
    if model.criterion == "cv":
        errors = model.cv_errors_
        i = errors.charges.tolist().index(errors.chosen)
        largest = "the largest within one standard error of" if model.one_standard_error else ""
        rule = (
            f"{charge}, {largest or 'with'} the least error of {len(errors.charges)} charges from "
            f"{errors.charges[0]:.3g} to {errors.charges[-1]:.3g}: mean squared error "
            f"{errors.mean[i]:.5g} ± {errors.std[i]:.3g} in {count(len(errors.by_fold), 'fold')}"
        )
    else:
        name, formula = model.criterion.upper(), CHARGES[model.criterion]
        told = f" = {formula}" if "log" in formula else ""
        targets = model.solution_.goal.sample.targets
        if targets > 1 and "m" in formula:
            told = f" in the mean of targets, as rare for noise in {targets:.3g} independent ones "
            told += f"as {formula} in one"
        rule = f"least {name}: {charge}{told}"
        rule += f", being one of {m}" if "m" in formula else ""
    return SelectionRule(
        rule,
        model.criterion,
        sigma_given=model.sigma is not None,
        facts=tuple(_runner_up(model)),
        shrinkage="the coefficients are shrunk",
    )


def _runner_up(model: SparseRegressor) -> Iterator[Fact]:
    """The best of the other models that starts came to."""
    chosen = set(model.solution_.support.tolist())
    others = [start for start in model.starts_ if set(start.support) != chosen]
    if not others:
        return
    best = others[0]
    more, less = sorted(set(best.support) - chosen), sorted(chosen - set(best.support))
    changes = [
        f"{word} {shortened([printable(model._state_.columns.feature(j)) for j in columns])}"
        for word, columns in (("with", more), ("without", less))
        if columns
    ]
    times = sum(start.support == best.support for start in others)
    rise = f"a score higher by {best.score - model.solution_.score:.3g}"
    yield "runner-up", f"{', '.join(changes)}: {rise}, from {count(times, 'start')}"


def _price_in_the_bic(delta: float, rows: float) -> str:
    """Where a delta comes from that was not given as a number."""
    return (
        ": delta² = s² log n, the price of a feature in the BIC (s² = "
        f"{delta**2 / math.log(rows):.4g}, the residual variance with all features)"
    )


def _folds(model: StepwiseRegressor) -> str:
    """The error of folds left out, and whether the least or the smallest as good."""
    errors = model.cv_errors_
    i, best = errors.sizes.tolist().index(errors.chosen), int(errors.mean.argmin())

    def squared(i: int) -> str:
        return f"{errors.mean[i]:.5g} ± {errors.std[i]:.3g}"

    error = f"mean squared error {squared(i)} in {count(len(errors.by_fold), 'fold')}"
    sizes = _span(errors.sizes.tolist())
    if not model.one_standard_error:
        return f"{error}, the least of {sizes}"
    if i == best:
        return f"{error}, the least of {sizes}; none smaller is within one standard error"
    features = count(int(errors.sizes[best]), "feature")
    return (
        f"{error}; the fewest features within one standard error of the least, {squared(best)} "
        f"with {features}, of {sizes}"
    )


def _span(sizes: Iterable[int]) -> str:
    """How many sizes, and from where to where."""
    sizes = sorted(sizes)
    if len(sizes) == 1:
        return "one size"
    return f"{len(sizes)} sizes ({sizes[0]} to {count(sizes[-1], 'feature')})"
