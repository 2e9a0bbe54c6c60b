"""The best subset of each size, with what is proved of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from sparsewise.results.solution import Solution


class Progress(NamedTuple):
    """How far a search for best subsets has come; as text, one line.

    Attributes
    ----------
    seconds : float
        Since it began.
    gaps : dict of int to float
        By size: by what part of it the squared residual might still be lowered; 0: proved.
    """

    seconds: float
    gaps: dict[int, float]

    def __str__(self) -> str:
        return f"{self.seconds:.0f} s: proved {what_is_proved(self.gaps)}"


@dataclass(frozen=True, repr=False, eq=False, kw_only=True)
class BestSubsets(Solution):
    """The best subset of each size; as a `Solution`, that of the largest size.

    ``path.at(k)`` is the best subset of k columns (the best found, if time ran out), with its
    coefficients.

    Attributes
    ----------
    lower_bounds : dict of int to float
        By size: no subset of that size has a squared residual below this.
    gaps : dict of int to float
        By size: by what part of it the squared residual might still be lowered; 0: proved.
    """

    lower_bounds: dict[int, float]
    gaps: dict[int, float]

    @property
    def proved(self) -> bool:
        """Whether the subset of every size is known to be the best."""
        return not any(self.gaps.values())

    def facts(self) -> Iterator[tuple[str, str]]:
        """Of which sizes the best subset is known."""
        yield "proved", what_is_proved(self.gaps)


def what_is_proved(gaps: Mapping[int, float]) -> str:
    """Of which sizes the best subset is known, and how far the others may be from it."""
    open_sizes = [size for size, gap in gaps.items() if gap]
    if not open_sizes:
        return "the best subset of every size"
    worst = max(open_sizes, key=lambda size: gaps[size])
    return (
        f"{len(gaps) - len(open_sizes)} of {len(gaps)} sizes; the squared residual of {worst} "
        f"may be up to {gaps[worst]:.1%} lower"
    )
