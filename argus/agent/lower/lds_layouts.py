"""Where elements lie in LDS: rows swizzled by exclusive or, or padded, so that lanes meet different banks.

    ag.Layout(row=(128, 128), k=(64, 2))
    -> ag.Layout(row=(128, 128), chunk=(8, 16), e=(8, 2), k=("chunk", "e")).xor(chunk="row[0:3]")      kind xor, bits 3
    -> ag.Layout(row=(128, 144), k=(64, 2))                                                  kind pad, 16 bytes

Kind `cross` mixes in the next bits of the row too: buffers that are written along their rows' numbers (a transposition
on the way) put eight rows into one access. Kind `reads` looks at the width a buffer's fragments are read with: 8 bytes
get chunks of 8 and four bits of the row, crossed with three higher ones. Reads and writes use coordinates, so nothing
else changes. The assertion `ag.check.bank_free` is put in with the layout; if the bits do not fit the way the buffer is
read, the checker says so.
"""

from __future__ import annotations

import ast

from argus.agent.lower.source import NotApplicableError, Source, is_ag, keyword
from argus.agent.lower.text import expression, statement

NARROW = 8


def set_layouts(source: Source, kind: str, amount: int) -> None:
    """Every LDS buffer of the kernel gets the layout `kind` with so many bits or bytes."""
    buffers = _buffers(source)
    if not buffers:
        raise NotApplicableError("there is no LDS buffer")
    changed = False
    for layout, buffer in {layout: buffer for buffer, layout in buffers.items()}.items():
        given = source.constant(layout)
        if given is None or _composed(given.value):
            continue
        plain = _plain(given.value)
        if kind == "pad":
            new = _padded(plain, amount)
        elif kind == "reads" and _read_width(source, buffer) == NARROW:
            new = _fine(plain)
        else:
            new = _xored(plain, amount, crossed=kind == "cross")
        changed |= ast.dump(new) != ast.dump(given.value)
        given.value = new
    if not changed:
        raise NotApplicableError("the buffers have this layout already")
    asserted = any(
        isinstance(n, ast.Call) and isinstance(n.func, ast.Attribute) and n.func.attr == "bank_free"
        for n in ast.walk(source.function)
    )
    if not asserted:
        source.body.append(statement(f"ag.check.bank_free({', '.join(buffers)})"))


def padded(source: Source) -> bool:
    """Whether rows of some LDS buffer are padded."""
    layouts = (source.constant(name) for name in _buffers(source).values())
    digits = (
        g.value.keywords[0].value
        for g in layouts
        if g is not None and isinstance(g.value, ast.Call) and g.value.keywords
    )
    return any(
        isinstance(d, ast.Tuple) and isinstance(d.elts[-1], ast.BinOp) and isinstance(d.elts[-1].op, ast.Add)
        for d in digits
    )


def _buffers(source: Source) -> dict[str, str]:
    """LDS buffers and the names of their layouts."""
    found: dict[str, str] = {}
    for node in ast.walk(source.function):
        if (
            isinstance(node, ast.Assign)
            and isinstance(node.targets[0], ast.Name)
            and is_ag(node.value, "shared")
            and isinstance(node.value, ast.Call)
            and isinstance(node.value.args[0], ast.Name)
        ):
            found[node.targets[0].id] = node.value.args[0].id
    return found


def _composed(layout: ast.expr) -> bool:
    """Whether a layout has digits of its own for its axes, other than chunks of a row: it was made for its accesses."""
    call = layout
    while isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr == "xor":
        call = call.func.value
    digits = {k.arg for k in call.keywords} if isinstance(call, ast.Call) else set()
    return len(digits) > 2 and "chunk" not in digits


def _plain(layout: ast.expr) -> tuple[str, str, str, str, str]:
    """row axis, its extent, k axis, its extent, bytes of an element – of a layout in any of the three forms."""
    call = layout
    while isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr == "xor":
        call = call.func.value
    if not is_ag(call, "Layout") or not isinstance(call, ast.Call):
        raise NotApplicableError(f"{ast.unparse(layout)} is not a plain layout")
    digits = {k.arg: k.value for k in call.keywords if k.arg is not None}
    row = next(iter(digits))
    extent = _pair(digits[row])[0]
    chunk = keyword(call, "chunk")
    if chunk is not None:
        names = [
            n
            for n, v in digits.items()
            if isinstance(v, ast.Tuple) and isinstance(v.elts[0], ast.Constant) and v.elts[0].value == "chunk"
        ]
        many = _pair(chunk)[0]
        count, size = _pair(digits["e"])
        line = many.rsplit("//", 1)[0].strip() if "//" in many else f"{many} * {count}"
        return row, extent, names[0], line, size
    k = list(digits)[1]
    line, size = _pair(digits[k])
    return row, extent, k, line, size


def _pair(node: ast.expr) -> tuple[str, str]:
    if not isinstance(node, ast.Tuple) or len(node.elts) != 2:
        raise NotApplicableError(f"{ast.unparse(node)} is not (extent, bytes)")
    return ast.unparse(node.elts[0]), ast.unparse(node.elts[1])


def _xored(plain: tuple[str, str, str, str, str], bits: int, *, crossed: bool) -> ast.expr:
    row, rows, k, line, size = plain
    mixed = f"{row}[0:{bits}] ^ {row}[{bits}:{2 * bits}]" if crossed else f"{row}[0:{bits}]"
    vector = 16 // int(size)
    return expression(
        f"ag.Layout({row}=({rows}, {size} * {line}), chunk=({line} // {vector}, 16), e=({vector}, {size}), "
        f"{k}=('chunk', 'e')).xor(chunk='{mixed}')"
    )


def _read_width(source: Source, buffer: str) -> int:
    """The widest read of a buffer, in bytes."""
    widths = [source.value(keyword(a.call, "width") or ast.Constant(0)) for a in source.loads() if a.place == buffer]
    return max((w for w in widths if w is not None), default=0)


def _fine(plain: tuple[str, str, str, str, str]) -> ast.expr:
    row, rows, k, line, size = plain
    each = NARROW // int(size)
    return expression(
        f"ag.Layout({row}=({rows}, {size} * {line}), chunk=({line} // {each}, {NARROW}), e=({each}, {size}), "
        f"{k}=('chunk', 'e')).xor(chunk='{row}[0:4] ^ {row}[3:7]')"
    )


def _padded(plain: tuple[str, str, str, str, str], amount: int) -> ast.expr:
    row, rows, k, line, size = plain
    return expression(f"ag.Layout({row}=({rows}, {size} * {line} + {amount}), {k}=({line}, {size}))")
