"""The command line, run as a process and in this one, on good and bad tables."""

import inspect
import io
import json
import os
import re
import signal
import subprocess
import sys

import numpy as np
import pytest
from sklearn.datasets import load_diabetes

import sparsewise
from sparsewise import SparseRegressor, StepwiseRegressor, cli
from sparsewise._util.numbers import numerals
from sparsewise.summary.terminal import FIRST_BACK, FIRST_STEPS, LAST_BACK, LAST_STEPS

COMMAND = [sys.executable, "-m", "sparsewise"]
POSIX = pytest.mark.skipif(os.name != "posix", reason="signals and pipes of POSIX")


@pytest.fixture(autouse=True)
def plain_terminal(monkeypatch):
    for name in ("COLUMNS", "FORCE_COLOR", "NO_COLOR", "TTY_COMPATIBLE", "CLICOLOR_FORCE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PYTHONIOENCODING", "utf-8")


def run_process(*args, stdin=""):
    return subprocess.run(
        [*COMMAND, *args],
        input=stdin,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=120,
    )


@pytest.fixture
def run(capsys):
    """Run a command that must succeed; return what it prints."""

    def command(*args):
        code = cli.main([str(arg) for arg in args])
        out, err = capsys.readouterr()
        assert (code, err) == (0, "")
        return out

    return command


@pytest.fixture
def pipe_in(monkeypatch):
    """Bytes that the next command finds at its standard input."""
    return lambda data: monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))


@pytest.fixture
def run_in_ascii(monkeypatch):
    """Run a command that must succeed where output has no other letters; return what it prints."""

    def command(*args):
        with monkeypatch.context() as patch:
            patch.setattr(sys, "stdout", io.TextIOWrapper(io.BytesIO(), encoding="ascii"))
            assert cli.main([str(arg) for arg in args]) == 0
            sys.stdout.flush()
            return sys.stdout.buffer.getvalue().decode("ascii")

    return command


@pytest.fixture
def refuse(capsys):
    """Run a command that must fail on its input; return its one line."""

    def command(*args):
        code = cli.main([str(arg) for arg in args])
        out, err = capsys.readouterr()
        assert (code, out) == (2, "")
        assert err.startswith("sparsewise: ")
        assert err.endswith("\n")
        assert err.count("\n") == 1
        return err

    return command


@pytest.fixture
def csv(tmp_path):
    def write(text, name="table.csv"):
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return write


def section(out, title):
    """Return the cells of a table in the report, row by row."""
    lines = out.split(f"{title}\n", 1)[1].split("\n\n", 1)[0].splitlines()
    return [line.split() for line in lines[2:]]


def coefficients(out):
    return {name: float(value) for name, value, *_ in section(out, "Chosen features")}


def deviations(out):
    return {name: float(std) for name, _, std in section(out, "Chosen features")}


NOISE, EVIDENCE = "noise       σ =", "evidence    log evidence ="


def noise_and_evidence(out):
    return [number(what, out) for what in (NOISE, EVIDENCE)]


def number(what, out):
    return float(re.search(rf"^{what} (\S+)", out, re.MULTILINE)[1].rstrip(","))


DIABETES = load_diabetes(scaled=False)
NAMES = list(DIABETES.feature_names)
BIC_CHOICE = ["sex", "bmi", "bp", "s1", "s2", "s5"]
DEFAULT_CHOICE = BIC_CHOICE
BAYESIAN_CHOICE = ["sex", "bmi", "bp", "s3", "s5"]


def least_squares(names, intercept=True):
    """Return the coefficients and the squared residual of a plain least-squares fit."""
    columns = [DIABETES.data[:, NAMES.index(name)] for name in names]
    if intercept:
        columns.insert(0, np.ones(len(DIABETES.target)))
    X = np.column_stack(columns)
    coef = np.linalg.lstsq(X, DIABETES.target, rcond=None)[0]
    labels = ["(intercept)"] * intercept + list(names)
    squared = np.sum((DIABETES.target - X @ coef) ** 2)
    return dict(zip(labels, coef, strict=True)), squared


def bayesian(method, intercept=True, include=(), **words):
    """Return what the function finds, the constant being a column with a flat prior."""
    X, y = DIABETES.data, DIABETES.target
    if not intercept:
        return sparsewise.ALGORITHMS[method](X, y, include=include, **words)
    X = np.column_stack([X - X.mean(axis=0), np.ones(len(y))])
    include = [*include, X.shape[1] - 1]
    return sparsewise.ALGORITHMS[method](X, y - y.mean(), include=include, **words)


def diabetes_text(separator=","):
    rows = [[*NAMES, "progression"]]
    data = np.column_stack([DIABETES.data, DIABETES.target])
    rows += [[repr(float(value)) for value in row] for row in data]
    return "\n".join(separator.join(row) for row in rows) + "\n"


# --- good input -----------------------------------------------------------------------------------


def test_diabetes_as_a_process():
    done = run_process("fit", "--example", "diabetes")
    assert (done.returncode, done.stderr) == (0, "")
    out = done.stdout
    assert coefficients(out).keys() == deviations(out).keys() == {"(intercept)", *DEFAULT_CHOICE}
    path = section(out, "Path")
    assert path[0][:2] == ["0", "start"]
    assert [name.rstrip(",") for name in path[-1][2:-3]] == DEFAULT_CHOICE
    assert float(path[-1][-2]) == pytest.approx(least_squares(BIC_CHOICE)[1], rel=1e-5)
    for words in ("stopped", "advice", "442 rows, 10 features", "method solve,", "over A"):
        assert words in out
    assert "each feature costs 4.605 = 2 log m, being one of 10" in out
    assert re.search(r"^starts +\d+ of \d+ starts came to this$", out, re.MULTILINE)
    assert re.search(r"^chance +.*10\^-6", out, re.MULTILINE)
    assert "certified best subset of 6" in out
    assert "\x1b" not in out
    assert max(map(len, out.splitlines())) <= 80
    assert not any(line.endswith(" ") for line in out.splitlines())


def test_squared_residuals_are_those_of_least_squares(run):
    out = run("fit", "--example", "diabetes", "--method", "rmp0")
    expected, squared = least_squares(BIC_CHOICE)
    assert coefficients(out) == pytest.approx(expected, abs=6e-4)
    path = section(out, "Path")
    assert [float(row[-2]) for row in path] == sorted(
        (float(row[-2]) for row in path), reverse=True
    )
    assert float(path[-1][-2]) == pytest.approx(squared, rel=1e-5)
    total = np.sum((DIABETES.target - DIABETES.target.mean()) ** 2)
    assert float(path[-1][-1]) == pytest.approx(1 - squared / total, abs=6e-5)
    assert {row[2] for row in path[1:]} == set(BIC_CHOICE)
    assert "evidence" not in out


def test_standard_errors_are_those_of_least_squares(run):
    out = run("fit", "--example", "diabetes", "--method", "rmp0")
    columns = [DIABETES.data[:, NAMES.index(name)] for name in BIC_CHOICE]
    X = np.column_stack([np.ones(len(DIABETES.target)), *columns])
    variance = least_squares(BIC_CHOICE)[1] / (len(X) - X.shape[1])
    expected = np.sqrt(variance * np.diagonal(np.linalg.inv(X.T @ X)))
    names = ["(intercept)", *BIC_CHOICE]
    assert deviations(out) == pytest.approx(dict(zip(names, expected, strict=True)), rel=2e-3)
    assert f"σ = {variance**0.5:.4g}, that of the residual" in out
    assert "conditional on the selection" in out


def test_the_default_delta_is_the_price_in_the_bic(run):
    n, m = DIABETES.data.shape
    variance = least_squares(NAMES)[1] / (n - m - 1)
    delta = np.sqrt(variance * np.log(n))
    default = run("fit", "--example", "diabetes", "--method", "rmp0")
    assert f"delta = {delta:.4g}" in " ".join(default.split())
    explicit = run("fit", "--example", "diabetes", "--delta", repr(float(delta)))
    assert section(explicit, "Path") == section(default, "Path")
    assert "method rmp0" in explicit
    assert "price of a feature" in " ".join(default.split())
    assert "price of a feature" not in " ".join(explicit.split())


def test_the_default_price_is_log_m(run):
    default = run("fit", "--example", "diabetes", "--method", "rmp")
    assert "each feature had to raise the log evidence by 2.303 = log 10, being" in default
    explicit = run("fit", "--example", "diabetes", "--price", repr(float(np.log(10))))
    assert section(explicit, "Path") == section(default, "Path")
    assert "each feature had to raise the log evidence by 2.303\n" in explicit
    free = run("fit", "--example", "diabetes", "--price", 0)
    assert coefficients(free).keys() > coefficients(default).keys()


@pytest.mark.parametrize(
    ("words", "method"),
    [
        ([], "solve"),
        (["--sigma", 50], "solve"),
        (["--effort", 3], "solve"),
        (["--seed", 3, "--criterion", "bic"], "solve"),
        (["--cv", 3, "--effort", 2], "solve"),
        (["--sigma", 50, "--price", 1], "rmp"),
        (["--criterion", "bic"], "forward"),
        (["--cv", 3], "forward"),
        (["--price", 1], "rmp"),
        (["--updates", "mackay"], "sbl"),
        (["--delta", 100], "rmp0"),
        (["--sparsity", 2], "forward"),
        (["--residual", 1200, "--delta", 1], "forward"),
        (["--batch", 2, "--sparsity", 4], "gomp"),
    ],
)
def test_words_choose_the_method(run, words, method):
    assert f"method {method}," in run("fit", "--example", "diabetes", *words)


BAYESIAN = {
    "rmp": ["rmp"],
    "fast": ["fast-sbl"],
    "em": ["sbl"],
    "mackay": ["sbl", "--updates", "mackay"],
    "convex": ["sbl", "--updates", "convex"],
}


@pytest.mark.parametrize("case", BAYESIAN)
@pytest.mark.parametrize("sigma", [None, 50.0])
@pytest.mark.parametrize("intercept", [True, False])
def test_numbers_are_those_of_the_function(run, case, sigma, intercept):
    method, *more = BAYESIAN[case]
    words = {"price": 1.5}
    if sigma is not None:
        words["sigma"] = sigma
    args = [f"--{word}={value}" for word, value in words.items()]
    args += [] if intercept else ["--no-intercept"]
    out = run("fit", "--example", "diabetes", "--method", method, *more, *args)
    if more:
        words["updates"] = more[-1]
    expected = bayesian(method.replace("-", "_"), intercept, **words)
    chosen = [j for j in expected.support if j < len(NAMES)]
    found, std = coefficients(out), deviations(out)
    assert list(found) == ["(intercept)"] * intercept + [NAMES[j] for j in chosen]
    for j in chosen:
        assert found[NAMES[j]] == pytest.approx(expected.coef[j], abs=6e-3)
        assert std[NAMES[j]] == pytest.approx(expected.std[j], rel=6e-3)
    assert noise_and_evidence(out) == pytest.approx(
        [expected.sigma, expected.log_evidence], rel=1e-4
    )
    assert ("as given" in out) == (sigma is not None)
    rows = section(out, "Path")
    assert int(rows[-1][3]) == len(chosen)
    assert float(rows[-1][-2]) == pytest.approx(expected.residual_norm**2, rel=1e-5)


def test_the_intercept_has_the_deviation_of_a_flat_prior(run):
    """Against the posterior of the model in which the constant is one of the columns."""
    out = run("fit", "--example", "diabetes", "--method", "rmp", "--sigma", 50)
    columns = [NAMES.index(name) for name in BAYESIAN_CHOICE]
    X = np.column_stack([np.ones(len(DIABETES.target)), DIABETES.data[:, columns]])
    gamma = bayesian("rmp", sigma=50.0, price=np.log(10)).gamma[columns]
    covariance = np.linalg.inv(X.T @ X / 50**2 + np.diag([0, *1 / gamma]))
    names = ["(intercept)", *BAYESIAN_CHOICE]
    expected = dict(zip(names, np.sqrt(np.diag(covariance)), strict=True))
    assert deviations(out) == pytest.approx(expected, rel=6e-3)
    mean = covariance @ X.T @ DIABETES.target / 50**2
    assert coefficients(out) == pytest.approx(dict(zip(names, mean, strict=True)), abs=6e-3)


def test_the_start_of_a_path_tells_its_evidence(run):
    """Of the model with nothing but what has a flat prior."""
    n, log_2pi = len(DIABETES.target), np.log(2 * np.pi * 60**2)
    for include in ([], ["age", "s5"]):
        words = ("--method", "rmp", "--sigma", 60, "--include", ",".join(include))
        out = run("fit", "--example", "diabetes", *words)
        squared = least_squares(include)[1]
        expected = -((n - 1 - len(include)) * log_2pi + squared / 60**2) / 2
        assert float(section(out, "Path")[0][-3]) == pytest.approx(expected, abs=0.006)


@pytest.mark.parametrize("method", ["rmp", "fast_sbl", "sbl"])
def test_included_features_of_a_bayesian_model(run, method):
    args = ("--method", method, "--include", "age", "--price", 2)
    out = run("fit", "--example", "diabetes", *args)
    expected = bayesian(method, include=[0], price=2.0)
    if method != "sbl":
        assert section(out, "Path")[0][1:4] == ["start", "age", "1"]
    assert coefficients(out)["age"] == pytest.approx(expected.coef[0], abs=6e-4)
    assert deviations(out)["age"] == pytest.approx(expected.std[0], rel=6e-3)
    assert noise_and_evidence(out) == pytest.approx(
        [expected.sigma, expected.log_evidence], rel=1e-4
    )


def wide_text(n=40, m=90):
    """More features than rows, far from zero and of many sizes; three of them matter."""
    rng = np.random.default_rng(1)
    size = 10.0 ** rng.uniform(-2, 3, m)
    Z = rng.normal(size=(n, m))
    y = 7 + 30 * Z[:, 3] - 20 * Z[:, 50] + 25 * Z[:, 70] + 2 * rng.normal(size=n)
    rows = np.column_stack([Z * size + 1e4, y])
    names = [f"gene_{j}" for j in range(m)]
    lines = [",".join([*names, "y"]), *(",".join(f"{v:.12g}" for v in row) for row in rows)]
    return "\n".join(lines), size


@pytest.mark.parametrize("method", [[], *(["--method", one] for one in ("rmp", "fast-sbl", "sbl"))])
def test_a_wide_table_needs_no_word(run, csv, method):
    text, size = wide_text()
    out = run("fit", csv(text), "--target", "y", *method)
    found, std = coefficients(out), deviations(out)
    assert found.keys() == {"(intercept)", "gene_3", "gene_50", "gene_70"}
    for j, value in {3: 30, 50: -20, 70: 25}.items():
        name = f"gene_{j}"
        assert abs(found[name] - value / size[j]) < 5 * std[name]
    assert number(NOISE, out) == pytest.approx(2, rel=0.3)
    assert max(map(len, out.splitlines())) <= 80


def test_a_single_feature_pays_as_one_of_two(run):
    out = run("fit", "--example", "diabetes", "--features", "bmi", "--method", "rmp")
    assert "each feature had to raise the log evidence by 0.6931 = log 2\n" in out


@pytest.mark.parametrize("method", ["rmp", "fast-sbl", "sbl"])
def test_nothing_to_find(run, csv, method):
    path = csv("a,y\n" + "".join(f"{x * x % 5},{x}\n" for x in range(6)))
    out = run("fit", path, "--target", "y", "--method", method)
    assert coefficients(out) == {"(intercept)": 2.5}
    assert out.startswith("y explained by 0 of 1 feature, R² = 0.0000\n")


def test_dashes_and_underscores_are_one(run):
    for method in ("subspace-pursuit", "subspace_pursuit"):
        out = run("fit", "--example", "diabetes", "--method", method, "--sparsity", 2)
        assert "method subspace_pursuit," in out


@pytest.mark.parametrize(
    ("name", "separator"), [("d.csv", ","), ("d.tsv", "\t"), ("d.txt", "\t"), ("d2.csv", ";")]
)
def test_a_file_gives_what_the_example_gives(run, csv, monkeypatch, name, separator):
    monkeypatch.chdir(csv(diabetes_text(separator), name).parent)
    out = run("fit", name, "--target", "progression")
    assert out.replace(f"{name}:", "diabetes:") == run("fit", "--example", "diabetes")


def test_standard_input(run, pipe_in):
    pipe_in(diabetes_text().encode())
    out = run("fit", "-", "--target", "progression")
    assert coefficients(out).keys() == {"(intercept)", *DEFAULT_CHOICE}
    assert "standard input: 442 rows" in out


def test_windows_files_are_read(run, csv):
    text = diabetes_text().replace("\n", "\r\n")
    out = run("fit", csv(b"\xef\xbb\xbf" + text.encode()), "--target", "progression")
    assert coefficients(out).keys() == {"(intercept)", *DEFAULT_CHOICE}
    assert "10 features" in out


def test_no_intercept(run):
    out = run("fit", "--example", "diabetes", "--no-intercept", "--sparsity", 3)
    found = coefficients(out)
    assert len(found) == 3
    assert found == pytest.approx(least_squares(list(found), intercept=False)[0], rel=1e-3)
    assert "method forward" in out


def test_include_exclude_and_features(run):
    args = (
        "fit",
        "--example",
        "diabetes",
        "--features",
        "age,sex,bmi,s1,s5",
        "--exclude",
        "s5, s1",
    )
    out = run(*args, "--include", "age")
    assert "3 features" in out
    assert "age" in coefficients(out)
    assert not coefficients(out).keys() & {"s1", "s5", "bp"}
    args = (*args, "--method", "rmp")
    assert section(run(*args, "--include", "age"), "Path")[0][1:4] == ["start", "age", "1"]
    assert "age" not in coefficients(run(*args))


def test_another_target(run):
    out = run("fit", "--example", "diabetes", "--target", "s1", "--sparsity", 1)
    assert coefficients(out).keys() == {"(intercept)", "s2"}


def test_residual(run):
    out = run("fit", "--example", "diabetes", "--residual", 1200)
    squared = [float(row[-2]) for row in section(out, "Path")]
    assert squared[-1] <= 1200**2 < squared[-2]
    assert "method forward" in out


# Nothing fits 442 rows exactly: test_cli_l1.py tries bp on a wide table.
@pytest.mark.parametrize("method", sorted(sparsewise.ALGORITHMS.keys() - {"bp"}))
def test_every_algorithm_can_be_chosen(run, method):
    words = inspect.signature(sparsewise.ALGORITHMS[method]).parameters
    values = {"sparsity": 3, "delta": 130, "batch": 2, "penalty": 200}
    args = [f"--{word}={value}" for word, value in values.items() if word in words]
    out = run("fit", "--example", "diabetes", "--method", method, *args)
    assert f"method {method}," in out
    assert "bmi" in coefficients(out)


def test_backward_starts_from_all(run):
    out = run("fit", "--example", "diabetes", "--method", "backward")
    path = section(out, "Path")
    assert path[0][1:5] == ["start", "(10", "features)", "10"]
    assert float(path[0][-2]) == pytest.approx(least_squares(NAMES)[1], rel=1e-5)
    assert coefficients(out).keys() == {"(intercept)", *DEFAULT_CHOICE}


def test_a_long_path_is_shortened(run):
    out = run("fit", "--example", "diabetes", "--method", "mp", "--residual", 1125)
    rows = section(out, "Path")
    assert len(rows) == 1 + FIRST_STEPS + 1 + LAST_STEPS
    assert "more steps)" in out


def test_of_a_long_way_back_the_end_is_shown(run, csv):
    out = run("fit", csv(wide_text()[0]), "--target", "y")
    rows = section(out, "Path")
    assert len(rows) == 1 + FIRST_BACK + 1 + LAST_BACK
    assert rows[-1][1] == "add"
    assert rows[-2][3] == "0"


@pytest.mark.parametrize("method", ["solve", "rmp", "fast-sbl", "sbl", "rmp0"])
@pytest.mark.parametrize("include", [[], ["--include", "a"]])
def test_a_constant_target_is_its_mean(run, csv, method, include):
    # The mean of six times 0.1 is not 0.1 in floating point: no step may be seen in that.
    path = csv("a,b,y\n" + "".join(f"{x},{x * x % 5},0.1\n" for x in range(6)))
    out = run("fit", path, "--target", "y", "--method", method, *include)
    assert coefficients(out) == {"(intercept)": 0.1, **({"a": 0.0} if include else {})}
    assert "constant: the model is its mean" in out
    assert not re.search(r"\b(nan|inf)\b|price", out)
    if method not in ("rmp0", "solve"):
        assert "± std" not in out
        assert "σ = 0: the fit is exact" in out


def test_a_constant_target_with_noise(run, csv):
    path = csv("a,y\n" + "".join(f"{x},3\n" for x in range(4)))
    out = run("fit", path, "--target", "y", "--sigma", 2)
    assert deviations(out) == {"(intercept)": 1.0}
    out = run("fit", path, "--target", "y", "--sigma", 2, "--method", "rmp")
    assert deviations(out) == {"(intercept)": 1.0}
    assert noise_and_evidence(out) == pytest.approx([2, -1.5 * np.log(8 * np.pi)], abs=0.006)
    out = run("fit", csv("a,y\n1,0\n2,0\n4,0\n"), "--target", "y", "--no-intercept")
    assert "nothing: every prediction is 0" in out
    assert "zero: so is the model" in out


def test_a_constant_column_is_never_chosen(run, refuse, csv):
    rows = "".join(f"0.1,{x},{2 * x + (-1) ** x * 0.3}\n" for x in range(6))
    path = csv("c,x,y\n" + rows)
    assert '"c" can\'t be told from the other included features' in refuse(
        "fit", path, "--target", "y", "--include", "c"
    )
    assert coefficients(run("fit", path, "--target", "y")).keys() == {"(intercept)", "x"}
    assert "c" not in coefficients(run("fit", path, "--target", "y", "--delta", 0))


@pytest.mark.parametrize("method", ["solve", "rmp", "fast-sbl", "sbl", "rmp0"])
def test_an_exact_relation(run, csv, method):
    rows = "".join(f"{x},{x * x % 7},{3 * x - 1}\n" for x in range(9))
    out = run("fit", csv("a,b,y\n" + rows), "--target", "y", "--method", method)
    assert coefficients(out) == pytest.approx({"(intercept)": -1, "a": 3})
    assert [float(cell) for cell in section(out, "Path")[-1][-2:]] == [0, 1]
    assert "e-" not in out
    if method not in ("rmp0", "solve"):
        assert "± std" not in out
        assert "σ = 0: the fit is exact" in out


def test_an_intercept_of_zero(run, csv):
    out = run("fit", csv("a,y\n1,1\n2,2\n3,3.5\n4,4\n"), "--target", "y", "--sparsity", 1)
    assert coefficients(out) == {"(intercept)": 0, "a": 1.05}


def test_truth_values_and_blank_lines(run, refuse, csv):
    text = "on,x,y\ntrue,1,5\nFALSE,2,2.1\n\nTrue,3,7\nfalse,4,4.1\ntrue,5,9\nfalse,6,6\n\n"
    assert 'missing values (of 7 rows): "y" 1, "on" 1, "x" 1' in refuse(
        "fit", csv(text), "--target", "y"
    )
    out = run("fit", csv(text), "--target", "y", "--drop-missing")
    assert "6 rows, 2 features" in " ".join(out.split())  # wrapped after a long path
    assert coefficients(out)["on"] == pytest.approx(3.93, abs=0.1)


def test_a_column_without_a_name(run, csv):
    text = ",x,y\n0,1,2\n1,2,4.1\n2,3,5.9\n3,4,8\n4,5,10.1\n"
    out = run("fit", csv(text), "--target", "y", "--exclude", "column_1")
    assert coefficients(out).keys() == {"(intercept)", "x"}


def test_names_cannot_control_the_terminal(run, csv):
    text = '"\x1b[31mred",[bold]b,y\n1,2,3\n2,3,5\n3,5,8.5\n4,4,8\n5,9,14\n'
    out = run("fit", csv(text), "--target", "y", "--sparsity", 2)
    assert "\x1b" not in out
    assert "[bold]b" in out


def test_a_name_with_a_comma(run, csv):
    text = '"a,b",c,y\n1,2,3\n2,3,5\n3,5,8.5\n4,4,8\n5,9,14\n'
    out = run("fit", csv(text), "--target", "y", "--features", '"a,b"', "--sparsity", 1)
    assert "a,b" in coefficients(out)


def test_algorithms(run):
    out = run("algorithms")
    for name in sparsewise.ALGORITHMS:
        assert re.search(rf"^  {name} .*\w", out, re.MULTILINE)
    assert re.search(r"^  forward .* sparsity, residual, delta, *$", out, re.MULTILINE)
    assert re.search(r"^  fista .* penalty\*, debias *$", out, re.MULTILINE)
    assert "there is nothing to tune" in " ".join(out.split())
    assert re.search(r"^  rmp .* sigma, price *$", out, re.MULTILINE)
    assert re.search(r"^  sbl .* sigma, price, updates *$", out, re.MULTILINE)
    assert re.search(r"^  bpdn .* residual, debias *$", out, re.MULTILINE)
    assert max(map(len, out.splitlines())) <= 80


def test_version(capsys):
    with pytest.raises(SystemExit, match="0"):
        cli.main(["--version"])
    assert re.fullmatch(r"sparsewise \d+\.\d+\.\d+\n", capsys.readouterr().out)


def test_no_command_shows_the_help(run):
    assert "sparsewise fit --example diabetes" in run()


def test_a_narrow_encoding_is_no_error(run_in_ascii):
    out = run_in_ascii("fit", "--example", "diabetes")
    assert coefficients(out).keys() == {"(intercept)", *DEFAULT_CHOICE}


# --- bad input ------------------------------------------------------------------------------------

SMALL = "a,b,y\n1,2,3\n2,3,5\n3,5,8\n4,4,8\n5,9,14\n"
BAD_TABLES = {
    "empty": ("", "is empty"),
    "blank": ("\n\n", "is empty"),
    "no rows": ("a,b,y\n", "no rows"),
    "repeated name": ("a,b,a,y\n1,2,3,4\n", 'more than one column called "a"'),
    "no features": ("y\n1\n2\n", "no features"),
    "text": (SMALL + "six,7,8\n", 'column "a" holds text .*"six" in row 6.*--exclude a,'),
    "two text columns": ("a,b c,y\nx,z,1\n", '"a", "b c" hold text: .*--exclude .a,b c.'),
    "text in the target": (SMALL + "1,2,?\n", 'target "y" holds text'),
    "decimal comma": ("a;b;y\n1,5;2;3\n", '"a" holds numbers with a comma .*"1,5".*--decimal ,'),
    "gaps": ("a,b,y\n1,,3\n2,NA,\n3,4,5\n", r'missing values \(of 3 rows\): "y" 1, "b" 2;'),
    "short row": (SMALL + "1\n", '"y" 1, "b" 1'),
    "long row": (SMALL + "1,2,3,4\n", "row 6 .* has 4 cells, but the header has 3"),
    "infinity": ("a,b,y\n1,2,3\n1,-inf,3\n", 'column "b" has a value beyond .* row 2'),
    "too large": ("a,b,y\n1,1e300,3\n", 'column "b" has a value beyond'),
    "other encoding": (b"a,y\n\xff\xe9,1\n", "UTF-8"),
    "no target name": ("a,b\n1,2\n", 'no column "y"'),
    "open quote": ('"a,y\n1,2\n', 'no column "y"'),
    "binary": (b"PK\x03\x04\x00\x00", "is a zip archive"),
    "one row": ("a,b,y\n1,2,3\n", "1 row can't tell a model"),
    "no such target": ("a,b,why\n1,2,3\n", 'no column "y"; did you mean "why"|there are'),
}


@pytest.mark.parametrize("case", BAD_TABLES)
def test_bad_tables(refuse, csv, case):
    text, message = BAD_TABLES[case]
    assert re.search(message, refuse("fit", csv(text), "--target", "y"))


BAD_ARGUMENTS = {
    "no table": ([], "give one table"),
    "two tables": (["x.csv", "--example", "diabetes"], "give one table"),
    "no such file": (["no-such.csv", "--target", "y"], 'no file "no-such.csv"'),
    "a directory": ([".", "--target", "y"], "can't read"),
    "no such example": (["--example", "diabets"], 'did you mean "diabetes"?'),
    "no such option": (["--example", "diabetes", "--colour"], "--colour"),
    "no such method": (["--example", "diabetes", "--method", "formward"], 'mean "forward"?'),
    "no such target": (["--example", "diabetes", "--target", "Progresion"], '"progression"?'),
    "no such feature": (["--example", "diabetes", "--features", "bmj"], 'did you mean "bmi"'),
    "no such include": (["--example", "diabetes", "--include", "BMI"], 'did you mean "bmi"'),
    "no such exclude": (["--example", "diabetes", "--exclude", "xyz"], "there are"),
    "both": (["--example", "diabetes", "--include", "s1", "--exclude", "s1"], '"s1" can\'t be'),
    "target as feature": (["--example", "diabetes", "--features", "progression"], "can't be"),
    "all excluded": (["--example", "diabetes", "--features", "s1", "--exclude", "s1"], "no feat"),
    "not a number": (["--example", "diabetes", "--sparsity", "few"], "few"),
    "negative": (["--example", "diabetes", "--sparsity", "-1"], "sparsity"),
    "nan": (["--example", "diabetes", "--delta", "nan"], "delta"),
    "wrong word": (["--example", "diabetes", "--method", "omp", "--delta", "1"], "--delta; it"),
    "sigma zero": (["--example", "diabetes", "--sigma", "0"], "sigma: must be"),
    "sigma nan": (["--example", "diabetes", "--sigma", "nan"], "sigma: must be"),
    "sigma negative": (["--example", "diabetes", "--sigma", "-2"], "sigma: must be"),
    "sigma text": (["--example", "diabetes", "--sigma", "low"], "low"),
    "price negative": (["--example", "diabetes", "--price", "-1"], "price: must be"),
    "price infinite": (["--example", "diabetes", "--price", "inf"], "price: must be"),
    "no such rule": (
        ["--example", "diabetes", "--updates", "am"],
        'there are "em", "mackay", "convex"',
    ),
    "sigma for rmp0": (["--example", "diabetes", "--delta", "1", "--sigma", "1"], "--sigma; it"),
    "updates for rmp": (
        ["--example", "diabetes", "--method", "rmp", "--updates", "em"],
        "rmp does not take --updates; it takes --sigma, --price",
    ),
    "size for rmp": (
        ["--example", "diabetes", "--method", "fast-sbl", "--sparsity", "2"],
        "fast_sbl does not take --sparsity; it takes --sigma, --price",
    ),
    "penalty for rmp0": (
        ["--example", "diabetes", "--method", "rmp0", "--penalty", "1"],
        "rmp0 does not take --penalty; it takes --delta",
    ),
    "debias for rmp": (
        ["--example", "diabetes", "--method", "rmp", "--debias"],
        "rmp does not take --debias; it takes --sigma, --price",
    ),
    "no such criterion": (["--example", "diabetes", "--criterion", "bicc"], 'did you mean "bic"'),
    "one fold": (["--example", "diabetes", "--cv", "1"], "at least 2, not 1"),
    "more folds than rows": (
        ["--example", "diabetes", "--cv", "443"],
        "--cv asks for more folds than 442 rows; ask for fewer",
    ),
    "folds and criterion": (
        ["--example", "diabetes", "--cv", "5", "--criterion", "bic"],
        "--cv chooses by folds, not by bic",
    ),
    "criterion and size": (
        ["--example", "diabetes", "--criterion", "bic", "--sparsity", "2"],
        "--sparsity, --criterion both say when to stop",
    ),
    "a negative cap": (["--example", "diabetes", "--max-features", "-1"], "at least 0, not -1"),
    "cap and size": (
        ["--example", "diabetes", "--max-features", "2", "--sparsity", "3"],
        "--sparsity, --max-features both say when to stop",
    ),
    "cap for rmp": (
        ["--example", "diabetes", "--method", "rmp", "--max-features", "2"],
        "rmp does not take --max-features; it takes --sigma, --price",
    ),
    "cap below include": (
        ["--example", "diabetes", "--max-features", "1", "--include", "bmi,bp"],
        "--max-features allows 1, but --include names 2: raise it",
    ),
    "criterion for rmp": (
        ["--example", "diabetes", "--method", "rmp", "--criterion", "bic"],
        "rmp does not take --criterion; it takes --sigma, --price",
    ),
    "two noises": (
        ["--example", "diabetes", "--method", "bp-ard", "--sigma", "5", "--residual", "9"],
        "--sigma and --residual both tell the noise",
    ),
    "no folder": (["--example", "diabetes", "--save", "no/such/model.json"], "no such folder"),
    "a folder": (["--example", "diabetes", "--save", "."], "is a folder"),
    "no figure": (["--example", "diabetes", "--plot", "figure.txt"], "ends in .png, .pdf, .svg"),
}


@pytest.mark.parametrize("case", BAD_ARGUMENTS)
def test_bad_arguments(refuse, case):
    args, message = BAD_ARGUMENTS[case]
    assert message in refuse("fit", *args)


def test_a_missing_target_lists_the_columns(refuse, csv):
    assert '"a", "b", "y"' in refuse("fit", csv(SMALL))


def test_dependent_includes_are_named(refuse, csv):
    path = csv("a,b,c,y\n1,2,7,3\n2,4,7,5\n3,6,7,8\n4,8,7,8\n5,10,7,14\n")
    line = refuse("fit", path, "--target", "y", "--include", "a,b", "--sparsity", 2)
    assert '"b" can\'t be told from the other included features' in line
    assert "take out of --include what says nothing new" in line


def test_backward_leaves_dependent_features_out(run, csv):
    """As R does: those that depend on the ones before them."""
    path = csv("a,b,c,d,y\n1,2,7,1,3\n2,4,7,3,5\n3,6,7,1,8\n4,8,7,0,8\n5,10,7,2,14\n")
    out = run("fit", path, "--target", "y", "--method", "backward")
    assert section(out, "Path")[0][1:5] == ["start", "(2", "features)", "2"]
    assert "a" in coefficients(out)


def test_a_wide_table_has_no_price_in_the_bic(refuse, csv):
    path = csv("a,b,c,y\n1,2,3,4\n2,3,5,4\n3,1,7,4.5\n4,5,2,3\n")
    line = refuse("fit", path, "--target", "y", "--method", "rmp0")
    assert "4 rows can't tell the noise of 3 features: give --delta, or use --method rmp" in line


def test_includes_must_leave_rows_for_the_noise(refuse, csv):
    path = csv("a,b,y\n1,2,3\n2,3,5\n3,5,8\n")
    line = refuse("fit", path, "--target", "y", "--include", "a,b")
    assert "3 rows can't tell the noise besides 2 included features and the intercept" in line
    line = refuse("fit", path, "--target", "a", "--include", "y,b", "--no-intercept", "--sigma", 0)
    assert "sigma: must be" in line


def test_bad_input_as_a_process():
    done = run_process("fit", "no-such-file.csv", "--target", "y")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == 'sparsewise: there is no file "no-such-file.csv"\n'


def test_an_unknown_command_is_one_line(refuse):
    assert "fot" in refuse("fot")


# --- when something else goes wrong ---------------------------------------------------------------


def test_an_internal_error_is_one_line(monkeypatch, capsys):
    def broken(args):
        raise RuntimeError("first line\nsecond line")

    monkeypatch.setattr(cli.fit_command, "run", broken)
    assert cli.main(["fit"]) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert err == (
        "sparsewise: internal error (RuntimeError: first line second line); --debug shows where\n"
    )
    for args in (["fit", "--debug"], ["--debug", "fit"]):
        with pytest.raises(RuntimeError):
            cli.main(args)


@POSIX
def test_ctrl_c_is_quiet(tmp_path):
    pipe = tmp_path / "slow.csv"
    os.mkfifo(pipe)
    # A background process may have been started with SIGINT ignored.
    code = (
        "import signal, sys; from sparsewise.cli import main;"
        "signal.signal(signal.SIGINT, signal.default_int_handler);"
        "sys.exit(main(sys.argv[1:]))"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code, "fit", str(pipe), "--target", "y"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    with open(pipe, "w"):  # returns once the command has begun to read
        process.send_signal(signal.SIGINT)
    # Closed by now: a signal that came just before the read would else wait for its end for ever.
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err) == (130, "", "")


@POSIX
def test_a_closed_pipe_is_quiet():
    process = subprocess.Popen(
        [*COMMAND, "fit", "--example", "diabetes"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    process.stdout.close()
    err = process.stderr.read()
    process.stderr.close()
    assert (process.wait(timeout=60), err) == (141, "")


# --- numbers --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "written"),
    [
        ([], []),
        ([0.0, 0.0], ["0", "0"]),
        ([-313.767, 5.7111, 0.8433], ["-313.767", "5.711", "0.843"]),
        ([2621009.12, 1271494.0], ["2621009", "1271494"]),
        ([120.0, 3e-9], ["120.000000", "3.0e-09"]),
        ([65.2, 0.0, 1.5], ["65.200", "0.000", "1.500"]),
        ([1.5e12, 2.0], ["1.5000e+12", "2.0000e+00"]),
        ([1.5e-9], ["1.5000e-09"]),
    ],
)
def test_numerals(values, written):
    assert numerals(values) == written


@pytest.mark.parametrize("include", ["", "age,s5"])
def test_json_has_the_evidence_of_the_text(run, include):
    """At the start, too; and it is said at which σ."""
    args = ("fit", "--example", "diabetes", "--method", "rmp", "--include", include)
    out, path = run(*args), json.loads(run(*args, "--json"))["path"]
    told = [float(row[-3]) for row in section(out, "Path")]
    assert told == pytest.approx([row["log_evidence"] for row in path], abs=0.006)
    assert "the log evidence of every step is that at the final σ" in out
    assert "the log evidence of every step is that at the final σ" in run(
        "path", "--example", "diabetes", "--method", "rmp"
    )
    assert "log evidence" not in run("fit", "--example", "diabetes", "--method", "forward")


def test_stepwise_begins_where_r_does_or_where_it_is_told_to(run, refuse):
    args = ("fit", "--example", "diabetes", "--method", "stepwise")
    for start, size in (("all", 10), ("none", 0), ("bmi,s5", 2)):
        path = json.loads(run(*args, "--start", start, "--json"))["path"]
        assert path[0]["size"] == size
    assert run(*args) == run(*args, "--start", "all")
    assert "Start elsewhere (--start all or --start none) to look" in " ".join(run(*args).split())
    X, y = DIABETES.data, DIABETES.target
    r = StepwiseRegressor("both", start=None).fit(X, y)
    chosen = {DIABETES.feature_names[j] for j in r.get_support(indices=True)}
    assert coefficients(run(*args)).keys() - {"(intercept)"} == chosen
    run("fit", "--example", "diabetes", "--method", "rmp0", "--start", "all")
    run(*args, "--cv", 5)  # on a path, wherever R would begin
    assert "--start belongs to rmp0, stepwise, not to solve" in refuse(
        "fit", "--example", "diabetes", "--start", "bmi"
    )
    assert 'there is no column "bmj"' in refuse(*args, "--start", "bmj")
    assert "can't be begun with and excluded" in refuse(*args, "--start", "bmi", "--exclude", "bmi")
    assert "--start has no say" in refuse(*args, "--start", "all", "--criterion", "loo")


# --- the search -----------------------------------------------------------------------------------


def test_the_search_of_the_command_line_is_that_of_the_estimator(run):
    X, y = DIABETES.data, DIABETES.target
    out = run("fit", "--example", "diabetes", "--effort", 5, "--seed", 3, "--criterion", "aic")
    model = SparseRegressor("aic", effort=5, random_state=3).fit(X, y)
    chosen = [NAMES[j] for j in model.get_support(indices=True)]
    assert list(coefficients(out)) == ["(intercept)", *chosen]
    assert list(coefficients(out).values()) == pytest.approx(
        [model.intercept_, *model.coef_[model.get_support()]], abs=6e-4
    )
    least = run("fit", "--example", "diabetes", "--method", "solve", "--debias")
    assert coefficients(least) == pytest.approx(least_squares(BIC_CHOICE)[0], abs=6e-4)
    assert "std. error" in least


def test_json_of_a_search(run):
    found = json.loads(run("fit", "--example", "diabetes", "--json"))
    assert found["method"] == "solve"
    assert found["criterion"] == "ric"
    assert [one["name"] for one in found["features"]] == BIC_CHOICE
    assert found["path"][-1]["size"] == 6
    scores = [row["score"] for row in found["path"]]
    assert min(scores) == scores[-1]


def test_a_search_takes_no_other_criterion(refuse):
    line = refuse("fit", "--example", "diabetes", "--method", "solve", "--criterion", "loo")
    assert "solve chooses by ric, bic, aic, cv, not by loo" in line
    line = refuse("fit", "--example", "diabetes", "--effort", 2, "--sparsity", 3)
    assert "solve does not take --sparsity" in line
    assert "effort: must be" in refuse("fit", "--example", "diabetes", "--effort", 0)


def test_pure_noise_says_so(run, csv):
    rng = np.random.default_rng(1)
    rows = rng.standard_normal((30, 41)).tolist()
    names = [*(f"a{j}" for j in range(40)), "y"]
    text = "\n".join([",".join(names), *(",".join(map(str, row)) for row in rows)])
    out = " ".join(run("fit", csv(text), "--target", "y").split())
    assert "explained by 0 of 40 features" in out or "by chance" in out
