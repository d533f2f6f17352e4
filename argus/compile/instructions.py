"""Instructions a kernel names directly (`Instruction`), emitted as `argus.gfx942.calling` declares them.

    v_perm_b32       llvm.amdgcn.perm                                 once per element
    v_lshlrev_b32    n = and i32 {0}, 31; shl i32 {1}, {n}            LLVM drops the mask: the instruction has it
    v_pk_add_f16     fadd <2 x half>                                  once per pair of elements

This module only carries the declarations out: it cuts values into the operands of single instructions, fills the
templates, and puts the results together.
"""

from __future__ import annotations

import re

from argus.compile.context import EmitContext, element_type
from argus.gfx942.calling import entry
from argus.gfx942.calls import Call
from argus.ir.ops import Instruction
from argus.ir.types import Value

_LLVM = {
    "f64": "double", "f32": "float", "f16": "half", "u64": "i64", "i64": "i64", "u32": "i32", "i32": "i32",
    "u16": "i16", "i16": "i16", "b32": "i32", "bool": "i1", "f32x2": "<2 x float>", "f16x2": "<2 x half>",
    "u16x2": "<2 x i16>", "i16x2": "<2 x i16>",
}  # fmt: skip
_SUFFIX = {
    "double": "f64", "float": "f32", "half": "f16", "<2 x float>": "v2f32", "<2 x half>": "v2f16",
    "<2 x i16>": "v2i16",
}  # fmt: skip
_CALL = re.compile(r"call (.+?) @([\w.]+)\((.*)\)$")
_COMMA = re.compile(r", (?![^<]*>)")


def emit_instruction(c: EmitContext, op: Instruction) -> None:
    row = entry(op.inst)
    if row is None:
        raise c.fail("C120", f"`{op.inst}` cannot be named directly", "docs/language.md lists what can")
    if not row.results:
        c.function.keep_order()
        c.function.call("void", row.emit, *_immediates(row, op))
        c.function.keep_order()
        return
    columns = [_operands(c, value, word) for value, word in zip(op.args, row.operands, strict=True)]
    made = [_one(c, op, row, list(group)) for group in zip(*columns, strict=True)]
    for n, (out, word) in enumerate(zip(op.outs, row.results, strict=True)):
        c.set(out, _result(c, out, word, [parts[n] for parts in made]))


def _immediates(row: Call, op: Instruction) -> list[str]:
    return [f"{option.llvm} {int(op.attrs[option.name])}" for option in row.options]


def _operands(c: EmitContext, value: Value, word: str) -> list[str]:
    """The operand of each instruction of the op."""
    if word in ("f16x2", "u16x2", "i16x2"):
        return [c.cast(text, "i32", _LLVM[word]) for text in c.dwords(value)]
    if word == "b32":
        return c.dwords(value)
    parts = c.elements(c.typed(value), element_type(value.dtype), value.count)
    if word == "f32x2":
        return [c.build(parts[n : n + 2], "float") for n in range(0, value.count, 2)]
    return parts


def _result(c: EmitContext, out: Value, word: str, parts: list[str]) -> str:
    if word in ("f16x2", "u16x2", "i16x2"):
        return c.from_dwords([c.cast(part, _LLVM[word], "i32") for part in parts], out)
    if word == "b32":
        return c.from_dwords(parts, out)
    if word == "f32x2":
        return c.build([x for part in parts for x in c.elements(part, "float", 2)], "float")
    return c.packed(c.build(parts, element_type(out.dtype)), out)


def _one(c: EmitContext, op: Instruction, row: Call, operands: list[str]) -> list[str]:
    """One machine instruction; its results."""
    results = [_LLVM[word] for word in row.results]
    names = {"t": results[0], "s": _SUFFIX.get(results[0], results[0])}
    if row.emit.startswith("llvm."):
        kinds = [_LLVM[word] for word in row.operands]
        given = [f"{kind} {text}" for kind, text in zip(kinds, operands, strict=True)]
        both = f"<{len(results)} x {results[0]}>" if len(results) > 1 else results[0]
        text = c.function.call(both, row.emit.format(**names), *given, *_immediates(row, op))
        return c.elements(text, results[0], len(results))
    names |= {option.name: str(int(op.attrs[option.name])) for option in row.options}
    values = [_statement(c, op, statement.strip(), operands, names) for statement in row.emit.split(";")]
    return values[-len(results) :]


def _statement(c: EmitContext, op: Instruction, statement: str, operands: list[str], names: dict[str, str]) -> str:
    """`name = LLVM instruction` or a bare instruction; `names` learns the result."""
    found = re.match(r"(\w) = (.*)$", statement)
    name, text = (found[1], found[2]) if found else ("", statement)
    widened = re.match(r"widen \{(\d)\}$", text)
    if widened:
        n = int(widened[1])
        half = op.args[n].dtype.bits == 16
        value = c.function.let(f"fpext half {operands[n]} to float") if half else operands[n]
    else:
        filled = text.format(*operands, **names)
        call = _CALL.match(filled)
        value = c.function.call(call[1], call[2], *_COMMA.split(call[3])) if call else c.function.let(filled)
    if name:
        names[name] = value
    return value
