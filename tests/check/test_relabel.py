"""Counting and tables agree with sorting, on arrays of any shape."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from argus.check.domain.record_numbers import distinct, distinct_rows, filled, relabelled

arrays = st.lists(st.integers(0, 40), min_size=1, max_size=24).map(lambda n: np.array(n, dtype=np.int32))


@given(arrays, st.integers(0, 99))
def test_every_number_is_replaced(record: np.ndarray, seed: int) -> None:
    numbers = np.unique(record)
    assert distinct(record) == numbers.tolist()
    change = {int(n): int(n) * seed % 101 for n in numbers}
    found = relabelled(record, change)
    assert found.tolist() == [change[int(n)] for n in record]


def test_an_array_of_one_number_is_shared_and_cannot_be_changed() -> None:
    one = filled((2, 64), 7)
    assert one is filled((2, 64), 7)
    assert not one.flags.writeable
    assert distinct(one) == [7]
    assert distinct(np.zeros((0, 3), dtype=np.int32)) == []


tables = st.integers(1, 4).flatmap(
    lambda width: st.lists(
        st.lists(st.integers(-9, 9) | st.integers(-(2**31), 2**31 - 1), min_size=width, max_size=width),
        min_size=1,
        max_size=24,
    )
)


@given(tables)
def test_distinct_rows_are_those_that_sorting_finds(table: list[list[int]]) -> None:
    key = np.array(table, dtype=np.int64)
    found, first, number = distinct_rows(key)
    expected = np.unique(key, axis=0, return_index=True, return_inverse=True)
    assert found.tolist() == expected[0].tolist()
    assert first.tolist() == expected[1].tolist()
    assert number.tolist() == expected[2].reshape(-1).tolist()


def test_no_rows_at_all() -> None:
    found, first, number = distinct_rows(np.zeros((0, 3), dtype=np.int32))
    assert found.shape == (0, 3)
    assert len(first) == len(number) == 0
