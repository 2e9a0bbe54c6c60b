"""What the documentation shows is what the code does."""

import doctest
import io
import os
import re
import shlex
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from runpy import run_path

import numpy as np
import polars as pl
import pytest

import sparsewise
from sparsewise.cli import main

ROOT = Path(__file__).parent.parent


def test_doctest_of_the_package():
    result = doctest.testmod(sparsewise)
    assert result.attempted > 0
    assert result.failed == 0


def examples(page: str = "README.md") -> list[str]:
    """The Python examples of a page, in order."""
    return re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(), re.DOTALL)


AS_DOCUMENTED = """
import re, sys, time
from importlib.abc import MetaPathFinder

class Absent(MetaPathFinder):
    extras = ["pandas", "matplotlib", "clarabel", "dask", "distributed"]
    extras += ["pylops", "mpmath", "pysindy"]

    def find_spec(self, name, *others):
        if name.partition(".")[0] in self.extras:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Absent())
page, names = open(sys.argv[1]).read(), {"__name__": "__main__"}
for block in re.findall(r"```python\\n(.*?)```", page, re.DOTALL):
    if "Display" in block:  # the one that needs an extra, as the line above it says
        Absent.extras.remove("matplotlib")
    start = time.perf_counter()
    print("-- block")
    exec(block, names)
    print(f"-- took {time.perf_counter() - start:.3f}")
"""


def test_the_examples_run_one_after_the_other_as_printed():
    """In a fresh interpreter, with no package but those that are asked for."""
    run = subprocess.run(
        [sys.executable, "-W", "error", "-c", AS_DOCUMENTED, str(ROOT / "README.md")],
        capture_output=True,
        text=True,
        env={**os.environ, "MPLBACKEND": "Agg"},
        timeout=120,
    )
    assert run.returncode == 0, run.stderr
    blocks = run.stdout.split("-- block\n")[1:]
    assert len(blocks) == len(examples()) == 8
    told = [text.partition("-- took")[0] for text in blocks]
    assert all(text.strip() for i, text in enumerate(told) if i != 1)  # the second draws
    assert "certified best subset of 6" in told[0]
    assert "certified best subset of 3" in told[5]
    shown = [float(text) for text in re.findall(r"bound=(\S+?)[,)]", told[5])]
    assert len(shown) == 3
    assert all(0 < bound < 1 for bound in shown)
    for figure in re.findall(r": (0\.\d+)$", examples()[5], re.MULTILINE):
        assert figure in told[5] or f"{float(figure):.3f}" in re.sub(
            r"(0\.\d{3})\d+", r"\1", told[5]
        )
    assert all(float(text.rpartition("-- took ")[2]) < 30 for text in blocks)


def test_the_commands_of_the_readme(tmp_path, monkeypatch, capsys):
    rng = np.random.default_rng(0)
    n = 60
    rooms, age = rng.integers(1, 7, n), rng.integers(0, 90, n)
    frame = pl.DataFrame(
        {
            "price": 3.0 * rooms - 0.1 * age + rng.standard_normal(n),
            "rooms": rooms,
            "age": age,
            "rent": 0.5 * rooms + 0.1 * rng.standard_normal(n),
            "garden": rng.random(n),
            "count": rng.integers(1, 3, n),
            "city": rng.choice(["Ulm", "Jena"], n),
        }
    )
    monkeypatch.chdir(tmp_path)
    frame.drop("city").write_parquet("DATA.parquet")
    Path("data").mkdir()
    for part in (0, 1):
        frame.drop("city")[30 * part :][:30].write_parquet(f"data/{part}.parquet")
    frame.head(3).write_csv("NEW.csv")
    section = (ROOT / "README.md").read_text().split("## The command line")[1].split("\n## ")[0]
    commands = re.findall(r"^    (sparsewise .*?)(?:  +#.*)?$", section, re.MULTILINE)
    assert len(commands) == 15
    for command in commands:
        words, _, file = command.partition(" < ")
        table = frame if "--categorical city" in command else frame.drop("city")
        table.write_csv("DATA.csv")
        if file:
            stream = io.BytesIO(Path(file).read_bytes())
            monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(stream))
        assert main(shlex.split(words)[1:]) == 0, command
        assert capsys.readouterr().out.strip(), command
    assert Path("MODEL.json").exists()
    assert Path("MODEL.png").exists()
    assert Path("RESIDUALS.png").exists()


def test_what_make_run_prints(capsys):
    block = (
        (ROOT / "README.md").read_text().split("`make run` ends with\n\n")[1].split("\n\nfoll")[0]
    )
    assert main(["fit", "--example", "diabetes"]) == 0
    told = capsys.readouterr().out
    assert told.startswith(re.sub("^    ", "", block, flags=re.MULTILINE))
    assert "certified best subset of 6" in told


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
    told = capsys.readouterr().out
    assert "Solution by rmp0: 12 features of 128" in told
    found = sparsewise.solve(names["A"], names["y"])
    np.testing.assert_array_equal(found.support, np.flatnonzero(names["x"]))
    assert f": {found.sigma:.4f}\n" in examples()[2]
    np.testing.assert_array_equal(names["solution"].support, np.flatnonzero(names["x"]))
    assert names["solution"].check(names["A"], names["y"]).ok
    bayes = names["bayes"]
    np.testing.assert_array_equal(bayes.support, np.flatnonzero(names["x"]))
    assert f"# {bayes.sigma:.4f}, " in examples()[2]
    assert bayes.check(names["A"], names["y"]).ok


def test_several_targets_of_the_readme():
    rng = np.random.default_rng(0)
    names = {"sw": sparsewise, "rng": rng, "A": rng.standard_normal((64, 128))}
    exec(examples()[3], names)
    assert names["solution"].support.tolist() == list(range(12))
    np.testing.assert_allclose(names["solution"].sigmas, [0.01, 0.01, 10, 0.01], rtol=0.4)


def test_basis_pursuit_of_the_readme():
    """The example as it stands, given a dictionary."""
    rng = np.random.default_rng(0)
    A = rng.standard_normal((40, 80))
    names = {"sw": sparsewise, "A": A, "y": A[:, [3, 17, 29]] @ [2.0, -1.5, 1.0]}
    exec(examples()[4], names)
    assert names["solution"].check(A, names["y"]).gap < 1e-12
    assert {3, 17, 29} <= set(names["solution"].support.tolist())


def test_guarantees_of_the_readme():
    names = {"sw": sparsewise, "np": np, "rng": np.random.default_rng(0)}
    exec(examples()[5], names)
    assert names["certificate"].status == "optimal"
    assert names["best"].path.at(3).support.tolist() == [3, 17, 29]


def test_the_architecture_names_every_room_and_no_other_file():
    page = (ROOT / "ARCHITECTURE.md").read_text()
    assert len(page.splitlines()) < 150  # to be read in ten minutes
    source = ROOT / "src" / "sparsewise"
    rooms = page.split("## The rooms")[1].split("## How data flow")[0]
    named = set(re.findall(r"`(\w+)/?`", rooms))
    assert {path.parent.name for path in source.glob("*/__init__.py")} <= named
    assert {path.stem for path in source.glob("*.py") if not path.stem.startswith("__")} <= named
    for file in re.findall(r"`((?:\w+/)*\w+\.py)`", page):
        if file.split("/")[-1] != "NAME.py":
            assert (source / file).exists() or (ROOT / file).exists() or "/" not in file, file


def test_guarantees_of_their_page(capsys):
    exec(examples("docs/guarantees.md")[0], {})
    assert capsys.readouterr().out == "certified best subset of 3\n"


@pytest.mark.parametrize("page", ["solve", "several-targets", "encode", "operators", "how-sure"])
def test_examples_of_a_page(capsys, page):
    """What is printed is what the comments say."""
    names: dict = {}
    for example in examples(f"docs/{page}.md"):
        exec(example, names)
        told = capsys.readouterr().out.splitlines()
        assert told == re.findall(r"print\(.*\)  # (.*)", example)


def test_scale_of_its_page(capsys, tmp_path, monkeypatch):
    """What is printed is what the comments say, as far as the packages are there."""
    monkeypatch.chdir(tmp_path)
    names: dict = {}
    for example in examples("docs/scale.md"):
        needed = re.findall(r"^import (\w+)", example, re.MULTILINE)
        if not all(find_spec(package) for package in needed):
            continue
        exec(example, names)
        told = capsys.readouterr().out.splitlines()
        assert told == re.findall(r"print\(.*\)  # (.*)", example)


def test_direction_finding(capsys, tmp_path):
    """The example finds both sources where a beamformer has one hump."""
    example = run_path(str(ROOT / "examples" / "direction_finding.py"))
    pytest.importorskip("matplotlib")
    found = example["main"](str(tmp_path / "figure.svg"))
    assert "M-SBL             [-2.0, 3.0]\n" in capsys.readouterr().out
    np.testing.assert_array_equal(example["GRID"][found.sbl.support], example["DIRECTIONS"])
    np.testing.assert_allclose(example["powers"](found.sbl), 1.0, atol=0.3)
    between = np.abs(example["GRID"]) < 10
    slopes = np.sign(np.diff(found.beamformer[between]))
    assert np.count_nonzero(np.diff(slopes)) == 1  # a single hump
    assert not {*found.sbl.support} & {*found.omp.support}
    assert "<svg" in (tmp_path / "figure.svg").read_text()


def test_relevance_vectors_of_the_readme():
    names = {"np": np, "rng": np.random.default_rng(0)}
    exec(examples()[6], names)
    np.testing.assert_allclose(names["mean"], [1.0, np.sin(3.0) / 3.0], atol=0.1)
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
