"""Tables: what is read from a file, what becomes of its cells, and what is refused."""

import contextlib
import datetime
import io
import re
import shlex
from decimal import Decimal
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sparsewise.cli.spelling import sentence
from sparsewise.errors import InputError
from sparsewise.io import tables
from sparsewise.io.model import Source
from sparsewise.io.tables import (
    MOST_LEVELS,
    RawTable,
    as_argument,
    load_example,
    read_table,
    select,
    split_names,
    target_names,
)


def encode(*args):
    """All features in one matrix."""
    return np.concatenate(list(tables.encode(*args)))


def text_table(text, label="t.csv"):
    """A table as read from text."""
    frame = pl.read_csv(io.BytesIO(text.encode()), infer_schema=False)
    return RawTable(label, {name: frame[name] for name in frame.columns}, is_text=True)


def typed_table(**columns):
    """A table as read from a Parquet file."""
    return RawTable("t.parquet", {k: pl.Series(k, v) for k, v in columns.items()})


@pytest.fixture
def parquet(tmp_path):
    def write(frame, name="table.parquet"):
        path = tmp_path / name
        frame.write_parquet(path)
        return str(path)

    return write


COLOURS = "x,colour,y\n1,red,2\n2,blue,3\n3,red,5\n4,green,4\n5,blue,7\n"


# --- Parquet --------------------------------------------------------------------------------------

MANY_TYPES = pl.DataFrame(
    {
        "f32": pl.Series([0.5, 1.5, -2.25], dtype=pl.Float32),
        "f64": pl.Series([1e-200, 2.0, 3.0]),
        "i8": pl.Series([-128, 0, 127], dtype=pl.Int8),
        "u8": pl.Series([0, 1, 255], dtype=pl.UInt8),
        "i16": pl.Series([-300, 0, 300], dtype=pl.Int16),
        "u64": pl.Series([0, 1, 2**64 - 1], dtype=pl.UInt64),
        "i64": pl.Series([-(2**53), 0, 2**53], dtype=pl.Int64),
        "flag": pl.Series([True, False, True]),
        "money": pl.Series([Decimal("1.25"), Decimal("-2.50"), Decimal("0.10")]),
        "y": pl.Series([1.0, 2.0, 4.0]),
    }
)


def test_numbers_of_every_width(parquet):
    table = select(read_table(parquet(MANY_TYPES)), target="y")
    assert table.names == tuple(MANY_TYPES.columns[:-1])
    expected = np.array(
        [[float(row[name]) for name in table.names] for row in MANY_TYPES.to_dicts()]
    )
    np.testing.assert_array_equal(table.X, expected)
    np.testing.assert_array_equal(table.y, [1, 2, 4])
    assert table.X.flags.f_contiguous
    assert table.X.dtype == np.float64


def test_content_tells_the_format(tmp_path, parquet, monkeypatch):
    """A Parquet file may have any name, and come through standard input."""
    path = parquet(MANY_TYPES, "table.csv")
    expected = select(read_table(path), target="y")
    with open(path, "rb") as file:

        class Stdin:
            buffer = file

        monkeypatch.setattr("sys.stdin", Stdin)
        piped = read_table("-")
    assert piped.label == "standard input"
    np.testing.assert_array_equal(select(piped, target="y").X, expected.X)
    odd = tmp_path / "odd.csv"
    odd.write_text("PAR1,y\n1,2\n3,4\n")
    assert select(read_table(str(odd)), target="y").names == ("PAR1",)


def test_row_labels_are_no_feature_unless_named():
    raw = typed_table(a=[1, 2], __index_level_0__=[5, 6], y=[1, 2])
    table = select(raw, target="y")
    assert table.names == ("a",)
    assert "__index_level_0__" in table.notes[0]
    assert select(raw, target="y", features=["__index_level_0__"]).X.tolist() == [[5], [6]]


def test_damaged_parquet_is_one_quiet_sentence(parquet, tmp_path, capfd):
    path = tmp_path / "broken.parquet"
    data = Path(parquet(MANY_TYPES)).read_bytes()
    rng = np.random.default_rng(0)
    broken = [data[: len(data) // 2], data[:20], data[:4] + data[-4:], b"PAR1" + bytes(9) + b"PAR1"]
    for _ in range(60):
        copy = bytearray(data)
        for place in rng.integers(4, len(data) - 4, 3):
            copy[place] = rng.integers(256)
        broken.append(bytes(copy))
    sentences = []
    for content in broken:
        path.write_bytes(content)
        with contextlib.suppress(InputError):
            read_table(str(path))
            continue
        sentences.append(content)
    assert len(sentences) >= 30
    assert capfd.readouterr() == ("", "")


def test_missing_values_of_every_type():
    raw = typed_table(
        a=[1.0, None, np.nan, 4.0],
        b=pl.Series([True, None, True, False]),
        c=pl.Series([None] * 4, dtype=pl.Null),
        y=[1, 2, 3, None],
    )
    with pytest.raises(
        InputError, match=r'of 4 rows\): "y" 1, "a" 2, "b" 1, "c" 4; .*drop_missing'
    ):
        select(raw, target="y")
    table = select(raw, target="y", drop_missing=True, exclude=["c"])
    assert table.dropped == 3
    np.testing.assert_array_equal(table.X, [[1, 1]])


def test_a_row_of_nothing_but_gaps_is_a_row():
    for raw in (typed_table(a=[1.0, None], y=[1.0, None]), text_table("a,y\n\n1,2\n")):
        with pytest.raises(InputError, match=r'of 2 rows\): "y" 1, "a" 1'):
            select(raw, target="y")


OTHER_TYPES = {
    "text": (["b", "b"], '"b" in row 1.*--categorical c'),
    "categories": (pl.Series(["7", "8"], dtype=pl.Enum(["7", "8"])), '"7" in .*--categorical c'),
    "dates or times": ([datetime.date(2024, 1, 2)] * 2, '"2024-01-02" in row 1.*numbers first'),
    "durations": ([datetime.timedelta(1)] * 2, "into numbers first"),
    "lists": ([[1], [2]], "into numbers first"),
    "records": ([{"k": 1}, {"k": 2}], "into numbers first"),
    "bytes": ([b"a", b"b"], "into numbers first"),
}


@pytest.mark.parametrize("kind", OTHER_TYPES)
def test_columns_without_numbers_are_named(kind):
    values, message = OTHER_TYPES[kind]
    raw = typed_table(a=[1, 2], c=values, y=[1, 2])
    with pytest.raises(InputError) as error:
        select(raw, target="y")
    line = sentence(error.value)  # as the command line shows it
    assert re.search(rf'^column "c" holds {kind} \(.*--exclude c, or ', line)
    assert re.search(message, line)
    with pytest.raises(InputError, match=rf'the target "c" holds {kind}'):
        select(raw, target="c")
    with pytest.raises(InputError, match=rf'column of weights "c" holds {kind}'):
        select(raw, target="y", weights="c")
    assert select(raw, target="y", exclude=["c"]).names == ("a",)


def test_digits_in_a_column_of_text_are_text_where_types_are_told():
    raw = typed_table(zip=["01", "02"], y=[1, 2])
    with pytest.raises(InputError, match='"zip" holds text'):
        select(raw, target="y")
    assert select(text_table("zip,y\n01,1\n02,2\n"), target="y").X.tolist() == [[1], [2]]


def test_several_columns_without_numbers():
    raw = typed_table(t=["b", "b"], u=pl.Series(["p", "q"], dtype=pl.Categorical), y=[1, 2])
    with pytest.raises(
        InputError,
        match=r'"t", "u" hold text and categories: .*exclude="t,u", .*categorical="t,u"$',
    ):
        select(raw, target="y")
    raw = typed_table(t=["b", "b"], l=[[1], [2]], y=[1, 2])
    with pytest.raises(
        InputError, match=r'"t", "l" hold text and lists: .*exclude="t,l", .*categorical="t"$'
    ):
        select(raw, target="y")


def test_columns_that_tell_no_groups_are_to_be_left_out():
    """Labels, dates and texts of which there are too many; and of numbers, a single word."""
    n = 2 * MOST_LEVELS + 2
    columns = {
        "id": [f"r{j}" for j in range(n)],
        "day": [f"2024-01-{j % 28 + 1:02}" for j in range(n)],
        "at": [datetime.datetime(2024, 1, j % 28 + 1) for j in range(n)],
        "pair": [f"r{j // 2}" for j in range(n)],
        "number": [*map(str, range(n - 1)), "many"],
    }
    for name, cells in columns.items():
        raw = RawTable("t", {name: pl.Series(cells), "y": pl.Series(range(n))})
        if name == "number":
            raw = text_table("number,y\n" + "".join(f"{x},1\n" for x in cells))
        with pytest.raises(InputError) as error:
            select(raw, target="y")
        assert sentence(error.value).endswith(
            f": leave it out with --exclude {name}, or turn it into numbers first"
        )


@pytest.mark.parametrize("in_memory", [None, 0])
@pytest.mark.parametrize("form", ["parquet", "feather"])
def test_numbers_that_pandas_declares_categories(tmp_path, form, in_memory):
    pytest.importorskip("pyarrow")  # by which pandas writes them
    # Polars reads no others of Feather: neither gaps nor fractions.
    some, others = ([1, 2, None, 1], [0.5, 2, 2, 2]) if form == "parquet" else ([1, 2, 2, 1],) * 2
    levels = pd.Categorical(some, categories=[1, 2, 3])
    frame = pd.DataFrame({"a": [1.0, 2, 3, 5], "i ": levels, "f": pd.Categorical(others)})
    path = str(tmp_path / f"t.{form}")
    getattr(frame, f"to_{form}")(path)
    try:
        (pl.read_parquet if form == "parquet" else pl.read_ipc)(path)
    except pl.exceptions.PolarsError as error:
        pytest.skip(f"Polars of old: {error}")
    stored = tables.open_table([path], in_memory)
    with pytest.raises(InputError, match=r'"i", "f" hold categories: .*categorical="i,f"$'):
        select(stored, target="a")
    table = select(stored, target="a", categorical=["i", "f"], drop_missing=True)
    assert table.encoding == (
        Source("i", ("1", "2")),
        Source("f", tuple(f"{x:g}" for x in sorted({*others}))),
    )


# --- text -----------------------------------------------------------------------------------------


def test_missing_words_and_truth_values():
    text = "on,a,y\ntrue,1,1\n FALSE , NaN ,2\nTrue,-nan,3\nfalse,4,4\n"
    table = select(text_table(text), target="y", drop_missing=True)
    np.testing.assert_array_equal(table.X, [[1, 1], [0, 4]])
    assert table.dropped == 2
    assert table.notes == ('2 rows of 4 left out for missing values: "a" 2',)


def test_only_columns_in_use_are_looked_at():
    text = "a,b,y\n1,,1\n2,x,2\n3,,3\n"
    table = select(text_table(text), target="y", exclude=["b"], drop_missing=True)
    assert table.dropped == 0
    assert table.notes == ()
    assert len(table.y) == 3


def test_every_row_has_a_gap():
    with pytest.raises(InputError, match=r'every row has a missing value .*"a" 1, "b" 1'):
        select(text_table("a,b,y\n1,,1\n,2,2\n"), target="y", drop_missing=True)


def test_a_value_too_large_may_be_dropped_with_its_row():
    text = "a,b,y\n1,2,1\n1e200,,2\n3,4,3\n"
    assert len(select(text_table(text), target="y", drop_missing=True).y) == 2
    with pytest.raises(InputError, match=r'"a" has a value beyond 1e.150 in row 2'):
        select(text_table(text.replace(",,", ",5,")), target="y")


def test_odd_names(tmp_path):
    frame = pl.DataFrame({" a,b ": [1, 2], "": [3, 4], "ü\n'x'": [5, 6], "y": [1, 2]})
    frame.write_csv(tmp_path / "t.csv")
    names = select(read_table(str(tmp_path / "t.csv")), target="y").names
    assert names == ("a,b", "column_2", "ü\n'x'")
    [argument] = shlex.split(as_argument(names))
    assert tuple(split_names(argument)) == names


@pytest.mark.parametrize("separator", [",", ";", "\t"])
@pytest.mark.parametrize("name", ["new\nline", "a;b;c", "a,b,c", "a\tb\tc", "\n;\t,"])
def test_the_separator_is_told_by_cells(tmp_path, separator, name):
    """Not by what is within names, or in the first of two lines of them."""
    frame = pl.DataFrame({f"{name}.": [1, 2], "b": [3, 4], "y": [1, 2]})
    frame.write_csv(tmp_path / "t.csv", separator=separator, quote_style="non_numeric")
    names = select(read_table(str(tmp_path / "t.csv")), target="y").names
    assert names == (f"{name}.".strip(), "b")


def test_a_wide_header(tmp_path):
    names = [f"column {j} of very many" for j in range(10_000)]
    (tmp_path / "t.csv").write_text(f"{','.join(names)}\n{','.join('1' * 10_000)}\n")
    assert list(read_table(str(tmp_path / "t.csv")).columns) == names


def test_names_of_a_parquet_file_are_tidied(parquet):
    raw = read_table(parquet(pl.DataFrame({" a ": [1], "": [2], "y": [3]})))
    assert list(raw.columns) == ["a", "column_2", "y"]
    with pytest.raises(InputError, match='more than one column called "a"'):
        read_table(parquet(pl.DataFrame({" a ": [1], "a": [2], "y": [3]})))


def test_names_that_cannot_be_read():
    with pytest.raises(InputError, match="names separated by commas"):
        split_names("a\nb")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty"),
        (b"\xef\xbb\xbf\n \n", "is empty"),
        (b"a,y\n\xff,1\n", "is not UTF-8 text .it has a byte ff.: try enc"),
        (b"a,y\n\0,1\n", "is no text, as it has bytes of zero"),
        (b"a,a,y\n1,2,3\n", 'more than one column called "a"'),
        (b"a,y\n1,2\n1,2,3\n", "row 2 of .* has 3 cells, but the header has 2"),
    ],
)
def test_text_that_is_no_table(tmp_path, content, message):
    path = tmp_path / "t.csv"
    path.write_bytes(content)
    with pytest.raises(InputError, match=message):
        read_table(str(path))


def test_old_line_ends(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes(b"a,y\r1,2\r3,4\r")
    np.testing.assert_array_equal(select(read_table(str(path)), target="y").X, [[1], [3]])


# --- categorical columns --------------------------------------------------------------------------


def test_levels_become_features():
    table = select(text_table(COLOURS), target="y", categorical=["colour"])
    assert table.names == ("x", "colour=blue", "colour=green", "colour=red")
    np.testing.assert_array_equal(table.X[:, 1], [0, 1, 0, 0, 1])
    np.testing.assert_array_equal(table.X[:, 1:].sum(axis=1), 1)
    assert table.encoding == (Source("x"), Source("colour", ("blue", "green", "red")))


def test_of_two_levels_the_second_is_enough():
    table = select(text_table("s,y\nm,1\nf,2\nm,3\n"), target="y", categorical=["s"])
    assert table.names == ("s=m",)
    np.testing.assert_array_equal(table.X, [[1], [0], [1]])
    assert table.encoding == (Source("s", ("f", "m")),)


def test_one_level_is_left_out_with_a_note():
    text = "s,x,y\nm,1,1\nm,2,2\nm,3,4\n"
    table = select(text_table(text), target="y", categorical=["s"])
    assert table.names == ("x",)
    assert table.notes == ('"s" is "m" in every row, and left out',)
    with pytest.raises(InputError, match="needs one that varies"):
        select(text_table(text), target="y", categorical=["s"], features=["s"])


def test_numbers_are_sorted_by_size():
    text = "month,y\n10,1\n9,2\n1,3\n2,4\n"
    table = select(text_table(text), target="y", categorical=["month"])
    assert table.names == ("month=1", "month=2", "month=9", "month=10")


def test_typed_columns_give_the_levels_of_text():
    raw = typed_table(
        i=[1, 2, 3],
        f=[1.0, 2.5, -3.0],
        d=[Decimal("1.50"), Decimal("2.00"), Decimal("3.25")],
        b=[True, False, True],
        e=pl.Series(["u", "v", "w"], dtype=pl.Enum(["w", "v", "u"])),
        t=[datetime.date(2024, 1, day) for day in (3, 1, 2)],
        y=[1, 2, 3],
    )
    table = select(raw, target="y", categorical=list("ifdbet"))
    assert {source.name: source.levels for source in table.encoding} == {
        "i": ("1", "2", "3"),
        "f": ("-3", "1", "2.5"),
        "d": ("1.5", "2", "3.25"),
        "b": ("false", "true"),
        "e": ("u", "v", "w"),
        "t": ("2024-01-01", "2024-01-02", "2024-01-03"),
    }


def test_lists_have_no_levels():
    raw = typed_table(c=[[1], [2]], y=[1, 2])
    with pytest.raises(InputError, match='"c" holds lists'):
        select(raw, target="y", categorical=["c"])


def test_too_many_levels():
    levels = [f"id {j}" for j in range(MOST_LEVELS + 1)]
    raw = typed_table(c=levels, y=list(range(len(levels))))
    with pytest.raises(InputError, match=f'"c" has {MOST_LEVELS + 1} levels, .*exclude="c"'):
        select(raw, target="y", categorical=["c"])
    kept = {name: column[:MOST_LEVELS] for name, column in raw.columns.items()}
    table = select(RawTable("t", kept), target="y", categorical=["c"])
    np.testing.assert_array_equal(table.X.sum(axis=0), 1)


def test_levels_can_be_named():
    raw = text_table(COLOURS)
    table = select(raw, target="y", categorical=["colour"], exclude=["colour=red", "x"])
    assert table.names == ("colour=blue", "colour=green")
    table = select(raw, target="y", categorical=["colour"], features=["colour=red", "x"])
    assert table.names == ("colour=red", "x")
    np.testing.assert_array_equal(table.X, [[1, 1], [0, 2], [1, 3], [0, 4], [0, 5]])
    for words in ({"exclude": ["colour=rad"]}, {"features": ["colour=rad"]}):
        with pytest.raises(InputError, match='no feature "colour=rad"; did you mean "colour=red"'):
            select(raw, target="y", categorical=["colour"], **words)
    with pytest.raises(InputError, match='no column "colour=red"'):
        select(raw, target="y", exclude=["colour", "colour=red"])


def test_positions_of_a_column_of_levels():
    """The first level is told by the others."""
    raw = text_table("x,s,c,y\n1,m,u,1\n2,f,v,2\n3,m,w,4\n")
    table = select(raw, target="y", categorical=["s", "c"])
    assert table.names == ("x", "s=m", "c=u", "c=v", "c=w")
    assert table.positions(["c"]) == [3, 4]
    assert table.positions(["s", "x", "c=u", "x"]) == [1, 0, 2]
    with pytest.raises(InputError, match='no feature "s=f"; did you mean "s=m"'):
        table.positions(["s=f"])


def test_a_level_called_as_a_column():
    raw = text_table("c,c=u,y\nu,1,1\nv,2,2\nw,3,3\n")
    with pytest.raises(InputError, match='a column and a level are both called "c=u"'):
        select(raw, target="y", categorical=["c"])
    assert select(raw, target="y", categorical=["c"], exclude=["c=u"]).names == (
        "c=u",
        "c=v",
        "c=w",
    )


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"categorical": ["color"]}, 'no column "color"; did you mean "colour"'),
        ({"categorical": ["y"]}, '"y" can\'t be the target and categorical'),
        ({"weights": "x", "categorical": ["x"]}, '"x" can\'t be the weights and categorical'),
        ({"weights": "x", "features": ["x"]}, '"x" can\'t be the weights and a feature'),
        ({"weights": "y"}, '"y" can\'t be the target and the weights'),
        ({"weights": "z"}, 'no column "z"'),
        ({"features": ["y"]}, '"y" can\'t be the target and a feature'),
        ({"features": ["x"], "exclude": ["x"]}, "no features are left"),
    ],
)
def test_roles_that_do_not_go_together(words, message):
    with pytest.raises(InputError, match=message):
        select(text_table(COLOURS), target="y", **words)


# --- weights --------------------------------------------------------------------------------------


def test_weights_are_no_feature():
    table = select(text_table("w,x,y\n0,1,2\n2.5,3,4\n1,5,5\n"), target="y", weights="w")
    assert table.names == ("x",)
    np.testing.assert_array_equal(table.data.weights, [0, 2.5, 1])


def test_weights_are_dropped_with_their_rows():
    text = "w,x,y\n1,,2\n2,3,4\n,5,5\n4,7,8\n"
    table = select(text_table(text), target="y", weights="w", drop_missing=True)
    np.testing.assert_array_equal(table.data.weights, [2, 4])
    np.testing.assert_array_equal(table.X, [[3], [7]])
    assert table.dropped == 2


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1, -1, 2], '"w" are negative in row 2'),
        ([0, 0, 0], '"w" are all 0'),
        ([1, "inf", 1], '"w" has a value beyond .* in row 2'),
        ([1, "NA", 1], 'missing values .*"w" 1'),
        ([1, "one", 1], 'weights "w" holds text .*"one" in row 2'),
    ],
)
def test_bad_weights(weights, message):
    text = "w,x,y\n" + "".join(f"{w},{j},{j * j}\n" for j, w in enumerate(weights))
    with pytest.raises(InputError, match=message):
        select(text_table(text), target="y", weights="w")


# --- against pandas -------------------------------------------------------------------------------

LEVELS = st.sampled_from(["a", "b", "B", "ü x", "1", None])


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(LEVELS, LEVELS, st.one_of(st.none(), st.integers(-5, 5))),
        min_size=2,
        max_size=30,
    )
)
def test_encoding_is_that_of_pandas(rows):
    """One-hot columns and complete rows, by another library; from text and from types."""
    rows = [*rows, ("a", "b", 1), ("b", "a", 2)]
    frame = pd.DataFrame(rows, columns=["p", "q", "x"])
    frame["y"] = range(len(frame))
    complete = frame.dropna()
    dummies = pd.get_dummies(complete, columns=["p", "q"], prefix_sep="=", dtype=float)
    p, q, x = zip(*rows, strict=True)
    typed = typed_table(p=p, q=q, x=x, y=range(len(rows)))
    text = RawTable(
        "t", {name: column.cast(pl.String) for name, column in typed.columns.items()}, is_text=True
    )
    for raw in (typed, text):
        table = select(raw, target="y", categorical=["p", "q"], drop_missing=True)
        assert table.dropped == len(frame) - len(complete)
        np.testing.assert_array_equal(table.y, complete["y"])
        for j, name in enumerate(table.names):
            np.testing.assert_array_equal(table.X[:, j], dummies[name])
        wanted = {"x"}
        for column in ("p", "q"):
            made = sorted(name for name in dummies if name.startswith(f"{column}="))
            wanted |= set(made[1:] if len(made) == 2 else made)
        assert set(table.names) == wanted


# --- the same features from another table ---------------------------------------------------------


def test_the_same_features_from_another_table():
    table = select(text_table(COLOURS), target="y", categorical=["colour"])
    again = encode(text_table(COLOURS), table.encoding, table.names)
    np.testing.assert_array_equal(again, table.X)
    # Other order, other rows, a column besides, no target.
    other = text_table("extra,colour,x\nfoo,green,7\nbar,green,8\n")
    np.testing.assert_array_equal(
        encode(other, table.encoding, table.names), [[7, 0, 1, 0], [8, 0, 1, 0]]
    )
    np.testing.assert_array_equal(
        encode(other, table.encoding, ["colour=green", "x"]), [[1, 7], [1, 8]]
    )
    assert encode(other, (), ()).shape == (2, 0)


def test_the_same_features_from_another_format(parquet):
    frame = pl.DataFrame(
        {"k": [1, 2, 3, 1], "f": [1.0, 2.5, 3.0, 3.0], "b": [True, False] * 2, "y": [1, 2, 3, 5]}
    )
    table = select(read_table(parquet(frame)), target="y", categorical=["k", "f"])
    text = text_table("y,b,f,k\n0,true,3,3\n0,FALSE,2.5,1\n")
    np.testing.assert_array_equal(
        encode(text, table.encoding, ["k=3", "k=1", "f=2.5", "f=3", "b"]),
        [[1, 0, 0, 1, 1], [0, 1, 1, 0, 0]],
    )
    # Whole numbers are written alike, whatever stands beside them.
    alone = typed_table(k=[2], f=[1.0], b=[True])
    np.testing.assert_array_equal(encode(alone, table.encoding, ["f=1", "k=2"]), [[1, 1]])


def test_levels_are_kept_as_they_are_written():
    """A level looks like a truth value in the new table, where nothing else stands beside it."""
    table = select(text_table("c,y\nTrue,1\nFalse,2\nmaybe,3\n"), target="y", categorical=["c"])
    new = encode(text_table("c\nTrue\nTrue\n"), table.encoding, ["c=True"])
    np.testing.assert_array_equal(new, [[1], [1]])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("colour\nred\n", 't.csv lacks a column that the model needs: "x"'),
        ("z\n1\n", 'lacks columns that the model needs: "x", "colour"'),
        ("x,colour\n1,red\n2,pink\n", '"colour" has the level "pink" in row 2, which .*"blue"'),
        ("x,colour\n1,red\none,red\n", 'column "x" .* holds text .*"one" in row 2.* needs numbers'),
        ("x,colour\n1,\n,red\n", r'missing values \(of 2 rows\): "x" 1, "colour" 1'),
        ("x,colour\n1e200,red\n", '"x" has a value beyond'),
        ("x,colour\n", "no rows"),
    ],
)
def test_a_table_that_the_features_cannot_be_made_of(text, message):
    encoding = select(text_table(COLOURS), target="y", categorical=["colour"]).encoding
    with pytest.raises(InputError, match=message) as error:
        encode(text_table(text), encoding, ("x", "colour=red"))
    assert "\n" not in str(error.value)


def test_the_example_is_a_table():
    table = select(load_example("diabetes"))
    assert table.X.shape == (442, 10)
    assert table.data.weights is None
    assert [source.name for source in table.encoding] == list(table.names)


# --- several targets ------------------------------------------------------------------------------

TWO = 'x,y,z,"a,b",on\n1,2,3,4,true\n2,3,5,NA,false\n4,1,7,9,true\n'


def test_several_targets_are_columns_and_no_features():
    raw = text_table(TWO)
    table = select(raw, target=["z", "y"], exclude=["a,b"])
    assert table.targets == ("z", "y")
    assert table.target == ["z", "y"]
    assert table.names == ("x", "on")
    np.testing.assert_array_equal(table.y, [[3, 2], [5, 3], [7, 1]])
    single = select(raw, target=["z"], exclude=["a,b"])
    assert single.target == "z"
    np.testing.assert_array_equal(single.y, [3, 5, 7])
    truths = select(raw, target=["y", "on"], exclude=["a,b"])
    np.testing.assert_array_equal(truths.y, [[2, 1], [3, 0], [1, 1]])


def test_rows_without_one_of_the_targets_are_missing():
    raw = text_table(TWO)
    with pytest.raises(InputError, match=r'missing values \(of 3 rows\): "a,b" 1'):
        select(raw, target=["y", "a,b"])
    table = select(raw, target=["y", "a,b"], drop_missing=True)
    assert (table.rows, table.dropped) == (2, 1)
    np.testing.assert_array_equal(table.y, [[2, 4], [1, 9]])


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"target": ["y", "z", "y"]}, '--target names "y" more than once'),
        ({"target": ["y", "q"]}, 'there is no column "q"'),
        ({"target": ["y", "c"]}, 'the target "c" holds text .*: use numbers'),
        ({"target": ["y", "z"], "features": ["x", "z"]}, '"z" can\'t be the target and a feature'),
        (
            {"target": ["y", "z"], "weights": "z"},
            '"z" can\'t be the target and the weights at once',
        ),
        ({"target": ["y", "z"], "fold": "y"}, '"y" can\'t be the target and the folds at once'),
        ({"target": ["y", "z"], "categorical": ["z"]}, '"z" can\'t be the target and categorical'),
        ({"target": ["x", "y", "z", "c"]}, "no features are left: .* besides the targets"),
    ],
)
def test_targets_that_cannot_be(words, message):
    raw = text_table("x,y,z,c\n1,2,3,u\n2,3,5,v\n")
    with pytest.raises(InputError) as told:
        select(raw, **words)
    assert re.search(message, sentence(told.value))


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("y", ["y"]),
        ("y,z", ["y", "z"]),
        (" y , z ", ["y", "z"]),
        ("a,b", ["a,b"]),  # a column that is called just that
        ('"a,b",y', ["a,b", "y"]),
        ("b,a", ["b", "a"]),
        ("", [""]),
    ],
)
def test_names_of_targets(text, names):
    assert target_names(text, text_table(TWO).names) == names


# --- odd columns ----------------------------------------------------------------------------------


def test_columns_that_tell_nothing_are_noted():
    n = 30
    columns = {"id": range(100, 100 + n), "b": [3.5] * n, "a": np.arange(n) % 7, "y": np.arange(n)}
    assert select(typed_table(**columns), target="y").notes == (
        '"b" is 3.5 in every row',
        '"id" numbers the rows: leave out what is no measurement',
    )
    names = [f"row {i}" for i in range(n)]
    table = select(typed_table(**columns, c=[0] * n, s=names), target="y", categorical=["s"])
    assert table.notes == (
        '"b", "c" are the same in every row',
        '"id", "s" number the rows: leave out what is no measurement',
    )
    few = typed_table(**{name: list(cells)[:10] for name, cells in columns.items()})
    assert select(few, target="y").notes == ('"b" is 3.5 in every row',)
