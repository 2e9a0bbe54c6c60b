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


def test_single_steps_after_a_bad_guess_longer_each_time():
    ahead = LookAhead()
    waits = []
    for _ in range(3):
        ahead.learn(ahead.steps(1000), 1)
        wait = 0
        while (steps := ahead.steps(1000)) == 1:
            ahead.learn(1, 1)
            wait += 1
        waits.append(wait)
        ahead.learn(steps, 1)
        while ahead.steps(1000) == 1:
            pass
    assert waits[0] == PATIENCE[0]
    assert waits == sorted(waits)
    assert waits[-1] > waits[0]


def test_a_guess_that_is_partly_right_still_pays():
    ahead = LookAhead()
    ahead.learn(LEAST, WORTH)
    assert ahead.steps(1000) == LEAST


def test_no_block_for_the_last_few_steps():
    assert LookAhead().steps(WORTH - 1) == 1
    assert LookAhead().steps(WORTH) == WORTH
