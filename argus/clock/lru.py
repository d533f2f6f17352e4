"""The misses of a set-associative cache with least-recently-used replacement, as one compiled loop.

    misses(sets, lines, count_of_sets, ways)        -> array of bool, in the order of the accesses

A set is a row of lines, the last used first. An access walks its row and moves each line it passes one place on, until
it meets its own (a hit) or the row ends (a miss: the line that was used longest ago has fallen out).
"""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any

import llvmlite.binding as llvm
import numpy as np
import numpy.typing as npt

NOTHING = -1
"""Marks a free place; no line of memory has this number."""

LOOP = """
define void @misses(ptr noalias %sets, ptr noalias %lines, i64 %count, ptr noalias %held, i64 %ways, ptr noalias %out) {
entry:
  %any = icmp sgt i64 %count, 0
  br i1 %any, label %access, label %end
access:
  %n = phi i64 [0, %entry], [%next, %done]
  %set.at = getelementptr i64, ptr %sets, i64 %n
  %set = load i64, ptr %set.at
  %line.at = getelementptr i64, ptr %lines, i64 %n
  %line = load i64, ptr %line.at
  %start = mul i64 %set, %ways
  %row = getelementptr i64, ptr %held, i64 %start
  br label %walk
walk:
  %way = phi i64 [0, %access], [%way.next, %pass]
  %moved = phi i64 [%line, %access], [%found, %pass]
  %at = getelementptr i64, ptr %row, i64 %way
  %found = load i64, ptr %at
  store i64 %moved, ptr %at
  %hit = icmp eq i64 %found, %line
  br i1 %hit, label %done, label %pass
pass:
  %way.next = add i64 %way, 1
  %more = icmp slt i64 %way.next, %ways
  br i1 %more, label %walk, label %done
done:
  %missed = phi i8 [0, %walk], [1, %pass]
  %out.at = getelementptr i8, ptr %out, i64 %n
  store i8 %missed, ptr %out.at
  %next = add i64 %n, 1
  %again = icmp slt i64 %next, %count
  br i1 %again, label %access, label %end
end:
  ret void
}
"""


def misses(sets: npt.NDArray[np.int64], lines: npt.NDArray[np.int64], count: int, ways: int) -> npt.NDArray[np.bool_]:
    """For each access, in order, whether the line is not in its set; all `count` sets are empty at first."""
    if len(sets) != len(lines):
        raise ValueError("every access has a set and a line")
    if len(sets) and not (sets.min() >= 0 and sets.max() < count and lines.min() > NOTHING):
        raise ValueError("a set or a line that is not there")
    held = np.full((count, ways), NOTHING, np.int64)
    out = np.empty(len(lines), np.bool_)
    arrays = [np.ascontiguousarray(each, np.int64) for each in (sets, lines)]
    _compiled()[0](arrays[0].ctypes.data, arrays[1].ctypes.data, len(lines), held.ctypes.data, ways, out.ctypes.data)
    return out


@cache
def _compiled() -> tuple[Any, Any]:
    """The function, and the engine that keeps its code in memory."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    machine = llvm.Target.from_default_triple().create_target_machine(opt=2, jit=True)
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(LOOP), machine)
    engine.finalize_object()
    word, pointer = ctypes.c_int64, ctypes.c_void_p
    made = ctypes.CFUNCTYPE(None, pointer, pointer, word, pointer, word, pointer)
    return made(engine.get_function_address("misses")), engine
