"""Models on the command line: fitted to any table, saved, used, drawn, and told as JSON."""

import io
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import sparsewise
from sparsewise.cli import main
from sparsewise.engine.log import Log
from sparsewise.errors import InputError
from sparsewise.estimators import for_algorithm
from sparsewise.io.model import LinearModel
from tests.cli import test_fit as test_cli
from tests.cli.test_fit import (
    DEFAULT_CHOICE,
    DIABETES,
    NAMES,
    POSIX,
    coefficients,
    deviations,
    diabetes_text,
    run_process,
    section,
)

run, refuse, csv, pipe_in = test_cli.run, test_cli.refuse, test_cli.csv, test_cli.pipe_in
plain_terminal = test_cli.plain_terminal
FIT = ("fit", "--example", "diabetes")


def shop(n=80, seed=3):
    """Rows of a table with text, gaps, truth values and weights: y tells of size, colour and on."""
    rng = np.random.default_rng(seed)
    rows = []
    for i in range(n):
        size, colour = rng.uniform(1, 5), rng.choice(["red", "green", "blue"])
        on, sort = bool(rng.integers(2)), rng.choice(["m", "f"])
        y = 2 * size + 3 * (colour == "red") - 4 * on + 0.1 * rng.normal()
        gap = "NA" if i % 17 == 5 else repr(size)
        rows.append([gap, colour, on, sort, int(rng.integers(4)), repr(y)])
    return rows


def shop_text(rows, header="size,colour,on,sort,w,y"):
    return "\n".join([header, *(",".join(map(str, row)) for row in rows)]) + "\n"


SHOP = ("--target", "y", "--categorical", "colour,sort", "--drop-missing", "--weights", "w")


def predictions(out):
    return pl.read_csv(io.StringIO(out))


def from_json(out):
    def refuse_constant(name):
        raise AssertionError(f"{name} is not JSON")

    return json.loads(out, parse_constant=refuse_constant)


# --- tables ---------------------------------------------------------------------------------------


def test_text_gaps_and_weights(run, csv):
    rows = shop()
    out = run("fit", csv(shop_text(rows)), *SHOP)
    found = coefficients(out)
    assert found.keys() == {"(intercept)", "size", "colour=red", "on"}
    for name, value in {"size": 2, "colour=red": 3, "on": -4}.items():
        assert abs(found[name] - value) < 5 * deviations(out)[name]
    kept = [row for row in rows if row[0] != "NA"]
    weight = sum(row[4] for row in kept)
    one_line = " ".join(out.split())
    assert f"{len(kept)} rows of weight {weight} by w, 6 features" in one_line
    assert f'{len(rows) - len(kept)} rows of 80 left out for missing values: "size" 5' in one_line


@pytest.mark.parametrize(
    "method", ["rmp", "sbl", "forward", "stepwise", "rmp0", "omp", "bpdn", "bp-ard", "lace", "srr"]
)
def test_weights_are_repetitions(run, csv, method):
    rows = [row for row in shop() if row[0] != "NA"]
    args = ("--target", "y", "--categorical", "colour,sort", "--method", method, "--json")
    weighted = from_json(run("fit", csv(shop_text(rows)), *args, "--weights", "w"))
    repeated = [row for row in rows for _ in range(row[4])]
    expected = from_json(run("fit", csv(shop_text(repeated), "r.csv"), *args, "--exclude", "w"))
    assert weighted["weight"] == expected["rows"] == len(repeated)
    assert weighted["rows"] == len(rows)
    names = [feature["name"] for feature in expected["features"]]
    assert [feature["name"] for feature in weighted["features"]] == names
    for key in ("coef", "std"):
        found, wanted = (
            [feature[key] for feature in one["features"]] for one in (weighted, expected)
        )
        assert found == (wanted if None in wanted else pytest.approx(wanted, rel=1e-6))
    for key in ("intercept", "intercept_std", "r2", "noise", "log_evidence"):
        wanted = expected[key]
        assert weighted[key] == (None if wanted is None else pytest.approx(wanted, rel=1e-6)), key
    assert weighted["criteria"] == pytest.approx(expected["criteria"], rel=1e-6)


def test_parquet(run, tmp_path):
    frame = pl.read_csv(io.StringIO(diabetes_text()))
    frame.write_parquet(tmp_path / "d.parquet")
    out = run("fit", tmp_path / "d.parquet", "--target", "progression")
    assert section(out, "Path") == section(run(*FIT), "Path")


def test_parquet_through_a_pipe(run, pipe_in, tmp_path):
    frame = pl.read_csv(io.StringIO(diabetes_text()))
    frame.write_parquet(tmp_path / "d.parquet")
    pipe_in((tmp_path / "d.parquet").read_bytes())
    out = run("fit", "-", "--target", "progression")
    assert coefficients(out).keys() == {"(intercept)", *DEFAULT_CHOICE}


def test_levels_are_included_and_excluded(run, refuse, csv):
    path = csv(shop_text([row for row in shop() if row[0] != "NA"]))
    args = ("fit", path, "--target", "y", "--categorical", "colour,sort")
    found = coefficients(run(*args, "--include", "colour", "--exclude", "on"))
    assert found.keys() >= {"colour=green", "colour=red"}
    found = coefficients(run(*args, "--exclude", "colour=red"))
    assert "colour=red" not in found
    assert "colour=rad" in refuse(*args, "--exclude", "colour=rad")
    assert '"sort=f"' in refuse(*args, "--include", "sort=f")


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ([], 'columns "colour", "sort" hold text: .*--categorical colour,sort'),
        (
            ["--exclude", "colour,sort"],
            r'missing values \(of 80 rows\): "size" 5; .*--drop-missing',
        ),
        (["--weights", "z"], 'no column "z"'),
        (["--weights", "y"], "can't be the target and the weights"),
        (["--weights", "w", "--features", "w"], "can't be the weights and a feature"),
        (["--categorical", "colr"], 'no column "colr"; did you mean "colour"'),
    ],
)
def test_bad_tables(refuse, csv, args, message):
    assert re.search(message, refuse("fit", csv(shop_text(shop())), "--target", "y", *args))


def test_certify_takes_the_same_tables(run, refuse, csv):
    path = csv(shop_text(shop()))
    out = run("certify", path, *SHOP, "--features", "size,colour=red,on")
    assert out.startswith("size, colour=red, on: certified best subset of 3")
    out = run("certify", path, *SHOP, "--features", "size,colour=blue,on")
    assert "colour=red in place of colour=blue fits best" in " ".join(out.split())
    assert "colour" in refuse("certify", path, "--target", "y", "--features", "size,on")


def test_certify_by_weights(run, csv):
    rows = [row for row in shop() if row[0] != "NA"]
    args = ("--target", "y", "--exclude", "colour,sort", "--features", "size", "--json")
    weighted = from_json(run("certify", csv(shop_text(rows)), *args, "--weights", "w"))
    repeated = shop_text([row for row in rows for _ in range(row[4])])
    args = ("--target", "y", "--exclude", "colour,sort,w", "--features", "size", "--json")
    expected = from_json(run("certify", csv(repeated, "r.csv"), *args))
    assert weighted["status"] == expected["status"]
    for key in ("residual_norm", "r2", "min_abs"):
        assert weighted[key] == pytest.approx(expected[key], rel=1e-9)


# --- criteria -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "criterion", ["ric", "aic", "aicc", "bic", "ebic", "cp", "adjusted_r2", "loo"]
)
@pytest.mark.parametrize("method", ["forward", "backward", "foba", "stepwise"])
def test_criteria_choose_as_the_estimator_does(run, criterion, method):
    direction = "both" if method == "stepwise" else method
    model = sparsewise.StepwiseRegressor(direction, criterion=criterion)
    model.fit(DIABETES.data, DIABETES.target)
    found = from_json(run(*FIT, "--method", method, "--criterion", criterion, "--json"))
    assert [one["name"] for one in found["features"]] == [NAMES[j] for j in model.solution_.support]
    assert found["criterion"] == criterion


def test_a_criterion_means_forward(run):
    assert "method forward," in run(*FIT, "--criterion", "aic")
    assert "method forward," in run(*FIT, "--cv", 5)


def test_a_path_of_at_most_so_many_features(run):
    """`--max-features` caps every path on which a criterion chooses, and means forward."""
    out = run(*FIT, "--max-features", 3)
    assert "method forward," in out
    assert "least RIC of 4 sizes (0 to 3 features) on the forward path" in " ".join(out.split())
    for method in ("forward", "backward", "foba", "stepwise"):
        found = from_json(run(*FIT, "--method", method, "--max-features", 4, "--json"))
        assert len(found["features"]) == max(row["size"] for row in found["path"]) == 4
    found = from_json(
        run("path", "--example", "diabetes", "--cv", 5, "--max-features", 2, "--json")
    )
    assert [row["size"] for row in found["path"]] == [0, 1, 2]


def test_folds(run):
    model = sparsewise.StepwiseRegressor(criterion="cv", cv=7).fit(DIABETES.data, DIABETES.target)
    out = run(*FIT, "--cv", 7)
    names = [NAMES[j] for j in model.solution_.support]
    assert list(coefficients(out)) == ["(intercept)", *names]
    errors = model.cv_errors_
    at = errors.sizes.tolist().index(errors.chosen)
    words = f"choice mean squared error {errors.mean[at]:.5g} ± {errors.std[at]:.3g} in 7 folds"
    assert words in " ".join(out.split())
    assert run(*FIT, "--criterion", "cv", "--cv", 7) == out


def test_methods_without_a_word(run):
    """Nothing is needed, but for the price of a penalty."""
    for method in ("omp", "gomp", "mp", "oblivious", "srr", "ompr", "subspace-pursuit", "lace"):
        model = sparsewise.PursuitRegressor(method.replace("-", "_"))
        model.fit(DIABETES.data, DIABETES.target)
        found = from_json(run(*FIT, "--method", method, "--json"))
        assert [one["name"] for one in found["features"]] == [
            NAMES[j] for j in model.solution_.support
        ]


@pytest.mark.parametrize(
    "words",
    [
        ["--method", "lace", "--delta", 130],
        ["--method", "forward", "--residual", 1200, "--delta", 1],
        ["--method", "backward", "--sparsity", 8, "--delta", 130],
    ],
)
def test_words_together(run, words):
    X, y = DIABETES.data, DIABETES.target
    method, *given = [word for word in words if word != "--method"]
    pairs = {given[i][2:]: given[i + 1] for i in range(0, len(given), 2)}
    expected = sparsewise.ALGORITHMS[method](X - X.mean(axis=0), y - y.mean(), **pairs)
    found = from_json(run(*FIT, *words, "--json"))
    assert [one["name"] for one in found["features"]] == [NAMES[j] for j in expected.support]
    assert [one["coef"] for one in found["features"]] == pytest.approx(
        expected.coef[expected.support].tolist(), rel=1e-8
    )


def test_warnings_become_notes(run, csv):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(12, 30)), rng.normal(size=12)
    text = ",".join([*(f"x{j}" for j in range(30)), "y"]) + "\n"
    text += "\n".join(",".join(f"{v:.17g}" for v in row) for row in np.column_stack([X, y]))
    args = "fit", csv(text), "--target", "y", "--criterion", "aic"
    out = " ".join(run(*args).split())
    assert out.count("was still improving") == 1
    (note,) = from_json(run(*args, "--json"))["notes"]
    assert note.startswith("aic was still improving at 5 features")
    assert not note.endswith(".")
    assert re.search(r"note aic was still \w+ at 5 features", out)
    assert "use --criterion ric, --criterion cv, --method rmp, or --sparsity" in out


# --- JSON -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", sorted(sparsewise.ALGORITHMS.keys() - {"bp"}))
def test_json_of_every_method(run, method):
    words = ["--penalty", 200] if method in ("ista", "fista") else []
    found = from_json(run(*FIT, "--method", method, *words, "--json"))
    assert found["method"] == method
    shown = section(run(*FIT, "--method", method, *words), "Chosen features")
    assert [row[0] for row in shown[1:]] == [one["name"] for one in found["features"]]
    assert [float(row[1]) for row in shown[1:]] == pytest.approx(
        [one["coef"] for one in found["features"]], abs=6e-3
    )
    assert found["path"][0]["action"] == "start"
    assert found["rows"] == 442
    assert 0.4 < found["r2"] < 0.52


def test_json_of_an_exact_fit(run, csv):
    rows = "".join(f"{x},{x * x % 7},{3 * x - 1}\n" for x in range(9))
    for words in ([], ["--criterion", "bic"], ["--method", "bpdn"]):
        found = from_json(run("fit", csv("a,b,y\n" + rows), "--target", "y", *words, "--json"))
        assert [one["name"] for one in found["features"]] == ["a"]
        assert found["r2"] == 1


# --- saved models and predictions -----------------------------------------------------------------


def test_predictions_of_a_process(run, csv, tmp_path):
    path, saved = str(tmp_path / "d.csv"), str(tmp_path / "m.json")
    csv(diabetes_text(), "d.csv")
    run("fit", path, "--target", "progression", "--save", saved)
    found = predictions(run("predict", saved, path, "--std"))
    assert found.columns == ["prediction", "std"]
    model = sparsewise.SparseRegressor().fit(DIABETES.data, DIABETES.target)
    mean, std = model.predict(DIABETES.data, return_std=True)
    np.testing.assert_allclose(found["prediction"], mean, rtol=1e-11)
    np.testing.assert_allclose(found["std"], std, rtol=1e-9)
    piped = run_process("predict", saved, "-", stdin=diabetes_text())
    assert (piped.returncode, piped.stderr) == (0, "")
    assert predictions(piped.stdout)["prediction"].equals(found["prediction"])


@pytest.mark.parametrize("method", sorted(sparsewise.ALGORITHMS.keys() - {"bp"}))
@pytest.mark.parametrize("intercept", [True, False])
def test_every_method_is_saved(run, refuse, csv, tmp_path, method, intercept):
    words = ["--penalty", 200] if method in ("ista", "fista") else []
    words += [] if intercept else ["--no-intercept"]
    saved = tmp_path / "m.json"
    out = run(*FIT, "--method", method, *words, "--save", saved, "--json")
    model, told = LinearModel.load(saved), from_json(out)
    assert model.method == method
    assert model.features == tuple(one["name"] for one in told["features"])
    assert model.coef.tolist() == [one["coef"] for one in told["features"]]
    path = csv(diabetes_text())
    columns = [NAMES.index(name) for name in model.features]
    expected = (told["intercept"] or 0.0) + DIABETES.data[:, columns] @ model.coef
    found = predictions(run("predict", saved, path))
    np.testing.assert_allclose(found["prediction"], expected, rtol=1e-9)
    share = 1 - np.sum((DIABETES.target - expected) ** 2) / np.sum(
        (DIABETES.target - intercept * DIABETES.target.mean()) ** 2
    )
    assert told["r2"] == pytest.approx(share, abs=1e-9)
    if told["intercept_std"] is None and not any(one["std"] for one in told["features"]):
        assert "no standard deviations" in refuse("predict", saved, path, "--std")
    else:
        assert predictions(run("predict", saved, path, "--std"))["std"].min() > 0


@pytest.mark.parametrize("method", ["solve", "forward", "stepwise", "srr"])
def test_a_ridge(run, refuse, csv, tmp_path, method):
    """What the estimator finds; saved, and predicted from."""
    saved, path = tmp_path / "m.json", csv(diabetes_text())
    out = run(*FIT, "--method", method, "--ridge", 0.3, "--save", saved, "--json")
    start = {"start": "full"} if method == "stepwise" else {}
    model = for_algorithm(method, ridge=0.3, **start).fit(DIABETES.data, DIABETES.target)
    chosen = [NAMES[j] for j in np.flatnonzero(model.get_support())]
    assert [one["name"] for one in from_json(out)["features"]] == chosen
    mean, std = model.predict(DIABETES.data, return_std=True)
    found = predictions(run("predict", saved, path, "--std"))
    np.testing.assert_allclose(found["prediction"], mean, rtol=1e-9)
    np.testing.assert_allclose(found["std"], std, rtol=1e-9)
    assert "at least 0" in refuse(*FIT, "--ridge", -1)
    assert "rmp does not take --ridge" in refuse(*FIT, "--method", "rmp", "--ridge", 1)


def test_a_path_with_a_ridge(run):
    out = run("path", "--example", "diabetes", "--ridge", 0.3, "--json")
    told = from_json(out)
    model = sparsewise.StepwiseRegressor(ridge=0.3).fit(DIABETES.data, DIABETES.target)
    assert told["method"] == "forward"
    np.testing.assert_allclose([step["bic"] for step in told["path"]], model.path_["bic"])


def test_predictions_from_text_and_weights(run, csv, tmp_path):
    rows, saved = shop(), tmp_path / "m.json"
    run("fit", csv(shop_text(rows)), *SHOP, "--method", "backward", "--save", saved)
    new = csv("colour,on,extra,size\nred,True,x,2\nblue,False,,3.5\n", "new.csv")
    found = predictions(run("predict", saved, new))["prediction"].to_list()
    assert found == pytest.approx([2 * 2 + 3 - 4, 7], abs=0.2)
    out = tmp_path / "out.csv"
    assert run("predict", saved, new, "--std", "--out", out) == ""
    table = pl.read_csv(out)
    assert table["prediction"].to_list() == found
    assert (table["std"] > 0.05).all()
    facts = LinearModel.load(saved).facts
    assert facts["criterion"] == "ric"
    assert facts["candidates"] == 6


BAD_DATA = {
    "no column": ("on,size\nTrue,2\n", 'lacks a column that the model needs: "colour"'),
    "new level": ("on,size,colour\nTrue,2,pink\n", '"colour" has the level "pink" in row 1'),
    "text": ("on,size,colour\nTrue,big,red\n", '"size" .* holds text .*"big" in row 1'),
    "gap": ("on,size,colour\nTrue,,red\n", r'missing values \(of 1 rows\): "size" 1'),
    "no rows": ("on,size,colour\n", "no rows"),
    "empty": ("", "is empty"),
}


@pytest.mark.parametrize("case", BAD_DATA)
def test_tables_that_a_model_cannot_use(run, refuse, csv, tmp_path, case):
    text, message = BAD_DATA[case]
    run("fit", csv(shop_text(shop())), *SHOP, "--method", "backward", "--save", tmp_path / "m.json")
    assert re.search(message, refuse("predict", tmp_path / "m.json", csv(text, "new.csv")))


def test_models_that_cannot_be_used(run, refuse, csv, tmp_path):
    data, saved = csv(diabetes_text()), tmp_path / "m.json"
    run(*FIT, "--save", saved)
    text = saved.read_text()
    for change, message in [
        (text.replace('"bmi"', '"bmj"'), "changed after it was saved"),
        (text.replace('"version": 1', '"version": 4'), "written by a newer sparsewise"),
        ("{}", "not a model that sparsewise saved"),
        ("a,b\n1,2\n", "not JSON"),
    ]:
        saved.write_text(change)
        assert message in refuse("predict", saved, data)
    assert "no file" in refuse("predict", tmp_path / "no.json", data)
    assert "is a folder" in refuse("predict", saved, data, "--out", tmp_path)
    assert "arguments are required: DATA" in refuse("predict", saved)


def test_a_model_that_cannot_be_saved(refuse, tmp_path):
    assert "is a folder" in refuse(*FIT, "--save", tmp_path)
    assert "is a folder" in refuse(*FIT, "--save", "")


def test_places_that_cannot_be(run, capsys, tmp_path):
    """A name that is too long, or holds a null byte: a sentence, and the model all the same."""
    fitted = run(*FIT)
    for name, reason in (("x" * 300, "File name too long"), ("a\0b", "embedded null byte")):
        for option, end in (("--save", ".json"), ("--plot", ".png")):
            assert main([*FIT, option, str(tmp_path / (name + end))]) == 2
            captured = capsys.readouterr()
            assert captured.out == fitted
            assert captured.err.count("\n") == 1
            assert captured.err.endswith(f"{reason}\n")
    assert not list(tmp_path.glob("*.draft"))


def test_a_table_with_as_many_rows_as_features(run, csv):
    """No row is taken for a column."""
    X = np.random.default_rng(5).normal(size=(6, 6))
    y = 3 * X[:, 1] - 2 * X[:, 4] + [0.1, -0.1, 0.1, 0, 0, -0.1]
    rows = [",".join(map(repr, [*x.tolist(), float(one)])) for x, one in zip(X, y, strict=True)]
    table = csv("\n".join(["a,b,c,d,e,f,y", *rows]))
    found = coefficients(run("fit", table, "--target", "y", "--sparsity", 2))
    assert found.keys() == {"(intercept)", "b", "e"}
    A = np.column_stack([np.ones(6), X[:, [1, 4]]])
    expected = np.linalg.lstsq(A, y, rcond=None)[0]
    np.testing.assert_allclose(list(found.values()), expected, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("power", [140, -140])
def test_units_whose_squares_are_no_numbers(run, refuse, csv, tmp_path, power):
    """The coefficient is 10^(2 power), its variance nothing that could be told."""
    rng = np.random.default_rng(2)
    x, e = rng.normal(size=(2, 12))
    y = (3 * x + 0.1 * e) * 10.0**power
    lines = [f"{one!r}e{-power},{two!r}" for one, two in zip(x.tolist(), y.tolist(), strict=True)]
    table, saved = csv("\n".join(["x,y", *lines])), tmp_path / "model.json"
    words = ("fit", table, "--target", "y", "--method", "forward")
    assert "too large or too small for numbers" in " ".join(run(*words, "--save", saved).split())
    [told] = json.loads(run(*words, "--json"))["features"]
    assert told["std"] is None
    assert told["coef"] == pytest.approx(3 * 10.0 ** (2 * power), rel=0.1)
    predicted = [float(line) for line in run("predict", saved, table).split()[1:]]
    np.testing.assert_allclose(predicted, y, atol=0.5 * 10.0**power)
    assert "covariance of its coefficients is not known" in refuse("predict", saved, table, "--std")


def test_a_path_as_csv_is_safe(run, csv):
    rows = "\n".join(f"{i},{i * i % 7},{2 * i + i * i % 7 / 9}" for i in range(9))
    table = csv(f"=1+1,\x1b[31mred,y\n{rows}\n")
    out = run("path", table, "--target", "y", "--method", "forward", "--csv")
    assert [line.split(",")[2] for line in out.splitlines()[1:]] == ["", "'=1+1", "?[31mred"]


# --- figures --------------------------------------------------------------------------------------


@pytest.mark.parametrize("words", [[], ["--cv", 5], ["--method", "bpdn"], ["--delta", 1e5]])
def test_figures_of_a_fit(run, tmp_path, words):
    path = tmp_path / "figure.png"
    assert run(*FIT, *words, "--plot", path) == run(*FIT, *words)
    assert path.read_bytes().startswith(b"\x89PNG")


def test_figures_of_residuals(run, refuse, tmp_path):
    path = tmp_path / "residuals.png"
    assert run(*FIT, "--plot-residuals", path) == run(*FIT)
    assert path.read_bytes().startswith(b"\x89PNG")
    assert "--plot-residuals needs a file that ends in" in refuse(*FIT, "--plot-residuals", "f.txt")
    assert "--plot-residuals can't write" in refuse(*FIT, "--plot-residuals", "no/such/f.png")


def test_other_formats(run, tmp_path):
    run(*FIT, "--plot", tmp_path / "figure.svg")
    assert "<svg" in (tmp_path / "figure.svg").read_text()


def test_figures_need_matplotlib(refuse, monkeypatch, tmp_path):
    monkeypatch.setitem(test_cli.sys.modules, "matplotlib", None)
    assert "pip install 'sparsewise[plot]'" in refuse(*FIT, "--plot", tmp_path / "f.png")


# --- paths ----------------------------------------------------------------------------------------


def test_a_path_tells_every_criterion(run):
    model = sparsewise.StepwiseRegressor().fit(DIABETES.data, DIABETES.target)
    out = run("path", "--example", "diabetes")
    assert [row[2] for row in section(out, "Path")[1:]] == [
        NAMES[step.column] for step in model.solution_.path
    ]
    rows = section(out, "Criteria")
    frame = model.path_
    assert len(rows) == len(frame["step"]) == 11
    # The eighth has no room beside the others.
    rest = re.search(r"\n\n  step +LOO\n.*\n((?: +\d+ +\S+\n)+)", out)[1].splitlines()
    rows = [[*row, line.split()[1]] for row, line in zip(rows, rest, strict=True)]
    names = ["aic", "aicc", "bic", "ebic", "ric", "cp", "adjusted_r2", "loo"]
    for i, name in enumerate(names, start=1):
        cells = [row[i] for row in rows]
        values = frame[name]
        np.testing.assert_allclose(
            [float(cell.rstrip("*")) for cell in cells], values, rtol=1e-4, atol=1e-4
        )
        best = values.argmax() if name == "adjusted_r2" else values.argmin()
        assert [cell.endswith("*") for cell in cells] == [j == best for j in range(11)], name
    assert "adj. R²     best at step 8, with 8 features" in out
    assert max(map(len, out.splitlines())) <= 80


def test_a_path_as_data(run):
    frame = sparsewise.StepwiseRegressor("backward", criterion="aic")
    frame = frame.fit(pl.DataFrame(DIABETES.data, schema=NAMES), DIABETES.target).path_
    args = ("path", "--example", "diabetes", "--method", "backward", "--criterion", "aic")
    text = pl.read_csv(io.StringIO(run(*args, "--csv")))
    assert text.columns == frame.columns
    assert text["feature"].to_list() == frame["feature"].to_list()
    for name in ("rss", "bic", "loo"):
        np.testing.assert_allclose(text[name], frame[name], rtol=1e-9)
    found = from_json(run(*args, "--json"))
    assert found["method"] == "backward"
    assert [row["feature"] for row in found["path"]] == frame["feature"].to_list()
    assert found["best"]["aic"] == int(frame["aic"].to_numpy().argmin())


def test_a_path_with_folds(run):
    out = run("path", "--example", "diabetes", "--cv", 5)
    assert re.search(r"\n\n  step +LOO +CV\n", out)  # these have no room beside the others
    model = sparsewise.StepwiseRegressor(criterion="cv").fit(DIABETES.data, DIABETES.target)
    best = int(model.cv_errors_.mean.argmin())
    assert f"CV          best at step {best}, with {best} features" in out
    assert "the fewest features within one standard error" in " ".join(out.split())


@pytest.mark.parametrize("method", ["rmp", "omp", "bpdn", "mp", "stepwise"])
def test_paths_of_other_methods(run, tmp_path, method):
    figure = tmp_path / "p.png"
    out = run("path", "--example", "diabetes", "--method", method, "--plot", figure)
    assert ("Criteria" in out) == (method not in ("rmp", "mp"))
    assert ("log evidence" in out) == (method == "rmp")
    assert figure.read_bytes().startswith(b"\x89PNG")


def test_a_long_path_is_whole(run):
    args = ("--example", "diabetes", "--method", "mp", "--residual", 1125)
    rows = section(run("path", *args), "Path")
    assert [row[0] for row in rows] == [str(i) for i in range(len(rows))]
    assert len(rows) > 100


def test_bad_paths(refuse):
    assert "no method" in refuse("path", "--example", "diabetes", "--method", "forwards")
    assert "not allowed with" in refuse("path", "--example", "diabetes", "--csv", "--json")
    assert "folder" in refuse("path", "--example", "diabetes", "--plot", "no/such/f.png")


def test_a_path_of_an_exact_fit(run, csv):
    """Criteria have no bound there."""
    rows = "".join(f"{x},{x * x % 7},{3 * x - 1}\n" for x in range(9))
    path = csv("a,b,y\n" + rows)
    out = run("path", path, "--target", "y")
    assert section(out, "Criteria")[1][1] == "-∞*"
    assert from_json(run("path", path, "--target", "y", "--json"))["path"][1]["aic"] is None


# --- Ctrl-C ---------------------------------------------------------------------------------------


@POSIX
@pytest.mark.parametrize(
    "words", [[], ["--method", "omp", "--sparsity", 9], ["--criterion", "aic"]]
)
def test_ctrl_c_leaves_what_was_done(monkeypatch, capsys, tmp_path, words):
    record, saved = Log.record, tmp_path / "m.json"

    def interrupted(self, *args, **more):
        record(self, *args, **more)
        if not saved.exists():
            os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(Log, "record", interrupted)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        code = test_cli.cli.main([*FIT, *map(str, words), "--save", str(saved)])
    finally:
        signal.signal(signal.SIGINT, before)
    out, err = capsys.readouterr()
    assert (code, err) == (130, "")
    assert "Ctrl-C ended it early" in out
    assert "subset" not in out
    assert LinearModel.load(saved).features == tuple(list(coefficients(out))[1:])


@POSIX
def test_a_reader_who_leaves_does_not_cost_the_model(tmp_path):
    """As ``sparsewise fit … --save MODEL | head -1`` does."""
    path = tmp_path / "model.json"
    command = [sys.executable, "-m", "sparsewise", *FIT, "--save", str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.close()
        complaint = process.stderr.read()
    assert complaint == b""
    assert LinearModel.load(path).features == tuple(DEFAULT_CHOICE)


def test_a_model_that_cant_be_saved_is_shown_all_the_same(capsys, tmp_path, monkeypatch):
    def fail(self, path):
        raise InputError(f"can't write {path}: No space left on device")

    monkeypatch.setattr(LinearModel, "save", fail)
    assert test_cli.cli.main([*FIT, "--save", str(tmp_path / "model.json")]) == 2
    out, err = capsys.readouterr()
    assert "explained by 6 of 10 features" in out
    assert "No space left on device" in err


# --- missing values -------------------------------------------------------------------------------


@pytest.mark.parametrize("options", [(), ("--std",)])
def test_predictions_of_incomplete_rows_are_blank(run, refuse, csv, tmp_path, options):
    saved, rows = tmp_path / "m.json", shop()
    data = csv(shop_text(rows))
    run("fit", data, *SHOP, "--save", saved)
    assert "leave predictions blank with --missing blank" in refuse("predict", saved, data)
    told = run("predict", saved, data, "--missing", "blank", *options).splitlines()[1:]
    assert [line.strip(",") == "" for line in told] == [row[0] == "NA" for row in rows]
    whole = csv(shop_text([row for row in rows if row[0] != "NA"]), "whole.csv")
    expected = run("predict", saved, whole, *options).splitlines()[1:]
    assert [line for line in told if line.strip(",")] == expected


def test_what_is_filled_in_is_saved(run, csv, tmp_path):
    saved, rng = tmp_path / "m.json", np.random.default_rng(1)
    a = rng.integers(3, size=60)
    gaps = np.arange(60) % 3 == 0
    y = np.where(gaps, 9.0, 2.0 * a) + 0.01 * rng.normal(size=60)
    cells = ["" if gap else str(x) for gap, x in zip(gaps, a, strict=True)]
    data = csv(
        "a,b,y\n" + "".join(f"{x},1,{t!r}\n" for x, t in zip(cells, y.tolist(), strict=True))
    )
    page = run("fit", data, "--target", "y", "--impute", "indicator", "--save", saved)
    assert 'missing values filled in: "a" 20' in " ".join(page.split())
    model, median = LinearModel.load(saved), float(np.median(a[~gaps]))
    assert LinearModel.from_json(model.to_json()) == model
    assert model.features == ("a", "a=missing")
    known, unknown = predictions(run("predict", saved, csv(f"a,b\n{median},1\n,1\n", "new.csv")))[
        "prediction"
    ]
    assert unknown - known == pytest.approx(model.coef[1])
    assert unknown == pytest.approx(9.0, abs=0.1)


@pytest.mark.parametrize("lines", [["1,2", ",", "3,4"], ["1,2", "", "3,4", ""], ["1", "", "2"]])
def test_a_prediction_for_each_line(run, refuse, csv, tmp_path, lines):
    saved = tmp_path / "m.json"
    LinearModel("y", ("a",), np.ones(1), 0.0, np.zeros(1), None, None, 3.0).save(saved)
    data = csv("\n".join(["a,b" if "," in lines[0] else "a", *lines]))
    assert 'missing values (of 3 rows): "a" 1' in refuse("predict", saved, data)
    told = run("predict", saved, data, "--missing", "blank").splitlines()
    assert told == ["prediction", f"{lines[0][0]}.0", "", f"{lines[2][0]}.0"]


def test_names_of_targets_are_written_as_all_others_are(run, csv, tmp_path):
    saved, targets = tmp_path / "m.json", ("=1+1", "\x1b[31m\u202ered", "-x", "a,b")
    coef = np.ones((4, 1))
    LinearModel(targets, ("a",), coef, np.zeros(4), np.zeros(1), np.eye(1), np.ones(4), 3.0).save(
        saved
    )
    out = run("predict", saved, csv("a\n1\n"), "--std")
    header = """'=1+1,?[31m?red,'-x,"a,b",std(=1+1),std(?[31m?red),std(-x),"std(a,b)"\n"""
    assert out.startswith(header)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no such device")
@pytest.mark.parametrize("command", [["algorithms"], [*FIT, "--json"], ["predict"]])
def test_an_output_without_room_is_one_sentence(tmp_path, csv, command):
    if command == ["predict"]:
        saved = tmp_path / "m.json"
        LinearModel("y", ("a",), np.ones(1), 0.0, np.zeros(1), None, None, 3.0).save(saved)
        command = ["predict", str(saved), csv("a\n" + "1\n" * 10_000)]
    with open("/dev/full", "wb") as full:
        words = [sys.executable, "-m", "sparsewise", *command]
        done = subprocess.run(words, stdout=full, stderr=subprocess.PIPE, text=True)
    message = "sparsewise: can't write standard output: No space left on device\n"
    assert (done.returncode, done.stderr) == (2, message)
