"""Views of views: every operation against numpy's on an array of positions."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from hypothesis import given, settings
from hypothesis import strategies as st

from argus.plan.views import View, expanded, permuted, reshaped, sliced, whole

Positions = npt.NDArray[np.int64]


def positions(view: View) -> Positions:
    """Which element of the buffer stands at every index."""
    found = np.full(view.shape, view.offset, np.int64)
    for axis, step in enumerate(view.strides):
        along = np.arange(view.shape[axis]) * step
        found += along.reshape((-1,) + (1,) * (len(view.shape) - axis - 1))
    return found


@st.composite
def views(draw: st.DrawFn) -> tuple[View, Positions]:
    """A view after some permutations and slices, and the same of an array of positions."""
    shape = tuple(draw(st.lists(st.integers(1, 5), min_size=1, max_size=4)))
    view, array = whole("x", shape), np.arange(int(np.prod(shape))).reshape(shape)
    for _ in range(draw(st.integers(0, 3))):
        if draw(st.booleans()):
            dims = draw(st.permutations(range(len(shape))))
            view, array = permuted(view, dims), array.transpose(dims)
        else:
            dim = draw(st.integers(0, len(view.shape) - 1))
            start = draw(st.integers(0, view.shape[dim] - 1))
            stop, step = draw(st.integers(start + 1, view.shape[dim])), draw(st.integers(1, 2))
            index = [slice(None)] * len(view.shape)
            index[dim] = slice(start, stop, step)
            view, array = sliced(view, dim, start, stop, step), array[tuple(index)]
    return view, array


@settings(deadline=None)
@given(views())
def test_permutations_and_slices(drawn: tuple[View, Positions]) -> None:
    view, array = drawn
    assert (positions(view) == array).all()
    assert not view.row_major or (np.diff(positions(view).reshape(-1)) == 1).all()


@settings(deadline=None)
@given(views(), st.data())
def test_reshapes(drawn: tuple[View, Positions], data: st.DataObject) -> None:
    """A reshape that is found is numpy's; one that numpy does without a copy is found."""
    view, array = drawn
    count = view.elements
    first = data.draw(st.sampled_from([n for n in range(1, count + 1) if count % n == 0]))
    second = data.draw(st.sampled_from([n for n in range(1, count // first + 1) if (count // first) % n == 0]))
    shape = (first, second, count // first // second)
    made = reshaped(view, shape)
    if made is not None:
        assert (positions(made) == array.reshape(shape)).all()
    elif np.shares_memory(array.reshape(shape), array):
        raise AssertionError(f"{view} can be seen as {shape}")


@settings(deadline=None)
@given(views(), st.lists(st.integers(1, 3), max_size=2))
def test_broadcasts(drawn: tuple[View, Positions], front: list[int]) -> None:
    view, array = drawn
    shape = (*front, *(e if e > 1 else 4 for e in view.shape))
    assert (positions(expanded(view, shape)) == np.broadcast_to(array, shape)).all()
