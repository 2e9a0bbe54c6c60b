"""Contenders that are packages of R: a script of reproduction/r is given tables in a file."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from sparsewise._typing import Array

SCRIPTS = Path(__file__).with_name("r")


@dataclass(frozen=True)
class RPeer:
    """A package of R, and the script that calls it.

    Attributes
    ----------
    package : str
        The package.
    script : str
        A file of reproduction/r, which prints a line for each table.
    """

    package: str
    script: str

    def __call__(self, tables: Sequence[tuple[Array, Array]]) -> list[str]:
        """The line that the script prints for each pair of columns and target."""
        with TemporaryDirectory() as folder:
            path = Path(folder) / "tables"
            with path.open("wb") as file:
                for A, y in tables:
                    for part in (np.array(A.shape), A.ravel(order="F"), y):
                        part.astype(float).tofile(file)
            command = ["Rscript", str(SCRIPTS / self.script), str(path)]
            ended = subprocess.run(command, capture_output=True, text=True, check=False)
        lines = ended.stdout.splitlines()
        if ended.returncode or len(lines) != len(tables):
            raise RuntimeError(f"{self.script} failed: {ended.stderr.strip()}")
        return lines

    @property
    def missing(self) -> bool:
        """Whether R or the package is not installed."""
        return not _has(self.package)


@cache
def _has(package: str) -> bool:
    if shutil.which("Rscript") is None:
        return False
    asked = f'quit(status = !requireNamespace("{package}", quietly = TRUE))'
    return (
        subprocess.run(["Rscript", "-e", asked], capture_output=True, check=False).returncode == 0
    )


R_PEERS = {"R.susieR": RPeer("susieR", "susie.R"), "R.BMS": RPeer("BMS", "bms.R")}
"""All of them by name."""
