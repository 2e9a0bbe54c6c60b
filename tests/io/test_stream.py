"""Tables that are read piece by piece: the same numbers, and the same sentences, as in memory."""

import gzip
import itertools
import os
import re
import subprocess
import sys

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sparsewise.errors import InputError
from sparsewise.io.model import Source
from sparsewise.io.tables import encode, formats, open_table, select
from sparsewise.io.tables import stored_files as stored
from sparsewise.io.tables.stored_files import TextFile, TypedFile, _last_row_end
from sparsewise.suffstats.condensed import Condensed


@pytest.fixture
def pieces(monkeypatch):
    """Make pieces so small that few rows are several."""

    def cut(rows):
        monkeypatch.setattr(stored, "READ", 2 * rows * 8 * 4)
        monkeypatch.setattr(stored, "COLUMNS", 2)
        monkeypatch.setattr(stored, "PIECE", rows * 8 * 4)
        monkeypatch.setattr(formats, "BLOCK", rows * 9)
        monkeypatch.setattr("sparsewise.io.tables.table.CHUNK", rows * 8 * 5)

    cut(3)
    return cut


def both(path, **words):
    """The table in memory, and the same piece by piece."""
    paths = [str(path)] if not isinstance(path, list) else list(map(str, path))
    whole = open_table(paths)
    parts = open_table(paths, in_memory=0)
    assert whole.in_memory
    assert not parts.in_memory
    return select(whole, **words), select(parts, **words)


def assert_same(table, stream):
    """The same decisions, and the same numbers."""
    for name in ("names", "target", "rows", "counted_rows", "dropped", "encoding", "notes"):
        assert getattr(table, name) == getattr(stream, name)
    chunks = list(stream.chunks())
    np.testing.assert_array_equal(np.concatenate([chunk.X for chunk in chunks]), table.X)
    np.testing.assert_array_equal(np.concatenate([chunk.y for chunk in chunks]), table.y)
    if table.data.weights is not None:
        weights = np.concatenate([chunk.weights for chunk in chunks])
        np.testing.assert_array_equal(weights, table.data.weights)
    if table.schema.fold is not None:
        assert [*itertools.chain(*(chunk.folds for chunk in chunks))] == [*table.data.folds]
    np.testing.assert_array_equal(stream.gathered().X, table.X)
    return chunks


def refused(path, **words):
    """What both say of a table that can't be used."""
    paths = [str(path)] if not isinstance(path, list) else list(map(str, path))
    with pytest.raises(InputError) as whole:
        select(open_table(paths), **words)
    with pytest.raises(InputError) as parts:
        select(open_table(paths, in_memory=0), **words)
    assert str(whole.value) == str(parts.value)
    return str(parts.value)


FRAME = pl.DataFrame(
    {
        "x": [0.5, 1.5, None, 3.25, 4.0, 5.0, 6.5, 7.0, float("nan"), 9.0, 1e-3],
        "on": [True, False, True, True, None, False, True, True, False, True, False],
        "colour": ["red", "blue", "red", "pink", "red", "blue", None, "red", "red", "blue", "red"],
        "w": [1, 2, 0, 1, 1, 3, 1, 1, 2, 0, 1],
        "f": ["a", "b", "a", "b", "c", "c", "a", "b", "c", "a", "b"],
        "y": [float(j) for j in range(11)],
    }
)


@pytest.mark.parametrize("form", ["parquet", "csv"])
@pytest.mark.parametrize("rows", [1, 3, 100])
def test_pieces_are_the_same_as_the_whole(tmp_path, pieces, form, rows):
    pieces(rows)
    path = tmp_path / f"t.{form}"
    getattr(FRAME, f"write_{form}")(path)
    words = {"target": "y", "categorical": ["colour"], "weights": "w", "fold": "f"}
    chunks = assert_same(*both(path, **words, drop_missing=True))
    assert (len(chunks) > 1) == (rows < 100)
    assert 'missing values (of 11 rows): "x" 2, "on" 1, "colour" 1' in refused(path, **words)


@pytest.mark.parametrize("form", ["parquet", "csv"])
def test_a_folder_is_its_files_one_after_the_other(tmp_path, pieces, form):
    folder = tmp_path / "data"
    folder.mkdir()
    write = f"write_{form}"
    getattr(FRAME, write)(tmp_path / "whole")
    for number, (start, end) in enumerate([(0, 2), (2, 9), (9, 9), (9, 11)]):
        # The order of columns is that of the first file.
        part = FRAME[start:end] if number != 1 else FRAME[start:end].select(FRAME.columns[::-1])
        getattr(part, write)(folder / f"part-{number}.{form}")
    (folder / "_SUCCESS").write_text("")
    (folder / f".hidden.{form}").write_text("")
    (folder / "README").write_text("not a table")
    words = {"target": "y", "categorical": ["colour", "f"], "weights": "w", "drop_missing": True}
    table = select(open_table([str(tmp_path / "whole")]), **words)
    for source in ([folder], [folder / f"part-*.{form}"], sorted(folder.glob(f"part*.{form}"))):
        again, stream = both(list(source), **words)
        np.testing.assert_array_equal(again.X, table.X)
        assert again.notes == table.notes
        assert_same(again, stream)


def test_types_are_decided_by_all_rows(tmp_path, pieces):
    """Numbers first, text later; truth values first, numbers later."""
    path = tmp_path / "t.csv"
    rows = [f"{j},true,{j}" for j in range(30)]
    path.write_text("a,on,y\n" + "\n".join([*rows, "7,1,3"]) + "\n")
    message = refused(path, target="y")
    assert message.startswith('column "on" holds text (the first is "true" in row 1)')
    path.write_text("a,on,y\n" + "\n".join([*rows, "seven,false,3"]) + "\n")
    assert '"a" holds text (the first is "seven" in row 31)' in refused(path, target="y")
    table, stream = both(path, target="y", categorical=["a"])
    assert table.X[-1].tolist() == [*[0] * 30, 1, 0]
    assert_same(table, stream)


def test_words_for_truth_among_gaps(tmp_path, pieces):
    """A piece without any word says nothing of the column."""
    path = tmp_path / "t.csv"
    path.write_text("on,y\n" + "NA,1\n" * 9 + "True,2\n" * 4 + "FALSE,3\n" * 4 + ",4\n" * 5)
    table, stream = both(path, target="y", drop_missing=True)
    assert table.X[:, 0].tolist() == [1] * 4 + [0] * 4
    assert_same(table, stream)
    path.write_text("on,y\n" + "-nan,1\n" * 9 + "True,2\n" * 4)
    assert '"on" holds text' in refused(path, target="y", drop_missing=True)


def test_truth_values_as_weights(tmp_path, pieces):
    path = tmp_path / "t.csv"
    path.write_text("w,x,y\n" + "true,1,2\nfalse,3,4\n" * 5)
    table, stream = both(path, target="y", weights="w")
    assert table.counted_rows == 5
    assert_same(table, stream)


def test_line_feeds_within_cells(tmp_path, pieces):
    path = tmp_path / "t.csv"
    cells = ['"a\n""b"', "c", '"\n\n\n"', '"d,\n"']
    lines = [f"{cells[j % 4]},{j},{j * j}" for j in range(40)]
    path.write_text('"te\nxt",x,y\n' + "\n".join(lines))
    assert_same(*both(path, target="y", categorical=["te\nxt"], drop_missing=True))
    refusal = refused(path, target="y")
    assert '"te xt" holds text' in refusal


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_every_line_is_a_row(tmp_path, pieces, end, pack):
    """A blank one lacks all values, and predictions stay beside their lines."""
    lines = ["1,2", "", "", "3,4", ",", *[""] * 20, "5,6", "7", *[""] * 9, "8,9", ","]
    path = tmp_path / "t.csv"
    for after in ("", end, end * 30):  # blank lines at the end are none
        path.write_bytes(pack(end.join(["", "", "a,y", *lines]).encode() + after.encode()))
        gaps = sum(not line.endswith(tuple("123456789")) for line in lines)
        missing = f'missing values (of {len(lines)} rows): "y" {gaps + 1}, "a" {gaps}'
        assert refused(path, target="y").startswith(missing)
        table, stream = both(path, target="y", drop_missing=True)
        assert (table.rows, table.dropped) == (4, gaps + 1)
        assert_same(table, stream)
        for in_memory in (None, 0):
            stored = open_table([str(path)], in_memory)
            X = np.concatenate(list(encode(stored, (Source("a"),), ("a",), "blank")))
            told = ["" if np.isnan(x) else f"{x:g}" for x in X[:, 0]]
            assert told == [line.split(",")[0] for line in lines]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_every_line_of_a_single_column_is_a_row(tmp_path, pieces, end):
    path, lines = tmp_path / "t.csv", ["1", "", "2", *[""] * 20, "3", "", ""]
    path.write_bytes(end.join(["", "a", *lines, ""]).encode())
    for in_memory in (None, 0):
        stored = open_table([str(path)], in_memory)
        X = np.concatenate(list(encode(stored, (Source("a"),), ("a",), "blank")))
        assert ["" if np.isnan(x) else f"{x:g}" for x in X[:, 0]] == lines


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_line_ends_of_every_kind(tmp_path, pieces, end):
    path = tmp_path / "t.tsv"
    text = end.join(["a\ty", *(f"{j}\t{j * 2}" for j in range(30))])
    path.write_bytes(b"\xef\xbb\xbf" + text.encode())
    table, stream = both(path, target="y")
    assert table.rows == 30
    assert_same(table, stream)


@settings(max_examples=200, deadline=None)
@given(st.text(alphabet='a,"\n', max_size=40))
def test_text_is_cut_where_rows_end(text):
    data = text.encode()
    end = _last_row_end(data)
    quotes = [data[:k].count(b'"') % 2 for k in range(len(data) + 1)]
    ends = [k for k in range(1, len(data) + 1) if data[k - 1 : k] == b"\n" and not quotes[k]]
    assert end == max(ends, default=0)


def test_an_open_quotation_mark_is_no_endless_row(tmp_path, pieces, monkeypatch):
    monkeypatch.setattr(formats, "LONGEST_RECORD", 200)
    path = tmp_path / "t.csv"
    path.write_text("a,y\n" + "1,2\n" * 20 + '"1,2\n' + "1,2\n" * 200)
    with pytest.raises(InputError, match=r"does not end within .* quotation mark never closed"):
        select(open_table([str(path)], in_memory=0), target="y")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"\n \n" * 20, "is empty"),
        (b"a,y\n" + b"1,2\n" * 20 + b"\xff,1\n", "is not UTF-8 text .it has a byte ff.: try enc"),
        (b"a,y\n" + b"1,2\n" * 20 + b"\0,1\n", "is no text, as it has bytes of zero"),
        (b"a,y\n" + b"1,2\n" * 20 + b"1,2,3\n", "row 21 of .* has 3 cells, but the header has 2"),
        (b"a,a,y\n1,2,3\n", 'more than one column called "a"'),
        (b"a,y\n", "has a header, but no rows"),
        (b"a,y\n" + b"1,2\n" * 20 + b"1e200,1\n", r'"a" has a value beyond 1e\+150 in row 21'),
    ],
)
def test_text_that_is_no_table(tmp_path, pieces, content, message):
    path = tmp_path / "t.csv"
    path.write_bytes(content)
    assert re.search(message, refused(path, target="y"))


def test_bad_weights_and_folds(tmp_path, pieces):
    path = tmp_path / "t.csv"
    rows = "".join(f"{j},{j % 3},1,{-(j == 17)},{j}\n" for j in range(20))
    path.write_text("x,a,one,w,y\n" + rows)
    words = {"target": "y"}
    assert '"w" are negative in row 18' in refused(path, weights="w", **words)
    assert '"one" is "1" in every row: give two or more' in refused(path, fold="one", **words)
    assert '"a" can\'t be the folds and a feature' in refused(
        path, fold="a", features=["a"], **words
    )
    assert "can't be the weights and the folds" in refused(path, fold="a", weights="a", **words)
    assert both(path, fold="a", **words)[1].folds == ("0", "1", "2")


def test_files_with_other_columns(tmp_path):
    for name, text in {
        "a": "x,z,y\n1,2,3\n4,5,7\n",
        "b": "x,y\n1,3\n",
        "c": "x,u,y\n1,2,3\n",
    }.items():
        (tmp_path / f"{name}.csv").write_text(text)
    a, b, c = (tmp_path / f"{name}.csv" for name in "abc")
    assert f'{b} lacks the column "z", which {a} has' in refused([a, b], target="y")
    assert f'{b} lacks the column "z", which {a} has' in refused([b, a], target="y")
    assert f'{a} lacks the column "u", which {c} has' in refused([a, c], target="y")
    # What is not used may differ.
    table, stream = both([a, b, c], target="y", exclude=["z", "u"])
    assert table.X[:, 0].tolist() == [1, 4, 1, 1]
    assert_same(table, stream)
    assert_same(*both([a, b], target="y", features=["x"]))


def test_files_with_other_types(tmp_path):
    a, b = tmp_path / "a.parquet", tmp_path / "b.parquet"
    pl.DataFrame({"x": [1, 2], "y": [1.0, 2.0]}).write_parquet(a)
    pl.DataFrame({"x": [1.5, None], "y": [1, 2]}).write_parquet(b)
    assert_same(*both([a, b], target="y", drop_missing=True))
    pl.DataFrame({"x": ["1", "red"], "y": [1, 2]}).write_parquet(b)
    assert f'column "x" holds text (the first is "1" in row 1 of {b})' in refused(
        [a, b], target="y"
    )
    (tmp_path / "c.csv").write_text("x,y\n1,2\n")
    message = f"{tmp_path / 'c.csv'} is text and {a} is Parquet"
    assert message in refused([a, tmp_path / "c.csv"], target="y")


@pytest.mark.parametrize(
    ("sources", "message"),
    [
        (["none-*.csv"], 'there is no file like ".*none-\\*.csv"'),
        (["none.csv"], 'there is no file ".*none.csv"'),
        (["empty"], 'the folder ".*empty": no file ends in .parquet'),
        (["t.csv", "t*.csv"], 't.csv" is given more than once'),
    ],
)
def test_files_that_are_not_there(tmp_path, sources, message):
    (tmp_path / "empty").mkdir()
    (tmp_path / "t.csv").write_text("x,y\n1,2\n")
    with pytest.raises(InputError, match=message):
        open_table([str(tmp_path / source) for source in sources])


def test_a_name_like_a_pattern_is_a_name(tmp_path):
    for form in ("parquet", "csv"):
        path = tmp_path / f"t[1]*.{form}"
        getattr(FRAME, f"write_{form}")(path)
        table, stream = both(path, target="y", features=["w"])
        assert_same(table, stream)


def test_small_means_numbers_where_parquet_is_dense(tmp_path):
    """A column of one value takes no room in a file, but in memory."""
    path = tmp_path / "t.parquet"
    pl.DataFrame({"x": np.zeros(100_000), "y": np.zeros(100_000)}).write_parquet(path)
    assert path.stat().st_size < 10_000
    assert isinstance(open_table([str(path)], in_memory=10**6).files[0], TypedFile)
    assert open_table([str(path)], in_memory=2 * 10**6).in_memory
    path.with_suffix(".csv").write_text("x,y\n" + "1,2\n" * 100)
    big = open_table([str(path.with_suffix(".csv"))], in_memory=100)
    assert isinstance(big.files[0], TextFile)


def test_damaged_parquet_is_one_quiet_sentence(tmp_path, pieces, capfd):
    path = tmp_path / "t.parquet"
    pl.DataFrame({"x": np.arange(1000.0), "y": np.arange(1000.0)}).write_parquet(path)
    data = bytearray(path.read_bytes())
    stream = select(open_table([str(path)], in_memory=0), target="y")
    data[4:900] = bytes(896)
    path.write_bytes(data)
    with pytest.raises(InputError, match="cut short or damaged"):
        list(stream.chunks())
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("form", ["parquet", "csv"])
def test_files_that_change_between_two_looks(tmp_path, pieces, form):
    path, write = tmp_path / "t", f"write_{form}"
    getattr(FRAME, write)(path)
    words = {"target": "y", "features": ["f"], "categorical": ["f"]}
    stream = select(open_table([str(path)], in_memory=0), **words)
    getattr(FRAME[:7], write)(path)
    with pytest.raises(InputError, match="has changed while it was read"):
        list(stream.chunks())
    getattr(FRAME.with_columns(f=pl.lit("new")), write)(path)
    with pytest.raises(InputError, match="has changed while it was read"):
        list(stream.chunks())
    path.unlink()
    with pytest.raises(InputError):
        list(stream.chunks())


def test_what_was_read_is_told(tmp_path, pieces):
    path = tmp_path / "t.csv"
    FRAME.write_csv(path)
    told = []
    stream = select(
        open_table([str(path)], in_memory=0),
        target="y",
        categorical=["colour", "f"],
        drop_missing=True,
        report=told.append,
    )
    header = len(",".join(FRAME.columns)) + 1
    assert sum(told) == stream.stored.size - header
    list(stream.chunks(told.append))
    assert sum(told) == 2 * (stream.stored.size - header)


def test_predictions_are_made_of_the_same_features(tmp_path, pieces):
    path, words = tmp_path / "t.csv", {"target": "y", "categorical": ["colour", "f"]}
    complete = FRAME.drop_nulls().filter(pl.col("x").is_not_nan())
    complete.write_csv(path)
    table = select(open_table([str(path)]), **words)
    parts = open_table([str(path)], in_memory=0)
    X = np.concatenate(list(encode(parts, table.encoding, table.names)))
    np.testing.assert_array_equal(X, table.X)
    [whole] = encode(open_table([str(path)]), table.encoding, table.names)
    np.testing.assert_array_equal(whole, X)
    assert sum(map(len, encode(parts, (), ()))) == complete.height


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"colour": "grey"}, '"colour" has the level "grey" in row 9, which the model does not'),
        ({"x": "one"}, 'column "x" of .* holds text .*"one" in row 9.* needs numbers'),
        ({"x": "NA"}, r'missing values \(of 9 rows\): "x" 1'),
        ({"x": "1e200"}, '"x" has a value beyond .* in row 9'),
    ],
)
def test_rows_that_a_model_cannot_use_are_found_first(tmp_path, pieces, change, message):
    path = tmp_path / "t.csv"
    rows = [{"x": str(j), "colour": "red" if j % 2 else "blue", "y": j} for j in range(9)]
    pl.DataFrame(rows).write_csv(path)
    table = select(open_table([str(path)]), target="y", categorical=["colour"])
    rows[-1] |= change
    pl.DataFrame(rows).write_csv(path)
    for in_memory in (0, 10**6):
        rows = encode(open_table([str(path)], in_memory=in_memory), table.encoding, table.names)
        with pytest.raises(InputError, match=message):
            next(rows)


# --- several targets ------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["parquet", "csv"])
@pytest.mark.parametrize("rows", [1, 3, 100])
def test_pieces_with_several_targets(tmp_path, pieces, form, rows):
    pieces(rows)
    path = tmp_path / f"t.{form}"
    getattr(FRAME, f"write_{form}")(path)
    words = {"target": ["y", "x"], "categorical": ["colour"], "fold": "f", "drop_missing": True}
    table, stream = both(path, **words)
    assert_same(table, stream)
    assert table.y.shape == (7, 2)
    found = stream.condensed()
    assert (found.n_targets, found.target_names) == (2, ["y", "x"])
    expected = Condensed().update(table.X, table.y, fold=table.data.folds)
    for one, other in zip(found.system(), expected.system(), strict=True):
        one, other = (getattr(each, "A", each) for each in (one, other))
        np.testing.assert_allclose(one.T @ one, other.T @ other, atol=1e-12)
    words["drop_missing"] = False
    assert 'missing values (of 11 rows): "x" 2, "on" 1, "colour" 1' in refused(path, **words)


# --- memory ---------------------------------------------------------------------------------------

ENDLESS = """
import resource, sys
from sparsewise.cli import main
resource.setrlimit(resource.RLIMIT_AS, (2**32, 2**32))
sys.exit(main(["fit", sys.argv[1], "--target", "y"]))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="there may be no such device")
def test_what_has_no_end_is_refused(tmp_path):
    words = [sys.executable, "-c", ENDLESS]
    zeros = subprocess.run([*words, "/dev/zero"], capture_output=True, text=True)
    assert zeros.returncode == 2
    assert "/dev/zero is no text, as it has bytes of zero" in zeros.stderr
    with subprocess.Popen(["sh", "-c", "yes | tr -d '\\n'"], stdout=subprocess.PIPE) as endless:
        line = subprocess.run([*words, "-"], stdin=endless.stdout, capture_output=True, text=True)
        endless.stdout.close()
    assert line.returncode == 2
    assert "a row of standard input does not end within 128 MB" in line.stderr
    for source in ("-", "/dev/stdin"):  # but pipes are read
        table = "a,y\n1,2\n2,4.1\n3,6\n"
        whole = subprocess.run([*words, source], input=table, capture_output=True, text=True)
        assert (whole.returncode, whole.stderr) == (0, "")


PEAK = """
import sys
from pathlib import Path
from sparsewise.io.tables import formats, open_table, select
from sparsewise.io.tables import stored_files as stored, table as tables
stored.READ, stored.PIECE, formats.BLOCK, tables.CHUNK = 2**22, 2**20, 2**20, 2**20
first, folder = sys.argv[1:]
for path, keep in ((first, iter), (folder, iter), (folder, list)):
    table = select(open_table([path], in_memory=0), target="x0")
    assert sum(len(chunk) for chunk in keep(table.chunks())) == table.rows
    # Not ru_maxrss, which may be that of the process which started this one.
    print(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0])
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the peak is told by /proc")
@pytest.mark.parametrize("form", ["parquet", "csv"])
def test_memory_does_not_grow_with_the_data(tmp_path, form):
    """Eight times the rows, the same peak so far; not so if all of them are kept."""
    n, m = (100_000, 20) if form == "parquet" else (150_000, 5)
    X = np.random.default_rng(0).integers(10, size=(n, m)).astype(float)
    frame = pl.DataFrame(X, schema=[f"x{j}" for j in range(m)], orient="row").cast(pl.Int64)
    getattr(frame, f"write_{form}")(tmp_path / f"0.{form}")
    for number in range(1, 8):
        os.link(tmp_path / f"0.{form}", tmp_path / f"{number}.{form}")

    words = [sys.executable, "-c", PEAK, str(tmp_path / f"0.{form}"), str(tmp_path)]
    env = {**os.environ, "POLARS_MAX_THREADS": "2", "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(words, capture_output=True, text=True, check=True, env=env)
    one, streamed, kept = (int(peak) / 1024 for peak in done.stdout.split())
    more = 7 * X.nbytes / 2**20
    assert streamed < one + more / 2 < kept


@pytest.mark.parametrize("break_at", [None, 17])
def test_odd_columns_are_noted_whatever_the_pieces(tmp_path, pieces, break_at):
    numbers = np.arange(40)
    if break_at is not None:
        numbers[break_at:] += 1
    path = tmp_path / "t.csv"
    pl.DataFrame({"id": numbers, "b": [2] * 40, "a": [1, 5] * 20, "y": range(40)}).write_csv(path)
    whole = select(open_table([str(path)]), target="y").notes
    assert select(open_table([str(path)], in_memory=0), target="y").notes == whole
    assert whole[0] == '"b" is 2 in every row'
    assert len(whole) == (2 if break_at is None else 1)
