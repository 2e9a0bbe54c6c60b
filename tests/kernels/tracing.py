"""Which functions of a compiled module a run calls: only Python can tell, not compiled code."""

import inspect
import os
import sys

INTERPRETED = os.environ.get("NUMBA_DISABLE_JIT") == "1"


def idle(module, run):
    """Call `run`; the names of the module's functions that it leaves idle, if we can tell."""
    called = set()

    def profile(frame, event, _):
        if event == "call" and frame.f_code.co_filename == module.__file__:
            called.add(frame.f_code.co_name)

    before = sys.getprofile()
    sys.setprofile(profile)
    try:
        run()
    finally:
        sys.setprofile(before)
    ours = (one for one in vars(module).values() if inspect.isfunction(one))
    functions = {one.__name__ for one in ours if one.__module__ == module.__name__}
    return functions - called if INTERPRETED else set()
