"""``sparsewise certify``, and what ``sparsewise fit`` says of the subset it chose."""

import json
import re
import subprocess
import sys
from itertools import combinations

import numpy as np
import pytest

import sparsewise
from sparsewise import cli
from sparsewise.errors import InputError
from tests.cli import test_fit as test_cli
from tests.cli.test_fit import DEFAULT_CHOICE, DIABETES, NAMES, SMALL, least_squares

run, refuse, csv = test_cli.run, test_cli.refuse, test_cli.csv
plain_terminal, run_in_ascii = test_cli.plain_terminal, test_cli.run_in_ascii


@pytest.fixture
def verdict(run):
    """Run a command with --json; return its one object, which must hold no NaN or Infinity."""

    def refuse_constant(name):
        raise AssertionError(f"{name} is not JSON")

    def command(*args):
        return json.loads(run("certify", *args, "--json"), parse_constant=refuse_constant)

    return command


def table(names, X, y):
    """Write a CSV file's text, with every name in quotation marks."""
    header = ",".join('"' + name.replace('"', '""') + '"' for name in [*names, "y"])
    rows = [",".join(repr(float(v)) for v in row) for row in np.column_stack([X, y])]
    return "\n".join([header, *rows]) + "\n"


def random_table(n=60, m=6, noise=0.1, names="abcdef"):
    """The first two columns matter."""
    rng = np.random.default_rng(2)
    X = rng.normal(size=(n, m)) + 5
    return table(names, X, 3 * X[:, 0] - 2 * X[:, 1] + noise * rng.normal(size=n))


# The target is a alone.
EXACT = "a,b,c,y\n" + "".join(f"{x},{x * x % 7},{x * x % 5},{3 * x - 1}\n" for x in range(9))


def words(out):
    """The text on one line, for sentences that may be wrapped."""
    return " ".join(out.split())


def best_of(size, intercept=True):
    """The best subset of diabetes by looking at them all."""
    fits = {s: least_squares(s, intercept)[1] for s in combinations(NAMES, size)}
    return min(fits, key=fits.get)


# --- sparsewise fit -------------------------------------------------------------------------------


def subset_line(out):
    return words(re.search(r"^subset (.*?)^(?:stopped|advice)", out, re.MULTILINE | re.DOTALL)[1])


def test_fit_certifies_its_choice(run):
    out = run("fit", "--example", "diabetes")
    assert set(best_of(6)) == set(DEFAULT_CHOICE)
    assert subset_line(out) == "certified best subset of 6 (every other was ruled out)"
    assert out.index("\nnoise ") < out.index("\nsubset ") < out.index("\nstopped ")


@pytest.mark.parametrize("method", ["oblivious", "omp", "srr", "forward"])
@pytest.mark.parametrize("intercept", [True, False])
def test_fit_is_certified_exactly_if_nothing_is_better(run, method, intercept):
    args = [] if intercept else ["--no-intercept"]
    out = run("fit", "--example", "diabetes", "--method", method, "--sparsity", 4, *args)
    is_best = set(best_of(4, intercept)) == test_cli.coefficients(out).keys() - {"(intercept)"}
    assert subset_line(out).startswith("certified" if is_best else "not the best subset of 4: ")


def test_fit_names_what_is_better(run):
    out = run("fit", "--example", "diabetes", "--method", "omp", "--sparsity", 4)
    found = test_cli.coefficients(out).keys() - {"(intercept)"}
    change = re.fullmatch(r"not the .* 4: (\w+) in place of (\w+) fits best", subset_line(out))
    better = {change[1], *found} - {change[2]}
    assert least_squares(better)[1] < least_squares(found)[1]


def test_fit_may_not_know(run, monkeypatch):
    monkeypatch.setattr(cli.table_fit, "SHORT_SEARCH", 0.0)
    line = subset_line(run("fit", "--example", "diabetes"))
    assert re.match(r"not certified: residual is [\d.e+]+× the bound; no exchange of one", line)


def test_fit_of_a_large_table_is_not_certified_by_the_way(run, monkeypatch):
    args = ("fit", "--example", "diabetes", "--method", "rmp0")
    monkeypatch.setattr(cli.table_fit, "MOST_STEPS", 442 * 10**2)
    assert "certified" in subset_line(run(*args))
    monkeypatch.setattr(cli.table_fit, "MOST_STEPS", 442 * 10**2 - 1)
    assert subset_line(run(*args)).startswith("not looked at: sparsewise certify asks")


def test_few_rows_and_many_columns_are_many_steps(run, csv, monkeypatch):
    path = csv(random_table(n=20))
    monkeypatch.setattr(cli.table_fit, "MOST_STEPS", 50 * 6**2)
    assert "certified" in subset_line(run("fit", path, "--target", "y"))
    monkeypatch.setattr(cli.table_fit, "MOST_STEPS", 50 * 6**2 - 1)
    assert "not looked at" in subset_line(run("fit", path, "--target", "y"))


def test_a_failing_certificate_does_not_stop_fit(run, monkeypatch):
    def fail(*args, **words):
        raise InputError("These 5 columns are a riddle.")

    monkeypatch.setattr("sparsewise.results.solution.certify", fail)
    line = subset_line(run("fit", "--example", "diabetes"))
    assert line == "not certified: these 5 columns are a riddle"


def test_an_included_feature_that_adds_nothing(run, csv):
    args = ("--target", "y", "--method", "forward", "--include", "b", "--sparsity", 2)
    line = subset_line(run("fit", csv(EXACT), *args))
    assert line == "certified best subset of 2 of those that contain b"


@pytest.mark.parametrize(
    "text", ["a,y\n0,0\n1,1\n4,2\n4,3\n1,4\n0,5\n", "a,y\n1,3\n2,3\n4,3\n5,3\n"]
)
def test_nothing_is_said_of_an_empty_model(run, csv, text):
    out = run("fit", csv(text), "--target", "y")
    assert "explained by 0 of 1" in out
    assert "subset" not in out


def test_nothing_is_said_where_nothing_is_to_be_explained(run, csv):
    path = csv("a,y\n1,3\n2,3\n4,3\n5,3\n")
    assert "\nsubset " not in run("fit", path, "--target", "y", "--include", "a")


def test_names_in_fit_are_safe_to_print(run, csv):
    path = csv(random_table(names=["\x1b[31mred", "[bold]b", "größe", "d, e", 'f"g', "列"]))
    args = ("fit", path, "--target", "y", "--method", "forward", "--sparsity", 1)
    out = run(*args, "--include", "größe")
    assert subset_line(out) == "certified best subset of 1 of those that contain größe"
    out = run("certify", path, "--target", "y", "--features", "größe")
    assert out.startswith("größe: not the best subset of 1: ?[31mred in place of größe fits best")
    out = run(*args, "--include", "\x1b[31mred")
    assert subset_line(out) == "certified best subset of 1 of those that contain ?[31mred"


def test_fit_is_certified_among_what_includes_its_features(run):
    """Chosen by force: a best subset is one that has it, too."""
    out = run(
        "fit", "--example", "diabetes", "--include", "age", "--sparsity", 4, "--method", "srr"
    )
    found = test_cli.coefficients(out).keys() - {"(intercept)"}
    fits = {s: least_squares(s)[1] for s in combinations(NAMES, 4) if "age" in s}
    verdict = "certified best" if found == {*min(fits, key=fits.get)} else "not the best"
    assert subset_line(out).startswith(f"{verdict} subset of 4 of those that contain age")


# --- verdicts -------------------------------------------------------------------------------------


def test_a_certified_choice(run):
    out = run("certify", "--example", "diabetes", "--features", "s5,bmi,bp")
    lines = out.splitlines()
    assert lines[0] == "bmi, bp, s5: certified best subset of 3 (every other was ruled out)"
    squared = least_squares(["bmi", "bp", "s5"])[1]
    total = np.sum((DIABETES.target - DIABETES.target.mean()) ** 2)
    choices = test_cli.section(out, "Fit")
    assert choices == [
        ["yours", "bmi,", "bp,", "s5", f"{squared:.0f}", f"{1 - squared / total:.4f}"]
    ]
    for text in ("residual (norm)", "certain below", "the singular values of A", "by search:"):
        assert text in out
    assert "442 rows, 10 candidates to explain progression" in out
    assert "no exchange of one feature for another fits better" in out
    assert max(map(len, lines)) <= 80
    assert not any(line.endswith(" ") for line in lines)


def test_a_beaten_choice(run):
    out = run("certify", "--example", "diabetes", "--features", "sex,bmi,bp,s1,s5")
    assert out.startswith(
        "sex, bmi, bp, s1, s5: not the best subset of 5: s3 in place of s1 fits best\n"
    )
    yours, better = (least_squares(f"sex bmi bp {s} s5".split())[1] for s in ("s1", "s3"))
    rows = test_cli.section(out, "Fit")
    assert [row[0] for row in rows] == ["yours", "better"]
    assert rows[1][1:6] == ["sex,", "bmi,", "bp,", "s3,", "s5"]
    assert [float(row[-2]) for row in rows] == pytest.approx([yours, better], abs=0.6)
    assert float(rows[1][-1]) > float(rows[0][-1])
    fall = re.search(r"s3 in place of s1 lowers the squared residual by (\d+) and", words(out))
    assert float(fall[1]) == pytest.approx(yours - better, abs=0.6)


def test_an_open_verdict(run, verdict):
    args = ("--example", "diabetes", "--features", "bmi,bp,s5", "--time-limit", 0)
    out = run("certify", *args)
    assert re.match(r"bmi, bp, s5: not certified: residual is [\d.]+× the bound; no exch", out)
    assert "none: --time-limit SECONDS allows an exact search" in out
    found = verdict(*args)
    assert (found["status"], found["proof"], found["better"]) == ("unknown", None, None)
    assert found["swap_optimal"] is True
    assert found["margin"] == pytest.approx(found["bound"] / found["residual_norm"])


def test_certified_by_the_bound(run, csv, verdict):
    path = csv(random_table())
    out = run("certify", path, "--target", "y", "--features", "a,b", "--time-limit", 0)
    assert out.startswith("a, b: certified best subset of 2\n")
    assert "by the bound: no other choice" in out
    found = verdict(path, "--target", "y", "--features", "a,b")
    assert (found["status"], found["proof"]) == ("optimal", "bound")
    assert found["residual_norm"] < found["bound"]


@pytest.mark.parametrize("size", [1, 2, 9])
def test_a_choice_is_certified_exactly_if_nothing_is_better(verdict, size):
    best = best_of(size)
    for choice in [*list(combinations(NAMES, size))[::2], best]:
        found = verdict("--example", "diabetes", "--features", ",".join(choice))
        assert found["status"] == ("optimal" if choice == best else "beaten")
        if choice != best:
            assert found["better_r2"] > found["r2"]
            assert least_squares(found["better"])[1] < least_squares(choice)[1]


def test_without_an_intercept(run, verdict):
    best = ",".join(best_of(2, intercept=False))
    args = ("--example", "diabetes", "--no-intercept", "--features")
    found = verdict(*args, best)
    assert (found["status"], found["intercept"]) == ("optimal", False)
    squared = least_squares(best.split(","), intercept=False)[1]
    assert found["r2"] == pytest.approx(1 - squared / np.sum(DIABETES.target**2))
    assert "R² compares with 0" in run("certify", *args, best)


def test_included_features_are_no_matter_of_choice(run, verdict, refuse):
    args = ("--example", "diabetes", "--features", "age,bmi,s5")
    assert verdict(*args)["better"] == ["bmi", "bp", "s5"]
    found = verdict(*args, "--include", "age")
    fits = {s: least_squares(s)[1] for s in combinations(NAMES, 3) if "age" in s}
    best = min(fits, key=fits.get)
    assert found["better"] == (None if best == ("age", "bmi", "s5") else list(best))
    assert (found["include"], "age" in found["features"]) == (["age"], True)
    assert "best subset of 3 of those that contain age" in found["sentence"]
    line = refuse("certify", *args, "--include", "sex,bmi")
    assert '--include names "sex", but --features does not' in line


def test_equal_columns_are_told(run, csv, verdict):
    X = np.random.default_rng(5).normal(size=(30, 3))
    y = X @ [2.0, 1.0, 0.1] + 0.1 * X[::-1, 0]
    args = (csv(table("abcd", X[:, [0, 1, 2, 0]], y)), "--target", "y", "--features", "a,b")
    out = words(run("certify", *args))
    told = "no other fits better; these fit as well: d in place of a"
    assert out.startswith(f"a, b: certified best subset of 2: {told}")
    assert "by search: no other subset of this size fits better" in out
    assert "(b, d)" in out
    assert verdict(*args)["ties"] == [["b", "d"]]


def test_excluded_columns_are_no_candidates(verdict):
    args = ("--example", "diabetes", "--features", "sex,bmi,bp,s1,s5")
    assert verdict(*args)["better"] == ["sex", "bmi", "bp", "s3", "s5"]
    found = verdict(*args, "--exclude", "s3,s2")
    assert found["candidates"] == 8
    assert not {"s2", "s3"} & set(found["better"] or [])


def test_a_pair_that_beats_a_pair(run, csv, verdict):
    """No exchange of one feature helps; one of two does, which only the search finds."""
    rng = np.random.default_rng(15)
    X, y = rng.integers(-9, 10, size=(7, 6)), rng.integers(-9, 10, size=7)
    args = (csv(table("abcdef", X, y)), "--target", "y", "--features", "a,d")
    out = run("certify", *args)
    assert out.startswith("a, d: not the best subset of 2: c, f in place of a, d fits best\n")
    assert "found by the exact search" in out
    assert "no exchange of one feature for another fits better" in out
    found = verdict(*args)
    assert (found["better"], found["swap"], found["swap_optimal"]) == (["c", "f"], None, True)
    assert found["better_r2"] > found["r2"]
    assert verdict(*args, "--time-limit", 0)["status"] == "unknown"


def test_all_columns(run, verdict):
    args = ("--example", "diabetes", "--features", ",".join(NAMES))
    out = run("certify", *args)
    assert out.startswith("age, sex, bmi, bp, s1, s2, s3, s4 and 2 more: certified best subset")
    assert "there are no other columns" in out
    assert not re.search(r"\b(inf|nan)\b", out)
    found = verdict(*args)
    assert (found["status"], found["bound"], found["margin"]) == ("optimal", None, None)
    assert found["features"] == NAMES


def test_one_feature_needs_no_bound(run):
    out = run("certify", "--example", "diabetes", "--features", "bmi", "--time-limit", 0)
    assert out.startswith("bmi: certified best subset of 1\n")
    assert "every exchange was looked at" in out
    assert not re.search(r"\b(inf|nan)\b", out)


def test_a_feature_that_adds_nothing(run, csv, verdict):
    args = (csv(EXACT), "--target", "y", "--features")
    assert verdict(*args, "a")["status"] == "optimal"
    # What rounding leaves of the residual is not shown.
    assert test_cli.section(run("certify", *args, "a"), "Fit") == [["yours", "a", "0", "1.0000"]]
    out = run("certify", *args, "a,b")
    assert out.startswith("a, b: not certified: fewer of these columns fit as well\n")
    assert "leave out what adds nothing" in out
    assert verdict(*args, "a,b")["swap_optimal"] is None


def test_a_wide_table(run, csv, verdict):
    rng = np.random.default_rng(4)
    X = rng.normal(size=(50, 201))
    names = [f"a gene with a long name {j}" for j in range(201)]
    path = csv(table(names, X, 2 * X[:, 3] - X[:, 70] + X[:, 9] + 0.3 * rng.normal(size=50)))
    args = (path, "--target", "y", "--features", ",".join(names[j] for j in (3, 9, 70)))
    out = run("certify", *args)
    assert "not certified: " in out
    assert "none: the exact search takes at most 200 candidates" in out
    assert max(map(len, out.splitlines())) <= 80
    assert verdict(*args)["candidates"] == 201


def test_the_search_may_run_out_of_time(run, monkeypatch):
    monkeypatch.setattr(
        "sparsewise.subsets.leaps_and_bounds.Search.run", lambda self, seconds: False
    )
    out = run("certify", "--example", "diabetes", "--features", "bmi,bp,s5", "--time-limit", 2.5)
    assert "none in 2.5 s of exact search: --time-limit SECONDS allows more" in words(out)


def test_a_name_given_twice_counts_once(verdict):
    found = verdict("--example", "diabetes", "--features", "bmi, bmi,s5")
    assert found["features"] == ["bmi", "s5"]


@pytest.mark.parametrize("unit", ["e-250", "e-170", "e-120", "e140"])
def test_the_unit_does_not_matter(run, csv, verdict, unit):
    lines = random_table().splitlines()
    scaled = [",".join(cell + unit for cell in line.split(",")) for line in lines[1:]]
    args = (csv("\n".join([lines[0], *scaled])), "--target", "y", "--features")
    assert verdict(*args, "a,b")["status"] == "optimal"
    assert verdict(*args, "a,c")["better"] == ["a", "b"]
    assert not re.search(r"\b(inf|nan)\b", run("certify", *args, "a,c"))


# --- names, JSON, help ----------------------------------------------------------------------------

ODD_NAMES = ["temp, outside", "größe µ", "列", 'x"y', "\x1b[31mred", "[bold]f"]


def test_odd_names(run, csv, verdict):
    path = csv(random_table(names=ODD_NAMES))
    args = (path, "--target", "y", "--features", '"temp, outside", größe µ')
    assert run("certify", *args).startswith("temp, outside, größe µ: certified best subset of 2\n")
    assert verdict(*args)["features"] == ODD_NAMES[:2]
    out = run("certify", path, "--target", "y", "--features", "列,[bold]f,\x1b[31mred")
    assert "\x1b" not in out
    assert "[bold]f" in out
    assert verdict(path, "--target", "y", "--features", '\x1b[31mred,"x""y"')["features"] == [
        'x"y',
        "\x1b[31mred",
    ]


def test_json_holds_what_the_function_finds(verdict):
    choice = ["sex", "bmi", "bp", "s1", "s5"]
    found = verdict("--example", "diabetes", "--features", ",".join(choice))
    X, y = DIABETES.data - DIABETES.data.mean(axis=0), DIABETES.target - DIABETES.target.mean()
    columns = [NAMES.index(name) for name in choice]
    expected = sparsewise.certify(X, y, columns, swaps=True, time_limit=10)
    for field in ("status", "exchanged", "source", "proof", "swap_optimal"):
        assert found[field] == getattr(expected, field)
    for field in ("residual_norm", "bound", "margin", "singular_value", "min_abs"):
        assert found[field] == pytest.approx(getattr(expected, field), rel=1e-9)
    assert found["sentence"] == expected.sentence(NAMES)
    assert found["better"] == [NAMES[j] for j in expected.better]
    swap = found["swap"]
    assert (swap["out"], swap["into"]) == ("s1", "s3")
    assert swap["fall"] == pytest.approx(expected.swap.fall)
    rise = swap["fall"] / np.sum(y**2)
    assert found["better_r2"] - found["r2"] == pytest.approx(rise)
    shape = (found["rows"], found["candidates"], found["table"], found["target"])
    assert shape == (442, 10, "diabetes", "progression")


def test_json_as_a_process_in_a_narrow_encoding(csv, monkeypatch):
    monkeypatch.setenv("PYTHONIOENCODING", "ascii")
    path = str(csv(random_table(names=ODD_NAMES)))
    command = [sys.executable, "-m", "sparsewise", "certify", "-", "--target", "y", "--json"]
    with open(path, "rb") as file:
        done = subprocess.run(
            [*command, "--features", "列,größe µ"], stdin=file, capture_output=True, timeout=120
        )
    assert (done.returncode, done.stderr) == (0, b"")
    found = json.loads(done.stdout.decode("ascii"))
    assert found["features"] == ["größe µ", "列"]
    assert found["swap"]["into"] == "temp, outside"
    assert found["table"] == "standard input"


def test_a_table_in_a_narrow_encoding(run_in_ascii):
    out = run_in_ascii("certify", "--example", "diabetes", "--features", "bmi,bp,s4")
    assert out.startswith("bmi, bp, s4: not the best subset of 3")


def test_help_mentions_it(run, capsys):
    assert re.search(r"^    certify +tell whether a choice", run(), re.MULTILINE)
    with pytest.raises(SystemExit, match="0"):
        cli.main(["certify", "--help"])
    out = capsys.readouterr().out
    for option in (
        "--features",
        "--include",
        "--exclude",
        "--no-intercept",
        "--time-limit",
        "--json",
    ):
        assert option in out
    assert f"at most {sparsewise.subsets.leaps_and_bounds.MOST_COLUMNS} candidates" in words(out)


# --- bad input ------------------------------------------------------------------------------------

EXAMPLE = ["--example", "diabetes"]
BAD_ARGUMENTS = {
    "no table": (["--features", "a"], "give one table"),
    "two tables": (["x.csv", *EXAMPLE, "--features", "bmi"], "give one table"),
    "no such file": (["no-such.csv", "--features", "a"], 'no file "no-such.csv"'),
    "no features": (EXAMPLE, '--features is needed: the choice to certify, of "age", '),
    "empty features": ([*EXAMPLE, "--features", " , "], "--features is needed"),
    "no such feature": ([*EXAMPLE, "--features", "bmi,bpp"], 'mean "bp"'),
    "another case": ([*EXAMPLE, "--features", "BMI"], 'did you mean "bmi"?'),
    "target": ([*EXAMPLE, "--features", "bmi,progression"], "the target and a feature at once"),
    "other target": ([*EXAMPLE, "--features", "s1", "--target", "s1"], '"s1" can\'t be the target'),
    "no such target": ([*EXAMPLE, "--features", "s1", "--target", "y"], 'no column "y"'),
    "excluded": ([*EXAMPLE, "--features", "s1,s2", "--exclude", "s2"], '"s2" can\'t be certified'),
    "no such exclude": ([*EXAMPLE, "--features", "s1", "--exclude", "q"], 'no column "q"'),
    "negative time": ([*EXAMPLE, "--features", "s1", "--time-limit", "-1"], "at least 0 seconds"),
    "no time": ([*EXAMPLE, "--features", "s1", "--time-limit", "nan"], "at least 0 seconds"),
    "not a time": ([*EXAMPLE, "--features", "s1", "--time-limit", "long"], "long"),
    "a word of fit": ([*EXAMPLE, "--features", "s1", "--sparsity", "2"], "--sparsity"),
}


@pytest.mark.parametrize("case", BAD_ARGUMENTS)
def test_bad_arguments(refuse, case):
    args, message = BAD_ARGUMENTS[case]
    assert message in refuse("certify", *args)
    assert message in refuse("certify", *args, "--json")


BAD_CHOICES = {
    "constant": ("a,b,y\n1,0.1,3\n2,0.1,5\n4,0.1,6\n", '"b" is constant: leave it out'),
    "both constant": ("a,b,y\n3,1,3\n3,1,5\n3,1,6\n", '"a", "b" are constant: leave them out'),
    "multiple": ("a,b,y\n1,2,3\n2,4,5\n4,8,6\n3,6,1\n", '"b" depends linearly on the other'),
    "shifted": ("a,b,y\n1,7,3\n2,8,5\n4,10,6\n3,9,1\n", '"b" depends linearly on the other'),
    "too few rows": ("a,b,y\n1,2,3\n2,3,5\n", "2 rows can't tell 2 features and the intercept"),
    "one row": ("a,b,y\n1,2,3\n", "1 row can't tell"),
    "constant target": ("a,b,y\n1,2,3\n2,3,3\n5,1,3\n7,3,3\n", 'target "y" is constant'),
    "text elsewhere": ("a,b,c,y\n1,2,x,3\n2,3,z,3\n", 'column "c" holds text .*--exclude c,'),
    "gap elsewhere": ("a,b,c,y\n1,2,,3\n2,3,1,3\n", 'missing values .*"c" 1'),
    "no rows": ("a,b,y\n", "no rows"),
    "empty": ("", "is empty"),
    "no such column": ("a,c,y\n1,2,3\n", 'no column "b"'),
}


@pytest.mark.parametrize("case", BAD_CHOICES)
def test_bad_choices(refuse, csv, case):
    text, message = BAD_CHOICES[case]
    assert re.search(message, refuse("certify", csv(text), "--target", "y", "--features", "a,b"))


def test_bad_choices_without_an_intercept(run, refuse, csv):
    shifted = csv("a,b,y\n1,7,3\n2,8,5\n4,10,6\n3,9,1\n")
    args = ("certify", shifted, "--target", "y", "--features", "a,b", "--no-intercept")
    assert run(*args).startswith("a, b: certified best subset of 2\n")
    args = (*args[:1], csv("a,b,y\n1,0,3\n2,0,3\n"), *args[2:])
    assert '"b" is zero: leave it out' in refuse(*args)
    args = (*args[:1], csv("a,b,y\n1,4,3\n"), *args[2:])
    assert "1 row can't tell a model: more are needed" in refuse(*args)
    args = (*args[:1], csv("a,b,c,y\n1,4,2,3\n2,1,1,1\n"), *args[2:5], "a,b,c", *args[6:])
    assert "2 rows can't tell 3 features apart" in refuse(*args)


def test_two_dependent_features_are_named(refuse, csv):
    path = csv("a,b,c,d,y\n1,2,3,1,4\n2,3,5,2,4\n3,1,4,3,4.5\n4,5,9,4,3\n5,5,10,5,2\n")
    line = refuse("certify", path, "--target", "y", "--features", "a,b,c,d")
    assert '"c", "d" depend linearly' in line
    assert "leave them out" in line


def test_debug_shows_where(csv):
    with pytest.raises(cli.InputError):
        cli.main(["certify", str(csv(SMALL)), "--target", "y", "--debug"])


def test_a_feature_that_is_none(refuse):
    line = refuse("certify", "--example", "diabetes", "--features", "bmj")
    assert line == 'sparsewise: there is no column "bmj"; did you mean "bmi"?\n'
