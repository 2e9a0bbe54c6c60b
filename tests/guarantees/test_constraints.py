"""Certificates of subsets that have to have some columns, or to do without."""

from functools import partial

import numpy as np
import pytest
from sklearn.datasets import load_diabetes

import sparsewise as sw
from tests.problems import WORDS, gaussian, words
from tests.subsets.enumeration import best

certify = partial(sw.certify, time_limit=0.0)
"""The bound, and exchanges, alone, unless a test says otherwise."""

DIABETES = load_diabetes()


def with_a_flag():
    """The diabetes table with a column of chance at its end."""
    flag = np.random.default_rng(0).integers(0, 2, 442)
    X = np.column_stack([DIABETES.data, flag])
    names = [*DIABETES.feature_names, "flag"]
    return X - X.mean(axis=0), DIABETES.target - DIABETES.target.mean(), names


@pytest.mark.parametrize("seed", range(20))
def test_the_best_of_those_that_keep_to_the_constraints(seed):
    rng = np.random.default_rng(seed)
    kind = [float, complex][seed % 2]
    p = gaussian(seed, [14, 7][seed % 3 == 0], 9, 3, kind=kind)
    include, exclude = np.split(rng.permutation(9)[:3], [rng.integers(1, 3)])
    constraints = {"include": include, "exclude": exclude}
    truth, _, _ = best(p.A, p.y, 4, include.tolist(), exclude.tolist())
    c = certify(p.A, p.y, truth, swaps=True, time_limit=None, **constraints)
    assert (c.status, c.include, c.exclude) == (
        "optimal",
        tuple(sorted(include)),
        tuple(sorted(exclude)),
    )
    for _ in range(5):
        rest = rng.permutation([j for j in range(9) if j not in {*include, *exclude}])
        other = tuple(sorted([*include, *rest[: 4 - include.size]]))
        for swaps in (False, True):
            c = certify(p.A, p.y, other, swaps=swaps, time_limit=None, **constraints)
            assert c.better == (None if other == truth else truth)
            if c.swap is not None:
                assert c.swap.out not in include
                assert c.swap.into not in exclude


def test_the_bound_is_that_of_the_columns_that_count():
    """Nearly a copy of column 0 stands outside, and rules out any bound unless it is excluded."""
    rng = np.random.default_rng(0)
    Q = np.linalg.qr(rng.standard_normal((12, 8)))[0]
    A = np.column_stack([Q, Q[:, 0] + 1e-3 * Q[:, 1]])
    y = A[:, [0, 3]] @ [1.0, 1e-3] + 1e-4 * Q[:, 7]
    assert certify(A, y, [0, 3]).status == "unknown"
    without = certify(A, y, [0, 3], exclude=[8])
    assert (without.status, without.proof) == ("optimal", "bound")
    # With column 0 in any case, only the small coefficient of 3 may be exchanged ...
    assert certify(A, y, [0, 3], include=[0], exclude=[8]).min_abs == pytest.approx(1e-3)
    # ... and with 3, only the large one.
    assert certify(A, y, [0, 3], include=[3], exclude=[8]).min_abs == pytest.approx(1.0)


def test_what_is_included_alone_has_no_rival():
    p = gaussian(0, 12, 6, 2)
    c = certify(p.A, p.y, [1, 4], include=[4, 1], swaps=True)
    assert (c.status, c.exchanged, c.swap_optimal) == ("optimal", 0, True)
    assert str(c) == "certified best subset of 2 of those that contain 1, 4"


def test_an_included_column_need_not_be_needed():
    """Its coefficient is zero, but it is there to stay."""
    c = certify(np.eye(4), [3.0, 0.0, 0.1, 2.0], [0, 1], include=[1], time_limit=None)
    assert c.status == "optimal"
    assert certify(np.eye(4), [3.0, 0.0, 0.1, 2.0], [0, 1]).status == "unknown"


def test_it_says_so():
    y, names = [5.0, 4.0, 1.0, 0.5], ["age", "sex", "bmi", "bp"]
    forced = certify(np.eye(4), y, [0, 3], include=[3], swaps=True)
    assert forced.sentence(names) == "certified best subset of 2 of those that contain bp"
    both = certify(np.eye(4), y, [2, 3], include=[3], exclude=[0], swaps=True)
    assert both.sentence(names) == (
        "not the best subset of 2 of those that contain bp, without age: "
        "sex in place of bmi fits better"
    )
    assert str(certify(np.eye(4), y, [1, 2], exclude=[0], time_limit=None)) == (
        "certified best subset of 2 of those without 0 (every other was ruled out)"
    )


def test_a_choice_that_breaks_its_constraints_is_refused():
    A, y = np.eye(3), np.ones(3)
    with pytest.raises(sw.InputError, match="include names column 2, which is not in the subset"):
        certify(A, y, [0, 1], include=[2])
    with pytest.raises(sw.InputError, match="exclude names column 1, which is in the subset"):
        certify(A, y, [0, 1], exclude=[1])
    with pytest.raises(sw.InputError, match="Column 1 can't be in both include and exclude"):
        certify(A, y, [0, 1], include=[1], exclude=[1])
    with pytest.raises(sw.InputError, match="include names column 3, but A has columns 0 to 2"):
        certify(A, y, [0, 1], include=[3])


def test_excluded_columns_count_as_little_as_none():
    A = np.random.default_rng(0).standard_normal((5, 210))
    y = np.arange(5.0)
    assert certify(A, y, [0], time_limit=None).proof is None
    assert certify(A, y, [0], time_limit=None, exclude=range(200, 210)).proof == "search"


# --- who passes them on ---------------------------------------------------------------------------


@pytest.mark.parametrize("name", [*WORDS, "best_subset", "l1_path"])
def test_every_solution_knows_its_constraints(name):
    p = gaussian(3, 20, 12, 3)
    call = words(name, p) if name in WORDS else {"sparsity": 4}
    if name == "l1_path":
        call = {}
    solution = getattr(sw, name)(p.A, p.y, **call, include=[5, 2], exclude=[7])
    assert (sorted(solution.include), solution.exclude) == ([2, 5], (7,))
    for c in (solution.certificate(p.A, p.y), certify(p.A, p.y, solution)):
        assert (c.include, c.exclude) == ((2, 5), (7,))
    free = solution.certificate(p.A, p.y, include=[], exclude=[])
    assert (free.include, free.exclude) == ((), ())
    plain = getattr(sw, name)(p.A, p.y, **call)
    assert plain.include == plain.exclude == ()


def test_a_solution_with_a_column_forced_in_is_the_best_of_those():
    X, y, _ = with_a_flag()
    solution = sw.best_subset(X, y, sparsity=7, include=[10])
    c = solution.certificate(X, y, swaps=True, time_limit=None)
    assert c.status == "optimal"
    assert best(X, y, 7, [10])[0] == c.columns
    assert certify(X, y, solution.support, time_limit=None).status == "beaten"


@pytest.mark.parametrize("by_name", [False, True])
def test_estimators_pass_them_on(by_name):
    import polars as pl

    X, y, names = with_a_flag()
    table = pl.DataFrame(X, schema=names) if by_name else X
    flag = "flag" if by_name else 10
    model = sw.StepwiseRegressor(sparsity=7, direction="both", include=[flag], certify=60.0)
    model.fit(table, y)
    c = model.certificate_
    truth, _, _ = best(X, y, 7, [10])
    assert c.include == (10,)
    assert c.status == ("optimal" if c.columns == truth else "beaten")
    if c.better is not None:
        assert 10 in c.better
    shown = "flag" if by_name else "x10"
    assert f"best subset of 7 of those that contain {shown}" in str(model.summary())
    model = sw.StepwiseRegressor(sparsity=4, exclude=["bmi" if by_name else 2], certify=60.0)
    c = model.fit(table, y).certificate_
    assert c.exclude == (2,)
    assert c.status == ("optimal" if c.columns == best(X, y, 4, [], [2])[0] else "beaten")
