"""What holds for all tests of a process."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest


@pytest.fixture(scope="module", autouse=True)
def own_time() -> None:
    """What the modules before left in memory is not walked by the garbage collector on a test's time: kernels, terms
    and translated objects that are kept for later fill a gigabyte, and some tests have a limit for their time."""
    gc.collect(1)
    gc.freeze()


@pytest.fixture(scope="session", autouse=True)
def own_ledger(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """What tests ask of stand-ins for models does not count as calls of this machine's day."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ARGUS_LEDGER", str(tmp_path_factory.mktemp("ledger") / "model-ledger.jsonl"))
        yield
