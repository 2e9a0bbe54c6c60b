"""How far to guess: blocks that grow with success, single steps after failure."""

from sparsewise.engine.look_ahead import LEAST, MOST, PATIENCE, WORTH, LookAhead


def test_blocks_double_while_guesses_are_right():
    ahead = LookAhead()
    sizes = []
    for _ in range(5):
        steps = ahead.steps(1000)
        ahead.learn(steps, steps)
        sizes.append(steps)
    assert sizes == [LEAST, 2 * LEAST, MOST, MOST, MOST]


def single_steps(ahead):
    """How many single steps come before the next block."""
    count = 0
    while ahead.steps(1000) == 1:
        count += 1
    return count


def test_single_steps_after_a_bad_guess_longer_each_time():
    ahead = LookAhead()
    waits = []
    for _ in range(6):
        ahead.learn(LEAST, WORTH - 1)
        waits.append(single_steps(ahead))
    assert waits[:3] == [PATIENCE[0], 2 * PATIENCE[0], 4 * PATIENCE[0]]
    assert waits[-1] == PATIENCE[1]
    ahead.learn(LEAST, LEAST)  # a good guess restores the first patience
    ahead.learn(LEAST, 1)
    assert single_steps(ahead) == PATIENCE[0]


def test_a_guess_that_is_partly_right_still_pays():
    ahead = LookAhead()
    ahead.learn(LEAST, WORTH)
    assert ahead.steps(1000) == LEAST


def test_no_block_for_the_last_few_steps():
    assert LookAhead().steps(WORTH - 1) == 1
    assert LookAhead().steps(WORTH) == WORTH


def test_the_first_block_may_be_larger():
    assert LookAhead(16).steps(1000) == 16
