"""The benchmarks hang together; how fast anything is, is not tested."""

import os
from unittest import mock
from xml.etree import ElementTree

import pytest

import sparsewise

with mock.patch.dict(os.environ):  # importing it sets the number of threads
    from reproduction.benchmarks import figure, pages
    from reproduction.benchmarks.answers import Run, as_returned
    from reproduction.benchmarks.cases import CASES, COMPARISONS, CONTENDERS, Case, Comparison
    from reproduction.benchmarks.outcomes import compare, outcomes
    from reproduction.benchmarks.peers import ARRAY
    from reproduction.benchmarks.problems import gaussian
    from reproduction.benchmarks.race import Measurement, race
    from reproduction.document import REGION, rewrite

BY_NAME = {case.name: case for case in CASES}


@pytest.mark.parametrize("name", sparsewise.ALGORITHMS)
def test_every_algorithm_is_compared(name):
    assert any(name == comparison.ours.split(",")[0] for comparison in COMPARISONS)


@pytest.mark.parametrize("comparison", COMPARISONS, ids=lambda c: f"{c.case}-{c.ours}-{c.against}")
def test_a_comparison_is_between_contenders_of_its_case(comparison):
    running = BY_NAME[comparison.case].contenders
    assert comparison.ours in running
    assert comparison.against in (*running, ARRAY)


def test_every_contender_is_known_and_compared():
    compared = {(c.case, name) for c in COMPARISONS for name in (c.ours, c.against)}
    for case in CASES:
        assert set(case.contenders) <= CONTENDERS.keys()
        assert set(case.slow) <= set(case.contenders)
    idle = {name for case in CASES for name in case.contenders} - {name for _, name in compared}
    assert not idle


def test_a_contender_that_fails_is_a_row():
    def absent(problem):
        raise ImportError("No module named 'absent'\nsecond line")

    def late(problem):
        calls = iter(range(3))

        def call():
            if next(calls) == 2:
                raise RuntimeError("tired")
            return sparsewise.omp(problem.A, problem.y, sparsity=2)

        return Run(call=call, answer=lambda solution: as_returned(problem, solution))

    rows = race(
        [gaussian(20, 10, 2)], {"omp": CONTENDERS["omp"], "absent": absent, "late": late}, 3
    )
    assert [row.failure for row in rows] == [
        None,
        "ImportError: No module named 'absent'",
        "RuntimeError: tired",
    ]
    case = Case("tiny", "Group", "20×10", gaussian)
    one = compare(
        Comparison("tiny", "omp", "absent", bound=0.5), case, {row.contender: row for row in rows}
    )
    assert pages.measured(one) == "failed: ImportError: No module named 'absent'"
    assert one.verdict == "not measured"


def everything(seconds: float):
    """Every comparison, as if each of our functions took so long and each peer a second."""
    ours = {comparison.ours for comparison in COMPARISONS}
    return outcomes(
        CASES,
        COMPARISONS,
        {
            case.name: {
                name: Measurement(name, best=seconds if name in ours else 1.0, memory=0.01)
                for name in case.contenders
            }
            for case in CASES
        },
    )


def test_the_readme_is_rewritten_between_its_markers_alone(tmp_path):
    path = tmp_path / "README.md"
    begin, end = (mark.format("benchmarks") for mark in REGION)
    path.write_text(f"before\n{begin}\nstale\n{end}\nafter\n")
    rewrite(path, {"benchmarks": pages.readme(everything(0.001))})
    text = path.read_text()
    assert text.startswith(f"before\n{begin}\n<picture>")
    assert text.endswith(f"{end}\nafter\n")
    assert "stale" not in text
    assert "| `forward` | SPAMS OMP | 1,000× quicker |" in text
    path.write_text("no markers")
    with pytest.raises(ValueError, match="lacks the marks"):
        rewrite(path, {"benchmarks": "text"})


def test_the_page_has_every_comparison():
    rows = [line for line in pages.page(everything(0.001)).splitlines() if line.startswith("| ")]
    heads = [line for line in rows if line.startswith("| problem")]
    assert len(rows) - len(heads) == len(COMPARISONS)


@pytest.mark.parametrize(("seconds", "side"), [(0.01, "quick"), (100.0, "slow")])
def test_the_figure_is_sound_and_shows_who_is_quicker(seconds, side):
    root = ElementTree.fromstring(figure.svg(everything(seconds), figure.LIGHT))
    dots = [one for one in root.iter("{http://www.w3.org/2000/svg}circle") if len(one)]
    assert len(dots) > 50
    colour = getattr(figure.LIGHT, side)
    assert sum(colour in (dot.get("fill"), dot.get("stroke")) for dot in dots) == len(dots)
    assert all(figure.LEFT < float(dot.get("cx")) < figure.RIGHT for dot in dots)


def test_no_figure_without_figures():
    nothing = figure.svg([], figure.DARK)
    assert ElementTree.fromstring(nothing) is not None
