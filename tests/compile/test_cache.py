"""The cache: same text same object, anything that matters changed is another entry, damage is noticed."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

import pytest

from argus.compile import cache
from argus.ir.kernel import Kernel
from argus.ir.passes.schedule import scheduled
from tests.ir import samples


@pytest.fixture(autouse=True)
def own_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ARGUS_CACHE", str(tmp_path))
    return tmp_path


def kernel() -> Kernel:
    return replace(samples.gemm(), source="the text of the kernel file")


def test_the_second_time_is_read_and_equal(monkeypatch: pytest.MonkeyPatch) -> None:
    first = cache.compile_cached(scheduled(kernel()))
    monkeypatch.setattr(cache, "compile_kernel", lambda k: pytest.fail("compiled again"))
    start = time.process_time()
    second = cache.compile_cached(scheduled(kernel()))
    assert time.process_time() - start < 0.05
    assert second.object == first.object
    assert second.sidecar == first.sidecar
    assert second.summary == first.summary
    assert second.describe() == first.describe()


def test_what_matters_is_in_the_key() -> None:
    base = cache.key(kernel())
    changed = [
        replace(kernel(), source="other text"),
        replace(kernel(), settings={"BM": 64}),
        replace(kernel(), name="other"),
    ]
    assert len({base, *(cache.key(k) for k in changed)}) == 4
    assert cache.key(samples.gemm()) is None


def test_a_damaged_entry_is_made_anew(own_directory: Path) -> None:
    first = cache.compile_cached(scheduled(kernel()))
    (path,) = own_directory.rglob("object.hsaco")
    path.write_bytes(path.read_bytes()[:-1] + b"x")
    assert cache.compile_cached(scheduled(kernel())).object == first.object
    assert path.read_bytes() == first.object
    path.with_name("facts.json").write_text("{}")
    assert cache.compile_cached(scheduled(kernel())).object == first.object


def test_a_directory_that_cannot_be_written_is_no_obstacle(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ARGUS_CACHE", "/proc/nowhere")
    assert cache.compile_cached(scheduled(kernel())).object[:4] == b"\x7fELF"
