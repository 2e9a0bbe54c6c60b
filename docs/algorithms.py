"""Write the README's table of algorithms from the registry: ``python docs/algorithms.py``."""

from __future__ import annotations

from pathlib import Path

from sparsewise import ALGORITHMS, Algorithm

README = Path(__file__).resolve().parent.parent / "README.md"
BEGIN, END = "<!-- algorithms:begin -->", "<!-- algorithms:end -->"


def table() -> str:
    """A row for each algorithm, in the order of the registry."""
    head = "| function | what it does | good for | stops by |\n|---|---|---|---|\n"
    return head + "".join(map(row, ALGORITHMS.values()))


def row(algorithm: Algorithm) -> str:
    """What its file says of it."""
    stops = ", ".join(f"`{name}`" for name in algorithm.stopping)
    cells = (f"`{algorithm.name}`", algorithm.headline, algorithm.good_for, stops)
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |\n"


def rewritten(page: str) -> str:
    """The page with the table between its markers."""
    before, rest = page.split(BEGIN)
    return f"{before}{BEGIN}\n{table()}{END}{rest.split(END)[1]}"


if __name__ == "__main__":
    README.write_text(rewritten(README.read_text(encoding="utf-8")), encoding="utf-8")
