"""Oracles of a refusal: it is one sentence, and what it says of the data is true."""

from __future__ import annotations

import math
import re
from collections.abc import Callable

import numpy as np

from sparsewise.errors import InputError
from tests.hostile.calls import BAYESIAN, SEARCHES, Call
from tests.hostile.campaign import oracle

#: Words in a sentence: enough to say what is wrong and what to do, too few for a story.
SHORT, LONG = 4, 70


@oracle
def one_sentence(refusal: InputError) -> None:
    """A refusal is one line, a whole sentence, free of the machinery behind it."""
    text = str(refusal)
    assert "\n" not in text, f"more than one line: {text!r}"
    assert text.endswith((".", "?")), f"no full stop: {text!r}"
    assert SHORT <= len(text.split()) <= LONG, f"{len(text.split())} words: {text!r}"
    assert all(c.isprintable() for c in text), f"unprintable: {text!r}"
    assert len(text) < 1000, f"{len(text)} letters: {text[:80]!r}…"
    assert not re.search(r"Traceback|numba", text), text


@oracle
def justified(call: Call, refusal: InputError) -> None:
    """What a refusal of sane words says of the data is true."""
    text = str(refusal)
    for pattern, holds in REASONS.items():
        if found := re.search(pattern, text):
            assert holds(call, found), f"refused without need: {text}"
            return
    raise AssertionError(f"refused for no reason that we know: {text}")


def is_not_finite(call: Call, found: re.Match[str]) -> bool:
    values = call.truth if found[1] == "A" else np.asarray(call.y)
    bad = ~np.isfinite(values)
    return int(bad.sum()) == int(found[2]) and bool(bad.any())


def has_no_products(call: Call, found: re.Match[str]) -> bool:
    return not np.isfinite(call.truth).all()


def are_dependent(call: Call, found: re.Match[str]) -> bool:
    """Whether the columns to begin with are dependent, for all that their type can tell."""
    first, exact = call.first, call.exact
    if len(first) > call.A.shape[0]:
        return True
    fit = exact.fit(first)
    return bool((np.diagonal(fit.R) == 0).any() or np.square(fit.h).sum() >= 1 / (100 * exact.eps))


def are_out_of_range(call: Call, found: re.Match[str]) -> bool:
    """Whether some coefficient (or its square, a variance) may be beyond the type's range."""
    exact, limits = call.exact, np.finfo(call.dtype)
    used = exact.norms > 0
    loud = np.frexp(exact.each)[1][:, None]
    powers = loud - exact.powers[used]  # of ‖y_t‖/‖a_j‖
    times = 2 if call.algorithm in (*BAYESIAN, *SEARCHES) else 1
    room = 60  # bits by which coefficients may differ from that
    high = times * (powers + room) >= limits.maxexp
    low = times * (powers - room) <= limits.minexp
    return bool((high | low).any())


def are_out_of_proportion(call: Call, found: re.Match[str]) -> bool:
    """Whether the noise is to the target as nothing measured is to anything."""
    given = call.words.get(found[1])
    shape, scale = (0.0, given) if found[1] == "sigma" else map(float, given)
    ratio = call.exact.relative(scale if found[1] == "sigma" else math.sqrt(scale))
    return shape > 1e10 or not 1e-30 < ratio < 1e30


def are_too_many(call: Call, found: re.Match[str]) -> bool:
    return len(call.first) > int(found[1])


def leave_no_rows(call: Call, found: re.Match[str]) -> bool:
    return len(call.columns("include")) >= call.A.shape[0]


def cp_has_no_variance(call: Call, found: re.Match[str]) -> bool:
    """Whether as many columns as there are rows can be independent."""
    exact = call.exact
    columns = [j for j in range(call.A.shape[1]) if j not in call.columns("exclude")]
    chosen: list[int] = []
    for j in columns:
        if len(chosen) < call.A.shape[0]:
            frailty = exact.fit(chosen).gains(exact.U[:, [j]]).frailty[0]
            chosen += [j] if frailty < 100 / exact.eps else []
    return len(chosen) >= call.A.shape[0]


#: What the library may say, and what must then be true. Sane words excuse no other refusal.
REASONS: dict[str, Callable[[Call, re.Match[str]], bool]] = {
    r"^(A|y) has (\d+) NaN or infinite": is_not_finite,
    r"^A is an operator whose r?matvec returned NaN or infinity": has_no_products,
    r"^The model can't start from these": are_dependent,
    r"beyond the range of|out of range": are_out_of_range,
    r"^(sigma|noise_prior) is .*out of all proportion": are_out_of_proportion,
    r"columns, but sparsity allows only (\d+)": are_too_many,
    r"^include names \d+ columns, as many as A has rows": leave_no_rows,
    r"^cp needs the residual variance": cp_has_no_variance,
    r"^ridge must be .* at most 1e\+12": lambda call, found: call.words.get("ridge", 0) > 1e12,
}
