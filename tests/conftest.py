"""One BLAS thread, the fixed hypothesis profile, and a fixture for every storage of a matrix."""

import pytest
import scipy.linalg  # noqa: F401  (its BLAS must be there to be limited)
from hypothesis import HealthCheck, settings
from threadpoolctl import threadpool_limits

from tests.storages import STORAGES, Storage

# On matrices this small threads cost far more than they bring, the more so with several workers.
threadpool_limits(1)

# Nothing is timed: on a busy machine drawing an example may take long, too.
settings.register_profile(
    "fixed",
    derandomize=True,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    database=None,
    max_examples=60,
)
settings.load_profile("fixed")


@pytest.fixture(params=STORAGES)
def store(request, tmp_path) -> Storage:
    """Each storage in turn."""
    return Storage(request.param, tmp_path)
