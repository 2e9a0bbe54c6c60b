"""How many steps to guess before a pass over A checks them.

A small matrix is stepped through as a whole inside one compiled call. For larger ones a pass over
A is what costs, and one pass can serve several steps: the next s columns are predicted from a pool
of those with the best scores, then all predictions are checked against every column with one
product A*Q (`SparseModel._from_pool`, `stepwise.confirm`). A prediction stands if it is the best
of all columns at its turn; the first that is not ends the stretch. The steps are those of one pass
a step, by construction. A block pass costs about three passes of one vector, so s is 1 or at least
8: it doubles while all predictions stand, and single steps follow a wrong one. With a callback, s
is 1.
"""

from __future__ import annotations

WORTH = 4
"""A block pass costs about three passes of one vector: fewer right guesses don't pay."""

LEAST, MOST = 8, 32
"""Guesses in a block, at first and at most."""

PATIENCE = 4, 64
"""Single steps after a bad guess, at first and at most."""


class LookAhead:
    """Blocks grow while guesses are right; after a bad guess single steps, longer each time.

    Parameters
    ----------
    least : int
        Guesses in a block, at first.
    """

    def __init__(self, least: int = LEAST) -> None:
        self._block = self._least = least
        self._patience = PATIENCE[0]
        self._wait = 0

    def steps(self, most: int) -> int:
        """How many steps to guess now, of at most so many."""
        if self._wait > 0:
            self._wait -= 1
            return 1
        return min(self._block, most) if most >= WORTH else 1

    def learn(self, guessed: int, right: int) -> None:
        """So many of the guesses were right."""
        if guessed == 1:
            return
        if right >= min(WORTH, guessed):
            self._patience = PATIENCE[0]
            self._block = min(2 * guessed, MOST) if right == guessed else max(self._least, right)
        else:
            self._block = self._least
            self._wait = self._patience
            self._patience = min(2 * self._patience, PATIENCE[1])
