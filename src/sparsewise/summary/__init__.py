"""What there is to say of a fitted model: data, and three renderers (text, HTML, terminal).

Rich, which the terminal needs, is imported by `description.terminal` alone.
"""

from sparsewise.summary.contents import (
    Coefficient,
    Description,
    Fact,
    PathRow,
    Response,
    ValidationCurve,
)
from sparsewise.summary.plain_text import Summary

__all__ = [
    "Coefficient",
    "Description",
    "Fact",
    "PathRow",
    "Response",
    "Summary",
    "ValidationCurve",
]
