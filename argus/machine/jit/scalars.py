"""Scalar registers during translation: memory is the truth, names already loaded are reused.

    scalars.load32(4)      first time: a load; afterwards the same name
    scalars.store64(6, x)  writes through to memory and remembers x
    scalars.constant(2)    the value known from the kernel's constant flow, if any

Names live within one basic block: `reset` starts the next one. Whoever changes registers behind this object's back (a
region's masks, a runtime function that loads scalars) says so with `forget`.
"""

from __future__ import annotations

from argus.machine.jit.flow import Constants
from argus.machine.jit.frame import Scalar
from argus.machine.jit.irtext import JitFunction

EXEC = 126
ONES = 0xFFFFFFFF


class Scalars:
    """The scalar file of the wave being translated."""

    def __init__(self, f: JitFunction) -> None:
        self.f = f
        self.constants: Constants = {}
        self._words: dict[int, str] = {}
        self._pairs: dict[int, str] = {}
        self._scc: str | None = None

    def reset(self, constants: Constants) -> None:
        """Start a block in which `constants` are known."""
        self.constants = dict(constants)
        self._words.clear()
        self._pairs.clear()
        self._scc = None

    def constant(self, r: int) -> int | None:
        return self.constants.get(r)

    @property
    def exec_full(self) -> bool:
        return self.constants.get(EXEC) == ONES and self.constants.get(EXEC + 1) == ONES

    def pointer(self, r: int) -> str:
        return self.f.at("%scalars", 4 * r)

    def load32(self, r: int) -> str:
        known = self.constants.get(r)
        if known is not None:
            return str(known - (known >> 31 << 32))
        if r not in self._words:
            for base, shift in ((r, "0"), (r - 1, "32")):
                if base in self._pairs:
                    pair = self._pairs[base]
                    moved = pair if shift == "0" else self.f.binary("lshr", "i64", pair, shift)
                    self._words[r] = self.f.cast("trunc", "i64", moved, "i32")
                    break
            else:
                self._words[r] = self.f.load("i32", self.pointer(r), 4)
        return self._words[r]

    def load64(self, r: int) -> str:
        low, high = self.constants.get(r), self.constants.get(r + 1)
        if low is not None and high is not None:
            value = low | high << 32
            return str(value - (value >> 63 << 64))
        if r not in self._pairs:
            if r in self._words or r + 1 in self._words:
                wide_low = self.f.cast("zext", "i32", self.load32(r), "i64")
                wide_high = self.f.cast("zext", "i32", self.load32(r + 1), "i64")
                shifted = self.f.binary("shl", "i64", wide_high, "32")
                self._pairs[r] = self.f.binary("or", "i64", wide_low, shifted)
            else:
                self._pairs[r] = self.f.load("i64", self.pointer(r), 4)
        return self._pairs[r]

    def store32(self, r: int, value: str) -> None:
        self.forget(r, 1)
        self.f.store("i32", value, self.pointer(r), 4)
        self._words[r] = value

    def store64(self, r: int, value: str) -> None:
        self.forget(r, 2)
        self.f.store("i64", value, self.pointer(r), 4)
        self._pairs[r] = value

    def forget(self, r: int, count: int) -> None:
        """Registers r .. r+count-1 have changed in memory."""
        for register in range(r, r + count):
            self._words.pop(register, None)
            self._pairs.pop(register, None)
            self._pairs.pop(register - 1, None)
            self.constants.pop(register, None)

    def exec(self) -> str:
        return self.load64(EXEC)

    def scc(self) -> str:
        """The condition code as i1."""
        if self._scc is None:
            word = self.f.load("i32", self.f.at("%scalars", int(Scalar.SCC)), 4)
            self._scc = self.f.compare("ne", "i32", word, "0")
        return self._scc

    def set_scc(self, value: str) -> None:
        word = self.f.cast("zext", "i1", value, "i32")
        self.f.store("i32", word, self.f.at("%scalars", int(Scalar.SCC)), 4)
        self._scc = value
