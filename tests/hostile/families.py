"""All families: importing this enters them (a line for each file of cases)."""

from tests.hostile import algorithms as algorithms
from tests.hostile import bad_data as bad_data
from tests.hostile import commands as commands
from tests.hostile import condensed as condensed
from tests.hostile import estimators as estimators
from tests.hostile import faults as faults
from tests.hostile import files as files
from tests.hostile import guarantees as guarantees
from tests.hostile import inference as inference
from tests.hostile import invariances as invariances
from tests.hostile import l1 as l1
from tests.hostile import operators as operators
from tests.hostile import search as search
from tests.hostile import words as words
