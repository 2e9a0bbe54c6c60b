"""What the documentation shows is what the code does."""

import doctest
import re
from pathlib import Path
from runpy import run_path

import numpy as np
import pytest

import sparsewise

ROOT = Path(__file__).parent.parent


def test_doctest_of_the_package():
    result = doctest.testmod(sparsewise)
    assert result.attempted > 0
    assert result.failed == 0


def examples(page: str = "README.md") -> list[str]:
    """The Python examples of a page, in order."""
    return re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(), re.DOTALL)


def test_the_three_lines_and_the_figures_of_the_readme(capsys):
    names: dict = {}
    exec(examples()[0], names)
    told = capsys.readouterr().out
    assert "target explained by 6 of 10 features" in told
    assert "certified best subset of 6" in told
    exec(examples()[1], names)


def test_the_ten_lines_of_the_readme(capsys):
    names: dict = {}
    exec(examples()[2], names)
    assert "Solution by rmp0: 12 features of 128" in capsys.readouterr().out
    np.testing.assert_array_equal(names["solution"].support, np.flatnonzero(names["x"]))
    assert names["solution"].check(names["A"], names["y"]).ok
    bayes = names["bayes"]
    np.testing.assert_array_equal(bayes.support, np.flatnonzero(names["x"]))
    assert f"# {bayes.sigma:.4f}, " in examples()[2]
    assert bayes.check(names["A"], names["y"]).ok


def test_basis_pursuit_of_the_readme():
    """The example as it stands, given a dictionary."""
    rng = np.random.default_rng(0)
    A = rng.standard_normal((40, 80))
    names = {"sw": sparsewise, "A": A, "y": A[:, [3, 17, 29]] @ [2.0, -1.5, 1.0]}
    exec(examples()[3], names)
    assert names["solution"].check(A, names["y"]).gap < 1e-12
    assert {3, 17, 29} <= set(names["solution"].support.tolist())


def test_guarantees_of_the_readme():
    """The example as it stands, given a dictionary."""
    rng = np.random.default_rng(0)
    A = rng.standard_normal((200, 30))
    names = {"sw": sparsewise, "A": A, "y": A[:, [3, 17, 29]] @ [2.0, -1.5, 1.0]}
    exec(examples()[4], names)
    assert names["certificate"].status == "optimal"
    assert names["best"].path.at(3).support.tolist() == [3, 17, 29]


def test_the_architecture_names_every_file():
    rooms = (ROOT / "ARCHITECTURE.md").read_text().split("## The rooms")[1]
    named = set(re.findall(r"\w+\.py", rooms.split("## How data flow")[0]))
    files = [path for path in (ROOT / "src").rglob("*.py") if not path.name.startswith("__")]
    # One algorithm, command or figure has one file: the rooms say enough of these.
    alike = ("algorithms", "cli", "plots")
    assert {path.name for path in files if path.parent.name not in alike} <= named
    assert named <= {path.name for path in (*files, *(ROOT / "tests").rglob("*.py"))}


def test_guarantees_of_their_page(capsys):
    exec(examples("docs/guarantees.md")[0], {})
    assert capsys.readouterr().out == "certified best subset of 3\n"


def test_relevance_vectors_of_the_readme():
    """The example as it stands, given some points."""
    X = np.linspace(0, 10, 60)[:, None]
    names = {"X": X, "y": np.sin(X[:, 0]), "X_new": X[::7] + 0.05}
    exec(examples()[5], names)
    np.testing.assert_allclose(names["mean"], np.sin(names["X_new"][:, 0]), atol=0.05)
    assert names["std"].shape == names["mean"].shape


def test_the_table_of_algorithms_is_that_of_the_registry():
    """``python docs/algorithms.py`` writes it."""
    page = (ROOT / "README.md").read_text()
    script = run_path(str(ROOT / "docs" / "algorithms.py"))
    assert script["rewritten"](page) == page
    assert all(f"| `{name}` |" in page for name in sparsewise.ALGORITHMS)


@pytest.mark.parametrize("name", sparsewise.ALGORITHMS)
def test_every_algorithm_is_in_the_namespace(name):
    assert getattr(sparsewise, name) is sparsewise.ALGORITHMS[name].function
    assert name in sparsewise.__all__


@pytest.mark.parametrize("name", sparsewise.__all__)
def test_every_public_name_is_documented(name):
    assert getattr(sparsewise, name).__doc__
