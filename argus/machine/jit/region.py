"""A run of lane-wise instructions as one loop over eight chunks of eight lanes.

    v_mul_f32 v2, v0, v1            loop c = 0..7:
    v_add_f32 v3, v2, s4              %x = load v0[c], %y = load v1[c];  %m = fmul %x, %y
    v_cmp_lt_f32 vcc, v3, v5   ->     %a = fadd %m, splat(s4)            v2, v3 stay in registers
                                      store byte c of vcc; store v2[c], v3[c]

Within the loop a vector register is loaded once and stored once, whatever happens to it in between; that is where the
translator's speed on vector code comes from. Scalar operands are read and spread before the loop, at the moment their
instruction is added, so a later scalar instruction may overwrite them. A lane mask is one byte per chunk. Under a
partial exec mask the final stores keep the old value of inactive lanes; what those lanes compute in between reaches
nobody, because nothing crosses lanes inside a region and masks are written as zero for them. (The old value is a
volatile load, or LLVM would make masked stores of it, which are slow and defeat store forwarding.)

The loop becomes a function of its own, called from the kernel, so that a kernel of thousands of instructions can be
compiled in several parts at once. While a region is open, the kernel's
lines are the loop's body; `outside()` gives the place before the call, where instructions that do not depend on the
region go.

The caller keeps a region legal: no instruction in it may read as a plain scalar what another one wrote as a mask, exec
does not change inside it, and nothing crosses lanes. `Region` itself does not check this.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from argus.machine.jit.frame import CHUNK, CHUNKS, ROW
from argus.machine.jit.irtext import JitFunction
from argus.machine.jit.llvm_builder import LlvmBuilder, LlvmValue
from argus.machine.jit.scalars import Scalars

EXEC = 126
LANE_BITS = f"<{', '.join(f'i32 {1 << i}' for i in range(CHUNK))}>"


class Region:
    """The loop under construction: register and mask values of the current chunk."""

    def __init__(
        self,
        f: JitFunction,
        scalars: Scalars,
        builder: LlvmBuilder,
        exec_full: bool,
        special: Callable[[int], str],
    ) -> None:
        self.special = special
        self.f = f
        self.b = builder
        self.exec_full = exec_full
        self._scalars = scalars
        self._outer = f.lines
        self._body: list[str] = []
        self._head: list[str] = []
        self._words: list[str] = []
        self._rows: dict[int, LlvmValue] = {}
        self._dirty: list[int] = []
        self._splats: dict[int | str, LlvmValue] = {}
        self._masks: dict[int, LlvmValue] = {}
        self._lanes: LlvmValue | None = None
        self.mask_writes: set[int] = set()
        f.lines = self._body
        self._exec = self.mask(EXEC)

    @contextmanager
    def outside(self) -> Iterator[None]:
        """Emit before the loop."""
        self.f.lines = self._outer
        try:
            yield
        finally:
            self.f.lines = self._body

    # Vector registers

    def row(self, r: int) -> LlvmValue:
        value = self._rows.get(r)
        if value is None:
            value = LlvmValue(32, self.f.load("<8 x i32>", self.f.at("%base", r * ROW), 32))
            self._rows[r] = value
        return value

    def set_row(self, r: int, value: LlvmValue, where: LlvmValue | None) -> None:
        """Write a register; `where` restricts the lanes further than exec does."""
        if where is not None:
            value = self.b.select(where, value, self.row(r))
        self._rows[r] = value
        if r not in self._dirty:
            self._dirty.append(r)

    # Scalars

    def scalar(self, r: int) -> LlvmValue:
        """A scalar register as the same word in every lane."""
        known = self._scalars.constant(r)
        if known is not None:
            return self.b.const32(known)
        if r not in self._splats:
            with self.outside():
                word = self._scalars.load32(r)
            self._splats[r] = self._spread(word)
        return self._splats[r]

    def spread(self, word: str) -> LlvmValue:
        """A scalar word computed before the region, spread over the lanes."""
        if word not in self._splats:
            self._splats[word] = self._spread(word)
        return self._splats[word]

    def _spread(self, word: str) -> LlvmValue:
        parameter = f"%w{len(self._words)}"
        self._words.append(word)
        self.f.lines = self._head
        value = LlvmValue(32, self.f.splat("i32", CHUNK, parameter))
        self.f.lines = self._body
        return value

    def outdate(self, r: int) -> None:
        """Scalar register r changes after the region's present instructions; later ones must read it anew."""
        self._splats.pop(r, None)

    # Masks

    def mask(self, r: int) -> LlvmValue:
        """The lane mask in the scalar pair starting at r."""
        if r == EXEC and self.exec_full:
            return self.b.const_mask(True)
        value = self._masks.get(r)
        if value is None:
            value = self._expand(self._mask_byte(r))
            self._masks[r] = value
        return value

    def set_mask(self, r: int, value: LlvmValue) -> None:
        """Write a lane mask; bits of inactive lanes become zero."""
        if not self.exec_full:
            value = self.b.mask_and(value, self.mask(EXEC))
        byte = self.f.cast("bitcast", "<8 x i1>", self.b.whole(value), "i8")
        self.f.store("i8", byte, self._mask_byte(r))
        self._masks[r] = value
        self.mask_writes.add(r)

    def constant_mask(self, bits: int) -> LlvmValue | None:
        """A mask known at translation time; None for all ones."""
        if bits == (1 << 64) - 1:
            return None
        data = "".join(f"\\{bits >> 8 * c & 0xFF:02x}" for c in range(CHUNKS))
        table = self.f.module.constant(f"lanes_{bits:x}", f"[{CHUNKS} x i8]", f'c"{data}"', 8)
        return self._expand(self.f.at(table, "%chunk"))

    def runtime_mask(self, offset: int) -> LlvmValue:
        """A mask of 64 lanes stored with the scalars, before the region."""
        return self._expand(self.f.at(self.f.at("%scalars", offset), "%chunk"))

    def _expand(self, pointer: str) -> LlvmValue:
        """The byte at `pointer` as a mask of eight lanes (a plain bitcast would be taken apart bit by bit)."""
        f = self.f
        word = f.cast("zext", "i8", f.load("i8", pointer), "i32")
        bits = f.binary("and", "<8 x i32>", f.splat("i32", CHUNK, word), LANE_BITS)
        return LlvmValue(1, f.compare("ne", "<8 x i32>", bits, "zeroinitializer"))

    def _mask_byte(self, r: int) -> str:
        return self.f.at(self.f.at("%scalars", 4 * r), "%chunk")

    def lane(self) -> LlvmValue:
        """The number of each lane."""
        if self._lanes is None:
            first = self.f.cast("trunc", "i64", self.f.mul("i64", "%chunk", str(CHUNK)), "i32")
            ramp = f"<{', '.join(f'i32 {i}' for i in range(CHUNK))}>"
            self._lanes = LlvmValue(32, self.f.add("<8 x i32>", self.f.splat("i32", CHUNK, first), ramp))
        return self._lanes

    # Closing

    def close(self) -> None:
        """Store what was written, make the loop a function of its own, and call it."""
        f = self.f
        for r in self._dirty:
            place, value = f.at("%base", r * ROW), self._rows[r]
            if not self.exec_full:
                old = LlvmValue(32, f.let(f"load volatile <8 x i32>, ptr {place}, align 32"))
                value = self.b.select(self._exec, value, old)
            f.store("<8 x i32>", self.b.whole(value), place, 32)
        f.lines = self._outer
        name = f"region_{len(f.module.functions)}"
        pointers = [("ptr noalias", "wave"), ("ptr noalias", "scalars")]
        words = [("i32", f"w{i}") for i in range(len(self._words))]
        loop = f.module.function(name, "void", [*pointers, *words])
        loop.lines = [
            *self._head,
            "br label %loop",
            "loop:",
            "%chunk = phi i64 [0, %entry], [%next, %loop]",
            f"%lanes = mul nuw nsw i64 %chunk, {4 * CHUNK}",
            "%base = getelementptr i8, ptr %wave, i64 %lanes",
            *self._body,
            "%next = add nuw nsw i64 %chunk, 1",
            f"%more = icmp ult i64 %next, {CHUNKS}",
            "br i1 %more, label %loop, label %done",
            "done:",
            "ret void",
        ]
        f.call("void", name, ("ptr", "%wave"), ("ptr", "%scalars"), *[("i32", word) for word in self._words])
        for r in self.mask_writes:
            self._scalars.forget(r, 2)
