"""The figures: what is drawn is what the functions say."""

import matplotlib
import numpy as np
import pytest

matplotlib.use("Agg")

import matplotlib.pyplot as plt

from sparsewise import plots, recovery_probability
from sparsewise.guarantees.recovery import orthonormal_recovery_probability


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


def drawn(ax):
    return {line.get_label(): line.get_xydata() for line in ax.get_lines()}


def test_recovery_probability_is_the_paper_s_figure_1(tmp_path):
    ax = plots.recovery_probability()
    curves = drawn(ax)
    for label, k, field in (
        ("Cai and Wang, any k", 1, "older"),
        ("proved here, any k", 1, "bound"),
        ("Thm. 4.5 as printed, k = 1", 1, "theorem"),
        ("Thm. 4.5 as printed, k = 4", 4, "theorem"),
    ):
        for delta, value in curves[label][::25]:
            assert value == pytest.approx(getattr(recovery_probability(16, k, delta), field))
    assert "16 columns" in ax.get_title()
    ax.figure.savefig(tmp_path / "figure.png")
    assert (tmp_path / "figure.png").stat().st_size > 10_000


def test_recovery_probability_at_given_points_and_axes():
    _, ax = plt.subplots()
    same = plots.recovery_probability(64, [2, 3], delta=[1.0, 2.0, 3.0], mu_k=0.1, mu_2k=0.2, ax=ax)
    assert same is ax
    curves = drawn(ax)
    expected = [recovery_probability(64, 3, d, 0.1, 0.2).theorem for d in (1.0, 2.0, 3.0)]
    np.testing.assert_allclose(curves["Thm. 4.5 as printed, k = 3"][:, 1], expected)
    # What orthonormal columns achieve belongs to a coherence of zero.
    assert not any("achieved" in label for label in curves)


def test_the_printed_theorem_exceeds_what_is_achieved_and_the_proved_bound_does_not():
    for delta in (1.0, 1.5, 2.0, 2.5):
        achieved = orthonormal_recovery_probability(16, 8, delta)
        promised = recovery_probability(16, 8, delta)
        assert promised.bound <= achieved < promised.theorem


def test_what_orthonormal_columns_achieve_against_a_simulation():
    rng = np.random.default_rng(0)
    m, k, delta, runs = 12, 3, 1.2, 100_000
    z = rng.standard_normal((runs, m))
    z[:, :k] += 2 * delta
    found = np.abs(z[:, :k]).min(axis=1) > np.abs(z[:, k:]).max(axis=1)
    expected = orthonormal_recovery_probability(m, k, delta)
    assert abs(found.mean() - expected) < 4 * (0.25 / runs) ** 0.5
    assert orthonormal_recovery_probability(5, 5, 0.1) == 1.0


def test_without_matplotlib_the_way_out_is_named(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r"pip install 'sparsewise\[plot\]'"):
        plots.recovery_probability()
