"""Files of every kind: the same table of each, and a sentence of its own for each wrong guess."""

import bz2
import gzip
import io
import lzma
import sys
import zipfile
from functools import partial

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparsewise.cli.spelling import sentence
from sparsewise.errors import InputError
from sparsewise.io.tables import Form, formats, open_table, select

rng = np.random.default_rng(0)
FRAME = pl.DataFrame({"größe": rng.normal(size=60), "b": rng.normal(size=60), "y": range(60)})
CSV = FRAME.write_csv()
GERMAN = CSV.replace(",", ";").replace(".", ",")


def zstd(data):
    module = pytest.importorskip(
        "backports.zstd" if sys.version_info < (3, 14) else "compression.zstd"
    )
    return module.compress(data)


# Without the time, which would be part of names of tests: workers must agree on these.
gz = partial(gzip.compress, mtime=0)
PACK = {"gz": gz, "bz2": bz2.compress, "xz": lzma.compress, "zst": zstd}


def written(write, *args, **options):
    buffer = io.BytesIO()
    write(buffer, *args, **options)
    return buffer.getvalue()


def workbook(rows, *more):
    """An Excel file, as small as can be: a sheet "one" of these rows, and others."""
    office = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    package = "http://schemas.openxmlformats.org/package/2006"
    main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"

    def cell(value):
        if value is None:
            return "<c/>"
        if isinstance(value, str):
            return f'<c t="inlineStr"><is><t>{value}</t></is></c>'
        return f"<c><v>{value!r}</v></c>"

    def relations(kind, *targets):
        all_of_them = "".join(
            f'<Relationship Id="r{i}" Type="{office}/{kind}" Target="{target}"/>'
            for i, target in enumerate(targets)
        )
        return f'<Relationships xmlns="{package}/relationships">{all_of_them}</Relationships>'

    def sheet(rows):
        cells = "".join(f"<row>{''.join(map(cell, row))}</row>" for row in rows)
        return f'<worksheet xmlns="{main}"><sheetData>{cells}</sheetData></worksheet>'

    names = ["one", "two", "3"][: 1 + len(more)]
    parts = [f"sheet{i}.xml" for i in range(len(names))]
    named = "".join(
        f'<sheet name="{name}" sheetId="{i + 1}" r:id="r{i}"/>' for i, name in enumerate(names)
    )
    sheets = f"<sheets>{named}</sheets>"
    files = {
        "[Content_Types].xml": f'<Types xmlns="{package}/content-types"/>',
        "_rels/.rels": relations("officeDocument", "xl/workbook.xml"),
        "xl/workbook.xml": f'<workbook xmlns="{main}" xmlns:r="{office}">{sheets}</workbook>',
        "xl/_rels/workbook.xml.rels": relations("worksheet", *parts),
    }
    for part, one in zip(parts, (rows, *more), strict=True):
        files[f"xl/{part}"] = sheet(one)
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return buffer.getvalue()


BOOK = workbook([FRAME.columns, *(map(float, row) for row in FRAME.rows())])


@pytest.fixture(params=[None, 0], ids=["small", "streamed"])
def read(request, tmp_path, monkeypatch):
    """Read bytes as a file, in memory or piece by piece."""
    monkeypatch.setattr(formats, "BLOCK", 500)

    def table(data, name="t.csv", **form):
        (tmp_path / name).write_bytes(data)
        opened = open_table([str(tmp_path / name)], request.param, Form(**form))
        if opened.in_memory:
            return select(opened, target="y")
        return select(opened, target="y").gathered()

    return table


@pytest.fixture
def refused(read, tmp_path):
    def words(data, name="t.csv", **form):
        with pytest.raises(InputError) as error:
            read(data, name, **form)
        return sentence(error.value).replace(f"{tmp_path}/", "")

    return words


def assert_same(table):
    assert table.names == ("größe", "b")
    np.testing.assert_array_equal(table.X, FRAME.select("größe", "b").to_numpy())
    np.testing.assert_array_equal(table.y, FRAME["y"].to_numpy())


# --- what is read ---------------------------------------------------------------------------------


@pytest.mark.parametrize("ending", PACK)
def test_compressed_text(read, ending):
    assert_same(read(PACK[ending](CSV.encode()), f"t.csv.{ending}"))


@pytest.mark.parametrize(
    ("text", "form"),
    [
        (CSV.encode("latin-1"), {"encoding": "latin-1"}),
        (CSV.encode("cp1252"), {"encoding": "cp1252"}),
        (CSV.encode("utf-8-sig"), {}),
        (CSV.encode("utf-8"), {"encoding": "UTF8"}),
        (CSV.encode("utf-16"), {}),
        (CSV.encode("utf-32"), {}),
        (CSV.encode("utf-16-le"), {"encoding": "utf-16-le"}),
        (CSV.replace(",", "|").encode(), {"delimiter": "|"}),
        (CSV.replace(",", " ").encode(), {"delimiter": "space"}),
        (CSV.replace(",", "\t").encode(), {"delimiter": "tab"}),
        (GERMAN.encode(), {"decimal": ","}),
        (GERMAN.encode("latin-1"), {"decimal": ",", "encoding": "latin-1", "delimiter": ";"}),
        (gz(GERMAN.encode("latin-1")), {"decimal": ",", "encoding": "latin-1"}),
    ],
)
def test_text_however_it_is_written(read, text, form):
    assert_same(read(text, **form))


@pytest.mark.parametrize(
    "data",
    [
        written(FRAME.write_ipc),
        written(FRAME.write_ipc, compression="zstd"),
        written(FRAME.write_ipc_stream),
        written(FRAME.write_parquet),
    ],
    ids=["arrow", "compressed arrow", "arrow stream", "parquet"],
)
def test_columns_with_types_whatever_the_name_says(read, data):
    assert_same(read(data, "t[1].csv"))


def test_workbooks(read):
    pytest.importorskip("fastexcel")
    assert_same(read(BOOK, "t.xlsx"))
    assert_same(read(BOOK, "t.csv"))


def test_a_blank_row_of_a_workbook_is_a_row(tmp_path, capfd):
    pytest.importorskip("fastexcel")
    path = tmp_path / "t.xlsx"
    rows = [["a", None, "y"], [1.0, None, 2.0], [None] * 3, [], [3.0, None, 4.5], [None] * 3]
    path.write_bytes(workbook(rows))
    [file] = open_table([str(path)]).files
    assert {name: cells.to_list() for name, cells in file.columns.items()} == {
        "a": [1, None, None, 3],
        "y": [2, None, None, 4.5],
    }
    assert capfd.readouterr() == ("", "")


def test_sheets_of_workbooks(tmp_path):
    pytest.importorskip("fastexcel")
    other, last = [["a", "y"], [7.0, 8.0]], [["b"], [9.0]]
    path = tmp_path / "t.xlsx"
    path.write_bytes(workbook([["a", "y"], [1.0, 2.0]], other, last))
    for sheet, names, cell in (
        (None, ["a", "y"], 1.0),
        ("1", ["a", "y"], 1.0),
        ("2", ["a", "y"], 7.0),
        ("two", ["a", "y"], 7.0),
        ("3", ["b"], 9.0),  # by name and by number
    ):
        table = open_table([str(path)], form=Form(sheet=sheet))
        assert list(table.columns) == names
        [piece] = table.files[0].pieces(names)
        assert piece.columns[names[0]].to_list() == [cell]
    for sheet in ("four", "0", "4", "-1", ""):
        with pytest.raises(InputError, match=r'but the sheets of .* are "one", "two", "3"'):
            open_table([str(path)], form=Form(sheet=sheet))
    for form, words in (
        (Form(sheet="one"), "is for Excel files, and .*t.csv is text"),
        (Form(encoding="latin-1"), "is for text, and .*t.xlsx is Excel"),
    ):
        file = tmp_path / ("t.csv" if form.sheet else "t.xlsx")
        (tmp_path / "t.csv").write_text(CSV)
        with pytest.raises(InputError, match=words):
            open_table([str(file)], form=form)


def test_what_workbooks_refuse(refused):
    pytest.importorskip("fastexcel")
    assert refused(BOOK[:900]) == (
        "can't read t.csv: it is an Excel file, but protected, cut short or damaged"
    )
    assert "is empty" in refused(workbook([]))
    mixed = workbook([["a", "y"], [1.5, 1.0], ["much", 2.0]])
    assert 'column "a" holds text' in refused(mixed)


def test_a_workbook_of_which_too_much_would_come(refused, monkeypatch):
    pytest.importorskip("fastexcel")
    monkeypatch.setattr("sparsewise.io.tables.excel.MOST_UNPACKED", 5000)
    assert "GB unpacked, and sheets are read as a whole: save the table as CSV" in refused(BOOK)


def test_cells_that_are_far_apart(refused):
    """Of a book of a thousand bytes, for which there would be room for 10¹⁰ cells."""
    pytest.importorskip("fastexcel")
    far = (
        'b</t></is></c><c r="A1"><v>1</v></c><c r="ZZZ1000000"><v>1</v></c><c t="inlineStr"><is><t>'
    )
    book = workbook([["a", "y"], [1.0, 2.0], [3.0, far]])
    assert "has a cell so far from the first that 2e+10 are between them" in refused(book)


def test_folders_have_them_all(tmp_path):
    for name, data in {"a.csv.gz": gz(CSV.encode()), "b.csv": CSV.encode()}.items():
        (tmp_path / name).write_bytes(data)
    (tmp_path / "notes.md").write_text("no table")
    assert select(open_table([str(tmp_path)]), target="y").rows == 120


def test_a_compressed_text_is_small_if_what_is_in_it_is(tmp_path):
    path = tmp_path / "t.csv.gz"
    path.write_bytes(gz(b"a,y\n" + b"1,2\n" * 10_000))
    assert open_table([str(path)], in_memory=50_000).in_memory
    large = open_table([str(path)], in_memory=10_000)
    assert not large.in_memory
    told = []
    assert select(large, target="y", report=told.append).rows == 10_000
    assert sum(told) <= large.size == path.stat().st_size


@given(st.lists(st.floats(-1e9, 1e9), min_size=3, max_size=20), st.sampled_from([".", ","]))
def test_numbers_are_read_exactly(values, decimal):
    data = "a;y\n" + "".join(f"{value!r};1\n" for value in values).replace(".", decimal)
    piece = formats.in_utf8(data.encode("utf-16"), "t", Form())
    from sparsewise.io.tables.reading import _read_text

    table = select(_read_text(piece, "t", Form(decimal=decimal)), target="y")
    np.testing.assert_array_equal(table.X[:, 0], values)


# --- what is refused, each by a sentence of its own -----------------------------------------------


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b'[{"a": 1}]', "t.csv is JSON: save the table as CSV, Parquet or Feather"),
        (b'{"a": 1}\n{"a": 2}\n', "t.csv is JSON: save the table as CSV, Parquet or Feather"),
        (b"<!DOCTYPE html>", "t.csv is a web page: save the table as CSV, Parquet or Feather"),
        (b"%PDF-1.7", "t.csv is PDF: save the table as CSV, Parquet or Feather"),
        (b"PK\x03\x04\0\0t.csv", "t.csv is a zip archive: unpack it"),
        (
            CSV.encode("latin-1"),
            "t.csv is not UTF-8 text (it has a byte f6): try --encoding latin-1",
        ),
        (b"a,y\n1,\x80\n", "t.csv is not UTF-8 text (it has a byte 80): try --encoding cp1252"),
        (
            GERMAN.replace("größe", "a").encode(),
            'the columns "a", "b" hold numbers with a comma (the first is '
            f'"{str(FRAME[0, 0]).replace(".", ",")}" in row 1): if decimals follow it, read them '
            "with --decimal ,",
        ),
        (b"a|y\n1|2\n", "cells of t.csv seem separated by \"|\": try --delimiter '|'"),
        (b"a y\n1 2\n", "cells of t.csv seem separated by spaces: try --delimiter space"),
        (
            gz(CSV.encode())[:300],
            "can't read t.csv: it is compressed by gzip, but cut short or damaged",
        ),
        (
            bz2.compress(CSV.encode())[:300],
            "can't read t.csv: it is compressed by bzip2, but cut short or damaged",
        ),
        (
            lzma.compress(CSV.encode())[:300],
            "can't read t.csv: it is compressed by xz, but cut short or damaged",
        ),
        (
            written(FRAME.write_ipc)[:300],
            "can't read t.csv: it is an Arrow file, but cut short or damaged",
        ),
    ],
)
def test_wrong_guesses(refused, data, words):
    assert refused(data) == words


@pytest.mark.parametrize(
    ("data", "form", "words"),
    [
        (
            CSV.encode(),
            {"delimiter": ";"},
            '--delimiter ";" is not in the header of t.csv, which has 3 cells by ","',
        ),
        (
            CSV.encode(),
            {"encoding": "ascii"},
            "t.csv is not text in ascii: try another than --encoding ascii",
        ),
        (
            written(FRAME.write_parquet),
            {"decimal": ","},
            "--decimal is for text, and t.csv is Parquet",
        ),
    ],
)
def test_forms_that_are_not_so(refused, data, form, words):
    assert refused(data, **form) == words


@pytest.mark.parametrize(
    ("form", "words"),
    [
        ({"encoding": "klingon"}, '--encoding is unknown: "klingon"'),
        ({"encoding": "hex"}, '--encoding is unknown: "hex"'),
        ({"decimal": "x"}, '--decimal must be . or , and not "x"'),
        ({"delimiter": "::"}, "--delimiter must be one character, tab or space"),
        ({"delimiter": ""}, "--delimiter must be one character, tab or space"),
        ({"delimiter": ",", "decimal": ","}, "--delimiter and --decimal can't both be"),
    ],
)
def test_forms_that_there_are_not(form, words):
    with pytest.raises(InputError) as error:
        Form(**form)
    assert sentence(error.value).startswith(words)


def test_one_column_with_a_space_in_its_name_is_one(tmp_path):
    (tmp_path / "t.csv").write_text("body mass\n1\n2\n")
    assert open_table([str(tmp_path / "t.csv")]).columns == ("body mass",)


def test_what_is_not_installed_is_named(refused, monkeypatch):
    for name in ("fastexcel", "backports.zstd", "compression.zstd"):
        monkeypatch.setitem(sys.modules, name, None)
    assert refused(BOOK) == (
        "t.csv is an Excel file: install what reads it with: pip install 'sparsewise[excel]', or "
        "save the table as CSV"
    )
    assert refused(b"\x28\xb5\x2f\xfd\0\0") == (
        "t.csv is compressed by zstd: install what reads it with: pip install "
        "'sparsewise[zstd]', or unpack it first"
    )


def test_large_parquet_within_gzip_is_refused(tmp_path):
    path = tmp_path / "t.parquet.gz"
    path.write_bytes(gz(written(FRAME.write_parquet)))
    assert_same(select(open_table([str(path)]), target="y"))
    with pytest.raises(InputError, match="is Parquet within gzip and too large"):
        open_table([str(path)], in_memory=0)


def test_errors_of_the_disk_are_not_taken_for_damage():
    assert not formats._is_damage(OSError(5, "Input/output error"), gzip)
    assert not formats._is_damage(KeyError("a fault of ours"), gzip)
