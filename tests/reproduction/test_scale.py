"""Condensing, chunks, Dask and the cost model, on little data."""

import sys
from contextlib import nullcontext
from dataclasses import asdict, replace

import numpy as np
import pytest

from reproduction.benchmarks import chunk_peers, on_dask, scale
from reproduction.benchmarks.chunk_peers import Table, contenders, least_squares, peers, table
from reproduction.benchmarks.cost_model import TOGETHER, Asked, Cost, Machine, tall, wide
from reproduction.benchmarks.on_dask import (
    Case,
    Run,
    Sizes,
    Watched,
    dask_page,
    model_page,
    plan_page,
)
from reproduction.benchmarks.scale import condensing, run_and_watch

PLAIN = Machine(fold=1e10, merge=1e10, product=1e10, memory=1e10, link=1e9, task=1e-3, trip=1e-3)
ASKED = Asked(passes=10, products=100, columns=500)


LITTLE = {"ROWS": 60, "PART": 500, "BLOCK": 500, "STEPS": 5, "TASKS": 20}


def test_tall_work_is_that_of_qr_and_halves_with_twice_the_workers():
    one, two = (tall(PLAIN, 1e7, 198, workers, 2) for workers in (1, 2))
    flop = 2 * 1e7 * 200**2
    merge = 2 * 200**3 / 1e10
    assert one.work == pytest.approx(flop / 1e10 + merge)
    assert two.work == pytest.approx(flop / 2e10 + merge)  # of the triangles of both
    assert two.travel - one.travel == pytest.approx(8 * 200**2 / 1e9 + 1e-3)
    assert one.seconds == one.work + one.travel + one.tasks


@pytest.mark.parametrize(("workers", "rounds"), [(1, 0), (2, 1), (8, 1), (9, 2), (64, 2), (100, 3)])
def test_triangles_go_up_a_tree(workers, rounds):
    cost = tall(replace(PLAIN, link=np.inf), 1e9, 100, workers, workers)
    assert cost.travel == pytest.approx((1 + rounds) * 1e-3)


def test_travel_of_tall_data_does_not_depend_on_rows():
    assert tall(PLAIN, 1e6, 50, 4, 40).travel == tall(PLAIN, 1e9, 50, 4, 40).travel


def test_wide_data_are_read_or_multiplied_whichever_takes_longer():
    cost = wide(PLAIN, 1000, 1e6, 4, ASKED)
    assert cost.work == pytest.approx(2 * 1000 * 1e6 * 100 / 4 / 1e10)
    slow = wide(replace(PLAIN, memory=1e8), 1000, 1e6, 4, ASKED)
    assert slow.work == pytest.approx(10 * 8 * 1000 * 1e6 / 4 / 1e8)


def test_what_travels_of_wide_data():
    """Products of all columns come up, whatever the number of workers; V goes down to each."""
    one, four = (wide(replace(PLAIN, trip=0.0), 1000, 1e6, w, ASKED).travel for w in (1, 4))
    assert one == pytest.approx(8 * (1e6 * 100 + 1000 * 500 + 1000 * 100) / 1e9)
    assert four - one == pytest.approx(8 * 1000 * 100 * 3 / 1e9)


def test_the_model_merges_as_many_at_once_as_the_library():
    distributed = pytest.importorskip("sparsewise.suffstats.dask_collections")
    assert distributed.TOGETHER == TOGETHER


def test_the_pages_of_dask():
    costs = {1: Cost(4.0, 1.0, 0.0), 2: Cost(2.0, 1.0, 0.5, 0.5)}
    case = Case(
        "tall", 2.0, lambda client: Run(0.0, 0.0, 0.0), lambda numbers, workers: costs[workers]
    )
    runs = {("tall", 1): Run(6.0, 5.0, 2**20), ("tall", 2): Run(3.0, 2.5, 2**21)}
    told = dask_page([case], runs).splitlines()[2]
    assert told == "| tall | 2 s | 6 s | 3 s | 2.00× | 3.00× | 2.00×, 2.50× | 2 MiB |"
    one, two = model_page([case], runs, PLAIN).splitlines()[2:]
    assert one == "| tall | 1 | 4 s | 1 s | 0 | 0 | 5 s | 6 s | 1.20 | 5 s |"
    assert two == "| tall | 2 | 2 s | 1 s | 500 ms | 500 ms | 4 s | 3 s | 0.75 | 2.5 s |"


def test_dask_and_the_model_of_it(dask_client, monkeypatch):
    """All of it on little data, with the same two workers every time."""
    for name, value in LITTLE.items():
        monkeypatch.setattr(on_dask, name, value)
    monkeypatch.setattr(on_dask, "resident", lambda call: 0.0)  # looks through all of this process
    monkeypatch.setattr(on_dask, "cluster", lambda workers: nullcontext(dask_client))
    times, model, plan, numbers = on_dask.on_dask(Sizes((2000, 10), (2000,), 1))
    assert [row.split(" | ")[0] for row in times.splitlines()[2:]] == [
        "| tall, 2,000×10",
        "| wide, 60×2,000, 5 steps",
    ]
    assert len(model.splitlines()) == 2 + 4
    assert len(plan.splitlines()) == 2 + 2
    assert all(value > 0 for value in asdict(numbers).values())


def test_the_plan():
    tall_row, wide_row = plan_page(PLAIN, ASKED).splitlines()[2:]
    assert tall_row.startswith("| tall, 10⁹×1000 | 100 | 34 min")  # 2e15 flop of a hundred workers
    assert wide_row.startswith("| wide, 10⁵×10⁷, 100 steps | 100 | 3 min 20 s |")


def test_what_is_asked_of_a_matrix_is_noted():
    design = Watched(np.arange(12.0).reshape(3, 4))
    design.rmatmat(np.ones((3, 2)))
    design.columns(np.array([1, 3]))
    design.rmatmat(np.ones((3, 1)))
    assert design.asked(passes=2) == Asked(passes=2, products=3, columns=2, width=2)
    assert design.seconds >= 0


def test_wide_data_here_and_there_are_the_same(monkeypatch):
    pytest.importorskip("dask")
    monkeypatch.setattr(on_dask, "ROWS", 30)
    monkeypatch.setattr(on_dask, "PART", 200)
    np.testing.assert_array_equal(on_dask.wide_array(600).compute(), on_dask.wide_matrix(600))
    assert on_dask.wide_target().shape == (30,)


def test_every_contender_finds_the_features():
    data = table(4000, 20)
    for name, (_, fit) in contenders(500).items():
        coef = fit(data)
        assert np.linalg.norm(coef - data.coef) < 0.2 * np.linalg.norm(data.coef), name


def test_the_page_of_peers(monkeypatch):
    exact = {"exact": ("1", lambda data: least_squares(data, data.coef != 0))}
    monkeypatch.setattr(chunk_peers, "contenders", lambda chunk: exact)
    told = peers(2000, 20).splitlines()[2].split(" | ")
    assert told[0] == "| exact"
    assert told[2:4] == ["1", "2"]
    assert told[5] == "0e+00 |"


def test_least_squares_of_some_features():
    data = table(300, 8)
    exact = Table(data.X, 1 + data.X @ data.coef, data.coef)
    np.testing.assert_allclose(least_squares(exact, data.coef != 0), data.coef, atol=1e-12)


def test_the_page_of_condensing():
    _, _, row = condensing(3000, widths=(10,)).splitlines()
    assert row.startswith("| 10 | 3,000 | ")
    assert row.count("%") == 2


def test_a_process_is_watched():
    seconds, peak = run_and_watch([sys.executable, "-c", "x = b'1' * (50 << 20)"])
    assert seconds > 0
    assert 50 << 20 < peak < 500 << 20
    with pytest.raises(RuntimeError, match="no such thing"):
        run_and_watch([sys.executable, "-c", "raise SystemExit('no such thing')"])


def test_a_folder_of_files(monkeypatch, tmp_path):
    """Files are written, fitted, told and removed."""
    asked = []
    monkeypatch.setattr(scale, "FILE_ROWS", 100)
    monkeypatch.setattr(scale, "DRAWN", 2)
    monkeypatch.setattr(scale, "run_and_watch", lambda words: asked.append(words) or (2.0, 2**27))
    told = scale.folder(100 * 8 * 51 * 3 / 1e9, tmp_path).splitlines()[2]
    assert told.startswith("| 3 Parquet files, 0.0 GB | 300 | 2 s | ")
    assert told.endswith(" | 128 MiB |")
    first, whole = asked  # the first compiles
    assert first[1:4] == whole[1:4] == ["-m", "sparsewise", "fit"]
    assert first[4] == f"{whole[4]}/part-0000.parquet"
    assert not list(tmp_path.iterdir())


def test_the_page_is_rewritten(monkeypatch, tmp_path, capsys):
    page = tmp_path / "scale.md"
    page.write_text("before\n<!-- files:begin -->\nold\n<!-- files:end -->\nafter\n")
    monkeypatch.setattr(scale, "PAGE", page)
    monkeypatch.setattr(scale, "folder", lambda gigabytes, scratch: f"new {gigabytes:g}")
    scale.main(["--part", "files", "--gigabytes", "2", "--write"])
    assert "new 2" in capsys.readouterr().out
    assert page.read_text() == "before\n<!-- files:begin -->\nnew 2\n<!-- files:end -->\nafter\n"
