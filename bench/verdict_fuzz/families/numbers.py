"""Whole numbers and matrix products.

integers    i32, i16, i8 and u8 data: sums, products, masks, comparisons, shifts by less and by more than the type has
            bits; division and remainder of negatives
indices     arithmetic on indices as data and as addresses: // % ^ & << >> of what may be negative
product     small matrix products by matrix instructions, with tails along K, biases, scales and batches
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from random import Random
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench.verdict_fuzz import bounded
from bench.verdict_fuzz.bounded import Real
from bench.verdict_fuzz.program import (
    BF16,
    F16,
    F32,
    I8,
    I16,
    I32,
    U8,
    Arrays,
    Generated,
    Sizes,
    around,
    as_kind,
    header,
    pick,
)  # fmt: skip

Whole = NDArray[np.int64]
LIMIT = 2**31
FAR = (7, 8, 9, 15, 16, 17, 20, 24, 31, 32, 33, 39, 40, 63, 64, 65, 70)
"""Amounts of shifts at the widths of types and beyond; of data they count modulo 32."""


class Written:
    """A whole number three ways: in the kernel, in `computes`, and exactly, with where it leaves 32 bits."""

    def __init__(self, kernel: str, spec: str, value: Callable[[Mapping[str, Whole]], tuple[Whole, Any]]) -> None:
        self.kernel, self.spec, self.value = kernel, spec, value


def _join(kernel: str, spec: str, function: Callable[..., Whole], *args: Written) -> Written:
    def value(env: Mapping[str, Whole]) -> tuple[Whole, Any]:
        parts = [a.value(env) for a in args]
        made = function(*(p[0] for p in parts))
        lost = np.abs(made) >= LIMIT
        for p in parts:
            lost = lost | p[1]
        return made, lost

    return Written(kernel.format(*(a.kernel for a in args)), spec.format(*(a.spec for a in args)), value)


def _number(n: int) -> Written:
    text = f"({n})" if n < 0 else str(n)
    return Written(text, text, lambda env: (np.asarray(n, dtype=np.int64), np.bool_(False)))


def whole_tree(dice: Random, atoms: list[Written], depth: int, tiles: bool) -> Written:
    """Tiles have no // and %: there a shift or a mask says it."""
    if depth == 0:
        return dice.choice(atoms)
    x = whole_tree(dice, atoms, depth - 1, tiles)
    y = dice.choice(atoms)
    n = dice.choice((1, 2, 3, 5, 7, 100, -4, -1))
    bits = dice.choice((1, 2, 3, 4))
    two = 1 << bits
    choices: list[Callable[[], Written]] = [
        lambda: _join("({} + {})", "({} + {})", np.add, x, y),
        lambda: _join("({} - {})", "({} - {})", np.subtract, x, y),
        lambda: _join("({} * {})", "({} * {})", np.multiply, x, _number(n)),
        lambda: _join("({} + {})", "({} + {})", np.add, x, _number(n)),
        lambda: _join(f"({{}} >> {bits})", f"({{}} // {two})", lambda a: a >> bits, x),
        lambda: _join(f"({{}} & {two - 1})", f"({{}} % {two})", lambda a: a & (two - 1), x),
        lambda: _join(f"({{}} << {bits})", f"({{}} * {two})", lambda a: a << bits, x),
    ]
    if tiles:
        far = dice.choice(FAR)
        by = far % 32
        choices += [
            lambda: _join(f"({{}} << {far})", f"({{}} * {1 << by})", lambda a: a << by, x),
            lambda: _join(f"({{}} >> {far})", f"({{}} // {1 << by})", lambda a: a >> by, x),
            lambda: _join(f"({{0}} + ({{0}} << {far}) * 0)", "{}", lambda a: a, x),
            lambda: _join("({0} + ({0} << {1}) * 0)", "{0}", lambda a, b: a + 0 * b, x, y),
            lambda: _join(f"({{0}} + ({{0}} >> {{1}}) * {far} * 0)", "{0}", lambda a, b: a + 0 * b, x, y),
            lambda: _join("(({0} << {1}) - ({0} << ({1} & 31)))", "({0} * 0)", lambda a, b: 0 * (a + b), x, y),
            lambda: _join("({} * {})", "({} * {})", np.multiply, x, y),
            lambda: _join("ag.max({}, {})", "maximum({}, {})", np.maximum, x, y),
            lambda: _join("ag.min({}, {})", "minimum({}, {})", np.minimum, x, _number(n)),
            lambda: _join("ag.where({} > {}, {}, {})", "where({} > {}, {}, {})",
                          _chosen, x, _number(n), x, y),
            lambda: _join("(-{})", "(-{})", np.negative, x),
        ]  # fmt: skip
    else:
        divisor = dice.choice((2, 3, 5, 7, 8, 16))
        choices += [
            lambda: _join(f"({{}} // {divisor})", f"({{}} // {divisor})", lambda a: a // divisor, x),
            lambda: _join(f"({{}} % {divisor})", f"({{}} % {divisor})", lambda a: a % divisor, x),
            lambda: _join(
                f"(({{}} - {n}) // {divisor})", f"(({{}} - {n}) // {divisor})", lambda a: (a - n) // divisor, x
            ),
        ]
    return dice.choice(choices)()


def _chosen(a: Whole, b: Whole, yes: Whole, no: Whole) -> Whole:
    return np.asarray(np.where(a > b, yes, no), dtype=np.int64)


def _leaf(kernel: str, spec: str, name: str) -> Written:
    return Written(kernel, spec, lambda env: (env[name], np.bool_(False)))


def integers(dice: Random) -> Generated:
    names = ["a", "b"][: dice.choice((1, 2))]
    kinds = [dice.choice((I32, I32, I16, I8, U8)) for _ in names]
    narrow = pick(dice, 0.3)
    kinds = [kinds[0]] * len(names) if narrow else kinds
    out = kinds[0] if narrow else I32
    if narrow and out == I32:
        narrow = False
    threads, each = dice.choice((64, 128)), dice.choice((1, 2, 4))
    span = threads * each
    atoms = [_leaf(f"{n}v", f"{n}[i]", n) for n in names]
    ops_depth = 1 if narrow else dice.choice((1, 1, 2, 3))
    tree = whole_tree(dice, atoms, ops_depth, True)
    tree = _join("({} + {})", "({} + {})", np.add, tree, atoms[0]) if "v" not in tree.kernel else tree
    body = [f"b0 = ag.grid(ag.cdiv(N, {span}))"]
    for n, kind in zip(names, kinds, strict=True):
        load = f"{n}[{span} * b0].load(PART, width={kind.size})"
        body.append(f"{n}v = {load}" + ("" if narrow or kind == I32 else ".to(i32)"))
    body.append(f"y[{span} * b0].store({tree.kernel}, width={out.size})")
    signature = [f'{n}: ag.In["N", {k.name}]' for n, k in zip(names, kinds, strict=True)]
    source = (
        header(*kinds, out, I32) + f'PART = ag.Owner(t={threads}, e={each}, i="t*{each} + e")\n\n\n'
        f'@ag.kernel(threads={threads}, requires="N >= 1", computes="y[i] = {tree.spec}", example=dict(N={2 * span}))\n'
        f'def k({", ".join(signature)}, y: ag.Out["N", {out.name}]):\n    ' + "\n    ".join(body) + "\n"
    )
    high = 2 ** (8 * out.size - 1) if narrow else LIMIT

    def meaning(arrays: Arrays, sizes: Sizes) -> dict[str, Real]:
        value, lost = tree.value({n: arrays[n].astype(np.int64) for n in names})
        exact = np.broadcast_to(value, (sizes["N"],))
        # what leaves the type it is computed in wraps: only whole results inside it are judged
        wraps = np.broadcast_to(lost, exact.shape) | (np.abs(exact) >= high)
        if narrow:
            wraps = wraps | (not _ring(tree.kernel))
        return {"y": Real(exact.astype(np.float64), np.where(wraps, np.inf, 0.0))}

    constructs = ("integers", *(k.name for k in {*kinds, out}), *(("narrow arithmetic",) if narrow else ()))
    return Generated("integers", source, constructs, tuple({"N": n} for n in around(span)), meaning)


def _ring(text: str) -> bool:
    """One operation, which cannot wrap inside and come back."""
    return text.count("(") <= 2


def indices(dice: Random) -> Generated:
    threads = dice.choice((64, 128))
    i = _leaf("i", "i", "i")
    shifted = _join("({} - {})", "({} - {})", np.subtract, i, _number(dice.choice((3, 64, 300, 100))))
    tree = whole_tree(dice, [i, shifted], dice.choice((1, 2, 2)), False)
    as_data = pick(dice, 0.5)
    body = [f"b0 = ag.grid(ag.cdiv(N, {threads}))", f"i = {threads} * b0 + ag.thread()"]
    if as_data:
        body.append(f"y[i].store(i32({tree.kernel}), width=4, guard=i < N)")
        spec, types = f"y[i] = {tree.spec}", 'y: ag.Out["N", i32]'
    else:
        body.append(f"v = x[{tree.kernel}].load(ONE, width=4)")
        body.append("y[i].store(v.without(), width=4, guard=i < N)")
        spec, types = f"y[i] = x[{tree.spec}]", 'x: ag.In["S", f32], y: ag.Out["N", f32]'
    source = (
        header(F32, I32) + f'ONE = ag.Owner(t={threads}, z="t*0")\n\n\n'
        f'@ag.kernel(threads={threads}, requires="N >= 1 and N <= 100000", computes="{spec}", example=dict(N={threads}'
        f"{'' if as_data else ', S=100'}))\n"
        f"def k({types}):\n    " + "\n    ".join(body) + "\n"
    )

    def meaning(arrays: Arrays, sizes: Sizes) -> dict[str, Real]:
        value, lost = tree.value({"i": np.arange(sizes["N"], dtype=np.int64)})
        value = np.broadcast_to(value, (sizes["N"],))
        if as_data:
            return {"y": Real(value.astype(np.float64), np.where(lost, np.inf, 0.0))}
        x = arrays["x"].astype(np.float64)
        there = (value >= 0) & (value < len(x))
        found = np.where(there, x[np.clip(value, 0, len(x) - 1)], 0.0)
        return {"y": bounded.given(found)}

    sizes = [
        {"N": n} if as_data else {"N": n, "S": s}
        for n, s in zip(around(threads), (100, 1, 64, 7, 333, 5), strict=False)
    ]
    constructs = ("indices", "index as data" if as_data else "index as address")
    return Generated("indices", source, constructs, tuple(sizes), meaning)


def product(dice: Random) -> Generated:
    kind = dice.choice((BF16, F16))
    big = pick(dice, 0.5)
    side, depth = (32, 8) if big else (16, 16)
    lanes = 64 // side
    per = depth // lanes
    name = f"mfma_{side}x{side}x{depth}_{kind.name}"
    out = dice.choice((F32, kind))
    ktail, bias, scale = pick(dice, 0.3), pick(dice, 0.3), dice.choice(("", "", "2.0"))
    swapped = pick(dice, 0.3) and not bias
    batch = pick(dice, 0.2)
    steps = f"ag.cdiv(K, {depth})" if ktail else f"K // {depth}"
    unroll = pick(dice, 0.3) and not ktail
    guard = ', guard="shape"' if ktail else ""
    width = 2 if ktail else per * 2
    lead = "bb, " if batch else ""
    grid = (
        f"bm, bn = ag.grid(M // {side}, N // {side})"
        if not batch
        else f"bb, bm, bn = ag.grid(B, M // {side}, N // {side})"
    )
    acc = 'MMA.acc(row="n", col="m")' if swapped else 'MMA.acc(row="m", col="n")'
    turn = depth * 2 if unroll else depth
    body = [grid, "acc = ag.zeros(ACC, f32)"]
    body.append(f"for kt in ag.range({steps if not unroll else f'K // {turn}'}):")
    for h in range(2 if unroll else 1):
        at = f"{turn} * kt" + (f" + {depth * h}" if h else "")
        body += [
            f"    a{h} = A[{lead}{side} * bm, {at}].load(FRAG, width={width}{guard})",
            f"    b{h} = W[{side} * bn, {at}].load(FRAG, width={width}{guard})",
            f"    acc = ag.mfma({f'b{h}, a{h}' if swapped else f'a{h}, b{h}'}, acc)",
        ]
    value = "acc" + (f" * {scale}" if scale else "")
    if bias:
        body.append(f"v = bias[{side} * bn].load(COLS, width=4)")
        value += " + v"
    body.append(f"C[{lead}{side} * bm, {side} * bn].store({as_kind(value, out)}, width={out.size})")
    owners = f'MMA = {name}\nFRAG = MMA.operand(row="row", k="k")\nACC = {acc}\n'
    owners += f'COLS = ag.Owner(lane=64, n="lane%{side}")\n' if bias else ""
    requires = (
        f"M % {side} == 0 and N % {side} == 0 and K >= 1"
        if ktail
        else f"M % {side} == 0 and N % {side} == 0 and K % {turn} == 0"
    )
    left = "A[b, m, k]" if batch else "A[m, k]"
    spec = ("C[b, m, n]" if batch else "C[m, n]") + f" = sum({left} * W[n, k], k)" + (" * 2" if scale else "")
    spec += " + bias[n]" if bias else ""
    axes = "B " if batch else ""
    signature = [f'A: ag.In["{axes}M K", {kind.name}]', f'W: ag.In["N K", {kind.name}]']
    signature += ['bias: ag.In["N", f32]'] if bias else []
    signature.append(f'C: ag.Out["{axes}M N", {out.name}]')
    extra = ", B=2" if batch else ""
    source = (
        header(kind, out, also=f"from argus.gfx942 import {name}") + owners + "\n\n"
        f'@ag.kernel(threads=64, requires="{requires}", computes="{spec}", '
        f"example=dict(M={side}, N={side}, K={2 * depth}{extra}))\n"
        f"def k({', '.join(signature)}):\n    " + "\n    ".join(body) + "\n"
    )

    def meaning(arrays: Arrays, sizes: Sizes) -> dict[str, Real]:
        a, w = (arrays[n].astype(np.float64) for n in ("A", "W"))
        exact, size = a @ w.T, np.abs(a) @ np.abs(w).T
        factor = 2.0 if scale else 1.0
        value, error = exact * factor, factor * size * bounded.ROUNDING * (sizes["K"] + 4)
        if bias:
            value = value + arrays["bias"].astype(np.float64)
            error = error + 2 * bounded.ROUNDING * (np.abs(value) + size)
        return {"C": Real(value, np.where(size > bounded.LARGEST, np.inf, error + 64 * bounded.TINY))}

    ks = (turn, 2 * turn, 3 * turn, turn + 1, 2 * turn - 1, 5)
    sizes = [{"M": side * (1 + n % 2), "N": side, "K": kk, **({"B": 2} if batch else {})} for n, kk in enumerate(ks)]
    constructs = ("product", "matrix instruction", kind.name, out.name, *(("tail of K",) if ktail else ()))
    return Generated("product", source, constructs, tuple(sizes), meaning)
