"""Tables on pages of any width: words are folded, numbers are never cut."""

import io

import pytest

from sparsewise.description.terminal import Page, show_model
from sparsewise.estimators import SparseBayesRegressor
from sparsewise.estimators.describe import describe
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


def test_words_are_folded_before_a_table_is_too_wide():
    out = page(30)
    out.table({"name": "left", "value": "right"}, [("one two three four five six", "1234567.5")])
    lines = out.file.getvalue().splitlines()
    assert max(map(len, lines)) <= 30
    assert lines[2].endswith("1234567.5")
    assert len(lines) > 3
