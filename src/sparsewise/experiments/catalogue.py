"""Every experiment that the package declares, and the names that the command line has for them."""

from __future__ import annotations

from sparsewise.experiments import beyond, paper, shared_support
from sparsewise.experiments.declaration import Experiment

DECLARED = paper.EXPERIMENTS | beyond.EXPERIMENTS | shared_support.EXPERIMENTS
"""All of them by name."""

QUICK = paper.QUICK | beyond.QUICK | shared_support.QUICK
"""What is smaller in a quick look."""

GROUPS: dict[str, dict[str, Experiment]] = {
    "all": paper.EXPERIMENTS,
    "beyond": beyond.EXPERIMENTS,
}
"""Names for several at once."""


def named(name: str) -> list[Experiment]:
    """The experiments that a name of the command line stands for."""
    return list(GROUPS[name].values()) if name in GROUPS else [DECLARED[name]]


def is_among(experiment: Experiment, experiments: dict[str, Experiment]) -> bool:
    """Whether it is one of these, perhaps made smaller; a name alone does not tell."""
    declared = experiments.get(experiment.name)
    return (
        declared is not None
        and declared.title == experiment.title
        and all(one in declared.contenders for one in experiment.contenders)
    )
