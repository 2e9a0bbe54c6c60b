"""The report: complete, true to the numbers, and readable without anything else."""

import re
import sys
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from reproduction import beyond, peers
from reproduction.declaration import Contender
from reproduction.document import inline, plain
from reproduction.paper import EXPERIMENTS, TABLE_1
from reproduction.peers import absent
from reproduction.report import write_report
from reproduction.run import adapted, run
from reproduction.shared_support import SHARED
from sparsewise.errors import InputError
from tests.reproduction.made import found_beyond, like_the_paper, outcome, recovered
from tests.reproduction.small import OMP, small


def written(made):
    write_report(made)
    return (made.folder / "report.md").read_text(), (made.folder / "report.html").read_text()


def without_matplotlib(monkeypatch):
    monkeypatch.delitem(sys.modules, "reproduction.figures", raising=False)
    monkeypatch.delattr("reproduction.figures", raising=False)
    monkeypatch.setitem(sys.modules, "matplotlib", None)


class Tags(HTMLParser):
    """Which tags are open, and what is asked for."""

    def __init__(self):
        super().__init__()
        self.open, self.links = [], []

    def handle_starttag(self, tag, attrs):
        if tag not in ("meta", "img", "link", "br"):
            self.open.append(tag)
        self.links += [value for name, value in attrs if name in ("src", "href")]

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def check_html(text):
    """Tags are closed in order, and nothing is asked for from elsewhere."""
    tags = Tags()
    tags.feed(text)
    assert tags.open == []
    assert all(link.startswith("data:image/svg+xml;base64,") for link in tags.links)
    assert "url(" not in text
    assert "@import" not in text
    return tags.links


def test_everything_in_one_report(tmp_path):
    quick = [adapted(one, quick=True) for one in EXPERIMENTS.values()]
    text, page = written(outcome(tmp_path, quick, like_the_paper))
    for experiment in quick:
        assert f"## {experiment.title}" in text
        assert f"(figures/{experiment.name}.png)" in text
        assert (tmp_path / "figures" / f"{experiment.name}.svg").exists()
    assert len(check_html(page)) == len(quick)
    assert "took 1 min 15 s" in text
    assert "Seed 7" in text
    assert "numpy 2.0" in text
    assert "Of 5 statements in the paper, 4 agree, 1 differs (a smaller run)." in text
    assert "does not hold as printed for k >= 2" in text
    assert "data/README.md" in text
    assert "Intervals are wide" in text
    assert "prefers-color-scheme: dark" in page
    assert "@media print" in page
    assert "width=device-width" in page


def test_the_tables_stand_beside_the_paper(tmp_path):
    text, page = written(outcome(tmp_path, [TABLE_1], like_the_paper))
    row = next(line for line in text.splitlines() if line.startswith("| FoBa "))
    values = [value.strip() for value in row.strip("|").split("|")]
    assert values[0] == "FoBa"
    assert values[2::2] == ["0.99", "0.82", "0.31", "0.04"]
    assert values[3] == "0.820 (0.796–0.843)"
    assert "All 36 cells agree" in text
    assert "wide" not in text
    assert page.count("<tr>") == text.count("\n|") - 2  # but for the rules below the headers


def test_several_targets(tmp_path):
    quick = adapted(SHARED, quick=True)
    text, page = written(outcome(tmp_path, [quick], lambda u: recovered(u.cell["targets"] / 8, 8)))
    assert text.startswith("# Recovery of a shared support")
    assert "| M-SBL, 1 target | 0.125 |" in text
    assert "| OMP, 8 targets | 1.000 |" in text
    assert text.count("**Reached.** The aim: the more targets") == 3
    assert "shared-support" in page


def test_beyond_the_paper(tmp_path):
    quick = [adapted(one, quick=True) for one in beyond.EXPERIMENTS.values()]
    text, page = written(outcome(tmp_path, quick, found_beyond))
    assert text.startswith("# Beyond the paper: solve, told nothing\n")
    for experiment in quick:
        assert f"## {experiment.title}" in text
        assert f"(figures/{experiment.name}.png)" in text
    assert len(check_html(page)) == len(quick)
    assert "Of 5 aims, 5 are reached (a smaller run)." in text
    assert "- **Reached.** The aim: at least 0.98 of supports at k = 16. Here: 1.000" in text
    row = next(line for line in text.splitlines() if line.startswith("| LassoCV (above ½) |"))
    assert row.split("|")[2].strip() == "a little (other packages)"
    assert "| abess | nothing (other packages) | 6 | 20.0 ± 0.0 |" in text
    assert "reproduced" not in text
    assert "The paper:" not in text


def test_fewer_draws_of_slow_peers_are_told(tmp_path):
    some = beyond.CORRELATED.only(["solve", "LassoCV"])
    text, _ = written(outcome(tmp_path, [some], found_beyond))
    assert "| solve | nothing | 1,024 | 1.000 (0.996–1.000) |" in text
    assert "| LassoCV | nothing (other packages) | 128 | 0.602" in text
    assert "has the first of them" in text


def test_who_is_left_out_is_told_with_the_reason(tmp_path, monkeypatch):
    monkeypatch.setattr(peers, "find_spec", lambda package: None)
    ours = [one.label for one in beyond.CORRELATED.contenders if not absent(one)]
    text, page = written(outcome(tmp_path, [beyond.CORRELATED.only(ours)], found_beyond))
    assert "> abess is left out, because the package abess is missing: pip install" in text
    assert "| abess |" not in text
    check_html(page)


def test_cells_that_differ_are_marked(tmp_path):
    def find(unit):
        found = like_the_paper(unit)
        return recovered(0.5, 1024) if unit.cell["k"] == 24 else found

    text, page = written(outcome(tmp_path, [TABLE_1], find))
    assert text.count("**≠ 0.500") == 9
    assert page.count("<strong>≠ 0.500") == 9
    assert "27 of 36 cells agree" in text


def test_some_algorithms_alone(tmp_path):
    chosen = [adapted(one, quick=True, algorithms=["BP"]) for one in EXPERIMENTS.values()]
    text, page = written(outcome(tmp_path, chosen, like_the_paper))
    assert "All 4 cells agree" in text
    assert text.count("None of the algorithms chosen takes part") == 3  # phase, bounds, boston
    check_html(page)


def test_an_experiment_of_one_s_own_from_a_real_run(tmp_path):
    experiment = small(realizations=6)
    made = run([experiment], tmp_path, seed=7, jobs=1)
    text, page = written(made)
    assert "paper" not in text.lower()
    for row in made.results:
        assert f"{row['rate']:.3f} ({row['low']:.3f}–{row['high']:.3f})" in text
    assert "(figures/small.png)" in text
    assert "intervals are wide" in text
    assert len(check_html(page)) == 1


def test_more_figures_than_anybody_looks_at_are_not_drawn(tmp_path):
    many = tuple(range(1, 8))
    experiment = small(contenders=[OMP], grid={"n": many, "m": (20,), "k": many, "noise": many})
    text, _ = written(outcome(tmp_path, [experiment], lambda unit: recovered(0.5, 2)))
    assert text.count(".png)") == 6
    assert "Drawn are 6 of 7 figures" in text


def test_one_s_own_experiment_with_a_name_of_the_paper_s(tmp_path):
    text, _ = written(outcome(tmp_path, [small("table1")], lambda unit: recovered(0.5, 4)))
    assert "cells agree" not in text


def test_what_failed_is_told(tmp_path):
    def find(unit):
        failed = unit.contender.label == "BP"
        return "ValueError: a <b> | c" if failed else recovered(0.5, 4)

    text, page = written(outcome(tmp_path, [small()], find))
    assert "**2 units failed**" in text
    assert r"ValueError: a \<b\> \| c" in text
    assert "n = 12, m = 20, k = 2, noise = 0.005; n = 12, m = 20, k = 4, noise = 0.005" in text
    assert "ValueError: a &lt;b&gt; | c" in page
    check_html(page)


def test_a_run_of_failures_alone(tmp_path):
    quick = [adapted(one, quick=True) for one in EXPERIMENTS.values()]
    text, page = written(outcome(tmp_path, [*quick, small()], lambda unit: "ValueError: no"))
    assert "nothing can be compared" in text
    assert "Nothing was run to its end" in text
    assert check_html(page) == []


def test_without_matplotlib_the_report_says_how_to_get_figures(tmp_path, monkeypatch):
    without_matplotlib(monkeypatch)
    text, page = written(outcome(tmp_path, [adapted(TABLE_1, quick=True)], like_the_paper))
    assert "pip install 'sparsewise[plot]'" in text
    assert "| FoBa |" in text
    assert "figures/" not in text
    assert not (tmp_path / "figures").exists()
    assert check_html(page) == []


def test_what_users_name_is_never_markup(tmp_path):
    odd = Contender("<script>alert(1)</script>", "omp", {"residual": "delta"})
    experiment = replace(small(contenders=[odd]), title="**a** | <b>\n# c")
    text, page = written(outcome(tmp_path, [experiment], lambda unit: recovered(0.5, 4)))
    assert "<script" not in page
    assert "&lt;script&gt;" in page
    assert text.startswith("# \\*\\*a\\*\\* \\| \\<b\\> # c\n")
    assert '<h1 id="a-b-c">**a** | &lt;b&gt; # c</h1>' in page
    check_html(page)


@pytest.mark.parametrize(
    ("text", "page"),
    [
        ("a **b** `c<d`", "a <strong>b</strong> <code>c&lt;d</code>"),
        ("RMP_σ & RMP₀", "RMP<sub>σ</sub> &amp; RMP₀"),
        (plain("a*b*`c`"), "a*b*`c`"),
        ("**≠ RMP_σ**", "<strong>≠ RMP<sub>σ</sub></strong>"),
    ],
)
def test_marks_in_text(text, page):
    assert inline(text) == page


def test_no_place_of_this_machine_is_told(tmp_path):
    text, page = written(outcome(tmp_path, [small()], lambda unit: recovered(0.5, 4)))
    assert str(tmp_path) not in text
    assert not re.search(r"/(tmp|home|root)/", page)


@pytest.mark.parametrize("name", ["figures", "report.md", "report.html"])
def test_what_cannot_be_written_is_one_sentence(tmp_path, name):
    made = outcome(tmp_path, [TABLE_1], like_the_paper)
    if name == "figures":
        (made.folder / name).write_text("in the way")
    else:
        (made.folder / name).mkdir()
    with pytest.raises(InputError, match=rf"^can't write .*{name}: .*; what is done is kept"):
        write_report(made)
