"""What of a table is used, chosen by name; and what follows once all rows were looked at."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from sparsewise._util.text import listing, look_up, quoted
from sparsewise.errors import InputError, Parameter
from sparsewise.io.model import MISSING_LEVEL, Source
from sparsewise.io.tables import validation as refusals
from sparsewise.io.tables.columns import Requested, check_once, check_roles
from sparsewise.io.tables.imputing import Find
from sparsewise.io.tables.layout import Layout
from sparsewise.io.tables.profile import Survey, Wanted

IMPUTE = ("median", "indicator")
"""How missing values may be filled in."""


@dataclass(frozen=True)
class Choice:
    """Targets, features, weights and folds by name, with what is wanted of the rows for them."""

    targets: tuple[str, ...]
    fold: str | None
    requested: Requested
    sources: tuple[str, ...]
    wanted: Wanted
    drop_missing: bool
    impute: str | None

    @classmethod
    def among(
        cls,
        columns: Sequence[str],
        *,
        target: str | Sequence[str] | None,
        features: Sequence[str] | None = None,
        exclude: Sequence[str] = (),
        chosen: Sequence[str] = (),
        categorical: Sequence[str] = (),
        weights: str | None = None,
        fold: str | None = None,
        drop_missing: bool = False,
        impute: str | None = None,
    ) -> Choice:
        """Choose among the columns of a table; parameters as for `select`."""
        if impute is not None:
            look_up([impute], IMPUTE, "way to impute")
        if target is None:
            raise InputError(
                f"is needed: one of the columns {listing(columns)}", parameter="target"
            )
        targets = (target,) if isinstance(target, str) else tuple(target)
        role = "the target" if len(targets) == 1 else "a target"
        others = [("the weights", weights), ("the folds", fold)]
        roles = [(role, name) for name in targets]
        roles += [(role, name) for role, name in others if name is not None]
        taken = [name for _, name in roles]
        look_up([*taken, *categorical], columns, "column")
        check_once(targets)
        check_roles(roles, (*(features or ()), *chosen), categorical)
        indicated = impute == "indicator"
        requested = Requested(columns, set(taken), features, exclude, set(categorical), indicated)
        for name in chosen:
            requested.source(name)
        sources = requested.sources()
        if not sources:
            besides = "the target" if len(targets) == 1 else "the targets"
            raise InputError(f"no features are left: the table needs a column besides {besides}")
        names = tuple(dict.fromkeys([*taken, *sources]))
        levels = frozenset(categorical) | ({fold} if fold is not None else frozenset())
        filled = frozenset(sources if impute else ())
        wanted = Wanted(names, levels & frozenset(names), weights, filled=filled)
        return cls(targets, fold, requested, tuple(sources), wanted, drop_missing, impute)

    def fills(self, find: Find, survey: Survey) -> dict[str, float]:
        """Return what stands for missing numbers, for each column of them."""
        columns = [
            name
            for name in self.sources
            if name not in self.requested.categorical and not survey.columns[name].refused
        ]
        return find(columns, self.wanted.weights, _truths(survey))

    def layout(self, survey: Survey, label: str, several: bool, find: Find) -> Layout:
        """Return how rows become numbers, or raise an error for what can't.

        Where missing values are to be filled in, `find` tells the medians of columns.
        """
        weights = self.wanted.weights
        roles = [("target", name) for name in self.targets]
        others = [("column of weights", weights), ("column of folds", self.fold)]
        roles += [(role, name) for role, name in others if name is not None]
        refusals.refuse_text(survey, roles, several)
        refusals.refuse_no_rows(survey, label)
        left_out = refusals.refuse_missing(survey, self.drop_missing, self.wanted.filled)
        encoding, constant = refusals.encoding_of(
            survey, self.sources, self.requested.categorical, self.wanted.filled
        )
        if self.impute is not None:
            fills = self.fills(find, survey)
            encoding = tuple(self._imputed(source, survey, fills) for source in encoding)
        names = self.requested.names(encoding)
        if not names:
            raise InputError("no features are left: the table needs one that varies")
        refusals.refuse_large(survey, several)
        if weights is not None:
            refusals.refuse_weights(survey, weights, several)
        return Layout(
            label=label,
            names=names,
            targets=self.targets,
            wanted=self.wanted,
            rows=survey.kept,
            counted_rows=survey.counted,
            encoding=encoding,
            truths=_truths(survey),
            folds=() if self.fold is None else refusals.folds_of(survey, self.fold),
            fold=self.fold,
            dropped=survey.rows - survey.kept,
            notes=(
                *self.requested.notes,
                *left_out,
                *self._told(survey),
                *constant,
                *refusals.odd_columns(survey, encoding),
            ),
        )

    def _imputed(self, source: Source, survey: Survey, fills: Mapping[str, float]) -> Source:
        """Return a column with what stands for its missing values."""
        missing = survey.columns[source.name].missing > 0
        if source.levels is not None:
            return replace(source, fill=MISSING_LEVEL if missing else None)
        indicator = missing and self.impute == "indicator"
        return replace(source, fill=fills[source.name], indicator=indicator)

    def _told(self, survey: Survey) -> list[str]:
        """Return a note on missing values that are filled in."""
        missing = refusals.missing_counts(survey, self.wanted.filled)
        return [f"missing values filled in: {missing}"] if missing else []


def _truths(survey: Survey) -> frozenset[str]:
    """Return the columns of text that say true and false."""
    return frozenset(name for name, found in survey.columns.items() if found.is_truth)


@dataclass(frozen=True)
class Needed:
    """What a model needs of a table: columns, their levels, and the features made of them.

    Rows that lack some of it are refused, or blank.
    """

    encoding: tuple[Source, ...]
    names: tuple[str, ...]
    blank: bool = False

    @property
    def wanted(self) -> Wanted:
        """What is looked for in the rows."""
        known = {source.name: source.levels for source in self.encoding if source.levels}
        columns = tuple(source.name for source in self.encoding)
        filled = frozenset(source.name for source in self.encoding if source.fill is not None)
        return Wanted(
            columns, frozenset(known), known=known, filled=filled, skip_unknown=self.blank
        )

    def check_columns(self, columns: Sequence[str], label: str) -> None:
        """Raise an error for columns that are not there."""
        lacking = [name for name in self.wanted.names if name not in columns]
        if lacking:
            some = "a column" if len(lacking) == 1 else "columns"
            raise InputError(f"{label} lacks {some} that the model needs: {listing(lacking)}")

    def layout(self, survey: Survey, label: str, several: bool) -> Layout:
        """Return how rows become numbers, or raise an error for what can't."""
        refused = {name: found for name, found in survey.columns.items() if found.refused}
        refusals.refuse_commas(refused, several)
        for name, found in refused.items():
            file = found.first.file if found.first is not None else label
            raise InputError(
                f"column {quoted(name)} of {file} holds {refusals.held(found, several)}, "
                "where the model needs numbers"
            )
        refusals.refuse_no_rows(survey, label)
        if not self.blank:
            self._refuse_incomplete(survey, several)
        refusals.refuse_large(survey, several)
        return Layout(
            label=label,
            names=self.names,
            targets=(),
            wanted=self.wanted,
            rows=survey.kept,
            counted_rows=survey.kept,
            encoding=self.encoding,
            truths=_truths(survey),
        )

    def _refuse_incomplete(self, survey: Survey, several: bool) -> None:
        """Raise an error for missing values, and for levels that the model does not know."""
        numbers = frozenset(survey.columns) - self.wanted.filled
        if missing := refusals.missing_counts(survey, numbers):
            needs = "the model needs them all: leave predictions blank with "
            raise InputError(
                f"missing values (of {survey.rows} rows): {missing}",
                (needs, Parameter("missing", "blank")),
            )
        refusals.refuse_unknown(survey, self.encoding, several)
