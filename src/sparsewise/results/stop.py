"""Why an algorithm ended."""

from __future__ import annotations

import re
from enum import Enum

from sparsewise.errors import Parameter, Spelling, in_python


class Stop(Enum):
    """Why an algorithm ended, with one sentence of advice; ``{name}`` in it is a parameter."""

    SPARSITY = (
        "the number of features asked for is reached",
        "Raise {sparsity} for a closer fit, or look at path for the sizes below it.",
    )
    RESIDUAL = (
        "the residual bound is met",
        "Lower {residual} for a closer fit; a bound near the noise level guards against "
        "overfitting.",
    )
    DELTA = (
        "no further step is worth it at this delta",
        "Lower {delta} to keep more features, raise it to keep fewer.",
    )
    EXACT_FIT = (
        "the target is fitted to rounding error",
        "If the support is nearly as large as the number of rows, the fit is not a recovery.",
    )
    ROUNDING = (
        "rounding errors hide a better solution",
        "Columns are nearly dependent, or the bound is next to nothing: allow a larger {residual} "
        "or {penalty}, drop near-duplicates, or use double precision.",
    )
    EXHAUSTED = (
        "no feature is left to add or drop",
        "Loosen {include} and {exclude} if the model should still change.",
    )
    DEPENDENT = (
        "to working precision, every feature left depends linearly on the chosen ones",
        "With one more, coefficients would lose half of their digits or more; remove copies and "
        "nearly dependent columns if this is unexpected.",
    )
    STABLE = (
        "adding and dropping leave the support as it is",
        "Lower {delta} to keep more features, raise it to keep fewer.",
    )
    EVIDENCE = (
        "no single change raises the evidence enough",
        "Raise {price} to keep fewer features, lower it to keep more; {sigma} says what is noise.",
    )
    CRITERION = (
        "no single step lowers the criterion",
        "Start elsewhere ({start=None: with all features}) to look for a better model.",
    )
    NO_IMPROVEMENT = (
        "no further step lowers the residual",
        "If the fit is not good enough, try another start or another algorithm.",
    )
    MAX_ITER = (
        "the limit on iterations is reached",
        "Raise max_iter if the residual was still falling.",
    )
    MAX_OUTER = (
        "the limit on rounds is reached",
        "Allow more rounds (a larger max_outer) to go on until nothing changes.",
    )
    PENALTY = (
        "the penalty asked for is reached",
        "Lower {penalty} for a closer fit, raise it for fewer features.",
    )
    CONVERGED = (
        "the duality gap is as small as asked for",
        "Lower tol for a more accurate minimiser.",
    )
    SETTLED = (
        "another round of weights changes the coefficients too little",
        "Lower tol if the coefficients should settle further.",
    )
    BEST = (
        "the criterion is best at this size",
        "Compare other sizes on the path; another criterion weighs size and fit differently.",
    )
    PROVED = (
        "every other subset was looked at or ruled out",
        "Compare the sizes by a criterion: path.at(k) is the best subset of k features.",
    )
    TIME_LIMIT = (
        "the time is up",
        "Raise {time_limit} for a longer search (None: to the end); gaps says what it may still "
        "find.",
    )
    FOUND_AGAIN = (
        "another start found the same model, and chance does not explain it",
        "See starts for the model of each; raise {effort} to look further.",
    )
    EFFORT = (
        "all starts are used up",
        "Raise {effort} for more of them; chance says how far to trust this.",
    )
    NOTHING_FOUND = (
        "no start found a column that explains more than noise would",
        "There may be nothing to find: take more rows, or a criterion that charges less.",
    )
    BY_CHANCE = (
        "as many columns may fit as well by chance",
        "Use more rows or fewer columns, or give {sigma} if it is known.",
    )
    UNSETTLED = (
        "nearly dependent columns leave it open",
        "Drop one of the nearly dependent columns; gaps says which sizes they leave open.",
    )
    INTERRUPTED = (
        "it was interrupted",
        "The model is the one reached so far; run it again for the rest.",
    )
    CALLBACK = (
        "the callback asked to stop",
        "The model is the one reached at that step.",
    )
    ZERO_TARGET = (
        "the target is zero",
        "Nothing is left to explain; check that y holds what it should.",
    )

    def __init__(self, reason: str, advice: str) -> None:
        self.reason, self._advice = reason, advice

    @property
    def advice(self) -> str:
        """What to do about it."""
        return self.advised()

    def advised(self, spelling: Spelling = in_python) -> str:
        """The advice, with parameters in the given spelling."""
        return re.sub(r"\{(.*?)\}", lambda name: spelling(Parameter(name[1])), self._advice)

    def __str__(self) -> str:
        return self.reason
