"""How sure one may be of a selection: tests after it, and how stable it is."""

from sparsewise.inference.error_bounds import ErrorBound as ErrorBound
from sparsewise.inference.selective import SelectiveTests as SelectiveTests
from sparsewise.inference.selective import selective_tests as selective_tests
from sparsewise.inference.stability import StabilitySelection as StabilitySelection
