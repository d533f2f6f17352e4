"""The execution record, written by translated code as a stream of 64-bit words.

A traced kernel writes one entry per executed basic block. What an entry looks like is known at translation time:

    word 0       block number << 32 | wave number
    word 1       exec at the start; another exec word wherever exec changed inside the block
    per access   lanes taking part (exec, for buffers the range check), then 64 addresses; scalar memory: one address

so an entry costs no more than its words, and its layout is kept with the compiled object as `BlockTrace.close()`'s
facts. Before a block starts it makes sure its entry fits; if not, the wave stops with TRACE_FULL, Python takes the
buffer, and the wave resumes at that block. `expand.py` turns streams into `WaveRecord`s.
"""

from __future__ import annotations

from collections.abc import Callable

from argus.gfx942.inst import EXEC, Inst
from argus.machine.jit.effects import effects
from argus.machine.jit.flow import Block
from argus.machine.jit.frame import ADDRESSES, LANES, ContextFields, Scalar
from argus.machine.jit.irtext import Definers, JitFunction, JitModule
from argus.machine.jit.objects import Facts
from argus.machine.jit.scalars import Scalars
from argus.machine.record import GLOBAL, LDS, SCALAR, SCRATCH
from argus.machine.semantics.mem import MemoryOp

V4 = "<4 x i64>"


def trace_functions() -> Definers:
    """trace_row(out, context): the address row; trace_lds(out, a, offset): an LDS address register plus offset."""
    return {"trace_row": _define_row, "trace_lds": _define_lds}


def _define_row(module: JitModule) -> None:
    f = module.function("trace_row", "void", [("ptr", "out"), ("ptr", "context")])
    with f.loop(LANES, 4) as lane:
        row = f.load(V4, f.index("i64", f.at("%context", ADDRESSES), lane), 32)
        f.store(V4, row, f.index("i64", "%out", lane), 8)
    f.ret()


def _define_lds(module: JitModule) -> None:
    f = module.function("trace_lds", "void", [("ptr", "out"), ("ptr", "a"), ("i64", "offset")])
    offset = f.splat("i32", 4, f.cast("trunc", "i64", "%offset", "i32"))
    with f.loop(LANES, 4) as lane:
        words = f.load("<4 x i32>", f.index("i32", "%a", lane), 16)
        wide = f.cast("zext", "<4 x i32>", f.add("<4 x i32>", words, offset), V4)
        f.store(V4, wide, f.index("i64", "%out", lane), 8)
    f.ret()


class BlockTrace:
    """The entry of one block, while the block is translated."""

    def __init__(self, f: JitFunction, block: Block, number: int) -> None:
        self.f = f
        self.block = block
        self.number = number
        self._words = 2
        self._position = -1
        self._exec_word = 1
        self._exec_changed = False
        self._pcs: list[int] = []
        self._exec: list[int] = []
        self._accesses: list[list[int]] = []
        self._hole = 0
        self._entry = ""
        self._next = ""

    def open(self, leave: Callable[[], None]) -> None:
        """Reserve the entry, or `leave` when the buffer is full."""
        f = self.f
        place = f.at("%context", int(ContextFields.TRACE))
        self._entry = f.load("ptr", place, 8)
        self._next = f.fresh()
        self._hole = len(f.lines)
        f.emit("")
        end = f.load("ptr", f.at("%context", int(ContextFields.TRACE_END)), 8)
        fits, full = f.fresh_label("fits"), f.fresh_label("full")
        f.branch(f.compare("ule", "ptr", self._next, end), fits, full)
        f.label(full)
        leave()
        f.label(fits)
        f.store("ptr", self._next, place, 8)
        wave = f.load("i64", f.at("%scalars", int(Scalar.WAVE)), 8)
        f.store("i64", f.binary("or", "i64", wave, str(self.number << 32)), self._entry, 8)
        f.store("i64", f.load("i64", f.at("%scalars", int(Scalar.EXEC)), 4), f.at(self._entry, 8), 8)

    def instruction(self, inst: Inst, scalars: Scalars) -> None:
        """The next instruction of the block is about to be translated."""
        if self._exec_changed:
            self._exec_word = self._reserve(1)
            self.f.store("i64", scalars.exec(), self.f.at(self._entry, 8 * self._exec_word), 8)
        self._exec_changed = EXEC in effects(inst, 0).scalar_writes
        self._position += 1
        self._pcs.append(inst.pc)
        self._exec.append(self._exec_word)

    def _reserve(self, words: int) -> int:
        first = self._words
        self._words += words
        return first

    def _note(self, word: int, size: int, space: int) -> None:
        self._accesses.append([self._position, word, size, space])

    def addresses(self, op: MemoryOp, inside: str, scalars: Scalars) -> None:
        word = self._reserve(1 + LANES)
        taking_part = self.f.binary("and", "i64", scalars.exec(), inside)
        self.f.store("i64", taking_part, self.f.at(self._entry, 8 * word), 8)
        self.f.call("void", "trace_row", ("ptr", self.f.at(self._entry, 8 * word + 8)), ("ptr", "%context"))
        self._note(word, op.size, SCRATCH if op.space == "scratch" else GLOBAL)

    def lds(self, size: int, row: str, offset: int, scalars: Scalars) -> None:
        word = self._reserve(1 + LANES)
        self.f.store("i64", scalars.exec(), self.f.at(self._entry, 8 * word), 8)
        out = ("ptr", self.f.at(self._entry, 8 * word + 8))
        self.f.call("void", "trace_lds", out, ("ptr", row), ("i64", str(offset)))
        self._note(word, size, LDS)

    def scalar(self, op: MemoryOp, address: str) -> None:
        word = self._reserve(1)
        self.f.store("i64", address, self.f.at(self._entry, 8 * word), 8)
        self._note(word, op.size, SCALAR)

    def close(self) -> Facts:
        """Complete the reservation; the entry's layout."""
        self.f.lines[self._hole] = f"{self._next} = getelementptr i8, ptr {self._entry}, i64 {8 * self._words}"
        barrier = bool(self.block.insts) and self.block.insts[-1].op == "s_barrier"
        return {
            "words": self._words,
            "pcs": self._pcs,
            "exec": self._exec,
            "accesses": self._accesses,
            "barrier": barrier,
        }
