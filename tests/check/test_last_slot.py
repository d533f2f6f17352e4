"""The last slot of a ring, read after its loop: every rule but `covers` proves it; wrong slots are not proved.

`covers` does not join the turns of a ring whose last round is cut off with what is stored after the loop.
"""

from __future__ import annotations

import pytest

from argus.check.engine import decide
from argus.check.rules.fresh import Fresh
from argus.check.rules.in_bounds import InBounds
from argus.check.rules.placed import Placed
from argus.check.rules.race_free import RaceFree
from argus.check.rules.value import Valued
from argus.lang import read
from tests.check.classes.machine_truth import object_of, truth
from tests.check.classes.table import CLASSES

ATTACK = next(one for one in CLASSES if one.name == "last_slot")


@pytest.mark.parametrize("case", range(ATTACK.variants))
def test_only_the_last_slot_is_proved(case: int) -> None:
    kernel = read(ATTACK.path, settings={"CASE": case})
    report = decide(kernel, [RaceFree(), Fresh(), InBounds(), Placed(), Valued()])
    assert (report.status == "proved") == (case in ATTACK.exact), report.render()


@pytest.mark.parametrize("case", sorted(ATTACK.exact))
def test_it_is_right_on_the_machine(case: int) -> None:
    kernel = read(ATTACK.path, settings={"CASE": case})
    compiled = object_of(kernel)
    assert not isinstance(compiled, str), compiled
    assert truth(kernel, compiled, ATTACK) == ""
