"""xor, pad, permute, view, slice, merge, split, replicate: local changes of a layout.

Each states its law in terms of the old layout (old(...) is the old address) and checks it on every point:

    xor(chunk="row[0:3]")     new(row, chunk, e) = old(row, chunk ^ row%8, e)
    pad(row=16)               new(...) = a + 16*(a // stride of row),  a = old(...)     16 free bytes after every row
    permute("e", "row")       same addresses, axes in another order
    view(4)                   elements of 4 bytes instead of old ones: same bytes, the item digit changes extent
    slice(row=3)              new(chunk, e) = old(3, chunk, e);   slice(row=(8, 16)) keeps rows 8..15
    merge(k=("chunk", "e"))   new(row, k) = old(row, k // 8, k % 8)
    split(row={"b": 8, "r": 32})   new(b, r, ...) = old(b*32 + r, ...)

What it cannot do: a swizzle needs its source and target digits to be bits of the address (power-of-two strides that no
other digit overlaps); padding after a swizzle is refused, because addresses would no longer be exclusive-or related.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from argus.layout import gf2
from argus.layout.compose import at_points
from argus.layout.error import LayoutError
from argus.layout.evaluate import evaluate
from argus.layout.form import Axis, Digit, LayoutForm, Number, Table, channels, digit_values, grid
from argus.layout.node import Expr, ExprError, as_expr, const, var
from argus.layout.swizzle import Swizzle
from argus.layout.text import parse


def digit(form: LayoutForm, label: str) -> Digit:
    """The digit of that label (or the only digit of the axis of that name)."""
    for axis in form.axes:
        for one in axis.digits:
            if one.label == label or (axis.name == label and len(axis.digits) == 1):
                return one
    known = ", ".join(one.label for one in form.digits())
    raise LayoutError(f"the layout has no digit `{label}`; its digits are {known}", label)


def _numbers(one: Digit) -> tuple[int, int]:
    if not isinstance(one.extent, int) or not isinstance(one.stride, int):
        raise LayoutError(f"`{one.label}` is known only at launch; constant extent and stride are needed", one.label)
    return one.extent, one.stride


def xor(form: LayoutForm, target: str, source: str | Expr) -> LayoutForm:
    """`target` is exclusive-ored with bits of other digits before the address is formed."""
    goal = digit(form, target)
    extent, stride = _numbers(goal)
    if extent & (extent - 1):
        raise LayoutError(f"xor: `{target}` has extent {extent}, not a power of two", target)
    variables = {
        one.label: var(one.label, 0, (1 << (one.extent - 1).bit_length()) - 1)
        for one in form.digits()
        if isinstance(one.extent, int)
    }
    try:
        e = (
            parse(source, _names(form, variables))
            if isinstance(source, str)
            else source.subst({v: variables[v.name] for v in source.free() if v.name in variables})
        )
    except ExprError as error:
        raise LayoutError(f"xor: {error}", target) from error
    used = sorted(e.free(), key=lambda v: v.name)
    linear = gf2.affine(e, used)
    if linear is None or linear.constant:
        raise LayoutError(f"xor: `{e}` is not an exclusive or of bits", target, *(v.name for v in used[:1]))
    step = _place(goal.label, stride)
    moves: dict[int, int] = {}
    position = 0
    for v in used:
        first = _place(v.name, _numbers(digit(form, v.name))[1])
        width = gf2.bit_width(v) or 0
        for bit in range(width):
            image = linear.columns[position + bit]
            if image >= extent:
                raise LayoutError(f"xor: `{e}` has more bits than `{target}` with extent {extent}", v.name, target)
            moves[first + bit] = image << step
        position += width
    size = max([*moves, *(m.bit_length() - 1 for m in moves.values()), 0]) + 1
    columns = tuple((1 << bit) ^ moves.get(bit, 0) for bit in range(size))
    sources = ", ".join(v.name for v in used)
    try:
        result = replace(form, swizzle=form.swizzle.after(Swizzle(columns)))
    except LayoutError as error:
        raise LayoutError(f"xor: {error}", sources, target) from error
    if not _xor_holds(form, result, goal.label, e):
        raise LayoutError(
            f"xor: `{sources}` and `{target}` are not separate bits of the address "
            f"(their strides overlap or carry into each other)",
            sources,
            target,
        )
    return result


def _place(label: str, stride: int) -> int:
    if stride <= 0 or stride & (stride - 1):
        raise LayoutError(f"xor: the stride {stride} of `{label}` is not a power of two", label)
    return stride.bit_length() - 1


def _names(form: LayoutForm, variables: Mapping[str, Expr]) -> dict[str, Expr]:
    """What a swizzle may mention: digits, and axes as combinations of their digits."""
    names = dict(variables)
    for axis in form.axes:
        if all(one.label in variables for one in axis.digits):
            total = const(0)
            for one in axis.digits:
                total = total * one.extent + variables[one.label]
            names.setdefault(axis.name, total)
    return names


def _xor_holds(old: LayoutForm, new: LayoutForm, target: str, e: Expr) -> bool:
    values = digit_values(old, grid(old))
    moved = dict(values)
    moved[target] = values[target] ^ np.asarray(evaluate(e, {v.name: values[v.name] for v in e.free()}))
    return bool((_by_digits(old, moved) == _by_digits(new, values)).all())


def _by_digits(form: LayoutForm, values: Mapping[str, Table]) -> Table:
    """Addresses from digit values, without symbolic parts."""
    inner = np.int64(form.offset) + sum(
        values[one.label] * np.int64(one.stride) for one in form.digits() if isinstance(one.stride, int)
    )
    return form.swizzle.of_table(np.array(inner, dtype=np.int64))


def pad(form: LayoutForm, label: str, free: int) -> LayoutForm:
    """`free` bytes stay unused after every step of `label`."""
    goal = digit(form, label)
    _, stride = _numbers(goal)
    if free < 0 or stride <= 0:
        raise LayoutError(f"pad: `{label}` with stride {stride} cannot be padded by {free}", label)
    if not form.swizzle.identity:
        raise LayoutError(
            f"pad: `{label}` cannot be padded under an exclusive or; pad first, or choose one", label, "xor"
        )
    below = form.offset % stride
    axes = []
    for axis in form.axes:
        digits = []
        for one in axis.digits:
            extent, step = _numbers(one)
            if step % stride == 0:
                digits.append(replace(one, stride=step + free * (step // stride)))
            elif 0 <= step < stride:
                below += step * (extent - 1)
                digits.append(one)
            else:
                raise LayoutError(
                    f"pad: stride {step} of `{one.label}` is not a multiple of {stride}", one.label, label
                )
            if below >= stride:
                raise LayoutError(f"pad: `{one.label}` reaches into the next step of `{label}`", one.label, label)
        axes.append(replace(axis, digits=tuple(digits)))
    return replace(form, axes=tuple(axes), offset=form.offset + free * (form.offset // stride))


def permute(form: LayoutForm, names: Sequence[str]) -> LayoutForm:
    """The same axes in another order."""
    axes = {axis.name: axis for axis in form.axes}
    if sorted(names) != sorted(axes):
        wrong = next((n for n in names if n not in axes), next((n for n in axes if n not in names), names[0]))
        raise LayoutError(f"permute needs each of {', '.join(axes)} once; look at `{wrong}`", wrong)
    return replace(form, axes=tuple(axes[name] for name in names))


def view(form: LayoutForm, to: int, of: int) -> LayoutForm:
    """The same bytes as elements of `to` bytes instead of `of`."""
    if to < 1 or (to % of and of % to):
        raise LayoutError(f"view: elements of {of} bytes cannot be read as elements of {to} bytes")
    item = next((one for one in form.digits() if one.stride == of), None)
    if item is None:
        raise LayoutError(f"view: no digit has the element step of {of} bytes")
    extent, _ = _numbers(item)
    if to > of and extent % (to // of):
        raise LayoutError(f"view: `{item.label}` holds {extent} elements, not a multiple of {to // of}", item.label)
    changed = replace(item, extent=extent * of // to, stride=to)
    axes = tuple(
        replace(axis, digits=tuple(changed if one is item else one for one in axis.digits)) for axis in form.axes
    )
    result = replace(form, axes=axes)
    if not _same_bytes(form, of, result, to, item.label):
        raise LayoutError(
            f"view: the exclusive or divides the {max(to, of)} bytes of an element of `{item.label}`", item.label, "xor"
        )
    return result


def _same_bytes(old: LayoutForm, of: int, new: LayoutForm, to: int, label: str) -> bool:
    wide, narrow, step = (new, old, of) if to > of else (old, new, to)
    ratio = max(to, of) // step
    values = digit_values(narrow, grid(narrow))
    inside = values[label] % ratio
    return bool(
        (
            _by_digits(wide, {**values, label: values[label] // ratio}) + inside * step == _by_digits(narrow, values)
        ).all()
    )


def slice_(form: LayoutForm, fixed: Mapping[str, int | tuple[int, int]]) -> LayoutForm:
    """Fix axes at a value (they disappear) or restrict them to start..stop-1."""
    for name, where in fixed.items():
        form = _fix(form, name, where) if isinstance(where, int) else _restrict(form, name, *where)
    return form


def _axis(form: LayoutForm, name: str) -> Axis:
    for axis in form.axes:
        if axis.name == name:
            return axis
    raise LayoutError(f"the layout has no axis `{name}`; its axes are {', '.join(a.name for a in form.axes)}", name)


def _inside(axis: Axis, low: int, high: int) -> None:
    if low < 0 or (isinstance(axis.extent, int) and high >= axis.extent) or low > high:
        raise LayoutError(f"slice: {low}..{high} is outside `{axis.name}` with extent {axis.extent}", axis.name)


def _fix(form: LayoutForm, name: str, where: int) -> LayoutForm:
    axis = _axis(form, name)
    _inside(axis, where, where)
    inner, outer = channels(LayoutForm((axis,), base=const(0)), {name: np.array([where])})
    base = form.base
    for symbol, factor in outer.items():
        base = base + symbol * int(factor[0])
    rest = tuple(other for other in form.axes if other is not axis)
    return replace(form, axes=rest, offset=form.offset + int(inner[0]), base=base)


def _restrict(form: LayoutForm, name: str, start: int, stop: int) -> LayoutForm:
    axis = _axis(form, name)
    _inside(axis, start, stop - 1)
    if len(axis.digits) == 1:
        short = replace(axis, digits=(replace(axis.digits[0], extent=stop - start),))
        base, offset = form.base, form.offset
        if isinstance(axis.digits[0].stride, int):
            offset += start * axis.digits[0].stride
        else:
            base = base + axis.digits[0].stride * start
        return replace(form, axes=tuple(short if a is axis else a for a in form.axes), offset=offset, base=base)
    shape = tuple(stop - start if a is axis else n for a, n in zip(form.axes, form.shape, strict=True))
    names = [a.name for a in form.axes]
    where = dict(zip(names, np.indices(shape, dtype=np.int64, sparse=True), strict=True))
    where[name] = where[name] + start
    return at_points(form, names, shape, where, (), "slice")


def merge(form: LayoutForm, name: str, parts: Sequence[str]) -> LayoutForm:
    """The axes `parts`, slowest first, become the digits of one axis, at the place of the first."""
    if not parts or len(set(parts)) < len(parts):
        raise LayoutError(f"merge: `{name}` needs different axes to be made of", name)
    chosen = [_axis(form, part) for part in parts]
    merged = Axis(name, tuple(one for axis in chosen for one in axis.digits))
    axes = []
    for axis in form.axes:
        if axis is chosen[0]:
            axes.append(merged)
        elif axis not in chosen:
            axes.append(axis)
    return replace(form, axes=tuple(axes))


def split(form: LayoutForm, name: str, parts: Mapping[str, int]) -> LayoutForm:
    """The axis `name` becomes the axes `parts`, slowest first, whose extents multiply to its own."""
    axis = _axis(form, name)
    product = int(np.prod([1, *parts.values()], dtype=object))
    if not isinstance(axis.extent, int) or product != axis.extent or any(n < 1 for n in parts.values()):
        text = " * ".join(map(str, parts.values()))
        raise LayoutError(f"split: {text} is not the extent {axis.extent} of `{name}`", name, *list(parts)[:1])
    inner = LayoutForm((axis,))
    shape = tuple(parts.values())
    index = np.arange(product, dtype=np.int64).reshape(shape)
    fitted = at_points(inner, list(parts), shape, {name: index}, (), "split")
    if not fitted.swizzle.identity:
        raise LayoutError(f"split: `{name}` does not divide into {' and '.join(parts)}", name, *list(parts)[:1])
    at = form.axes.index(axis)
    return replace(form, axes=(*form.axes[:at], *fitted.axes, *form.axes[at + 1 :]))


def replicate(form: LayoutForm, name: str, copies: Number) -> LayoutForm:
    """A further, slowest axis on which the address does not depend."""
    return replace(form, axes=(Axis(name, (Digit(name, copies, 0),)), *form.axes))


def shift(form: LayoutForm, by: int | Expr) -> LayoutForm:
    """The same layout `by` bytes further, outside the exclusive-or part."""
    return replace(form, base=form.base + as_expr(by))
