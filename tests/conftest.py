"""One BLAS thread, the fixed hypothesis profile, and a fixture for every storage of a matrix."""

import os

import pytest
import scipy.linalg  # noqa: F401  (its BLAS must be there to be limited)
from hypothesis import HealthCheck, settings
from threadpoolctl import threadpool_limits

from sparsewise.kernels import compile_first
from tests.storages import STORAGES, Storage

# A test has the same digits whatever was compiled before; so have the processes it starts.
compile_first()
os.environ["SPARSEWISE_COMPILE"] = "first"

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
def store(request) -> Storage:
    """Each storage in turn."""
    # A folder for each of thousands of tests takes longer than they do.
    filed = request.param == "memory-mapped"
    return Storage(request.param, request.getfixturevalue("tmp_path") if filed else None)


# No longer than a file needs it: idle workers and their scheduler take a tenth of a core.
@pytest.fixture(scope="module")
def dask_cluster():
    """Two worker processes of one thread each."""
    distributed = pytest.importorskip("distributed", reason="Dask is not installed")
    with distributed.LocalCluster(
        n_workers=2,
        threads_per_worker=1,
        memory_limit="1GiB",
        dashboard_address=":0",
        silence_logs=50,  # of a worker that is killed, much is told
    ) as cluster:
        yield cluster


@pytest.fixture
def dask_client(dask_cluster):
    """The client that Dask collections find by themselves."""
    from distributed import Client

    with Client(dask_cluster) as client:
        client.wait_for_workers(2, timeout=60)
        yield client
