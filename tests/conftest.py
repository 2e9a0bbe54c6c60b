"""One BLAS thread, the fixed hypothesis profile, and a fixture for every storage of a matrix."""

import pytest
import scipy.linalg  # noqa: F401  (its BLAS must be there to be limited)
from hypothesis import settings
from threadpoolctl import threadpool_limits

from tests.storages import STORAGES, Storage

# On matrices this small threads cost far more than they bring, the more so with several workers.
threadpool_limits(1)

settings.register_profile("fixed", derandomize=True, deadline=None, database=None, max_examples=60)
settings.load_profile("fixed")


@pytest.fixture(params=STORAGES)
def store(request, tmp_path) -> Storage:
    """Each storage in turn."""
    return Storage(request.param, tmp_path)
