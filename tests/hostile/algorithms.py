"""Every algorithm that chooses columns, on matrices, targets and containers of every kind."""

from __future__ import annotations

from sparsewise.errors import InputError
from tests.hostile.calls import LEAST_SQUARES, Call, a_call
from tests.hostile.campaign import Case, family
from tests.hostile.refusals import justified, one_sentence
from tests.hostile.solutions import (
    greedy_steps,
    least_squares,
    monotone_path,
    own_check,
    path_models,
    reason_holds,
    stated_residual,
    well_formed,
)


def judge(call: Call, solution) -> None:
    """All that can be said of an answer, from the data alone."""
    well_formed(call, solution)
    stated_residual(call, solution)
    if call.algorithm in LEAST_SQUARES:
        assert solution.least_squares
        least_squares(call, solution.coef, solution.support.tolist())
        monotone_path(call, solution)
        path_models(call, solution)
        greedy_steps(call, solution)
    reason_holds(call, solution)
    own_check(call, solution)


@family("algorithms", share=4)
def algorithms(case: Case) -> None:
    call = a_call(case, large=0.01)
    try:
        judge(call, call())  # coefficients along the path may be out of range, too
    except InputError as refusal:
        one_sentence(refusal)
        justified(call, refusal)
