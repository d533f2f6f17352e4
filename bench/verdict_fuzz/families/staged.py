"""Kernels that move data through LDS: tiles with random layouts, transpositions, rings, direct copies, counted waits.

tile         stored by one owner, read by another, through a random layout (padding, swizzle, order of digits)
transpose    Y[n, m] = X[m, n] through LDS or in registers
ring         a loop over slots of LDS, data fetched ahead, one or two barriers a turn
direct       global memory straight to LDS, several stages in flight, counted waits
"""

from __future__ import annotations

from random import Random

import numpy as np

from bench.verdict_fuzz import bounded
from bench.verdict_fuzz.bounded import Real
from bench.verdict_fuzz.families.flat import common_width, values, varied
from bench.verdict_fuzz.formulas import formula
from bench.verdict_fuzz.program import (
    BF16,
    F16,
    F32,
    FLOATS,
    I8,
    Arrays,
    ElementType,
    Generated,
    Sizes,
    as_f32,
    as_kind,
    header,
    pick,
    widths,
)  # fmt: skip


def tile_layout(dice: Random, rows: int, cols: int, kind: ElementType, chunk: int) -> str:
    """Where (row, col) lies in LDS: chunks of `chunk` elements stay together, all else is drawn."""
    size, chunks = kind.size, cols // chunk
    swizzled = pick(dice, 0.5)
    pad = 0 if swizzled else dice.choice((0, 1, 2)) * chunk * size  # a swizzle wants strides that are powers of two
    if pick(dice, 0.75):
        pitch = cols * size + pad
        text = f'ag.Layout(row=({rows}, {pitch}), c=({chunks}, {chunk * size}), e=({chunk}, {size}), col=("c", "e"))'
    else:
        pitch = rows * chunk * size + pad
        text = f'ag.Layout(c=({chunks}, {pitch}), row=({rows}, {chunk * size}), e=({chunk}, {size}), col=("c", "e"))'
    bits = min(chunks.bit_length() - 1, rows.bit_length() - 1, 3)
    if bits and swizzled:
        low = dice.randrange(0, rows.bit_length() - bits)
        text += f'.xor(c="row[{low}:{low + bits}]")'
    return text


def tile_owner(dice: Random, rows: int, cols: int, threads: int, by_rows: bool, chunk: int) -> str:
    """A thread takes `chunk` neighbours of a row (or single elements, down the columns) in passes."""
    if by_rows:
        across = cols // chunk
        passes = rows * cols // (threads * chunk)
        high = threads // across
        if pick(dice, 0.3) and passes > 1:
            return (
                f'ag.Owner(t={threads}, p={passes}, e={chunk}, row="t//{across}*{passes} + p", '
                f'col="t%{across}*{chunk} + e")'
            )
        return (
            f'ag.Owner(p={passes}, t={threads}, e={chunk}, row="p*{high} + t//{across}", col="t%{across}*{chunk} + e")'
        )
    passes = rows * cols // threads
    return f'ag.Owner(p={passes}, t={threads}, row="(p*{threads} + t)%{rows}", col="(p*{threads} + t)//{rows}")'


def tile(dice: Random) -> Generated:
    kind = dice.choice((*FLOATS, I8)) if pick(dice, 0.9) else I8
    rows, cols = dice.choice(((16, 16), (8, 32), (32, 16), (16, 32), (32, 32)))
    threads = dice.choice((64, 128, 256))
    threads = min(threads, rows * cols // 4)
    chunk = dice.choice((1, 2, 4))
    chunk = min(chunk, rows * cols // threads)
    w_in = dice.choice(widths(kind, chunk))
    turn = pick(dice, 0.4)
    store_owner = tile_owner(dice, rows, cols, threads, True, chunk)
    read_chunk = 1 if turn else dice.choice((1, chunk))
    load_owner = tile_owner(dice, rows, cols, threads, not turn, read_chunk)
    w_out = dice.choice(widths(kind, read_chunk if not turn else 1))
    layout = tile_layout(dice, rows, cols, kind, max(chunk, read_chunk))
    ragged = pick(dice, 0.4)
    real = kind.real
    f = formula(dice, ["X"], 1)
    g = varied(dice, f)
    guard = ', guard="shape"' if ragged else ""
    per = w_in // kind.size
    where = f"{rows} * bm, {cols} * bn"
    shift = pick(dice, 0.3) and real
    body = [
        f"bm, bn = ag.grid(ag.cdiv(M, {rows}), ag.cdiv(N, {cols}))",
        f"s = ag.shared(LDS, {kind.name})",
        f"s.store(X[{where}].load(IN, width={w_in}{guard}), width={w_in})",
        "ag.barrier()",
    ]
    if shift:
        body += [f"v = s.load(OUT, width={w_out})", "ag.barrier()", f"s.store(v, width={w_out})", "ag.barrier()"]
    body.append("x = " + as_f32(f"s.load(OUT, width={w_out})", kind if real else F32))
    store_width = min(w_out, w_in)
    value = as_kind(g.kernel({"X": "x"}), kind) if real else "x"
    body.append(f"Y[{where}].store({value}, width={store_width}{guard})")
    requires = (
        ["M >= 1", f"N % {per} == 0" if per > 1 else "N >= 1"] if ragged else [f"M % {rows} == 0", f"N % {cols} == 0"]
    )
    spec = "Y[m, n] = " + (f.spec({"X": "X[m, n]"}) if real else "X[m, n]")
    source = (
        header(kind) + f"LDS = {layout}\nIN = {store_owner}\nOUT = {load_owner}\n\n\n"
        f'@ag.kernel(threads={threads}, requires="{" and ".join(requires)}", computes="{spec}", '
        f"example=dict(M={rows}, N={cols}))\n"
        f'def k(X: ag.In["M N", {kind.name}], Y: ag.Out["M N", {kind.name}]):\n    ' + "\n    ".join(body) + "\n"
    )

    def meaning(arrays: Arrays, sizes: Sizes) -> dict[str, Real]:
        x = values(arrays, ["X"])
        return {"Y": g.value(x) if real else x["X"]}

    sizes = [(rows, cols), (rows + 1, cols + per), (2 * rows - 1, 2 * cols - per), (1, per), (2 * rows, 2 * cols)]
    constructs: tuple[str, ...] = ("tile", "LDS", kind.name, "swizzle" if "xor" in layout else "no swizzle")
    constructs += ("column read",) if turn else ()
    constructs += ("guard shape",) if ragged else ()
    return Generated("tile", source, constructs, tuple({"M": m, "N": n} for m, n in sizes), meaning)


def transpose(dice: Random) -> Generated:
    kind = dice.choice((*FLOATS, I8, ElementType("i32", 4, False)))
    through = pick(dice, 0.7)
    ragged = pick(dice, 0.5)
    guard = ', guard="shape"' if ragged else ""
    if through:
        rows, cols = dice.choice(((16, 16), (32, 16), (16, 32)))
        threads = 64 if rows * cols < 512 else dice.choice((64, 128))
        chunk = dice.choice((1, 2, 4))
        width = dice.choice(widths(kind, chunk))
        layout = tile_layout(dice, rows, cols, kind, chunk)
        passes = rows * cols // threads
        owners = (
            f"LDS = {layout}\nIN = {tile_owner(dice, rows, cols, threads, True, chunk)}\n"
            f'OUT = ag.Owner(p={passes}, t={threads}, col="(p*{threads} + t)//{rows}", '
            f'row="(p*{threads} + t)%{rows}")\n'
        )
        body = [
            f"bm, bn = ag.grid(ag.cdiv(M, {rows}), ag.cdiv(N, {cols}))",
            f"s = ag.shared(LDS, {kind.name})",
            f"s.store(X[{rows} * bm, {cols} * bn].load(IN, width={width}{guard}), width={width})",
            "ag.barrier()",
            f"Y[{cols} * bn, {rows} * bm].store(s.load(OUT, width={kind.size}), width={kind.size}{guard})",
        ]
        per = width // kind.size
        requires = ["M >= 1", f"N % {per} == 0" if per > 1 else "N >= 1"]
    else:
        e = dice.choice((2, 4))
        rows = cols = 8 * e
        threads, per = 64, dice.choice((1, e))
        width = per * kind.size
        owners = f'BLOCK = ag.Owner(lane=64, i={e}, e={e}, m="lane//8*{e} + i", n="lane%8*{e} + e")\n'
        body = [
            f"bm, bn = ag.grid(ag.cdiv(M, {rows}), ag.cdiv(N, {cols}))",
            f"v = X[{rows} * bm, {cols} * bn].load(BLOCK, width={width}{guard})",
            f'Y[{cols} * bn, {rows} * bm].store(v.order("e", "i"), width={width}{guard})',
        ]
        requires = [f"M % {per} == 0", f"N % {per} == 0"] if per > 1 else ["M >= 1", "N >= 1"]
    if not ragged:
        requires = [f"M % {rows} == 0", f"N % {cols} == 0"]
    source = (
        header(kind) + owners + "\n\n"
        f'@ag.kernel(threads={threads}, requires="{" and ".join(requires)}", computes="Y[n, m] = X[m, n]", '
        f"example=dict(M={rows}, N={cols}))\n"
        f'def k(X: ag.In["M N", {kind.name}], Y: ag.Out["N M", {kind.name}]):\n    ' + "\n    ".join(body) + "\n"
    )

    def meaning(arrays: Arrays, sizes: Sizes) -> dict[str, Real]:
        return {"Y": bounded.given(arrays["X"].astype(np.float64).T)}

    sizes = [(rows, cols), (rows + per, cols + per), (2 * rows - per, cols), (per, per), (2 * rows, 2 * cols), (1, 1)]
    constructs = ("transpose", "LDS" if through else "registers", kind.name, *(("guard shape",) if ragged else ()))
    return Generated("transpose", source, constructs, tuple({"M": m, "N": n} for m, n in sizes), meaning)


def ring(dice: Random) -> Generated:
    """Column sums, read crosswise: every turn a tile goes through a slot of LDS."""
    kind = dice.choice((F32, F32, BF16, F16))
    depth = dice.choice((1, 2, 2, 3))
    threads, rows, cols = 64, 8, 32
    chunk = dice.choice((2, 4))
    width = dice.choice(widths(kind, chunk))
    ahead = pick(dice, 0.6) and depth > 1
    layout = tile_layout(dice, rows, cols, kind, chunk)
    waves = dice.choice((1, 2))
    threads = 64 * waves
    owner_in = tile_owner(
        dice, rows, cols, threads, True, chunk if rows * cols // threads >= chunk else rows * cols // threads
    )
    chunk = chunk if rows * cols // threads >= chunk else rows * cols // threads
    width = dice.choice(widths(kind, chunk))
    out = f'ag.Owner(t={threads}, i={rows * cols // threads}, row="t%{rows}", col="t//{rows} + {threads // rows}*i")'
    each = as_f32(f"s.load(OUT, width={kind.size})", kind)
    scale = dice.choice(("", " * 2.0", " * f32(kt)"))
    factor = {"": "", " * 2.0": " * 2", " * f32(kt)": f" * (k // {cols})"}[scale]
    load = f"X[{rows} * bm, {cols} * {{}}].load(IN, width={width})"
    slots = f"r = ag.ring({depth}, x=(LDS, {kind.name}))"
    turns = f"K // {cols}"
    if ahead:
        loop = [
            f"nxt = {load.format(0)}",
            f"for kt in ag.range({turns}):",
            "    s = r[kt].x",
            f"    s.store(nxt, width={width})",
            f"    if kt + 1 < {turns}:",
            f"        nxt = {load.format('(kt + 1)')}",
            "    ag.barrier()",
            f"    acc = acc + {each}{scale}",
        ]
    else:
        loop = [
            f"for kt in ag.range({turns}):",
            "    s = r[kt].x",
            f"    s.store({load.format('kt')}, width={width})",
            "    ag.barrier()",
            f"    acc = acc + {each}{scale}",
        ]
        if depth == 1:
            loop.append("    ag.barrier()")
    body = [
        f"bm = ag.grid(M // {rows})", slots, "acc = ag.zeros(OUT, f32)", *loop,
        f"Y[{rows} * bm].store(acc, width=4)",
    ]  # fmt: skip
    spec = f"Y[m, c] = sum(X[m, {cols} * t + c]{factor.replace(f'k // {cols}', 't')}, t, K // {cols})"
    source = (
        header(kind) + f"LDS = {layout}\nIN = {owner_in}\nOUT = {out}\n\n\n"
        f'@ag.kernel(threads={threads}, requires="M % {rows} == 0 and K % {cols} == 0", computes="{spec}", '
        f"example=dict(M={rows}, K={2 * cols}))\n"
        f'def k(X: ag.In["M K", {kind.name}], Y: ag.Out["M c={cols}", f32]):\n    ' + "\n    ".join(body) + "\n"
    )

    def meaning(arrays: Arrays, sizes: Sizes) -> dict[str, Real]:
        x = arrays["X"].astype(np.float64).reshape(sizes["M"], -1, cols)
        turn = np.arange(x.shape[1], dtype=np.float64)[None, :, None]
        weight = {"": 1.0, " * 2.0": 2.0}.get(scale)
        return {"Y": bounded.total(bounded.given(x * (turn if weight is None else weight)), 1)}

    sizes = [(rows, cols), (rows, 2 * cols), (2 * rows, 3 * cols), (rows, 5 * cols)]
    constructs = ("ring", "LDS", "loop", kind.name, f"ring of {depth}", "ahead" if ahead else "not ahead")
    return Generated("ring", source, constructs, tuple({"M": m, "K": n} for m, n in sizes), meaning)


def direct(dice: Random) -> Generated:
    """Stages of direct-to-LDS copies; counted waits; sums over the stages or a plain copy."""
    kind = dice.choice((F32, F32, F32, BF16))
    width = 4
    per = width // kind.size
    waves = dice.choice((1, 2))
    threads = 64 * waves
    row = 64 * per * waves
    stages = dice.choice((1, 2, 3))
    turns = f"K // {row}"
    source_layout = f"ag.Layout(col=({row}, {kind.size}))"
    owner_in = f'ag.Owner(t={threads}, e={per}, col="t*{per} + e")'
    cross = dice.choice((0, 1, 2))
    out_col = {0: f"t*{per} + e", 1: f"({threads - 1} - t)*{per} + e", 2: f"(t ^ {threads // 2})*{per} + e"}[cross]
    owner_out = f'ag.Owner(t={threads}, e={per}, col="{out_col}")'
    each = as_f32(f"s.load(OUT, width={width})", kind)
    if stages == 1:
        loop = [
            f"for kt in ag.range({turns}):",
            "    s = r[kt].x",
            f"    X[bm, {row} * kt].copy(s, IN, width={width})",
            "    ag.wait(vm=0)",
            "    ag.barrier()",
            f"    acc = acc + {each}",
            "    ag.barrier()",
        ]
    else:
        fill = [
            line
            for d in range(stages - 1)
            for line in (f'X[bm, {row * d}].copy(r[{d}].x, IN, width={width}, guard="shape")',)
        ]
        loop = [
            *fill,
            f"for kt in ag.range({turns}):",
            f'    X[bm, {row} * (kt + {stages - 1})].copy(r[kt + {stages - 1}].x, IN, width={width}, guard="shape")',
            f"    ag.wait(vm={stages - 1})",
            "    ag.barrier()",
            "    s = r[kt].x",
            f"    acc = acc + {each}",
            "    ag.barrier()",
        ]
    body = [
        "bm = ag.grid(M)", f"r = ag.ring({stages}, x=(LDS, {kind.name}))", "acc = ag.zeros(OUT, f32)", *loop,
        "Y[bm].store(acc, width=4)",
    ]  # fmt: skip
    spec = f"Y[m, c] = sum(X[m, {row} * t + c], t, K // {row})"
    source = (
        header(kind) + f"LDS = {source_layout}\nIN = {owner_in}\nOUT = {owner_out}\n\n\n"
        f'@ag.kernel(threads={threads}, requires="M >= 1 and K % {row} == 0", computes="{spec}", '
        f"example=dict(M=2, K={2 * row}))\n"
        f'def k(X: ag.In["M K", {kind.name}], Y: ag.Out["M c={row}", f32]):\n    ' + "\n    ".join(body) + "\n"
    )

    def meaning(arrays: Arrays, sizes: Sizes) -> dict[str, Real]:
        x = arrays["X"].astype(np.float64).reshape(sizes["M"], -1, row)
        return {"Y": bounded.total(bounded.given(x), 1)}

    sizes = [(1, row), (2, 2 * row), (1, 3 * row), (2, 5 * row)]
    constructs = ("direct", "LDS", "direct copy", "counted wait", kind.name, f"ring of {stages}")
    return Generated("direct", source, constructs, tuple({"M": m, "K": n} for m, n in sizes), meaning)


__all__ = ["common_width", "direct", "ring", "tile", "transpose"]
