"""Files that were damaged, or made by somebody else: saved models, units of a run, drafts.

What is read is what was written, or it is refused in one sentence; a unit that can't be read is run
again. What was written is known, so that nothing of the library is needed to judge.
"""

from __future__ import annotations

import contextlib
import csv
import hashlib
import io
import json
import os
import shutil
import stat
from functools import cache
from pathlib import Path
from unittest import mock

import numpy as np

from reproduction import units
from reproduction.declaration import Contender, Experiment
from reproduction.run import run
from sparsewise._util.files import write_whole
from sparsewise.errors import InputError
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


# --- units of a run -------------------------------------------------------------------------------

CONTENDERS = tuple(Contender(label, "omp", {"sparsity": 1 + i}) for i, label in enumerate("ab"))
EXPERIMENT = Experiment("small", "Small", {"n": (4,), "m": (5,), "k": (1, 2)}, CONTENDERS, 2)
JUNK = (b"", b"{}", b"[" * 9999, b"null", b"\xff", b"9" * 5000, b'{"values": {"size": [1.0]}}')


@cache
def whole_run() -> Path:
    """The folder of a run that nothing was done to."""
    where = Path(folder().name, "run")
    run([EXPERIMENT], where, jobs=1)
    return where


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


@family("units", share=2)
def resumed_runs(case: Case) -> None:
    """Files of units are missing, cut off, overwritten, or exchanged: the results are the same."""
    before, where = whole_run(), Path(folder().name, "resumed")
    shutil.rmtree(where, ignore_errors=True)
    shutil.copytree(before, where)
    files = sorted((where / "units").iterdir())
    first, second = (files[i] for i in case.rng.choice(len(files), 2, replace=False))
    content, other = first.read_bytes(), second.read_bytes()
    how = case.choose("missing", "cut", "cut", "junk", "exchanged", "draft", "damaged time")
    case.note(how=how)
    if how in ("missing", "draft"):
        first.unlink()
    if how == "draft":
        first.with_name(".1.draft").write_bytes(content)
    elif how == "cut":
        first.write_bytes(content[: case.rng.integers(len(content))])
    elif how == "junk":
        first.write_bytes(case.choose(*JUNK))
    elif how == "exchanged":
        first.write_bytes(other)
        second.write_bytes(content)
    elif how == "damaged time":
        odd = case.choose(b'{"seconds": NaN}', b'{"seconds": 1e999}', b"[", b'{"seconds": "1"}')
        facts = (before / "run.json").read_bytes()
        (where / "run.json").write_bytes(odd if case.chance(0.3) else flipped(case, facts, 3))
    with contextlib.redirect_stderr(io.StringIO()):
        run([EXPERIMENT], where, jobs=1, resume=True)
    are_the_results(where, before)


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


@fault(are_the_results, family="units")
def units_of_other_settings():
    def whatever_is_there(folder: Path, settings: dict) -> dict | None:
        try:
            record = json.loads(units.path_of(folder, settings).read_bytes())
            return {"seconds": 1.0, "error": None} | record | {"settings": settings}
        except (OSError, ValueError, RecursionError, TypeError):
            return None

    return mock.patch.object(units, "load", whatever_is_there)


@fault(is_saved, family="saving")
def permissions_that_are_lost():
    return mock.patch("sparsewise._util.files._take_after")


@fault(is_unharmed, family="saving")
def a_file_that_is_written_in_place():
    def write(path: Path, content: bytes) -> None:
        path.write_bytes(content)
        os.fsync(0)

    return mock.patch("tests.hostile.files.write_whole", write)
