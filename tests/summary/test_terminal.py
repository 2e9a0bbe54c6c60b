"""Tables on pages of any width: words are folded, numbers are never cut."""

import io
import json

import numpy as np
import pytest
from sklearn.metrics import r2_score

from sparsewise._util.progress import is_watched
from sparsewise.estimators import SparseBayesRegressor, StepwiseRegressor
from sparsewise.estimators.describe import describe
from sparsewise.summary.plain_text import coefficient_cells
from sparsewise.summary.terminal import Page, show_model
from tests.cli.test_fit import DIABETES


def page(width):
    out = Page(io.StringIO())
    out.width = width
    return out


@pytest.mark.parametrize("width", [80, 60, 40, 20])
def test_no_number_is_cut(width):
    description = describe(SparseBayesRegressor().fit(DIABETES.data, DIABETES.target))
    out = page(width)
    show_model(description, description.sentences(), out)
    text = out.file.getvalue()
    for row in description.path:
        assert f"{row.loss:.0f}" in text
        assert f"{row.r2:.4f}" in text
    facts = text.rpartition("\n\n")[2]
    assert max(map(len, facts.splitlines())) <= width
    assert " ".join(text.split()).startswith(description.title)


@pytest.mark.parametrize(("term", "plain"), [("xterm", False), ("dumb", True), ("", True)])
def test_a_terminal_that_understands_nothing_else_gets_plain_text(monkeypatch, term, plain):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    monkeypatch.setenv("TERM", term)
    monkeypatch.setattr("sys.stderr", Terminal())
    out = Page(Terminal())
    out.title("of numbers")
    assert ("\x1b" not in out.file.getvalue()) == plain
    assert is_watched() == (not plain)


def test_words_are_folded_before_a_table_is_too_wide():
    out = page(30)
    out.table({"name": "left", "value": "right"}, [("one two three four five six", "1234567.5")])
    lines = out.file.getvalue().splitlines()
    assert max(map(len, lines)) <= 30
    assert lines[2].endswith("1234567.5")
    assert len(lines) > 3


@pytest.mark.parametrize("width", [80, 60, 40])
def test_several_targets_side_by_side_as_far_as_the_page_is_wide(width):
    X, y = DIABETES.data, DIABETES.target
    model = StepwiseRegressor(sparsity=3).fit(X, np.column_stack([y, y**2, np.sqrt(y), -y]))
    description = describe(model)
    out = page(width)
    show_model(description, description.sentences(), out)
    text = out.file.getvalue()
    table = text.partition("Path")[0].splitlines()[2:]
    assert max(map(len, table)) <= width
    header, *rows = coefficient_cells(description)
    assert header == ("feature", "y0", "y1", "y2", "y3")
    assert all(cell in text for row in rows for cell in row[1:])
    assert text.count("(intercept)") == text.count("feature ") - 1 == {80: 2, 60: 2, 40: 4}[width]


def test_several_targets_as_fields():
    X, y = DIABETES.data, DIABETES.target
    model = StepwiseRegressor(sparsity=2).fit(X, np.column_stack([y, y**2]))
    fields = describe(model).fields()
    json.dumps(fields, allow_nan=False)
    assert fields["intercept"] == tuple(model.intercept_)
    chosen = model.get_support(indices=True)
    for j, one in zip(chosen, fields["features"], strict=True):
        assert one["coef"] == tuple(model.coef_[:, j])
        assert one["std"] == tuple(model.coef_std_[:, j])
    assert [one["name"] for one in fields["targets"]] == ["y0", "y1"]
    assert [one["noise"] for one in fields["targets"]] == model.noise_.tolist()
    shares = r2_score(np.column_stack([y, y**2]), model.predict(X), multioutput="raw_values")
    np.testing.assert_allclose([one["r2"] for one in fields["targets"]], shares)
    np.testing.assert_allclose(fields["r2"], shares.mean())
    assert "targets" not in describe(StepwiseRegressor().fit(X, y)).fields()
