"""The commands on tables that nobody would want to be given.

``main`` runs in this process, its output caught. It ends with 0 and something sensible, or with 2
and one sentence; what it says of numbers is compared with what the csv module, json and NumPy's
least squares make of the same file.
"""

from __future__ import annotations

import contextlib
import csv
import gzip
import io
import itertools
import json
import math
import os
import sys
import tempfile
from dataclasses import dataclass, field
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from unittest import mock

import numpy as np

from sparsewise.io.model import LinearModel
from tests.hostile.campaign import Case, family, fault, oracle

NAMES = (
    "a",
    "y",
    "x1",
    "a b",
    "with  two",
    'quo"te',
    "com,ma",
    "new\nline",
    "=1+1",
    "-x",
    "+x",
    "@x",
    "--target",
    "\x1b[31mred\x1b[0m",
    "\x1b]0;title\x07",
    "\u202eabc",
    "b\x08\x08\x08",
    "\u0301",
    "é",
    "模型",
    "😀",
    "n" * 300,
    "x=1",
    "$\\frac{1}{0}$",
    "[bold]x[/bold]",
    "{0}",
    "%s",
    "nan",
    "1",
    "1e5",
    "true",
    "intercept",
    "step",
    "\x7f",
    "\x9b31m",
)
"""Names that are different, and not empty: any of them will do."""
BAD_NAMES = ("", " ", "a", "a", "\t", "A ", "__index_level_0__", "\ufeffbom", "x\ty;z")

CELLS = (
    *("", " ", "NA", "nan", "-nan", "NULL", "none", "#N/A", "?", "-", "."),
    *("inf", "-inf", "Infinity", "1e400", "-1e400", "1e-400", "1e151", "1e150", "9" * 400),
    *("0x10", "1_000", "1,5", "1.5.2", "١٢", "½", "−1", "+4", "--5", ".5", "5.", "1d3", "1e"),
    *("true", "FALSE", "text", "=1+1", "\x1b[2J", 'a"b', "a\nb", " 3 ", "2020-01-01", "x" * 5000),
    *("1e5", "1E-5", "0", "-0", "00012", "1e+05", "1 000", "$5", "5%", "\ufeff1", "\u00a01"),
)

NUMBERS = ("-1", "nan", "inf", "1e400", "", "x", "٣", "10" * 20, "1.5", "0", "1e-320", "-0", " 2")


@dataclass
class Table:
    """A file, and what is known of it."""

    path: str
    target: str
    names: list[str]
    damaged: bool = False
    columns: dict[str, np.ndarray] = field(default_factory=dict)

    def numbers(self, name: str) -> np.ndarray:
        return self.columns[name]


@cache
def folder() -> tempfile.TemporaryDirectory[str]:
    """Where the files of this process are, until it ends."""
    return tempfile.TemporaryDirectory(prefix="hostile-")


def call(*argv: str, stdin: bytes = b"") -> tuple[int, str, str]:
    """Exit code, output and complaints of a command."""
    from sparsewise.cli import main

    out, err = io.StringIO(), io.StringIO()
    given = io.TextIOWrapper(io.BytesIO(stdin))
    with (
        mock.patch.object(sys, "stdin", given),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        try:
            code = main(list(argv))
        except SystemExit as end:  # of --help and --version
            code = end.code if isinstance(end.code, int) else 99
    return code, out.getvalue(), err.getvalue()


# --- oracles --------------------------------------------------------------------------------------


@oracle
def ends_well(code: int, out: str, err: str) -> None:
    """0 and no complaint, or 2 and one sentence; nothing that could control a terminal."""
    assert code in (0, 2), f"exit code {code}: {err[:300]}"
    for text in (out, err):
        odd = [c for c in text if not c.isprintable() and c != "\n"]
        assert not odd, f"{odd[:3]} in {text[:200]!r}"
        assert "Traceback" not in text
    if code == 0:
        assert err == "", f"it complains: {err[:300]}"
        assert out.endswith("\n"), "it says nothing"
    else:
        assert out == "", f"it prints before it refuses: {out[:200]}"
        assert err.startswith("sparsewise: "), err[:300]
        assert err.count("\n") == 1, f"not one line: {err[:300]}"
        assert len(err) > 20, err
        assert "internal error" not in err, err


@oracle
def nothing_plain_is_refused(code: int, err: str) -> None:
    """Ordinary numbers are fitted, whatever their columns are called."""
    assert code == 0, err


@oracle
def is_json(out: str) -> dict:
    """One JSON object, without NaN."""

    def constant(text: str) -> None:
        raise AssertionError(f"{text} in JSON")

    try:
        found = json.loads(out, parse_constant=constant)
    except ValueError as error:
        raise AssertionError(f"not JSON: {error}") from None
    assert isinstance(found, dict)
    assert out.isascii()
    return found


@oracle
def is_least_squares(table: Table, told: dict, intercept: bool) -> None:
    """The coefficients have the residual that is told, and none has a smaller one."""
    y = table.numbers(table.target)
    chosen = [feature["name"] for feature in told["features"]]
    X = np.array([table.numbers(name) for name in chosen]).reshape(len(chosen), len(y)).T
    coef = np.array([feature["coef"] for feature in told["features"]])
    total = y - y.mean() if intercept else y
    # What is told has 16 digits, of which a large offset takes its share.
    size = np.abs(X) @ np.abs(coef) + np.abs(y)
    scale = float(np.linalg.norm(total)) + 1e-7 * float(np.linalg.norm(size))
    rest = y - X @ coef - (told["intercept"] or 0.0)
    assert abs(np.linalg.norm(rest) - math.sqrt(told["rss"])) <= 1e-7 * scale, (
        f"told {math.sqrt(told['rss'])}, true {np.linalg.norm(rest)}"
    )
    A = X - X.mean(axis=0) if intercept else X
    if chosen:
        A = A / np.maximum(np.abs(A).max(axis=0), 1e-300)
        total = total - A @ np.linalg.lstsq(A, total, rcond=None)[0]
    assert np.linalg.norm(rest) <= np.linalg.norm(total) + 1e-7 * scale, (
        f"{np.linalg.norm(rest)} where {np.linalg.norm(total)} is least"
    )


@oracle
def is_best_subset(table: Table, told: dict) -> None:
    """Of all subsets of this size none fits better than one that is said to be the best."""
    y = table.numbers(table.target)
    total, names = y - y.mean(), [name for name in table.names if name != table.target]
    size = len(told["features"])

    def residual(some: tuple[str, ...]) -> float:
        A = np.array([table.numbers(name) - table.numbers(name).mean() for name in some]).T
        return float(np.linalg.norm(total - A @ np.linalg.lstsq(A, total, rcond=None)[0]))

    least = min(map(residual, itertools.combinations(names, size)))
    mine = residual(tuple(told["features"]))
    better = least < mine - 1e-7 * np.linalg.norm(total)
    assert told["status"] != "optimal" or not better, f"{least} < {mine}, told to be optimal"
    assert told["better"] is None or mine > least - 1e-7 * np.linalg.norm(total)


@oracle
def are_predictions(table: Table, saved: str, out: str) -> None:
    """Intercept + x·coef for each row, from the numbers in the model's own file."""
    model = json.loads(Path(saved).read_text())
    n = len(table.numbers(table.target))
    X = [table.numbers(name) for name in model["features"]]
    terms = [
        np.full(n, model["intercept"]),
        *(x * c for x, c in zip(X, model["coef"], strict=True)),
    ]
    expected, size = sum(terms), sum(map(np.abs, terms))
    head, *lines = out.splitlines()
    assert head == "prediction"
    assert len(lines) == n, f"{len(lines)} lines for {n} rows"
    found = np.array([float(line) for line in lines])
    assert np.all(np.abs(found - expected) <= 1e-9 * (size + 1e-300)), (found, expected)


@oracle
def are_the_features(table: Table, out: str) -> None:
    """The lines of a path as CSV name features of the table, and none of them is a formula."""
    head, *rows = csv.reader(io.StringIO(out))
    shown = {"".join(c if c.isprintable() else "?" for c in name) for name in table.names}
    for row in rows:
        assert len(row) == len(head), row
        cell = row[head.index("feature")]
        assert not cell.startswith(("=", "+", "-", "@")), cell
        assert cell.removeprefix("'") in shown | {""}, cell


# --- tables ---------------------------------------------------------------------------------------


def plain_table(case: Case, extreme: bool = False) -> Table:
    """Ordinary numbers under odd names; in odd units, and with columns alike, if `extreme`."""
    rng = case.rng
    n, m = int(rng.integers(8, 14)), int(rng.integers(2, 6))
    m = n if case.chance(0.05) else m
    names = [str(name) for name in rng.choice(NAMES, m + 1, replace=False)]
    X = rng.standard_normal((n, m))
    if case.chance(0.3):
        X = np.round(3 * X)
        X[:2] = [[1.0] * m, [-1.0] * m]  # not constant
    y = X @ np.round(rng.standard_normal(m), 1) + case.choose(0.0, 0.1, 1.0) * rng.standard_normal(
        n
    )
    y[:2] += [1.0, -1.0]
    if extreme:
        kind = case.choose("units", "copy", "near copy", "constant", "offset", "zero target", "few")
        case.note(kind=kind)
        if kind == "units":
            X *= 10.0 ** rng.integers(-140, 141, m)
            y *= 10.0 ** rng.integers(-140, 141)
        elif kind == "copy":
            X[:, -1] = X[:, 0] * case.choose(1.0, -2.0, 1e100)
        elif kind == "near copy":
            X[:, -1] = X[:, 0] + 10.0 ** rng.integers(-18, -3) * X[:, -1]
        elif kind == "constant":
            X[:, 0] = case.choose(0.0, 1.0, 1e100)
        elif kind == "offset":
            X += 10.0 ** rng.integers(3, 16)
        elif kind == "zero target":
            y[:] = case.choose(0.0, 1.0, 1e-300, 0.1)
        else:
            n = int(rng.integers(1, 4))
            X, y = X[:n], y[:n]
    columns = dict(zip(names, [*X.T, y], strict=True))
    case.note(names=names, n=n)
    return Table("", names[-1], names, columns=columns)


def cells(table: Table) -> list[list[str]]:
    """Header and rows, all digits."""
    many = zip(*(table.columns[name].tolist() for name in table.names), strict=True)
    return [table.names, *([repr(value) for value in row] for row in many)]


def as_text(rows: list[list[str]], separator: str, end: str = "\n") -> str:
    buffer = io.StringIO()
    csv.writer(buffer, delimiter=separator, lineterminator=end).writerows(rows)
    return buffer.getvalue()


def write(case: Case, table: Table, data: bytes) -> None:
    name = case.choose("t.csv", "t", "模.tsv", "a b.csv", "\x1b[31m.csv", "[x].parquet", "-t.csv")
    table.path = os.path.join(folder().name, name)
    Path(table.path).write_bytes(data)


def write_plain(case: Case, table: Table) -> None:
    """As any program might write it."""
    end, mark = case.choose("\n", "\r\n"), case.choose("", "\ufeff")
    text = as_text(cells(table), case.choose(",", "\t", ";"), end)
    if case.chance(0.2):
        text = text.removesuffix(end)
    if case.chance(0.2):
        text += end * 2
    write(case, table, (mark + text).encode())


def write_parquet(case: Case, table: Table) -> None:
    import polars as pl

    buffer = io.BytesIO()
    frame = pl.DataFrame({name: table.columns[name] for name in table.names})
    frame.write_parquet(buffer)
    write(case, table, buffer.getvalue())


DAMAGE = ("cells", "names", "ragged", "bytes", "quote", "cut", "kind", "separator", "bits", "types")


def write_damaged(case: Case, table: Table) -> None:
    """With something in it that is no number, no name or no text."""
    rng, table.damaged = case.rng, True
    damage = case.choose(*DAMAGE)
    case.note(damage=damage)
    rows = cells(table)
    if damage == "cells":
        for _ in range(case.choose(1, 2, 5)):
            row = rows[1 + rng.integers(len(rows) - 1)]
            row[rng.integers(len(row))] = case.choose(*CELLS)
        if case.chance(0.2):
            place, cell = rng.integers(len(table.names)), case.choose(*CELLS)
            for row in rows[1:]:
                row[place] = cell
    elif damage == "names":
        rows[0] = [case.choose(*BAD_NAMES) if case.chance(0.5) else name for name in rows[0]]
    elif damage == "ragged":
        row = rows[rng.integers(len(rows))]
        row[:] = row[:-1] if case.chance(0.5) else [*row, case.choose("", "1", "x")]
    elif damage == "cut":
        rows = rows[: case.choose(0, 1, 2)]
    separator = case.choose("|", " ", ":", ",", "\t", ";") if damage == "separator" else ","
    data = as_text(rows, separator, case.choose("\n", "\r\n", "\r")).encode()
    if damage == "bytes":
        place, odd = rng.integers(len(data) + 1), case.choose(b"\0", b"\xff", b"\n\n", b"\xef\xbb")
        data = data[:place] + odd + data[place:]
    elif damage == "quote":
        place = rng.integers(len(data) + 1)
        data = data[:place] + case.choose(b'"', b'""', b"'", b'"\n') + data[place:]
    elif damage == "kind":
        data = case.choose(
            *(b"", b"\n", b"\0" * 20, b"PAR1", b"PAR1PAR1", b"\x1f\x8b\x08", b"PK\x03\x04", b","),
            *(b"{}", b"a", b'"', b"\xff\xfea\0", b"PAR1" + data, b"a,b\n" * 3, b"\r\r\r", b"\xef"),
        )
    elif damage in ("bits", "types"):
        data = _odd_parquet(case, table, damage)
    write(case, table, data)


def _odd_parquet(case: Case, table: Table, damage: str) -> bytes:
    import polars as pl

    frame = pl.DataFrame({name: table.columns[name] for name in table.names})
    if damage == "types":
        first = pl.col("^.*$") if case.chance(0.2) else pl.nth(0)
        n = frame.height
        change = case.choose(
            first.cast(pl.String),
            first.cast(pl.Float32),
            first.map_batches(lambda s: pl.Series(s.name, [None] * n)),
            first.map_batches(lambda s: pl.Series(s.name, [math.inf] * n)),
            first.map_batches(lambda s: pl.Series(s.name, [[1.0]] * n)),
            first.map_batches(lambda s: pl.Series(s.name, [b"x"] * n)),
            first.map_batches(lambda s: pl.Series(s.name, [{"a": 1}] * n)),
            first.map_batches(lambda s: pl.Series(s.name, [True, None] * n)[:n]),
            first.map_batches(lambda s: pl.Series(s.name, [2**63 - 1] * n)),
        )
        frame = frame.with_columns(change)
    buffer = io.BytesIO()
    frame.write_parquet(buffer, compression="uncompressed")
    data = bytearray(buffer.getvalue())
    if damage == "bits":
        # At both ends and where it stops. Within a page, polars (2.1) takes a length for what it
        # says and may ask for 2⁶¹ bytes, which ends the process before Python hears of it.
        place = case.choose(*range(4), *range(-8, 0))
        data[place] ^= 1 << case.rng.integers(8)
        if case.chance(0.5):
            del data[case.rng.integers(len(data)) :]
    return bytes(data)


# --- arguments ------------------------------------------------------------------------------------


def named(names: list[str]) -> str:
    """Names as an option takes them."""
    buffer = io.StringIO()
    csv.writer(buffer, lineterminator="\r\n").writerow(names)
    return buffer.getvalue().removesuffix("\r\n")


def source(case: Case, table: Table) -> tuple[list[str], bytes]:
    """How the table is given: by its path, or on standard input."""
    target = f"--target={table.target}"
    if case.chance(0.1):
        return ["-", target], Path(table.path).read_bytes()
    return [table.path, target], b""


METHODS = ("forward", "omp", "backward", "foba", "srr", "ompr", "lace", "rmp0", "gomp")
OTHERS = ("rmp", "fast-sbl", "sbl", "bp", "bpdn", "fista", "focuss", "mp", "subspace-pursuit")


def options(case: Case, table: Table) -> list[str]:
    """Options that may or may not make sense."""
    others = [name for name in table.names if name != table.target] or table.names
    some = named([str(name) for name in case.rng.choice(others, case.choose(1, 1, 2))])
    odd = case.choose(*NAMES, *BAD_NAMES, '"', "a,b,c", table.target)
    numeric = case.choose(
        "sparsity", "residual", "delta", "penalty", "sigma", "price", "batch", "cv"
    )
    found = []
    for option in (
        [f"--include={some}"],
        [f"--exclude={some}"],
        [f"--features={some}"],
        [f"--categorical={some}"],
        [f"--weights={case.choose(*others)}"],
        [f"--{case.choose('include', 'exclude', 'features', 'categorical', 'weights')}={odd}"],
        [f"--start={case.choose('all', 'none', some, odd)}"],
        ["--drop-missing"],
        ["--no-intercept"],
        [f"--{numeric}={case.choose(*NUMBERS)}"],
        [f"--{numeric}={case.choose('1', '2', '0.5')}"],
        [f"--method={case.choose(*METHODS, *OTHERS, 'stepwise', 'nonsense', '')}"],
        [f"--criterion={case.choose('aic', 'bic', 'loo', 'cv', 'cp', 'x', '')}"],
    ):
        if case.chance(0.12):
            found += option
    return found


# --- families -------------------------------------------------------------------------------------


@family("commands")
def plain_commands(case: Case) -> None:
    """Ordinary numbers under odd names: everything works, and the numbers are right."""
    table = plain_table(case)
    (write_parquet if case.chance(0.2) else write_plain)(case, table)
    given, stdin = source(case, table)
    what = case.choose("fit", "text", "path", "certify", "predict")
    case.note(what=what)
    if what == "fit":
        method = case.choose(*METHODS[:4])
        flat = case.chance(0.2)
        argv = ["fit", *given, f"--method={method}", "--json", *["--no-intercept"] * flat]
        code, out, err = call(*argv, stdin=stdin)
        ends_well(code, out, err)
        nothing_plain_is_refused(code, err)
        is_least_squares(table, is_json(out), not flat)
    elif what == "text":
        code, out, err = call(case.choose("fit", "path"), *given, stdin=stdin)
        ends_well(code, out, err)
        nothing_plain_is_refused(code, err)
    elif what == "path":
        code, out, err = call("path", *given, "--csv", stdin=stdin)
        ends_well(code, out, err)
        nothing_plain_is_refused(code, err)
        are_the_features(table, out)
    elif what == "certify":
        others = [name for name in table.names if name != table.target]
        chosen = [
            str(name) for name in case.rng.choice(others, 1 + (len(others) > 2), replace=False)
        ]
        argv = ["certify", *given, f"--features={named(chosen)}", "--json"]
        code, out, err = call(*argv, stdin=stdin)
        ends_well(code, out, err)
        nothing_plain_is_refused(code, err)
        is_best_subset(table, is_json(out))
    else:
        saved = os.path.join(folder().name, "model.json")
        code, out, err = call("fit", *given, f"--save={saved}", "--json", stdin=stdin)
        ends_well(code, out, err)
        nothing_plain_is_refused(code, err)
        code, out, err = call("predict", saved, given[0], stdin=stdin)
        ends_well(code, out, err)
        are_predictions(table, saved, out)


@family("tables", share=2)
def damaged_tables(case: Case) -> None:
    """Files that are damaged, numbers that are extreme, options at random: a sentence at worst."""
    table = plain_table(case, extreme=case.chance(0.4))
    if case.chance(0.6):
        write_damaged(case, table)
    else:
        (write_parquet if case.chance(0.2) else write_plain)(case, table)
    given, stdin = source(case, table)
    command = case.choose("fit", "fit", "path", "certify")
    more = options(case, table) if case.chance(0.6) else []
    if command == "certify":
        taken = (
            "--include",
            "--start",
            "--method",
            "--criterion",
            "--sp",
            "--res",
            "--del",
            "--pen",
            "--sig",
        )
        more = [one for one in more if not one.startswith((*taken, "--pri", "--bat", "--cv"))]
        others = [name for name in table.names if name != table.target]
        more += [f"--features={named([case.choose(*others)])}", "--time-limit=0.2"]
    as_json = case.chance(0.5)
    whole = not table.damaged and not more and command == "fit"
    if whole:
        more = [f"--method={case.choose(*METHODS[:4])}"]
    case.note(command=command, more=more, path=table.path)
    code, out, err = call(command, *given, *more, *["--json"] * as_json, stdin=stdin)
    ends_well(code, out, err)
    if code == 0 and as_json:
        told = is_json(out)
        if whole:
            is_least_squares(table, told, intercept=True)


BLANKS = ("", ",", ",,", " , ", "NA,", '"",""')
"""Rows without a value, of a file of two columns or more."""


@oracle
def are_beside_their_lines(lines: list[str], out: str) -> None:
    """A prediction for each line: that of its first cell, or nothing where it has none."""
    header, *told = out.split("\n")[:-1]
    assert header == "prediction"
    expected = [line.split(",")[0].strip() for line in lines]
    assert len(told) == len(expected), f"{len(told)} predictions of {len(expected)} lines"
    for cell, prediction in zip(expected, told, strict=True):
        value = None if cell in ("", "NA", '""') else float(cell)
        assert (float(prediction) if prediction else None) == value, f"{prediction!r} for {cell!r}"


@family("lines")
def lines_of_gaps(case: Case) -> None:
    """Blank lines, and lines of nothing but gaps: predictions stay where they belong."""
    rng = case.rng
    width = case.choose(1, 2, 3)
    blanks = [blank for blank in BLANKS if blank.count(",") < width and (width > 1 or not blank)]
    cells = [repr(float(x)) for x in rng.integers(-9, 9, int(rng.integers(1, 60)))]
    lines = [
        case.choose(*blanks) if case.chance(0.3) else ",".join([cell] + ["7"] * (width - 1))
        for cell in cells
    ]
    lines.append(",".join(["1.0"] * width))
    end, packed, small = case.choose("\n", "\r\n", "\r"), case.chance(0.3), case.chance(0.5)
    after = end * case.choose(0, 1, 5) if width > 1 else case.choose("", end)
    text = end.join([",".join("abc"[:width]), *lines]) + after
    case.note(text=text, packed=packed, small=small)
    path, saved = (os.path.join(folder().name, name) for name in ("lines.csv", "identity.json"))
    Path(path).write_bytes(gzip.compress(text.encode()) if packed else text.encode())
    LinearModel("y", ("a",), np.ones(1), 0.0, np.zeros(1), None, None, 1.0).save(saved)
    with (
        mock.patch("sparsewise.plan.TABLE_IN_MEMORY", 2**20 if small else 0),
        mock.patch("sparsewise.io.tables.formats.BLOCK", case.choose(7, 40, 2**20)),
    ):
        code, out, err = call("predict", saved, path, "--missing=blank")
    ends_well(code, out, err)
    nothing_plain_is_refused(code, err)
    are_beside_their_lines(lines, out)


@oracle
def categories_are_no_numbers(names: list[str], code: int, err: str) -> None:
    """A column that is declared to hold categories is refused by its name, not read as numbers."""
    assert code == 2, "it was read as numbers"
    for name in names:
        assert f'"{name}"' in err, err
    assert "categories" in err, err
    assert "--categorical" in err, err


@family("categories of files")
def declared_categories(case: Case) -> None:
    """Numbers, and words that could be numbers, of a file that declares them to be categories."""
    import pandas as pd
    import polars as pl

    n, levels = int(case.rng.integers(8, 30)), case.choose((1, 2, 3), (10, 20), (0, 1))
    drawn = [levels[i % len(levels)] for i in range(n)]
    numbers = {name: case.rng.standard_normal(n) for name in ("x", "y")}
    writers = ("categorical", "enum", *["pandas"] * (find_spec("pyarrow") is not None))
    form, kind = case.choose("parquet", "feather"), case.choose(*writers)
    small = case.chance(0.5)
    case.note(form=form, kind=kind, levels=levels, small=small)
    path = os.path.join(folder().name, "categories")
    if kind == "pandas":
        frame = pd.DataFrame({"c": pd.Categorical(drawn), **numbers})
        getattr(frame, f"to_{form}")(path)
        try:
            (pl.read_parquet if form == "parquet" else pl.read_ipc)(path)
        except pl.exceptions.PolarsError:  # those of old read none
            return
    else:
        texts = [str(level) for level in drawn]
        dtype = pl.Categorical if kind == "categorical" else pl.Enum(sorted(set(texts)))
        typed = pl.DataFrame({"c": pl.Series(texts, dtype=dtype), **numbers})
        (typed.write_parquet if form == "parquet" else typed.write_ipc)(path)
    with mock.patch("sparsewise.plan.TABLE_IN_MEMORY", 2**20 if small else 0):
        code, out, err = call("fit", path, "--target=y")
        ends_well(code, out, err)
        categories_are_no_numbers(["c"], code, err)
        code, out, err = call("fit", path, "--target=y", "--categorical=c")
    ends_well(code, out, err)
    nothing_plain_is_refused(code, err)


# --- faults ---------------------------------------------------------------------------------------


@fault(are_beside_their_lines, family="lines")
def blank_lines_that_are_no_rows():
    from sparsewise.io.tables import reading

    def without(*args):
        frame = read(*args)
        return frame.filter(~pl.all_horizontal(pl.all().is_null()))

    import polars as pl

    read = reading.text_frame
    return mock.patch("sparsewise.io.tables.reading.text_frame", without)


@fault(categories_are_no_numbers, family="categories of files")
def categories_without_a_way_out():
    return mock.patch("sparsewise.io.tables.validation._tells_groups", return_value=False)


@fault(ends_well, family="tables")
def an_error_that_gets_out():
    return mock.patch("sparsewise.io.tables.reading._named", side_effect=KeyError("no names"))


@fault(ends_well, family="commands")
def names_that_control_the_terminal():
    return mock.patch("sparsewise.summary.terminal.printable", lambda text: text)


@fault(nothing_plain_is_refused, family="commands")
def a_number_that_is_refused():
    return mock.patch("sparsewise.io.tables.parsing.LARGEST", 2.0)


@fault(is_json, family="commands")
def nan_in_json():
    return mock.patch("sparsewise.cli.fit_command.json.dumps", return_value='{"r2": NaN}')


@fault(is_least_squares, family="commands")
def rows_in_another_order():
    from sparsewise.io.tables.table import Chunk, Table

    def reversed_targets(table, rows):
        features, targets, *others = make(table, rows)
        return Chunk(features, targets.reverse(), *others)

    make = Table.chunk
    return mock.patch.object(Table, "chunk", reversed_targets)


@fault(is_best_subset, family="commands")
def everything_is_the_best():
    from sparsewise.summary.certificate_text import Certified

    fields, best = Certified.fields, {"status": "optimal", "better": None}
    return mock.patch.object(Certified, "fields", lambda self: fields(self) | best)


@fault(are_predictions, family="commands")
def predictions_without_a_level():
    return mock.patch("sparsewise.io.model.LinearModel.level", 0.0)


@fault(are_the_features, family="commands")
def formulas_in_csv():
    return mock.patch("sparsewise.cli.path_command.as_csv", lambda frame: frame.write_csv())
