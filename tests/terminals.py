"""The other end of a terminal."""

import os
import re
import time


def read_until(handle, pattern):
    """What was printed until the pattern was seen, for which there is a minute."""
    seen, until = "", time.monotonic() + 60
    while not re.search(pattern, seen, re.DOTALL):
        assert time.monotonic() < until, seen
        seen += os.read(handle, 2**16).decode()
    return seen
