"""One small program per feature, executed on the IR and compared with numpy."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from argus.ir import ops
from argus.ir.interp import run
from argus.ir.kernel import Kernel
from argus.ir.parser import parse_kernel
from argus.ir.printer import print_kernel
from argus.lang import read
from argus.layout.expr import evaluate
from tests.ir.test_text import same

Array = np.ndarray[Any, Any]
HEAD = """import argus as ag
from argus import bf16, f16, f32, fp8, i8, i32, u8
from argus.gfx942 import mfma_32x32x8_bf16 as MMA
OWN = ag.Owner(t=256, i="t")
VEC = ag.Owner(t=256, e=4, i="t*4 + e")
TILE = ag.Layout(row=(32, 128), col=(32, 4))
ROWS = ag.Owner(t=256, p=4, row="p*8 + t//32", col="t%32")
"""


def kernel(
    body: str, signature: str = 'x: ag.In["N", f32], y: ag.Out["N", f32]', stated: str = "threads=256"
) -> Kernel:
    grid = [] if "ag.grid" in body else ["ag.grid(1)"]
    lines = "".join(f"    {line}\n" for line in [*grid, *body.strip("\n").splitlines()])
    made = read(f"{HEAD}@ag.kernel({stated})\ndef k({signature}):\n{lines}")
    same(made, parse_kernel(print_kernel(made)))
    return made


def execute(made: Kernel, sizes: dict[str, int], **arrays: Array) -> dict[str, Array]:
    outcome = run(made, arrays, sizes)
    assert not outcome.hazards
    return outcome.arrays


X = np.arange(256, dtype=np.float32)


def simple(body: str, x: Array = X) -> Array:
    """`y` of a kernel with one workgroup that loads v = x and stores v."""
    made = kernel(f"v = x.load(OWN, width=4)\n{body}\ny.store(v, width=4)")
    return execute(made, {"N": 256}, x=x)["y"]


def test_operators() -> None:
    assert (simple("v = (v + 1.0) * 2.0 - v / 4.0") == (X + 1) * 2 - X / 4).all()
    assert (simple("v = -v + abs(v - 100.0)") == -X + np.abs(X - 100)).all()
    assert (simple("v = ag.max(v, 7.0) + ag.min(v, 9.0)") == np.maximum(X, 7) + np.minimum(X, 9)).all()
    assert (simple("v = ag.where((v > 3.0) & ~(v >= 200.0), v, -1.0)") == np.where((X > 3) & (X < 200), X, -1)).all()
    assert (simple("v = 1.0 - v\nv *= 2.0\nv -= 1.0") == (1 - X) * 2 - 1).all()
    assert (simple("v = ag.fma(v, 3.0, v)") == X * 4).all()
    np.testing.assert_allclose(
        simple("v = ag.exp2(v * 0.01) + ag.log2(v + 1.0)"), 2 ** (X * 0.01) + np.log2(X + 1), rtol=1e-5
    )
    np.testing.assert_allclose(simple("v = ag.rsqrt(v + 1.0) * ag.sqrt(v) * ag.rcp(v + 2.0)"),
                               1 / np.sqrt(X + 1) * np.sqrt(X) / (X + 2), rtol=1e-5)  # fmt: skip


@pytest.mark.parametrize("dtype", ["i8", "u8", "i32"])
def test_inverted_bits(dtype: str) -> None:
    signature = f'x: ag.In["N", {dtype}], y: ag.Out["N", {dtype}]'
    width = 4 if dtype == "i32" else 1
    made = kernel(f"y.store(~x.load(OWN, width={width}), width={width})", signature)
    x = np.arange(-128, 128).astype({"i8": np.int8, "u8": np.uint8, "i32": np.int32}[dtype])
    assert (execute(made, {"N": 256}, x=x)["y"] == ~x).all()


def test_indices_and_coordinates_as_data() -> None:
    assert (simple("v = v * 0.0 + f32(ag.lane())") == np.arange(256) % 64).all()
    assert (simple("v = f32(v.i * 3 + 1)") == np.arange(256) * 3 + 1).all()
    assert (simple("v = ag.where(v.i % 3 == 1, v, 0.0)") == np.where(np.arange(256) % 3 == 1, X, 0)).all()
    assert (simple("v = ag.where((v.i < 9) | (v.i > 200), v, 0.0)") == np.where((X < 9) | (X > 200), X, 0)).all()
    assert (simple("v = ag.where(ag.wave() == 2, v, 0.0)") == np.where(X // 64 == 2, X, 0)).all()


def test_branches() -> None:
    assert (simple("if N > 100:\n    v = v + 1.0") == X + 1).all()
    assert (simple("if N > 300:\n    v = v + 1.0\nelse:\n    v = v - 1.0") == X - 1).all()
    assert (simple("if ag.wave() == 1:\n    v = v * 2.0") == np.where(X // 64 == 1, X * 2, X)).all()
    assert (
        simple("if ag.lane() % 2 == 1:\n    v = v * 2.0\nelse:\n    v = -v") == np.where(X % 2 == 1, X * 2, -X)
    ).all()
    chosen = "k = 3\nif ag.lane() > 5:\n    k = ag.lane() * 2\nv = v * 0.0 + f32(k)"
    assert (simple(chosen) == np.where(X % 64 > 5, X % 64 * 2, 3)).all()
    nested = "if N > 100:\n    if ag.lane() > 5:\n        v = v + 1.0\n    w = v\nelse:\n    w = v * 3.0\nv = w"
    assert (simple(nested) == np.where(X % 64 > 5, X + 1, X)).all()
    made = kernel("v = x.load(OWN, width=4)\nif ag.wave() == 1:\n    v = v * 2.0\nif ag.lane() == 1:\n    v = v + 1.0")
    assert [op.uniform for op in ops.walk(made.body) if isinstance(op, ops.If)] == [True, False]


def test_loops_carry_structures() -> None:
    body = """
parts = [ag.zeros(OWN, f32), (ag.zeros(OWN, f32), 5)]
for i in ag.range(N // 256):
    v = x[256 * i].load(OWN, width=4)
    parts[0] = parts[0] + v
    for j in ag.range(2):
        parts[1] = (parts[1][0] + v * 0.5, 5)
y.store(parts[0] + parts[1][0] * 10.0, width=4)
"""
    x = np.arange(1024, dtype=np.float32)
    total = x.reshape(4, 256).sum(0)
    made = kernel(body)
    assert (execute(made, {"N": 1024}, x=x)["y"][:256] == total * 11).all()
    outer = next(op for op in made.body if isinstance(op, ops.For))
    assert len(outer.args) == 2


def test_functions_change_outer_tiles() -> None:
    body = """
acc = ag.zeros(VEC, f32)
count = 0
def add(n, scale=1.0):
    v = x[1024 * n].load(VEC, width=16)
    for e in ag.unroll(4):
        acc[e] = acc[e] + v[e] * scale
def both(n):
    nonlocal count
    count = count + 1
    add(n)
    add(n, scale=2.0)
both(0)
for i in ag.range(1, N // 1024):
    add(i)
assert count == 1
y.store(acc, width=16)
"""
    x = np.arange(3072, dtype=np.float32)
    parts = x.reshape(3, 1024)
    assert (execute(kernel(body), {"N": 3072}, x=x)["y"][:1024] == parts[0] * 3 + parts[1] + parts[2]).all()


def test_data_dependent_loop_bound_is_uniform() -> None:
    body = """
n = ag.as_index(counts[ag.grid(P)].load(ag.Owner(t=256, o="t*0"), width=4), 0, 9, name="n")
acc = ag.zeros(OWN, f32)
for i in ag.range(n):
    acc = acc + 1.0
y[256 * 0].store(acc, width=4)
"""
    made = kernel(body, 'counts: ag.In["P", i32], y: ag.Out["N", f32]')
    found = execute(made, {"P": 1, "N": 256}, counts=np.array([7], np.int32))
    assert (found["y"] == 7).all()


@pytest.mark.parametrize(
    ("order", "sizes"),
    [
        ("None", (5, 7)), ("ag.row_major()", (3, 4, 2)), ("ag.grouped(4)", (10, 7)), ("ag.grouped(8)", (3, 9)),
        ("ag.xcd(8)", (5, 9)), ("ag.xcd(8, group=4)", (13, 6)), ("ag.grouped(2)", (3, 5, 4)), ("None", (2, 3, 4, 5)),
    ],
)  # fmt: skip
def test_grid_orders_are_bijections(order: str, sizes: tuple[int, ...]) -> None:
    """Every block is computed exactly once, whatever the order and however badly groups divide the grid."""
    axes = "ABCD"[: len(sizes)]
    names = ", ".join(axes)
    place = ", ".join(f"at[{i}]" for i in range(len(axes)))
    body = f"at = ag.grid({names}, order={order})\ny[{place}].store(f32(1.0), width=4)"
    made = kernel(body, f'y: ag.Out["{" ".join(axes)}", f32]', "threads=64")
    extents = dict(zip(axes, sizes, strict=True))
    grid = [int(evaluate(e, extents)) for e in made.grid]
    store = next(op for op in made.body if isinstance(op, ops.Store))
    seen = set()
    for z in range(grid[2]):
        for yy in range(grid[1]):
            for xx in range(grid[0]):
                env = {**extents, "block_x": xx, "block_y": yy, "block_z": z}
                seen.add(tuple(int(evaluate(c, env)) for c in store.access.coords))
    assert seen == set(np.ndindex(*sizes))
    assert len(seen) == grid[0] * grid[1] * grid[2]


def test_grouped_order_walks_columns_of_a_group() -> None:
    made = kernel(
        "m, n = ag.grid(A, B, order=ag.grouped(2))\ny[m, n].store(f32(1.0), width=4)",
        'y: ag.Out["A B", f32]',
        "threads=64",
    )
    store = next(op for op in made.body if isinstance(op, ops.Store))
    walk = [tuple(int(evaluate(c, {"A": 4, "B": 3, "block_x": i})) for c in store.access.coords) for i in range(6)]
    assert walk == [(0, 0), (1, 0), (0, 1), (1, 1), (0, 2), (1, 2)]


def test_registers() -> None:
    body = """
v = x.load(ag.Owner(t=64, a=2, b=4, i="t*8 + a*4 + b"), width=16)
w = v.order("b", "a")
first = w.regs(1, 1)
z.store(ag.stack([first[0].without(), v[1][3].without()], "q").held_as(ag.Owner(t=64, q=2, i="t*2 + q")), width=8)
y.store(v, width=16)
"""
    made = kernel(body, 'x: ag.In["N", f32], y: ag.Out["N", f32], z: ag.Out["M", f32]', "threads=64")
    x = np.arange(512, dtype=np.float32)
    found = execute(made, {"N": 512, "M": 128}, x=x)
    assert (found["y"] == x).all()
    blocks = x.reshape(64, 2, 4)
    assert (found["z"].reshape(64, 2) == np.stack([blocks[:, 1, 0], blocks[:, 1, 3]], 1)).all()


def test_conversions() -> None:
    x = np.linspace(-300, 300, 256).astype(np.float32)
    assert (simple("v = v.to(bf16).to(f32)", x) == x.astype(ml_dtypes.bfloat16).astype(np.float32)).all()
    assert (simple("v = v.to(f16).to(f32)", x) == x.astype(np.float16).astype(np.float32)).all()
    assert (simple("v = v.to(i32).to(f32)", x) == np.trunc(x)).mean() > 0.4
    assert (simple("v = v.to(i8, saturate=True).to(f32)", x) >= -128).all()
    wanted = np.clip(x, -240, 240).astype(ml_dtypes.float8_e4m3fnuz).astype(np.float32)
    assert (simple("v = v.to(fp8, saturate=True).to(f32)", x) == wanted).all()
    assert (simple("v = v.bitcast(i32).bitcast(f32)", x) == x).all()


def test_lds_ring_and_direct_copy() -> None:
    body = """
ring = ag.ring(2, t=(TILE, f32))
x[0, 0].copy(ring[0].t, ROWS, width=4)
for j in ag.range(M // 32):
    ag.wait(vm=0)
    ag.barrier()
    if j + 1 < M // 32:
        x[32 * j + 32, 0].copy(ring[j + 1].t, ROWS, width=4)
    y[32 * j, 0].store(ring[j].t.load(ag.Owner(t=256, p=4, row="t%32", col="p*8 + t//32"), width=4), width=4)
"""
    made = kernel(body, 'x: ag.In["M col=32", f32], y: ag.Out["M col=32", f32]', 'threads=256, requires="M % 32 == 0"')
    x = np.arange(96 * 32, dtype=np.float32).reshape(96, 32)
    assert (execute(made, {"M": 96}, x=x)["y"] == x).all()
    assert sum(isinstance(op, ops.CopyToLds) for op in ops.walk(made.body)) == 8


def test_buffer_axes_by_other_names_and_offsets() -> None:
    body = """
tile = ag.shared(TILE, f32)
part = ag.Owner(t=256, e=2, m="t//16", n="t%16*2 + e")
for h in ag.unroll(2):
    tile.store(x[16 * h, 0].load(part, width=8), row=("m", 16 * h), col="n", width=8)
ag.barrier()
y.store(tile.load(ROWS, width=4), width=4)
"""
    made = kernel(body, 'x: ag.In["M C=32", f32], y: ag.Out["row=32 col=32", f32]')
    x = np.arange(1024, dtype=np.float32).reshape(32, 32)
    assert (execute(made, {"M": 32}, x=x)["y"] == x).all()


def test_guards() -> None:
    signature = 'x: ag.In["M N", f32], y: ag.Out["M N", f32]'
    owner = 'part = ag.Owner(t=256, e=4, m="t//16", n="t%16*4 + e")\n'
    x = np.arange(10 * 20, dtype=np.float32).reshape(10, 20)
    for guard in ('"shape"', "lambda m, n: m < M and n < N"):
        made = kernel(
            f"{owner}y.store(x.load(part, width=16, guard={guard}) + 1.0, width=16, guard={guard})",
            signature,
            'threads=256, requires="N % 4 == 0"',
        )
        assert (execute(made, {"M": 10, "N": 20}, x=x)["y"] == x + 1).all()
    made = kernel(f"{owner}v = x.load(part, width=16, guard=N > 5)\nw = x.load(part, width=16, guard=1 < 2)", signature)
    assert [op.access.guard is None for op in made.body if isinstance(op, ops.Load)] == [False, True]


def test_buffers_and_tensors_have_names_of_their_own() -> None:
    made = kernel("y = ag.shared(TILE, f32)\nx = ag.shared(TILE, f32, name='x')\nr = ag.ring(2, x=(TILE, f32))")
    assert [b.name for b in made.shared] == ["y_2", "x_2", "x_3"]


def test_atomics() -> None:
    made = kernel("y.atomic_add(x.load(OWN, width=4).without('i'))", 'x: ag.In["N", f32], y: ag.InOut["M", f32]')
    assert execute(made, {"N": 256, "M": 1}, x=X)["y"][0] == X.sum()
    made = kernel("y.atomic_max(x.load(OWN, width=4).without('i'))", 'x: ag.In["N", i32], y: ag.InOut["M", i32]')
    assert execute(made, {"N": 256, "M": 1}, x=X.astype(np.int32))["y"][0] == 255


def test_reductions_keep_axes_and_skip_copies() -> None:
    signature = 'x: ag.In["a=8 b=32", f32], y: ag.Out["a=8", f32]'
    body = 'v = x.load(ag.Owner(lane=64, p=4, a="lane//8", b="lane%8*4 + p"), width=16)\ny.store(v.sum("b"), width=4)'
    x = np.arange(256, dtype=np.float32).reshape(8, 32)
    assert (execute(kernel(body, signature, "threads=64"), {}, x=x)["y"] == x.sum(1)).all()
    copies = (
        'v = x.load(ag.Owner(lane=64, p=16, a="lane//16*2", b="lane%2*16 + p"), width=16)\ny.store(v.sum("b"), width=4)'
    )
    found = execute(kernel(copies, signature, "threads=64"), {}, x=x)["y"]
    assert (found[::2] == x.sum(1)[::2]).all()
    per_column = (
        'v = x.load(ag.Owner(lane=64, p=8, q=2, a="p", b="lane%16*2 + q"), width=8)\nz.store(v.max("a"), width=4)'
    )
    made = kernel(per_column, 'x: ag.In["a=8 b=32", f32], z: ag.Out["b=32", f32]', "threads=64")
    assert (execute(made, {}, x=x)["z"] == x.max(0)).all()


def test_a_reduced_tile_may_start_where_a_size_divides() -> None:
    owner = 'part = ag.Owner(lane=64, e=4, a="lane//16", b="lane%16*4 + e")\ng = ag.grid(H * 2)\n'
    body = 'y[g % H, 0].store(ag.full(part, f32, 1.0, at=dict(a=g // H * 4, b=0)).sum("b"), width=4)'
    made = kernel(owner + body, 'y: ag.Out["H a=8", f32]', "threads=64")
    assert (execute(made, {"H": 3})["y"] == 64).all()


def test_scalars_and_static_arguments() -> None:
    source = f"""{HEAD}
@ag.kernel(threads=256)
def k(x: ag.In["N", f32], y: ag.Out["N", f32], a: f32, twice: ag.const[bool] = False):
    ag.grid(1)
    v = x.load(OWN, width=4) * a
    y.store(v * 2.0 if twice else v, width=4)
"""
    for twice in (False, True):
        made = read(source, settings={"twice": twice})
        found = run(made, {"x": X}, {"N": 256}, scalars={"a": 3.0}).arrays["y"]
        assert (found == X * 3 * (2 if twice else 1)).all()
        assert made.settings == {"twice": twice}


def test_orders_and_policies_stay_in_the_ir() -> None:
    body = """
ag.setprio(2)
ag.barrier(bare=True)
ag.wait(lgkm=3)
with ag.schedule(mfma=4, ds_read=1):
    v = x.load(OWN, width=4)
y.store(v, width=4)
x = ag.tag(x, part="N")
ag.check.same(v.i[0] if False else 1, 1)
ag.check.reduced(v, N=(0, N))
ag.check.covers(y)
"""
    made = kernel(body, stated="threads=256, policy=dict(waves_per_simd=2, agpr=False)")
    found = {type(op).__name__: op for op in ops.walk(made.body)}
    assert found["SetPrio"].priority == 2  # type: ignore[attr-defined]
    assert found["Barrier"].bare  # type: ignore[attr-defined]
    assert (found["Wait"].vm, found["Wait"].lgkm) == (None, 3)  # type: ignore[attr-defined]
    assert found["Schedule"].policy == {"mfma": 4, "ds_read": 1}  # type: ignore[attr-defined]
    assert found["Tag"].name == "part"  # type: ignore[attr-defined]
    assert [op.rule for op in made.body if isinstance(op, ops.Check)] == ["same", "reduced", "covers"]
    assert made.policies == {"waves_per_simd": 2, "agpr": False}


def test_buffers_in_lists_have_names() -> None:
    made = kernel(
        """
bufs = [ag.shared(TILE, f32) for _ in range(2)]
pair = dict(a=ag.shared(TILE, f32), b=[ag.shared(TILE, f32)])
bufs[1].store(x.load(ROWS, width=4), width=4)
ag.barrier()
y.store(bufs[1].load(ROWS, width=4), width=4)
""",
        'x: ag.In["row=32 col=32", f32], y: ag.Out["row=32 col=32", f32]',
    )
    assert [buffer.name for buffer in made.shared] == ["bufs_0", "bufs_1", "pair_a", "pair_b_0"]
    stored = next(op for op in made.body if isinstance(op, ops.Store) and isinstance(op.access.memory, ops.Shared))
    assert stored.access.memory.name == "bufs_1"


def test_a_name_that_several_loops_assign_is_new_in_each() -> None:
    made = kernel(
        """
total = ag.zeros(OWN, f32)
for j in ag.range(N // 256):
    part = x[256 * j].load(OWN, width=4)
    total = total + part
for j in ag.range(N // 256):
    part = x[256 * j].load(OWN, width=4)
    part = part * 2.0
for j in ag.range(N // 256):
    part = x[256 * j].load(OWN, width=4)
    y[256 * j].store(part + total, width=4)
"""
    )
    given = np.arange(512, dtype=np.float32)
    got = run(made, {"x": given}, {"N": 512}).arrays["y"]
    assert (got == given + np.tile(given[:256] + given[256:], 2)).all()
