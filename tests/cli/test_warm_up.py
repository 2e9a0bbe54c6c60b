"""``sparsewise warm-up``: all that first calls need is compiled, and it says where that is kept."""

import os
import subprocess
import sys

import pytest

from sparsewise.cli.warm_up_command import NOT_KEPT, TYPES, warm_up
from sparsewise.kernels import (
    kept_in,
    load_homotopy,
    load_kernels,
    load_leaps,
    load_model_posterior,
)
from tests.cli import test_fit as test_cli
from tests.kernels.tracing import INTERPRETED

run, refuse = test_cli.run, test_cli.refuse


def kept_functions():
    """Every compiled function that Python calls."""
    for module in (load_kernels(), load_homotopy(), load_leaps(), load_model_posterior()):
        for name, one in vars(module).items():
            if getattr(one, "stats", None) and one.stats.cache_path:
                yield name, one


@pytest.mark.skipif(INTERPRETED, reason="nothing is compiled")
def test_all_that_python_calls_is_compiled(run):
    printed = run("warm-up")
    assert not [name for name, one in kept_functions() if not one.signatures]
    assert kept_in() in printed.splitlines()[-1]
    assert printed.count(TYPES[0]) == len(printed.splitlines()) - 1


def test_types_are_known(refuse):
    assert "float16" in refuse("warm-up", "float16")


def test_as_a_module():
    done = subprocess.run(
        [sys.executable, "-m", "sparsewise", "warm-up", "int8"],
        capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert done.returncode == 2
    assert "int8" in done.stderr
    assert "Traceback" not in done.stderr


def test_nowhere_to_keep_it(monkeypatch):
    monkeypatch.setattr("sparsewise.cli.warm_up_command.kept_in", lambda: None)
    monkeypatch.setattr(
        "sparsewise.cli.warm_up_command._calls", lambda dtype: [("nothing", os.getpid)]
    )
    told = []
    warm_up(["float32"], told.append)
    assert [told[0].split()[0], NOT_KEPT in told[1]] == ["float32", True]
