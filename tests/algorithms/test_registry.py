"""An algorithm is described once: its record tells what others would have to retype."""

import ast
from pathlib import Path

import numpy as np
import pytest

import sparsewise as sw
from sparsewise.algorithms import Algorithm, Family

SOURCE = Path(sw.__file__).parent

#: Words that are names of algorithms, but mean something else there.
OTHER_MEANINGS = {
    "kernels/__init__.py": {"stepwise"},  # a file
    "model_selection/choice.py": {"forward", "backward", "foba"},  # directions of a path
    "estimators/stepwise_search.py": {"forward", "backward"},
    "estimators/selection_rule.py": {"focuss"},  # a rule of weights
}


def names_in(path: Path) -> set[str]:
    """Names of algorithms among the strings of a file, defaults of parameters left out."""
    tree = ast.parse(path.read_text())
    fields = {
        node.value
        for owner in ast.walk(tree)
        if isinstance(owner, ast.ClassDef)
        for node in owner.body
        if isinstance(node, ast.AnnAssign)
    }
    defaults = fields | {
        default
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef)
        for default in (*node.args.defaults, *node.args.kw_defaults)
    }
    strings = {
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in defaults
    }
    return strings & set(sw.ALGORITHMS)


def test_nobody_retypes_the_names_of_algorithms():
    for path in sorted(SOURCE.rglob("*.py")):
        place = path.relative_to(SOURCE).as_posix()
        if place.startswith("algorithms/"):
            continue
        assert names_in(path) <= OTHER_MEANINGS.get(place, set()), place


@pytest.mark.parametrize("name", sw.ALGORITHMS)
def test_a_record_is_what_the_function_is(name):
    record = sw.ALGORITHMS[name]
    assert isinstance(record, Algorithm)
    assert record.name == name
    assert record.headline
    assert record.good_for
    assert issubclass(record.result, sw.Solution)
    assert set(record.required) <= set(record.parameters)
    assert set(record.stopping) <= set(record.parameters)
    assert record.takes_callback == ("callback" in record.parameters)


def test_records_are_called_as_functions():
    A = np.eye(4)
    ours, theirs = sw.ALGORITHMS["omp"](A, A[0], sparsity=1), sw.omp(A, A[0], sparsity=1)
    np.testing.assert_array_equal(ours.coef, theirs.coef)


def test_every_parameter_stands_for_one_algorithm():
    meant = [parameter for record in sw.ALGORITHMS.values() for parameter in record.meant_by]
    assert len(meant) == len(set(meant))
    assert "nothing" in sw.ALGORITHMS["solve"].meant_by


def test_families_and_what_they_return():
    for record in sw.ALGORITHMS.values():
        if record.family is Family.BAYESIAN:
            assert record.result is sw.BayesianSolution
        if record.starts_full:
            assert record.family is Family.ELIMINATION
        if record.family is Family.SEARCH:
            assert record.result is sw.MultistartSolution
            assert record.least_squares
        elif record.least_squares:
            assert record.result is sw.Solution


def test_parameters_are_checked_without_a_target():
    design = sw.as_design(np.eye(4))
    sw.ALGORITHMS["omp"].check_parameters(design, sparsity=2)
    with pytest.raises(sw.InputError, match="sparsity must be between 0 and 4"):
        sw.ALGORITHMS["omp"].check_parameters(design, sparsity=5)
