"""Files that Dask workers read: two processes, and the answers of one."""

import json
import os
import signal

import pytest

from sparsewise._util.dask_cluster import Cluster
from sparsewise.cli import main
from sparsewise.errors import ClusterError
from sparsewise.io.tables import open_files, stored_files
from tests.cli import test_streams
from tests.cli.test_fit import POSIX
from tests.cli.test_streams import LESS, N, same

run, refuse, plain_terminal = test_streams.run, test_streams.refuse, test_streams.plain_terminal
folder = test_streams.folder

WORDS = {
    "by itself": LESS,
    "levels and gaps": ["--categorical", "site,group", "--exclude", "w", "--drop-missing"],
    "gaps filled in": ["--categorical", "site,group", "--weights", "w", "--impute", "indicator"],
    "weighted folds": ["--weights", "w", "--exclude", "site,group,gaps", "--criterion", "cv"],
    "a column of folds": ["--exclude", "group,w,gaps", "--fold-column", "site"],
    "rows left out": [*LESS, "--criterion", "loo"],
}


@pytest.fixture
def address(dask_cluster, dask_client):  # which has waited for both workers
    return dask_cluster.scheduler_address


@pytest.mark.parametrize("words", WORDS)
def test_the_same_model_by_workers(run, folder, address, words):
    args = ("fit", folder, "--target", "y", *WORDS[words], "--json")
    here, there = json.loads(run(*args)), json.loads(run(*args, "--dask", address))
    if "loo" not in WORDS[words]:
        note = "the rows were condensed into a triangle by 2 Dask workers"
        assert there["notes"].pop() == note
        assert note not in here["notes"]
    for fit in (here, there):
        for row in fit["path"]:
            row.pop("loo", None)
    assert same(here, there)


@pytest.mark.parametrize("words", ["by itself", "weighted folds"])
def test_the_same_model_of_several_targets_by_workers(run, folder, address, words):
    args = ("fit", folder, "--target", "y,s4", *WORDS[words], "--json")
    here, there = json.loads(run(*args)), json.loads(run(*args, "--dask", address))
    assert there["notes"].pop() == "the rows were condensed into a triangle by 2 Dask workers"
    for fit in (here, there):
        for row in fit["path"]:
            row.pop("loo", None)
    assert same(here, there)


def test_paths_by_workers(run, folder, address):
    args = ("path", folder, "--target", "y", *LESS, "--csv")
    here, there = run(*args), run(*args, "--dask", address)
    assert [line.split(",")[:4] for line in here.splitlines()] == [
        line.split(",")[:4] for line in there.splitlines()
    ]


def test_parquet_is_cut_into_parts_for_all_threads(folder):
    files = open_files([str(folder)])
    parts = list(stored_files._parts(files, threads=2))
    if files.files[0].is_text:
        assert parts == list(files.files)
        return
    assert len(parts) >= 8
    rows = [(part.label, row) for part in parts for row in range(part.start, part.end)]
    assert len(rows) == len(set(rows)) == N
    assert rows == sorted(rows)


def test_what_is_wrong_in_a_part_is_told_with_its_row(refuse, folder, address):
    line = refuse("fit", folder, "--target", "y", "--dask", address)
    assert "--categorical site,group" in line
    line = refuse("fit", folder, "--target", "site", *LESS, "--dask", address)
    assert 'holds text (the first is "site 0" in row 1 of' in line
    last = sorted(folder.iterdir())[-1]
    last.write_bytes(last.read_bytes()[: last.stat().st_size // 2])
    line = refuse("fit", folder, "--target", "y", *LESS, "--dask", address)
    assert str(last) in line or "missing values" in line


def test_files_that_the_workers_do_not_have(refuse, folder, address, monkeypatch):
    real = stored_files._parts

    def elsewhere(*args):
        for part in real(*args):
            object.__setattr__(part, "label", part.label.replace("part", "lost"))
            yield part

    monkeypatch.setattr(stored_files, "_parts", elsewhere)
    line = refuse("fit", folder, "--target", "y", *LESS, "--dask", address)
    assert "there is no file" in line
    assert "lost" in line


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:1", "127.0.0.1:1", "nonsense", "tcp://"])
def test_a_wrong_address_is_one_sentence(refuse, folder, address):
    line = refuse("fit", folder, "--target", "y", "--dask", address)
    assert f"there is no Dask scheduler at {address}" in line


def test_workers_read_files_only(refuse, address):
    assert "--dask needs files" in refuse("fit", "--example", "diabetes", "--dask", address)
    assert "- is nothing other machines could read" in refuse(
        "fit", "-", "--target", "y", "--dask", address
    )
    assert 'there is no file "none.csv"' in refuse(
        "fit", "none.csv", "--target", "y", "--dask", address
    )


@POSIX
@pytest.mark.parametrize("folder", ["parquet"], indirect=True)
def test_a_worker_that_is_killed_costs_nothing_but_time(run, folder, address, monkeypatch):
    args = ("fit", folder, "--target", "y", *LESS, "--json")
    here, asked, killed = json.loads(run(*args)), stored_files._submit, []

    def ask_and_kill(stored, cluster, *others):
        futures = asked(stored, cluster, *others)
        killed.append(next(iter(cluster.client.run(os.getpid).values())))
        os.kill(killed[-1], signal.SIGKILL)
        return futures

    monkeypatch.setattr(stored_files, "_submit", ask_and_kill)
    there = json.loads(run(*args, "--dask", address))
    assert len(killed) == 2
    assert there["notes"].pop().startswith("the rows were condensed into a triangle by")
    assert same(here, there)


@pytest.mark.parametrize("debug", [False, True])
def test_a_cluster_that_fails_is_one_sentence(capsys, folder, address, monkeypatch, debug):
    def fail(*args, **names):
        raise ClusterError("The Dask scheduler is gone", "start it again.")

    monkeypatch.setattr(Cluster, "ask", fail)
    words = ["fit", str(folder), "--target", "y", *LESS, "--dask", address]
    if debug:
        with pytest.raises(ClusterError):
            main([*words, "--debug"])
        return
    assert main(words) == 1
    assert capsys.readouterr() == ("", "sparsewise: The Dask scheduler is gone; start it again\n")
