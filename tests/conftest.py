"""What holds for all tests of a process."""

from __future__ import annotations

import gc

import pytest


@pytest.fixture(scope="module", autouse=True)
def own_time() -> None:
    """What the modules before left in memory is not walked by the garbage collector on a test's time: kernels, terms
    and translated objects that are kept for later fill a gigabyte, and some tests have a limit for their time."""
    gc.collect(1)
    gc.freeze()
