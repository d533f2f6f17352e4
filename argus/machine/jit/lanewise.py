"""One lane-wise instruction: fetch its operands as the signature says, apply the table's function, write the results.

    v_fma_f32 v0, -v1, |v2|, 1.0      args f32 f32 f32: row 1 negated, row 2 without sign, constant; result f32 to row 0

Signature words, shapes (packed, mixed) and modifiers are those of `argus.machine.semantics`; this module only walks
them over a `Region`. Sources may be replaced: for DPP the translator has put the shuffled first source into a spare
row and passes it as `first_row`, and lanes that must not be written as `where`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from argus.gfx942.inst import VCC, Inst, InstOperand
from argus.machine.jit import outline
from argus.machine.jit.effects import row_of
from argus.machine.jit.errors import JitUnsupported
from argus.machine.jit.llvm_builder import LlvmValue
from argus.machine.jit.lower_scalar import APERTURES, BITS
from argus.machine.jit.region import EXEC, Region
from argus.machine.semantics import SATURATING, MachineOp
from argus.machine.semantics.modifiers import SIXTEEN, WIDE, constant_bits, output_modifiers, source_modifiers

FLOATS = frozenset({"f32", "f64", "f16", "h16"})
CONSTANT_KINDS = frozenset({"imm", "fimm", "lit"})


class LaneWise:
    """The walk over one instruction inside a region."""

    def __init__(self, region: Region, inst: Inst, op: MachineOp, accum_offset: int, dx10_clamp: bool) -> None:
        self.region = region
        self.b = region.b
        self.inst = inst
        self.op = op
        self.accum_offset = accum_offset
        self.dx10_clamp = dx10_clamp
        explicit = sum(word not in ("scc", "exec") for word in op.results)
        self.targets = inst.operands[:explicit]
        self.sources = inst.operands[explicit:]
        self.first_row: int | None = None
        self.where: LlvmValue | None = None

    def emit(self) -> None:
        results = self._compute()
        self._write(results if isinstance(results, tuple) else (results,))

    # Sources

    def _word(self, operand: InstOperand, word: str, part: int = 0) -> LlvmValue:
        """32 bits of an operand: its register `part`, or the constant as `word` reads it."""
        if operand.kind in ("v", "a"):
            return self.region.row(row_of(operand, self.accum_offset) + part)
        if operand.kind == "s":
            return self.region.scalar(operand.value + part)
        if operand.kind in CONSTANT_KINDS:
            bits = constant_bits(word, operand)
            return self.b.const32(bits >> 32 * part)
        return self._special(operand, part)

    def _special(self, operand: InstOperand, part: int) -> LlvmValue:
        if operand.kind == "special" and operand.value in APERTURES:
            return self.b.const32(APERTURES[operand.value] >> 32 * part)
        if operand.kind != "special" or operand.value not in BITS:
            raise JitUnsupported(self.inst, f"source {operand.kind} {operand.value}")
        if part:
            return self.b.const32(0)
        with self.region.outside():
            word = self.region.special(operand.value)
        return self.region.spread(word)

    def _argument(self, index: int, word: str, operand: InstOperand) -> LlvmValue:
        if index == 0 and self.first_row is not None:
            value = self.region.row(self.first_row)
        elif word in WIDE:
            value = self.b.pair(self._word(operand, word), self._word(operand, word, 1))
        else:
            value = self._word(operand, word)
        if self.inst.enc == "sdwa":
            value = self._sdwa_source(index, value, operand)
        if word in SIXTEEN:
            value = self._half(value, operand, self._bit("op_sel", index))
            if word == "i16":
                value = self._sign_extend(value, 16)
        made: LlvmValue = source_modifiers(self.b, word, value, neg=operand.neg, absolute=operand.abs)
        return made

    def _half(self, value: LlvmValue, operand: InstOperand, high: bool) -> LlvmValue:
        if operand.kind in CONSTANT_KINDS and not high:
            return self.b.and_(value, self.b.const32(0xFFFF))
        return self.b.lshr32(value, self.b.const32(16)) if high else self.b.and_(value, self.b.const32(0xFFFF))

    def _sign_extend(self, value: LlvmValue, bits: int) -> LlvmValue:
        up = self.b.const32(32 - bits)
        return self.b.ashr32(self.b.shl32(value, up), up)

    def _sdwa_source(self, index: int, value: LlvmValue, operand: InstOperand) -> LlvmValue:
        selection = str(self.inst.mods.get(f"src{index}_sel", "DWORD"))
        if selection == "DWORD":
            return value
        bits = 8 if selection.startswith("BYTE") else 16
        shifted = self.b.lshr32(value, self.b.const32(bits * int(selection[-1])))
        field = self.b.and_(shifted, self.b.const32((1 << bits) - 1))
        return self._sign_extend(field, bits) if operand.sext else field

    def _bit(self, name: str, index: int, default: int = 0) -> bool:
        chosen = self.inst.mods.get(name)
        if not isinstance(chosen, tuple):
            return bool(default)
        return bool(chosen[index]) if index < len(chosen) else False

    # Applying the function

    def _compute(self) -> Any:
        shape = self.op.shape
        if shape == "pk16":
            halves = [self._apply(self._packed_halves(high)) for high in (False, True)]
            halves = [self._clamped("f16" if self.op.results[0] == "f16" else "u16", half) for half in halves]
            return self.b.or_(halves[0], self.b.shl32(halves[1], self.b.const32(16)))
        if shape == "pk32":
            low, high = (self._clamped("f32", self._apply(self._packed_words(part))) for part in (False, True))
            return self.b.pair(low, high)
        if shape == "pkmov":
            words = [
                self._word(o, "u32", int(self._bit("op_sel", i)) if o.kind in ("v", "a", "s") else 0)
                for i, o in enumerate(self.sources)
            ]
            return self._apply(words)
        if shape == "mix":
            return self._apply(self._mixed())
        return self._apply(self._plain())

    def _apply(self, arguments: Sequence[LlvmValue]) -> Any:
        saturating = bool(self.inst.mods.get("clamp")) and self.inst.op in SATURATING
        function = SATURATING[self.inst.op] if saturating else self.op.fn
        return outline.apply(self.b, self.inst.op, function, saturating, arguments)

    def _plain(self) -> list[LlvmValue]:
        arguments: list[LlvmValue] = []
        remaining = list(self.sources)
        explicit = 0
        for word in self.op.args:
            if word in ("old", "old64", "vcc", "exec", "lane", "scc"):
                arguments.append(self._implicit(word))
                continue
            operand = remaining.pop(0)
            if word == "mask":
                arguments.append(self._mask(operand))
            else:
                arguments.append(self._argument(explicit, word, operand))
                explicit += 1
        return arguments

    def _mask(self, operand: InstOperand) -> LlvmValue:
        if operand.kind == "s":
            return self.region.mask(operand.value)
        if operand.kind in CONSTANT_KINDS:
            return self.region.constant_mask(constant_bits("u64", operand)) or self.b.const_mask(True)
        raise JitUnsupported(self.inst, f"lane mask {operand.kind}")

    def _implicit(self, word: str) -> LlvmValue:
        if word == "lane":
            return self.region.lane()
        if word == "vcc":
            return self.region.mask(VCC)
        if word == "exec":
            return self.region.mask(EXEC)
        row = row_of(self.targets[0], self.accum_offset)
        if word == "old":
            return self.region.row(row)
        if word == "old64":
            return self.b.pair(self.region.row(row), self.region.row(row + 1))
        raise JitUnsupported(self.inst, f"implicit {word}")

    def _packed_halves(self, high: bool) -> list[LlvmValue]:
        select, negate = ("op_sel_hi", "neg_hi") if high else ("op_sel", "neg_lo")
        made: list[LlvmValue] = []
        for i, (word, operand) in enumerate(zip(self.op.args, self.sources, strict=True)):
            value = self._half(self._word(operand, word), operand, self._bit(select, i, default=high))
            if word == "i16":
                value = self._sign_extend(value, 16)
            made.append(source_modifiers(self.b, word, value, neg=self._bit(negate, i), absolute=False))
        return made

    def _packed_words(self, high: bool) -> list[LlvmValue]:
        select, negate = ("op_sel_hi", "neg_hi") if high else ("op_sel", "neg_lo")
        made: list[LlvmValue] = []
        for i, (word, operand) in enumerate(zip(self.op.args, self.sources, strict=True)):
            register = operand.kind in ("v", "a", "s")
            part = int(self._bit(select, i, default=high)) if register else 0
            value = self._word(operand, word, part)
            made.append(source_modifiers(self.b, word, value, neg=self._bit(negate, i), absolute=False))
        return made

    def _mixed(self) -> list[LlvmValue]:
        made: list[LlvmValue] = []
        for i, operand in enumerate(self.sources):
            half = self._bit("op_sel_hi", i, default=0)
            value = self._word(operand, "f16" if half else "f32")
            if half:
                value = self.b.f16_to_f32(self._half(value, operand, self._bit("op_sel", i)))
            neg, absolute = operand.neg or self._bit("neg_lo", i), operand.abs or self._bit("neg_hi", i)
            made.append(source_modifiers(self.b, "f32", value, neg=neg, absolute=absolute))
        return made

    # Results

    def _clamped(self, word: str, value: LlvmValue) -> LlvmValue:
        mods = self.inst.mods
        scale = 1.0
        if isinstance(times := mods.get("mul"), int):
            scale = float(times)
        elif isinstance(divisor := mods.get("div"), int):
            scale = 1.0 / divisor
        clamp = bool(mods.get("clamp"))
        if (scale == 1.0 and not clamp) or (clamp and self.inst.op in SATURATING) or len(self.op.results) > 1:
            return value
        if word not in FLOATS:
            raise JitUnsupported(self.inst, "output modifier on an integer")
        made: LlvmValue = output_modifiers(self.b, word, value, clamp=clamp, scale=scale, nan_to_zero=self.dx10_clamp)
        return made

    def _write(self, results: Sequence[LlvmValue]) -> None:
        targets = list(self.targets)
        packed = self.op.shape in ("pk16", "pk32")
        words = ("u32",) if self.op.shape == "pk16" else ("u64",) if self.op.shape == "pk32" else self.op.results
        for word, value in zip(words, results, strict=True):
            if word == "exec":
                self.region.set_mask(EXEC, value)
                continue
            target = targets.pop(0)
            if word == "mask":
                self.region.set_mask(target.value, value)
                continue
            row = row_of(target, self.accum_offset)
            if not packed:
                value = self._clamped(word, value)
            if word in WIDE:
                self.region.set_row(row, self.b.trunc(value), self.where)
                self.region.set_row(row + 1, self.b.high(value), self.where)
            elif self.inst.enc == "sdwa":
                self.region.set_row(row, self._sdwa_result(value, row), self.where)
            elif word == "b8":
                self.region.set_row(row, self._into_byte(value, row), self.where)
            elif word == "h16":
                self.region.set_row(row, self._into_half(value, row), self.where)
            else:
                self.region.set_row(row, value, self.where)

    def _into_half(self, value: LlvmValue, row: int) -> LlvmValue:
        old = self.region.row(row)
        high = self._bit("op_sel", len(self.sources)) or self.inst.op.endswith("mixhi_f16")
        if high:
            return self.b.or_(self.b.and_(old, self.b.const32(0xFFFF)), self.b.shl32(value, self.b.const32(16)))
        return self.b.or_(self.b.and_(old, self.b.const32(0xFFFF0000)), value)

    def _into_byte(self, value: LlvmValue, row: int) -> LlvmValue:
        at = 8 * (self._bit("op_sel", 2) + 2 * self._bit("op_sel", 3))
        keep = self.b.and_(self.region.row(row), self.b.const32(~(0xFF << at)))
        return self.b.or_(keep, self.b.shl32(value, self.b.const32(at)))

    def _sdwa_result(self, value: LlvmValue, row: int) -> LlvmValue:
        selection = str(self.inst.mods.get("dst_sel", "DWORD"))
        if selection == "DWORD":
            return value
        bits = 8 if selection.startswith("BYTE") else 16
        at = bits * int(selection[-1])
        field = self.b.and_(value, self.b.const32((1 << bits) - 1))
        unused = self.inst.mods.get("dst_unused", "UNUSED_PAD")
        if unused == "UNUSED_SEXT":
            return self.b.shl32(self._sign_extend(field, bits), self.b.const32(at))
        placed = self.b.shl32(field, self.b.const32(at))
        if unused != "UNUSED_PRESERVE":
            return placed
        keep = self.b.const32(~(((1 << bits) - 1) << at))
        return self.b.or_(self.b.and_(self.region.row(row), keep), placed)
