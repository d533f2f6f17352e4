"""An environment whose names change gives what `evaluate` gives with the names as they are."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from argus.layout import expr as E
from argus.layout.evaluate import Environment
from argus.layout.expr import ExprError

LANE, I, J = E.var("lane", 0, 63), E.var("i", 0, 9), E.var("j", 0, 9)
EXPRESSIONS = (
    LANE * 4 + I,
    (LANE * 4 + I) // (J + 1) + I % 3,
    E.land((LANE + I).lt(J * 8), I.ge(1)),
    LANE // 8 * 128,
    I * 7 + J,
    E.select(J.lt(I), LANE, LANE * (I + (1 << 62))),
)
STEPS = st.lists(
    st.tuples(st.sampled_from(("i", "j", "remove j", "evaluate")), st.integers(0, 9)), min_size=1, max_size=30
)


@given(STEPS)
def test_values_are_those_of_the_names_as_they_are(steps: list[tuple[str, int]]) -> None:
    names: dict[str, object] = {"lane": np.arange(64), "i": 0, "j": 1}
    here = Environment({"lane": np.arange(64)})
    here["i"], here["j"] = 0, 1
    for what, number in steps:
        if what == "evaluate":
            e = EXPRESSIONS[number % len(EXPRESSIONS)]
            try:
                want = E.evaluate(e, names)  # type: ignore[arg-type]
            except (ExprError, OverflowError) as error:
                with pytest.raises(type(error)):
                    here.evaluate(e)
            else:
                assert np.array_equal(here.evaluate(e), want)
        elif what == "remove j":
            names.pop("j", None)
            here.remove("j")
        else:
            names[what] = number
            here[what] = number


def test_a_name_of_the_beginning_may_change() -> None:
    here = Environment({"lane": np.arange(4), "n": 2})
    assert here.evaluate(E.var("n") * 3) == 6
    here["n"] = 5
    assert here.evaluate(E.var("n") * 3) == 15
    assert here["n"] == 5
    assert dict(here.items())["n"] == 5
