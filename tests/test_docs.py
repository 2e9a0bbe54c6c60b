"""What the documentation shows is what the code does."""

import doctest
import re
from pathlib import Path

import numpy as np
import pytest

import sparsewise

ROOT = Path(__file__).parent.parent


def test_doctest_of_the_package():
    result = doctest.testmod(sparsewise)
    assert result.attempted > 0
    assert result.failed == 0


def test_the_ten_lines_of_the_readme(capsys):
    (code,) = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    names: dict = {}
    exec(code, names)
    assert "Solution by rmp0: 12 features of 128" in capsys.readouterr().out
    np.testing.assert_array_equal(names["solution"].support, np.flatnonzero(names["x"]))
    assert names["solution"].check(names["A"], names["y"]).ok


@pytest.mark.parametrize("name", sparsewise.ALGORITHMS)
def test_every_algorithm_is_in_the_readme_and_the_namespace(name):
    assert f"| `{name}` |" in (ROOT / "README.md").read_text()
    assert getattr(sparsewise, name) is sparsewise.ALGORITHMS[name]
    assert name in sparsewise.__all__


@pytest.mark.parametrize("name", sparsewise.__all__)
def test_every_public_name_is_documented(name):
    assert getattr(sparsewise, name).__doc__
