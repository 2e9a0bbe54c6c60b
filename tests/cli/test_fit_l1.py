"""Basis pursuit on the command line: what is printed against the functions and least squares."""

import re

import numpy as np
import pytest

import sparsewise
from sparsewise import cli
from tests.cli import test_fit as test_cli
from tests.cli.test_fit import (
    DIABETES,
    NAMES,
    coefficients,
    diabetes_text,
    least_squares,
    section,
    wide_text,
)

run, refuse, csv = test_cli.run, test_cli.refuse, test_cli.csv
plain_terminal = test_cli.plain_terminal

BOUNDED = ["bpdn", "bp_candes", "bp_ard"]
REGISTERED = sparsewise.ALGORITHMS.keys()
X = DIABETES.data - DIABETES.data.mean(axis=0)
Y = DIABETES.target - DIABETES.target.mean()
NORMS = np.linalg.norm(X, axis=0)
NOISE = np.sqrt(least_squares(NAMES)[1] / (len(Y) - len(NAMES) - 1))
DIABETES_FIT = ("fit", "--example", "diabetes")


def needs(method):
    return pytest.param(
        method,
        marks=pytest.mark.skipif(method not in REGISTERED, reason=f"{method} isn't an algorithm"),
    )


def expected(method, **words):
    """Return what the function finds for columns of norm 1, in the units of the table."""
    if method in ("bp", "bpdn", "ista", "fista"):
        words["weights"] = NORMS
    if method == "bp_ard":  # the noise of each row
        words.setdefault("sigma", words["residual"] / np.sqrt(len(Y)))
    return sparsewise.ALGORITHMS[method](X, Y, **words)


def assert_printed(out, solution):
    """The features, coefficients, intercept, residual and R² printed are those of the solution."""
    cells = {name: cell for name, cell, *_ in section(out, "Chosen features")}
    mean = DIABETES.target.mean() - DIABETES.data.mean(axis=0) @ solution.coef
    model = {"(intercept)": mean, **{NAMES[j]: solution.coef[j] for j in solution.support}}
    assert list(cells) == list(model)
    for name, cell in cells.items():
        assert float(cell) == pytest.approx(model[name], abs=0.6 * last_digit(cell))
    last = section(out, "Path")[-1]
    assert float(last[-2]) == pytest.approx(solution.residual_norm**2, rel=1e-5)
    assert float(last[-1]) == pytest.approx(1 - solution.residual_norm**2 / (Y @ Y), abs=6e-5)


def last_digit(cell):
    return 10.0 ** -len(cell.partition(".")[2])


def one_line(out):
    return " ".join(out.split())


# --- good input -----------------------------------------------------------------------------------


@pytest.mark.parametrize("method", BOUNDED)
@pytest.mark.parametrize("debias", [False, True])
def test_numbers_are_those_of_the_function(run, method, debias):
    args = ("--method", method.replace("_", "-"), "--residual", 1200)
    out = run(*DIABETES_FIT, *args, *["--debias"] * debias)
    solution = expected(method, residual=1200.0, debias=debias)
    assert_printed(out, solution)
    assert f"method {method}," in out
    assert f"Σ w|x| = {solution.objective:.6g}" in out
    assert f"residual <= 1200, penalty {solution.penalty:.4g}" in out
    assert ("shrunk" in one_line(out), "before the refit" in out) == (not debias, debias)
    assert "discrepancy" not in out
    assert "subset      " in out
    assert ("  std. error\n" in out) == debias  # what is shrunk has no standard errors
    assert max(map(len, out.splitlines())) <= 80


@pytest.mark.parametrize("method", BOUNDED)
def test_without_a_word_the_residual_is_as_large_as_the_noise(run, method):
    residual = float(NOISE * np.sqrt(len(Y)))
    default = run(*DIABETES_FIT, "--method", method)
    noise = f"at most {residual:.4g}: s √n, as large as the noise (s = {NOISE:.4g})"
    assert noise in one_line(default)
    explicit = run(*DIABETES_FIT, "--method", method, "--residual", repr(residual))
    assert coefficients(explicit) == coefficients(default)
    assert "as large as the noise" not in one_line(explicit)
    assert float(section(default, "Path")[-1][-2]) == pytest.approx(residual**2, rel=1e-5)


def test_the_noise_given_bounds_the_residual(run):
    out = run(*DIABETES_FIT, "--method", "bp-ard", "--sigma", 56)
    residual = 56 * len(Y) ** 0.5
    assert f"at most {residual:.4g}: s √n, as large as the noise (s = 56, as given)" in one_line(
        out
    )
    assert_printed(out, expected("bp_ard", residual=residual, sigma=56.0))


def test_debias_is_least_squares(run):
    out = run(*DIABETES_FIT, "--method", "bpdn", "--debias")
    found = coefficients(out)
    model, squared = least_squares([name for name in found if name in NAMES])
    assert found == pytest.approx(model, abs=6e-4)
    assert section(out, "Path")[-1][0] == "refit"
    assert float(section(out, "Path")[-1][-2]) == pytest.approx(squared, rel=1e-5)
    assert "before the refit" in out


@pytest.mark.parametrize(
    ("words", "method"),
    [
        (["--debias"], "solve"),
        (["--debias", "--penalty", 300], "fista"),
        (["--residual", 1200], "forward"),
    ],
)
def test_words_choose_the_method(run, words, method):
    assert f"method {method}," in run(*DIABETES_FIT, *words)


@pytest.mark.parametrize("method", BOUNDED)
def test_the_path_is_made_of_bends(run, method):
    rows = section(run(*DIABETES_FIT, "--method", method, "--residual", 1137), "Path")
    solution = expected(method, residual=1137.0)
    assert rows[0][1] == "start"
    assert [row[1:3] for row in rows[1:-1]] == [
        [step.action, NAMES[step.column]] for step in solution.path
    ]
    assert [float(row[-2]) for row in rows[1:-1]] == pytest.approx(
        [step.squared_residual for step in solution.path], rel=1e-5
    )
    assert rows[-1][:2] == ["end", str(solution.support.size)]


def test_rounds(run):
    out = run(*DIABETES_FIT, "--method", "bp-candes", "--residual", 1137)
    sizes = [str(one.size) for one in expected("bp_candes", residual=1137.0).rounds]
    assert f"rounds      {len(sizes)}, with {', '.join(sizes)} features" in out
    assert "rounds      " not in run(*DIABETES_FIT, "--method", "bpdn")


@pytest.mark.parametrize("method", BOUNDED)
def test_include_and_exclude(run, method):
    words = ("--method", method, "--residual", 1250, "--include", "age,s4")
    out = run(*DIABETES_FIT, *words)
    assert_printed(out, expected(method, residual=1250.0, include=[0, 7]))
    assert section(out, "Path")[0][1:4] == ["start", "(2", "features)"]
    without = coefficients(run(*DIABETES_FIT, *words, "--exclude", "bmi,s5"))
    assert without.keys() >= {"age", "s4"}
    assert not without.keys() & {"bmi", "s5"}
    assert not coefficients(run(*DIABETES_FIT, *words[:-2])).keys() & {"age", "s4"}


@pytest.mark.parametrize("method", BOUNDED)
@pytest.mark.parametrize("factor", [1024.0, 2.0**-10])
def test_the_unit_of_a_column_changes_only_its_coefficient(run, csv, method, factor):
    lines = diabetes_text().splitlines()
    rows = [line.split(",") for line in lines[1:]]
    for row in rows:
        row[2] = repr(float(row[2]) * factor)
    scaled = csv("\n".join([lines[0], *(",".join(row) for row in rows)]), "scaled.csv")
    words = ("--target", "progression", "--method", method, "--residual", 1150)
    before = coefficients(run("fit", csv(diabetes_text()), *words))
    after = coefficients(run("fit", scaled, *words))
    assert after.keys() == before.keys()
    assert after.pop("bmi") == pytest.approx(before.pop("bmi") / factor, rel=1e-2)
    assert after == pytest.approx(before, abs=2e-3)


def test_no_intercept(run):
    out = run(*DIABETES_FIT, "--method", "bpdn", "--residual", 1400, "--no-intercept")
    A, y = DIABETES.data, DIABETES.target
    solution = sparsewise.bpdn(A, y, residual=1400.0, weights=np.linalg.norm(A, axis=0))
    found = coefficients(out)
    assert list(found) == [NAMES[j] for j in solution.support]
    assert list(found.values()) == pytest.approx(solution.coef[solution.support], abs=6e-4)


def test_a_residual_larger_than_the_target(run):
    out = run(*DIABETES_FIT, "--method", "bpdn", "--residual", 1e5)
    assert coefficients(out) == {"(intercept)": 152.13}
    assert "Σ w|x| = 0, residual <= 1e+05" in out
    assert not re.search(r"\b(nan|inf)\b|shrunk", out)


@pytest.mark.parametrize("method", ["bp", *BOUNDED])
def test_an_exact_fit_of_a_wide_table(run, csv, method):
    """The noise is fitted, too, but what matters is far cheaper to have than to do without."""
    text, _ = wide_text()
    words = [] if method == "bp" else ["--residual", 0]
    out = run("fit", csv(text), "--target", "y", "--method", method, *words)
    assert coefficients(out).keys() >= {"gene_3", "gene_50", "gene_70"}
    assert len(coefficients(out)) <= 40
    assert section(out, "Path")[-1][-2:] == ["0", "1.0000"] or " 1.0000\n" in out
    assert "shrunk" not in out


@pytest.mark.parametrize("method", BOUNDED)
@pytest.mark.parametrize("include", [[], ["--include", "a"]])
def test_a_constant_target_is_its_mean(run, csv, method, include):
    path = csv("a,b,y\n" + "".join(f"{x},{x * x % 5},0.1\n" for x in range(6)))
    out = run("fit", path, "--target", "y", "--method", method, *include)
    found = coefficients(out)
    assert found.pop("(intercept)") == 0.1
    assert set(found.values()) <= {0.0}
    assert "constant: the model is its mean" in out
    assert not re.search(r"\b(nan|inf)\b", out)


@pytest.mark.parametrize("method", BOUNDED)
def test_an_exact_relation(run, csv, method):
    rows = "".join(f"{x},{x * x % 7},{3 * x - 1}\n" for x in range(9))
    out = run("fit", csv("a,b,y\n" + rows), "--target", "y", "--method", method)
    assert coefficients(out) == pytest.approx({"(intercept)": -1, "a": 3})


@pytest.mark.parametrize("method", [needs("ista"), needs("fista")])
def test_a_penalty(run, method):
    out = run(*DIABETES_FIT, "--method", method, "--penalty", 200)
    assert_printed(out, expected(method, penalty=200.0))
    assert "penalty 200" in out
    assert "residual <=" not in out
    if method == "fista":
        assert run(*DIABETES_FIT, "--penalty", 200) == out


@pytest.mark.parametrize("method", [needs("focuss")])
def test_focuss_keeps_to_the_noise(run, method):
    out = run(*DIABETES_FIT, "--method", method)
    assert "as large as the noise" in one_line(out)
    assert "bmi" in coefficients(out)


# --- bad input ------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", BOUNDED)
def test_a_residual_out_of_reach_is_told_with_the_least(refuse, method):
    line = refuse(*DIABETES_FIT, "--method", method, "--residual", 1000)
    assert f"{least_squares(NAMES)[1] ** 0.5:.6g}"[:6] in line
    assert "allow a residual" in line


def test_no_exact_fit_of_a_tall_table(refuse):
    assert "1124.27" in refuse(*DIABETES_FIT, "--method", "bp")


@pytest.mark.parametrize("method", BOUNDED)
def test_a_wide_table_infers_the_noise(run, csv, method):
    """By Sparse Bayesian Learning: least squares on all features would leave none."""
    text, _ = wide_text()
    out = run("fit", csv(text), "--target", "y", "--method", method)
    noise = float(re.search(r"as large as the noise \(s = (\S+)\)", one_line(out))[1])
    assert noise == pytest.approx(2, rel=0.3)
    assert coefficients(out).keys() >= {"gene_3", "gene_50", "gene_70"}


@pytest.mark.parametrize("method", BOUNDED)
def test_included_features_that_cannot_be_told_apart(refuse, csv, method):
    path = csv("a,b,c,y\n1,2,7,3\n2,4,7,5\n3,6,7,8\n4,8,7,8\n5,10,7,14\n")
    words = ("fit", path, "--target", "y", "--method", method, "--residual", 2, "--include")
    assert '"b" can\'t be told from the other included features' in refuse(*words, "a,b")
    assert '"c" can\'t be told from the other included features' in refuse(*words, "c")


BAD = {
    "negative": (["--method", "bpdn", "--residual", "-1"], "residual: must be"),
    "nan": (["--method", "bp-ard", "--residual", "nan"], "residual: must be"),
    "sigma zero": (["--method", "bp-ard", "--sigma", "0", "--residual", "1200"], "sigma: must be"),
    "residual for bp": (["--method", "bp", "--residual", "1"], "bp does not take --residual"),
    "size": (["--method", "bpdn", "--sparsity", "2"], "bpdn does not take --sparsity; it takes"),
    "price": (["--method", "bp-ard", "--price", "2"], "takes --residual, --sigma, --debias"),
    "penalty": (["--method", "bpdn", "--penalty", "2"], "bpdn does not take --penalty; it takes"),
    "debias for what is meant": (
        ["--debias", "--residual", "1200"],
        "forward does not take --debias; it takes",
    ),
    "debias for omp": (["--method", "omp", "--debias"], "omp does not take --debias; it takes"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_arguments(refuse, case):
    args, message = BAD[case]
    assert message in refuse(*DIABETES_FIT, *args)


@pytest.mark.parametrize("method", [needs("ista"), needs("fista")])
def test_a_penalty_is_needed(refuse, method):
    assert f"{method} needs --penalty" in refuse(*DIABETES_FIT, "--method", method)


def test_help_mentions_it(capsys):
    with pytest.raises(SystemExit, match="0"):
        cli.main(["fit", "--help"])
    out = " ".join(capsys.readouterr().out.split())
    for words in ("--penalty L", "--debias", "if named without --residual", "bp-ard take it"):
        assert words in out
