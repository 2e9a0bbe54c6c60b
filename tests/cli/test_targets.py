"""Several targets on the command line: one choice of features, and columns for each."""

import io
import json

import numpy as np
import polars as pl
import pytest

from sparsewise import SparseRegressor, StepwiseRegressor, certify
from sparsewise.algorithms import ALGORITHMS
from sparsewise.io.model import LinearModel
from sparsewise.io.tables import open_table, select
from tests.cli import test_fit as test_cli

run, refuse, plain_terminal = test_cli.run, test_cli.refuse, test_cli.plain_terminal

FEATURES = ["sun", "rain", "wind", "soil", "age", "slope"]
TARGETS = ["yield", "sugar, %", "price"]
THREE = 'yield,"sugar, %",price'


@pytest.fixture(scope="module")
def table():
    """Targets of sizes apart by decades, which share sun, rain and soil."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(120, 6))
    B = np.zeros((6, 3))
    B[[0, 1, 3]] = [[2.0, -0.8, 0.0], [-1.5, 0.0, 200.0], [0.0, 0.5, 90.0]]
    Y = [3, 12, 1000] + X @ B + rng.normal(size=(120, 3)) * [0.3, 0.2, 40]
    return X, Y


@pytest.fixture
def crop(table, tmp_path):
    path = tmp_path / "crop.csv"
    pl.DataFrame(np.hstack(table), schema=FEATURES + TARGETS).write_csv(path)
    return path


def json_of(run, *args):
    return json.loads(run(*args, "--json"))


def test_one_choice_of_features_for_all(run, crop, table):
    out = run("fit", crop, "--target", THREE)
    assert out.startswith("yield, sugar, %, price explained by 3 of 6 features, mean R² =")
    model = SparseRegressor(certify=1.0).fit(*table)
    fit = json_of(run, "fit", crop, "--target", THREE)
    assert fit["target"] == TARGETS
    assert [one["name"] for one in fit["features"]] == ["sun", "rain", "soil"]
    coef = np.array([one["coef"] for one in fit["features"]])
    np.testing.assert_allclose(coef, model.coef_[:, [0, 1, 3]].T)
    np.testing.assert_allclose(fit["intercept"], model.intercept_)
    assert [one["name"] for one in fit["targets"]] == TARGETS
    np.testing.assert_allclose([one["noise"] for one in fit["targets"]], model.noise_)


@pytest.mark.parametrize("order", ["yield,price", "price,yield"])
def test_targets_are_no_features_and_stand_as_given(run, crop, order):
    fit = json_of(run, "fit", crop, "--target", order, "--exclude", '"sugar, %"')
    assert fit["target"] == order.split(",")
    assert fit["candidates"] == 6
    assert [one["name"] for one in fit["targets"]] == order.split(",")


def test_a_column_that_is_called_with_a_comma(run, refuse, crop):
    assert json_of(run, "fit", crop, "--target", "sugar, %")["target"] == "sugar, %"
    assert json_of(run, "fit", crop, "--target", '"sugar, %"')["target"] == "sugar, %"
    assert 'no column "sugar"' in refuse("fit", crop, "--target", "sugar, %,yield")


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["--target", "yield,yield"], '--target names "yield" more than once'),
        (["--target", "yield,prise"], 'there is no column "prise"; did you mean "price"?'),
        (
            ["--target", "yield,price", "--features", "sun,price"],
            '"price" can\'t be the target and a',
        ),
        (
            ["--target", "yield,price", "--include", "price"],
            '"price" can\'t be the target and a feat',
        ),
        (["--target", "yield,price", "--weights", "price"], "can't be the target and the weights"),
        (
            ["--target", "yield,price", "--fold-column", "price"],
            "can't be the target and the folds",
        ),
    ],
)
def test_bad_targets(refuse, crop, words, line):
    assert line in refuse("fit", crop, *words)
    assert line in refuse("path", crop, *words)


ALONE = [name for name, one in ALGORITHMS.items() if not one.multi_target]


@pytest.mark.parametrize("method", ALONE)
def test_methods_of_one_target_say_so(refuse, crop, method):
    needed = ("--penalty", "1") if "penalty" in ALGORITHMS[method].required else ()
    line = refuse("fit", crop, "--target", "yield,price", "--method", method, *needed)
    assert f"--target names 2 columns, but method {method} takes one; fit them one by one" in line


def test_options_that_mean_such_a_method_say_so(refuse, crop):
    line = refuse("fit", crop, "--target", "yield,price", "--penalty", "1")
    assert "takes one" in line


@pytest.mark.parametrize("method", [name for name, one in ALGORITHMS.items() if one.multi_target])
def test_every_other_method_takes_them(run, crop, method, tmp_path):
    words = ("--target", THREE, "--method", method, "--save", tmp_path / "model")
    fit = json_of(run, "fit", crop, *words)
    assert {"sun", "rain", "soil"} <= {one["name"] for one in fit["features"]}
    assert LinearModel.load(tmp_path / "model").target == tuple(TARGETS)


@pytest.mark.parametrize("std", [False, True])
def test_predictions_have_a_column_for_each(run, crop, table, tmp_path, std):
    model = tmp_path / "model"
    run("fit", crop, "--target", THREE, "--criterion", "bic", "--save", model)
    words = ("--std",) if std else ()
    out = run("predict", model, crop, *words)
    found = pl.read_csv(io.StringIO(out))
    assert found.columns == TARGETS + [f"std({name})" for name in TARGETS] * std
    known = StepwiseRegressor(criterion="bic").fit(*table)
    expected = known.predict(table[0], return_std=True)
    np.testing.assert_allclose(found.to_numpy()[:, :3], expected[0])
    if std:
        np.testing.assert_allclose(found.to_numpy()[:, 3:], expected[1])
    assert run("predict", model, crop, *words, "--out", tmp_path / "out.csv") == ""
    assert (tmp_path / "out.csv").read_text() == out


def test_names_beyond_ascii_are_written(run, tmp_path):
    rng = np.random.default_rng(0)
    frame = pl.DataFrame({"x": rng.normal(size=30)}).with_columns(
        (2 * pl.col("x")).alias("größe"), (1 - pl.col("x")).alias("ὕψος")
    )
    frame.write_csv(tmp_path / "t.csv")
    run("fit", tmp_path / "t.csv", "--target", "größe,ὕψος", "--save", tmp_path / "model")
    run("predict", tmp_path / "model", tmp_path / "t.csv", "--out", tmp_path / "out.csv")
    found = pl.read_csv(tmp_path / "out.csv")
    assert found.columns == ["größe", "ὕψος"]
    np.testing.assert_allclose(found.to_numpy(), frame[:, 1:].to_numpy(), atol=1e-12)


def test_certify_counts_all_targets(run, crop):
    words = ("certify", crop, "--target", THREE, "--features", "sun,rain,soil")
    out = " ".join(run(*words).split())
    assert out.startswith("sun, rain, soil: certified best subset of 3")
    assert "6 candidates to explain yield, sugar, %, price" in out
    assert "targets 3, with the same features; each counts by its norm about its mean" in out
    beaten = json_of(run, *words[:-1], "sun,rain,wind")
    assert beaten["target"] == TARGETS
    assert beaten["better"] == ["sun", "rain", "soil"]
    # R² is the mean over targets.
    data = select(open_table([str(crop)]), target=TARGETS)
    X, Y = (values - values.mean(axis=0) for values in (data.X, data.y))
    for columns, share in (([0, 1, 2], "r2"), ([0, 1, 3], "better_r2")):
        rest = Y - X[:, columns] @ np.linalg.lstsq(X[:, columns], Y, rcond=None)[0]
        assert beaten[share] == pytest.approx(1 - ((rest**2).sum(0) / (Y**2).sum(0)).mean())
    assert certify(X, Y, [0, 1, 2]).residual_norm == pytest.approx(beaten["residual_norm"])


def test_constant_targets(run, refuse, tmp_path):
    text = "x,z,a,b,c\n" + "".join(f"{x},{x * x % 5},1,2,{3 * x + x % 2}\n" for x in range(9))
    (tmp_path / "t.csv").write_text(text)
    words = ("certify", tmp_path / "t.csv", "--features", "x")
    line = refuse(*words, "--target", "a,b")
    assert 'the targets "a", "b" are constant: any choice explains them' in line
    some = ("--exclude", "b", "--target", "a,c")
    assert json_of(run, *words, *some)["status"] == "optimal"
    fit = json_of(run, "fit", tmp_path / "t.csv", *some)
    assert [one["name"] for one in fit["features"]] == ["x"]
    assert fit["features"][0]["coef"][0] == 0


def test_paths(run, crop, tmp_path):
    path = json_of(run, "path", crop, "--target", THREE)
    assert path["target"] == TARGETS
    assert {row["feature"] for row in path["path"][1:4]} == {"rain", "sun", "soil"}
    assert path["best"]["bic"] == 3
    out = run("path", crop, "--target", THREE, "--plot", tmp_path / "path.png")
    assert out.startswith("yield, sugar, %, price explained step by step: method forward")
    assert (tmp_path / "path.png").stat().st_size > 10_000
    assert run("path", crop, "--target", THREE, "--csv").startswith("step,action,feature,size,rss")


def test_figures(run, crop, tmp_path):
    run("fit", crop, "--target", THREE, "--plot", tmp_path / "fit.png")
    assert (tmp_path / "fit.png").stat().st_size > 10_000


def test_the_help_tells_of_them(capsys):
    from sparsewise import cli

    with pytest.raises(SystemExit):
        cli.main(["fit", "--help"])
    assert "or several, by commas" in " ".join(capsys.readouterr().out.split())
