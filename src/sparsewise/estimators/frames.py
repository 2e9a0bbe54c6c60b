"""Data frames: of which kind X is, and columns as a frame of that kind."""

from __future__ import annotations

import sys
from typing import Any

from sparsewise._typing import Array

Frame = Any
"""A pandas or Polars data frame, or a dict of columns."""


def frame_kind(X: Any) -> str:
    """The kind of data frame that X is: "pandas", "polars", or "" for anything else."""
    for kind in ("pandas", "polars"):
        package = sys.modules.get(kind)  # a frame can't exist before its package is imported
        if package is not None and isinstance(X, package.DataFrame):
            return kind
    return ""


def as_frame(columns: dict[str, Array], kind: str) -> Frame:
    """Columns as a data frame of this kind; as they are for no kind.

    Numbers that are unknown are NaN, in Polars null.
    """
    if not kind:
        return columns
    # Text as lists, whose types both packages infer.
    lists = {name: c.tolist() if c.dtype == object else c for name, c in columns.items()}
    if kind == "pandas":
        import pandas

        return pandas.DataFrame(lists)
    import polars

    return polars.DataFrame(lists, nan_to_null=True)
