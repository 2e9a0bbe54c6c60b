"""A library broken on purpose, once for each oracle of algorithms, words and data."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import replace
from itertools import count
from typing import Any
from unittest.mock import patch

import numpy as np

from sparsewise import Solution, Start, Stop
from sparsewise.design.operator import OperatorDesign
from sparsewise.engine import active_set, stopping
from sparsewise.engine.active_set import ActiveSet
from sparsewise.engine.factor import Factor
from sparsewise.engine.log import Log
from sparsewise.engine.search.multistart import Multistart
from sparsewise.errors import Message
from sparsewise.results.path import Path, Stretch
from tests.hostile.bad_data import data_refused, place_named
from tests.hostile.campaign import fault
from tests.hostile.invariances import no_worse_than_forward, same_coef, same_support
from tests.hostile.operators import broken_product_noticed, names_the_operator, products_counted
from tests.hostile.posteriors import evidence, posterior, proper_prior
from tests.hostile.refusals import justified, one_sentence
from tests.hostile.search import (
    as_good_as_others,
    chance_of_search,
    covariance_of_search,
    end_of_search,
    no_single_change,
    noise_of_search,
    same_seed_same_answer,
    score_of_search,
    starts_of_search,
    told_starts,
)
from tests.hostile.solutions import (
    closest_columns,
    data_untouched,
    greedy_steps,
    least_squares,
    monotone_path,
    never_below_start,
    own_check,
    path_models,
    readable,
    reason_holds,
    stated_residual,
    told_steps,
    well_formed,
)
from tests.hostile.words import taken_or_named


def wrapped(owner: Any, name: str, around: Callable) -> AbstractContextManager[object]:
    """A method replaced by ``around(original, *args)``."""
    original = getattr(owner, name)

    def method(*args: Any, **kwargs: Any) -> Any:
        return around(original, *args, **kwargs)

    return patch.object(owner, name, method)


def altered(change: Callable[[Any], Any]) -> AbstractContextManager[object]:
    """Every solution changed before it is returned."""
    return wrapped(Log, "solution", lambda make, *args, **more: change(make(*args, **more)))


def reworded(change: Callable[[str], str]) -> AbstractContextManager[object]:
    """Every refusal in other words."""
    return wrapped(Message, "sentence", lambda say, *args: change(say(*args)))


# --- answers -------------------------------------------------------------------------------------


@fault(well_formed, family="algorithms")
def descending_support():
    return altered(lambda one: replace(one, support=one.support[::-1].copy()))


@fault(readable, family="algorithms")
def representation_with_nan():
    return wrapped(Solution, "__repr__", lambda show, one: show(one) + " (nan)")


@fault(data_untouched, family="algorithms")
def columns_rounded_in_place():
    def rounded(make: Callable, A: Any, y: Any, **how: Any) -> Any:
        if isinstance(A, np.ndarray) and A.flags.writeable and A.dtype.kind == "f":
            np.round(A, 3, out=A)
        return make(A, y, **how)

    return wrapped(active_set, "problem", rounded)


@fault(stated_residual, family="algorithms")
def residual_off_by_a_millionth():
    return altered(lambda one: replace(one, residual_norm=one.residual_norm * (1 + 1e-6)))


@fault(least_squares, family="algorithms")
def coefficients_off_by_a_few_digits():
    return altered(lambda one: replace(one, coef=one.coef * one.coef.dtype.type(1 + 1e-8)))


@fault(path_models, family="algorithms")
def models_of_another_loss():
    def another(make: Callable, *args: Any) -> Any:
        model = make(*args)
        return model._replace(loss=1.01 * model.loss)

    return wrapped(Path, "_model", another)


@fault(monotone_path, family="algorithms")
def losses_that_grow():
    def grown(make: Callable, *args: Any) -> Any:
        step = make(*args)
        return step._replace(loss=step.loss * (1 + step.size) ** 4)

    return wrapped(Stretch, "step", grown)


@fault(greedy_steps, family="algorithms")
def gains_mistaken_for_correlations():
    def by_corr(grow: Callable, active: Any, criterion: Any, **how: Any) -> Any:
        return grow(active, criterion, **how | {"by": "corr"})

    return wrapped(ActiveSet, "grow", by_corr)


@fault(closest_columns, family="algorithms")
def ranking_from_below():
    return wrapped(
        ActiveSet,
        "ranking",
        lambda rank, active, scores: iter(list(rank(active, scores))[::-1]),
    )


@fault(told_steps, family="algorithms")
def callback_told_of_larger_losses():
    def louder(record: Callable, log: Any, *args: Any, **more: Any) -> Any:
        hear, log.callback = log.callback, None
        if hear is not None:
            log.callback = lambda step: hear(step._replace(loss=1.5 * step.loss))
        record(log, *args, **more)
        log.callback = hear

    return wrapped(Log, "record", louder)


@fault(never_below_start, family="algorithms")
def exchanges_for_the_worse():
    return wrapped(ActiveSet, "fell_below", lambda fell, active, rss: active.rss > rss)


@fault(reason_holds, family="algorithms")
def every_fit_called_exact():
    return altered(lambda one: replace(one, stop=Stop.EXACT_FIT))


@fault(own_check, family="algorithms")
def check_that_always_holds():
    return wrapped(Solution, "_check_fit", lambda check, *args: replace(check(*args), ok=True))


@fault(proper_prior, family="algorithms")
def noise_of_another_size():
    return altered(lambda one: replace(one, sigma=2 * one.sigma) if hasattr(one, "sigma") else one)


@fault(posterior, family="algorithms")
def covariance_off_by_a_percent():
    def larger(one: Any) -> Any:
        return replace(one, covariance=1.01 * one.covariance) if hasattr(one, "sigma") else one

    return altered(larger)


@fault(evidence, family="algorithms")
def evidence_off_by_a_thousandth():
    def higher(one: Any) -> Any:
        if not hasattr(one, "sigma"):
            return one
        return replace(one, log_evidence=one.log_evidence + 1e-3)

    return altered(higher)


# --- searches ------------------------------------------------------------------------------------


@fault(noise_of_search, family="search")
def noise_off_by_a_thousandth():
    return altered(lambda one: replace(one, sigma=1.001 * one.sigma))


@fault(covariance_of_search, family="search")
def covariance_off_by_a_thousandth():
    return altered(lambda one: replace(one, covariance=1.001 * one.covariance))


@fault(score_of_search, family="search")
def score_off_by_a_thousandth():
    return altered(lambda one: replace(one, score=one.score + 1e-3 * (1 + abs(one.score))))


@fault(chance_of_search, family="search")
def odds_off_by_a_few():
    return altered(lambda one: replace(one, chance=min(one.chance * 1.1, 0.0)))


@fault(starts_of_search, family="search")
def starts_that_lost_a_column():
    def poorer(start: Start) -> Start:
        return start._replace(support=start.support[1:])

    return altered(lambda one: replace(one, starts=tuple(map(poorer, one.starts))))


@fault(end_of_search, family="search")
def every_model_found_again():
    return altered(lambda one: replace(one, stop=Stop.FOUND_AGAIN))


@fault(no_single_change, family="search")
def models_left_as_they_come():
    def start(usual, search, i, rng):
        model = search.model(search._survivors(i, rng))
        return search._found(model.order, model.rss)

    broken = ExitStack()
    broken.enter_context(wrapped(Multistart, "start", start))
    broken.enter_context(wrapped(Multistart, "_settled", lambda settle, search, found: found))
    return broken


@fault(as_good_as_others, family="planted")
def a_search_that_ends_before_it_begins():
    return wrapped(Multistart, "_from_starts", lambda usual, *args: Stop.EFFORT)


@fault(told_starts, family="search")
def the_last_start_not_told():
    return altered(lambda one: replace(one, starts=one.starts[:-1]))


@fault(same_seed_same_answer, family="search")
def every_other_answer_off_by_a_bit():
    calls = count()

    def moved(one: Any) -> Any:
        bit = one.coef.real.dtype.type(1 + np.finfo(one.coef.dtype).eps)
        return replace(one, coef=one.coef * bit) if next(calls) % 2 else one

    return altered(moved)


# --- refusals ------------------------------------------------------------------------------------


@fault(one_sentence, family="words")
def sentences_of_two_lines():
    return reworded(lambda text: f"{text}\nSee the manual.")


@fault(justified, family="algorithms")
def every_start_refused():
    return wrapped(Factor, "load", lambda load, *args: False)


@fault(taken_or_named, family="words")
def negative_tolerances_taken():
    def forgiving(check: Callable, value: Any, name: str) -> Any:
        return abs(value) if isinstance(value, float) else check(value, name)

    return wrapped(stopping, "check_tolerance", forgiving)


@fault(names_the_operator, family="operators")
def sentence_without_operator():
    return reworded(lambda text: "Something of it can't be used.")


@fault(products_counted, family="operators")
def passes_told_as_products():
    return altered(lambda one: replace(one, n_products=one.n_passes))


@fault(broken_product_noticed, family="operators")
@contextmanager
def products_swept_clean() -> Iterator[None]:
    def clean(product: str) -> Callable:
        def multiply(self: Any, v: np.ndarray) -> np.ndarray:
            return np.nan_to_num(np.ravel(getattr(self.operator, product)(v)), posinf=1, neginf=1)

        return multiply

    with (
        patch.object(OperatorDesign, "matvec", clean("matvec")),
        patch.object(OperatorDesign, "rmatvec", clean("rmatvec")),
    ):
        yield


@fault(data_refused, family="bad_data")
def sentence_without_data():
    return reworded(lambda text: "Something of it can't be used.")


@fault(place_named, family="bad_data")
def place_without_row():
    return reworded(lambda text: text.replace("row", "line"))


# --- invariances ---------------------------------------------------------------------------------


@fault(same_support, family="invariances")
def every_other_answer_smaller():
    calls = count()

    def smaller(one: Any) -> Any:
        return replace(one, support=one.support[:-1]) if next(calls) % 2 else one

    return altered(smaller)


@fault(same_coef, family="invariances")
def every_other_answer_larger():
    calls = count()
    return altered(lambda one: replace(one, coef=one.coef * 1.5) if next(calls) % 2 else one)


@fault(no_worse_than_forward, family="invariances")
def no_exchange_at_all():
    return wrapped(ActiveSet, "fell_below", lambda fell, *args: False)
