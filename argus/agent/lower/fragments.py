"""How lanes hold operands of matrix instructions: the instruction of an owner, its extents, the loads of fragments.

MMA = mfma_32x32x8_bf16; A_FRAG = MMA.operand("m", "k")
instruction(source, owner)      the import it comes from and (32, 32, 8)
fragment_loads(source)          every load with such an owner
"""

from __future__ import annotations

import ast
import re

from argus.agent.lower.matrix import is_operand_owner, owner_definition
from argus.agent.lower.source import (
    NotApplicableError,
    Source,
    SourceAccess,
    is_ag,
    keyword,
    names,
)
from argus.agent.lower.text import expression

BYTES = {"bf16": 2, "f16": 2, "fp8": 1, "bf8": 1, "i8": 1, "f32": 4, "i32": 4, "u32": 4, "f64": 8}


def instruction(source: Source, owner: ast.Call) -> tuple[ast.ImportFrom, ast.alias, tuple[int, int, int]]:
    """The import behind `MMA.operand(…)` and the instruction's rows, columns and k."""
    used = names(owner.func)
    for node in source.tree.body:
        if isinstance(node, ast.ImportFrom) and node.module == "argus.gfx942":
            for alias in node.names:
                shape = re.match(r"mfma_(\d+)x(\d+)x(\d+)_", alias.name)
                if (alias.asname or alias.name) in used and shape:
                    rows, columns, k = (int(n) for n in shape.groups())
                    return node, alias, (rows, columns, k)
    raise NotApplicableError(f"{ast.unparse(owner.func)} is no matrix instruction of this file")


def operand_extents(source: Source, owner: ast.Call) -> tuple[int, int]:
    """Rows and k one fragment covers."""
    rows, _, k = instruction(source, owner)[2]
    wide = keyword(owner, "wide")
    held = rows * k // 64
    return rows, k * (source.value(wide) or held) // held if wide is not None else k


def fragment_loads(source: Source) -> list[SourceAccess]:
    """Loads whose owner is an operand of a matrix instruction."""
    found = []
    for load in source.loads():
        try:
            definition = owner_definition(source, load.owner)
        except NotApplicableError:
            continue
        if is_operand_owner(definition):
            found.append(load)
    return found


def element_bytes(source: Source, place: str) -> int:
    """Bytes of an element of a tensor or LDS buffer."""
    tensor = source.tensors().get(place)
    if tensor is not None:
        return BYTES[tensor.element]
    for node in ast.walk(source.function):
        if (
            isinstance(node, ast.Assign)
            and isinstance(node.targets[0], ast.Name)
            and node.targets[0].id == place
            and is_ag(node.value, "shared")
            and isinstance(node.value, ast.Call)
        ):
            return BYTES[ast.unparse(node.value.args[1])]
    raise NotApplicableError(f"{place} is neither a tensor nor an LDS buffer")


def product(a: ast.expr, b: ast.expr) -> ast.expr:
    """a * b, without factors of one."""
    if isinstance(a, ast.Constant) and a.value == 1:
        return b
    if isinstance(b, ast.Constant) and b.value == 1:
        return a
    return ast.BinOp(a, ast.Mult(), b)


def named(source: Source, value: ast.expr) -> ast.expr:
    """The constant of the file that is defined as this expression, or the expression."""
    for node in source.tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            forms = [value]
            if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Mult):
                forms.append(ast.BinOp(value.right, ast.Mult(), value.left))
            if any(ast.dump(node.value) == ast.dump(form) for form in forms):
                return expression(node.targets[0].id)
    return value
