"""A decoded gfx942 instruction: what the decoder makes and machine, clock and audit read.

Operands stand in the order of AMD's assembly text, destinations first:

    v_mfma_f32_32x32x8_bf16 a[0:15], v[2:3], v[4:5], a[0:15]
    Inst(op="v_mfma_f32_32x32x8_bf16", operands=(a0x16, v2x2, v4x2, a0x16), mods={})
    buffer_load_dwordx4 v[8:11], v1, s[4:7], 0 offen offset:16
    Inst(op="buffer_load_dwordx4", operands=(v8x4, v1, s4x4, imm 0), mods={"offen": True, "offset": 16})

`op` is the base mnemonic without encoding suffix; the suffix (e32, e64, sdwa, dpp) is `enc`.
Scalar registers use the hardware numbering of one flat file, so pairs and aliases need no special case:
s0..s101, flat_scratch 102, xnack_mask 104, vcc 106, ttmp 108..123, m0 124, exec 126.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

FLAT_SCRATCH, XNACK_MASK, VCC, TTMP, M0, EXEC = 102, 104, 106, 108, 124, 126

Kind = Literal["v", "a", "s", "imm", "fimm", "lit", "off", "special"]


@dataclass(frozen=True, slots=True)
class InstOperand:
    """One operand.

    kind   v, a, s: register `value` .. `value + count - 1` (dwords);
           imm: inline integer `value`; fimm: inline float, `value` is its IEEE single-precision bit pattern;
           lit: 32-bit literal `value`; off: absent address; special: a hardware source by its encoding `value`
           (scc 253, vccz 251, execz 252, shared_base 235 ...), printed by the disassembler by name.
    neg, abs, sext   source modifiers.
    """

    kind: Kind
    value: int = 0
    count: int = 1
    neg: bool = False
    abs: bool = False
    sext: bool = False


Mod = int | bool | str | tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Inst:
    """One instruction at byte offset `pc` of the code section; `size` in bytes; a branch jumps to pc `target`."""

    pc: int
    size: int
    op: str
    enc: str
    operands: tuple[InstOperand, ...]
    mods: Mapping[str, Mod] = field(default_factory=dict)
    target: int | None = None
    words: tuple[int, ...] = ()
