"""What there is to say of a fitted model: data, and three renderers (text, HTML, terminal).

Rich, which the terminal needs, is imported by `summary.terminal` alone.
"""

from sparsewise.summary.contents import Description as Description
from sparsewise.summary.plain_text import Summary as Summary
