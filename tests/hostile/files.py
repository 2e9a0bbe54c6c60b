"""Files that were damaged, or made by somebody else: saved models, journals, declarations, drafts.

What is read is what was written, or it is refused in one sentence; of a journal, what can't be read
is done again. What was written is known, so that nothing of the library is needed to judge.
"""

from __future__ import annotations

import csv
import hashlib
import itertools
import json
import math
import os
import stat
from functools import cache
from pathlib import Path
from unittest import mock

import numpy as np
import yaml

from sparsewise._util.files import write_whole
from sparsewise.errors import InputError
from sparsewise.experiments import conduct as conduct_module
from sparsewise.experiments import journal as journal_module
from sparsewise.experiments.declaration import Contender, Experiment
from sparsewise.experiments.journal import Journal
from sparsewise.experiments.specification import FIELDS, read_specification
from sparsewise.io.model import LinearModel, Source
from tests.hostile.campaign import Case, family, fault, oracle
from tests.hostile.commands import NAMES, folder


@oracle
def on_one_line(refusal: InputError) -> None:
    """A sentence of reasonable length, on one line, without control characters."""
    text = str(refusal)
    assert text.isprintable(), f"not on one line: {text[:200]!r}"
    assert 10 < len(text) < 1000, f"{len(text)} letters: {text[:200]}"


def flipped(case: Case, data: bytes, bits: int) -> bytes:
    """With so many bits changed."""
    damaged = bytearray(data)
    for place in case.rng.integers(8 * len(data), size=bits):
        damaged[place // 8] ^= 1 << (place % 8)
    return bytes(damaged)


# --- saved models ---------------------------------------------------------------------------------

ODD = (
    None,
    True,
    "x",
    "",
    [],
    {},
    [[]],
    0,
    -1,
    1.5,
    10**400,
    1e308,
    -1e308,
    5e-324,
    [None],
    {"a": 1},
)
"""What a field may hold in place of what it should."""


def model(case: Case) -> LinearModel:
    """A model of a few features, some of them levels."""
    rng = case.rng
    k = int(rng.integers(0, 4))
    names = [str(name) for name in rng.choice(NAMES, k + 1, replace=False)]
    scale = 10.0 ** rng.integers(-200, 200)
    half = rng.standard_normal((k, k))
    flat = case.chance(0.2)
    sources = [Source(name) for name in names[:k]]
    if case.chance(0.5):
        sources.append(Source("level of", ("u", "\x1b[1m", "w")))
    features = [feature for source in sources for feature in source.features][: k + 1]
    k = len(features)
    return LinearModel(
        target=names[-1],
        features=tuple(features),
        coef=scale * rng.standard_normal(k),
        intercept=0.0 if flat else float(scale * rng.standard_normal()),
        means=np.zeros(k) if flat else rng.standard_normal(k),
        covariance=half @ half.T if half.shape == (k, k) and case.chance(0.7) else None,
        noise=case.choose(None, 0.0, 0.5),
        rows=float(rng.integers(1, 100)),
        has_intercept=not flat,
        encoding=tuple(sources),
        method="forward",
        facts={"r2": 0.5, "n": 3, "criterion": None},
    )


def resealed(content: dict) -> str:
    """As JSON with a right checksum: by hand, as the format has it."""
    rest = {name: value for name, value in content.items() if name != "sha256"}
    text = json.dumps(rest, sort_keys=True, separators=(",", ":"))
    return json.dumps(rest | {"sha256": hashlib.sha256(text.encode()).hexdigest()})


def changed(case: Case, content: dict) -> dict:
    """One field, or an entry of one, replaced, dropped or added."""
    name = case.choose(*content)
    value = content[name]
    how = case.choose("replace", "drop", "add", "entry")
    case.note(field=name, how=how)
    if how == "drop":
        return {key: value for key, value in content.items() if key != name}
    if how == "add":
        return content | {case.choose("x", "Coef", "__class__", ""): case.choose(*ODD)}
    if how == "entry" and isinstance(value, list) and value:
        place = int(case.rng.integers(len(value)))
        return content | {name: [*value[:place], case.choose(*ODD), *value[place + 1 :]]}
    return content | {name: case.choose(*ODD)}


@oracle
def is_the_model(found: LinearModel, written: dict) -> None:
    """Field by field what was in the file, to the last bit."""
    for name in ("target", "intercept", "noise", "rows", "has_intercept", "method", "facts"):
        assert getattr(found, name) == written[name], name
    for name in ("coef", "means", "covariance"):
        value = getattr(found, name)
        assert (None if value is None else value.tolist()) == written[name], name
    assert list(found.features) == written["features"]


@oracle
def predicts(found: LinearModel, written: dict, X: np.ndarray) -> None:
    """Numbers as the formula has them, or a sentence; never NaN."""
    try:
        told, std = found.predict(X), None
        if written["noise"] is not None and written["covariance"] is not None:
            std = found.predict(X, return_std=True)[1]
    except InputError as refusal:
        on_one_line(refusal)
        return
    terms = X.astype(np.longdouble) * np.array(written["coef"], dtype=np.longdouble)
    expected = written["intercept"] + terms.sum(axis=1)
    middle = np.abs(np.array(written["means"]) * np.array(written["coef"], dtype=np.longdouble))
    size = abs(written["intercept"]) + np.abs(terms).sum(axis=1) + middle.sum()
    assert np.isfinite(told).all()
    assert np.all(np.abs(told - expected) <= 1e-12 * size), (told, expected)
    assert std is None or (np.isfinite(std).all() and (std >= 0).all())


@family("models")
def saved_models(case: Case) -> None:
    """Bits, fields and types changed; a damaged file is refused, or was not damaged after all."""
    original = model(case)
    text = original.to_json()
    written = json.loads(text)
    how = case.choose("none", "bits", "bits", "cut", "insert", "field", "field", "nest", "twice")
    case.note(how=how)
    data = text.encode()
    if how == "bits":
        data = flipped(case, data, case.choose(1, 1, 2, 10))
    elif how == "cut":
        data = data[: case.rng.integers(len(data))]
    elif how == "insert":
        place = case.rng.integers(len(data))
        odd = case.choose(
            b"\0", b"\xff", b"NaN", b"1e999", b"{", b'"', b" ", b"9" * 5000, b"\\ud800"
        )
        data = data[:place] + odd + data[place:]
    elif how == "nest":
        value = case.choose("[" * 100_000, '{"a":' * 50_000, "[" * 500 + "]" * 500)
        data = text.replace('"forward"', value).encode()
    elif how == "twice":
        data = text.replace('"target"', '"target": "z", "target"').encode()
    elif how == "field":
        data = resealed(changed(case, written)).encode()
        written = json.loads(data)
    path = Path(folder().name, "saved.json")
    path.write_bytes(data)
    try:
        found = LinearModel.load(path)
    except InputError as refusal:
        on_one_line(refusal)
        a_whole_model_is_read(how)
        return
    is_the_model(found, written)
    k = len(found.features)
    predicts(found, written, case.rng.standard_normal((3, k)) * 10.0 ** case.choose(0, 0, 150))


@oracle
def a_whole_model_is_read(how: str) -> None:
    """A model that nothing was done to is not refused."""
    assert how != "none", "it was refused"


# --- journals -------------------------------------------------------------------------------------

CONTENDERS = tuple(Contender(label, "omp", {"sparsity": 1 + i}) for i, label in enumerate("ab"))
EXPERIMENT = Experiment("small", "Small", {"n": (4,), "m": (5,), "k": (1, 2)}, CONTENDERS, 2)


def key(settings: dict) -> str:
    return json.dumps(settings, sort_keys=True)


@cache
def journal() -> tuple[bytes, dict[str, dict], Path]:
    """A journal as bytes, its records by settings, and the folder of the run that wrote it."""
    where = Path(folder().name, "run")
    conduct_module.conduct([EXPERIMENT], where, jobs=1)
    path = where / "journal.jsonl"
    failed = {"settings": {"a": 1}, "values": {}, "error": "ValueError: =no", "seconds": 0.5}
    Journal(path).add(failed)
    content = path.read_bytes()
    records = [json.loads(line) for line in content.splitlines()]
    for record in records:
        del record["crc32"]
    return content, {key(record["settings"]): record for record in records}, where


@oracle
def are_records(found: dict[str, dict], written: dict[str, dict], touched: int) -> None:
    """Each as it was written; only lines that were touched are missing."""
    for record in found.values():
        assert written.get(key(record["settings"])) == record, f"changed: {str(record)[:300]}"
    missing = len(written) - len(found)
    assert missing <= touched, f"{missing} of {len(written)} are lost by damage to {touched}"


@family("journals", share=2)
def damaged_journals(case: Case) -> None:
    """Bits, bytes and lines changed: each record is as it was, or is not there."""
    content, written, _ = journal()
    lines = content.splitlines(keepends=True)
    rng = case.rng
    how = case.choose(
        "bit", "bit", "bit", "bits", "cut", "bytes", "order", "twice", "mixed", "junk"
    )
    case.note(how=how)
    touched = 0
    if how == "bit":
        content, touched = flipped(case, content, 1), 2
    elif how == "bits":
        many = case.choose(2, 5, 50)
        content, touched = flipped(case, content, many), 2 * many
    elif how == "cut":
        content, touched = content[: rng.integers(len(content))], len(lines)
    elif how == "bytes":
        place, size = rng.integers(len(content)), case.choose(1, 4, 300)
        content = content[:place] + rng.bytes(size) + content[place + size * case.chance(0.5) :]
        touched = 3
    elif how == "order":
        content = b"".join(lines[i] for i in rng.permutation(len(lines)))
    elif how == "twice":
        content = b"".join([*lines, *lines[: rng.integers(len(lines))]])
    elif how == "mixed":
        first, second = lines[0], lines[1]
        at = rng.integers(1, min(len(first), len(second)) - 40)
        content = b"".join([first[:at] + second[:at], first[at:] + second[at:], *lines[2:]])
        touched = 2
    else:
        odd = case.choose(b"{}\n", b"[" * 9999 + b"\n", b"null\n", b"\xff\n", b"\n\n", b"9" * 5000)
        place = int(rng.integers(len(lines) + 1))
        content = b"".join([*lines[:place], odd, *lines[place:]])
        touched = 1
    path = Path(folder().name, "damaged.jsonl")
    path.write_bytes(content)
    are_records(Journal(path).records, written, touched)


@oracle
def are_the_results(where: Path, before: Path) -> None:
    """The table of a run that went on is that of one without damage, times excepted."""
    tables = []
    for one in (where, before):
        with (one / "results.csv").open(newline="") as file:
            tables.append([dict(row) for row in csv.DictReader(file)])
    for row, expected in zip(*tables, strict=True):
        for name, value in expected.items():
            assert "seconds" in name or row[name] == value, f"{name}: {row[name]} for {value}"
    seconds = json.loads((where / "run.json").read_text())["seconds"]
    assert 0 < seconds < 1e10, seconds


@family("resumed")
def resumed_runs(case: Case) -> None:
    """A run goes on with whatever is left of its files, and comes to the same results."""
    content, _, before = journal()
    where = Path(folder().name, "resumed")
    where.mkdir(exist_ok=True)
    bits = case.choose(1, 1, 3)
    (where / "journal.jsonl").write_bytes(flipped(case, content, bits))
    facts = (before / "run.json").read_bytes()
    odd = case.choose(b'{"seconds": NaN}', b'{"seconds": 1e999}', b"", b"[", b'{"seconds": "1"}')
    (where / "run.json").write_bytes(odd if case.chance(0.3) else flipped(case, facts, bits))
    conduct_module.conduct([EXPERIMENT], where, jobs=1, resume=True)
    are_the_results(where, before)


# --- declarations ---------------------------------------------------------------------------------

GOOD = {
    "n": 12,
    "m": 20,
    "k": [1, 2],
    "noise": 0.005,
    "realizations": 3,
    "algorithms": {"OMP": {"algorithm": "omp", "residual": "delta"}},
}
VALUES = (
    *("1", "0", "-1", "1.5", ".inf", "-.inf", ".nan", "1e400", "1e-400", "0x1F", "0b1", "1_000"),
    *("1:30:00", "2020-01-01", "2020-99-99", "true", "no", "~", "''", "word", "delta", "0.5*delta"),
    *("[]", "{}", "[1, 2]", "[1, 1]", "[[1]]", "{a: 1}", "[1, x]", "!!binary aGk=", "!!set {1, 2}"),
    *("!!python/object:os.system {}", "!!python/name:os.system", "!x y", "&a [*a]", "*b", "<<"),
    *(
        '"\\ud800"',
        '"\\x1b[31m"',
        '"=1+1"',
        "'\t'",
        "|\n  text",
        "9" * 5000,
        "0x" + "f" * 4900,
        "?",
    ),
    *(
        "[1.0, 1]",
        "[1, true]",
        "100000000000000000000",
        "1e15",
        "table1",
        "../x",
        "omp",
        "gaussian",
    ),
)


@oracle
def is_the_declaration(found: Experiment, text: str) -> None:
    """The words of the file, as PyYAML's own loader has them, and every cell of their product."""
    said = yaml.safe_load(text)
    for name, values in found.grid.items():
        many = said[name] if isinstance(said[name], list) else [said[name]]
        assert [float(one) for one in many] == [float(one) for one in values], name
    assert len(found.cells()) == math.prod(len(values) for values in found.grid.values())
    cells = [tuple(cell[name] for name in found.grid) for cell in found.cells()]
    assert cells == list(itertools.product(*found.grid.values()))
    assert all(1 <= cell["k"] <= cell["m"] and cell["n"] >= 1 for cell in found.cells())
    assert found.realizations == said["realizations"] >= 1
    assert len(found.contenders) == len(said["algorithms"])
    assert len({one.label for one in found.contenders}) == len(found.contenders)
    json.dumps([unit.settings(0) for unit in found.units()], allow_nan=False)


@oracle
def too_much_is_refused(text: str, refusal: InputError | None) -> None:
    """A file that stands for too much is not read to its end."""
    assert refusal is not None, f"{len(text)} letters were read"
    assert any(word in str(refusal) for word in ("more than", "too large")), str(refusal)


def too_much(case: Case) -> str:
    """A text of modest size that stands for more than an experiment can be."""
    fan, levels = case.choose((9, 6), (99, 3), (3, 12))
    many = int(case.rng.integers(20_001, 30_000))
    merged = "a0: &a0 {x: 1, y: 2}\n" + "".join(
        f"a{i}: &a{i} {{<<: [{', '.join([f'*a{i - 1}'] * fan)}]}}\n" for i in range(1, levels + 1)
    )
    # Most often what is told at once: reading 20,000 entries takes a second.
    return case.choose(
        *[merged, "[" * many, "{a: " * many, "- " * many, "? " * many, f"n: {'1:' * many}1"] * 3,
        f"k: [{'1,' * many}]",
        "a" * 10 * many,
    )


@family("declarations")
def declarations(case: Case) -> None:
    """YAML of any kind: an experiment that is what it says, or a sentence."""
    how = case.choose("values", "values", "values", "bits", "letters", "much")
    case.note(how=how)
    text = yaml.safe_dump(GOOD)
    if how == "values":
        lines = {
            name: yaml.safe_dump(value, default_flow_style=True) for name, value in GOOD.items()
        }
        lines = {name: value.replace("\n...", "").strip() for name, value in lines.items()}
        for _ in range(case.choose(0, 1, 1, 2)):
            lines[case.choose(*FIELDS)] = case.choose(*VALUES)
        if case.chance(0.2):
            value = case.choose(*VALUES)
            word = case.choose("residual", "sparsity", "threshold", "include", "start", "algorithm")
            lines["algorithms"] = f"{{OMP: {{algorithm: omp, residual: delta, {word}: {value}}}}}"
        if case.chance(0.1):
            del lines[case.choose(*lines)]
        text = "".join(f"{name}: {value}\n" for name, value in lines.items())
        if case.chance(0.1):
            text = case.choose("\ufeff", "\t", "\0", "---\n", "%YAML 1.1\n---\n", "n: 3\n") + text
        case.note(text=text)
    elif how == "letters":
        place = case.rng.integers(len(text))
        odd = case.choose(
            "\t", "{", "[", "&a ", "*a", "!", "'", "- ", "? ", ": ", "\x85", "\x07", "#"
        )
        text = text[:place] + odd + text[place + case.choose(0, 1, 5) :]
    elif how == "much":
        text = too_much(case)
    data = text.encode()
    if how == "bits":
        data = flipped(case, data, case.choose(1, 3))
    path = Path(folder().name, "mine.yml")
    path.write_bytes(data)
    try:
        found = read_specification(path)
    except InputError as refusal:
        on_one_line(refusal)
        if how == "much":
            too_much_is_refused(text, refusal)
        return
    if how == "much":
        too_much_is_refused(text, None)
    is_the_declaration(found, data.decode())


# --- saving ---------------------------------------------------------------------------------------

TARGETS = (
    "m.json",
    "ü" * 127,
    "模" * 85,
    "😀" * 63,
    "x" * 255,
    "a b",
    "-",
    ".hidden",
    "\x1b[31m",
    "=1",
)


@oracle
def is_saved(path: Path, content: bytes, mode: int, others: set[str]) -> None:
    """What was written is there, with its permissions, and nothing else is."""
    assert path.read_bytes() == content
    found = stat.S_IMODE(path.stat().st_mode)
    assert found == mode, f"permissions {found:o}, not {mode:o}"
    left = set(os.listdir(path.parent)) - others - {path.name}
    assert not left, f"left behind: {left}"


@oracle
def is_unharmed(path: Path, content: bytes | None) -> None:
    """A file that could not be written is as it was."""
    assert (path.read_bytes() if path.exists() else None) == content
    assert not list(path.parent.glob(".*.draft")), "a draft is left behind"


@family("saving")
def saving(case: Case) -> None:
    """Any name, any permissions, links, and disks that fail: the new file or the old one."""
    where = Path(folder().name, "saving")
    where.mkdir(exist_ok=True)
    for old in where.iterdir():
        old.unlink()
    path = where / case.choose(*TARGETS)
    umask, mode = case.choose(0o022, 0o077, 0o002), case.choose(0o600, 0o640, 0o644, 0o666, 0o755)
    before = None
    given = path
    if case.chance(0.6):
        before = b"old"
        path.write_bytes(before)
        path.chmod(mode)
        if case.chance(0.3):
            given = where / "link"
            given.symlink_to(path)
    if case.chance(0.2):  # of a process that was killed: none has such a number
        tag = hashlib.sha256(os.fsencode(path.name)).hexdigest()[:12]
        (where / f".{tag}-{2**31 - 1}-00.draft").write_bytes(b"half")
    fails = case.chance(0.3)
    case.note(name=path.name, mode=oct(mode), umask=oct(umask), before=before, fails=fails)
    content = case.rng.bytes(int(case.rng.integers(100)))
    others = {"link"} if given != path else set()
    trouble = OSError(28, "No space left on device") if fails else None
    usual = os.umask(umask)
    try:
        with mock.patch("os.fsync", side_effect=trouble):
            write_whole(given, content)
    except OSError:
        is_unharmed(path, before)
        assert fails
        return
    finally:
        os.umask(usual)
    is_saved(path, content, mode if before is not None else 0o666 & ~umask, others)


# --- faults ---------------------------------------------------------------------------------------


@fault(on_one_line, family="models")
def a_refusal_of_two_lines():
    two = "This is\nnot one line."
    return mock.patch("sparsewise.errors.Message.sentence", return_value=two)


@fault(is_the_model, family="models")
def bits_that_go_unnoticed():
    def checked(content: dict) -> dict:
        names = LinearModel.__dataclass_fields__
        return {name: content[name] for name in names} | {"rows": 7.5}

    return mock.patch("sparsewise.io.model._unsealed", checked)


@fault(predicts, family="models")
def a_model_without_its_level():
    return mock.patch("sparsewise.io.model.LinearModel.level", 0.0)


@fault(a_whole_model_is_read, family="models")
def a_checksum_that_never_agrees():
    return mock.patch(
        "sparsewise.io.model._checksum", side_effect=lambda content: os.urandom(4).hex()
    )


def whatever_the_checksum(line: bytes) -> bytes:
    """The text of a record, were its checksum not looked at."""
    return b"{" + line[len(journal_module.SEAL.format(0)) :]


@fault(are_records, family="journals")
def checksums_of_records_unseen():
    return mock.patch.object(journal_module, "_unsealed", whatever_the_checksum)


@fault(are_the_results, family="resumed")
def checksums_of_results_unseen():
    return mock.patch.object(journal_module, "_unsealed", whatever_the_checksum)


@fault(is_the_declaration, family="declarations")
def a_cell_that_is_missing():
    cells = Experiment.cells
    return mock.patch.object(Experiment, "cells", lambda self: cells(self)[1:] or cells(self))


@fault(too_much_is_refused, family="declarations")
def no_bound_on_depth():
    return mock.patch("sparsewise.experiments.specification.MOST_DEPTH", 10**6)


@fault(is_saved, family="saving")
def permissions_that_are_lost():
    return mock.patch("sparsewise._util.files._take_after")


@fault(is_unharmed, family="saving")
def a_file_that_is_written_in_place():
    def write(path: Path, content: bytes) -> None:
        path.write_bytes(content)
        os.fsync(0)

    return mock.patch("tests.hostile.files.write_whole", write)
