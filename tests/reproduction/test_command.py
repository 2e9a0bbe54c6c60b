"""``sparsewise reproduce`` and ``sparsewise run``, in this process and as one of their own."""

import json
import logging
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import polars as pl
import pytest

from sparsewise.cli import main

EXAMPLE = Path(__file__).parent.parent.parent / "examples" / "density.yml"


def run(capsys, *words):
    code = main([str(word) for word in words])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_a_table_beside_the_papers(tmp_path, capsys):
    out = tmp_path / "out"
    words = ("--realizations", 3, "--algorithms", "OMP,RMP₀", "--jobs", 1, "--out", out)
    code, told, complaint = run(capsys, "reproduce", "table1", *words)
    assert (code, complaint) == (0, "")
    assert told.splitlines()[-1] == f"report: {out / 'report.html'}"
    assert "of 8 cells agree" in told or "All 8 cells agree" in told
    results = pl.read_parquet(out / "results.parquet")
    assert results["algorithm"].unique().sort().to_list() == ["OMP", "RMP₀"]
    assert results["trials"].to_list() == [3] * 8
    assert "0.53" in (out / "report.md").read_text(encoding="utf-8")
    assert (out / "figures" / "table1.svg").exists()


def test_beyond_the_paper(tmp_path, capsys, monkeypatch):
    from reproduction import peers

    # As where abess is not installed.
    found = peers.find_spec
    monkeypatch.setattr(peers, "find_spec", lambda name: None if name == "abess" else found(name))
    chosen = ("--quick", "--realizations", 1, "--algorithms", "solve,FR,OMP CV,abess")
    code, told, complaint = run(
        capsys, "reproduce", "beyond", *chosen, "--jobs", 1, "--out", tmp_path
    )
    assert (code, complaint) == (0, "")
    assert told.startswith("abess is left out, because the package abess is missing: pip install")
    assert told.count("aim") == 5
    assert told.splitlines()[-1] == f"report: {tmp_path / 'report.html'}"
    results = pl.read_parquet(tmp_path / "results.parquet")
    assert results["experiment"].unique().len() == 5
    assert results["error_message"].null_count() == results.height
    code, told, complaint = run(
        capsys, "reproduce", "beyond", "--algorithms", "abess", "--out", tmp_path / "none"
    )
    assert (code, told) == (2, "")
    assert "abess is left out" in complaint
    assert not (tmp_path / "none").exists()


def test_a_run_is_not_overwritten_but_resumed(tmp_path, capsys):
    words = ("reproduce", "bounds", "--jobs", 1, "--out", tmp_path)
    assert run(capsys, *words)[0] == 0
    journal = (tmp_path / "journal.jsonl").read_bytes()
    code, _, complaint = run(capsys, *words)
    assert code == 2
    assert "holds a run already: go on with it by --resume" in complaint
    assert run(capsys, *words, "--resume")[0] == 0
    assert (tmp_path / "journal.jsonl").read_bytes() == journal


def test_ones_own_experiment(tmp_path, capsys):
    words = ("--quick", "--realizations", 2, "--jobs", 1, "--out", tmp_path / "mine")
    code, told, _ = run(capsys, "run", EXAMPLE, *words)
    assert code == 0
    assert "report.html" in told
    assert pl.read_parquet(tmp_path / "mine" / "results.parquet")["trials"].unique().item() == 2


def test_cells_that_fail_are_told(tmp_path, capsys):
    spec = tmp_path / "spec.yml"
    spec.write_text(
        "m: 8\nn: 6\nk: 2\nrealizations: 2\nalgorithms:\n"
        "  good: {algorithm: omp, sparsity: 2}\n  bad: {algorithm: omp, sparsity: 7}\n"
    )
    code, told, _ = run(capsys, "run", spec, "--jobs", 1, "--out", tmp_path / "out")
    assert code == 1
    assert "1 cell failed: the report has the errors" in told
    assert "sparsity must be between" in (tmp_path / "out" / "report.md").read_text("utf-8")


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (("reproduce", "table3"), 'there is no experiment "table3"; did you mean'),
        (("reproduce",), "NAME"),
        (("reproduce", "table1", "--algorithms", "OMPP"), 'there is no algorithm "OMPP"'),
        (("reproduce", "table1", "--algorithms", ","), "--algorithms names none"),
        (("reproduce", "table1", "--realizations", "0"), "at least 1"),
        (("reproduce", "table1", "--jobs", "0"), "jobs must be 1 or more"),
        (("reproduce", "table1", "--seed", "-1"), "at least 0"),
        (("reproduce", "table1", "--dask", "tcp://127.0.0.1:1"), "no Dask scheduler at"),
        (("run", "nowhere.yml"), 'nowhere.yml'),
    ],
)  # fmt: skip
def test_bad_words_are_one_line(words, complaint, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, told, complained = run(capsys, *words)
    assert (code, told) == (2, "")
    assert complaint in complained
    assert complained.count("\n") == 1


def test_the_folder_is_called_after_the_experiment(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert run(capsys, "reproduce", "bounds", "--quick", "--jobs", "1")[0] == 0
    assert (tmp_path / "sparsewise-bounds" / "report.html").exists()


SPEC = "m: 8\nn: 6\nk: [1, 2]\nrealizations: 2\nalgorithms:\n"


def test_names_that_could_do_harm(tmp_path, capsys, recwarn):
    """To a terminal, a page, a table of Markdown, a formula in a figure."""
    labels = ["<script>", "a|b", "$\\frac{1}{0}$", "\x1b[31mred", "=1+1", "模" * 3, "n" * 300]
    spec, out = tmp_path / "spec.yml", tmp_path / "\x1b[2Jout"
    lines = [f"  {json.dumps(one)}: {{algorithm: omp, sparsity: k}}\n" for one in labels]
    spec.write_text(SPEC + "".join(lines))
    code, told, complaint = run(capsys, "run", spec, "--jobs", 1, "--out", out)
    assert (code, complaint, list(recwarn)) == (0, "", [])
    assert told.replace("\n", "").isprintable()
    page, text = ((out / f"report.{end}").read_text(encoding="utf-8") for end in ("html", "md"))
    assert "<script>" not in page
    assert "\x1b" not in page + text
    assert "a\\|b" in text
    table = pl.read_csv((out / "results.csv").read_bytes())
    assert table["algorithm"].to_list()[4] == "'=1+1"


@pytest.mark.parametrize("out", ["a\0b", "x" * 300])
def test_folders_that_cannot_be(tmp_path, capsys, out):
    spec = tmp_path / "spec.yml"
    spec.write_text(f"{SPEC}  OMP: {{algorithm: omp, sparsity: k}}\n")
    code, told, complaint = run(capsys, "run", spec, "--jobs", 1, "--out", tmp_path / out)
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
        code, told, complaint = run(capsys, "reproduce", "table1", "--quick", *words)
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
        "from sparsewise.cli import main; sys.exit(main(sys.argv[1:]))"
    )
    words = ["reproduce", "table1", "--jobs", "1", "--algorithms", "OMP,FR", "--out", str(out)]
    process = subprocess.Popen(
        [sys.executable, "-c", program, *words], stderr=subprocess.PIPE, text=True
    )
    journal = out / "journal.jsonl"
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline and not (journal.exists() and journal.stat().st_size):
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    _, complaint = process.communicate(timeout=60)
    assert process.returncode in (0, 130)  # 0: it was quicker than we
    if process.returncode == 130:
        assert complaint.splitlines() == [
            f"sparsewise: interrupted; what is done is kept in {out}, and --resume goes on"
        ]
    assert journal.read_text().count("\n") >= 1
