"""Kernels over rows: reductions in registers, lanes, waves and loops; normalizations; running maxima and sums.

rows      one statistic per row, or every element meets the statistic of its row
waves     several waves share a row and meet in LDS
long      a loop walks along the row; the statistic is carried
online    softmax statistics in one pass: the sum is rescaled when the maximum grows
argmax    the first place of the largest or smallest element
"""

from __future__ import annotations

from random import Random

import numpy as np

from bench.verdict_fuzz import bounded
from bench.verdict_fuzz.bounded import Real
from bench.verdict_fuzz.families.flat import common_width, varied
from bench.verdict_fuzz.formulas import Formula, formula, leaf, of
from bench.verdict_fuzz.program import (
    F32,
    FLOATS,
    Arrays,
    ElementType,
    Generated,
    Sizes,
    as_f32,
    as_kind,
    header,
    pick,
)  # fmt: skip

REDUCE = {"sum": bounded.total, "max": bounded.largest, "min": bounded.least}
NEUTRAL = {"sum": "0.0", "max": "-ag.inf", "min": "ag.inf"}


def _body(dice: Random, kind: str) -> Formula:
    """What is reduced: plain or a function of the element."""
    return leaf("x") if pick(dice, 0.4) else formula(dice, ["x"], 1)


def zero_stays(f: Formula) -> bool:
    """Padding by zeros adds nothing to a sum of f."""
    got = f.value({"x": bounded.given(np.zeros(1))})
    return bool(got.value[0] == 0 and got.error[0] < 1e-30)


def _statistics(x: Real, op: str, f: Formula) -> Real:
    return REDUCE[op](f.value({"x": x}), 1)


def rows(dice: Random) -> Generated:
    """A row in one wave; one or several rows in a workgroup."""
    kind, out = dice.choice(FLOATS), dice.choice(FLOATS)
    each, per_group = dice.choice((1, 2, 4)), dice.choice((1, 1, 2, 4))
    span = 64 * each
    elements = common_width(dice, [kind, out], each)
    op = dice.choice(("sum", "sum", "max", "min"))
    f = _body(dice, op)
    g = varied(dice, f)
    ragged = pick(dice, 0.7)
    whole = pick(dice, 0.5)
    guard = ', guard="shape"' if ragged else (", guard=row < M" if per_group > 1 else "")
    requires = f"M >= 1 and N >= 1 and N <= {span}" if ragged else f"M >= 1 and N == {span}"
    requires += f" and N % {elements} == 0" if ragged and elements > 1 else ""
    masked = ragged and not (op == "sum" and zero_stays(g) and pick(dice, 0.7))
    row = f"{per_group} * ag.grid(ag.cdiv(M, {per_group})) + ag.wave()" if per_group > 1 else "ag.grid(M)"
    load = as_f32(f"X[row].load(ROW, width={elements * kind.size}{guard})", kind)
    body = [f"row = {row}", f"x = {load}", f"u = {g.kernel({'x': 'x'})}"]
    if g.op == "number":
        body[-1] = "u = x * 0.0 + " + g.kernel()
    if masked:
        body.append(f"u = ag.where(x.n < N, u, {NEUTRAL[op]})")
    body.append(f's = u.{op}("n")')
    at = f"{op}({f.spec({'x': 'X[m, j]'})}, j)"
    if whole:
        after = formula(dice, ["x", "s"], dice.choice((0, 1)))
        written = varied(dice, after)
        body.append(f"r = {as_kind(written.kernel({'x': 'x', 's': 's'}), out)}")
        body.append(f"Y[row].store(r, width={elements * out.size}{guard})")
        spec, axes = "Y[m, n] = " + after.spec({"x": "X[m, n]", "s": at}), "M N"
    else:
        where = "ag.lane() == 0" + (" and row < M" if per_group > 1 else "")
        where = "(ag.lane() == 0) & (row < M)" if per_group > 1 and pick(dice, 0.5) else where
        body.append(f"Y[row].store({as_kind('s', out)}, width={out.size}, guard={where})")
        spec, axes, written = f"Y[m] = {at}", "M", leaf("s")
    source = (
        header(kind, out) + f'ROW = ag.Owner(lane=64, e={each}, n="lane*{each} + e")\n\n\n'
        f'@ag.kernel(threads={64 * per_group}, requires="{requires}", computes="{spec}", example=dict(M=3, N={span}))\n'
        f'def k(X: ag.In["M N", {kind.name}], Y: ag.Out["{axes}", {out.name}]):\n    ' + "\n    ".join(body) + "\n"
    )

    def meaning(arrays: Arrays, sizes: Sizes) -> dict[str, Real]:
        x = bounded.given(arrays["X"].astype(np.float64))
        s = _statistics(x, op, g)
        made = written.value({"x": x, "s": bounded.spread(s, 1)}) if whole else s
        shape = (sizes["M"], sizes["N"]) if whole else (sizes["M"],)
        return {"Y": Real(np.broadcast_to(made.value, shape), np.broadcast_to(made.error, shape))}

    sizes = [(1, span), (3, span), (5, span - 1), (2, span - elements), (per_group, 1), (4, elements)]
    constructs: tuple[str, ...] = ("rows", "reduce " + op, kind.name, out.name, "mask" if masked else "no mask")
    constructs += ("guard shape",) if ragged else ()
    return Generated("rows", source, constructs, _launches(sizes), meaning)


def _launches(sizes: list[tuple[int, int]]) -> tuple[dict[str, int], ...]:
    return tuple({"M": m, "N": n} for m, n in dict.fromkeys(sizes) if m >= 1 and n >= 1)


def waves(dice: Random) -> Generated:
    """Waves of a workgroup reduce their parts; the parts meet in LDS."""
    kind = dice.choice(FLOATS)
    each, count = dice.choice((1, 2, 4)), dice.choice((2, 4))
    threads, span = 64 * count, 64 * count * each
    elements = common_width(dice, [kind], each)
    op = dice.choice(("sum", "max", "min"))
    f = _body(dice, op)
    masked = not (op == "sum" and zero_stays(f))
    body = [
        "row = ag.grid(M)",
        "x = " + as_f32(f'X[row].load(ROW, width={elements * kind.size}, guard="shape")', kind),
        f"u = {f.kernel({'x': 'x'})}" if f.op != "number" else f"u = x * 0.0 + {f.kernel()}",
    ]
    if masked:
        body.append(f"u = ag.where(x.n < N, u, {NEUTRAL[op]})")
    body += [
        f'part = u.{op}("n", within="wave")',
        "parts = ag.shared(PARTS, f32)",
        "parts.store(part, w=ag.wave(), width=4, guard=ag.lane() == 0)",
        "ag.barrier()",
        f's = parts.load(EACH, width=4).{op}("w")',
    ]
    body.append(f'Y[row].store({as_kind("x - s", kind)}, width={elements * kind.size}, guard="shape")')
    spec = f"Y[m, n] = X[m, n] - {op}({f.spec({'x': 'X[m, j]'})}, j)"
    more = f" and N % {elements} == 0" if elements > 1 else ""
    source = (
        header(kind) + f'ROW = ag.Owner(t={threads}, e={each}, n="t*{each} + e")\n'
        f"PARTS = ag.Layout(w=({count}, 4))\n"
        f'EACH = ag.Owner(t={threads}, i={count}, w="i")\n\n\n'
        f'@ag.kernel(threads={threads}, requires="M >= 1 and N >= 1 and N <= {span}{more}", computes="{spec}", '
        f"example=dict(M=3, N={span}))\n"
        f'def k(X: ag.In["M N", {kind.name}], Y: ag.Out["M N", {kind.name}]):\n    ' + "\n    ".join(body) + "\n"
    )

    def meaning(arrays: Arrays, sizes: Sizes) -> dict[str, Real]:
        x = bounded.given(arrays["X"].astype(np.float64))
        g = f if f.op != "number" else of("add", of("mul", leaf("x"), 0), f)
        return {"Y": bounded.call("sub", x, bounded.spread(_statistics(x, op, g), 1))}

    sizes = [(1, span), (2, span - elements), (3, span // 2 + elements), (1, elements)]
    constructs = ("waves", "reduce " + op, kind.name, "LDS", "guard shape")
    return Generated("waves", source, constructs, _launches(sizes), meaning)


def long(dice: Random) -> Generated:
    """A loop along the row carries the statistic, in registers or already reduced."""
    kind = dice.choice(FLOATS)
    each = dice.choice((1, 2, 4))
    span = 64 * each
    elements = common_width(dice, [kind], each)
    op = dice.choice(("sum", "sum", "max", "min"))
    f = _body(dice, op)
    f = of("add", of("mul", leaf("x"), 0), f) if not f.leaves() else f
    ragged = pick(dice, 0.6)
    masked = ragged and not (op == "sum" and zero_stays(f))
    step = dice.choice((1, 1, 2))
    if step > 1 and ragged:
        elements = 1  # the reader does not see that such a counter is even (AG317)
    early = pick(dice, 0.4)
    guard = ', guard="shape"' if ragged else ""
    join = {"sum": "{} + {}", "max": "ag.max({}, {})", "min": "ag.min({}, {})"}[op]
    start = "ag.zeros(ROW, f32)" if op == "sum" else f"ag.full(ROW, f32, {NEUTRAL[op]})"
    if early:
        start = ("ag.zeros(ONE, f32)" if op == "sum" else f"ag.full(ONE, f32, {NEUTRAL[op]})") + ".without()"
    place = "i" if step > 1 else f"{span} * i"
    bounds = f"0, N, {span}" if step > 1 else f"ag.cdiv(N, {span})"
    body = [
        "row = ag.grid(M)",
        f"acc = {start}",
        f"for i in ag.range({bounds}):",
        "    x = " + as_f32(f"X[row, {place}].load(ROW, width={elements * kind.size}{guard})", kind),
        f"    u = {f.kernel({'x': 'x'})}",
    ]
    if masked:
        body.append(f"    u = ag.where({place} + x.n < N, u, {NEUTRAL[op]})")
    body.append("    acc = " + join.format("acc", f'u.{op}("n")' if early else "u"))
    value = "acc" if early else f'acc.{op}("n")'
    body.append(f"Y[row].store({as_kind(value, kind)}, width={kind.size}, guard=ag.lane() == 0)")
    spec = f"Y[m] = {op}({f.spec({'x': 'X[m, j]'})}, j)"
    requires = f"M >= 1 and N >= 1 and N % {elements} == 0" if ragged else f"M >= 1 and N >= {span} and N % {span} == 0"
    source = (
        header(kind)
        + f'ROW = ag.Owner(lane=64, e={each}, n="lane*{each} + e")\nONE = ag.Owner(lane=64, z="lane*0")\n\n\n'
        f'@ag.kernel(threads=64, requires="{requires}", computes="{spec}", example=dict(M=3, N={span}))\n'
        f'def k(X: ag.In["M N", {kind.name}], Y: ag.Out["M", {kind.name}]):\n    ' + "\n    ".join(body) + "\n"
    )

    def meaning(arrays: Arrays, sizes: Sizes) -> dict[str, Real]:
        return {"Y": _statistics(bounded.given(arrays["X"].astype(np.float64)), op, f)}

    sizes = [(1, span), (2, 2 * span), (1, 3 * span - elements), (2, span + elements), (1, elements), (1, 1)]
    constructs = ("long", "loop", "reduce " + op, kind.name, "mask" if masked else "no mask")
    return Generated("long", source, constructs, _launches(sizes), meaning)


def online(dice: Random) -> Generated:
    """log-sum-exp, softmax or a softmax-weighted mean by one pass that rescales."""
    kind = dice.choice(FLOATS)
    each = dice.choice((1, 2, 4))
    span = 64 * each
    elements = common_width(dice, [kind], each)
    which = dice.choice(("sum", "mean", "softmax"))
    sc = dice.choice(("ag.exp2(({}) * ag.LOG2E)", "ag.exp({})"))
    body = [
        "row = ag.grid(M)",
        "top = ag.full(ONE, f32, -ag.inf).without()",
        "den = ag.zeros(ONE, f32).without()",
        *(["num = ag.zeros(ONE, f32).without()"] if which == "mean" else []),
        f"for i in ag.range(ag.cdiv(N, {span})):",
        "    x = " + as_f32(f'X[row, {span} * i].load(ROW, width={elements * kind.size}, guard="shape")', kind),
        f"    u = ag.where({span} * i + x.n < N, x, -ag.inf)",
        '    new = ag.max(top, u.max("n"))',
        f"    old = {sc.format('top - new')}",
        f"    e = {sc.format('u - new')}",
        '    den = den * old + e.sum("n")',
        *(['    num = num * old + (e * x).sum("n")'] if which == "mean" else []),
        "    top = new",
    ]
    soft = "exp(X[m, {0}] - max(X[m, j], j))"
    total_text = f"sum({soft.format('i')}, i)"
    if which == "sum":
        body.append(f"Y[row].store({as_kind('den', kind)}, width={kind.size}, guard=ag.lane() == 0)")
        spec, axes = f"Y[m] = {total_text}", "M"
    elif which == "mean":
        body.append(f"Y[row].store({as_kind('num / den', kind)}, width={kind.size}, guard=ag.lane() == 0)")
        spec, axes = f"Y[m] = sum({soft.format('h')} * X[m, h], h) / {total_text}", "M"
    else:
        body += [
            f"for q in ag.range(ag.cdiv(N, {span})):",
            "    v = " + as_f32(f'X[row, {span} * q].load(ROW, width={elements * kind.size}, guard="shape")', kind),
            f"    Y[row, {span} * q].store({as_kind(sc.format('v - top') + ' / den', kind)}, "
            f'width={elements * kind.size}, guard="shape")',
        ]
        spec, axes = f"Y[m, n] = {soft.format('n')} / {total_text}", "M N"
    source = (
        header(kind)
        + f'ROW = ag.Owner(lane=64, e={each}, n="lane*{each} + e")\nONE = ag.Owner(lane=64, z="lane*0")\n\n\n'
        f'@ag.kernel(threads=64, requires="M >= 1 and N >= 1 and N % {elements} == 0", computes="{spec}", '
        f"example=dict(M=3, N={span}))\n"
        f'def k(X: ag.In["M N", {kind.name}], Y: ag.Out["{axes}", {kind.name}]):\n    ' + "\n    ".join(body) + "\n"
    )

    def meaning(arrays: Arrays, sizes: Sizes) -> dict[str, Real]:
        x = bounded.given(arrays["X"].astype(np.float64))
        shifted = bounded.call("sub", x, bounded.spread(bounded.largest(x, 1), 1))
        turns = 8 + x.value.shape[1] // 16  # each rescaling adds roundings to what is already there
        grown = Real(shifted.value, shifted.error * 2 + turns * 4 * bounded.ROUNDING * (1 + np.abs(shifted.value)))
        e = bounded.call("exp", grown)
        den = bounded.total(e, 1)
        if which == "sum":
            return {"Y": den}
        if which == "mean":
            return {"Y": bounded.call("div", bounded.total(bounded.call("mul", e, x), 1), den)}
        return {"Y": bounded.call("div", e, bounded.spread(den, 1))}

    sizes = [(1, span), (2, 2 * span), (1, 3 * span - elements), (2, span + elements), (1, elements)]
    return Generated("online", source, ("online", "loop", kind.name, "online " + which), _launches(sizes), meaning)


def argmax(dice: Random) -> Generated:
    kind: ElementType = dice.choice((F32, F32, *FLOATS))
    each = dice.choice((1, 2, 4))
    span = 64 * each
    elements = common_width(dice, [kind], each)
    op = dice.choice(("max", "min"))
    fill = NEUTRAL[op]
    strict = pick(dice, 0.5)
    body = [
        "row = ag.grid(M)",
        "x = " + as_f32(f'X[row].load(ROW, width={elements * kind.size}, guard="shape")', kind),
        f"u = ag.where(x.n < N, x, {fill})",
        f'top = u.{op}("n")',
        f'first = ag.where({"u == top" if strict else "(u == top) & (x.n < N)"}, x.n, {span}).min("n")',
        "Y[row].store(first, width=4, guard=ag.lane() == 0)",
    ]
    more = f" and N % {elements} == 0" if elements > 1 else ""
    source = (
        header(kind, ElementType("i32", 4, False)) + f'ROW = ag.Owner(lane=64, e={each}, n="lane*{each} + e")\n\n\n'
        f'@ag.kernel(threads=64, requires="M >= 1 and N >= 1 and N <= {span}{more}", '
        f'computes="Y[m] = arg{op}(X[m, n], n)", example=dict(M=3, N={span}))\n'
        f'def k(X: ag.In["M N", {kind.name}], Y: ag.Out["M", i32]):\n    ' + "\n    ".join(body) + "\n"
    )

    def meaning(arrays: Arrays, sizes: Sizes) -> dict[str, Real]:
        x = arrays["X"].astype(np.float64)
        return {"Y": bounded.given((x.argmax(1) if op == "max" else x.argmin(1)).astype(np.float64))}

    sizes = [(1, span), (2, span - elements), (3, span // 2 + elements), (1, elements)]
    return Generated("argmax", source, ("argmax", kind.name, "mask"), _launches(sizes), meaning)
