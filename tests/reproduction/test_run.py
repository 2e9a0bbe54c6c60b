"""A run from its declaration to its files, whatever happens on the way."""

import contextlib
import csv
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from joblib import cpu_count

from reproduction import units
from reproduction.declaration import Contender
from reproduction.generators import FAMILIES
from reproduction.paper import EXPERIMENTS, TABLE_1
from reproduction.run import adapted, check_algorithms, run
from reproduction.tables import realizations
from reproduction.workers import processes
from sparsewise import ALGORITHMS, omp
from sparsewise.errors import InputError
from tests.reproduction.small import BP, GRID, OMP, small, untimed

FILES = {"units", "results.csv", "run.json", "values.csv"}


def files(folder):
    """The files of finished units, and when they were written."""
    return {path: path.stat().st_mtime_ns for path in (folder / "units").glob("*.json")}


def column(rows, name):
    return [row[name] for row in rows]


def table(path):
    """A table of a run, numbers as such."""
    with path.open(newline="", encoding="utf-8") as file:
        return [{name: parsed(name, row[name]) for name in row} for row in csv.DictReader(file)]


def parsed(name, text):
    words = ("experiment", "algorithm", "error_message")
    return text or None if name in words else float(text)


# --- what a run leaves behind ---------------------------------------------------------------------


@pytest.fixture(scope="module")
def outcome(tmp_path_factory):
    return run([small(), small("other", [OMP])], tmp_path_factory.mktemp("run"), jobs=1)


def test_the_files(outcome):
    assert {path.name for path in outcome.folder.iterdir()} == FILES
    assert table(outcome.folder / "results.csv") == outcome.results
    assert table(outcome.folder / "values.csv") == list(realizations(outcome.records))
    assert json.loads((outcome.folder / "run.json").read_text()) == outcome.facts


def test_a_row_for_each_cell_and_contender(outcome):
    assert column(outcome.results, "experiment") == ["small"] * 6 + ["other"] * 2
    assert column(outcome.of("small"), "algorithm") == ["OMP", "RMP_σ", "BP"] * 2
    assert column(outcome.of("small"), "k") == [2] * 3 + [4] * 3
    assert column(outcome.of("other"), "algorithm") == ["OMP"] * 2
    assert outcome.of("another") == []
    assert column(outcome.results, "trials") == [4] * 8
    assert column(outcome.results, "error_message") == [None] * 8
    assert column(outcome.results, "seed") == [0] * 8


def test_rows_are_averages_of_values(outcome):
    drawn = list(realizations(outcome.records))
    assert column(drawn, "realization") == [0, 1, 2, 3] * 8
    for i, row in enumerate(outcome.results):
        mine = drawn[4 * i : 4 * i + 4]
        for name in ("experiment", "algorithm", "n", "m", "k", "noise", "delta"):
            assert column(mine, name) == [row[name]] * 4
        assert row["successes"] == sum(column(mine, "success")) == 4 * row["rate"]
        assert row["error"] == pytest.approx(np.mean(column(mine, "error")))
        assert row["size"] == pytest.approx(np.mean(column(mine, "size")))
        assert row["seconds"] == pytest.approx(np.median(column(mine, "seconds")))
        assert row["low"] <= row["rate"] <= row["high"]


def test_the_facts(outcome):
    facts = outcome.facts
    assert (facts["seed"], facts["jobs"], facts["dask"]) == (0, 1, None)
    assert set(facts["work_seconds"]) == {"small", "other"}
    assert 0 < sum(facts["work_seconds"].values()) < facts["seconds"]
    assert facts["numpy"] == __import__("numpy").__version__


def test_units_that_all_failed_leave_their_errors(tmp_path):
    bad = small(contenders=[Contender("bad", "omp", {"residual": -1.0})])
    outcome = run([bad], tmp_path, jobs=1)
    assert column(outcome.results, "trials") == [0, 0]
    assert all("InputError" in message for message in column(outcome.results, "error_message"))
    assert all("rate" not in row for row in outcome.results)
    assert outcome.records_of("small") == []
    assert not files(tmp_path)
    assert table(tmp_path / "results.csv") == outcome.results


def test_an_experiment_without_contenders_has_no_rows(tmp_path):
    """As where only some of several experiments have the algorithms asked for."""
    outcome = run([small(contenders=[])], tmp_path, jobs=1)
    assert outcome.of("small") == []


# --- what is refused ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"seed": -1}, "^seed must be a whole number from 0 to .*, not -1$"),
        ({"seed": 2**63}, "^seed must be a whole number from 0"),
        ({"jobs": 0}, "^jobs must be 1 or more, or -1 for as many as there are cores, not 0$"),
    ],
)
def test_words_that_cannot_be_used(tmp_path, words, message):
    with pytest.raises(InputError, match=message):
        run([small()], tmp_path / "new", **words)
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"realizations": 0}, "^small needs at least 1 realisation, not 0$"),
        ({"family": "gausian"}, '^there is no family "gausian"; did you mean "gaussian"'),
        ({"signal": "sgns"}, '^there is no signal "sgns"; did you mean "signs"'),
        ({"task": "recover"}, '^there is no task "recover"; did you mean "recovery"'),
    ],
)
def test_experiments_that_cannot_be_run(tmp_path, change, message):
    with pytest.raises(InputError, match=message):
        run([small(**change)], tmp_path)


def test_a_folder_that_holds_a_run_is_left_alone(outcome):
    before = files(outcome.folder)
    with pytest.raises(InputError, match=r"holds a run already: go on with it by --resume, or"):
        run([small()], outcome.folder, jobs=1)
    assert files(outcome.folder) == before


def test_a_run_that_was_killed_before_its_first_unit_is_none(tmp_path):
    (tmp_path / "units").mkdir()
    (tmp_path / "units" / ".1.draft").touch()
    assert len(run([small(contenders=[OMP])], tmp_path, jobs=1).results) == 2


def test_a_folder_that_cannot_be_made(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match=r"^can't make the folder .*file: Not a directory$"):
        run([small()], tmp_path / "file", jobs=1)
    with pytest.raises(InputError, match=r"^can't make the folder .*deeper: Not a directory$"):
        run([small()], tmp_path / "file" / "deeper", jobs=1)


def test_nothing_is_written_where_a_link_points_to(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "urandom", bytes)  # for a name of the draft that is known
    for place in ("unit.json", f".{os.getpid()}-00000000.draft"):
        victim, link = tmp_path / "other", tmp_path / place
        victim.write_text("precious")
        link.symlink_to(victim)
        with contextlib.suppress(InputError):
            units.write(tmp_path / "unit.json", "{}")
        assert victim.read_text() == "precious"
        link.unlink(missing_ok=True)


def test_tables_that_cannot_be_written(tmp_path):
    (tmp_path / "results.csv").mkdir()
    with pytest.raises(InputError, match=r"^can't write .*results\.csv: Is a directory; what"):
        run([small(contenders=[OMP])], tmp_path, jobs=1)
    assert not list(tmp_path.glob("*.draft"))
    (tmp_path / "results.csv").rmdir()
    assert len(run([small(contenders=[OMP])], tmp_path, jobs=1, resume=True).results) == 2


# --- adapted --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_quick_is_smaller(name):
    def size(experiment):
        return len(list(experiment.units())) * experiment.realizations

    quick = adapted(EXPERIMENTS[name], quick=True)
    assert size(quick) <= size(EXPERIMENTS[name])
    assert quick.name == name


def test_quick_of_ones_own():
    assert adapted(small(realizations=200), quick=True).realizations == 16
    assert adapted(small(realizations=4), quick=True).realizations == 4


def test_realizations_and_algorithms_win_over_quick():
    found = adapted(TABLE_1, quick=True, realizations=3, algorithms=["BP", "OMP"])
    assert found.realizations == 3
    assert [one.label for one in found.contenders] == ["OMP", "BP"]


def test_an_algorithm_that_no_experiment_has():
    check_algorithms([small(), small("other", [BP])], ["BP", "OMP"])
    with pytest.raises(InputError, match=r'^there is no algorithm "OPM"; did you mean "OMP"'):
        check_algorithms([small()], ["OPM"])


# --- killed, stopped, and gone on -----------------------------------------------------------------

RUN = """
import signal, sys, time
from sparsewise import ALGORITHMS, omp
from reproduction.run import run
from reproduction.declaration import Contender
from tests.reproduction.small import small

def slow(A, y, *, residual):
    time.sleep(0.02)
    return omp(A, y, residual=residual)

if __name__ == "__main__":
    ALGORITHMS["slow"] = slow
    folder, jobs = sys.argv[1], int(sys.argv[2])
    signal.signal(signal.SIGINT, signal.default_int_handler)
    contenders = [Contender(f"{i}", "slow", {"residual": "delta"}) for i in range(8)]
    try:
        run([small(contenders=contenders)], folder, jobs=jobs, resume="resume" in sys.argv)
    except KeyboardInterrupt:
        sys.exit(130)
"""
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(__file__)))


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory):
    contenders = [Contender(f"{i}", "slow", {"residual": "delta"}) for i in range(8)]
    ALGORITHMS["slow"] = omp
    try:
        return run([small(contenders=contenders)], tmp_path_factory.mktemp("whole"), jobs=1)
    finally:
        del ALGORITHMS["slow"]


def start(script, folder, jobs, *words):
    """A run of its own, at the head of a group of processes."""
    script.write_text(RUN)
    return subprocess.Popen(
        [sys.executable, script, folder, f"{jobs}", *words],
        env=os.environ | {"PYTHONPATH": os.pathsep.join([ROOT, *filter(None, sys.path)])},
        stderr=subprocess.PIPE,
        start_new_session=True,
    )


def wait(what, seconds=60):
    """Wait for what must come true some time."""
    end = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < end, "nothing happened"
        time.sleep(0.01)


def wait_for_units(folder, many):
    wait(lambda: len(files(folder)) >= many)


def gone(group):
    """Whether no process of a group is left."""
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return True
    return False


def finish(script, folder, jobs=2):
    """Go on with a run to its end."""
    process = start(script, folder, jobs, "resume")
    assert process.communicate()[1] == b""
    assert process.returncode == 0


def check_same(folder, expected):
    """Every unit has its file, and the tables are those of a run without interruption."""
    assert len(files(folder)) == 16
    for name, rows in (("results", expected.results), ("values", realizations(expected.records))):
        assert untimed(table(folder / f"{name}.csv")) == untimed(rows)


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_killed_run_goes_on_where_it_was(tmp_path, uninterrupted, jobs):
    folder = tmp_path / "run"
    process = start(tmp_path / "run.py", folder, jobs)
    with process.stderr:
        wait_for_units(folder, 3)
        os.kill(process.pid, signal.SIGKILL)
        assert process.wait() == -signal.SIGKILL
    done = files(folder)
    assert 3 <= len(done) < 16
    assert json.loads((folder / "run.json").read_text())["seconds"] > 0
    # Its workers don't live on, to no purpose.
    wait(lambda: gone(process.pid))
    finish(tmp_path / "run.py", folder, jobs)
    # What was done is as it was.
    assert done.items() <= files(folder).items()
    check_same(folder, uninterrupted)


def test_ctrl_c_stops_a_run_and_its_workers(tmp_path, uninterrupted):
    folder = tmp_path / "run"
    process = start(tmp_path / "run.py", folder, 2)
    wait_for_units(folder, 3)
    os.killpg(process.pid, signal.SIGINT)
    assert process.communicate()[1] == b""
    assert process.returncode == 130
    wait(lambda: gone(process.pid))
    done = files(folder)
    assert len(done) < 16
    finish(tmp_path / "run.py", folder, jobs=1)
    assert done.items() <= files(folder).items()
    check_same(folder, uninterrupted)


def test_interrupted_in_this_process(tmp_path, uninterrupted, monkeypatch):
    monkeypatch.setitem(ALGORITHMS, "slow", omp)
    contenders = [Contender(f"{i}", "slow", {"residual": "delta"}) for i in range(8)]
    ended = []

    def told(unit, record):
        ended.append(unit)
        if len(ended) == 5:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run([small(contenders=contenders)], tmp_path, jobs=1, on_unit=told)
    assert len(files(tmp_path)) == 5
    outcome = run([small(contenders=contenders)], tmp_path, jobs=1, resume=True)
    check_same(tmp_path, uninterrupted)
    assert untimed(outcome.results) == untimed(uninterrupted.results)


def test_the_time_of_all_parts_counts(tmp_path):
    first = run([small(contenders=[OMP])], tmp_path, jobs=1)
    (tmp_path / "run.json").write_text(json.dumps(first.facts | {"seconds": 1000.0}))
    again = run([small(contenders=[OMP])], tmp_path, jobs=1, resume=True)
    assert 1000 < again.facts["seconds"] < 1100
    assert again.facts["work_seconds"] == first.facts["work_seconds"]
    (tmp_path / "run.json").write_text("[")
    assert run([small(contenders=[OMP])], tmp_path, jobs=1, resume=True).facts["seconds"] < 100


@pytest.mark.parametrize(
    "seconds", ["NaN", "Infinity", "-1e9", "1e300", "1" * 400, "null", "[" * 5000, '"long"']
)
def test_a_damaged_time(tmp_path, seconds):
    run([small(contenders=[OMP])], tmp_path, jobs=1)
    (tmp_path / "run.json").write_text(f'{{"seconds": {seconds}}}')
    again = run([small(contenders=[OMP])], tmp_path, jobs=1, resume=True)
    assert 0 < again.facts["seconds"] < 100


# --- labels and numbers of processes --------------------------------------------------------------


LABELS = ("=1+1", "+1", "-1", "@SUM(1)", "a=1")


def test_no_label_is_a_formula_of_a_spreadsheet(tmp_path):
    contenders = [replace(OMP, label=label) for label in LABELS]
    outcome = run([small(contenders=contenders, grid=GRID | {"k": (2,)})], tmp_path, jobs=1)
    assert column(outcome.results, "algorithm") == list(LABELS)
    with (tmp_path / "results.csv").open(newline="") as file:
        head, *rows = csv.reader(file)
    safe = ["'=1+1", "'+1", "'-1", "'@SUM(1)", "a=1"]
    assert [row[head.index("algorithm")] for row in rows] == safe
    for name in ("low", "rate", "error", "seconds", "total_seconds"):
        found = [float(row[head.index(name)]) for row in rows]
        assert found == column(outcome.results, name)


def test_no_more_processes_than_units():
    assert processes(100_000, 2) == 2
    assert processes(10**30, 8 * cpu_count()) == 4 * cpu_count()
    assert processes(1, 8) == 1
    assert processes(-1, 8 * cpu_count()) == cpu_count()


# --- Dask -----------------------------------------------------------------------------------------


def local_cluster(**words):
    distributed = pytest.importorskip("distributed")
    usual = {"n_workers": 1, "threads_per_worker": 1, "processes": False, "dashboard_address": ":0"}
    return distributed.LocalCluster(**usual | words)


@pytest.fixture(scope="module")
def cluster():
    with local_cluster(threads_per_worker=2) as found:
        yield found


def test_dask_gives_the_same_numbers(tmp_path, cluster, outcome):
    events = []
    found = run(
        [small(), small("other", [OMP])],
        tmp_path,
        dask=cluster.scheduler_address,
        on_start=lambda *numbers: events.append(numbers),
        on_unit=lambda *_: events.append(len(files(tmp_path))),
    )
    assert untimed(found.results) == untimed(outcome.results)
    assert untimed(realizations(found.records)) == untimed(realizations(outcome.records))
    assert events == [(8, 0), 1, 2, 3, 4, 5, 6, 7, 8]
    assert found.facts["dask"] == cluster.scheduler_address


def test_a_unit_that_fails_on_dask(tmp_path, cluster):
    bad = Contender("bad", "omp", {"residual": -1.0})
    outcome = run([small(contenders=[bad, OMP])], tmp_path, dask=cluster.scheduler_address)
    assert [row["error_message"] is None for row in outcome.results] == [False, True] * 2


def test_a_dask_scheduler_that_goes_away(tmp_path, outcome):
    with (
        local_cluster() as cluster,
        pytest.raises(InputError, match=r"^the Dask scheduler is gone; what is done is kept"),
    ):
        run([small()], tmp_path, dask=cluster.scheduler_address, on_unit=lambda *_: cluster.close())
    assert 1 <= len(files(tmp_path)) < 6
    found = run([small()], tmp_path, jobs=1, resume=True)
    assert untimed(found.results) == untimed(outcome.of("small"))


def test_a_dask_worker_that_dies(tmp_path, monkeypatch):
    dask = pytest.importorskip("dask")
    monkeypatch.setitem(ALGORITHMS, "dies", lambda A, y: os._exit(3))
    experiment = small(contenders=[Contender("dies", "dies"), OMP], grid=GRID | {"k": (2,)})
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 0}),
        local_cluster(processes=True, silence_logs=50) as cluster,
    ):
        outcome = run([experiment], tmp_path, dask=cluster.scheduler_address)
    assert [row["error_message"] is None for row in outcome.results] == [False, True]
    assert "KilledWorker" in outcome.results[0]["error_message"]


@pytest.mark.parametrize(
    "address",
    ["127.0.0.1:1", "no.invalid:8786", "127.0.0.1:99999", "nonsense://x", "tcp://", "a b", ""],
)
def test_a_wrong_address_of_dask(tmp_path, monkeypatch, address):
    pytest.importorskip("distributed")
    monkeypatch.setattr("reproduction.workers.PATIENCE", 0.2)
    with pytest.raises(InputError, match=r"^there is no Dask scheduler at ") as caught:
        run([small()], tmp_path, dask=address)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 300


def test_another_service_in_place_of_dask(tmp_path, monkeypatch):
    """One that waits to be spoken to, as web servers do."""
    pytest.importorskip("distributed")
    monkeypatch.setattr("reproduction.workers.PATIENCE", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"127.0.0.1:{server.getsockname()[1]}"
        with pytest.raises(InputError, match=r"^there is no Dask scheduler at .*: timed out$"):
            run([small()], tmp_path, dask=address)


def test_without_dask(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "dask.distributed", None)
    with pytest.raises(InputError, match=r"^dask needs the package distributed: pip install"):
        run([small()], tmp_path, dask="127.0.0.1:8786")


# --- documentation --------------------------------------------------------------------------------


def test_what_the_page_on_experiments_shows(tmp_path, monkeypatch, capsys):
    page = (Path(ROOT) / "docs" / "experiments.md").read_text()
    first, second = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    monkeypatch.chdir(tmp_path)
    names: dict = {}
    exec(first, names)
    assert capsys.readouterr().out.startswith("OMP 4 ")
    results = names["outcome"].results
    assert column(results, "error_message") == [None] * 4
    try:
        exec(second, names)
        added = replace(
            names["density"], family="positive", contenders=(Contender("2", "two_steps"),)
        )
        assert column(run([added], "added", jobs=1).results, "error_message") == [None] * 2
    finally:
        FAMILIES.pop("positive", None)
        ALGORITHMS.pop("two_steps", None)
