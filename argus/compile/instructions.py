"""Instructions a kernel names directly (`Instruction`), each through the LLVM intrinsic that selects exactly it.

    v_perm_b32 (i32, i32, i32) -> i32          one call per element when operands have several

Only instructions without memory effect are here; memory, matrix and wait instructions have ops of their own.
"""

from __future__ import annotations

from dataclasses import dataclass

from argus.compile.context import Context, element_type
from argus.ir.ops import Instruction


@dataclass(frozen=True, slots=True)
class Scalar:
    """An intrinsic over scalars: LLVM types of operands and result; applied element by element."""

    intrinsic: str
    operands: tuple[str, ...]
    result: str


TABLE: dict[str, Scalar] = {
    "v_perm_b32": Scalar("llvm.amdgcn.perm", ("i32",) * 3, "i32"),
    "v_alignbyte_b32": Scalar("llvm.amdgcn.alignbyte", ("i32",) * 3, "i32"),
    "v_bfe_u32": Scalar("llvm.amdgcn.ubfe.i32", ("i32",) * 3, "i32"),
    "v_bfe_i32": Scalar("llvm.amdgcn.sbfe.i32", ("i32",) * 3, "i32"),
    "v_med3_f32": Scalar("llvm.amdgcn.fmed3.f32", ("float",) * 3, "float"),
    "v_fract_f32": Scalar("llvm.amdgcn.fract.f32", ("float",), "float"),
    "v_sin_f32": Scalar("llvm.amdgcn.sin.f32", ("float",), "float"),
    "v_cos_f32": Scalar("llvm.amdgcn.cos.f32", ("float",), "float"),
    "v_ldexp_f32": Scalar("llvm.ldexp.f32.i32", ("float", "i32"), "float"),
    "v_frexp_mant_f32": Scalar("llvm.amdgcn.frexp.mant.f32", ("float",), "float"),
    "v_frexp_exp_i32_f32": Scalar("llvm.amdgcn.frexp.exp.i32.f32", ("float",), "i32"),
    "v_mul_u32_u24": Scalar("llvm.amdgcn.mul.u24.i32", ("i32",) * 2, "i32"),
    "v_mul_i32_i24": Scalar("llvm.amdgcn.mul.i24.i32", ("i32",) * 2, "i32"),
    "v_sad_u8": Scalar("llvm.amdgcn.sad.u8", ("i32",) * 3, "i32"),
    "v_readfirstlane_b32": Scalar("llvm.amdgcn.readfirstlane.i32", ("i32",), "i32"),
}

CONTROL: dict[str, tuple[str, str]] = {
    "s_sleep": ("llvm.amdgcn.s.sleep", "i32"),
    "s_nop": ("llvm.amdgcn.s.nop", "i16"),
}
"""Instructions with one immediate, given as attribute `value`, and no operands."""


def emit_instruction(c: Context, op: Instruction) -> None:
    if op.inst in CONTROL and not op.args:
        intrinsic, kind = CONTROL[op.inst]
        c.function.keep_order()
        c.function.call("void", intrinsic, f"{kind} {op.attrs.get('value', 0)}")
        c.function.keep_order()
        return
    row = TABLE.get(op.inst)
    if row is None:
        known = ", ".join(sorted({*TABLE, *CONTROL}))
        raise c.fail("C120", f"`{op.inst}` cannot be named directly", f"instructions that can: {known}")
    if len(op.args) != len(row.operands) or len(op.outs) != 1:
        raise c.fail("C120", f"{op.inst} takes {len(row.operands)} operands and gives one result")
    columns = []
    for value, kind in zip(op.args, row.operands, strict=True):
        if element_type(value.dtype) != kind:
            raise c.fail("C120", f"{op.inst} takes {kind} operands, not {value.dtype}")
        columns.append(c.elements(c.get(value), kind, value.count))
    parts = [
        c.function.call(row.result, row.intrinsic, *(f"{k} {x}" for k, x in zip(row.operands, tuple_, strict=True)))
        for tuple_ in zip(*columns, strict=True)
    ]
    c.set(op.outs[0], c.build(parts, row.result))
