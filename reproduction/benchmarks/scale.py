"""Data larger than memory, or than one machine.

``python -m reproduction.benchmarks.scale [--write]`` measures:
Condensing rows against LAPACK's QR; against peers that go through rows chunk by chunk
(`chunk_peers.py`); Dask with one worker process and with two (`on_dask.py`), and what the cost
model says of these (`cost_model.py`); a folder of files. BLAS has one thread everywhere.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import numpy as np
import polars as pl
from scipy.linalg import get_lapack_funcs

import sparsewise as sw
from reproduction.benchmarks.chunk_peers import peers, table
from reproduction.benchmarks.on_dask import Sizes, on_dask
from reproduction.document import rewrite
from reproduction.measure import best, duration, one_thread
from reproduction.tables import markdown

PAGE = Path(__file__).resolve().parents[2] / "docs" / "scale.md"

# --- condensing against LAPACK --------------------------------------------------------------------

CHUNK = 10_000_000
"""Entries that are given at once."""

LAPACK_ROWS = 4096
"""Rows of the chunks that LAPACK is quickest with here; all at once take half as long again."""


def condensing(rows: int, widths: Sequence[int] = (20, 50, 200, 1000)) -> str:
    """A row for each width; fewer rows of the widest, which would take long."""
    told = [
        ["features", "rows", "condensing", "LAPACK's QR", "speed", "`StepwiseRegressor` after it"],
    ]
    for m in widths:
        n = min(rows, rows * 200 // m)
        ours, lapack, fit = condense_once(n, m)
        times = (duration(ours), duration(lapack), f"{lapack / ours:.0%}")
        told.append([f"{m}", f"{n:,}", *times, f"{duration(fit)}, {fit / ours:.1%}"])
    return markdown(told)


def condense_once(n: int, m: int) -> tuple[float, float, float]:
    """Seconds for n rows, chunk by chunk in turns: condensed, by LAPACK's QR, and the fit after.

    LAPACK has [1 X y] in Fortran's order already, may overwrite it, and merges nothing.
    """
    X, y, _ = table(min(n, CHUNK // m), m)
    model = sw.StepwiseRegressor()
    model.fit(sw.Condensed().update(X[:5000], y[:5000]))  # compiles and imports
    whole = np.column_stack([np.ones(len(X)), X, y])
    starts = range(0, len(X), LAPACK_ROWS)
    geqrf, query = get_lapack_funcs(("geqrf", "geqrf_lwork"), (whole,))
    work = int(query(LAPACK_ROWS, m + 2)[0])
    rows, ours, lapack = sw.Condensed(), 0.0, 0.0
    for _ in range(max(1, n // len(X))):
        start = time.process_time()
        rows = rows.update(X, y)
        ours += time.process_time() - start
        for chunk in [np.asfortranarray(whole[s : s + LAPACK_ROWS]) for s in starts]:
            start = time.process_time()
            geqrf(chunk, lwork=work, overwrite_a=1)
            lapack += time.process_time() - start
    return ours, lapack, best(lambda: model.fit(rows), 3, time.process_time)


# --- files ----------------------------------------------------------------------------------------

FILE_COLUMNS = 50
FILE_ROWS = 250_000
DRAWN = 4  # files of their own; the others are copies, which are made quickly


def folder(gigabytes: float, scratch: Path) -> str:
    """A folder of Parquet files of this size by `sparsewise fit`: time, and memory at most."""
    parts = max(1, round(gigabytes * 1e9 / (8 * FILE_ROWS * (FILE_COLUMNS + 1))))
    with tempfile.TemporaryDirectory(dir=scratch) as place:
        files = [Path(place) / f"part-{i:04}.parquet" for i in range(parts)]
        for i, file in enumerate(files):
            if i < DRAWN:
                write_table(file, seed=i)
            else:
                shutil.copyfile(files[i % DRAWN], file)
        size = sum(path.stat().st_size for path in files)
        run_and_watch(fit_words(files[0]))  # compiles what is compiled once
        seconds, peak = run_and_watch(fit_words(place))
    rows = [
        ["folder", "rows", "time", "read at", "most memory"],
        [
            f"{parts} Parquet files, {size / 1e9:.1f} GB",
            f"{parts * FILE_ROWS:,}",
            duration(seconds),
            f"{size / 1e6 / seconds:.0f} MB/s",
            f"{peak / 2**20:.0f} MiB",
        ],
    ]
    return markdown(rows)


def write_table(file: Path, seed: int) -> None:
    """Random rows as Parquet."""
    data = table(FILE_ROWS, FILE_COLUMNS, seed)
    frame = pl.DataFrame({f"x{j}": data.X[:, j] for j in range(FILE_COLUMNS)})
    frame.with_columns(y=data.y).write_parquet(file)


def fit_words(place: str | Path) -> list[str]:
    """The command that fits a file, or a folder of them."""
    return [sys.executable, "-m", "sparsewise", "fit", str(place), "--target", "y"]


# A process begins with the peak of the one it was started by: a small one is put in between.
WATCHED = """
import os, subprocess, sys
child = subprocess.Popen(sys.argv[2:])
_, status, usage = os.wait4(child.pid, 0)
with open(sys.argv[1], "w") as file:
    file.write(str(usage.ru_maxrss))
sys.exit(os.waitstatus_to_exitcode(status))
"""


def run_and_watch(words: list[str]) -> tuple[float, float]:
    """Seconds and peak resident bytes of a process."""
    root = Path(__file__).resolve().parents[2]
    path = os.pathsep.join(filter(None, [str(root / "src"), os.environ.get("PYTHONPATH")]))
    start = time.perf_counter()
    with tempfile.NamedTemporaryFile("r") as peak:
        run = subprocess.run(
            [sys.executable, "-c", WATCHED, peak.name, *words],
            capture_output=True,
            text=True,
            env={**os.environ, "PYTHONPATH": path},
        )
        if run.returncode:
            raise RuntimeError(run.stderr[-2000:])
        return time.perf_counter() - start, 1024.0 * float(peak.read())


# --- the page -------------------------------------------------------------------------------------

PARTS = ("condensing", "peers", "dask", "files")


def main(words: Sequence[str] | None = None) -> None:
    """Measure, print, and with --write rewrite docs/scale.md."""
    parser = argparse.ArgumentParser(
        prog="python -m reproduction.benchmarks.scale", description=__doc__
    )
    parser.add_argument("--part", action="append", choices=PARTS, help="this part alone")
    parser.add_argument("--rows", type=int, default=2_000_000, help="to condense")
    parser.add_argument("--peer-rows", type=int, default=200_000)
    parser.add_argument("--tall", type=int, nargs=2, default=(1_000_000, 200), metavar=("N", "M"))
    parser.add_argument("--wide", type=int, nargs="+", default=(50_000, 500_000), metavar="M")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--gigabytes", type=float, default=10.0, help="of files")
    parser.add_argument("--scratch", type=Path, default=Path(tempfile.gettempdir()))
    parser.add_argument("--write", action="store_true", help="rewrite docs/scale.md")
    args = parser.parse_args(words)
    told: dict[str, str] = {}
    with one_thread:
        for part in args.part or PARTS:
            if part == "condensing":
                told[part] = condensing(args.rows)
            elif part == "peers":
                told[part] = peers(args.peer_rows)
            elif part == "dask":
                sizes = Sizes(tuple(args.tall), args.wide, args.rounds)
                told["dask"], told["model"], told["plan"], numbers = on_dask(sizes)
                print(json.dumps(asdict(numbers)), file=sys.stderr)
            else:
                told[part] = folder(args.gigabytes, args.scratch)
            print(f"{part}: done", file=sys.stderr, flush=True)
    print("\n\n".join(told.values()))
    if args.write:
        rewrite(PAGE, told)


if __name__ == "__main__":
    main()
