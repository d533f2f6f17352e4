"""Damaged objects and random instruction streams end in a diagnostic: a short run of bench/machine_fuzz.py.

The long runs are `python bench/machine_fuzz.py --interp 100000 --jit 1000`; a failing case is repeated with its
traceback by `python bench/machine_fuzz.py --case interp:17`.
"""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "bench"))

import machine_fuzz

INTERPRETED = 2000
TRANSLATED = 12


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("seeds")
    machine_fuzz.write_seeds(made)
    return made


def test_interpreter(folder: Path) -> None:
    summary = machine_fuzz.fuzz(folder, "checking", INTERPRETED)
    assert not summary.failures, str(summary)
    assert sum(summary.ends.values()) == INTERPRETED
    for damage in machine_fuzz.DAMAGES:
        assert len([end for end in summary.ends if end.startswith(damage)]) >= 2, str(summary)


def test_jit(folder: Path) -> None:
    summary = machine_fuzz.fuzz(folder, "jit", TRANSLATED)
    assert not summary.failures, str(summary)
    assert sum(summary.ends.values()) == TRANSLATED


STRAY = """
import sys
sys.path.insert(0, {bench!r})
import machine_fuzz, ctypes
arena = machine_fuzz.FencedArena()
ctypes.memset(arena.buffer.ctypes.data + {offset}, 1, 1)
"""


@pytest.mark.parametrize("offset", ["-1", "machine_fuzz.CAPACITY"])
def test_the_fence_sees_one_byte_on_either_side(offset: str) -> None:
    program = STRAY.format(bench=str(Path(machine_fuzz.__file__).parent), offset=offset)
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", program], capture_output=True, check=False)
    assert done.returncode == -signal.SIGSEGV


def test_a_write_between_two_allocations_is_seen() -> None:
    arena = machine_fuzz.FencedArena()
    first = arena.allocate(100, "first")
    arena.allocate(100, "second")
    arena.write(first, np.full(100, 7, np.uint8))
    assert arena.stray() == 0
    arena.buffer[first.end - arena.base] = 1
    assert arena.stray() == 1
