"""A small, fixed part of the campaign; and every oracle is shown to be able to fail."""

import pytest

import tests.hostile.families  # noqa: F401  (enters them)
from tests.hostile.campaign import FAMILIES, FAULTS, ORACLES, Case, objection

SEED = 0
BLOCKS = 4
CASES_PER_BLOCK = 16
#: As many cases as a fault may need to show.
PATIENCE = 200


@pytest.mark.parametrize("block", range(BLOCKS))
@pytest.mark.parametrize("family", FAMILIES)
def test_hostile_cases(family, block):
    for number in range(block * CASES_PER_BLOCK, (block + 1) * CASES_PER_BLOCK):
        case = Case(family, SEED, number)
        failure = objection(case)
        assert failure is None, f"{family} {SEED} {number}: {failure}\n{', '.join(case.recipe)}"


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: f"{fault.oracle}-{fault.name}")
def test_an_oracle_notices_its_fault(fault):
    with fault.broken():
        objections = (objection(Case(fault.family, SEED, i)) for i in range(PATIENCE))
        assert any(o is not None and o.oracle == fault.oracle for o in objections)


def test_every_oracle_has_its_fault():
    assert {fault.oracle for fault in FAULTS} == set(ORACLES)
