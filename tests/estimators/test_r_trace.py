"""The trace of a stepwise search: what R prints, character for character."""

import math

import numpy as np
import pandas as pd
import pytest
from numpy import inf, nan

from sparsewise import StepwiseRegressor, stepwise
from sparsewise.criteria.information import BY_LOSS, Criteria
from sparsewise.engine.step_choice import Moves, Round
from sparsewise.estimators.r_trace import (
    LABELS,
    Trace,
    formula_lines,
    matrix_lines,
    number,
    numbers,
    quoted,
    round_text,
    width,
    zapped,
)
from tests.data import searches, searches_of, table

LIKE_R = [s for s in (*searches(), *searches_of("odd")) if s.direction == "both"]


@pytest.mark.parametrize("search", LIKE_R, ids=str)
def test_trace_of_r(search, capsys):
    """All rounds on a public table, from the full and the empty model, by AIC and BIC."""
    t = table(search.table)
    times = np.ones(len(t.y), int) if not search.weights else t.column(search.weights).astype(int)
    X, y = np.repeat(t.X, times, axis=0), np.repeat(t.y, times)
    if search.intercept:
        X, y = X - X.mean(axis=0), y - y.mean()
    criteria = Criteria(len(y), X.shape[1], search.intercept, float(y @ y))
    stepwise(
        X,
        y,
        criterion=criteria[search.criterion].cost,
        start=None if search.start == "full" else (),
        watch=Trace(search.criterion, t.target, t.features.__getitem__, search.intercept),
    )
    printed = capsys.readouterr().out
    assert printed.count(LABELS[search.criterion]) >= 2
    # R calls every criterion AIC, and makes room for no longer name.
    assert printed.replace("BIC", "AIC") == search.trace


# --- numbers: `format(x, digits = 5)` and `format(zapsmall(x, 5), digits = 5)` of R 4.2.2 --------


@pytest.mark.parametrize(
    ("values", "plain", "zap"),
    [
        ([1, 2, 3], ["1", "2", "3"], ["1", "2", "3"]),
        ([0.1, 123456, nan], ["0.1", "123456.0", ""], ["0", "123456", ""]),
        ([1e10, 1], ["1e+10", "1e+00"], ["1e+10", "1e+00"]),
        ([1e-10, 1], ["1e-10", "1e+00"], ["0", "1"]),
        ([-1.5, 22], ["-1.5", "22.0"], ["-1.5", "22.0"]),
        ([99999.7, 1], ["1e+05", "1e+00"], ["1e+05", "1e+00"]),
        ([-inf, 1.234567], ["-Inf", "1.2346"], ["-Inf", "1"]),
        ([inf, nan], ["Inf", ""], ["Inf", ""]),
        ([0, 0], ["0", "0"], ["0", "0"]),
        ([1e5, 1e-5], ["1e+05", "1e-05"], ["1e+05", "0e+00"]),
        ([123456789, 1], ["123456789", "1"], ["123456789", "1"]),
        ([1e5, 2e5], ["1e+05", "2e+05"], ["1e+05", "2e+05"]),
        ([1e-300, 1], ["1e-300", "1e+00"], ["0", "1"]),
        ([1e100, 2e100], ["1e+100", "2e+100"], ["1e+100", "2e+100"]),
        ([-1e-7, 3], ["-1e-07", "3e+00"], ["0", "3"]),
        ([0.00012345678, 12.5], ["1.2346e-04", "1.2500e+01"], ["0.0001", "12.5000"]),
        ([1234567.8], ["1234568"], ["1234568"]),
        ([5e-324], ["4.9407e-324"], ["4.9407e-324"]),
        ([3, -1e-120], ["3e+00", "-1e-120"], ["3", "0"]),
        ([9.99996], ["10"], ["10"]),
        ([nan, nan], ["", ""], ["", ""]),
        ([], [], []),
    ],
    ids=str,
)
def test_numbers(values, plain, zap):
    assert numbers(values, 5) == plain
    assert numbers(zapped(values), 5) == zap


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (70.898, "70.9"),
        (-22.185, "-22.18"),
        (12345.678, "12345.68"),
        (1234567.891, "1234568"),
        (12345678.9, "12345679"),
        (-0.004, "0"),
        (100.0, "100"),
        (1e5, "1e+05"),
        (1e10, "1e+10"),
        (-inf, "-Inf"),
    ],
)
def test_number_of_the_header(value, text):
    """R's ``format(round(x, 2))``."""
    assert number(round(value, 2) if math.isfinite(value) else value) == text


# --- names and formulas: what `deparse` of R 4.2.2 gives -----------------------------------------


@pytest.mark.parametrize(
    ("name", "written"),
    [
        ("mpg", "mpg"),
        ("Acid.Conc.", "Acid.Conc."),
        ("x_1", "x_1"),
        (".x", ".x"),
        ("._", "._"),
        ("..5a", "..5a"),
        ("größe", "größe"),
        ("TRUEST", "TRUEST"),
        (".5x", "`.5x`"),
        ("9z", "`9z`"),
        ("_u", "`_u`"),
        ("Life Exp", "`Life Exp`"),
        ("if", "`if`"),
        ("NA", "`NA`"),
        ("x²", "`x²`"),
        ("a`b", r"`a\`b`"),
        ("back\\slash", r"`back\\slash`"),
        ("x\ty", r"`x\ty`"),
        ("", "``"),
    ],
)
def test_names(name, written):
    assert quoted(name) == written


TERMS = ["aaaaaaaaa", "bbbbbbbbbbbbb", "ccccccccccc", "dddddddddd", "eeeee", "ffffff"]


@pytest.mark.parametrize(
    ("length", "lines"),
    [
        (3, ["yyy ~ aaaaaaaaa + bbbbbbbbbbbbb + ccccccccccc + dddddddddd + ",
             "    eeeee + ffffff"]),
        (57, ["y" * 57 + " ~ aaaaaaaaa + ",
              "    bbbbbbbbbbbbb + ccccccccccc + dddddddddd + eeeee + ffffff"]),
        (58, ["y" * 58 + " ~ ",
              "    aaaaaaaaa + bbbbbbbbbbbbb + ccccccccccc + dddddddddd + eeeee + ",
              "        ffffff"]),
    ],
)  # fmt: skip
def test_long_formulas(length, lines):
    assert formula_lines("y" * length, TERMS, True) == lines


def test_short_formulas():
    assert formula_lines("y", [], True) == ["y ~ 1"]
    assert formula_lines("y", [], False) == ["y ~ 1 - 1"]
    assert formula_lines("y", ["a", "b"], False) == ["y ~ a + b - 1"]


def test_lines_are_as_long_as_their_bytes():
    """R counts an umlaut twice: 58 characters and 3 umlauts are too long for a line."""
    plain, umlauts = ["a" * 24, "b" * 25, "c"], ["ä" * 3 + "a" * 21, "b" * 25, "c"]
    assert len(formula_lines("y", plain, True)) == 1
    assert len(formula_lines("y", umlauts, True)) == 2
    assert formula_lines("ü" * 30, ["a"], True) == ["ü" * 30 + " ~ ", "    a"]


# --- the table -----------------------------------------------------------------------------------


def moves(columns, change, rss, cost):
    return Moves(np.array(columns, int), *(np.array(v, float) for v in (change, rss, cost)))


def test_round():
    """Sorted by the criterion; of equal rows the present model comes first, then deletions."""
    decision = Round(
        2.0, 5.0, [1], moves([0, 2], [1.0, 0.5], [1.0, 1.5], [5.0, 4.0]), moves([1], [2], [4], [5])
    )
    text = round_text("y", "abc".__getitem__, "BIC", decision, first=False)
    assert text == (
        "\nStep:  BIC=5\ny ~ b\n\n"
        "       Df Sum of Sq RSS BIC\n"
        "+ c     1       0.5 1.5   4\n"
        "<none>              2.0   5\n"
        "- b     1       2.0 4.0   5\n"
        "+ a     1       1.0 1.0   5\n"
    )


def test_the_largest_is_best():
    """A criterion that is to be large is shown as it is, the best row first."""
    decision = Round(2.0, -0.5, [], moves([0], [1.0], [1.0], [-0.75]), moves([], [], [], []))
    text = round_text("y", "a".__getitem__, "adj. R2", decision, first=True, largest=True)
    assert text == (
        "Start:  adj. R2=0.5\ny ~ 1\n\n"
        "       Df Sum of Sq RSS adj. R2\n"
        "+ a     1         1   1    0.75\n"
        "<none>                2    0.50\n"
    )


def test_no_step_at_all():
    """Nothing to add and nothing to drop: a header alone, as in R."""
    decision = Round(2.0, 5.0, [], moves([], [], [], []), moves([], [], [], []))
    assert round_text("y", "".__getitem__, "AIC", decision, first=True) == (
        "Start:  AIC=5\ny ~ 1\n\n"
    )
    locked = decision._replace(order=[0])
    assert round_text("y", "a".__getitem__, "AIC", locked, first=True) == (
        "Start:  AIC=5\ny ~ a\n\n"
    )


def test_an_exact_fit(capsys):
    stepwise(
        np.eye(3)[:, :2], np.eye(3)[0], criterion="aic", watch=Trace("aic", "y", "ab".__getitem__)
    )
    assert "AIC=-Inf\n" in capsys.readouterr().out


def test_wide_tables_are_broken():
    """A part takes less than 80 places; what is left goes below, with the labels again."""
    columns = {"one": ["1" * 30], "two": ["2" * 20], "three": ["3" * 20]}
    assert [len(line) for line in matrix_lines(["x" * 6], columns)] == [79, 79]
    assert [len(line) for line in matrix_lines(["x" * 7], columns)] == [59, 59, 28, 28]


def test_places_of_a_terminal():
    assert width("naïve") == 5
    assert width("e\u0301") == 1
    assert width("名前") == 4


def test_every_criterion_has_a_label():
    assert LABELS.keys() == set(BY_LOSS)


@pytest.mark.parametrize("verbose", [False, True])
@pytest.mark.parametrize("direction", ["both", "forward"])
def test_no_name_controls_a_terminal(direction, verbose, capsys):
    """Escapes, bells, bidirectional marks, and half of a character: none of them gets out."""
    names = ["\x1b[31mred", "a\x07b", "c\u202ed", "e\x9b2J", "f\rg", "h\ni", "\ud800j"]
    rng = np.random.default_rng(0)
    # As objects: with pyarrow, pandas takes half a character for none.
    X = pd.DataFrame(rng.standard_normal((60, 7)), columns=pd.Index(names, dtype=object))
    y = pd.Series(X.sum(axis=1) + 0.1 * rng.standard_normal(60), name="\x1b]0;title\x07")
    model = StepwiseRegressor(direction, verbose=verbose, certify=True).fit(X, y)
    told = [str(model.summary()), model.summary()._repr_html_(), repr(model)]
    for words in ({"include": ["\x1b[0m"]}, {"include": [names[0]], "exclude": names[:1]}):
        with pytest.raises(ValueError, match="include") as error:
            model.set_params(**words).fit(X, y)
        told.append(str(error.value))
    told.append(capsys.readouterr().out)
    assert bool(told[-1]) is verbose
    for text in told:
        assert all(c.isprintable() or c == "\n" for c in text)
        text.encode()


def test_what_is_not_seen_is_written_by_its_number():
    assert quoted("a\x1b[31m") == "`a\\033[31m`"
    assert quoted("a\u202eb") == "`a\\u202eb`"
    assert quoted("a\tb") == "`a\\tb`"
