"""Kernels about where and when: branches of lanes and waves, stencils, gathers, atomics, loops that may not run.

branch     two arms by lane, wave, block or element; tiles merged, LDS written in the arms
stencil    neighbours along a vector or a row, zeros outside
gather     rows named by an integer tensor
atomic     column sums and histograms by read-modify-write
"""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench.verdict_fuzz import bounded
from bench.verdict_fuzz.bounded import Real
from bench.verdict_fuzz.families.flat import common_width, values, varied
from bench.verdict_fuzz.formulas import formula
from bench.verdict_fuzz.program import (
    F32,
    FLOATS,
    Arrays,
    Generated,
    Sizes,
    around,
    as_f32,
    as_kind,
    header,
    pick,
)  # fmt: skip


def branch(dice: Random) -> Generated:
    kind = dice.choice(FLOATS)
    threads = dice.choice((64, 128, 256))
    through = pick(dice, 0.3)
    cut = dice.choice((1, 7, 16, 31, 32, 48))
    per_wave = threads > 64 and pick(dice, 0.5)
    nested = pick(dice, 0.3)
    if per_wave:
        condition, said = f"ag.wave() < {threads // 128}", f"i % {threads} < {threads // 2}"
    else:
        match dice.randrange(4):
            case 0:
                condition, said = f"ag.lane() < {cut}", f"i % 64 < {cut}"
            case 1:
                condition, said = "ag.lane() % 2 == 0", "i % 2 == 0"
            case 2:
                condition, said = f"ag.thread() >= {cut}", f"i % {threads} >= {cut}"
            case _:
                condition, said = f"{threads} * b0 + ag.thread() < N // 2", "i < N // 2"
    f, g = (formula(dice, [name], 1) for name in ("a", "b"))
    load = {n: as_f32(f"{n}[{threads} * b0].load(PART, width={kind.size})", kind) for n in ("a", "b")}
    inside = pick(dice, 0.6)
    body = [f"b0 = ag.grid(ag.cdiv(N, {threads}))"]
    first = dict(load)
    if not inside:
        body += [f"av = {load['a']}", f"bv = {load['b']}"]
        first = {"a": "av", "b": "bv"}
    if through:
        body += ["s = ag.shared(LDS, f32)"]
        body += [
            f"if {condition}:", f"    u = {first['a']}", f"    s.store({f.kernel({'a': 'u'})}, width=4)",
            "else:", f"    w = {first['b']}", f"    s.store({g.kernel({'b': 'w'})}, width=4)",
            "ag.barrier()", "r = s.load(PART, width=4)",
        ]  # fmt: skip
    elif nested:
        body += [
            f"r = {first['b']}",
            f"if {condition}:", f"    u = {first['a']}", f"    r = {f.kernel({'a': 'u'})}",
            "else:",
            "    if ag.lane() >= 0:",
            f"        w = {first['b']}", f"        r = {g.kernel({'b': 'w'})}",
        ]  # fmt: skip
    else:
        body += [
            f"r = {first['b']}",
            f"if {condition}:", f"    u = {first['a']}", f"    r = {f.kernel({'a': 'u'})}",
            "else:", f"    w = {first['b']}", f"    r = {g.kernel({'b': 'w'})}",
        ]  # fmt: skip
    body.append(f"y[{threads} * b0].store({as_kind('r', kind)}, width={kind.size})")
    spec = f"y[i] = where({said}, {f.spec({'a': 'a[i]'})}, {g.spec({'b': 'b[i]'})})"
    source = (
        header(kind) + f'PART = ag.Owner(t={threads}, i="t")\nLDS = ag.Layout(i=({threads}, 4))\n\n\n'
        f'@ag.kernel(threads={threads}, requires="N >= 1", computes="{spec}", example=dict(N={2 * threads}))\n'
        f'def k(a: ag.In["N", {kind.name}], b: ag.In["N", {kind.name}], y: ag.Out["N", {kind.name}]):\n    '
        + "\n    ".join(body) + "\n"
    )  # fmt: skip

    def meaning(arrays: Arrays, sizes: Sizes) -> dict[str, Real]:
        i, env = np.arange(sizes["N"]), values(arrays, ["a", "b"])
        truth = eval(said, {"i": i, "N": sizes["N"]})  # the generator's own condition on indices
        return {"y": bounded.choose(truth, f.value(env), g.value(env))}

    constructs: tuple[str, ...] = ("branch", kind.name, "wave branch" if per_wave else "lane branch")
    constructs += ("LDS",) if through else ()
    constructs += ("loads in arms",) if inside else ()
    return Generated("branch", source, constructs, tuple({"N": n} for n in around(threads)), meaning)


def stencil(dice: Random) -> Generated:
    kind = dice.choice((F32, F32, *FLOATS))
    each = dice.choice((1, 2, 4))
    threads = dice.choice((64, 128))
    span = threads * each
    step = dice.choice((1, 1, 2))
    stated = pick(dice, 0.4)
    offsets = list(range(dice.choice((2, 3, 4)))) if stated else sorted(dice.sample(range(-3, 5), dice.choice((2, 3))))
    weights = [dice.choice((1.0, 2.0, -1.0, 0.5, 3.0)) for _ in offsets]
    weights = [weights[0]] * len(offsets) if stated else weights
    low = [o for o in offsets if o < 0]
    through = pick(dice, 0.3) and not low and each == 1
    guarded = pick(dice, 0.5)
    index = f"{step} * i" if step > 1 else "i"
    terms = []
    body = [f"b0 = ag.grid(ag.cdiv(N, {span}))"]
    owner = (
        f'ag.Owner(t={threads}, e={each}, n="(t*{each} + e)*{step}")'
        if step > 1
        else f'ag.Owner(t={threads}, e={each}, n="t*{each} + e")'
    )
    keep = f'ag.Owner(t={threads}, e={each}, i="t*{each} + e")'
    if through and step == 1:
        halo = max(offsets)
        body += [
            f"s = ag.shared(LDS, {kind.name})",
            f"s.store(x[{span} * b0].load(PART, width={kind.size}), width={kind.size})",
            f"s.store(x[{span} * b0 + {span}].load(PART, width={kind.size}), n={span}, width={kind.size}, "
            f"guard=ag.thread() < {max(halo, 1)})",
            "ag.barrier()",
        ]
        for o in offsets:
            terms.append(as_f32(f"s.load(PART, n={o}, width={kind.size})", kind))
    else:
        guard = ', guard="shape"' if guarded else ""
        for o in offsets:
            place = f"{span * step} * b0" + (f" + {o}" if o > 0 else f" - {-o}" if o < 0 else "")
            terms.append(as_f32(f"x[{place}].load(PART, width={kind.size}{guard})", kind))
    for n, t in enumerate(terms):
        body.append(f"v{n} = {t}")
    total = " + ".join(f"v{n} * {w!r}" for n, w in enumerate(weights))
    body.append(f"r = ({total}).held_as(KEEP)")
    body.append(f"y[{span} * b0].store({as_kind('r', kind)}, width={kind.size})")

    def at(o: int) -> str:
        return f"x[{index}]" if o == 0 else f"x[{index} + {o}]" if o > 0 else f"x[{index} - {-o}]"

    if stated:
        spec = f"y[i] = {weights[0]!r} * sum(x[{index} + h], h, {len(offsets)})"
    else:
        spec = "y[i] = " + " + ".join(f"{at(o)} * {w!r}" for o, w in zip(offsets, weights, strict=True))
    spec = spec.replace(".0 ", " ").replace("-1 ", "(-1) ")
    source = (
        header(kind) + f"PART = {owner}\nKEEP = {keep}\nLDS = ag.Layout(n=({2 * span}, {kind.size}))\n\n\n"
        f'@ag.kernel(threads={threads}, requires="N >= 1", computes="{spec}", example=dict(N={2 * span}))\n'
        f'def k(x: ag.In["N", {kind.name}], y: ag.Out["N", {kind.name}]):\n    ' + "\n    ".join(body) + "\n"
    )

    def meaning(arrays: Arrays, sizes: Sizes) -> dict[str, Real]:
        x, n = arrays["x"].astype(np.float64), sizes["N"]
        total_value: NDArray[Any] = np.zeros(n)
        weight: NDArray[Any] = np.zeros(n)
        for o, w in zip(offsets, weights, strict=True):
            place = np.arange(n) * step + o
            there = (place >= 0) & (place < n)
            part = np.where(there, x[np.clip(place, 0, n - 1)], 0.0) * w
            total_value, weight = total_value + part, weight + np.abs(part)
        return {"y": Real(total_value, 8 * bounded.ROUNDING * weight + bounded.TINY)}

    constructs: tuple[str, ...] = (
        "stencil",
        kind.name,
        "LDS" if through else "loads",
        *(("stated range",) if stated else ()),
    )
    constructs += ("negative offset",) if low else ()
    constructs += (f"step {step}",) if step > 1 else ()
    return Generated("stencil", source, constructs, tuple({"N": n} for n in around(span)), meaning)


def gather(dice: Random) -> Generated:
    kind = dice.choice(FLOATS)
    each = dice.choice((1, 2, 4))
    cols = 64 * each
    elements = common_width(dice, [kind], each)
    f = formula(dice, ["T"], 1)
    g = varied(dice, f)
    shift = dice.choice((0, 0, 1, 2))
    per_thread = pick(dice, 0.3)
    weighted = pick(dice, 0.3)
    row, named = ("q", "I[b]") if not shift else (f"q + {shift}", f"I[b] + {shift}")
    width = elements * kind.size
    value = g.kernel({"T": "v"})
    value = f"({value}) * w" if weighted else value
    if per_thread:
        body = [
            "b0 = ag.grid(ag.cdiv(B, 64))",
            f'q = ag.as_index(I[64 * b0].load(EACH, width=4), 0, P - {1 + shift}, name="q")',
            f"v = {as_f32(f'T[{row}].load(ONE, width={kind.size})', kind)}",
            *(["w = W[64 * b0].load(EACH, width=4)"] if weighted else []),
            f"Y[64 * b0 + ag.lane()].store({as_kind(value.replace('* w', '* w.without()'), kind)}.without(), "
            f"width={kind.size}, guard=64 * b0 + ag.lane() < B)",
        ]
        spec = f"Y[b] = {f.spec({'T': f'T[{named}]'})}"
        t_axes, y_axes = "P", "B"
        owners = 'EACH = ag.Owner(lane=64, b="lane")\nONE = ag.Owner(lane=64, z="lane*0")\n'
    else:
        body = [
            "b0 = ag.grid(B)",
            f'q = ag.as_index(I[b0].load(ONE, width=4), 0, P - {1 + shift}, name="q")',
            f"v = {as_f32(f'T[{row}].load(ROW, width={width})', kind)}",
            *(["w = W[b0].load(ONE, width=4).without()"] if weighted else []),
            f"Y[b0].store({as_kind(value, kind)}, width={width})",
        ]
        spec = f"Y[b, d] = {f.spec({'T': f'T[{named}, d]'})}"
        t_axes, y_axes = f"P d={cols}", f"B d={cols}"
        owners = f'ROW = ag.Owner(lane=64, e={each}, d="lane*{each} + e")\nONE = ag.Owner(lane=64, z="lane*0")\n'
    spec += " * W[b]" if weighted else ""
    if weighted:
        left, right = spec.split(" = ", 1)
        spec = f"{left} = ({right[: -len(' * W[b]')]}) * W[b]"
    signature = [f'T: ag.In["{t_axes}", {kind.name}]', 'I: ag.In["B", i32]']
    signature += ['W: ag.In["B", f32]'] if weighted else []
    signature.append(f'Y: ag.Out["{y_axes}", {kind.name}]')
    source = (
        header(kind).replace("import f32", "import f32, i32").replace("import bf16, f32", "import bf16, f32, i32")
        .replace("import f16, f32", "import f16, f32, i32") + owners + "\n\n"
        f'@ag.kernel(threads=64, requires="B >= 1 and P >= {1 + shift}", computes="{spec}", example=dict(B=4, P=7))\n'
        f"def k({', '.join(signature)}):\n    " + "\n    ".join(body) + "\n"
    )  # fmt: skip

    def draw(d: np.random.Generator, shape: tuple[int, ...], sizes: Sizes) -> NDArray[Any]:
        return d.integers(0, sizes["P"] - 1 - shift, shape, endpoint=True)

    def meaning(arrays: Arrays, sizes: Sizes) -> dict[str, Real]:
        made = g.value({"T": bounded.given(arrays["T"].astype(np.float64)[arrays["I"] + shift])})
        if weighted:
            w = bounded.given(arrays["W"].astype(np.float64))
            made = bounded.call("mul", made, w if per_thread else bounded.spread(w, 1))
        shape = (sizes["B"],) if per_thread else (sizes["B"], cols)
        return {"Y": Real(np.broadcast_to(made.value, shape), np.broadcast_to(made.error, shape))}

    sizes = (
        [(4, 7), (1, 1 + shift), (65, 9), (63, 3 + shift), (64, 5)] if per_thread else [(4, 7), (1, 1 + shift), (5, 3)]
    )
    constructs = ("gather", kind.name, "index per thread" if per_thread else "index per block")
    return Generated(
        "gather", source, constructs, tuple({"B": b, "P": p} for b, p in sizes), meaning, draws={"I": draw}
    )


def atomic(dice: Random) -> Generated:
    integer = pick(dice, 0.4)
    kind = "i32" if integer else "f32"
    op = dice.choice(("add", "add", "max", "min"))
    each = dice.choice((1, 2))
    cols, rows = 64 * each, dice.choice((1, 2, 4))
    scale = dice.choice((1, 1, 2, 3))
    factor = "" if scale == 1 else f" * {scale}" if integer else f" * {float(scale)}"
    ragged = pick(dice, 0.5)
    guard = ', guard="shape"' if ragged else ""
    before = pick(dice, 0.4)
    fold = {"add": "u + {}", "max": "ag.max(u, {})", "min": "ag.min(u, {})"}[op]
    body = [f"bm, bn = ag.grid(ag.cdiv(M, {rows}), ag.cdiv(N, {cols}))"]
    if rows == 1:
        body += [f"Y[{cols} * bn].atomic_{op}(X[bm, {cols} * bn].load(PART, width=4{guard}){factor})"]
    elif before and not ragged:
        body += [f"u = X[{rows} * bm, {cols} * bn].load(PART, width=4){factor}"]
        for h in range(1, rows):
            body.append("u = " + fold.format(f"X[{rows} * bm + {h}, {cols} * bn].load(PART, width=4){factor}"))
        body.append(f"Y[{cols} * bn].atomic_{op}(u)")
    else:
        for h in range(rows):
            inside = f", guard=({rows} * bm + {h} < M)" if ragged else ""
            tile = f"X[{rows} * bm + {h}, {cols} * bn].load(PART, width=4{guard}){factor}"
            body.append(f"Y[{cols} * bn].atomic_{op}({tile}{inside})")
    reduce = {"add": "sum", "max": "max", "min": "min"}[op]
    inner = f"{reduce}(X[m, n]{'' if scale == 1 else f' * {scale}'}, m)"
    spec = f"Y[n] = Y[n] + {inner}" if op == "add" else f"Y[n] = {op}imum(Y[n], {inner})"
    requires = "M >= 1 and N >= 1" if ragged else f"M % {rows} == 0 and N % {cols} == 0"
    source = (
        header() + f'from argus import i32\n\nPART = ag.Owner(lane=64, e={each}, n="e*64 + lane")\n\n\n'
        f'@ag.kernel(threads=64, requires="{requires}", computes="{spec}", example=dict(M={2 * rows}, N={cols}))\n'
        f'def k(X: ag.In["M N", {kind}], Y: ag.InOut["N", {kind}]):\n    ' + "\n    ".join(body) + "\n"
    )

    def meaning(arrays: Arrays, sizes: Sizes) -> dict[str, Real]:
        x, y = arrays["X"].astype(np.float64) * scale, arrays["Y"].astype(np.float64)
        everything = np.concatenate([y[None], x])
        if op == "add":
            made = bounded.total(bounded.given(everything), 0)
            lost = np.abs(everything).sum(0) >= 2.0**31
            return {"Y": Real(made.value, np.where(lost, np.inf, 0.0)) if integer else made}
        value = everything.max(0) if op == "max" else everything.min(0)
        lost = (np.abs(everything) >= 2.0**31).any(0) & integer
        return {"Y": Real(value, np.where(lost, np.inf, np.abs(value) * bounded.ROUNDING * (scale != 1)))}

    sizes = [(rows, cols), (2 * rows, cols), (rows + 1, cols + 1), (3, cols - 1), (1, 1), (2 * rows, 2 * cols)]
    constructs = ("atomic", f"atomic {op}", kind, *(("guard shape",) if ragged else ()))
    return Generated("atomic", source, constructs, tuple({"M": m, "N": n} for m, n in sizes), meaning)
