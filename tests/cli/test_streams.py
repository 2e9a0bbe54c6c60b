"""Commands on files that are read in pieces: the answers of small ones, and what Ctrl-C ends."""

import itertools
import json
import os
import signal
import subprocess
import sys

import numpy as np
import polars as pl
import pytest

from sparsewise import plan
from sparsewise.cli import options
from sparsewise.io.tables import stored_files as stored
from sparsewise.plots import ResidualDisplay, residual_display
from tests.cli import test_fit as test_cli
from tests.cli.test_fit import DIABETES, NAMES, POSIX
from tests.terminals import read_until

run, refuse, plain_terminal = test_cli.run, test_cli.refuse, test_cli.plain_terminal

N = len(DIABETES.target)
FRAME = pl.DataFrame(DIABETES.data, schema=NAMES).with_columns(
    pl.Series("y", DIABETES.target),
    pl.Series("site", [f"site {j * j % 7 % 4}" for j in range(N)]),
    pl.Series("group", [("a", "b", "c")[j % 3] for j in range(N)]),
    pl.Series("w", [j % 4 for j in range(N)]),
    pl.Series("gaps", [None if j % 50 == 7 else float(j % 11) for j in range(N)]),
)


@pytest.fixture(params=["parquet", "csv"])
def folder(tmp_path, request):
    """The table in four files of different lengths."""
    folder = tmp_path / "data"
    folder.mkdir()
    ends = [0, 100, 101, 300, N]
    for number, (start, end) in enumerate(itertools.pairwise(ends)):
        path = folder / f"part {number}.{request.param}"
        getattr(FRAME[start:end], f"write_{request.param}")(path)
    return folder


@pytest.fixture
def streamed(monkeypatch, run):
    """Run a command with files that count as large; rows come some dozens at a time."""

    def command(*args):
        with monkeypatch.context() as patch:
            patch.setattr(plan, "TABLE_IN_MEMORY", 0)
            patch.setattr(stored, "READ", 8 * 14 * 90)
            patch.setattr(stored, "COLUMNS", 4)
            patch.setattr(stored, "PIECE", 8 * 14 * 40)
            patch.setattr("sparsewise.io.tables.formats.BLOCK", 4000)
            patch.setattr("sparsewise.io.tables.table.CHUNK", 8 * 14 * 30)
            return run(*args)

    return command


def same(one, other):
    """The same but for rounding, all the way down."""
    if isinstance(one, dict):
        assert one.keys() == other.keys()
        return all(same(one[key], other[key]) for key in one)
    if isinstance(one, list):
        return len(one) == len(other) and all(map(same, one, other))
    return one == (pytest.approx(other, rel=1e-9, abs=1e-9) if isinstance(one, float) else other)


LESS = ["--exclude", "site,group,w,gaps"]
WORDS = {
    "by itself": LESS,
    "levels": ["--categorical", "site,group", "--exclude", "w,gaps"],
    "gaps": ["--drop-missing", "--exclude", "site,group,w"],
    "weights": ["--weights", "w", "--exclude", "site,group,gaps", "--criterion", "bic"],
    "no intercept": [*LESS, "--no-intercept", "--method", "rmp"],
    "included": [*LESS, "--include", "age,s6", "--sparsity", "4"],
    "start": [*LESS, "--method", "stepwise", "--start", "bmi,s5"],
    "folds": [*LESS, "--cv", "4"],
    "weighted folds": ["--weights", "w", "--exclude", "site,group,gaps", "--criterion", "cv"],
    "a column of folds": ["--exclude", "group,w,gaps", "--fold-column", "site"],
    "folds of a search": [*LESS, "--method", "solve", "--criterion", "cv"],
    "rows left out": [*LESS, "--criterion", "loo"],
    "basis pursuit": [*LESS, "--method", "bpdn"],
    "pursuit": [*LESS, "--method", "mp", "--sparsity", "4"],
    "l1 folds": [*LESS, "--method", "sbl"],
}


# How rows are read does not depend on what is made of them: other words have a format in turn.
IN_BOTH = ("by itself", "levels", "gaps", "weights", "a column of folds")
FORMATS = ("parquet", "csv")
READ = [
    (words, form)
    for number, words in enumerate(WORDS)
    for form in (FORMATS if words in IN_BOTH else [FORMATS[number % 2]])
]


@pytest.mark.parametrize(("words", "folder"), READ, indirect=["folder"])
def test_the_same_model_either_way(run, streamed, folder, words):
    args = ("fit", folder, "--target", "y", *WORDS[words], "--json")
    whole, pieces = json.loads(run(*args)), json.loads(streamed(*args))
    assert len(whole["features"]) > 1
    for fit in (whole, pieces):
        # Rounding may say more or less of what is said in words, and is no part of the model.
        for row in fit["path"]:
            row.pop("loo", None)
    assert same(whole, pieces)


SHARED = {
    "by itself": LESS,
    "levels": ["--categorical", "site,group", "--exclude", "w,gaps"],
    "weights": ["--weights", "w", "--exclude", "site,group,gaps", "--criterion", "bic"],
    "no intercept": [*LESS, "--no-intercept", "--method", "rmp"],
    "folds": [*LESS, "--cv", "4"],
    "a column of folds": ["--exclude", "group,w,gaps", "--fold-column", "site"],
    "rows left out": [*LESS, "--criterion", "loo"],
    "sbl": [*LESS, "--method", "fast-sbl"],
}


@pytest.mark.parametrize("words", SHARED)
def test_the_same_model_of_several_targets_either_way(run, streamed, folder, words):
    args = ("fit", folder, "--target", "y,s4,s6", *SHARED[words], "--json")
    whole, pieces = json.loads(run(*args)), json.loads(streamed(*args))
    assert whole["target"] == ["y", "s4", "s6"]
    assert len(whole["features"]) > 1
    for fit in (whole, pieces):
        for row in fit["path"]:
            row.pop("loo", None)
    assert same(whole, pieces)


def test_the_page_is_the_same_but_for_what_needs_rows(run, streamed, folder):
    args = ("fit", folder, "--target", "y", *LESS, "--method", "forward", "--criterion", "bic")
    assert streamed(*args) == run(*args)
    assert "/data: 442 rows, 10 features; method forward" in " ".join(streamed(*args).split())


def test_paths_are_the_same(run, streamed, folder):
    args = ("path", folder, "--target", "y", *LESS, "--json")
    whole, pieces = json.loads(run(*args)), json.loads(streamed(*args))
    # Leaving out a row needs the rows: that criterion is not shown.
    for row in whole["path"]:
        row.pop("loo")
    whole["best"].pop("loo")
    for row in pieces["path"]:
        assert row.pop("loo", None) is None
    assert same(whole, pieces)


def test_a_choice_is_certified_from_pieces(run, streamed, folder):
    args = ("certify", folder, "--target", "y", *LESS, "--features", "sex,bmi,bp,s5", "--json")
    assert same(json.loads(run(*args)), json.loads(streamed(*args)))


def test_figures_of_pieces(streamed, folder, tmp_path):
    for command in ("fit", "path"):
        path = tmp_path / f"{command}.png"
        streamed(command, folder, "--target", "y", *LESS, "--criterion", "cv", "--plot", path)
        assert path.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("target", ["y", "y,s4"])
@pytest.mark.parametrize("most", [10_000, 50])
def test_residuals_of_pieces(run, streamed, folder, tmp_path, monkeypatch, target, most):
    drawn = []
    plot = ResidualDisplay.plot
    monkeypatch.setattr(residual_display, "MOST", most)
    monkeypatch.setattr(
        ResidualDisplay, "plot", lambda self, ax, **how: drawn.append(self) or plot(self, ax, **how)
    )
    args = "fit", folder, "--target", target, *LESS, "--plot-residuals", tmp_path / "r.png"
    run(*args)
    streamed(*args)
    whole, pieces = drawn[0], drawn[2]
    every = -(-len(whole.y_true) // most)
    assert len(pieces.y_true) <= most
    np.testing.assert_allclose(pieces.y_true, whole.y_true[::every])
    np.testing.assert_allclose(pieces.y_pred, whole.y_pred[::every], rtol=1e-6)


@pytest.mark.parametrize("how", ["median", "indicator"])
def test_missing_values_of_pieces_are_filled_in(run, streamed, folder, how):
    args = ("fit", folder, "--target", "y", "--impute", how, "--categorical", "site,group")
    whole, pieces = (
        json.loads(call(*args, "--weights", "w", "--json")) for call in (run, streamed)
    )
    assert any("filled in" in note for note in whole["notes"])
    for fit in (whole, pieces):
        for row in fit["path"]:
            row.pop("loo", None)
    assert same(whole, pieces)


def numbers(text):
    """The rows of CSV."""
    return np.loadtxt(text.splitlines(), delimiter=",", skiprows=1)


def test_predictions_of_pieces_come_in_order(run, streamed, folder, tmp_path):
    model, out = tmp_path / "model.json", tmp_path / "out.csv"
    words = ("--categorical", "site", "--exclude", "w,gaps,group", "--include", "site")
    streamed("fit", folder, "--target", "y", *words, "--save", model)
    whole = run("predict", model, folder, "--std")
    assert len(whole.splitlines()) == 1 + N
    files = sorted(folder.iterdir())
    text = streamed("predict", model, folder, "--std")
    assert text.startswith("prediction,std\n")
    # Sums of a few rows may differ from those of many in their last digit.
    np.testing.assert_allclose(numbers(text), numbers(whole), rtol=1e-12)
    assert streamed("predict", model, *files, "--std") == text
    assert streamed("predict", model, *files, "--std", "--out", out) == ""
    assert out.read_text() == text
    one = [run("predict", model, file) for file in files]
    assert [len(text.splitlines()) - 1 for text in one] == [100, 1, 199, 142]


def test_nothing_is_written_for_rows_that_a_model_cannot_use(
    run, refuse, monkeypatch, folder, tmp_path
):
    model, out = tmp_path / "model.json", tmp_path / "out.csv"
    run("fit", folder, "--target", "y", *LESS, "--include", "bmi", "--save", model)
    last = folder / ("z.parquet" if (folder / "part 0.parquet").exists() else "z.csv")
    write = "write_parquet" if last.suffix == ".parquet" else "write_csv"
    getattr(FRAME[:3].with_columns(bmi=pl.lit(None, pl.Float64)), write)(last)
    out.write_text("as it was")
    monkeypatch.setattr(plan, "TABLE_IN_MEMORY", 0)
    message = 'missing values (of 445 rows): "bmi" 3; the model needs them all'
    assert message in refuse("predict", model, folder)
    assert message in refuse("predict", model, folder, "--out", out)
    assert out.read_text() == "as it was"


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["--fold-column", "group", "--cv", "3"], "--cv and --fold-column both tell folds"),
        (["--fold-column", "group", "--criterion", "bic"], "--criterion bic has no use"),
        (["--fold-column", "bmi", "--features", "bmi,s5"], "the folds and a feature at once"),
        (["--fold-column", "none"], 'no column "none"'),
        (["--cv", "500"], "--cv asks for more folds than 442 rows; ask for fewer"),
        (["--fold-column", "gaps"], 'missing values (of 442 rows): "gaps" 9'),
        (["--target", "site"], 'the target "site" holds text (the first is "site 0" in row 1 of'),
        ([], "--categorical site,group"),
    ],
)
def test_bad_arguments(refuse, monkeypatch, folder, args, message):
    words = args if "--features" in args or not args else [*args, *LESS]
    assert message in refuse("fit", folder, "--target", "y", *words)
    monkeypatch.setattr(plan, "TABLE_IN_MEMORY", 0)
    assert message in refuse("fit", folder, "--target", "y", *words)


def test_features_that_cannot_be_told_apart_are_named(refuse, monkeypatch, folder):
    monkeypatch.setattr(plan, "TABLE_IN_MEMORY", 0)
    args = ("--target", "y", "--categorical", "group", "--exclude", "site,w,gaps")
    every = "group=a,group=b,group=c"
    assert '"group=c" can\'t be told' in refuse("fit", folder, *args, "--include", every)


def test_rows_that_are_too_many_for_memory(refuse, monkeypatch, folder):
    """Leaving out one row at a time needs them all."""
    monkeypatch.setattr(plan, "TABLE_IN_MEMORY", 0)
    monkeypatch.setattr(options, "_memory", lambda: 50_000)
    line = refuse("fit", folder, "--target", "y", *LESS, "--criterion", "loo")
    assert "too much for memory, and this can't be done without" in line
    assert "--criterion ric or cv" in line


def test_a_wide_table_is_gathered(streamed, run, tmp_path):
    """A triangle would be no smaller."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((20, 30))
    columns = {f"x{j}": X[:, j] for j in range(30)}
    pl.DataFrame({**columns, "y": 3 * X[:, 4] + X[:, 9]}).write_parquet(tmp_path / "t.parquet")
    args = ("fit", tmp_path / "t.parquet", "--target", "y", "--json")
    assert json.loads(streamed(*args)) == json.loads(run(*args))


# --- those who wait -------------------------------------------------------------------------------

BEGIN = """
import signal, sys
import sparsewise.io.tables.stored_files as stored
from sparsewise import plan
from sparsewise._util import progress
from sparsewise.cli import main
signal.signal(signal.SIGINT, signal.default_int_handler)
plan.TABLE_IN_MEMORY, stored.READ, progress.PATIENCE = 0, 2**14, 0.0
sys.exit(main(sys.argv[1:]))
"""


@pytest.fixture
def long_table(tmp_path):
    """So many pieces that reading them takes a while."""
    columns = {f"x{j}": np.zeros(400_000) for j in range(20)}
    pl.DataFrame({**columns, "y": 0.0}).write_parquet(tmp_path / "t.parquet", compression="lz4")
    return tmp_path / "t.parquet"


@POSIX
def test_a_bar_tells_how_long_it_takes_and_ctrl_c_ends_it(long_table):
    """On a terminal; the other end of it is ours."""
    ours, theirs = os.openpty()
    command = [sys.executable, "-c", BEGIN, "fit", str(long_table), "--target", "y"]
    env = {**os.environ, "TERM": "xterm", "COLUMNS": "80"}
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=theirs, env=env)
    os.close(theirs)
    seen = read_until(ours, r"(looking at|condensing) all rows.*[1-9]\d?%.*\d:\d\d")
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=60)
    while "all rows were read" not in seen:
        seen += os.read(ours, 2**16).decode()
    os.close(ours)
    assert (process.returncode, out) == (130, b"")
    assert "sparsewise: Ctrl-C came before all rows were read" in seen
    assert "Traceback" not in seen


@pytest.mark.parametrize("when", ["looked at", "condensed", "predicted"])
def test_ctrl_c_while_rows_are_read_is_one_sentence(
    run, capsys, monkeypatch, folder, tmp_path, when
):
    model = tmp_path / "model.json"
    run("fit", folder, "--target", "y", *LESS, "--save", model)
    monkeypatch.setattr(plan, "TABLE_IN_MEMORY", 0)
    place = {
        "looked at": "sparsewise.io.tables.table._profile",
        "condensed": "sparsewise.io.tables.table.Table.chunk",
        "predicted": "sparsewise.io.tables.table.Table.features",
    }

    def stop(*args, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(place[when], stop)
    fit = ["fit", folder, "--target", "y", *LESS]
    words = ["predict", model, folder] if when == "predicted" else fit
    assert test_cli.cli.main([str(word) for word in words]) == 130
    assert capsys.readouterr() == ("", "sparsewise: Ctrl-C came before all rows were read\n")
