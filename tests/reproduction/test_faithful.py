"""Real runs, small ones, against the paper's numbers.

Rates differ by chance, here and in the paper: two of 1,024 and of N realisations by more than
z √(p (1 - p) (1/1024 + 1/N)) once in so many times. With z = 3 that is once in 370; and the paper's
are rounded to two decimals. The full tables are for `python -m reproduction` to compare.
"""

import math
from dataclasses import replace

import numpy as np
import pytest

from reproduction.paper import BOSTON, PAPER, PHASE, TABLE_1, TABLE_2
from reproduction.run import run as run_experiments

N, PAPERS, ROUNDING = 128, 1024, 0.005


def run(folder, experiment, realizations, labels=None, **grid):
    if labels is not None:
        experiment = experiment.only(labels)
    smaller = replace(experiment, realizations=realizations, grid=experiment.grid | grid)
    return run_experiments([smaller], folder, jobs=1)


def rates(outcome):
    return {row["algorithm"]: row["rate"] for row in outcome.results}


@pytest.mark.parametrize(("experiment", "k"), [(TABLE_1, 16), (TABLE_2, 3)])
def test_a_column_of_each_table(tmp_path, experiment, k):
    found = rates(run(tmp_path, experiment, N, k=(k,)))
    at = experiment.grid["k"].index(k)
    papers = {label: row[at] for label, row in PAPER[experiment.name].items()}
    assert set(found) == set(papers)
    assert len(found) == 9
    for label, rate in found.items():
        pooled = (N * rate + PAPERS * papers[label]) / (N + PAPERS)
        spread = math.sqrt(pooled * (1 - pooled) * (1 / N + 1 / PAPERS))
        assert abs(rate - papers[label]) <= 3 * spread + ROUNDING, (label, rate, papers[label])


def test_what_the_tables_are_about(tmp_path):
    """Who recovers more on the same draws: by far, and not by chance."""
    found = rates(run(tmp_path, TABLE_2, N, ["FR", "RMP₀", "RMP_σ", "BP ARD"], k=(2,)))
    assert found["FR"] + 0.4 < found["RMP₀"] < found["RMP_σ"] < found["BP ARD"]


def test_a_cell_of_the_phase_diagram_and_one_beyond_the_transition(tmp_path):
    """At n/m = 1/2, k/n = 1/5, backward steps make the difference; at k/n = 1/2 nobody succeeds."""
    outcome = run(tmp_path, PHASE, 64, sampling=(0.5,), sparsity=(0.2, 0.5))
    found = {(row["algorithm"], row["k"]): row["rate"] for row in outcome.results}
    assert 0.15 < found["FR", 13] < 0.55
    assert found["RMP₀", 13] > 0.9
    assert found["RMP_σ", 13] > 0.9
    assert {found[label, 32] for label in ("FR", "RMP₀", "RMP_σ")} == {0.0}


def test_boston(tmp_path):
    """Errors in thousands of dollars; the mean as a guess is off by 9.2."""
    outcome = run(tmp_path, BOSTON, 5, ["FR", "RMP₀", "RMP_σ"], split=(0, 1))
    assert [row["error_message"] for row in outcome.results] == [None] * 6
    found = {}
    for label in ("FR", "RMP₀", "RMP_σ"):
        mine = [one["values"] for one in outcome.records if one["settings"]["contender"] == label]
        sizes, errors = (np.mean([one[name] for one in mine], axis=0) for name in ("size", "rmse"))
        assert (np.diff(sizes) <= 0).all()
        assert sizes[0] > 50
        assert 2.5 < errors[0] < 4.5
        assert errors[-1] > 1.3 * errors[0]
        found[label] = sizes[0]
    assert found["RMP₀"] < 0.9 * found["FR"]
