"""Every method by name: the words it takes, what it is good for, and the estimator behind it."""

from __future__ import annotations

import inspect
import math
import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from sparsewise.errors import InputError
from sparsewise.wording import look_up

if TYPE_CHECKING:
    from sparsewise.estimators.base import SparseRegressor
    from sparsewise.tables import Table

# What of an algorithm's signature can be set here.
WORDS = (
    "sparsity",
    "residual",
    "delta",
    "penalty",
    "batch",
    "sigma",
    "price",
    "updates",
    "debias",
)
# What chooses among the models of one path.
CHOICES = ("criterion", "cv")
OPTIONS = (*WORDS, *CHOICES)

BAYESIAN = ("rmp", "fast_sbl", "sbl")
UPDATES = ("em", "mackay", "convex")
DIRECTIONS = {"forward": "forward", "backward": "backward", "foba": "foba", "stepwise": "both"}
"""Methods that make one path and let a criterion choose on it."""
L1 = ("bp", "bpdn", "bp_candes", "bp_ard", "focuss", "ista", "fista")

GOOD_FOR = {
    "oblivious": "a first look at very many features",
    "mp": "huge designs, as it never solves for all coefficients",
    "omp": "features that are nearly uncorrelated",
    "gomp": "many features at a time, nearly uncorrelated",
    "forward": "a path of models on which a criterion or folds choose",
    "backward": "correlated features, if there are more rows than features",
    "lace": "a quick way back from all features",
    "rmp0": "little noise, and features that a path forward takes by mistake",
    "foba": "paths on which features lose their worth",
    "stepwise": "what step of R does",
    "srr": "the best model of a size, correlated features",
    "ompr": "the best model of a size, many features",
    "subspace_pursuit": "compressed sensing with a known number of features",
    "rmp": "any table: there is nothing to be set",
    "fast_sbl": "tables where the order of steps matters to rmp",
    "sbl": "small tables, and comparison with other programs",
    "bp": "exact data with more features than rows",
    "bpdn": "the lasso, told by its residual",
    "bp_candes": "fewer features than bpdn takes",
    "bp_ard": "fewer features than bpdn takes, correlated ones",
    "focuss": "signals with few sources",
    "ista": "the lasso, told by its penalty",
    "fista": "the lasso, told by its penalty, with many features",
}


def words_of(method: str) -> dict[str, bool]:
    """Return the words that a method takes, and whether it needs them."""
    from sparsewise.algorithms import ALGORITHMS

    parameters = inspect.signature(ALGORITHMS[method]).parameters
    words = {word: word == "penalty" for word in WORDS if word in parameters}
    return words | (dict.fromkeys(CHOICES, False) if method in DIRECTIONS else {})


def choose(method: str | None, words: dict[str, Any]) -> str:
    """Return the method by its full name, and see that it takes these words."""
    from sparsewise.algorithms import ALGORITHMS

    name = default_method(words) if method is None else method.replace("-", "_")
    look_up([name], ALGORITHMS, "method")
    takes = words_of(name)
    for word in words:
        if word not in takes:
            raise InputError(f"{name} does not take --{word}; it takes {options(takes)}")
    missing = [word for word, needed in takes.items() if needed and word not in words]
    if missing:
        raise InputError(f"{name} needs {options(missing)}")
    _check_choices(words)
    return name


def default_method(words: dict[str, Any]) -> str:
    """Return the method that the words call for; without any, one that needs no threshold."""
    if "batch" in words:
        return "gomp"
    if "debias" in words and "penalty" not in words:
        return "bpdn"
    if words.keys() & {"sparsity", "residual", *CHOICES}:
        return "forward"
    if "delta" in words:
        return "rmp0"
    if "penalty" in words:
        return "fista"
    return "sbl" if "updates" in words else "rmp"


def options(words: Iterable[str]) -> str:
    """Return words as options."""
    return ", ".join(f"--{word}" for word in words)


def _check_choices(words: dict[str, Any]) -> None:
    """Raise an error for words that both say when to stop, or that are unknown."""
    if "updates" in words:
        look_up([words["updates"]], UPDATES, "rule")
    if "criterion" in words:
        from sparsewise.estimators.stepwise import CRITERIA

        look_up([words["criterion"]], CRITERIA, "criterion")
    if "cv" in words and words.get("criterion", "cv") != "cv":
        raise InputError(f"--cv chooses by folds, not by {words['criterion']}: give one of them")
    chooses = words.keys() & set(CHOICES)
    stops = words.keys() & {"sparsity", "residual", "delta"}
    if chooses and stops:
        raise InputError(f"{options([*stops, *chooses])} both say when to stop: give one of them")


# --- the estimator --------------------------------------------------------------------------------


def build(
    method: str, words: dict[str, Any], table: Table, **common: Any
) -> tuple[SparseRegressor, list[str]]:
    """Return the estimator behind a method, not fitted yet, and notes on what it goes by."""
    if method in BAYESIAN:
        return _bayesian(method, words, table, common)
    if method in L1:
        return _basis_pursuit(method, words, table, common)
    if method == "rmp0" or (method in DIRECTIONS and words.keys() <= {"delta", *CHOICES}):
        return _stepwise(method, words, table, common)
    from sparsewise.estimators import PursuitRegressor

    return PursuitRegressor(method, **words, **common), []


def _bayesian(
    method: str, words: dict[str, Any], table: Table, common: dict[str, Any]
) -> tuple[SparseRegressor, list[str]]:
    from sparsewise.estimators import SparseBayesRegressor

    m = len(table.names)
    why = f"log {m}, being one of {m}" if m > 1 else "log 2"
    note = (
        f"price = {math.log(max(m, 2)):.4g}: a feature must raise the log evidence by {why}; "
        "--price 0 takes any that raises it"
    )
    notes = [] if "price" in words else [note]
    return SparseBayesRegressor(method, **words, **common), notes


def _basis_pursuit(
    method: str, words: dict[str, Any], table: Table, common: dict[str, Any]
) -> tuple[SparseRegressor, list[str]]:
    from sparsewise.estimators import BasisPursuitRegressor

    given = {word: words[word] for word in ("residual", "penalty", "debias") if word in words}
    notes: list[str] = []
    if method == "bp":
        given["residual"] = 0.0
    if "sigma" in words:
        if "residual" in words:
            raise InputError("--sigma and --residual both tell the noise: give one of them")
        rows = len(table.y) if table.weights is None else float(table.weights.sum())
        given["residual"] = words["sigma"] * math.sqrt(rows)
        notes = [
            f"residual = {given['residual']:.4g}: s √n, as large as the noise "
            f"(s = {words['sigma']:.4g}, as given)"
        ]
    weights = {"bp_candes": "candes", "bp_ard": "ard", "focuss": "focuss"}.get(method)
    solver = method if method in ("ista", "fista") else "auto"
    return BasisPursuitRegressor(weights, solver=solver, **given, **common), notes


def _stepwise(
    method: str, words: dict[str, Any], table: Table, common: dict[str, Any]
) -> tuple[SparseRegressor, list[str]]:
    from sparsewise.estimators import StepwiseRegressor

    given, notes = dict(words), list[str]()
    if "cv" in given:
        given["criterion"] = "cv"
    if method == "rmp0" and "delta" not in given:
        given["delta"], notes = _bic_delta(table, common["fit_intercept"])
    if "delta" not in given and "criterion" not in given:
        notes = ["the BIC chooses; --criterion and --cv choose otherwise, --sparsity K takes K"]
    return StepwiseRegressor(DIRECTIONS.get(method, "both"), **given, **common), notes


def _bic_delta(table: Table, intercept: bool) -> tuple[float, list[str]]:
    """Return delta, delta² = s² log n: the price of a feature in the BIC; and words for it.

    With the noise variance known, BIC = ‖r‖²/s² + k log n (Schwarz 1978).
    """
    from sparsewise.selection.data import Data
    from sparsewise.selection.residual_variance import residual_variance

    weights = table.weights
    kept = slice(None) if weights is None else weights > 0
    data = Data(
        table.X[kept],
        table.y[kept],
        None if weights is None else weights[kept],
        intercept,
        [],
        [],
    )
    variance = residual_variance(data)
    if variance is None:
        raise InputError(
            f"{data.rows:g} rows can't tell the noise of {len(table.names)} features: give --delta,"
            " or use rmp"
        )
    delta = math.sqrt(variance * math.log(data.rows))
    note = (
        f"delta = {delta:.4g}: a feature must be worth delta² = s² log n, its price in the BIC "
        f"(s² = {variance:.4g}, the residual variance with all features)"
    )
    return delta, [note]


# --- their words, in ours -------------------------------------------------------------------------

OURS = (
    (r'criterion="cv"', "--cv 5"),
    (r'criterion="(\w+)"', r"--criterion \1"),
    (r"debias=True", "--debias"),
    (r"sparsity", "--sparsity"),
    (r"sample_weight", "the weights"),
    (r"SparseBayesRegressor", "--method rmp"),
    (r"StepwiseRegressor", "--method forward"),
    (r"take out of include", "take out of --include"),
)


def in_options(sentence: str) -> str:
    """Return a sentence of an estimator with options in place of its parameters."""
    for theirs, ours in OURS:
        sentence = re.sub(theirs, ours, sentence)
    return sentence.rstrip(".")
