"""Missing values: filled in as in the fit, or blank; never a row in another's place."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparsewise.cli.spelling import sentence
from sparsewise.errors import InputError
from sparsewise.io.model import Source
from sparsewise.io.tables import RawTable, encode, imputing, open_table, select
from sparsewise.io.tables import stored_files as stored
from sparsewise.io.tables.parsing import parse
from sparsewise.io.tables.schema import Schema


def table(**columns):
    return RawTable("t.parquet", {name: pl.Series(name, cells) for name, cells in columns.items()})


GAPS = table(
    a=[1.0, None, 3.0, 8.0],
    b=[1, 2, 3, 4],
    c=["red", "blue", None, "red"],
    w=[1, 1, 1, 3],
    y=[1.0, 2.0, 3.0, 4.0],
)
USED = {"target": "y", "categorical": ["c"], "exclude": ["w"]}


def test_medians_stand_for_missing_values():
    told = select(GAPS, **USED, impute="median")
    assert told.names == ("a", "b", "c=blue", "c=missing", "c=red")
    np.testing.assert_array_equal(told.X[:, 0], [1, 3, 3, 8])
    np.testing.assert_array_equal(told.X[:, 3], [0, 0, 1, 0])
    assert told.notes == ('missing values filled in: "a" 1, "c" 1',)
    assert told.encoding == (
        Source("a", fill=3.0),
        Source("b", fill=2.5),
        Source("c", ("blue", "missing", "red"), "missing"),
    )


def test_indicators_tell_where_values_were_missing():
    told = select(GAPS, **USED, impute="indicator")
    assert told.names[:3] == ("a", "a=missing", "b")
    np.testing.assert_array_equal(told.X[:, 1], [0, 1, 0, 0])
    assert (
        select(GAPS, **USED | {"exclude": ["a=missing", "w"]}, impute="indicator").names[1] == "b"
    )
    assert select(GAPS, target="y", features=["a"], impute="indicator").names == ("a", "a=missing")


def test_weights_count():
    told = select(GAPS, target="y", features=["a"], weights="w", impute="median")
    assert told.X[1, 0] == 8.0


def test_what_is_no_feature_is_not_filled_in():
    raw = table(a=[1.0, None, 3.0], y=[1.0, 2.0, None])
    with pytest.raises(InputError, match=r'missing values \(of 3 rows\): "y" 1; leave these rows'):
        select(raw, target="y", impute="median")
    told = select(raw, target="y", impute="median", drop_missing=True)
    np.testing.assert_array_equal(told.X, [[1.0], [1.0]])
    assert told.dropped == 1


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"impute": "mean"}, 'there is no way to impute "mean"; did you mean "median"?'),
        (
            {"impute": "median"},
            'column "a" has no value that counts: leave it out with --exclude a',
        ),
        ({}, '"a" 2; leave these rows out with --drop-missing or a column with --exclude, or fill'),
    ],
)
def test_what_can_not_be_filled_in(words, message):
    with pytest.raises(InputError) as error:
        select(table(a=[None, None], b=[1, 2], y=[1.0, 2.0]), target="y", **words)
    assert message in sentence(error.value)


@pytest.mark.parametrize("impute", ["median", "indicator"])
def test_pieces_are_filled_in_as_all_rows_are(tmp_path, monkeypatch, impute):
    rng = np.random.default_rng(0)
    columns = {
        "a": np.where(rng.random(500) < 0.2, np.nan, rng.standard_normal(500)),
        "b": rng.integers(-3, 4, 500),
        "c": rng.choice(["red", "blue"], 500),
        "t": rng.choice(["true", "false"], 500),
        "w": rng.integers(0, 3, 500),
        "y": rng.standard_normal(500),
    }
    path = tmp_path / "t.csv"
    pl.DataFrame(columns).with_columns(pl.col("a").fill_nan(None)).write_csv(path)
    monkeypatch.setattr(stored, "READ", 2**10)
    words = {"target": "y", "weights": "w", "categorical": ["c"], "impute": impute}
    whole = select(open_table([str(path)]), **words)
    pieces = select(open_table([str(path)], in_memory=0), **words)
    assert pieces.encoding == whole.encoding
    assert pieces.names == whole.names
    assert pieces.notes == whole.notes
    np.testing.assert_array_equal(np.concatenate([one.X for one in pieces.chunks()]), whole.X)


def test_pieces_without_any_value(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,b,y\n,1,2\n,2,3\n")
    with pytest.raises(InputError, match='column "a" has no value that counts'):
        select(open_table([str(path)], in_memory=0), target="y", impute="median")


def narrowed(values, weights, parts, monkeypatch, bits=None):
    """The median of rows that are read some at a time."""
    schema = Schema(columns=("a", "w"), weights="w", imputed=frozenset("a"))
    pieces = [
        parse(table(a=a, w=w), schema)
        for a, w in zip(np.array_split(values, parts), np.array_split(weights, parts), strict=True)
    ]
    if bits:
        monkeypatch.setattr(imputing, "MOST_BITS", bits)
        monkeypatch.setattr(imputing, "FEWEST_BITS", bits)

    def count(*bits):
        return sum(imputing.counted([rows], ["a"], "w", *bits) for rows in pieces)

    return imputing.medians(["a"], count)["a"]


def sorted_median(values, weights):
    """The middle of the values that are there: half of the weight on either side."""
    there = ~np.isnan(values) & (weights > 0)
    order = np.argsort(values[there], kind="stable")
    ordered, until = values[there][order], np.cumsum(weights[there][order])
    half = until[-1] / 2
    low, high = (int(np.searchsorted(until, half, side)) for side in ("left", "right"))
    return float(ordered[low] / 2 + ordered[min(high, ordered.size - 1)] / 2)


@pytest.mark.parametrize("bits", [None, 7, 8])
@pytest.mark.parametrize(
    "values",
    [
        [1.0],
        [-0.0, 0.0],
        [1.0, 2.0],
        [-3.0, 5.0, np.nan, 1e300, -1e-300],
        [5e-324, -5e-324, 1.0],
        [1e150, -1e150, 3.0, 3.0000000000000004],
        [7.0] * 5 + [8.0] * 5,
    ],
)
def test_a_median_bit_by_bit(monkeypatch, values, bits):
    values = np.array(values)
    found = narrowed(values, np.ones(values.size), min(2, values.size), monkeypatch, bits)
    assert found == sorted_median(values, np.ones(values.size))


@given(
    st.lists(
        st.tuples(st.floats(-1e9, 1e9) | st.integers(-2, 2).map(float), st.integers(0, 3)),
        min_size=1,
        max_size=12,
    ).filter(lambda rows: any(often for _, often in rows))
)
def test_a_median_of_pieces_is_that_of_all_rows(rows):
    values, weights = (np.array(one, dtype=float) for one in zip(*rows, strict=True))
    with pytest.MonkeyPatch.context() as patch:
        found = narrowed(values, weights, min(3, values.size), patch, 13)
    assert found == sorted_median(values, weights)


@given(
    st.lists(st.tuples(st.integers(-5, 5), st.integers(0, 3)), min_size=1, max_size=12).filter(
        lambda rows: any(often for _, often in rows)
    )
)
def test_a_weight_is_as_many_rows(rows):
    values, weights = (np.array(one, dtype=float) for one in zip(*rows, strict=True))
    expected = np.median(np.repeat(values, weights.astype(int)))
    assert sorted_median(values, weights) == expected


# --- predictions ----------------------------------------------------------------------------------

ENCODING = (Source("a", fill=7.0, indicator=True), Source("b"), Source("c", ("x", "y", "z")))
NAMES = ("a", "a=missing", "b", "c=y")
NEW = "a,b,c\n1,2,y\n,2,x\n3,,y\n\n4,5,never met\n5,6,NA\n6,7,y\n"
nan = np.nan
EXPECTED = [[1, 0, 2, 1], [7, 1, 2, 0], *[[nan] * 4] * 4, [6, 0, 7, 1]]


@pytest.mark.parametrize("in_memory", [None, 0])
def test_rows_that_lack_something_are_blank_in_their_place(tmp_path, in_memory):
    path = tmp_path / "t.csv"
    path.write_text(NEW)
    stored = open_table([str(path)], in_memory)
    X = np.concatenate(list(encode(stored, ENCODING, NAMES, missing="blank")))
    np.testing.assert_array_equal(X, EXPECTED)
    with pytest.raises(InputError) as error:
        list(encode(stored, ENCODING, NAMES))
    assert sentence(error.value) == (
        'missing values (of 7 rows): "b" 2, "c" 2; the model needs them all: leave predictions '
        "blank with --missing blank"
    )


def test_text_in_place_of_numbers_is_an_error_all_the_same():
    raw = RawTable("t.csv", {"b": pl.Series("b", ["1", "much"])}, is_text=True)
    with pytest.raises(InputError, match="where the model needs numbers"):
        list(encode(raw, (Source("b"),), ("b",), "blank"))
