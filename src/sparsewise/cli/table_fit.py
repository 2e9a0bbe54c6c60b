"""A model fitted to a table, with what only the table can say."""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from sparsewise._util.text import count, printable
from sparsewise.cli import methods
from sparsewise.cli.options import condensed, dependent_columns, gathered, load, reduced, workers
from sparsewise.cli.spelling import as_option
from sparsewise.errors import InputError, InputWarning

if TYPE_CHECKING:
    from sparsewise.estimators.base import SparseLinearModel
    from sparsewise.estimators.frames import Frame
    from sparsewise.io.tables import Table
    from sparsewise.summary import Description

# A certificate takes about n m² steps, or 50 m² where there are fewer rows: its m² inner products
# are sorted, too. So many take a second or two, which is no longer than reading such a table.
MOST_STEPS = 5e9
# Seconds that fit has for an exact search: certify is there for those who can wait.
SHORT_SEARCH = 1.0


@dataclass(frozen=True)
class TableFit:
    """A fitted model, its description, and the table that it is of."""

    method: str
    model: SparseLinearModel
    description: Description
    table: Table
    notes: tuple[str, ...]
    interrupted: bool

    def facts(self) -> Iterator[tuple[str, str]]:
        """Yield what is said of the model, with notes on the table."""
        for label, sentence in self.description.sentences(as_option):
            if label != "rows":  # the table says more of them
                yield label, sentence
        yield "advice", self.description.stop.advised(as_option)
        yield from self.table_facts()

    def table_facts(self) -> Iterator[tuple[str, str]]:
        """Yield notes, and one line on the table and the method."""
        if any(row.log_evidence is not None for row in self.description.path):
            yield "path", "the log evidence of every step is that at the final σ"
        for note in self.notes:
            yield "note", note
        rows = count(self.table.rows, "row")
        if (weights := self.table.schema.weights) is not None:
            rows += f" of weight {self.model.n_rows_:g} by {printable(weights)}"
        passes = count(self.description.passes, "pass", "passes")
        yield (
            "table",
            f"{printable(self.table.label)}: {rows}, {count(len(self.table.names), 'feature')}; "
            f"method {self.method}, {passes} over A",
        )

    def fields(self, **model: Any) -> dict[str, Any]:
        """Return the table, the model and its path, ready for JSON."""
        from sparsewise.summary.r2 import finite

        return {
            "table": self.table.label,
            "target": self.table.target,
            "method": self.method,
            "rows": self.table.rows,
            "dropped": self.table.dropped,
            "weight": float(self.model.n_rows_),
            "candidates": len(self.table.names),
            **model,
            "notes": [*model.get("notes", ()), *self.notes],
            "path": [
                {
                    name: finite(value) if isinstance(value, float) else value
                    for name, value in row.items()
                }
                for row in path_frame(self.model).to_dicts()
            ],
        }


def path_frame(model: SparseLinearModel) -> Frame:
    """Return the path as a Polars frame, whatever the rows came in."""
    from sparsewise.estimators.frames import as_frame

    return as_frame(model._path_columns(), "polars")


def fit_table(
    args: argparse.Namespace, default: str | None = None, path_only: bool = False
) -> TableFit:
    """Fit a model by the arguments, without a certificate where only its path is shown."""
    parameters = methods.given_parameters(args)
    methods.check_names(parameters)
    method = methods.choose(args.method or default, parameters)

    from sparsewise._util.progress import waiting
    from sparsewise.engine.halting import interruptible
    from sparsewise.estimators import for_algorithm
    from sparsewise.estimators.describe import describe
    from sparsewise.results import Stop
    from sparsewise.summary.r2 import WITHOUT_INTERCEPT

    model = for_algorithm(method, **parameters, fit_intercept=not args.no_intercept)
    start = methods.beginning(method, parameters, args.start)
    with workers(args) as cluster:
        table, include = load(args, method, cluster)
        rows = _rows(table, model)
    if start != "auto":
        model.set_params(start=start if isinstance(start, str) else table.features_named(start))
    certify = SHORT_SEARCH if not path_only and _can_be_certified(table) else False
    model.set_params(include=include or None, certify=certify)
    with (
        waiting("fitting", unasked=True),
        warnings.catch_warnings(record=True) as caught,
        interruptible(),
    ):
        warnings.simplefilter("always")
        try:
            model.fit(*rows)
        except InputError:  # which may be but a consequence of what is included
            _check_included(rows, table, include, model.fit_intercept)
            raise
    interrupted = model.solution_.stop is Stop.INTERRUPTED
    # Our own are part of the description.
    others = [entry.message for entry in caught if not isinstance(entry.message, InputWarning)]
    notes = [*table.notes, *(str(message) for message in others if not path_only)]
    if cluster is not None and len(rows) == 1:
        notes.append(f"the rows were condensed into a triangle by {cluster.name}")
    if args.no_intercept:
        notes.append(WITHOUT_INTERCEPT)
    if interrupted:
        notes.append("Ctrl-C ended it early: the model is the one met so far")
    description = describe(model)
    if isinstance(table.target, str):  # of several, the model knows the names
        description = replace(description, target=table.target)
    return TableFit(method, model, description, table, tuple(notes), interrupted)


def _rows(table: Table, model: SparseLinearModel) -> tuple[Any, ...]:
    """Return the rows as `fit` takes them, with the folds that the model asks for."""
    criterion = model.get_params().get("criterion")
    if table.data is None and criterion == "loo":
        table = gathered(table)  # of condensed rows none can be left out
    if table.data is None:
        return (condensed(table, model.get_params()["cv"] if criterion == "cv" else None),)
    if table.data.folds is not None:
        from sklearn.model_selection import PredefinedSplit

        model.set_params(
            cv=PredefinedSplit([table.folds.index(label) for label in table.data.folds])
        )
    return table.data.features, table.data.target, table.data.weights


def _check_included(
    rows: tuple[Any, ...], table: Table, include: list[str], intercept: bool
) -> None:
    """Raise an error for features that can't be in any model together, and name them."""
    from sparsewise.estimators.base import indistinguishable

    columns = table.positions(include)
    if not columns:
        return
    [design, _] = rows[0].system(intercept) if len(rows) == 1 else reduced(table, intercept)[:2]
    if dependent := dependent_columns(design, columns):
        raise indistinguishable(table.names[j] for j in dependent)


def _can_be_certified(table: Table) -> bool:
    """Return whether a certificate takes no longer than reading the table."""
    m = len(table.names)
    n = m if table.data is None else table.rows
    return max(n, 50) * m**2 <= MOST_STEPS
