"""``python -m reproduction``, in this process and as one of its own."""

import csv
import json
import logging
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from reproduction.__main__ import main
from reproduction.generators import FAMILIES
from sparsewise import ALGORITHMS

DECLARATION = """
from reproduction.declaration import Contender, Experiment

GRID = {{"m": (8,), "n": (6,), "k": (1, 2)}}
MINE = Experiment("mine", "Mine", GRID, ({contenders},), realizations=2)
"""
EXAMPLE = Path(__file__).parent.parent.parent / "examples" / "density.py"


def run(capsys, *words):
    try:
        code = main([str(word) for word in words])
    except SystemExit as stop:  # of argparse
        code = stop.code
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def table(path):
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def files(folder):
    return {path: path.stat().st_mtime_ns for path in (folder / "units").glob("*.json")}


def test_a_table_beside_the_papers(tmp_path, capsys):
    out = tmp_path / "out"
    words = ("--realizations", 3, "--algorithms", "OMP,RMP₀", "--jobs", 1, "--out", out)
    code, told, complaint = run(capsys, "table1", *words)
    assert (code, complaint) == (0, "")
    assert told.splitlines()[-1] == f"report: {out / 'report.html'}"
    assert "of 8 cells agree" in told or "All 8 cells agree" in told
    results = table(out / "results.csv")
    assert {row["algorithm"] for row in results} == {"OMP", "RMP₀"}
    assert [row["trials"] for row in results] == ["3"] * 8
    assert "0.53" in (out / "report.md").read_text(encoding="utf-8")
    assert (out / "figures" / "table1.svg").exists()


def test_beyond_the_paper(tmp_path, capsys, monkeypatch):
    from reproduction import peers

    # As where abess is not installed.
    found = peers.find_spec
    monkeypatch.setattr(peers, "find_spec", lambda name: None if name == "abess" else found(name))
    chosen = ("--quick", "--realizations", 1, "--algorithms", "solve,FR,OMP CV,abess")
    code, told, complaint = run(capsys, "beyond", *chosen, "--jobs", 1, "--out", tmp_path)
    assert (code, complaint) == (0, "")
    assert told.startswith("abess is left out, because the package abess is missing: pip install")
    assert told.count("aim") == 5
    assert told.splitlines()[-1] == f"report: {tmp_path / 'report.html'}"
    results = table(tmp_path / "results.csv")
    assert len({row["experiment"] for row in results}) == 5
    assert not any(row["error_message"] for row in results)
    code, told, complaint = run(
        capsys, "beyond", "--algorithms", "abess", "--out", tmp_path / "none"
    )
    assert (code, told) == (2, "")
    assert "abess is left out" in complaint
    assert not (tmp_path / "none").exists()


def test_a_run_is_not_overwritten_but_resumed(tmp_path, capsys):
    words = ("bounds", "--jobs", 1, "--out", tmp_path)
    assert run(capsys, *words)[0] == 0
    done = files(tmp_path)
    code, _, complaint = run(capsys, *words)
    assert code == 2
    assert "holds a run already: go on with it by --resume" in complaint
    assert run(capsys, *words, "--resume")[0] == 0
    assert files(tmp_path) == done


def test_ones_own_experiment(tmp_path, capsys):
    words = ("--quick", "--realizations", 2, "--jobs", 1, "--out", tmp_path / "mine")
    code, told, _ = run(capsys, EXAMPLE, *words)
    assert code == 0
    assert "report.html" in told
    assert {row["trials"] for row in table(tmp_path / "mine" / "results.csv")} == {"2"}


def test_several_names_make_one_report(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, told, _ = run(capsys, "bounds", "table1", "bounds", "--quick", "--algorithms",
                        "Cai and Wang,OMP", "--jobs", 1)  # fmt: skip
    assert code == 0
    assert [line.partition(":")[0] for line in told.splitlines()] == ["bounds", "table1", "report"]
    assert (tmp_path / "sparsewise-bounds-table1" / "report.html").exists()


def test_one_experiment_of_a_module(tmp_path, capsys):
    words = ("--quick", "--realizations", 1, "--algorithms", "OMP", "--jobs", 1, "--out", tmp_path)
    code, told, _ = run(capsys, "reproduction.paper:TABLE_2", *words)
    assert code == 0
    assert told.startswith("table2: ")


def test_what_a_file_adds_is_known_to_the_workers(tmp_path, capsys):
    """A family and an algorithm of its own, in other processes."""
    spec = tmp_path / "mine.py"
    spec.write_text(
        DECLARATION.format(contenders='Contender("two", "two_steps")')
        + "import sparsewise\nfrom reproduction.generators import FAMILIES\n"
        'FAMILIES["positive"] = lambda rng, n, m: rng.exponential(size=(n, m))\n'
        "def two(A, y):\n    return sparsewise.forward(A, y, sparsity=2)\n"
        'sparsewise.ALGORITHMS["two_steps"] = two\n'
    )
    try:
        code, told, complaint = run(capsys, spec, "--jobs", 2, "--out", tmp_path / "out")
    finally:
        FAMILIES.pop("positive", None)
        ALGORITHMS.pop("two_steps", None)
    assert (code, complaint) == (0, ""), told


def test_cells_that_fail_are_told(tmp_path, capsys):
    good, bad = (f"Contender('{k}', 'omp', {{'sparsity': {k}}})" for k in (2, 7))
    spec = tmp_path / "spec.py"
    spec.write_text(DECLARATION.format(contenders=f"{good}, {bad}"))
    code, told, _ = run(capsys, spec, "--jobs", 1, "--out", tmp_path / "out")
    assert code == 1
    assert "2 cells failed: the report has the errors" in told
    assert "sparsity must be between" in (tmp_path / "out" / "report.md").read_text("utf-8")


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (("table3",), 'there is no experiment "table3"; did you mean'),
        ((), "NAME"),
        (("reproduction.paper:TABLE_9",), 'there is no name in reproduction.paper: "TABLE_9"'),
        (("no.module:NAME",), "no.module can't be run: ModuleNotFoundError"),
        (("reproduction.paper:PAPER",), "reproduction.paper:PAPER defines no Experiment"),
        (("table1", "--algorithms", "OMPP"), 'there is no algorithm "OMPP"'),
        (("table1", "--algorithms", ","), "--algorithms names none"),
        (("table1", "--realizations", "0"), "at least 1"),
        (("table1", "--jobs", "0"), "jobs must be 1 or more"),
        (("table1", "--seed", "-1"), "at least 0"),
        (("table1", "--dask", "tcp://127.0.0.1:1"), "no Dask scheduler at"),
        (("nowhere.py",), "there is no file nowhere.py"),
    ],
)  # fmt: skip
def test_bad_words_are_one_line(words, complaint, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, told, complained = run(capsys, *words)
    assert (code, told) == (2, "")
    assert complaint in complained
    assert complained.splitlines()[-1].startswith("python -m reproduction: ")
    assert complained.startswith("usage: ") or complained.count("\n") == 1


BROKEN = {
    "syntax": ("x = (", "can't be run: SyntaxError"),
    "error": ("raise ValueError('first\\nsecond')", "can't be run: ValueError: first second"),
    "nothing": ("x = 1", "defines no Experiment"),
}


@pytest.mark.parametrize(("text", "complaint"), BROKEN.values(), ids=BROKEN)
def test_files_that_declare_nothing(tmp_path, capsys, text, complaint):
    spec = tmp_path / "spec.py"
    spec.write_text(text)
    code, told, complained = run(capsys, spec, "--out", tmp_path / "out")
    assert (code, told) == (2, "")
    assert complaint in complained
    assert complained.count("\n") == 1


def test_the_folder_is_called_after_the_experiment(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert run(capsys, "bounds", "--quick", "--jobs", "1")[0] == 0
    assert (tmp_path / "sparsewise-bounds" / "report.html").exists()


def test_names_that_could_do_harm(tmp_path, capsys, recwarn):
    """To a terminal, a page, a table of Markdown, a formula in a figure."""
    labels = ["<script>", "a|b", "$\\frac{1}{0}$", "\x1b[31mred", "=1+1", "模" * 3, "n" * 300]
    spec, out = tmp_path / "spec.py", tmp_path / "\x1b[2Jout"
    contenders = [f"Contender({json.dumps(one)}, 'omp', {{'sparsity': 'k'}})" for one in labels]
    spec.write_text(DECLARATION.format(contenders=", ".join(contenders)))
    code, told, complaint = run(capsys, spec, "--jobs", 1, "--out", out)
    assert (code, complaint, list(recwarn)) == (0, "", [])
    assert told.replace("\n", "").isprintable()
    page, text = ((out / f"report.{end}").read_text(encoding="utf-8") for end in ("html", "md"))
    assert "<script>" not in page
    assert "\x1b" not in page + text
    assert "a\\|b" in text
    found = [row["algorithm"] for row in table(out / "results.csv")]
    assert found[3:5] == ["?[31mred", "'=1+1"]


@pytest.mark.parametrize("out", ["a\0b", "x" * 300])
def test_folders_that_cannot_be(tmp_path, capsys, out):
    code, told, complaint = run(capsys, "bounds", "--jobs", 1, "--out", tmp_path / out)
    assert (code, told, complaint.count("\n")) == (2, "", 1)
    assert "can't make the folder" in complaint


def test_dask_is_silent_on_its_own_troubles(tmp_path, capsys):
    """It sets the levels of its loggers when it is imported, one by one."""
    pytest.importorskip("distributed")
    loggers = [logging.getLogger(name) for name in ("distributed", "distributed.client")]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.WARNING)
    try:
        words = ("--dask", "127.0.0.1:1", "--out", tmp_path)
        code, told, complaint = run(capsys, "table1", "--quick", *words)
        assert not any(logger.isEnabledFor(logging.ERROR) for logger in loggers)
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)
    assert (code, told, complaint.count("\n")) == (2, "", 1)
    assert "there is no Dask scheduler" in complaint


@pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGINT for another process")
def test_ctrl_c_keeps_what_is_done(tmp_path):
    out = tmp_path / "out"
    program = (
        "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler);"
        "from reproduction.__main__ import main; sys.exit(main(sys.argv[1:]))"
    )
    words = ["table1", "--jobs", "1", "--algorithms", "OMP,FR", "--out", str(out)]
    process = subprocess.Popen(
        [sys.executable, "-c", program, *words], stderr=subprocess.PIPE, text=True
    )
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline and not files(out):
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    _, complaint = process.communicate(timeout=60)
    assert process.returncode in (0, 130)  # 0: it was quicker than we
    if process.returncode == 130:
        told = f"interrupted; what is done is kept in {out}, and --resume goes on"
        assert complaint == f"python -m reproduction: {told}\n"
    assert files(out)
