"""What there is to say of a fitted model: data, and three renderers (text, HTML, terminal).

Rich, which the terminal needs, is imported by `summary.terminal` alone.
"""

from sparsewise.summary.contents import Description
from sparsewise.summary.plain_text import Summary

__all__ = ["Description", "Summary"]
