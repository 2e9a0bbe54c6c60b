"""The table of the README and the page of all comparisons: ratios, as times don't travel."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from reproduction.benchmarks.cases import Comparison
from reproduction.benchmarks.ours import OURS
from reproduction.benchmarks.outcomes import Outcome
from reproduction.benchmarks.peers import ARRAY, GEMVS, THOUSAND, YARDSTICKS
from reproduction.benchmarks.table import percent, versions
from reproduction.measure import duration
from reproduction.tables import markdown

DESCRIPTION = "How many times quicker than each peer, on a logarithmic axis"

METHOD = """\
Measured by `python -m reproduction.benchmarks`: one thread for everybody, compilation outside the
clock, contenders taking turns in one process, processor time, best of several, ratios from the same
run. Every peer gets its data in the form it likes best, off the clock, and the settings that make
its answer comparable; [reproduction/benchmarks/](../reproduction/benchmarks) has them. A peer that
fails is a row that says why. “Our” is another function of Sparsewise, for want of a peer, or to
show what a choice costs.

- A GEMV is one product Aᵀv.
- *Squared residual*: ours over theirs, theirs refitted by least squares; over up to 1,000 problems.
- *Support found*: how often the columns behind the data were chosen, ours : theirs.
- *Log evidence*: mean of ours minus theirs, by the dense formula at the true σ. `rmp`, `fast_sbl`
  and `sbl` are given this σ where they don't infer it, as the others do.
- *Test error*: mean square on rows not learnt from, ours over theirs.
- *BIC*: mean of ours minus theirs; less is better.
- *ℓ1 norm*: of each problem's x, compared to 1e-6. ‖A x - y‖ ≤ 0.01 is exceeded at most by so much,
  relatively, ours : theirs; where it should be 0, by that part of ‖y‖. *Objective*: that of the
  lasso, likewise.
- *Memory*: peak beyond the data while it runs, in a process of its own, as a part of the array's
  size, ours : theirs.
- Clarabel, ECOS and HiGHS run as they come; spgl1 with tolerances of 1e-6; `lars_path` on 10⁶ y and
  abess on 10³ y, as they end early on a target of norm one.
- `SequentialFeatureSelector` has the same five folds. As it comes, it takes half of the features;
  told the true number, it has less to do, and to find, than `criterion="cv"`, which finds it.
- Estimators are compared with the bare function on centred data: what is more is validation,
  centring, and the attributes of the fitted model.\
"""

SLOWER = """\
- SPAMS's OMP at 64×128: the steps of `forward` take about as long as its whole call. As long again
  takes what every call pays for, whatever its size: some forty objects of Python that check the
  data, measure the columns and keep the path.
  So it is at 1000×50, where SPAMS goes by all inner products of columns, whatever digits are left.
- abess at 64×128: so it is with `srr`, `ompr` and `subspace_pursuit`. At 500×1000 these begin with
  k columns one by one, abess with the k best at once, which is all that such easy data ask for. At
  500×30, `best_subset` proves that no subset is better, which takes longer than to find one.
- abess, told nothing: `solve` takes its time for starts of different kinds, and finds the support
  where abess, by its default criterion, found none of 200. With 500×1000 and k = 100 both find it.
- SPAMS on columns with singular values 1/p²: few directions matter, all columns run along them, and
  a guess of what comes next seldom holds. `forward` then reads A once a step, as SPAMS does.
- SPAMS's lasso at 64×128: the path itself takes a third of the time of `bpdn`. The rest is what a
  call of any size pays for: the data are checked and measured, the minimiser is proved from them by
  its dual vector, and every bend of the path is kept. At 500×1000 SPAMS's way by inner products, in
  half the digits, and ours by a factor of the columns take turns in front from run to run.
- spgl1 on the exact fit of noisy data at 500×1000: such a fit takes as many columns as there are
  rows, and the path to it has nearly twice as many bends, each with a factor of that size to be
  changed. spgl1 ends where ‖A x - y‖ is 1e-6 of ‖y‖; `bp` at the vertex, to rounding, with its
  proof. Where y is a sum of few columns, the path is short, and `bp` the quicker.
- scikit-learn's Lasso on columns of correlation 0.9 and more, which are not in the tables: `fista`
  takes a few times as long. Coordinate descent in compiled loops suits them; our sweeps
  over single coefficients are not compiled.\
"""


def readme(found: Sequence[Outcome]) -> str:
    """What stands between the markers: the figure, the headlines, and where to read on."""
    lines = [
        *_picture("docs/"),
        "",
        _summary(found),
        "",
        _table([one for one in found if one.comparison.headline]),
        "",
        "All comparisons, and how they are made: [docs/benchmarks.md](docs/benchmarks.md).",
    ]
    return "\n".join(lines)


def page(found: Sequence[Outcome]) -> str:
    """The whole page: every comparison, by group, and the method."""
    lines = ["# Benchmarks", "", *_picture(""), "", _summary(found)]
    for group in dict.fromkeys(one.case.group for one in found):
        lines += ["", f"## {group}", "", _table([one for one in found if one.case.group == group])]
    lines += ["", "## Why some peers are quicker", "", SLOWER]
    return "\n".join([*lines, "", "## Method", "", METHOD, "", f"Versions: {versions()}.", ""])


def _picture(folder: str) -> list[str]:
    """The figure, light or dark as the page it is on."""
    return [
        "<picture>",
        f'  <source media="(prefers-color-scheme: dark)" srcset="{folder}benchmarks-dark.svg">',
        f'  <img alt="{DESCRIPTION}" src="{folder}benchmarks.svg">',
        "</picture>",
    ]


def _summary(found: Iterable[Outcome]) -> str:
    """How many targets were reached, and that none is hidden."""
    aimed = [one for one in found if one.comparison.bound is not None]
    reached = sum(one.verdict == "reached" for one in aimed)
    return f"{reached} of {len(aimed)} targets are reached; those that are not are shown, too."


def _table(found: Sequence[Outcome]) -> str:
    """One row per comparison; a problem is named once."""
    memory = any(part is not None for one in found for part in one.memory)
    head = ["problem", "sparsewise", "against", "measured", "answers"]
    rows, title = [head + (["memory", "target"] if memory else ["target"])], ""
    for one in found:
        rows.append(_row(one, "" if one.case.title == title else one.case.title, memory))
        title = one.case.title
    return markdown(rows)


def _row(one: Outcome, title: str, memory: bool) -> list[str]:
    c = one.comparison
    target = "" if c.bound is None else f"{_limit(c, c.bound)}: {one.verdict}"
    cells = [title, f"`{c.ours}`", _name(c.against), measured(one), one.answers]
    cells += [_memory(one), target] if memory else [target]
    return [cell.replace("|", "\\|") for cell in cells]


def _name(against: str) -> str:
    """Functions of our own are told from peers."""
    if against.startswith("bare "):
        return f"bare `{against.removeprefix('bare ')}`"
    return f"our `{against}`" if against in OURS else against


def _memory(one: Outcome) -> str:
    if one.memory == (None, None):
        return ""
    parts = one.memory[:1] if one.comparison.against in YARDSTICKS else one.memory
    return " : ".join("?" if part is None else percent(part) for part in parts)


def measured(one: Outcome) -> str:
    """The figure as a reader would say it, or why there is none."""
    if one.figure is None:
        return f"failed: {one.failure}"
    return _words(one.comparison, one.figure)


def _words(c: Comparison, figure: float) -> str:
    if c.against == GEMVS:
        return f"{figure:.2f} GEMVs per step"
    if c.against == THOUSAND:
        return f"{1000 * figure:,.0f} GEMVs"
    if c.measured == "extra time":
        return f"{duration(abs(figure))} {'more' if figure >= 0 else 'less'}"
    if c.against == ARRAY:
        return f"{percent(figure)} of it as extra memory"
    if figure > 0.8:
        return f"{figure:.2f}× the time"
    return f"{1 / figure:,.{0 if figure < 0.1 else 1}f}× quicker"


def _limit(c: Comparison, bound: float) -> str:
    """A bound as a reader would say it."""
    if bound == 1.0 and c.strict:
        return "quicker"
    words = _words(c, bound)
    if words.endswith("quicker"):
        return f"at least {words}"
    return f"less than {words}" if c.strict else f"at most {words}"
