"""All families: importing this enters them (a line for each file of cases)."""

from tests.hostile import algorithms as algorithms
from tests.hostile import l1 as l1
