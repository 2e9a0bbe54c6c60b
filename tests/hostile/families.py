"""All families: importing this enters them (a line for each file of cases)."""

from tests.hostile import estimators  # noqa: F401
