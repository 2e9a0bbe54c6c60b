"""Without Polars and Rich, the extra ``cli``: everything but the command line, which says so."""

import subprocess
import sys

import pytest

from tests.kernels.tracing import INTERPRETED

HIDE = """
import sys

class Hide:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("polars", "rich"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Hide())
"""
FIT = """
import numpy as np
import sparsewise as sw
from sparsewise._util import progress
from sparsewise.io.model import LinearModel

rng = np.random.default_rng(0)
X = rng.standard_normal((40, 6))
y = 3 * X[:, 1] - X[:, 4] + 0.1 * rng.standard_normal(40)
for model in (sw.SparseRegressor(), sw.StepwiseRegressor(), sw.SparseBayesRegressor()):
    print(model.fit(X, y).summary())
    LinearModel.from_estimator(model, target="y").save("model.json")
    loaded = LinearModel.load("model.json")
    assert loaded.features == ("x1", "x4")
    np.testing.assert_allclose(loaded.predict(X[:, [1, 4]]), model.predict(X))
# Where somebody waits at a terminal, the work goes on without a bar.
progress.PATIENCE, progress.is_watched = 0.0, lambda: True
with progress.waiting("working", 2) as wait:
    wait.update(1)
assert not {"polars", "rich"} & sys.modules.keys()
"""
MAIN = "from sparsewise.cli import main; sys.exit(main(sys.argv[1:]))"


def without(code, folder, *args):
    return subprocess.run(
        [sys.executable, "-c", HIDE + code, *args],
        capture_output=True, text=True, cwd=folder, timeout=300,
    )  # fmt: skip


def test_estimators_summaries_and_models_do_without(tmp_path):
    done = without(FIT, tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.count("x4") >= 3


@pytest.mark.parametrize("command", ["fit --example diabetes", "algorithms", "predict m t"])
def test_the_command_line_says_what_to_install(tmp_path, command):
    done = without(MAIN, tmp_path, *command.split())
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "sparsewise: the command line needs polars, which is not installed; "
        'install it with: pip install "sparsewise[cli]"\n'
    )


@pytest.mark.parametrize("command", ["", "--version", "fit --help"])
def test_help_does_without(tmp_path, command):
    done = without(MAIN, tmp_path, *command.split())
    assert (done.returncode, done.stderr) == (0, "")
    assert "sparsewise" in done.stdout


@pytest.mark.skipif(INTERPRETED, reason="nothing is compiled")
def test_warm_up_does_without(tmp_path):
    done = without(MAIN, tmp_path, "warm-up")
    assert done.returncode == 0, done.stderr
    assert "Compiled in" in done.stdout
