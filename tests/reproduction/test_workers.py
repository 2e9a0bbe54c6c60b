"""Units side by side: the same numbers however they are run, and nothing lost."""

import json
import math
import os
import resource
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest
from joblib import parallel_config
from joblib.parallel import ThreadingBackend
from threadpoolctl import threadpool_info, threadpool_limits

from sparsewise import ALGORITHMS, omp
from sparsewise.errors import InputError
from reproduction.declaration import Contender
from reproduction.generators import FAMILIES
from reproduction.units import Journal, alone
from reproduction.workers import run_units
from reproduction.tasks import TASKS
from tests.reproduction.small import OMP, small


def run(path, experiment=None, *, seed=0, jobs=1, units=None, **more):
    units = list((experiment or small()).units()) if units is None else units
    return run_units(units, Journal(path / "journal.jsonl"), seed=seed, jobs=jobs, **more)


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


def lines(path):
    return (path / "journal.jsonl").read_bytes().splitlines()


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


@pytest.mark.parametrize("backend", ["threading", "sequential"])
def test_another_backend_of_joblib_may_take_over(tmp_path, expected, backend):
    with parallel_config(backend, n_jobs=2):
        assert numbers(run(tmp_path, jobs=None)) == expected


def test_a_backend_that_tells_all_at_the_end_gets_little_at_a_time(tmp_path, expected):
    """As joblib's multiprocessing and Ray's."""

    class Piecewise(ThreadingBackend):
        supports_return_generator = False

    calls = []
    with parallel_config(Piecewise(), n_jobs=2):
        found = run(tmp_path, jobs=None, on_unit=lambda *_: calls.append(len(lines(tmp_path))))
    assert numbers(found) == expected
    assert calls == [1, 2, 3, 4, 5, 6]


# --- the journal ----------------------------------------------------------------------------------


def test_every_unit_is_on_the_disk_when_it_is_told(tmp_path):
    kept = []
    records = run(tmp_path, on_unit=lambda unit, record: kept.append(lines(tmp_path)[-1]))
    written = [json.loads(line) for line in kept]
    assert all(len(line.pop("crc32")) == 8 for line in written)
    assert written == records[::-1]


def test_what_is_done_is_not_repeated(tmp_path, monkeypatch):
    records = run(tmp_path)
    monkeypatch.setattr("reproduction.workers.perform", None)
    before = lines(tmp_path)
    assert run(tmp_path) == records
    assert run(tmp_path, jobs=2) == records
    assert lines(tmp_path) == before


@pytest.mark.parametrize("cut", [1, 2, 40, 300])
def test_a_last_line_that_was_cut_off(tmp_path, expected, cut):
    """As by a kill while it was written; to the newline, its content is whole."""
    run(tmp_path)
    path = tmp_path / "journal.jsonl"
    path.write_bytes(path.read_bytes()[:-cut])
    done = []
    again = run(tmp_path, on_start=lambda total, before: done.append((total, before)))
    assert numbers(again) == expected
    assert done == [(6, 6 if cut == 1 else 5)]
    run(tmp_path, on_start=lambda total, before: done.append((total, before)))
    assert done[1] == (6, 6)


DAMAGE = {
    "nothing": b"",
    "zeros": b"\0" * 50,
    "not UTF-8": b'{"settings": "\xff"}',
    "half a line": b'{"settings": {"experiment": "small", "ta',
    "not a record": b"[1, 2, 3]",
    "no error": b'{"settings": {}, "values": {"size": [1]}}',
    "no values": b'{"settings": {}, "values": {}, "error": null}',
    "words for numbers": b'{"settings": {}, "values": {"size": ["a"]}, "error": null}',
    "endless lists": b"[" * 100_000,
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_good_lines_after_a_damaged_one_count(tmp_path, damage):
    records = run(tmp_path)
    whole = lines(tmp_path)
    (tmp_path / "journal.jsonl").write_bytes(b"\n".join([*whole[:2], damage, *whole[3:], b""]))
    done = []
    again = run(tmp_path, on_start=lambda total, before: done.append(before))
    assert numbers(again) == numbers(records)
    assert done == [5]
    assert len(Journal(tmp_path / "journal.jsonl").records) == 6


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """A journal as bytes, and what it tells; one unit has failed."""
    folder = tmp_path_factory.mktemp("written")
    bad = Contender("bad", "omp", {"residual": -1.0})
    units = [*small(realizations=2).units(), *small("bad", [bad], realizations=2).units()]
    run(folder, units=units)
    path = folder / "journal.jsonl"
    return path.read_bytes(), Journal(path).records


def test_no_bit_changes_unnoticed(tmp_path, written):
    """What a bit spoils is done again: a unit, or two that are no longer on lines of their own."""
    content, records = written
    path, rng = tmp_path / "journal.jsonl", np.random.default_rng(14)
    for place in rng.permutation(8 * len(content))[:4000]:
        damaged = bytearray(content)
        damaged[place // 8] ^= 1 << (place % 8)
        path.write_bytes(damaged)
        found = Journal(path).records
        assert all(records[key] == record for key, record in found.items())
        assert len(found) >= len(records) - 2


@pytest.mark.parametrize("seed", range(6))
def test_a_damaged_journal_gives_the_same_results(tmp_path, expected, seed):
    run(tmp_path)
    path, rng = tmp_path / "journal.jsonl", np.random.default_rng(seed)
    damaged = bytearray(path.read_bytes())
    for place in rng.integers(len(damaged), size=3):
        damaged[place] ^= 1 << rng.integers(8)
    path.write_bytes(damaged)
    assert numbers(run(tmp_path)) == expected


def test_lines_in_another_order_and_twice(tmp_path, written):
    content, records = written
    lines = content.splitlines(keepends=True)
    (tmp_path / "journal.jsonl").write_bytes(b"".join([*lines[::-1], *lines[:3]]))
    assert Journal(tmp_path / "journal.jsonl").records == records


def test_lines_with_the_line_ends_of_windows(tmp_path, written):
    content, records = written
    (tmp_path / "journal.jsonl").write_bytes(content.replace(b"\n", b"\r\n"))
    assert Journal(tmp_path / "journal.jsonl").records == records


def test_lines_that_run_into_each_other(tmp_path, written):
    content, records = written
    first, second, *rest = content.splitlines()
    mixed = [first[:50] + second[:70], first[50:] + second[70:], *rest, b""]
    (tmp_path / "journal.jsonl").write_bytes(b"\n".join(mixed))
    found = Journal(tmp_path / "journal.jsonl").records
    assert list(found.values()) == list(records.values())[2:]


def test_journals_of_earlier_releases(tmp_path, monkeypatch):
    """They have no checksums."""
    records = run(tmp_path)
    old = [json.dumps(record).encode() for record in records]
    (tmp_path / "journal.jsonl").write_bytes(b"\n".join([*old, b""]))
    monkeypatch.setattr("reproduction.workers.perform", None)
    assert run(tmp_path) == records


ODD = {
    "NaN": {"values": {"size": [float("nan")]}},
    "too large": {"values": {"size": [10**400]}},
    "lengths": {"values": {"size": [1.0, 2.0], "error": [1.0]}},
    "seconds": {"seconds": "long"},
    "another field": {"more": 1},
    "endless setting": {"settings": {"a": float("inf")}},
}


@pytest.mark.parametrize("change", ODD.values(), ids=ODD)
def test_old_lines_that_no_table_could_be_made_of(tmp_path, change):
    good = {"settings": {"a": 1}, "values": {"size": [1.0]}, "error": None, "seconds": 1.0}
    lines = [json.dumps(one) for one in (good, good | {"settings": {"a": 2}} | change)]
    (tmp_path / "journal.jsonl").write_text("\n".join(lines))
    assert list(Journal(tmp_path / "journal.jsonl").records.values()) == [good]


def test_an_empty_journal(tmp_path, expected):
    (tmp_path / "journal.jsonl").touch()
    assert numbers(run(tmp_path)) == expected


def test_a_journal_that_is_a_folder(tmp_path):
    (tmp_path / "journal.jsonl").mkdir()
    with pytest.raises(InputError, match=r"^can't read .*journal\.jsonl: Is a directory$"):
        run(tmp_path)


def test_a_failure_does_not_undo_a_success(tmp_path):
    journal = Journal(tmp_path / "journal.jsonl")
    good = {"settings": {"a": 1}, "values": {"size": [1.0]}, "error": None}
    bad = {"settings": {"a": 1}, "values": {}, "error": "ValueError: no"}
    for record in (bad, good, bad):
        journal.add(record)
    assert Journal(journal.path).find({"a": 1}) == good


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
    disk.limit(len(lines(tmp_path)[0]) * 3)
    with pytest.raises(InputError, match=r"^can't write .*journal\.jsonl: .*kept for resume=True$"):
        run(tmp_path, jobs=jobs, on_unit=lambda unit, record: told.append(record))
    disk.free()
    assert 1 <= len(told) < 6
    # The limit holds in workers, too, where what they compile may not fit: such units fail.
    good = [record for record in told if record["error"] is None]
    done = []
    again = run(tmp_path, on_start=lambda total, before: done.append(before))
    assert done == [len(good)]
    assert numbers(again) == expected


def test_a_line_that_does_not_fit_is_not_kept_in_part(tmp_path, disk):
    """Even if all of it fits but its end: then it would be known later, and was never told."""
    journal = Journal(tmp_path / "journal.jsonl")
    first = {"settings": {"a": 1}, "values": {"size": [1.0]}, "error": None}
    second = first | {"settings": {"a": 2}}
    journal.add(first)
    before = journal.path.read_bytes()
    disk.limit(2 * len(before) - 1)
    with pytest.raises(InputError, match=r"^can't write "):
        journal.add(second)
    disk.free()
    assert journal.path.read_bytes() == before
    journal.add(second)
    assert len(Journal(journal.path).records) == 2


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
    assert (
        numbers(Journal(tmp_path / "journal.jsonl").records.values())[0][1:]
        == numbers(records)[0][1:]
    )
    assert run(tmp_path, experiment)[0]["values"] == records[0]["values"]


# --- one run to a folder --------------------------------------------------------------------------


def test_a_folder_is_locked_for_one_run(tmp_path):
    with (
        alone(tmp_path),
        pytest.raises(InputError, match=r"^another run is writing to"),
        alone(tmp_path),
    ):
        raise AssertionError("two at once")
    with alone(tmp_path):
        pass


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
    assert "TerminatedWorkerError" in found[1]["error"]
    assert len(told) == len(lines(tmp_path)) == 5
    (tmp_path / "alone").mkdir()
    assert numbers(found[::2]) == numbers(run(tmp_path / "alone", units=units[::2]))


def test_what_cannot_be_sent_to_a_worker_is_recorded(tmp_path, monkeypatch):
    file = (tmp_path / "file").open("w")
    with file:
        monkeypatch.setitem(ALGORITHMS, "fails", lambda A, y: file)
        experiment = small(contenders=[Contender("unsendable", "fails"), OMP])
        found = run(tmp_path, experiment, jobs=2)
    assert [record["error"] is None for record in found] == [False, True] * 2
    assert "PicklingError" in found[0]["error"]


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
