"""How well the estimators predict, used as a new user would.

``python -m reproduction.benchmarks.prediction`` measures ten-fold R² of rows held out, and how many
features it takes, on tables that are well known. Most come with ISLP, of which the tables alone are
needed: ``pip install --no-deps ISLP``.
"""

from __future__ import annotations

import argparse
import json
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from sklearn.datasets import load_diabetes
from sklearn.linear_model import ARDRegression, LassoCV
from sklearn.model_selection import KFold
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

from reproduction.document import rewrite
from reproduction.tables import markdown
from reproduction.tasks import boston
from sparsewise import SparseRegressor, StepwiseRegressor

PAGE = Path(__file__).resolve().parents[2] / "docs" / "prediction.md"
FOLDS, SHUFFLES = 10, 3

# --- tables ---------------------------------------------------------------------------------------


class Source(NamedTuple):
    """A table of ISLP: what is explained, what is left out, what are categories."""

    target: str
    log: bool = False
    without: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()


ISLP = {
    "Boston": Source("medv"),
    "Hitters": Source("Salary", log=True),
    "College": Source("Outstate"),
    "Bikeshare": Source(
        "bikers", log=True, without=("casual", "registered"), categories=("season", "hr", "weekday")
    ),
    "Auto": Source("mpg", without=("name",), categories=("origin",)),
    "Credit": Source("Balance", without=("ID",)),
    "Carseats": Source("Sales"),
    "Wage": Source("wage", log=True, without=("logwage", "region")),
}
WITH_PRODUCTS = ("diabetes", "Boston, 13 features", "Boston", "Auto", "Credit", "Carseats")
"""Tables that are tried with all squares and products of two features, too."""


def tables() -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """Name, features and target of each table there is."""
    for name, X, y in _plain():
        yield name, X, y
        if name in WITH_PRODUCTS:
            yield f"{name}, with products", products(X), y


def _plain() -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    yield "diabetes", *load_diabetes(return_X_y=True, scaled=False)
    yield "Boston, 13 features", *boston()
    spec = find_spec("ISLP")
    if spec is None or spec.origin is None:
        print("Other tables need: pip install --no-deps ISLP", file=sys.stderr)
        return
    for name, source in ISLP.items():
        frame = pl.read_csv(
            Path(spec.origin).parent / "data" / f"{name}.csv", null_values=["NA", ""]
        )
        yield name, *encoded(frame, source)


def encoded(frame: pl.DataFrame, source: Source) -> tuple[np.ndarray, np.ndarray]:
    """Features and target; of text, a column of zeros and ones for each level but one."""
    frame = frame.drop(source.without).drop_nulls()
    frame = frame.with_columns(pl.col(source.categories).cast(str))
    y = frame[source.target].cast(float).to_numpy()
    X = frame.drop(source.target)
    text = [name for name, kind in X.schema.items() if kind == pl.String]
    numbers = X.to_dummies(text, drop_first=True).cast(pl.Float64).to_numpy()
    return numbers, np.log(y) if source.log else y


def products(X: np.ndarray) -> np.ndarray:
    """Features, their squares and their products, without those that are there already."""
    P = PolynomialFeatures(2, include_bias=False).fit_transform(X)
    P = P[:, np.ptp(P, axis=0) > 0]
    first = np.unique(P, axis=1, return_index=True)[1]
    return P[:, np.sort(first)]


# --- contenders -----------------------------------------------------------------------------------


def standardised(model: Any) -> Any:
    """As scikit-learn's pages do."""
    return make_pipeline(StandardScaler(), model)


REFERENCES: dict[str, Callable[[], Any]] = {
    "LassoCV": lambda: standardised(LassoCV()),
    "ARDRegression": lambda: standardised(ARDRegression()),
    'StepwiseRegressor("bic")': lambda: StepwiseRegressor(criterion="bic"),
}
OURS: dict[str, Callable[[], Any]] = {
    "SparseRegressor()": SparseRegressor,
    "least squares": lambda: SparseRegressor(debias=True),
    '"bic"': lambda: SparseRegressor("bic"),
    '"bic", least squares': lambda: SparseRegressor("bic", debias=True),
    '"aic"': lambda: SparseRegressor("aic"),
    '"aic", least squares': lambda: SparseRegressor("aic", debias=True),
    '"cv"': lambda: SparseRegressor("cv"),
}


def score(make: Callable[[], Any], X: np.ndarray, y: np.ndarray) -> tuple[float, float]:
    """R² of rows held out, and features, on average over several shuffles."""
    r2, size = np.mean([held_out(make, X, y, shuffle) for shuffle in range(SHUFFLES)], axis=0)
    return float(r2), float(size)


def held_out(
    make: Callable[[], Any], X: np.ndarray, y: np.ndarray, shuffle: int
) -> tuple[float, float]:
    """R² of rows held out, of all folds together, and features on average."""
    predicted, sizes = np.empty(len(y)), []
    for train, test in KFold(FOLDS, shuffle=True, random_state=shuffle).split(X):
        model = make()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(X[train], y[train])
        predicted[test] = model.predict(X[test])
        last = model[-1] if isinstance(model, Pipeline) else model
        sizes.append(np.count_nonzero(last.coef_))
    r2 = 1 - np.sum((y - predicted) ** 2) / np.sum((y - y.mean()) ** 2)
    return float(r2), float(np.mean(sizes))


# --- false features -------------------------------------------------------------------------------

SHAPES = {(200, 20): 0, (50, 500): 0, (100, 300): 5}
"""Rows and columns of tables of random numbers, and how many of these matter."""

DRAWS = 10


def false_features(criterion: str, n: int, m: int, k: int) -> float:
    """Chosen features that don't matter, on average; those that do make up most of the target."""
    found = []
    for draw in range(DRAWS):
        rng = np.random.default_rng(draw)
        X = rng.standard_normal((n, m))
        y = X[:, :k].sum(axis=1) + (0.6 * k**0.5 or 1.0) * rng.standard_normal(n)
        found.append(SparseRegressor(criterion).fit(X, y).get_support()[k:].sum())
    return float(np.mean(found))


def noise_page() -> str:
    """A row for each shape of table."""
    criteria = ("ric", "bic", "aic")
    rows = [["table", *(f'`"{name}"`' for name in criteria)]]
    for (n, m), k in SHAPES.items():
        cells = (f"{false_features(name, n, m, k):.1f}" for name in criteria)
        rows.append([f"{n}×{m}, {k} features matter", *cells])
    return markdown(rows)


# --- the page -------------------------------------------------------------------------------------

Scores = dict[str, tuple[float, float]]


def short_of(scores: Scores) -> dict[str, float]:
    """By how much each is better than the best of the references."""
    best = max(scores[name][0] for name in REFERENCES)
    return {name: r2 - best for name, (r2, _) in scores.items()}


def page(found: dict[str, tuple[tuple[int, int], Scores]]) -> str:
    """A row for each table, and the averages."""
    names, every = [*REFERENCES, *OURS], [scores for _, scores in found.values()]

    def average(of: Callable[[Scores, str], float], form: str) -> list[str]:
        means = (np.mean([of(scores, name) for scores in every]) for name in names)
        return [format(mean, form).replace("-", "−") for mean in means]

    rows = [["table", *(f"`{name}`" for name in names)]]
    for table, ((n, m), scores) in found.items():
        cells = (f"{scores[name][0]:.3f} ({scores[name][1]:.0f})" for name in names)
        rows.append([f"{table}, {n}×{m}", *cells])
    above = average(lambda scores, name: short_of(scores)[name], "+.4f")
    rows.append(["**R² above the best of the first three, on average**", *above])
    sizes = average(lambda scores, name: scores[name][1] / scores["LassoCV"][1], ".2f")
    rows.append(["**features relative to LassoCV, on average**", *sizes])
    return markdown(rows)


def main(words: Sequence[str] | None = None) -> None:
    """Measure, print, and with --write rewrite docs/prediction.md."""
    parser = argparse.ArgumentParser(
        prog="python -m reproduction.benchmarks.prediction", description=__doc__
    )
    parser.add_argument("--table", action="append", metavar="NAME", help="this table alone")
    parser.add_argument("--write", action="store_true", help="rewrite docs/prediction.md")
    parser.add_argument(
        "--json", type=Path, metavar="FILE", help="keep the figures; those it has stay as they are"
    )
    args = parser.parse_args(words)
    kept = json.loads(args.json.read_text()) if args.json and args.json.exists() else {}
    found: dict[str, tuple[tuple[int, int], Scores]] = {}
    for name, X, y in tables():
        if args.table and name not in args.table:
            continue
        scores = kept.setdefault(name, {})
        for contender, make in (REFERENCES | OURS).items():
            if contender not in scores:
                scores[contender] = score(make, X, y)
                if args.json:
                    args.json.write_text(json.dumps(kept, indent=1))
        found[name] = X.shape, scores
        print(name, file=sys.stderr, flush=True)
    told = {"prediction": page(found)}
    if not args.table:
        told["noise"] = noise_page()
    print("\n\n".join(told.values()))
    if args.write:
        rewrite(PAGE, told)


if __name__ == "__main__":
    main()
