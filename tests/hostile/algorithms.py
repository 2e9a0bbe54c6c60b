"""Every algorithm that chooses columns, on matrices, targets and containers of every kind."""

from __future__ import annotations

from typing import Any

import numpy as np

from sparsewise.errors import InputError
from tests.hostile.calls import BAYESIAN, LEAST_SQUARES, Call, a_call
from tests.hostile.campaign import Case, family
from tests.hostile.posteriors import evidence, posterior, proper_prior
from tests.hostile.refusals import justified, one_sentence
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
    worst_on_path,
)


def judge(call: Call, solution) -> None:
    """All that can be said of an answer, from the data alone."""
    well_formed(call, solution)
    readable(solution)
    call.worst = worst_on_path(call, solution)
    stated_residual(call, solution)
    if call.algorithm in LEAST_SQUARES:
        assert solution.least_squares
        least_squares(call, solution.coef, solution.support.tolist(), solution.ridge)
        if solution.ridge:  # what follows is of ‖r‖² alone
            own_check(call, solution)
            return
        monotone_path(call, solution)
        path_models(call, solution)
        greedy_steps(call, solution)
        never_below_start(call, solution)
    if call.algorithm in BAYESIAN:
        path_models(call, solution)
        proper_prior(call, solution)
        posterior(call, solution)
        evidence(call, solution)
    if call.algorithm in ("oblivious", "gomp", "mp"):
        closest_columns(call, solution)
    reason_holds(call, solution)
    own_check(call, solution)


@family("algorithms", share=4)
def algorithms(case: Case) -> None:
    call = a_call(case, large=0.01)
    quiet = np.errstate() if call.is_finite else np.errstate(all="ignore")  # their own products
    steps: list[Any] = []
    asked = int(case.rng.integers(1, 6)) if case.chance(0.1) else None
    case.note(asked=asked)

    def listen(step: Any) -> bool:
        steps.append(step)
        return len(steps) == asked

    if asked is not None or case.chance(0.1):
        call.words["callback"] = listen
    before = call.A.tobytes(), call.y.tobytes()
    try:
        with quiet:
            solution = call()
        data_untouched(before, call.A, call.y)
        judge(call, solution)  # coefficients along the path may be out of range, too
    except InputError as refusal:
        one_sentence(refusal)
        justified(call, refusal)
    else:
        if "callback" in call.words:
            told_steps(solution, steps, asked)
