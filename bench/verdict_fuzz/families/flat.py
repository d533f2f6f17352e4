"""Elementwise kernels: chains over vectors and matrices, with tails, strides, several results and walks.

elementwise     y[i] = f(a[i], b[i], ...) in tiles of a workgroup, ragged or whole, any width and type
several         two results from one pass
matrix          Y[m, n] = f(A[m, n], s[m], t[n]) with strides, transposed results, grid orders
persistent      few workgroups walk over all tiles: range(b, T, G), ascending or descending, also with no turn at all
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from random import Random

import numpy as np

from bench.verdict_fuzz import bounded
from bench.verdict_fuzz.bounded import Real
from bench.verdict_fuzz.formulas import Formula, distributed, formula, rewritten
from bench.verdict_fuzz.program import (
    BF8,
    FLOATS,
    FP8,
    I8,
    U8,
    Arrays,
    ElementType,
    Generated,
    Sizes,
    around,
    as_f32,
    as_kind,
    header,
    pick,
    widths,
)  # fmt: skip

SCALARS = (2.0, -1.5, 0.5)
INPUTS = (*FLOATS, *FLOATS, FP8, BF8, I8, U8)
Tail = tuple[str, str]


def varied(dice: Random, f: Formula) -> Formula:
    """What the kernel computes where the specification says f."""
    made = rewritten(dice, f, dice.choice((0.0, 0.0, 0.2, 0.5)))
    return distributed(dice, made) if pick(dice, 0.2) else made


def vector_owner(dice: Random, threads: int) -> tuple[str, int, int]:
    """An owner of a flat tile, its span, and how many elements of a thread are neighbours."""
    each = dice.choice((1, 2, 4, 4, 8))
    span = threads * each
    match dice.randrange(4):
        case 0 if each > 1:
            return f'ag.Owner(t={threads}, e={each}, i="e*{threads} + t")', span, 1
        case 1 if each >= 4:
            half = each // 2
            return f'ag.Owner(t={threads}, p=2, e={half}, i="p*{threads * half} + t*{half} + e")', span, half
        case _:
            return f'ag.Owner(t={threads}, e={each}, i="t*{each} + e")', span, each


def tail(dice: Random, span: int, per_access: int, base: str, size: str = "N", axis: str = "i") -> tuple[str, str, str]:
    """(name, argument of the access, requirement): how a kernel keeps inside a vector."""
    match dice.randrange(5):
        case 0:
            return "exact", "", f"{size} % {span} == 0"
        case 1 | 2:
            return "guard shape", ', guard="shape"', f"{size} % {per_access} == 0" if per_access > 1 else f"{size} >= 1"
        case 3 if per_access == 1:
            return "guard lambda", f", guard=lambda {axis}: {base} + {axis} < {size}", f"{size} >= 1"
        case _:
            return "buffer range", "", f"{size} >= 1"


def common_width(dice: Random, kinds: list[ElementType], neighbours: int) -> int:
    """Elements per access that every type can move."""
    legal = set.intersection(*({w // k.size for w in widths(k, neighbours)} for k in kinds))
    return dice.choice(sorted(legal))


def values(arrays: Arrays, names: list[str]) -> dict[str, Real]:
    return {name: bounded.given(arrays[name].astype(np.float64)) for name in names}


def elementwise(dice: Random) -> Generated:
    return _vectors(dice, 1, "elementwise")


def several(dice: Random) -> Generated:
    return _vectors(dice, 2, "several")


def _vectors(dice: Random, outputs: int, family: str) -> Generated:
    names = ["a", "b", "c"][: dice.choice((1, 1, 2, 2, 3))]
    kinds = [dice.choice(INPUTS) for _ in names]
    outs = [dice.choice(FLOATS) for _ in range(outputs)]
    threads = dice.choice((64, 64, 128, 256))
    owner, span, neighbours = vector_owner(dice, threads)
    elements = common_width(dice, [*kinds, *outs], neighbours)
    base = f"{span} * b0"
    how, guard, requires = tail(dice, span, elements, base)
    scalar = "s" if pick(dice, 0.15) else ""
    leaves = [*names, *([scalar] if scalar else [])]
    formulas = [formula(dice, leaves, dice.choice((1, 1, 2, 2, 3))) for _ in outs]
    written = [varied(dice, f) for f in formulas]
    body = [f"b0 = ag.grid(ag.cdiv(N, {span}))"]
    for name, kind in zip(names, kinds, strict=True):
        width = elements * kind.size
        body.append(f"{name}v = " + as_f32(f"{name}[{base}].load(PART, width={width}{guard})", kind))
    tiles = {name: f"{name}v" for name in names}
    for n, (out, f) in enumerate(zip(outs, written, strict=True)):
        body.append(f"r{n} = " + as_kind(f.kernel(tiles), out))
        body.append(f"y{n}[{base}].store(r{n}, width={elements * out.size}{guard})")
    at = {name: f"{name}[i]" for name in names} | {"s": "s"}
    spec = "; ".join(f"y{n}[i] = {f.spec(at)}" for n, f in enumerate(formulas))
    signature = [f'{n}: ag.In["N", {k.name}]' for n, k in zip(names, kinds, strict=True)]
    signature += [f'y{n}: ag.Out["N", {k.name}]' for n, k in enumerate(outs)] + (["s: f32"] if scalar else [])
    source = (
        header(*kinds, *outs) + f"PART = {owner}\n\n\n"
        f'@ag.kernel(threads={threads}, requires="{requires}", computes="{spec}", example=dict(N={2 * span}))\n'
        f"def k({', '.join(signature)}):\n    " + "\n    ".join(body) + "\n"
    )
    first = dice.choice(SCALARS) if scalar else 0.0

    def meaning(scalars: Mapping[str, float], arrays: Arrays, sizes: Sizes) -> dict[str, Real]:
        env = values(arrays, names) | {n: bounded.given(np.float64(v)) for n, v in scalars.items()}
        return {f"y{n}": f.value(env) for n, f in enumerate(written)}

    constructs = (family, how, *(k.name for k in {*kinds, *outs}), *_functions(formulas))
    launches = tuple({"N": n} for n in around(span))
    given = [{"s": v} for v in sorted(SCALARS, key=lambda v: (v != first, v * first > 0))] if scalar else [{}]
    made = [Generated(family, source, constructs, launches, partial(meaning, s), s) for s in given]
    return replace(made[0], others=tuple(made[1:]))


def _functions(formulas: list[Formula]) -> tuple[str, ...]:
    return tuple(sorted({"fn " + op for f in formulas for op in _ops(f)} - {"fn leaf", "fn number"}))


def _ops(f: Formula) -> set[str]:
    return {f.op}.union(*(_ops(a) for a in f.args))


def matrix(dice: Random) -> Generated:
    kind, out = dice.choice(FLOATS), dice.choice(FLOATS)
    rows, cols, each = dice.choice(((8, 32, 4), (16, 16, 4), (4, 64, 4), (16, 32, 8), (8, 16, 2)))
    threads = rows * cols // each
    threads = max(threads, 64)
    per = rows * cols // threads
    across = cols // per if cols >= per else 1
    owner = f'ag.Owner(t={threads}, e={per}, m="t//{across}", n="t%{across}*{per} + e")'
    elements = common_width(dice, [kind, out], per)
    turned = pick(dice, 0.25)
    vector = dice.randrange(3)
    row_vector, column_vector = vector == 1, vector == 2
    leaves = ["X"] + (["s"] if row_vector else []) + (["t"] if column_vector else [])
    f = formula(dice, leaves, dice.choice((1, 2)))
    g = varied(dice, f)
    strided_in, strided_out = pick(dice, 0.4), pick(dice, 0.4)
    ragged = pick(dice, 0.6)
    order = dice.choice(("", "", ", order=ag.grouped(2)", ", order=ag.xcd(8)"))
    if turned:
        elements = 1
    guard = ', guard="shape"' if ragged else ""
    requires = [f"N % {elements} == 0" if elements > 1 else "N >= 1", "M >= 1"]
    if not ragged:
        requires = [f"M % {rows} == 0", f"N % {cols} == 0"]
    if strided_in:
        requires.append(f"sX % {elements} == 0 and sX >= N")
    if strided_out and not turned:
        requires.append(f"sY % {elements} == 0")
    x_axes = '"M N"' + f", {kind.name}" + (', "sX 1"' if strided_in else "")
    y_axes = ('"N M"' if turned else '"M N"') + f", {out.name}" + (', "sY 1"' if strided_out and not turned else "")
    here = f"{rows} * bm, {cols} * bn"
    body = [
        f"bm, bn = ag.grid(ag.cdiv(M, {rows}), ag.cdiv(N, {cols}){order})",
        "x = " + as_f32(f"X[{here}].load(TILE, width={elements * kind.size}{guard})", kind),
    ]
    if row_vector:
        body.append(f"sv = s[{rows} * bm].load(ROWS, width=4{guard})")
    if column_vector:
        body.append(f"tv = t[{cols} * bn].load(COLS, width=4{guard})")
    names = {"X": "x", "s": "sv", "t": "tv"}
    body.append("r = " + as_kind(g.kernel(names), out))
    target = f"Y[{cols} * bn, {rows} * bm]" if turned else f"Y[{here}]"
    body.append(f"{target}.store(r, width={elements * out.size}{guard})")
    index = "Y[n, m]" if turned else "Y[m, n]"
    spec = f"{index} = " + f.spec({"X": "X[m, n]", "s": "s[m]", "t": "t[n]"})
    signature = [f"X: ag.In[{x_axes}]"]
    signature += ['s: ag.In["M", f32]'] if row_vector else []
    signature += ['t: ag.In["N", f32]'] if column_vector else []
    signature.append(f"Y: ag.Out[{y_axes}]")
    extra = ", sX=2 * 96" if strided_in else ""
    extra += ", sY=200" if strided_out and not turned else ""
    owners = f"TILE = {owner}\n"
    owners += f'ROWS = ag.Owner(t={threads}, m="t//{across}")\n' if row_vector else ""
    owners += f'COLS = ag.Owner(t={threads}, e={per}, n="t%{across}*{per} + e")\n' if column_vector else ""
    source = (
        header(kind, out) + owners + "\n\n"
        f'@ag.kernel(threads={threads}, requires="{" and ".join(requires)}", computes="{spec}", '
        f"example=dict(M={2 * rows}, N={2 * cols}{extra}))\n"
        f"def k({', '.join(signature)}):\n    " + "\n    ".join(body) + "\n"
    )

    def meaning(arrays: Arrays, sizes: Sizes) -> dict[str, Real]:
        env = values(arrays, leaves)
        if "s" in env:
            env["s"] = bounded.spread(env["s"], 1)
        made = g.value(env)
        shape = (sizes["M"], sizes["N"])
        value, error = np.broadcast_to(made.value, shape), np.broadcast_to(made.error, shape)
        return {"Y": Real(value.T, error.T) if turned else Real(value, error)}

    launches = []
    for m, n in ((rows, cols), (rows + 1, cols + 1), (2 * rows - 1, 2 * cols - 1), (1, 1), (2 * rows, cols + elements),
                 (2 * rows, 2 * cols)):  # fmt: skip
        sizes = {"M": m, "N": n}
        if strided_in:
            sizes["sX"] = -(-n // elements) * elements + elements * dice.choice((0, 1, 3))
        if strided_out and not turned:
            sizes["sY"] = -(-n // elements) * elements + elements * dice.choice((0, 2))
        launches.append(sizes)
    constructs = ["matrix", kind.name, out.name, "guard shape" if ragged else "exact"]
    constructs += ["strides"] if strided_in or strided_out else []
    constructs += ["transpose"] if turned else []
    constructs += ["grid order"] if order else []
    return Generated("matrix", source, (*constructs, *_functions([f])), tuple(launches), meaning)


def persistent(dice: Random) -> Generated:
    kind = dice.choice(FLOATS)
    threads, each = dice.choice((64, 128)), dice.choice((1, 2, 4))
    span, groups = threads * each, dice.choice((1, 2, 3, 4))
    elements = common_width(dice, [kind], each)
    f = formula(dice, ["a"], dice.choice((1, 2)))
    g = varied(dice, f)
    tiles = f"ag.cdiv(N, {span})"
    match dice.randrange(4):
        case 0:
            loop, at = f"for w in ag.range(b0, {tiles}, {groups})", f"{span} * w"
        case 1:
            loop, at = f"for w in ag.range(ag.cdiv({tiles} - b0, {groups}))", f"{span} * ({groups} * w + b0)"
        case 2:
            loop, at = f"for w in ag.range(ag.cdiv(N, {span * groups}))", f"{span} * ({groups} * w + b0)"
        case _:
            loop, at = f"for w in ag.range(0, {tiles} - b0, {groups})", f"{span} * (w + b0)"
    how, guard, requires = tail(dice, span, elements, at)
    if how == "exact":
        guard = "" if "cdiv(N" not in loop or "range(ag.cdiv(N" not in loop else ', guard="shape"'
    least = "N >= 0" if how != "exact" else requires
    requires = least if pick(dice, 0.3) else requires
    if requires == "N >= 0" and elements > 1 and how == "guard shape":
        requires = f"N >= 0 and N % {elements} == 0"
    width = elements * kind.size
    body = (
        f"    b0 = ag.grid({groups})\n    {loop}:\n"
        f"        v = " + as_f32(f"a[{at}].load(PART, width={width}{guard})", kind) + "\n"
        f"        y[{at}].store({as_kind(g.kernel({'a': 'v'}), kind)}, width={width}{guard})\n"
    )
    source = (
        header(kind) + f'PART = ag.Owner(t={threads}, e={each}, i="t*{each} + e")\n\n\n'
        f'@ag.kernel(threads={threads}, requires="{requires}", computes="y[i] = {f.spec({"a": "a[i]"})}", '
        f"example=dict(N={2 * span}))\n"
        f'def k(a: ag.In["N", {kind.name}], y: ag.Out["N", {kind.name}]):\n{body}'
    )

    def meaning(arrays: Arrays, sizes: Sizes) -> dict[str, Real]:
        return {"y": g.value(values(arrays, ["a"]))}

    sizes = (*around(span * groups), span, span - 1, *around(span))
    return Generated(
        "persistent", source, ("persistent", how, kind.name, *_functions([f])),
        tuple({"N": n} for n in dict.fromkeys(sizes)), meaning,
    )  # fmt: skip
