"""Addresses, guards, ragged ends, LDS, direct copies, atomics, loops and branches on the machine, against numpy."""

from __future__ import annotations

from collections import Counter

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from argus.compile import CompileError, compile_kernel
from argus.compile.decoded import decode
from argus.compile.tails import Tail, pieces
from argus.gfx942.disasm import text as instruction_text
from argus.ir.build import IrBuilder
from argus.ir.kernel import BLOCK_X, LANE, Kernel, ScalarArg, wave_variable
from argus.ir.ops import Access, SetPrio, Shared, Tensor
from argus.ir.passes.schedule import scheduled
from argus.ir.types import DTYPES, bf16, f16, f32, i32
from argus.ir.verify import IrError
from argus.layout import expr as E
from argus.layout.expr import Expr, const, var
from tests.compile.harness import NUMPY, WAVE, kernel, lane_rows, launch, tensor


@given(st.integers(1, 200), st.sampled_from([Tail.WHOLE, Tail.ROUNDED, Tail.ELEMENTS]))
def test_pieces_cover_an_access_once(size: int, tail: Tail) -> None:
    """Adjacent, in order, nothing twice, only widths the hardware has."""
    at = 0
    for start, width in pieces(Access(tensor("x", DTYPES["u8"], 1000), const(0), size), tail):
        assert start == at
        assert width in (1, 2, 4, 8, 12, 16)
        at += width
    assert at == size


@pytest.mark.parametrize("dtype", ["f64", "f32", "bf16", "fp8"])
@pytest.mark.parametrize("count", [1, 2, 3, 4, 6, 8, 16])
def test_copies_of_every_width(dtype: str, count: int) -> None:
    """Global to global, count elements a lane; narrow and odd widths are several instructions."""
    b = IrBuilder()
    x, z = tensor("x", DTYPES[dtype], WAVE * count), tensor("z", DTYPES[dtype], WAVE * count, written=True)
    b.store(lane_rows(z, count), b.load(lane_rows(x, count)))
    data = np.arange(WAVE * count).astype(np.uint8).astype(NUMPY[dtype])
    out = np.zeros_like(data)
    launch(kernel("copy", [x, z], b), data, out)
    np.testing.assert_array_equal(out.view(np.uint8), data.view(np.uint8))


def ragged(n: int, waves: int, guard: bool) -> tuple[Kernel, int]:
    """z[i] = x[i] + 1 with the end of the array inside a workgroup; `guard` masks by condition as well."""
    size = var("N", 0, 2**20)
    x = Tensor("x", f32, ("i",), (size,), (const(1),), True, False)
    z = Tensor("z", f32, ("i",), (size,), (const(1),), False, True)
    i = BLOCK_X * (waves * WAVE) + wave_variable(waves) * WAVE + LANE
    b = IrBuilder()
    where = i.lt(size) if guard else None
    one = b.constant(1.0, f32)
    b.store(Access(z, i * 4, 1, (i,), 0, where), b.map("add", b.load(Access(x, i * 4, 1, (i,), 0, where)), one))
    blocks = -(-n // (waves * WAVE))
    return kernel("ragged", [x, z], b, waves, shapes=(size,), grid=((size + 63) // 64, const(1), const(1))), blocks


@pytest.mark.parametrize("guard", [False, True])
@pytest.mark.parametrize("n", [1, 63, 64, 65, 300])
def test_ragged_ends(n: int, guard: bool) -> None:
    k, blocks = ragged(n, 2, guard)
    x = np.random.default_rng(1).standard_normal(n).astype(np.float32)
    z = np.zeros(n + 8, np.float32)
    launch(k, x, z[:n], n, grid=(blocks, 1, 1))
    np.testing.assert_array_equal(z[:n], x + 1)
    assert not z[n:].any()


def test_addresses_that_may_be_negative_give_zero() -> None:
    """A stencil: x[i-1] + x[i+1]; both ends fall outside the tensor, in the first and the last workgroup."""
    n = 256
    x, z = tensor("x", f32, n), tensor("z", f32, n, written=True)
    i = BLOCK_X * WAVE + LANE
    b = IrBuilder()
    left, right = (b.load(Access(x, (i + d) * 4, 1, (i + d,), 0)) for d in (-1, 1))
    b.store(Access(z, i * 4, 1, (i,), 0), b.map("add", left, right))
    data, out = np.random.default_rng(2).standard_normal(n).astype(np.float32), np.zeros(n, np.float32)
    launch(kernel("stencil", [x, z], b), data, out, grid=(4, 1, 1))
    padded = np.concatenate([[0], data, [0]]).astype(np.float32)
    np.testing.assert_array_equal(out, padded[:-2] + padded[2:])


def row_sums(tail: bool) -> Kernel:
    """Sum over k of x[lane, k], a loop over k; with `tail` the last steps lie beyond the row and are guarded."""
    size = var("K", 1, 2**12)
    x = Tensor("x", f32, ("r", "k"), (const(WAVE), size), (size, const(1)), True, False)
    z = tensor("z", f32, WAVE, written=True)
    kt = var("kt", 0, 2**12)
    b = IrBuilder()
    zero = b.constant(0.0, f32)
    steps = (size + 3) // 4 if tail else size // 4
    with b.loop(kt, 0, steps, (zero,)) as loop:
        total = loop.args[0]
        for e in range(4):
            k = kt * 4 + e
            guard = k.lt(size) if tail else None
            total = b.map("add", total, b.load(Access(x, (LANE * size + k) * 4, 1, (LANE, k), 1, guard)))
        loop.yields(total)
    b.store(lane_rows(z, 1), loop.outs[0])
    return kernel("rows", [x, z], b, shapes=(size,))


@pytest.mark.parametrize("tail", [False, True])
@pytest.mark.parametrize("size", [1, 2, 4, 8, 13])
def test_loops_of_any_length(tail: bool, size: int) -> None:
    """Also of none: without the tail a row shorter than a step gives zero."""
    x = np.random.default_rng(3).integers(-9, 9, (WAVE, size)).astype(np.float32)
    out = np.zeros(WAVE, np.float32)
    launch(row_sums(tail), x, out, size)
    np.testing.assert_array_equal(out, x[:, : size if tail else size // 4 * 4].sum(axis=1))


def test_a_loop_that_stays_inside_uses_scalar_offsets_only() -> None:
    code = decode(compile_kernel(scheduled(row_sums(False))).object, "rows")
    first, last = code.loops[0]
    counts = Counter(code.kinds[first : last + 1])
    assert counts["load"] == 4
    assert counts["valu"] == 4, "one addition per element and nothing for addresses"
    assert counts["salu"] <= 3


def test_nested_loops_and_steps() -> None:
    """z[lane] = sum of 100*i + j over i in range(0, 7, 3), j in range(i, 5)."""
    z = tensor("z", i32, WAVE, written=True)
    i, j = var("i", 0, 7), var("j", 0, 5)
    b = IrBuilder()
    zero = b.constant(0, i32)
    with b.loop(i, 0, 7, (zero,), step=3) as outer:
        with b.loop(j, i, 5, (outer.args[0],)) as inner:
            inner.yields(b.map("add", inner.args[0], b.index(i * 100 + j + LANE)))
        outer.yields(inner.outs[0])
    b.store(lane_rows(z, 1), outer.outs[0])
    out = np.zeros(WAVE, np.int32)
    launch(kernel("nested", [z], b), out)
    want = sum(100 * i + j + np.arange(WAVE) for i in range(0, 7, 3) for j in range(i, 5))
    np.testing.assert_array_equal(out, want)


@pytest.mark.parametrize("uniform", [True, False])
def test_branches(uniform: bool) -> None:
    """Values chosen by a condition, stores on one side only."""
    waves = 2
    x, z = tensor("x", f32, 128), tensor("z", f32, 128, written=True)
    wave = wave_variable(waves)
    i = wave * WAVE + LANE
    condition = wave.eq(1) if uniform else (LANE % 3).eq(0)
    b = IrBuilder()
    value = b.load(Access(x, i * 4, 1, (i,), 0))
    then: list = []
    other: list = []
    with b.into(then):
        doubled = b.map("add", value, value)
    with b.into(other):
        negated = b.map("neg", value)
        b.store(Access(z, i * 4, 1, (i,), 0), negated)
    (chosen,) = b.branch(condition, uniform, then, other, (doubled,), (negated,))
    again: list = []
    with b.into(again):
        b.store(Access(z, i * 4, 1, (i,), 0), chosen)
    b.branch(condition, uniform, again, [])
    data, out = np.random.default_rng(4).standard_normal(128).astype(np.float32), np.zeros(128, np.float32)
    launch(kernel("branches", [x, z], b, waves), data, out)
    t = np.arange(128)
    taken = t >= 64 if uniform else t % 64 % 3 == 0
    np.testing.assert_array_equal(out, np.where(taken, 2 * data, -data))


@settings(max_examples=25, deadline=None, derandomize=True)
@given(st.data())
def test_transposes_through_lds(data: st.DataObject) -> None:
    """Two waves write rows and read columns under a random XOR swizzle and row padding."""
    waves, rows, cols = 2, 16, 32
    shift, mask, pad = (
        data.draw(st.integers(0, 3)),
        data.draw(st.sampled_from([0, 1, 3, 7])),
        data.draw(st.sampled_from([0, 16])),
    )
    pitch = cols * 4 + pad
    s = Shared("s", f32, rows * pitch, data.draw(st.sampled_from([0, 512])))
    x, z = tensor("x", f32, rows * cols), tensor("z", f32, rows * cols, written=True)
    thread = wave_variable(waves) * WAVE + LANE

    def place(row: Expr, chunk: Expr) -> Expr:
        return row * pitch + (chunk ^ ((row >> shift) & mask)) * 16

    b = IrBuilder()
    row, chunk = thread // 8, thread % 8
    loaded = b.load(Access(x, thread * 16, 4, (thread * 4,), 0))
    b.store(Access(s, place(row, chunk), 4), loaded)
    b.barrier()
    for n in range(4):
        index = thread * 4 + n
        r, c = index % rows, index // rows
        value = b.load(Access(s, place(r, c // 4) + c % 4 * 4, 1))
        b.store(Access(z, index * 4, 1, (index,), 0), value)
    source, out = np.arange(rows * cols, dtype=np.float32), np.zeros(rows * cols, np.float32)
    launch(kernel("transpose", [x, z], b, waves, shared=(s,)), source, out)
    np.testing.assert_array_equal(out, source.reshape(rows, cols).T.reshape(-1))


def test_guarded_lds_accesses() -> None:
    """Lanes outside the guard neither write nor read: they get zero."""
    s = Shared("s", f32, 256, 0)
    z = tensor("z", f32, WAVE, written=True)
    b = IrBuilder()
    b.store(Access(s, LANE * 4, 1), b.convert(b.index(LANE + 1), f32))
    b.barrier()
    b.store(Access(s, LANE * 4, 1, guard=LANE.lt(10)), b.constant(100.0, f32))
    b.barrier()
    b.store(lane_rows(z, 1), b.load(Access(s, LANE * 4, 1, guard=LANE.lt(20))))
    out = np.full(WAVE, -1.0, np.float32)
    launch(kernel("guarded", [z], b, shared=(s,)), out)
    lanes = np.arange(WAVE)
    np.testing.assert_array_equal(out, np.where(lanes < 10, 100, np.where(lanes < 20, lanes + 1, 0)))


def test_direct_copies_to_lds_without_extra_waits() -> None:
    """A ring of two stages filled directly from memory: the only vmcnt waits are the kernel's own."""
    waves, steps = 2, 5
    ring = [Shared(f"stage{n}", f32, 512, 512 * n) for n in range(2)]
    x = tensor("x", f32, 128 * (steps + 1))
    z = tensor("z", f32, 128, written=True)
    wave = wave_variable(waves)
    i = wave * WAVE + LANE
    b = IrBuilder()

    def fill(step: int) -> None:
        at = i + 128 * step
        b.copy_to_lds(Access(x, at * 4, 1, (at,), 0), ring[step % 2], wave * 256)

    fill(0)
    total = b.constant(0.0, f32)
    other = (waves - 1 - wave) * 256 + LANE * 4
    for step in range(steps):
        fill(step + 1)
        b.wait(vm=1)
        b.barrier()
        total = b.map("add", total, b.load(Access(ring[step % 2], other, 1)))
        b.barrier()
    b.store(Access(z, i * 4, 1, (i,), 0), total)
    k = kernel("ring", [x, z], b, waves, shared=tuple(ring))
    data, out = (
        np.random.default_rng(5).integers(0, 50, 128 * (steps + 1)).astype(np.float32),
        np.zeros(128, np.float32),
    )
    launch(k, data, out)
    sums = data.reshape(steps + 1, 2, 64)[:steps].sum(axis=0)
    np.testing.assert_array_equal(out.reshape(2, 64), sums[::-1])
    code = decode(compile_kernel(scheduled(k)).object, "ring")
    assert code.classes["load_lds"] == steps + 1


@pytest.mark.parametrize(
    ("dtype", "fn", "want"),
    [
        ("f32", "add", np.add), ("i32", "add", np.add), ("i32", "max", np.maximum), ("u32", "min", np.minimum),
        ("u32", "or", np.bitwise_or), ("f64", "add", np.add),
    ],
)  # fmt: skip
@pytest.mark.parametrize("space", ["global", "lds"])
def test_atomics(dtype: str, fn: str, want: np.ufunc, space: str) -> None:
    """64 lanes update 8 places; a guard leaves some out."""
    kind = DTYPES[dtype]
    x, z = tensor("x", kind, WAVE), tensor("z", kind, 8, written=True)
    s = Shared("s", kind, 8 * kind.bytes, 0)
    place, guard = LANE % 8, LANE.ge(4)
    b = IrBuilder()
    value = b.load(lane_rows(x, 1))
    start = np.arange(8).astype(NUMPY[dtype])
    if space == "global":
        b.atomic(fn, Access(z, place * kind.bytes, 1, (place,), 0, guard), value)
    else:
        b.store(Access(s, LANE * kind.bytes, 1, guard=LANE.lt(8)), b.load(Access(z, LANE * kind.bytes, 1, (LANE,), 0)))
        b.barrier()
        b.atomic(fn, Access(s, place * kind.bytes, 1, guard=guard), value)
        b.barrier()
        b.store(Access(z, LANE * kind.bytes, 1, (LANE,), 0), b.load(Access(s, LANE * kind.bytes, 1, guard=LANE.lt(8))))
    data = np.random.default_rng(6).integers(0, 100, WAVE).astype(NUMPY[dtype])
    out = start.copy()
    launch(kernel("atomics", [x, z], b, shared=(s,) if space == "lds" else ()), data, out)
    expected = start.copy()
    want.at(expected, np.arange(4, WAVE) % 8, data[4:])
    np.testing.assert_array_equal(out, expected)


@pytest.mark.parametrize("dtype", [f16, bf16])
def test_atomics_on_pairs(dtype: object) -> None:
    kind = DTYPES[str(dtype)]
    x, z = tensor("x", kind, 2 * WAVE), tensor("z", kind, 8, written=True)
    place = LANE % 5 * 2
    b = IrBuilder()
    b.atomic("add", Access(z, place * 2, 2, (place,), 0), b.load(lane_rows(x, 2)))
    data = np.random.default_rng(7).integers(0, 4, 2 * WAVE).astype(NUMPY[kind.name])
    out = np.zeros(8, NUMPY[kind.name])
    launch(kernel("pairs", [x, z], b), data, out)
    expected = np.zeros(10)
    np.add.at(expected.reshape(5, 2), np.arange(WAVE) % 5, data.astype(np.float64).reshape(WAVE, 2))
    np.testing.assert_array_equal(out.astype(np.float64), expected[:8])


def test_gather_by_data() -> None:
    """An integer from memory as an index; the bounds stated for it are the author's."""
    table, index, z = tensor("table", f32, 1000), tensor("index", i32, WAVE), tensor("z", f32, WAVE, written=True)
    symbol = var("slot", 0, 999)
    b = IrBuilder()
    b.symbol(b.load(lane_rows(index, 1)), symbol)
    b.store(lane_rows(z, 1), b.load(Access(table, symbol * 4, 1, (symbol,), 0)))
    rng = np.random.default_rng(8)
    data, at = rng.standard_normal(1000).astype(np.float32), rng.integers(0, 1000, WAVE).astype(np.int32)
    out = np.zeros(WAVE, np.float32)
    launch(kernel("gather", [table, index, z], b), data, at, out)
    np.testing.assert_array_equal(out, data[at])


def test_unaligned_wide_lds_access_is_refused_at_its_line() -> None:
    s = Shared("s", f32, 4096, 0)
    z = tensor("z", f32, 4 * WAVE, written=True)
    b = IrBuilder()
    b.store(lane_rows(z, 4), b.load(Access(s, LANE * 20, 4)))
    with pytest.raises(CompileError, match=r"C104.*16 bytes.*multiple of 4"):
        compile_kernel(scheduled(kernel("unaligned", [z], b, shared=(s,))))


def test_uninterpreted_functions_have_no_code() -> None:
    z = tensor("z", f32, WAVE, written=True)
    b = IrBuilder()
    at = E.apply("expert", LANE, lo=0, hi=63)
    b.store(Access(z, at * 4, 1, (at,), 0), b.constant(1.0, f32))
    with pytest.raises(CompileError, match=r"C102"):
        compile_kernel(scheduled(kernel("data", [z], b)))


def test_too_much_lds_is_refused_with_the_numbers() -> None:
    s = Shared("s", f32, 70000, 0)
    z = tensor("z", f32, WAVE, written=True)
    b = IrBuilder()
    b.store(lane_rows(z, 1), b.load(Access(s, LANE * 4, 1)))
    with pytest.raises(IrError, match=r"70000.*65536"):
        compile_kernel(scheduled(kernel("big", [z], b, shared=(s,))))


def test_too_many_registers_are_refused_with_the_numbers() -> None:
    n = 40
    x, z = tensor("x", f32, WAVE * n * 16), tensor("z", f32, WAVE * n * 16, written=True)
    b = IrBuilder()
    values = [b.load(Access(x, LANE * 64 + p * 4096, 16, (LANE * 16 + p * 1024,), 0)) for p in range(n)]
    for p, value in enumerate(values):
        b.store(Access(z, LANE * 64 + p * 4096, 16, (LANE * 16 + p * 1024,), 0), value)
    with pytest.raises(CompileError, match=r"C130.*640 registers.*512"):
        compile_kernel(scheduled(kernel("registers", [x, z], b)))


def test_stores_are_unbiased() -> None:
    """f32 to bf16 on the way out: the mean signed error vanishes."""
    from tests.compile.harness import run

    x = np.random.default_rng(9).standard_normal((WAVE, 64)).astype(np.float32)
    got = run(lambda b, v: b.convert(v, DTYPES["bf16"]), x)
    error = got.astype(np.float64) - x.astype(np.float64)
    assert abs(error.mean()) < 3e-5
    np.testing.assert_array_equal(got, x.astype(ml_dtypes.bfloat16))


def test_scalar_arguments_of_every_type() -> None:
    """Tensor, then scalars with natural alignment, then a size: the order every launcher uses."""
    types = ("f32", "bf16", "i8", "f64", "f16", "i32", "bool", "i64", "u8")
    b = IrBuilder()
    given = [ScalarArg(f"s{n}", DTYPES[name], b.value(DTYPES[name], 1)) for n, name in enumerate(types)]
    size = var("N", 1, 1000)
    z = tensor("z", f32, WAVE * (len(types) + 1), written=True)
    numbers = [b.convert(s.value, f32) if s.dtype is not f32 else s.value for s in given]
    numbers.append(b.convert(b.index(size), f32))
    row = b.registers(tuple(numbers), tuple((n, 0) for n in range(len(numbers))))
    b.store(lane_rows(z, len(numbers)), row)
    made = kernel("scalars", [z], b, shapes=(size,))
    made.scalars = tuple(given)
    out = np.zeros((WAVE, len(numbers)), np.float32)
    values = (1.5, 2.5, -3, 4.5, -5.5, 6, True, 8, 9)
    args = [np.bool_(v) if t == "bool" else NUMPY[t].type(v) for t, v in zip(types, values, strict=True)]
    launch(made, out, *args, 77)
    np.testing.assert_array_equal(out, np.tile(np.array([*map(float, values), 77.0], np.float32), (WAVE, 1)))


def test_opposite_phases() -> None:
    """One wave skips a bare barrier behind the other: uniform branches around barriers keep every wave's own count."""
    waves = 2
    wave = wave_variable(waves)
    s, z = Shared("s", f32, 512, 0), tensor("z", f32, 128, written=True)
    b = IrBuilder()
    i = wave * WAVE + LANE
    b.store(Access(s, i * 4, 1), b.convert(b.index(i), f32))
    b.barrier()
    for first in (0, 1):
        arm: list = []
        with b.into(arm):
            b.append(SetPrio(priority=first + 1))
        b.branch(wave.eq(first), True, arm, [])
        b.barrier(bare=True)
    b.store(Access(z, i * 4, 1, (i,), 0), b.load(Access(s, (127 - i) * 4, 1)))
    out = np.zeros(128, np.float32)
    launch(kernel("phases", [z], b, waves, shared=(s,)), out)
    np.testing.assert_array_equal(out, np.arange(127, -1, -1))


def test_loop_bounds_from_data() -> None:
    """The length comes from memory, equal in all lanes: the loop is still a scalar one."""
    length, z = tensor("length", i32, 1), tensor("z", i32, WAVE, written=True)
    count, step = var("count", 0, 50), var("i", 0, 49)
    b = IrBuilder()
    b.symbol(b.load(Access(length, const(0), 1, (const(0),), 0)), count)
    with b.loop(step, 0, count, (b.constant(0, i32),)) as loop:
        loop.yields(b.map("add", loop.args[0], b.index(step + LANE)))
    b.store(lane_rows(z, 1), loop.outs[0])
    made = kernel("counted", [length, z], b)
    for n in (0, 1, 7):
        out = np.full(WAVE, -1, np.int32)
        launch(made, np.array([n], np.int32), out)
        np.testing.assert_array_equal(out, sum((i + np.arange(WAVE) for i in range(n)), np.zeros(WAVE, np.int32)))
    code = decode(compile_kernel(scheduled(made)).object, "counted")
    assert not any("exec" in instruction_text(inst) for inst in code.insts)


def test_loops_count_upwards() -> None:
    z = tensor("z", i32, WAVE, written=True)
    b = IrBuilder()
    with b.loop(var("i", 0, 9), 0, const(4), (b.constant(0, i32),), step=-1) as loop:
        loop.yields(loop.args[0])
    b.store(lane_rows(z, 1), loop.outs[0])
    with pytest.raises(CompileError, match="C102"):
        compile_kernel(scheduled(kernel("down", [z], b)))
