"""All families: importing this enters them (a line for each file of cases)."""

from tests.hostile import algorithms  # noqa: F401
from tests.hostile import commands  # noqa: F401
from tests.hostile import estimators  # noqa: F401
from tests.hostile import files  # noqa: F401
from tests.hostile import guarantees  # noqa: F401
from tests.hostile import l1  # noqa: F401
