"""Errors as data: one fault, spelled by whoever shows it, and whole after a journey."""

import copy
import pickle

import pytest

from sparsewise.errors import InputError, InputTypeError, InputWarning, Parameter

FAULT = InputError(
    "needs more rows than features",
    ("use ", Parameter("criterion", "cv"), " or ", Parameter("SparseBayesRegressor"), "."),
    parameter="criterion",
)


def in_options(part):
    if part.name == "SparseBayesRegressor":
        return "rmp"
    return f"--{part.name}" if part.value is None else f"--{part.name} {part.value}"


def test_python_spells_parameters_as_keywords():
    assert str(FAULT) == (
        'criterion needs more rows than features; use criterion="cv" or SparseBayesRegressor.'
    )


def test_others_spell_them_their_own_way():
    assert FAULT.sentence(in_options) == (
        "--criterion needs more rows than features; use --criterion cv or rmp."
    )


def test_values_that_are_not_text():
    assert str(InputError("is odd", (Parameter("debias", True),))) == "is odd; debias=True"


def test_a_sentence_without_a_parameter():
    assert str(InputError("there is no file")) == "there is no file"


@pytest.mark.parametrize("kind", [InputError, InputTypeError])
@pytest.mark.parametrize("send", [lambda e: pickle.loads(pickle.dumps(e)), copy.deepcopy])
def test_it_travels_whole(kind, send):
    fault = kind("must be {braced}, 100 %", "mend it", parameter="sparsity")
    again = send(fault)
    assert type(again) is kind
    assert (again.parameter, again.wrong, again.advice) == ("sparsity", fault.wrong, "mend it")
    assert str(again) == "sparsity must be {braced}, 100 %; mend it"


def test_they_are_caught_as_python_expects():
    assert issubclass(InputError, ValueError)
    assert issubclass(InputTypeError, TypeError)
    assert issubclass(InputTypeError, InputError)


def test_warnings_are_data_too():
    warning = InputWarning("was still improving", parameter="criterion")
    assert str(warning) == "criterion was still improving"
    assert warning.sentence(in_options) == "--criterion was still improving"
