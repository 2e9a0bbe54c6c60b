"""Types that every room uses."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

Array = NDArray[Any]
"""An array of any floating-point type, real or complex."""
