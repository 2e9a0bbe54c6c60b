"""A small experiment, and what can be compared of its results."""

from reproduction.declaration import Contender, Experiment

OMP = Contender("OMP", "omp", {"residual": "delta"})
RMP = Contender("RMP_σ", "rmp", {"sigma": "delta"})
BP = Contender("BP", "bpdn", {"residual": "delta"}, threshold="0.1*delta")

GRID = {"n": (12,), "m": (20,), "k": (2, 4), "noise": (5e-3,)}
CLOCKED = ("seconds", "total_seconds")


def small(name="small", contenders=(OMP, RMP, BP), grid=GRID, realizations=4, **more):
    return Experiment(name, name.title(), grid, tuple(contenders), realizations, **more)


def untimed(rows):
    """All but how long it took."""
    return [{name: row[name] for name in row if name not in CLOCKED} for row in rows]
