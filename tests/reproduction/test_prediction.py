"""The table of predictions, on little data."""

import json

import numpy as np
import polars as pl
import pytest
from sklearn.linear_model import LinearRegression

from reproduction.benchmarks import prediction
from reproduction.benchmarks.prediction import (
    Source,
    encoded,
    false_features,
    held_out,
    page,
    products,
)
from reproduction.document import REGION


def test_a_table_is_encoded():
    frame = pl.DataFrame(
        {
            "y": [1.0, 2.0, 4.0, None],
            "a": [1, 2, 3, 4],
            "city": ["x", "y", "z", "x"],
            "hour": [0, 1, 0, 1],
            "id": [1, 2, 3, 4],
        }
    )
    X, y = encoded(frame, Source("y", log=True, without=("id",), categories=("hour",)))
    np.testing.assert_allclose(y, np.log([1.0, 2.0, 4.0]))
    assert X.tolist() == [[1, 0, 0, 0], [2, 1, 0, 1], [3, 0, 1, 0]]


def test_products_are_there_once():
    X = np.array([[0.0, 1.0], [1.0, 2.0], [1.0, 3.0]])  # the square of zeros and ones is the same
    assert products(X).tolist() == [[0, 1, 0, 1], [1, 2, 2, 4], [1, 3, 3, 9]]


def test_rows_held_out():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 3))
    r2, size = held_out(LinearRegression, X, X @ [1.0, 2.0, 3.0], shuffle=0)
    assert r2 == pytest.approx(1.0)
    assert size == 3
    assert held_out(LinearRegression, X, rng.standard_normal(60), shuffle=0)[0] < 0.2


def test_the_page(monkeypatch, tmp_path, capsys):
    names = [*prediction.REFERENCES, *prediction.OURS]
    scores = {name: (0.5 + 0.01 * i, 4.0 + i) for i, name in enumerate(names)}
    told = page({"diabetes": ((442, 10), scores)}).splitlines()
    assert told[2].startswith("| diabetes, 442×10 | 0.500 (4) | 0.510 (5) |")
    assert told[3].split(" | ")[1:4] == ["−0.0200", "−0.0100", "+0.0000"]
    assert told[4].split(" | ")[1:3] == ["1.00", "1.25"]
    kept = tmp_path / "kept.json"
    kept.write_text(json.dumps({"diabetes": scores}))
    written = tmp_path / "prediction.md"
    begin, end = (mark.format("prediction") for mark in REGION)
    written.write_text(f"before\n{begin}\nold\n{end}\nafter\n")
    monkeypatch.setattr(prediction, "PAGE", written)
    prediction.main(["--table", "diabetes", "--json", str(kept), "--write"])
    assert "0.500 (4)" in capsys.readouterr().out
    text = written.read_text()
    assert "old" not in text
    assert text.startswith("before\n")
    assert text.endswith("after\n")
    assert told[2] in text


def test_tables_without_more_than_is_installed(monkeypatch, capsys):
    monkeypatch.setattr(prediction, "find_spec", lambda name: None)
    found = {name: X.shape for name, X, _ in prediction.tables()}
    assert found["diabetes"] == (442, 10)
    assert found["diabetes, with products"] == (442, 65)
    assert found["Boston, 13 features"] == (506, 13)
    assert capsys.readouterr().err == "Other tables need: pip install --no-deps ISLP\n"


def test_false_features(monkeypatch):
    monkeypatch.setattr(prediction, "DRAWS", 3)
    assert false_features("ric", 50, 60, 2) < false_features("aic", 50, 60, 2)
