"""Data frames out: of the kind that is asked for, or came in."""

from __future__ import annotations

import sys
from typing import Any

Frame = Any
"""A pandas or Polars data frame."""


def frame_kind(X: Any) -> str:
    """pandas or polars: the kind of frame X is; polars for everything else."""
    pandas = sys.modules.get("pandas")  # whoever holds a frame has imported it
    return "pandas" if pandas is not None and isinstance(X, pandas.DataFrame) else "polars"


def wanted_kind(estimator: Any) -> str | None:
    """The kind of frame that `set_output`, or scikit-learn's configuration, asks for."""
    from sklearn import get_config

    default = get_config()["transform_output"]
    kind = getattr(estimator, "_sklearn_output_config", {}).get("transform", default)
    return kind if kind in ("pandas", "polars") else None


def as_frame(columns: dict[str, list[Any]], kind: str) -> Frame:
    """Named columns as a frame of this kind."""
    if kind == "pandas":
        import pandas

        return pandas.DataFrame(columns)
    import polars

    return polars.DataFrame(columns, strict=False)
