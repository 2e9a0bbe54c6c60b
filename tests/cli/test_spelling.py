"""Errors and facts are data: the command line spells their parameters its own way."""

import json

import polars as pl
import pytest

import sparsewise
from sparsewise import cli
from sparsewise.cli.spelling import OPTIONS, as_option, sentence
from sparsewise.errors import InputError, InputWarning, Parameter
from sparsewise.estimators.base import SparseLinearModel
from sparsewise.estimators.describe import describe
from tests.cli import test_fit as test_cli
from tests.cli.test_fit import DIABETES, NAMES

run, plain_terminal = test_cli.run, test_cli.plain_terminal


@pytest.mark.parametrize(
    ("part", "python", "option"),
    [
        (Parameter("sparsity"), "sparsity", "--sparsity"),
        (Parameter("criterion", "cv"), 'criterion="cv"', "--criterion cv"),
        (Parameter("debias", True), "debias=True", "--debias"),
        (Parameter("price", 0), "price=0", "--price 0"),
        (Parameter("sample_weight"), "sample_weight", "--weights"),
        (Parameter("algorithm", "rmp"), 'algorithm="rmp"', "--method rmp"),
        (Parameter("max_iter", 9), "max_iter=9", "max_iter=9"),  # no option: as it is
        (Parameter("StepwiseRegressor"), "StepwiseRegressor", "--method forward"),
        (Parameter("certify", True), "certify=True", "sparsewise certify"),
    ],
)
def test_each_spells_a_parameter_its_own_way(part, python, option):
    for message in (InputError(("use ", part, ".")), InputWarning(("use ", part, "."))):
        assert str(message) == f"use {python}."
        assert sentence(message) == f"use {option}"


def test_the_subject_of_a_sentence_is_an_option_too():
    error = InputError("must be at least 0, not -1", "raise it.", parameter="sparsity")
    assert sentence(error) == "--sparsity must be at least 0, not -1; raise it"


def test_advice_speaks_of_options_too():
    assert sparsewise.Stop.DELTA.advice.startswith("Lower delta to keep more features")
    assert sparsewise.Stop.DELTA.advised(as_option).startswith("Lower --delta to keep more")


def test_every_option_there_is_can_be_given():
    usage = cli.build_parser()._subparsers._group_actions[0].choices
    known = {word for parser in usage.values() for word in parser._option_string_actions}
    assert set(OPTIONS.values()) <= known


@pytest.mark.parametrize("error", [ValueError, TypeError, RuntimeError])
def test_only_bad_input_is_called_that(capsys, monkeypatch, error):
    def broken(*args, **parameters):
        raise error("n is a riddle")

    monkeypatch.setattr(SparseLinearModel, "_fit", broken)
    assert cli.main(["fit", "--example", "diabetes"]) == 1
    monkeypatch.undo()
    monkeypatch.setattr("sparsewise.guarantees.certify", broken)
    assert cli.main(["certify", "--example", "diabetes", "--features", "bmi"]) == 1
    line = f"sparsewise: internal error ({error.__name__}: n is a riddle); --debug shows where"
    assert capsys.readouterr() == ("", f"{line}\n" * 2)


MODELS = {
    "rmp": sparsewise.SparseBayesRegressor(),
    "rmp --sigma 50 --price 0": sparsewise.SparseBayesRegressor(sigma=50.0, price=0.0),
    "rmp0": sparsewise.StepwiseRegressor("both", delta="bic"),
    "forward --cv 5": sparsewise.StepwiseRegressor(criterion="cv"),
    "backward --criterion loo": sparsewise.StepwiseRegressor("backward", criterion="loo"),
    "mp": sparsewise.PursuitRegressor("mp"),
    "bpdn": sparsewise.BasisPursuitRegressor(),
    "bp-candes --debias": sparsewise.BasisPursuitRegressor("candes", debias=True),
    "fista --penalty 200": sparsewise.BasisPursuitRegressor(solver="fista", penalty=200.0),
}


@pytest.mark.parametrize("words", MODELS)
def test_all_front_ends_say_the_same(run, words):
    frame = pl.DataFrame(DIABETES.data, schema=NAMES)
    model = MODELS[words].set_params(certify=1.0)
    model.fit(frame, pl.Series("progression", DIABETES.target))
    description, summary = describe(model), model.summary()
    args = ("fit", "--example", "diabetes", "--method", *words.split())
    shown = " ".join(run(*args).split())
    assert shown.startswith(description.title)
    for label, told in description.sentences(as_option):
        assert label == "rows" or f" {label} {told} " in shown
    assert summary.title == description.title
    assert summary.facts == description.sentences()
    data = json.loads(run(*args, "--json"))
    assert data["certificate"] == dict(summary.facts)["subset"]
    assert data["stop"] == str(description.stop)
    assert [one["name"] for one in data["features"]] == [row[0] for row in summary.rows[1:]]
    assert data["r2"] == pytest.approx(description.r2, rel=1e-9)
    assert data["noise"] == pytest.approx(description.noise, rel=1e-9)
