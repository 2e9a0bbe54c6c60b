"""Units side by side: the same numbers however they are run, and nothing lost."""

import json
import math
import os
import resource
from dataclasses import replace
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from reproduction.declaration import Contender
from reproduction.generators import FAMILIES
from reproduction.tasks import TASKS
from reproduction.workers import run_units
from sparsewise import ALGORITHMS, omp
from sparsewise.errors import InputError
from tests.reproduction.small import OMP, small


def run(path, experiment=None, *, seed=0, jobs=1, units=None, **more):
    units = list((experiment or small()).units()) if units is None else units
    return run_units(units, path, seed=seed, jobs=jobs, **more)


def numbers(records):
    """All but how long it took."""
    return [
        (
            record["settings"],
            {name: found for name, found in record["values"].items() if name != "seconds"},
            record["error"],
        )
        for record in records
    ]


def files(path):
    return sorted(path.glob("*.json"))


# --- the same numbers -----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def expected(tmp_path_factory):
    return numbers(run(tmp_path_factory.mktemp("expected")))


def test_two_processes_give_the_numbers_of_one(tmp_path, expected):
    assert numbers(run(tmp_path, jobs=2)) == expected


def test_the_order_of_the_units_does_not_matter(tmp_path, expected):
    units = list(small().units())
    order = np.random.default_rng(0).permutation(len(units)).tolist()
    found = numbers(run(tmp_path, units=[units[i] for i in order]))
    assert found == [expected[i] for i in order]


def test_units_one_at_a_time_give_the_same(tmp_path, expected):
    assert numbers(run(tmp_path, small(serial=True), jobs=2)) == expected


def test_what_was_done_before_does_not_matter(tmp_path, expected):
    run(tmp_path, units=list(small().units())[1::2])
    assert numbers(run(tmp_path, jobs=2)) == expected


def test_more_realisations_begin_with_the_same(tmp_path, expected):
    for (_, few, _), (_, many, _) in zip(
        expected, numbers(run(tmp_path, small(realizations=6))), strict=True
    ):
        assert all(many[name][:4] == few[name] for name in few)


def test_another_seed_gives_other_numbers(tmp_path, expected):
    found = numbers(run(tmp_path, seed=1))
    assert all(a[1] != b[1] for a, b in zip(found, expected, strict=True))


def test_all_contenders_see_the_same_draws(tmp_path, monkeypatch):
    seen: dict[str, list] = {"a": [], "b": []}

    def spy(A, y, *, who):
        seen[who].append((A.copy(), y.copy()))
        return omp(A, y, sparsity=2)

    monkeypatch.setitem(ALGORITHMS, "spy", spy)
    run(tmp_path, small(contenders=[Contender(who, "spy", {"who": who}) for who in seen]))
    # Two cells of four realisations, the first of each twice.
    assert len(seen["a"]) == 10
    for (A, y), (B, z) in zip(seen["a"], seen["b"], strict=True):
        np.testing.assert_array_equal(A, B)
        np.testing.assert_array_equal(y, z)


def test_what_is_added_here_is_known_to_the_workers(tmp_path, monkeypatch):
    """One line adds a family or an algorithm, in a script of one's own, too."""
    monkeypatch.setitem(FAMILIES, "twos", lambda rng, n, m: 2 * rng.standard_normal((n, m)))
    monkeypatch.setitem(ALGORITHMS, "mine", lambda A, y: omp(A, y, sparsity=2))
    experiment = small(contenders=[Contender("mine", "mine")], family="twos")
    (tmp_path / "one").mkdir()
    found = run(tmp_path, experiment, jobs=2)
    assert [record["error"] for record in found] == [None, None]
    assert numbers(found) == numbers(run(tmp_path / "one", experiment))


# --- files of units -------------------------------------------------------------------------------


def test_every_unit_is_on_the_disk_when_it_is_told(tmp_path):
    kept = []
    records = run(tmp_path, on_unit=lambda unit, record: kept.append((files(tmp_path), record)))
    assert [len(there) for there, _ in kept] == [1, 2, 3, 4, 5, 6]
    assert [record for _, record in kept] == records[::-1]
    assert {path.read_text() for path in files(tmp_path)} == {json.dumps(one) for one in records}


def test_what_is_done_is_not_repeated(tmp_path, monkeypatch):
    records = run(tmp_path)
    monkeypatch.setattr("reproduction.workers.perform", None)
    before = {path: path.stat().st_mtime_ns for path in files(tmp_path)}
    assert run(tmp_path) == records
    assert run(tmp_path, jobs=2) == records
    assert {path: path.stat().st_mtime_ns for path in files(tmp_path)} == before


OTHER = {
    "seed": {"seed": 1},
    "realisations": {"experiment": small(realizations=5)},
    "signal": {"experiment": small(signal="normal")},
    "parameters": {"experiment": small(contenders=[replace(OMP, parameters={"sparsity": 2})])},
    "threshold": {"experiment": small(contenders=[replace(OMP, threshold=0.5)])},
    "grid": {"experiment": small(grid=small().grid | {"noise": (1e-3,)})},
}


@pytest.mark.parametrize("change", OTHER.values(), ids=OTHER)
def test_other_settings_reuse_nothing(tmp_path, change):
    run(tmp_path)
    done = []
    run(tmp_path, **change, on_start=lambda total, before: done.append(before))
    assert done == [0]


def test_two_of_one_label_have_files_of_their_own(tmp_path):
    twins = [Contender("a/b", "omp", {"sparsity": k}) for k in (1, 2)]
    records = run(tmp_path, small(contenders=twins))
    assert len(files(tmp_path)) == 4
    assert run(tmp_path, small(contenders=twins)) == records


DAMAGE = {
    "empty": b"",
    "zeros": b"\0" * 50,
    "not UTF-8": b'{"settings": "\xff"}',
    "cut off": b'{"settings": {"experiment": "small", "ta',
    "not a record": b"[1, 2, 3]",
    "no values": b'{"settings": {}, "values": {}, "error": null, "seconds": 1}',
    "endless lists": b"[" * 100_000,
    "words for numbers": (b'"size": [', b'"size": ["a", '),
    "not a number": (b'"size": [', b'"size": [NaN, '),
    "a value too many": (b'"size": [', b'"size": [1.0, '),
    "other settings": (b'"seed": 0', b'"seed": 1'),
    "no time": (b'"seconds": ', b'"minutes": '),
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_a_file_that_cannot_be_read_is_run_again(tmp_path, expected, damage, capsys):
    run(tmp_path)
    path = files(tmp_path)[0]
    whole = path.read_bytes()
    path.write_bytes(whole.replace(*damage) if isinstance(damage, tuple) else damage)
    done = []
    again = run(tmp_path, on_start=lambda total, before: done.append(before))
    assert (numbers(again), done) == (expected, [5])
    told = capsys.readouterr().err
    assert told.startswith("can't read ")
    assert f"{path.name}, so its unit is run again: " in told
    assert told.count("\n") == 1
    run(tmp_path, on_start=lambda total, before: done.append(before))
    assert (done, capsys.readouterr().err) == ([5, 6], "")


@pytest.mark.parametrize("cut", [0, 1, 100, -1])
def test_drafts_of_a_killed_run_are_no_units(tmp_path, expected, cut):
    run(tmp_path)
    path = files(tmp_path)[0]
    path.with_name(".123.draft").write_bytes(path.read_bytes()[:cut])
    path.unlink()
    done = []
    found = run(tmp_path, on_start=lambda total, before: done.append(before))
    assert (numbers(found), done) == (expected, [5])


@pytest.fixture
def disk():
    """Set how large a file may become, as on a disk that is nearly full."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)

    def limit(size):
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))

    yield SimpleNamespace(limit=limit, free=lambda: limit(before[0]))
    limit(before[0])


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_full_disk_loses_nothing_that_is_done(tmp_path, expected, disk, jobs):
    told = []
    run(tmp_path, units=list(small().units())[:1])
    disk.limit(files(tmp_path)[0].stat().st_size // 2)
    with pytest.raises(InputError, match=r"^can't write .*\.json: .*kept for --resume$"):
        run(tmp_path, jobs=jobs, on_unit=lambda unit, record: told.append(record))
    disk.free()
    # The limit holds in workers, too, where what they compile may not fit: such units fail.
    good = [record for record in told if record["error"] is None]
    assert len(good) == len(files(tmp_path)) == 1
    assert not list(tmp_path.glob(".*"))
    assert numbers(run(tmp_path)) == expected


def test_parameters_that_cannot_be_written_down(tmp_path):
    experiment = small(contenders=[Contender("odd", "omp", {"start": {1, 2}})])
    with pytest.raises(InputError, match=r"^the parameters of odd of small can't be written down"):
        run(tmp_path, experiment)
    endless = small(contenders=[Contender("odd", "omp", {"residual": math.inf})])
    with pytest.raises(InputError, match=r"^the parameters of odd of small can't be written down"):
        run(tmp_path, endless)


def test_numbers_of_numpy_are_numbers(tmp_path):
    grid = {"n": (np.int64(12),), "m": (np.int32(20),), "k": np.arange(2, 3)}
    omp = Contender("OMP", "omp", {"sparsity": np.int64(2), "start": np.arange(1)})
    experiment = small(contenders=[omp], grid=grid)
    records = run(tmp_path, experiment)
    assert records[0]["error"] is None
    assert run(tmp_path, experiment)[0]["values"] == records[0]["values"]


# --- failures -------------------------------------------------------------------------------------


def fails(A, y, *, how):
    if how == "raises":
        raise ValueError("first line\nsecond line")
    if how == "exits":
        raise SystemExit(3)
    if how == "nan":
        return SimpleNamespace(coef=np.full(A.shape[1], np.nan))
    os._exit(3)


FAILURES = {
    "raises": "^realisation 0: ValueError: first line second line$",
    "exits": "^SystemExit: 3$",
    "nan": '^ValueError: "error" of realisation 0 is nan$',
}


@pytest.mark.parametrize("jobs", [1, 2])
@pytest.mark.parametrize("how", FAILURES)
def test_a_unit_that_fails_is_recorded_and_the_rest_goes_on(tmp_path, monkeypatch, how, jobs):
    monkeypatch.setitem(ALGORITHMS, "fails", partial(fails, how=how))
    experiment = small(contenders=[Contender("bad", "fails"), OMP])
    found = run(tmp_path, experiment, jobs=jobs)
    assert [record["error"] is None for record in found] == [False, True, False, True]
    with pytest.raises(AssertionError, match=FAILURES[how]):
        raise AssertionError(found[0]["error"])
    assert found[0]["values"] == {}
    # Tried again the next time, and mended.
    monkeypatch.setitem(ALGORITHMS, "fails", lambda A, y: omp(A, y, sparsity=2))
    done = []
    again = run(
        tmp_path, experiment, jobs=jobs, on_start=lambda total, before: done.append((total, before))
    )
    assert done == [(4, 2)]
    assert [record["error"] for record in again] == [None] * 4


def test_wrong_parameters_are_recorded(tmp_path):
    bad = [
        Contender("word", "omp", {"nonsense": 1}),
        Contender("value", "omp", {"residual": -1.0}),
        Contender("quantity", "omp", {"residual": "dleta"}),
        Contender("algorithm", "opm"),
    ]
    found = run(tmp_path, small(contenders=bad, grid=small().grid | {"k": (2,)}))
    errors = [record["error"] for record in found]
    assert errors[0].startswith("realisation 0: TypeError: ")
    assert errors[1].startswith("realisation 0: InputError: ")
    assert errors[2].startswith("realisation 0: InputTypeError: ")
    assert errors[3] == "KeyError: 'opm'"


def test_a_worker_that_dies_takes_no_other_unit_along(tmp_path, monkeypatch):
    monkeypatch.setitem(ALGORITHMS, "fails", partial(fails, how="dies"))
    grid = small().grid | {"k": (1, 2, 3)}
    units = list(small(contenders=[OMP, Contender("dies", "fails")], grid=grid).units())[:-1]
    assert [unit.contender.label for unit in units] == ["OMP", "dies", "OMP", "dies", "OMP"]
    told = []
    found = run(tmp_path, units=units, jobs=2, on_unit=lambda unit, record: told.append(record))
    assert [record["error"] is None for record in found] == [True, False, True, False, True]
    assert "BrokenProcessPool" in found[1]["error"]
    assert (len(told), len(files(tmp_path))) == (5, 3)
    (tmp_path / "alone").mkdir()
    assert numbers(found[::2]) == numbers(run(tmp_path / "alone", units=units[::2]))


def test_what_cannot_be_sent_to_a_worker_is_recorded(tmp_path, monkeypatch):
    file = (tmp_path / "file").open("w")
    with file:
        monkeypatch.setitem(ALGORITHMS, "fails", lambda A, y: file)
        experiment = small(contenders=[Contender("unsendable", "fails"), OMP])
        found = run(tmp_path, experiment, jobs=2)
    assert [record["error"] is None for record in found] == [False, True] * 2
    assert "pickle" in found[0]["error"]


# --- threads --------------------------------------------------------------------------------------


def threads(unit, seed):
    return {"threads": [float(library["num_threads"]) for library in threadpool_info()]}


@pytest.mark.parametrize("jobs", [1, 2])
def test_one_thread_for_blas(tmp_path, monkeypatch, jobs):
    monkeypatch.setitem(TASKS, "threads", threads)
    # Workers begin with what the environment says, unless told otherwise.
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "2")
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    with threadpool_limits(2):
        assert 2 in {library["num_threads"] for library in threadpool_info()}
        found = run(tmp_path, small(contenders=[OMP], task="threads"), jobs=jobs)
        assert 2 in {library["num_threads"] for library in threadpool_info()}
    for record in found:
        assert record["error"] is None
        assert len(record["values"]["threads"]) >= 2
        assert set(record["values"]["threads"]) == {1.0}


# --- what is told ---------------------------------------------------------------------------------


@pytest.mark.parametrize("jobs", [1, 2])
def test_begun_and_told_suit_a_progress_bar(tmp_path, jobs):
    units = list(small().units())
    run(tmp_path, units=units[1:3])
    events = []
    run(
        tmp_path,
        units=units,
        jobs=jobs,
        on_start=lambda total, done: events.append((total, done)),
        on_unit=lambda unit, record: events.append((unit, record)),
    )
    assert events[0] == (6, 2)
    assert len(events) == 7
    # First those that were done, in their order, then all others, once each.
    assert [unit for unit, _ in events[1:3]] == units[1:3]
    assert sorted(units.index(unit) for unit, _ in events[3:]) == [0, 3, 4, 5]
    for unit, record in events[1:]:
        assert record["settings"] == unit.settings(0)
        assert record["seconds"] > 0


def test_nothing_to_do(tmp_path):
    events = []
    assert run(tmp_path, units=[], on_start=lambda *numbers: events.append(numbers)) == []
    assert events == [(0, 0)]
