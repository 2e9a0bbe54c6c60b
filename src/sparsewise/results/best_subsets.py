"""The best subset of each size, with what is proved of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from sparsewise.results.solution import Solution


@dataclass(frozen=True, repr=False, eq=False, kw_only=True)
class BestSubsets(Solution):
    """The best subset of each size; as a `Solution`, that of the largest size.

    ``path.at(k)`` is the best subset of k columns (the best found, if time ran out), with its
    coefficients.

    Attributes
    ----------
    lower_bounds : dict of int to float
        By size: no subset of that size has a squared residual below this.
    """

    lower_bounds: dict[int, float]

    @property
    def gaps(self) -> dict[int, float]:
        """By size: by what part of it the squared residual might still be lowered; 0: proved."""
        gaps = {}
        for size, low in self.lower_bounds.items():
            found = self.path.at(size).squared_residual
            gaps[size] = max(1 - low / found, 0.0) if found > 0 else 0.0
        return gaps

    @property
    def proved(self) -> bool:
        """Whether the subset of every size is known to be the best."""
        return not any(self.gaps.values())

    def facts(self) -> Iterator[tuple[str, str]]:
        """Of which sizes the best subset is known."""
        gaps = self.gaps
        open_sizes = [size for size, gap in gaps.items() if gap]
        if not open_sizes:
            yield "proved", "the best subset of every size"
            return
        worst = max(open_sizes, key=lambda size: gaps[size])
        yield (
            "proved",
            f"{len(gaps) - len(open_sizes)} of {len(gaps)} sizes; the squared residual of {worst} "
            f"may be up to {gaps[worst]:.1%} lower",
        )
