"""The bank calendar against a clock-by-clock array."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from argus.clock.banks import BankCalendar


@settings(derandomize=True, max_examples=200, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 60), st.integers(1, 20)), min_size=1, max_size=12))
def test_first_free_clocks(bookings: list[tuple[int, int]]) -> None:
    banks, slots = BankCalendar(), [False] * 500
    for start, clocks in bookings:
        at = start
        for _ in range(clocks):
            while slots[at]:
                at += 1
            slots[at] = True
        assert banks.book(start, clocks) == at + 1


def test_forgetting_the_past_changes_nothing_later() -> None:
    banks = BankCalendar()
    banks.book(0, 10)
    banks.book(20, 10)
    banks.forget(15)
    assert banks.busy == [(20, 30)]
    assert banks.book(16, 6) == 32
