"""Saved models: exact round trips, predictions, and the refusal of whatever was not saved here."""

import contextlib
import copy
import hashlib
import json
import math
import os
import pickle
import signal
import stat
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_diabetes

from sparsewise import __version__
from sparsewise.errors import InputError
from sparsewise.io.model import FORMAT, LinearModel, Source


def model(**changes):
    fields = {
        "target": "y",
        "features": ("a", "c=u"),
        "coef": [1.5, -2.0],
        "intercept": 0.25,
        "means": [0.5, 0.25],
        "covariance": [[2.0, 0.5], [0.5, 1.0]],
        "noise": 0.5,
        "rows": 20,
        "encoding": (Source("a"), Source("c", ("u", "v", "w"))),
        "method": "rmp",
        "facts": {"r2": 0.75, "criterion": None, "certified": True, "steps": 3},
    }
    return LinearModel(**(fields | changes))


def sealed(content):
    """A text with a right checksum, made apart from the code under test."""
    content = {name: value for name, value in content.items() if name != "sha256"}
    text = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return json.dumps(content | {"sha256": hashlib.sha256(text.encode()).hexdigest()})


def refused(text):
    with pytest.raises(InputError) as error:
        LinearModel.from_json(text)
    assert "\n" not in str(error.value)
    return str(error.value)


# --- round trips ----------------------------------------------------------------------------------

FLOATS = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from([-0.0, 5e-324, -2.2e-308, 1e308, -1.7976931348623157e308, 0.1, 1 / 3]),
)
# Any text, lone surrogates included: names come from files.
NAMES = st.text(st.characters(), max_size=8)


@st.composite
def models(draw):
    names = draw(st.lists(NAMES, unique=True, max_size=5))
    encoding = [
        Source(
            name,
            draw(
                st.one_of(
                    st.none(), st.lists(NAMES, unique=True, min_size=2, max_size=4).map(tuple)
                )
            ),
        )
        for name in names
    ]
    made = [name for source in encoding for name in source.features]
    if len(set(made)) < len(made):
        encoding, made = [Source(name) for name in names], names
    chosen = draw(st.lists(st.sampled_from(made), unique=True, max_size=5)) if made else []
    k = len(chosen)
    intercept = draw(st.booleans())
    numbers = st.lists(FLOATS, min_size=k, max_size=k)
    covariance = None
    if draw(st.booleans()):
        covariance = np.array(draw(st.lists(numbers, min_size=k, max_size=k))).reshape(k, k)
        covariance = np.tril(covariance) + np.tril(covariance, -1).T
        np.fill_diagonal(covariance, np.abs(np.diagonal(covariance)))
    return LinearModel(
        target=draw(NAMES),
        features=tuple(chosen),
        coef=draw(numbers),
        intercept=draw(FLOATS) if intercept else 0.0,
        means=draw(numbers) if intercept else np.zeros(k),
        covariance=covariance,
        noise=draw(st.none() | FLOATS.map(abs)),
        rows=draw(FLOATS.map(abs).filter(bool)),
        has_intercept=intercept,
        encoding=tuple(encoding),
        method=draw(NAMES),
        facts=draw(st.dictionaries(NAMES, st.none() | st.booleans() | NAMES | FLOATS, max_size=4)),
    )


def bits(value):
    """Something that is equal only for equal bits."""
    if value is None or isinstance(value, str | bool | tuple):
        return value
    if isinstance(value, dict):
        return {name: bits(one) for name, one in value.items()}
    return np.asarray(value, dtype=np.float64).tobytes()


@settings(max_examples=300, deadline=None)
@given(models())
def test_round_trip_is_exact(one):
    text = one.to_json()
    assert text.isascii()
    again = LinearModel.from_json(text)
    assert again == one
    assert hash(again) == hash(one)
    for name in one.__dataclass_fields__:
        assert bits(getattr(again, name)) == bits(getattr(one, name)), name
    assert again.to_json() == text


def test_a_zero_keeps_its_sign():
    positive, negative = model(intercept=0.0), model(intercept=-0.0)
    assert positive != negative
    assert math.copysign(1, LinearModel.from_json(negative.to_json()).intercept) == -1
    assert positive != "a model"


def test_spaces_and_order_of_fields_mean_nothing():
    content = json.loads(model().to_json())
    shuffled = dict(sorted(content.items(), reverse=True))
    assert LinearModel.from_json(json.dumps(shuffled, indent=7)) == model()


def test_the_text_tells_what_it_is():
    content = json.loads(model().to_json())
    assert (content["format"], content["version"]) == ("sparsewise-model", 1)
    assert content["coef"] == [1.5, -2.0]
    assert content["encoding"] == [
        {"column": "a", "levels": None, "fill": None, "indicator": False},
        {"column": "c", "levels": ["u", "v", "w"], "fill": None, "indicator": False},
    ]
    rest = {name: value for name, value in content.items() if name != "sha256"}
    assert json.loads(sealed(rest))["sha256"] == content["sha256"]


def test_a_model_cannot_be_changed():
    one = model()
    with pytest.raises(ValueError, match="read-only"):
        one.coef[0] = 7
    with pytest.raises(AttributeError):
        one.noise = 7
    assert copy.deepcopy(one) == one


# --- what is refused ------------------------------------------------------------------------------

GOOD = json.loads(model().to_json())


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "not JSON"),
        ("{", "not JSON"),
        ("feature,coefficient\na,1\n", "not JSON"),
        ("9" * 5000, "not JSON"),
        ("[1, 2]", "not a model that sparsewise saved"),
        ("null", "not a model that sparsewise saved"),
        ("{}", "not a model that sparsewise saved"),
        ('{"format": "other-model", "version": 1}', "not a model that sparsewise saved"),
        ('{"format": ["sparsewise-model"], "version": 1}', "not a model that sparsewise saved"),
        ("[" * 10**5, "nested too deeply"),
        ('{"a":' * 10**4 + "1" + "}" * 10**4, "nested too deeply"),
        ('{"format": "sparsewise-model", "format": "sparsewise-model"}', "there twice"),
        ('{"format": NaN}', "NaN is not a number"),
        ('{"format": [1e999]}', "1e999 is too large"),
    ],
)
def test_other_texts(text, message):
    assert message in refused(text)


@pytest.mark.parametrize("version", [2, 4, 17, 10**30])
def test_newer_versions(version):
    line = refused(sealed(GOOD | {"version": version, "something": "new"}))
    assert "written by a newer sparsewise" in line
    assert str(version)[:9] in line
    assert len(line) < 200


@pytest.mark.parametrize("version", [0, -1, True, 1.0, "1", None, [1]])
def test_unknown_versions(version):
    assert "version is unknown" in refused(sealed(GOOD | {"version": version}))


def test_changes_are_noticed():
    text = model().to_json()
    assert "changed after it was saved" in refused(text.replace("1.5", "1.6"))
    assert "changed after it was saved" in refused(text.replace('"rmp"', '"rmp0"'))
    without = {name: value for name, value in GOOD.items() if name != "sha256"}
    assert "changed after it was saved" in refused(json.dumps(without))


def column(name, levels=None, fill=None, indicator=False):
    return {"column": name, "levels": levels, "fill": fill, "indicator": indicator}


BROKEN = {
    "no target": ({"target": None}, "target must be text"),
    "features not a list": ({"features": "ab"}, "features must be a list"),
    "a feature twice": ({"features": ["a", "a"]}, "features must all be different"),
    "feature a number": ({"features": ["a", 1]}, "features must be text"),
    "feature unknown": ({"features": ["a", "d"]}, 'what "d" is made of'),
    "short coef": ({"coef": [1.0]}, "coef must have 2 numbers"),
    "nested coef": ({"coef": [[1.0], [2.0]]}, "coef must be a number"),
    "coef as text": ({"coef": ["1.0", 2.0]}, "coef must be a number"),
    "coef true": ({"coef": [True, 2.0]}, "coef must be a number"),
    "coef null": ({"coef": None}, "coef must have 2 numbers"),
    "coef too large": ({"coef": [10**400, 2.0]}, "coef must be finite"),
    "long means": ({"means": [1.0, 2.0, 3.0]}, "means must have 2 numbers"),
    "intercept null": ({"intercept": None}, "intercept must be a number"),
    "flat covariance": ({"covariance": [1.0, 2.0, 3.0, 4.0]}, "covariance must have 2 x 2"),
    "ragged covariance": ({"covariance": [[1.0, 2.0], [2.0]]}, "covariance must have 2"),
    "skew covariance": ({"covariance": [[1.0, 0.5], [0.4, 1.0]]}, "must be symmetric"),
    "negative variance": ({"covariance": [[-1.0, 0.0], [0.0, 1.0]]}, "negative variance"),
    "negative noise": ({"noise": -1.0}, "noise must not be negative"),
    "noise text": ({"noise": "low"}, "noise must be a number"),
    "no rows": ({"rows": 0.0}, "rows must be positive"),
    "intercept that is none": ({"has_intercept": False}, "intercept and means must be 0"),
    "has_intercept 1": ({"has_intercept": 1}, "must be true or false"),
    "no encoding": ({"encoding": []}, 'what "a", "c=u" is made of'),
    "null encoding": ({"encoding": None}, "encoding must be a list"),
    "column twice": (
        {"encoding": [*GOOD["encoding"], column("a")]},
        "columns of the encoding must all be different",
    ),
    "level as a column": (
        {"encoding": [*GOOD["encoding"], column("c=u")]},
        "encoded features must all be different",
    ),
    "odd column": ({"encoding": [{"columns": "a"}]}, "must tell a column"),
    "column without its levels": ({"encoding": [{"column": "a"}]}, "must tell a column"),
    "one level": ({"encoding": [column("a", ["u"])]}, "two levels or more"),
    "levels as a text": ({"encoding": [column("a", "uv")]}, "levels must be a list"),
    "fill of text": ({"encoding": [column("a", fill="much")]}, "fill must be a number"),
    "fill of another level": (
        {"encoding": [column("c", ["u", "v"], "w")]},
        "fill must be one of the levels",
    ),
    "indicator of nothing": (
        {"encoding": [column("a", indicator=True)]},
        "what has an indicator must be filled",
    ),
    "indicator as a number": (
        {"encoding": [column("a", fill=1.0, indicator=1)]},
        "indicator must be true or false",
    ),
    "indicator of levels": (
        {"encoding": [column("c", ["u", "v"], "u", True)]},
        "a column of text has no indicator",
    ),
    "method": ({"method": 3}, "method must be text"),
    "facts": ({"facts": []}, "facts must be an object"),
    "nested fact": ({"facts": {"x": [1]}}, 'fact "x" must be text'),
    "huge fact": ({"facts": {"x": 10**50}}, 'fact "x" must be text'),
    "another field": ({"code": "import os"}, 'not those of version 1: "code"'),
}


@pytest.mark.parametrize("case", BROKEN)
def test_content_is_checked_even_with_a_right_checksum(case):
    changes, message = BROKEN[case]
    line = refused(sealed(GOOD | changes))
    assert line.startswith("the model can't be used: ")
    assert message in line


def test_a_field_that_is_not_there():
    for name in GOOD.keys() - {"format", "version", "sha256"}:
        rest = {key: value for key, value in GOOD.items() if key != name}
        assert f'not those of version 1: "{name}"' in refused(sealed(rest))


@pytest.mark.parametrize(
    "changes",
    [
        {"coef": [np.nan, 1.0]},
        {"coef": np.array([1.0, np.inf])},
        {"coef": np.ones(3)},
        {"coef": np.ones(2, dtype=complex)},
        {"noise": math.nan},
        {"rows": -1},
        {"covariance": np.array([[1, 2], [3, 1]])},
    ],
)
def test_a_model_is_checked_when_it_is_made(changes):
    with pytest.raises(InputError, match="the model can't be used"):
        model(**changes)


SMALL = model(features=("a",), coef=[0.1], means=[0.0], covariance=[[1.0]], encoding=(Source("a"),))


@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_mutated_text_is_refused_or_the_same(data):
    text = list(SMALL.to_json())
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.integers(0, len(text) - 1))
        piece = data.draw(st.sampled_from([*'0123456789.eE-+"{}[],: \n\\u', "true", "null", "NaN"]))
        how = data.draw(st.sampled_from(["put", "insert", "delete"]))
        text[place : place + (how != "insert")] = [] if how == "delete" else [piece]
    try:
        found = LinearModel.from_json("".join(text))
    except InputError:
        return
    assert found == SMALL


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | NAMES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=6,
)


@settings(max_examples=400, deadline=None)
@given(st.sampled_from(sorted(GOOD.keys() - {"sha256"})), JSON)
def test_mutated_content_is_refused_or_a_model(name, value):
    """With a right checksum: what is accepted is a model like any other."""
    content = json.loads(model().to_json())
    if isinstance(content[name], list) and isinstance(value, int) and content[name]:
        content[name][value % len(content[name])] = value
    else:
        content[name] = value
    try:
        found = LinearModel.from_json(sealed(content))
    except InputError:
        return
    assert LinearModel.from_json(found.to_json()) == found
    with contextlib.suppress(InputError):
        mean, std = found.predict(np.zeros((1, len(found.features))), return_std=True)
        assert np.isfinite([mean, std]).all()


# --- files ----------------------------------------------------------------------------------------


def test_save_and_load(tmp_path):
    path = tmp_path / "model.json"
    model().save(path)
    assert LinearModel.load(path) == model()
    other = model(noise=7.0)
    other.save(str(path))
    assert LinearModel.load(str(path)) == other
    assert os.listdir(tmp_path) == ["model.json"]


@pytest.mark.skipif(os.name != "posix", reason="permissions and links of POSIX")
def test_a_saved_file_is_an_ordinary_one(tmp_path):
    path, link = tmp_path / "model.json", tmp_path / "link.json"
    path.write_text("old")
    link.symlink_to(path)
    before = os.umask(0o022)
    try:
        model().save(link)
    finally:
        os.umask(before)
    assert link.is_symlink()
    assert LinearModel.load(path) == model()
    assert stat.S_IMODE(path.stat().st_mode) == 0o644
    model().save(os.devnull)
    assert stat.S_ISCHR(os.stat(os.devnull).st_mode)


@pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX")
@pytest.mark.parametrize("mode", [0o600, 0o640, 0o666, 0o755])
def test_a_file_keeps_its_permissions(tmp_path, mode):
    path = tmp_path / "model.json"
    path.write_text("old")
    path.chmod(mode)
    before = os.umask(0o022)
    try:
        model().save(path)
        model().save(tmp_path / "new.json")
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == mode
    assert stat.S_IMODE((tmp_path / "new.json").stat().st_mode) == 0o644


@pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX")
def test_a_private_model_is_never_open_to_others(tmp_path, monkeypatch):
    path, seen = tmp_path / "model.json", []
    path.touch(0o600)

    def look(handle):
        seen.append(stat.S_IMODE(os.fstat(handle).st_mode))

    monkeypatch.setattr(os, "fsync", look)
    model().save(path)
    assert seen == [0o600]


def test_a_file_that_may_not_be_written_stays(tmp_path, monkeypatch):
    path = tmp_path / "model.json"
    path.write_text("old")
    monkeypatch.setattr(os, "access", lambda path, how: False)
    with pytest.raises(InputError, match=r"can't write \".*model.json\": Permission denied"):
        model().save(path)
    assert path.read_text() == "old"


@pytest.mark.parametrize("name", ["ü" * 127, "模" * 80, "😀" * 63, "x" * 255, "a b\n", "-"])
def test_any_name_that_a_file_may_have(tmp_path, name):
    for _ in range(2):
        model().save(tmp_path / name)
        assert LinearModel.load(tmp_path / name) == model()
    assert os.listdir(tmp_path) == [name]


def test_a_name_that_is_too_long(tmp_path):
    with pytest.raises(InputError, match=r"^can't write .*: File name too long$"):
        model().save(tmp_path / ("x" * 256))
    assert os.listdir(tmp_path) == []


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
def test_what_a_killed_process_left_is_cleared_away(tmp_path):
    """By the next that writes the file; what others are writing is left alone."""
    script = (
        "import os, sys\nfrom pathlib import Path\nfrom sparsewise._util.files import write_whole\n"
        "os.fsync = lambda handle: os.kill(os.getpid(), 9)\n"
        "write_whole(Path(sys.argv[1]), b'half')\n"
    )
    path = tmp_path / "model.json"
    path.write_text("old")
    killed = subprocess.run([sys.executable, "-c", script, path], check=False)
    assert killed.returncode == -signal.SIGKILL
    [draft] = tmp_path.glob(".*.draft")
    assert path.read_text() == "old"
    ours = draft.with_name(draft.name.split("-")[0] + f"-{os.getpid()}-0.draft")
    ours.touch()
    model().save(path)
    assert sorted(os.listdir(tmp_path)) == [ours.name, "model.json"]


@pytest.mark.skipif(os.name != "posix", reason="devices of POSIX")
def test_a_pipe_is_written_to(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    reader = subprocess.Popen(["cat", tmp_path / "pipe"], stdout=subprocess.PIPE)
    model().save(tmp_path / "pipe")
    assert LinearModel.from_json(reader.communicate()[0].decode()) == model()
    with pytest.raises(InputError, match=r'^can\'t write "/dev/full": No space left on device$'):
        model().save("/dev/full")


def test_a_failed_write_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "model.json"
    model().save(path)

    def full(handle):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(InputError, match=r'can\'t write ".*model.json": No space left on device'):
        model(noise=7.0).save(path)

    def interrupted(handle):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", interrupted)
    with pytest.raises(KeyboardInterrupt):
        model(noise=7.0).save(path)
    assert LinearModel.load(path) == model()
    assert os.listdir(tmp_path) == ["model.json"]


def test_places_that_cannot_be_written(tmp_path):
    for path, why in [
        (tmp_path / "no" / "model.json", "No such file"),
        (tmp_path, "directory"),
        ("a\0b", "null"),
    ]:
        with pytest.raises(InputError, match=f"can't write .*{why}"):
            model().save(path)


def test_files_that_are_no_model(tmp_path, monkeypatch):
    with pytest.raises(InputError, match=r'there is no file ".*none.json"'):
        LinearModel.load(tmp_path / "none.json")
    with pytest.raises(InputError, match="can't read"):
        LinearModel.load(tmp_path)
    with pytest.raises(InputError, match="can't read"):
        LinearModel.load("a\0b")
    path = tmp_path / "m.json"
    path.write_bytes(b"\x80\x04\x95")
    with pytest.raises(InputError, match=r'"[^"]*m.json" is not a model that sparsewise saved'):
        LinearModel.load(path)
    path.write_bytes(pickle.dumps({"format": FORMAT}, protocol=0))
    with pytest.raises(InputError, match="not JSON"):
        LinearModel.load(path)
    path.write_text(model().to_json().replace("1.5", "1.25"))
    with pytest.raises(InputError, match=r'm.json": the model was changed after'):
        LinearModel.load(path)
    monkeypatch.setattr("sparsewise.io.model.MOST_BYTES", 100)
    with pytest.raises(InputError, match="too large to be a model"):
        LinearModel.load(path)
    with pytest.raises(InputError, match="too large to be saved: 2 features"):
        model().save(path)


# --- predictions ----------------------------------------------------------------------------------


def test_predictions_by_the_formula():
    one = model()
    X = np.array([[0.5, 0.25], [3.0, 1.0], [-2.0, 0.0]])
    mean, std = one.predict(X, return_std=True)
    np.testing.assert_allclose(mean, 0.25 + X @ [1.5, -2.0], rtol=1e-14)
    Z = X - [0.5, 0.25]
    spread = np.array([z @ one.covariance @ z for z in Z])
    np.testing.assert_allclose(std, np.sqrt(0.25 * (1 + 1 / 20) + spread), rtol=1e-14)
    np.testing.assert_array_equal(one.predict(X), mean)
    assert one.level == mean[0]


def test_predictions_without_an_intercept():
    one = model(has_intercept=False, intercept=0.0, means=[0.0, 0.0])
    X = np.array([[3.0, 1.0]])
    mean, std = one.predict(X, return_std=True)
    assert mean == X @ [1.5, -2.0]
    np.testing.assert_allclose(std, np.sqrt(0.25 + X[0] @ one.covariance @ X[0]), rtol=1e-14)


def test_an_empty_model_predicts_its_level():
    one = LinearModel("y", (), [], 3.5, [], np.zeros((0, 0)), 2.0, 4)
    mean, std = one.predict(np.zeros((3, 0)), return_std=True)
    np.testing.assert_array_equal(mean, [3.5] * 3)
    np.testing.assert_allclose(std, [math.sqrt(5)] * 3)
    assert LinearModel.from_json(one.to_json()) == one


def test_no_digits_are_lost_far_from_zero():
    """Standardised, the same model: the target is 1 where the feature is one above its mean."""
    one = model(
        features=("a",),
        coef=[1.0],
        means=[1e12],
        intercept=-1e12,
        covariance=[[0.0]],
        encoding=(Source("a"),),
    )
    np.testing.assert_array_equal(one.predict([[1e12 + 1.0], [1e12 + 0.25]]), [1.0, 0.25])


@pytest.mark.parametrize("scale", [1e-160, 1e150])
def test_units_do_not_matter(scale):
    """Squares would vanish or overflow."""
    one, X = model(), np.array([[3.0, 1.0], [0.5, 0.25]])
    large = model(
        coef=one.coef * scale,
        intercept=one.intercept * scale,
        covariance=one.covariance * scale * scale if scale > 1 else one.covariance * 0,
        noise=one.noise * scale,
    )
    mean, std = large.predict(X, return_std=True)
    np.testing.assert_allclose(mean / scale, one.predict(X), rtol=1e-14)
    if scale > 1:
        np.testing.assert_allclose(std / scale, one.predict(X, return_std=True)[1], rtol=1e-13)
    else:
        np.testing.assert_allclose(std / scale, one.noise * math.sqrt(1 + 1 / 20), rtol=1e-13)


@settings(max_examples=200, deadline=None)
@given(models(), st.lists(FLOATS, min_size=5, max_size=5))
def test_predictions_are_finite_or_refused(one, values):
    with contextlib.suppress(InputError):
        mean, std = one.predict([values[: len(one.features)]], return_std=True)
        assert np.isfinite([mean, std]).all()
        assert std >= 0


def test_exact_models_have_no_scatter():
    one = model(noise=0.0, covariance=np.zeros((2, 2)))
    np.testing.assert_array_equal(one.predict(np.ones((2, 2)), return_std=True)[1], 0)


def test_deviations_that_are_not_known():
    X = np.zeros((1, 2))
    for changes, word in [({"noise": None}, "noise"), ({"covariance": None}, "covariance")]:
        one = model(**changes)
        assert one.predict(X).shape == (1,)
        with pytest.raises(InputError, match=f"no standard deviations, as the {word}"):
            one.predict(X, return_std=True)


def test_bad_data():
    one = model()
    for X in (np.zeros(2), np.zeros((2, 3)), np.zeros((2, 2, 2))):
        with pytest.raises(InputError, match="X must have 2 columns"):
            one.predict(X)
    with pytest.raises(InputError, match="not finite, in row 2"):
        one.predict([[0.0, 0.0], [np.nan, 1.0]])
    for X in (
        [["a", "b"]],
        np.array([["1", "2"]]),
        [[1, 2], [3]],
        [[10**400, 1]],
        np.ones((2, 2), complex),
        np.array([["2020-01-01"] * 2], dtype="datetime64[D]"),
        [[object(), 1]],
    ):
        with pytest.raises(InputError, match=r"^X must be an array of real numbers$"):
            one.predict(X)
    with pytest.raises(InputError, match="not finite, in row 1"):
        one.predict(np.full((2, 2), np.longdouble("1e400")))
    with pytest.raises(InputError, match="prediction is too large for a number, in row 2"):
        model(coef=[1e200, 1.0]).predict([[0.0, 0.0], [1e200, 1.0]])
    with pytest.raises(InputError, match="deviation is too large for a number, in row 1"):
        model(noise=1e308, covariance=np.full((2, 2), 1e308)).predict(
            [[1e160, 0.0]], return_std=True
        )


# --- from estimators ------------------------------------------------------------------------------


def estimator(**changes):
    fields = {
        "coef_": np.array([0.0, 1.5, 0.0, -2.0]),
        "get_support": lambda: np.array([True, True, False, True]),
        "intercept_": 0.5,
        "means_": np.array([1.0, 2.0, 3.0]),
        "covariance_": np.diag([1.0, 2.0, 3.0]),
        "noise_": 0.25,
        "n_rows_": 12,
        "fit_intercept": True,
    }
    return SimpleNamespace(**(fields | changes))


def test_from_an_estimator():
    one = LinearModel.from_estimator(estimator(), target="y", method="rmp", facts={"r2": 0.5})
    assert one.features == ("x0", "x1", "x3")  # a chosen feature may have a coefficient of zero
    assert one.coef.tolist() == [0, 1.5, -2]
    assert one.facts == {"r2": 0.5, "sparsewise": __version__}
    assert (one.rows, one.noise, one.method, one.has_intercept) == (12, 0.25, "rmp", True)
    assert one.encoding == (Source("x0"), Source("x1"), Source("x3"))


def test_names_and_encoding_of_an_estimator():
    named = estimator(feature_names_in_=np.array(list("abcd"), dtype=object))
    assert LinearModel.from_estimator(named, target="y").features == ("a", "b", "d")
    encoding = [Source("a"), Source("s", ("p", "q")), Source("c"), Source("t", ("u", "v"))]
    names = ["a", "s=q", "c", "t=v"]
    one = LinearModel.from_estimator(estimator(), target="y", names=names, encoding=encoding)
    assert one.features == ("a", "s=q", "t=v")
    assert one.encoding == (encoding[0], encoding[1], encoding[3])


def test_an_estimator_without_intercept_or_deviations():
    bare = estimator(fit_intercept=False, intercept_=0.0, covariance_=None, noise_=None)
    one = LinearModel.from_estimator(bare, target="y")
    assert (one.intercept, one.means.tolist()) == (0, [0, 0, 0])
    assert one.predict([[5.0, 2.0, 1.0]]) == [1.0]


def test_a_covariance_that_rounding_made_skew():
    skew = np.array([[1.0, 0.1, 0.2], [0.1 + 1e-17, 1.0, 0.3], [0.2, 0.3 + 1e-16, 1.0]])
    one = LinearModel.from_estimator(estimator(covariance_=skew), target="y")
    np.testing.assert_array_equal(one.covariance, one.covariance.T)
    np.testing.assert_allclose(one.covariance, skew, atol=1e-15)


@pytest.mark.parametrize("weights", [None, "weights"])
def test_predictions_are_those_of_the_estimator(weights):
    from sparsewise.estimators.sparse_bayes import SparseBayesRegressor

    X, y = load_diabetes(return_X_y=True, scaled=False)
    w = None if weights is None else np.arange(len(y)) % 3
    fitted = SparseBayesRegressor().fit(X, y, sample_weight=w)
    one = LinearModel.from_json(LinearModel.from_estimator(fitted, target="y").to_json())
    chosen = X[:, fitted.get_support()]
    for found, expected in zip(
        one.predict(chosen, return_std=True), fitted.predict(X, return_std=True), strict=True
    ):
        np.testing.assert_allclose(found, expected, rtol=1e-10)


# --- several targets ------------------------------------------------------------------------------


def of_two(**changes):
    fields = {
        "target": ("y", "z"),
        "coef": [[1.5, -2.0], [0.0, 0.1]],
        "intercept": [0.25, -1.0],
        "noise": [0.5, 0.0],
    }
    return model(**(fields | changes))


def test_several_targets_come_back_exactly():
    one = of_two()
    content = json.loads(one.to_json())
    assert (content["format"], content["version"]) == (FORMAT, 1)
    assert content["target"] == ["y", "z"]
    again = LinearModel.from_json(one.to_json())
    assert again == one
    assert again.target == ("y", "z")
    assert again.coef.shape == (2, 2)


def test_several_targets_predict_as_each_of_them():
    one, X = of_two(), np.random.default_rng(0).standard_normal((7, 2))
    mean, std = one.predict(X, return_std=True)
    assert mean.shape == std.shape == (7, 2)
    for t in range(2):
        noise = float(one.noise[t])
        covariance = one.covariance * (noise / 0.5) ** 2  # of those that have noise: the first
        single = model(
            coef=one.coef[t], intercept=float(one.intercept[t]), noise=noise, covariance=covariance
        )
        np.testing.assert_allclose(mean[:, t], single.predict(X))
        np.testing.assert_allclose(std[:, t], single.predict(X, return_std=True)[1])


@pytest.mark.parametrize("intercept", [True, False])
def test_several_targets_of_an_estimator(intercept, tmp_path):
    from sparsewise import StepwiseRegressor

    X, y = load_diabetes(return_X_y=True)
    Y = np.column_stack([y, 1e-4 * y**2])
    fit = StepwiseRegressor(fit_intercept=intercept).fit(X, Y)
    LinearModel.from_estimator(fit, target=["a", "b"]).save(tmp_path / "model.json")
    saved = LinearModel.load(tmp_path / "model.json")
    new = X[:9, fit.get_support()]
    for found, expected in zip(
        saved.predict(new, return_std=True), fit.predict(X[:9], return_std=True), strict=True
    ):
        np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"target": []}, "target must have a name at least"),
        ({"target": ["y", 3]}, "target must be text"),
        ({"target": "y"}, "coef must be a number"),
        ({"coef": [1.5, -2.0]}, "coef must have"),
        ({"coef": [[1.5, -2.0]]}, "coef must have 2 x 2 numbers, as the model has 2 features"),
        ({"intercept": 0.5}, "intercept must have 2 numbers, as the model has 2 targets"),
        ({"noise": [0.5]}, "noise must have 2 numbers, as the model has 2 targets"),
        ({"noise": [0.5, -1.0]}, "noise must not be negative"),
        ({"has_intercept": False, "means": [0.0, 0.0]}, "without an intercept"),
    ],
)
def test_several_targets_that_do_not_fit(changes, words):
    assert words in refused(sealed(json.loads(of_two().to_json()) | changes))
