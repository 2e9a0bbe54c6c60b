"""When a quicker way pays, which kernel takes which steps, and that nobody else decides it."""

import ast
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse
from scipy.sparse.linalg import aslinearoperator

import sparsewise as sw
from sparsewise import plan
from sparsewise.design import as_design
from sparsewise.engine.active_set import begin
from sparsewise.plan import Kernel, Task
from tests.problems import normal

SOURCES = Path(sw.__file__).parent

LARGE = 1024
"""Whole numbers from here on are sizes; smaller ones may be counts of anything."""

LARGEST = 1 << 53
"""Limits of types are from here on."""

AT_HOME = {"plan.py", "tolerances.py"}

NO_DECISIONS = {
    "_util/dask_cluster.py: SHARED": "size of a message",
    "design/base.py: BLOCK_BYTES": "size of a buffer",
    "design/base.py: TILE_BYTES": "size of a buffer",
    "design/dask.py: COLUMNS_BYTES": "size of a block on a worker",
    "design/kernel_matrix.py: WIDEST": "size of a tile",
    "engine/encoding.py: signal_bytes": "size of a result, which tells how many fit into a block",
    "guarantees/recovery.py: MOST_COLUMNS": "the largest whole number among floats",
    "io/model.py: MOST_BYTES": "the largest file that is taken for a model",
    "io/tables/excel.py: MOST_CELLS": "larger sheets are refused",
    "io/tables/excel.py: MOST_UNPACKED": "larger workbooks are refused",
    "io/tables/formats.py: BLOCK": "size of a buffer",
    "io/tables/formats.py: HEAD": "size of a buffer",
    "io/tables/formats.py: LONGEST_RECORD": "longer rows are refused",
    "io/tables/imputing.py: ROOM": "size of a buffer",
    "io/tables/profile.py: MOST_REMEMBERED": "more levels are refused",
    "io/tables/stored_files.py: PIECE": "size of a buffer",
    "io/tables/stored_files.py: READ": "size of a buffer",
    "io/tables/stored_files.py: ROW_GROUP": "size of a buffer",
    "io/tables/table.py: CHUNK": "size of a buffer",
    "kernels/__init__.py: BUDGET": "how much is interpreted before numba has compiled",
    "model_selection/tabular_data.py: BLOCK": "size of a buffer",
    "plots/residual_display.py: MOST": "more points are a blot",
    "subsets/exchanges.py: BLOCK": "size of a buffer",
    "suffstats/condensed.py: MOST_BYTES": "larger triangles are refused",
}
"""Sizes that decide nothing: what they are instead."""


# --- where thresholds are -------------------------------------------------------------------------


def whole(node):
    """The value of an expression in whole numbers; None if it is no such thing."""
    try:
        value = eval(compile(ast.Expression(node), "", "eval"), {"__builtins__": {}}, {})
    except Exception:  # names, calls, and whatever else needs the module
        names = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
        constants = [whole(n) for n in ast.walk(node) if isinstance(n, ast.Constant)]
        is_product = isinstance(node, ast.BinOp) and names and all(map(str.isupper, names))
        return max((c for c in constants if c is not None), default=None) if is_product else None
    return value if type(value) is int else None


def named(target, value):
    """Each name that is assigned to, and the expression for it."""
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
        for one, other in zip(target.elts, value.elts, strict=True):
            yield from named(one, other)
    elif isinstance(target, ast.Name):
        yield target.id, value


def thresholds(source):
    """Names of modules and classes that stand for large whole numbers; comparisons with such."""
    tree = ast.parse(source)
    bodies = [tree, *(node for node in ast.walk(tree) if isinstance(node, ast.ClassDef))]
    for statement in (one for body in bodies for one in body.body):
        targets = statement.targets if isinstance(statement, ast.Assign) else []
        if isinstance(statement, ast.AnnAssign) and statement.value is not None:
            targets = [statement.target]
        for target in targets:
            for name, value in named(target, statement.value):
                if (whole(value) or 0) >= LARGE:
                    yield name
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare):
            sides = map(whole, [node.left, *node.comparators])
            yield from (str(value) for value in sides if value and LARGE <= value < LARGEST)


def test_what_counts_as_a_threshold():
    source = """
A = 1 << 10
B, C = 3, 2**20
D: int = 1_000_000
E = 1023
F = 1e9
G = (1024, 2048)
H = 1000 * 64
I = 2048 * A
class J:
    k = 1 << 14
def f(n):
    many = 4096
    return n > 65536 or 1 < n < 8 or n < 2**63
"""
    assert [*thresholds(source)] == ["A", "C", "D", "H", "I", "k", "65536"]


def test_thresholds_are_in_the_plan():
    """A size that decides which way is taken has its place there; others are named above."""
    found = set()
    for path in sorted(SOURCES.rglob("*.py")):
        name = path.relative_to(SOURCES).as_posix()
        if name not in AT_HOME:
            found |= {f"{name}: {one}" for one in thresholds(path.read_text())}
    assert found - set(NO_DECISIONS) == set(), "put it into plan.py, with a function"
    assert set(NO_DECISIONS) - found == set(), "it is gone: so is its exception"


def test_every_threshold_has_a_reason():
    tree = ast.parse((SOURCES / "plan.py").read_text())
    for one, following in zip(tree.body, tree.body[1:], strict=False):
        if isinstance(one, ast.Assign) and any(map(str.isupper, ast.unparse(one.targets[0]))):
            is_text = isinstance(following, ast.Expr) and isinstance(following.value, ast.Constant)
            assert is_text, f"what is {ast.unparse(one.targets[0])} for, in which unit?"


# --- sizes ----------------------------------------------------------------------------------------


def test_small_and_tall():
    assert plan.is_small((256, 256))
    assert not plan.is_small((256, 257))
    assert plan.is_tall((512, 64))
    assert not plan.is_tall((255, 64))  # fewer than four rows a column
    assert not plan.is_tall((4095, 8))  # calls are what costs
    assert plan.correlates_in_a_loop((256, 256))
    assert not plan.correlates_in_a_loop((512, 64))
    assert not plan.correlates_in_a_loop((256, 257))


def test_jointly_and_at_once():
    assert plan.updates_jointly((512, 1024))
    assert not plan.updates_jointly((512, 1025))
    assert plan.joint_starts_in_doubt((512, 1024)) == 0  # all starts do
    assert plan.joint_starts_in_doubt((512, 4096)) == 8
    assert plan.joint_starts_in_doubt((512, 32_768)) == 1
    assert plan.joint_starts_in_doubt((512, 32_769)) == 0
    assert plan.joint_starts_in_doubt((16, 1 << 22)) == 8  # half a gigabyte
    assert plan.joint_starts_in_doubt((16, 1 << 22), 16) == 0
    assert plan.computes_all_columns((900, 1200), 8, measured=False)
    assert not plan.computes_all_columns((900, 1200), 8, measured=True)
    assert plan.computes_all_columns((900, 1024), 8, measured=True)
    assert plan.computes_all_columns((100, 2000), 8, measured=True)
    assert not plan.computes_all_columns((1 << 14, 1 << 13), 8, measured=False)  # a gigabyte
    assert plan.infers_from_all((512, 512))
    assert not plan.infers_from_all((512, 513))
    assert plan.factorises_at_once((1024, 32))
    assert not plan.factorises_at_once((1025, 32))


@pytest.mark.parametrize(("n", "m"), [(100, 50), (10_000, 300), (500.5, 10_000), (3, 1)])
def test_effortless_steps(n, m):
    k = plan.effortless_steps(n, m)
    assert n * k * (m + k) <= plan.EFFORTLESS < n * (k + 1) * (m + k + 1)


# --- kernels --------------------------------------------------------------------------------------


def task(shape, *needs, **facts):
    return Task(shape, lambda: frozenset(needs), **facts)


@pytest.mark.parametrize("kernel", plan.KERNELS, ids=lambda kernel: kernel.name)
def test_a_kernel_declines_what_it_has_not_heard_of(kernel):
    """So a new capability needs no edit of any kernel."""
    plain = kernel._replace(pays=lambda _: True)
    assert plain.takes(task((9, 9), *kernel.supports))
    for word in ("ridge", "groups", "signs", "something new"):
        assert not plain.takes(task((9, 9), *kernel.supports, word))


def test_needs_are_asked_for_only_where_a_kernel_pays():
    def never():
        raise AssertionError

    assert not Kernel("", frozenset(), lambda _: False).takes(Task((9, 9), never))
    assert plan.kernel_for(Task((60, 60), never, 5)) is None


def test_one_model_by_lazy_rows_of_a_gram_matrix():
    def is_lazy(shape, *needs, steps=5):
        return plan.kernel_for(task(shape, "path", *needs, steps=steps)) is plan.LAZY_GRAM

    assert is_lazy((200, 1000))
    assert is_lazy((200, 1000), "targets", "exclude")
    assert is_lazy((5000, 100))
    assert not is_lazy((100, 100))  # a compiled loop over all columns is as quick
    assert not is_lazy((200, 1000), steps=1)
    assert not is_lazy((1024, 1025))  # guesses save passes over A
    assert is_lazy((1 << 20, 16))
    assert not is_lazy(((1 << 20) + 1, 16))  # it can't be interrupted
    for need in ("callback", "start", "basis", "single", "error", "storage", "signals"):
        assert not is_lazy((200, 1000), need)


def test_many_signals_by_the_whole_gram_matrix():
    def is_whole(shape, *needs, **facts):
        return plan.kernel_for(task(shape, "signals", *needs, **facts)) is plan.GRAM

    assert is_whole((40, 64), signals=2)
    assert not is_whole((40, 64), signals=1)
    assert is_whole((40, 8192), signals=256)
    assert not is_whole((40, 8192), signals=256, itemsize=16)  # too large for memory
    assert is_whole((40, 64), "sparsity", "residual", "batch", "single", "operator", signals=2)
    for need in ("callback", "include", "max_outer", "path", "error", "remote"):
        assert not is_whole((40, 64), need, signals=2)


def test_bends_are_guessed_where_passes_cost():
    def is_guessed(shape, *needs):
        return plan.kernel_for(task(shape, "l1", *needs)) is plan.PATH_LOOKAHEAD

    assert is_guessed((1024, 2048))
    assert not is_guessed((1024, 2047))
    assert is_guessed((1024, 2048), "remote")
    for need in ("operator", "careful", "callback", "signs"):
        assert not is_guessed((1024, 2048), need)


STORED = {
    "array": (np.asarray, set()),
    "Fortran order": (np.asfortranarray, set()),
    "single": (lambda A: A.astype(np.float32), {"single"}),
    "slice": (lambda A: np.repeat(A, 2, axis=0)[::2], {"storage"}),
    "sparse": (sparse.csc_array, {"storage"}),
    "operator": (aslinearoperator, {"storage", "operator"}),
    "extreme": (lambda A: A * 1e-200, {"extreme"}),
}


@pytest.mark.parametrize("stored", STORED)
def test_what_a_design_needs(stored):
    store, needs = STORED[stored]
    design = as_design(store(normal(np.random.default_rng(0), 9, 5)))
    assert design.needs(design.dtype) == needs


def test_what_a_model_needs():
    """Facts of an active set reach the plan."""
    A = normal(np.random.default_rng(0), 200, 1000)

    def is_lazy(y=A[:, 0], solution_only=True, **parameters):
        active, stopping = begin("forward", A, y, **{"sparsity": 5, **parameters})
        return plan.LAZY_GRAM.takes(active._task(stopping, solution_only))

    assert is_lazy()
    assert is_lazy(A[:, :2])
    assert is_lazy(exclude=[3])
    assert not is_lazy(solution_only=False)
    assert not is_lazy(include=[3])
    assert not is_lazy(callback=lambda _: None)
    assert not is_lazy(sparsity=None, residual=0.1)  # nobody knows how many steps there are
