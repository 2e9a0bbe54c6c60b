"""The tests mirror the sources: a room each, and what is no room says why."""

from pathlib import Path

TESTS = Path(__file__).parent
SOURCES = TESTS.parent / "src" / "sparsewise"

NO_ROOMS = {
    "data": "tables, and what R's step says of them",
    "hostile": "a campaign of bad and awkward input against all rooms",
    "references": "naive versions to compare with, and tests of these",
    "reproduction": "mirrors reproduction/, beside the package",
}


def rooms(folder):
    """Its folders with Python in them."""
    return {path.parent.name for path in folder.glob("*/*.py")}


def test_every_room_has_its_tests():
    assert rooms(SOURCES) <= rooms(TESTS)


def test_every_folder_of_tests_has_its_room():
    assert rooms(TESTS) - rooms(SOURCES) == set(NO_ROOMS)
