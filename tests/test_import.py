"""Importing the package is quick and brings in nothing heavy before it is used."""

import json
import subprocess
import sys

HEAVY = ("numba", "llvmlite", "matplotlib", "pandas", "sklearn", "polars", "rich", "pylops")


def run_python(code):
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    return done.stdout


def loaded_after(code):
    modules = run_python(f"{code}\nimport json, sys; print(json.dumps(sorted(sys.modules)))")
    return set(json.loads(modules.splitlines()[-1]))


def test_import_brings_in_nothing_heavy():
    """NumPy and our own modules: what makes the import quick, without a clock in the test."""
    ours = loaded_after("import sparsewise")
    assert not ours.intersection(HEAVY)
    assert not any(name.startswith("scipy") for name in ours)


def test_help_brings_in_nothing_heavy():
    code = "from sparsewise.cli import main\ntry: main(['fit', '--help'])\nexcept SystemExit: pass"
    assert not loaded_after(code).intersection(HEAVY)


def test_every_public_name_is_there():
    import sparsewise

    for name in sparsewise.__all__:
        assert getattr(sparsewise, name) is not None
