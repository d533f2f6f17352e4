"""What one instruction leaves in a register, by the machine's semantic table over formulas.

    s_and_saveexec_b64 s[4:5], vcc      asked for exec: the lanes of vcc and of exec before, one truth value per lane
    v_lshl_or_b32 v8, v1, 4, s8         asked for v8: v1 << 4 | s8 as a formula, in the active lanes

A pair of scalar registers has two readings, a 64-bit number and a lane mask; who asks for it says which one he means,
and 64-bit scalar logic is then computed on truth values. Half of a mask, as a number, is `ballot(mask, half)`, and two
such halves are the mask again: registers that do not fit are kept in lanes of a vector register (v_writelane_b32,
v_readlane_b32), masks half by half. None means that the result is not followed.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np

from argus.compile.object.first_active import first_active
from argus.gfx942.hazards import ACC
from argus.gfx942.inst import EXEC, VCC, Inst, InstOperand
from argus.machine.semantics.modifiers import WIDE, constant_bits
from argus.machine.semantics.salu import SALU
from argus.machine.semantics.table import IMPLICIT, MachineOp
from argus.machine.semantics.valu import VALU
from argus.machine.symbolic.bit_fields import only
from argus.machine.symbolic.sums import WordSum
from argus.machine.symbolic.symbolic_backend import NotFollowed, SymbolicBuilder
from argus.machine.symbolic.words import Words

SCALAR = 1 << 16
"""Key of s0; vector registers have the keys of `argus.gfx942.hazards`."""
MASK = 1 << 17
"""Key of the lane mask in s[0:1]."""
SCC_REGISTER = 253
SCC = SCALAR + SCC_REGISTER
Loaded = Callable[[int, int], WordSum | None]
"""(instruction, dword of its result) -> the word it loads, where it has a name."""
KERNARG = 1 << 20
"""Key of the kernel argument segment: its address, then (KERNARG + 1 + byte) its dwords."""


FLOATS = frozenset({"f32", "f64", "f16"})
DATA_ONLY = frozenset({"v_perm_b32", "v_alignbyte_b32", "v_bfi_b32"})
"""Instructions that move bytes of data about; no address is made with them."""


class MaskBuilder:
    """64-bit scalar logic on lane masks: a word of 64 bits is one truth value per lane. Everything that is not done bit
    by bit (shifts, sums, counts) is not followed."""

    def __init__(self, space: Words) -> None:
        self.space, self._bits = space, SymbolicBuilder(space)
        self.and_, self.or_, self.xor = self._bits.mask_and, self._bits.mask_or, self._bits.mask_xor
        self.not64, self.select = self._bits.mask_not, self._bits.select

    def __getattr__(self, name: str) -> Any:
        raise NotFollowed(name)

    def const64(self, value: int) -> WordSum:
        lanes = np.uint64(value & (1 << 64) - 1) >> (self.space.thread & np.uint64(63)) & np.uint64(1)
        return self.space.rows(lanes)

    def ne(self, a: WordSum, b: WordSum) -> WordSum:
        if b.terms:
            raise NotFollowed("a mask against a number")
        return self.space.some(a)


class Results(ABC):
    """Instructions over formulas; where registers come from is the matter of `Slices`."""

    def __init__(self, insts: list[Inst], space: Words, start: dict[int, WordSum], loaded: Loaded) -> None:
        self.insts, self.space, self.start, self.loaded = insts, space, start, loaded
        self.builder, self.masks = SymbolicBuilder(space), MaskBuilder(space)

    @abstractmethod
    def word(self, key: int, n: int) -> WordSum:
        """The register `key` (a MASK key: the pair as a lane mask) before instruction n."""

    @abstractmethod
    def writer(self, key: int, n: int) -> int | None:
        """The last instruction before n, in its block, that writes a register."""

    def exec(self, n: int) -> WordSum:
        """The active lanes before instruction n."""
        return self.word(MASK + EXEC, n)

    def merged(self, n: int, key: int, new: WordSum) -> WordSum:
        """A vector result is written in the active lanes only."""
        active = self.exec(n)
        if active.constant == 1 or key >= SCALAR:
            return new
        return self.space.select(active, new, self.word(key, n))

    @abstractmethod
    def result(self, n: int, key: int) -> WordSum:
        """What instruction n leaves in a register that it writes."""

    def computed(self, n: int, inst: Inst, key: int) -> WordSum | None:
        if key >= MASK and (half := self._written_half(inst, key - MASK)) is not None:
            halves = [self.result(n, SCALAR + half), self.word(SCALAR + (half ^ 1), n)]
            return self.space.mask_of(halves[half & 1], halves[half & 1 ^ 1])
        if inst.op in SALU:
            return self._scalar(n, inst, SALU[inst.op], key)
        if inst.op in VALU and VALU[inst.op].shape == "plain" and inst.enc not in ("sdwa", "dpp"):
            return self._vector(n, inst, VALU[inst.op], key)
        if inst.op == "v_readfirstlane_b32":
            return first_active(self.space, self.source(inst.operands[1], "u32", n), self.exec(n))
        if inst.op == "v_readlane_b32":
            value, lane = (self.source(operand, "u32", n) for operand in inst.operands[1:3])
            return value if value.uniform else self.space.lane(value, lane)
        if inst.op == "v_writelane_b32":
            value, lane = (self.source(operand, "u32", n) for operand in inst.operands[1:3])
            return self.space.with_lane(self.word(key, n), lane, value)
        if inst.op.startswith("s_load_dword"):
            return self._kernarg(n, inst, key)
        target = inst.operands[0] if inst.operands else None
        if target is not None and target.kind in ("v", "a") and key < SCALAR:
            name = self.loaded(n, key - self._key(target))
            return None if name is None else self.merged(n, key, name)
        return None

    def _written_half(self, inst: Inst, pair: int) -> int | None:
        """The register of a scalar pair that the instruction writes as a word of 32 bits."""
        words = SALU[inst.op].results if inst.op in SALU else ()
        if "u32" not in words and inst.op not in ("v_readlane_b32", "v_readfirstlane_b32"):
            return None
        number = inst.operands[0].value
        return number if inst.operands[0].kind == "s" and number & ~1 == pair else None

    def _key(self, operand: InstOperand) -> int:
        if operand.kind == "s":
            return SCALAR + operand.value
        return operand.value + (0 if operand.kind == "v" else ACC)

    def _kernarg(self, n: int, inst: Inst, key: int) -> WordSum | None:
        """A scalar load of kernel arguments."""
        base = self.space.pair(
            self.source(inst.operands[1], "u32", n),
            self.word(SCALAR + inst.operands[1].value + 1, n),
        )
        whole = self.start.get(KERNARG)
        offset = self.source(inst.operands[2], "u32", n).constant if len(inst.operands) > 2 else 0
        if whole is None or base is not whole or offset is None:
            return None
        dword = offset + 4 * (key - self._key(inst.operands[0]))
        return self.start.get(KERNARG + 1 + dword)

    def source(self, operand: InstOperand, word: str, n: int) -> WordSum:
        if operand.kind in ("v", "a", "s"):
            key = self._key(operand)
            if word in WIDE:
                return self.space.pair(self.word(key, n), self.word(key + 1, n))
            if word in ("u32", "f32"):
                return self.word(key, n)
            if word == "u16":
                return self.space.field(self.word(key, n), 0, 16)
            raise NotFollowed(word)
        if operand.kind in ("imm", "fimm", "lit"):
            return self.space.const(constant_bits(word, operand), 64 if word in WIDE else 32)
        if operand.kind == "special" and operand.value == SCC_REGISTER:
            return self.word(SCC, n)
        raise NotFollowed(operand.kind)

    def _mask(self, operand: InstOperand, n: int) -> WordSum:
        if operand.kind == "s":
            return self.word(MASK + operand.value, n)
        return self.masks.const64(constant_bits("u64", operand))

    def _vector(self, n: int, inst: Inst, op: MachineOp, key: int) -> WordSum | None:
        if inst.mods.get("clamp") or inst.mods.get("op_sel") or any(o.neg or o.abs or o.sext for o in inst.operands):
            return None
        if key >= SCALAR and "mask" not in op.results:
            return None
        if SCALAR <= key < MASK:
            return self._half(n, key)
        if inst.op in DATA_ONLY or any(word in FLOATS for word in op.args):
            return None
        operands = iter(inst.operands)
        targets = [next(operands) for word in op.results if word not in IMPLICIT]
        args: list[WordSum] = []
        for word in op.args:
            if word == "mask":
                args.append(self._mask(next(operands), n))
            elif word == "vcc":
                args.append(self.word(MASK + VCC, n))
            elif word == "old":
                args.append(self.word(self._key(targets[0]), n))
            elif word == "lane":
                args.append(self.space.rows(self.space.thread & np.uint64(63)))
            elif word == "old64" or word in IMPLICIT:
                return None
            else:
                args.append(self.source(next(operands), word, n))
        made = op.fn(self.builder, *args)
        values: tuple[WordSum, ...] = made if isinstance(made, tuple) else (made,)
        explicit = iter(targets)
        for word, value in zip(op.results, values, strict=True):
            target = None if word in IMPLICIT else next(explicit)
            if word == "mask":
                assert target is not None
                if key == MASK + target.value:
                    return self.space.mul(value, self.exec(n))
            elif word == "exec":
                if key == MASK + EXEC:
                    return self.space.mul(value, self.exec(n))
            elif target is not None:
                found = self._part(word, value, key - self._key(target))
                if found is not None and key < SCALAR:
                    return self.merged(n, key, found)
        return None

    def _part(self, word: str, value: WordSum, at: int) -> WordSum | None:
        """Register `at` of a result."""
        if word in ("u32", "f32", "u16") and at == 0:
            return value
        if word in ("u64", "f64") and at in (0, 1):
            return self.space.high(value) if at else self.space.trunc(value)
        return None

    def _half(self, n: int, key: int) -> WordSum:
        """A register of a pair that instruction n leaves a lane mask in."""
        number = key - SCALAR
        return self.space.ballot(self.result(n, MASK + (number & ~1)), number & 1)

    def _scalar(self, n: int, inst: Inst, op: MachineOp, key: int) -> WordSum | None:
        if SCALAR <= key < SCC and "u64" in op.results and self._on_masks(n, inst, op):
            return self._half(n, key)
        as_mask = key >= MASK or (key == SCC and self._on_masks(n, inst, op))
        if as_mask and not any(w in ("u64", "exec") for w in op.results):
            return None
        builder: Any = self.masks if as_mask else self.builder
        operands = iter(inst.operands)
        results = {word: next(operands) for word in op.results if word not in IMPLICIT}
        target = next(iter(results.values()), None)
        args: list[WordSum] = []
        for word in op.args:
            if word == "scc":
                args.append(self.word(SCC, n))
            elif word == "exec":
                if not as_mask:
                    return None
                args.append(self.exec(n))
            elif word in ("old", "old64"):
                if target is None or as_mask or word == "old64":
                    return None
                args.append(self.source(target, "u32", n))
            elif word in ("k16", "k16u"):
                short = next(operands).value & 0xFFFF
                args.append(self.space.const(short - (short >> 15 << 16) if word == "k16" else short))
            elif as_mask and word in WIDE:
                args.append(self._mask(next(operands), n))
            else:
                args.append(self.source(next(operands), word, n))
        made = op.fn(builder, *args)
        values: tuple[WordSum, ...] = made if isinstance(made, tuple) else (made,)
        for word, value in zip(op.results, values, strict=True):
            if word == "scc":
                if key == SCC:
                    return value
            elif word == "exec":
                if key == MASK + EXEC:
                    return value
            elif as_mask:
                if key == MASK + results[word].value:
                    return value
            else:
                found = self._part(word, value, key - self._key(results[word]))
                if found is not None:
                    return found
        return None

    def _on_masks(self, n: int, inst: Inst, op: MachineOp) -> bool:
        """Whether a 64-bit scalar operation works on lane masks: exec takes part, or what a comparison has written."""
        if "exec" in op.args:
            return True
        if "u64" not in op.args:
            return False
        sources = inst.operands[sum(word not in IMPLICIT for word in op.results) :]
        return any(o.kind == "s" and self._is_mask(o.value, n) for o in sources)

    def _is_mask(self, number: int, n: int) -> bool:
        if number == EXEC:
            return True
        writer = self.writer(SCALAR + number, n)
        if writer is None:
            return number == VCC
        inst = self.insts[writer]
        if inst.op in VALU and "mask" in VALU[inst.op].results:
            return True
        if inst.op in ("v_readlane_b32", "v_readfirstlane_b32"):
            single = only(self.word(SCALAR + number, n))
            return single is not None and single.op == "ballot"
        if inst.op in SALU and "u64" in SALU[inst.op].results:
            return self._on_masks(writer, inst, SALU[inst.op]) or all(o.kind == "imm" for o in inst.operands[1:])
        return False
