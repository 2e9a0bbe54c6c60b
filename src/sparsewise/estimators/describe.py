"""What there is to say of a fitted estimator, said once: every front end reads it from here."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from functools import singledispatch
from typing import NamedTuple

from sparsewise.algorithms import ALGORITHMS, Family
from sparsewise.description.contents import Coefficient, Description, Fact, Folds, PathRow
from sparsewise.description.shares import rounded, share
from sparsewise.errors import Either, Parameter, Words
from sparsewise.estimators.base import SparseRegressor
from sparsewise.estimators.basis_pursuit import BasisPursuitRegressor
from sparsewise.estimators.pursuit import PursuitRegressor
from sparsewise.estimators.sparse_bayes import SparseBayesRegressor
from sparsewise.estimators.stepwise import StepwiseRegressor
from sparsewise.results import Stop
from sparsewise.selection.criteria import BY_RESIDUAL, EXACT, NAMES
from sparsewise.wording import count, printable, shortened

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


class Decision(NamedTuple):
    """What decided on the features.

    Attributes
    ----------
    rule : str
        As a sentence.
    criterion : str or None
        The criterion that has chosen, if one has.
    folds : Folds or None
        What cross-validation told, if that has chosen.
    left_out : float or None
        The mean squared error of rows left out one at a time, if that has chosen.
    log_evidence, price : float or None, float
        The log evidence, if it has chosen, and what a feature had to raise it by.
    sigma_given : bool
        Whether the noise was given.
    facts : tuple of Fact
        What else there is to say of the rule.
    unfitted : str or tuple
        Why coefficients that are no least-squares fit are none.
    """

    rule: str
    criterion: str | None = None
    folds: Folds | None = None
    left_out: float | None = None
    log_evidence: float | None = None
    price: float = 0.0
    sigma_given: bool = False
    facts: tuple[Fact, ...] = ()
    unfitted: Words = ""


def describe(model: SparseRegressor) -> Description:
    """All there is to say of a fitted estimator."""
    solution, decision = model.solution_, decide(model)
    is_exact, loss = _is_exact(model, decision), _loss(model, model.solution_.residual_norm**2)
    no_std = _no_std(model, decision, is_exact)
    criteria = dict(_criteria(model, decision, loss))
    return Description(
        target=model._target,
        candidates=model.n_features_in_,
        intercept=_intercept(model, is_exact),
        features=tuple(_features(model, is_exact)),
        std_title="" if no_std else _std_title(model),
        r2=share(loss, model.criteria_.total),
        loss=loss,
        noise=model.noise_,
        log_evidence=decision.log_evidence,
        price=decision.price,
        criterion=decision.criterion,
        criteria=criteria,
        folds=decision.folds,
        facts=tuple(_facts(model, decision, is_exact, no_std, criteria)),
        stop=solution.stop,
        path=tuple(_path(model, is_exact)),
        passes=solution.n_passes,
    )


# --- numbers --------------------------------------------------------------------------------------


def _loss(model: SparseRegressor, squared: float) -> float:
    return rounded(squared, model.criteria_.total, model.criteria_.exact)


def _is_exact(model: SparseRegressor, decision: Decision) -> bool:
    """Whether there is no noise to speak of: the evidence has no bound then."""
    if model.noise_ == 0 or decision.sigma_given:
        return model.noise_ == 0
    rows = model.n_rows_ - model.fit_intercept
    return model.solution_.is_noiseless(model.criteria_.total, rows)


def _intercept(model: SparseRegressor, is_exact: bool) -> Coefficient | None:
    """The constant; zero where it is the rounding error of a difference."""
    if not model.fit_intercept:
        return None
    value, std = float(model.intercept_), model.intercept_std_
    shift = float(model.means_ @ model.coef_[model.solution_.support])
    is_rounding = abs(value) <= math.sqrt(EXACT) * max(abs(value + shift), abs(shift))
    known = None if std is None else 0.0 if is_exact else float(std)
    return Coefficient("(intercept)", 0.0 if is_rounding else value, known)


def _features(model: SparseRegressor, is_exact: bool) -> Iterator[Coefficient]:
    stds = model.coef_std_
    for j in model.solution_.support.tolist():
        std = None if stds is None else 0.0 if is_exact else float(stds[j])
        yield Coefficient(model._name(j), float(model.coef_[j]), std)


def _criteria(
    model: SparseRegressor, decision: Decision, loss: float
) -> Iterator[tuple[str, float]]:
    """The criteria of a least-squares model, those that are defined."""
    if not model.solution_.least_squares or model.criteria_.total == 0:
        return
    for name in BY_RESIDUAL:
        value = float(model.criteria_.values(name, loss, model.solution_.support.size))
        if not math.isnan(value):
            yield name, value
    if decision.left_out is not None:
        yield "loo", decision.left_out


def _path(model: SparseRegressor, is_exact: bool) -> Iterator[PathRow]:
    """The start, every step, and what leads from the last to the model."""
    solution, total = model.solution_, model.criteria_.total

    def row(
        number: int | None,
        action: str,
        columns: Iterable[int],
        size: int,
        squared: float,
        log_evidence: float = math.nan,
    ) -> PathRow:
        names, loss = tuple(map(model._name, columns)), _loss(model, squared)
        evidence = None if is_exact or math.isnan(log_evidence) else log_evidence
        return PathRow(number, action, names, size, loss, share(loss, total), evidence)

    start, rows = solution.path.start, model.n_rows_ - model.fit_intercept
    first = solution.path.initial.loss, solution.start_evidence(rows)
    yield row(0, "start", start, len(start), *first)
    for number, step in enumerate(solution.path, start=1):
        yield row(number, step.action, step.columns, step.size, step.loss, step.log_evidence)
    if solution.ending:
        yield row(None, solution.ending, (), solution.support.size, solution.residual_norm**2)


# --- sentences ------------------------------------------------------------------------------------


def _facts(
    model: SparseRegressor,
    decision: Decision,
    is_exact: bool,
    no_std: Words,
    criteria: dict[str, float],
) -> Iterator[Fact]:
    solution, total = model.solution_, model.criteria_.total
    yield from _std(model, no_std)
    yield "rows", _rows(model.n_rows_)
    for parameter in ("include", "exclude"):
        if columns := model._columns(parameter):
            yield f"{parameter}d", shortened([printable(model._name(j)) for j in columns])
    if total > 0:
        yield "choice", decision.rule
        yield from decision.facts
    # The evidence is worth telling even of a constant target, but not of an exact fit.
    if (total > 0) if solution.posterior is None else not is_exact:
        yield from solution.facts()
    if criteria and not is_exact:
        yield "criteria", ", ".join(_values(criteria, decision.criterion or "bic"))
    yield "noise", _noise(model, decision, is_exact)
    yield from _subset(model)
    if total == 0:
        what = "constant: the model is its mean" if model.fit_intercept else "zero: so is the model"
        yield "stopped", f"the target is {what}"
    elif solution.stop not in OBVIOUS:
        yield "stopped", solution.stop.reason


def _std_title(model: SparseRegressor) -> str:
    return "std. error" if model.solution_.posterior is None else "± std"


def _std(model: SparseRegressor, no_std: Words) -> Iterator[Fact]:
    """What the standard deviations mean, or why there are none."""
    chosen = model.solution_.support.tolist()
    if no_std:
        if chosen:
            yield "std. error", ("none: ", *((no_std,) if isinstance(no_std, str) else no_std))
    elif model.solution_.posterior is not None:
        yield (
            _std_title(model),
            "posterior standard deviation, conditional on the selection: as if these features, "
            "their prior variances and the noise had been given",
        )
    elif not chosen:
        if model.fit_intercept:
            yield (
                _std_title(model),
                "conditional on the selection: as if no feature had any effect",
            )
    elif set(model._columns("include")).issuperset(chosen):
        yield _std_title(model), "of the least-squares fit; all features were asked for"
    else:
        yield (
            _std_title(model),
            "conditional on the selection: as if these features had been given; having been "
            "chosen by the same data they are less certain than that",
        )


def _no_std(model: SparseRegressor, decision: Decision, is_exact: bool) -> Words:
    """Why the coefficients have no standard deviations; empty if they do."""
    if is_exact:
        return "the fit is exact"
    if model.coef_std_ is not None:
        return ""
    if model.solution_.least_squares:
        return NOTHING_LEFT
    # Without a row to spare the noise is not known, but a fit may be exact all the same.
    squared = model.solution_.residual_norm**2
    return decision.unfitted if _loss(model, squared) else "the fit is exact"


def _rows(rows: float) -> str:
    return f"{rows:.0f}" if float(rows).is_integer() else f"{rows:g}, the sum of the weights"


def _noise(model: SparseRegressor, decision: Decision, is_exact: bool) -> str:
    posterior = model.solution_.posterior is not None
    if is_exact and posterior:
        return "σ = 0: the fit is exact to eight digits, and the evidence without bound"
    if is_exact:
        return "σ = 0: the fit is exact, but for rounding"
    if model.noise_ is None:
        return f"unknown: {NOTHING_LEFT}"
    fitted = "inferred" if posterior else "that of the residual"
    return f"σ = {model.noise_:.4g}, {'as given' if decision.sigma_given else fitted}"


def _subset(model: SparseRegressor) -> Iterator[Fact]:
    """Whether other features, as many, fit better, or how to ask that."""
    found = vars(model)  # attributes that are there only if they were asked for
    if "certificate_" in found:
        names = [printable(model._name(j)) for j in range(model.n_features_in_)]
        yield "subset", model.certificate_.sentence(names)
    elif "uncertified_" in found:
        reason = model.uncertified_.rstrip(".")
        yield "subset", f"not certified: {reason[:1].lower()}{reason[1:]}"
    elif model.certify is False and model.solution_.support.size and model.criteria_.total > 0:
        ask = Either("certify=True", "sparsewise certify")
        yield (
            "subset",
            ("not looked at: ", ask, " asks whether other features, as many, fit better"),
        )


def _values(criteria: dict[str, float], first: str) -> Iterator[str]:
    """The criterion of choice first, and those that people ask for."""
    for name in dict.fromkeys([first, "aic", "bic", "adjusted_r2"]):
        if name in BY_RESIDUAL and math.isfinite(criteria.get(name, math.nan)):
            decimals = 4 if name == "adjusted_r2" else 2
            yield f"{NAMES[name]} = {criteria[name]:.{decimals}f}"


# --- by what the choice was made ------------------------------------------------------------------


@singledispatch
def decide(model: SparseRegressor) -> Decision:
    """What decided on the features; each estimator has its own."""
    raise NotImplementedError(f"nothing is known of {type(model).__name__}")


@decide.register
def _(model: SparseBayesRegressor) -> Decision:
    price = "any that raised the log evidence was taken"
    if model.price_ > 0:
        price = f"each feature had to raise the log evidence by {model.price_:.4g}"
    if model.price is None:
        m = model.criteria_.features
        price += f" = log {m}, being one of {m}" if m > 1 else " = log 2"
    return Decision(
        price,
        log_evidence=model.log_evidence_,
        price=model.price_,
        sigma_given=model.sigma is not None,
    )


@decide.register
def _(model: BasisPursuitRegressor) -> Decision:
    """What is least, and under which condition."""
    unfitted = ("the coefficients are shrunk (", Parameter("debias", True), " refits them)")
    is_focuss = isinstance(model.weights, str) and model.weights == "focuss"
    facts: tuple[Fact, ...] = ()
    if model.standardize and not is_focuss and model.solution_.support.size:
        same = "features cost as columns of norm 1 would, so that their units don't matter"
        facts = (("costs", same),)
    if model.residual_ is None:
        rule = f"the lasso, least ½‖r‖² + λ Σ w|x| at λ = {model.penalty:g}"
        return Decision(rule, facts=facts, unfitted=unfitted)
    least = "Σ|x|^0.8" if is_focuss else "Σ w|x|"
    noise = ""
    if model.residual is None:
        given = "" if model.sigma is None else ", as given"
        s = model.residual_ / math.sqrt(model.n_rows_)
        noise = f": s √n, as large as the noise (s = {s:.4g}{given})"
    rule = f"least {least} with a residual of norm at most {model.residual_:.4g}{noise}"
    return Decision(rule, facts=facts, unfitted=unfitted)


@decide.register
def _(model: StepwiseRegressor) -> Decision:
    """The rule, and how many sizes it chose from."""
    way = _WAYS[model.direction]
    if model.delta is not None:
        delta = float(model.delta_ or 0.0)
        bic = "" if model.delta == model.delta_ else _price_in_the_bic(delta, model.n_rows_)
        rule = "every feature had to lower the squared residual by more than delta², delta = "
        return Decision(f"{rule}{delta:.4g}{bic}")
    if model.sparsity is not None:
        most = count(model.sparsity, "feature")
        return Decision(f"at most {most}, as asked for, on the {way}")
    name = NAMES[model.criterion]
    if model.criterion == "cv":
        errors = model.cv_errors_
        folds = Folds(errors.sizes, errors.mean, errors.std, model.one_standard_error)
        return Decision(_folds(model), "cv", folds)
    if model.direction == "both" and model.criterion in BY_RESIDUAL:
        change = "raises" if model.criterion == "adjusted_r2" else "lowers"
        return Decision(f"no single feature more or less {change} {name}", model.criterion)
    among = f"of {_span(model.solution_.path.sizes)} on the {way}"
    if model.criterion == "loo":
        rule = f"least {name} (mean square {model.loo_:.5g}) {among}"
        return Decision(rule, "loo", left_out=model.loo_)
    most = "largest" if model.criterion == "adjusted_r2" else "least"
    return Decision(f"{most} {name} {among}", model.criterion)


@decide.register
def _(model: PursuitRegressor) -> Decision:
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
        asked.append("as many features as have the least BIC on the path of omp")
    unfitted = f"{model.algorithm} does not refit the coefficients (omp does)"
    return Decision(" and ".join(asked), unfitted=unfitted)


_WAYS = {
    "forward": "forward path",
    "backward": "backward path",
    "both": "path forward and back",
    "foba": "foba path",
}


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
