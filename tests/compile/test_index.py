"""Index expressions as machine code agree with their meaning, at every place an expression can stand."""

from __future__ import annotations

import random

import numpy as np
import pytest

from argus.compile.index import slope
from argus.ir.build import IrBuilder
from argus.ir.compile_error import CompileError
from argus.ir.kernel import BLOCK_X, LANE, wave_variable
from argus.ir.ops import Access
from argus.ir.types import i32
from argus.layout import expr as E
from argus.layout.expr import Expr, const, var
from tests.compile.harness import EXACT, WAVE, kernel, launch, tensor

WAVES = 2
WAVE_NUMBER = wave_variable(WAVES)
SIZE = var("K", 1, 4096)
LOOP = var("kt", 0, 15)
VARIABLES = (LANE, WAVE_NUMBER, BLOCK_X, SIZE, LOOP)
LIMIT = 1 << 30


def random_number(rng: random.Random, depth: int, variables: tuple[Expr, ...]) -> Expr:
    """A random expression whose value and parts stay inside 31 bits."""
    if depth == 0 or rng.random() < 0.15:
        return rng.choice([*variables, const(rng.choice([0, 1, 2, 3, 7, 8, 13, 64, 100, -5]))])

    def sub() -> Expr:
        return random_number(rng, depth - 1, variables)

    kind = rng.choice(["add", "sub", "mul", "div", "mod", "xor", "and", "or", "shl", "shr", "min", "max", "select"])
    a, b = sub(), sub()
    if kind == "add":
        e = a + b
    elif kind == "sub":
        e = a - b
    elif kind == "mul":
        e = a * b
    elif kind == "div":
        e = a // rng.choice([1, 2, 3, 8, 12, 64, SIZE])
    elif kind == "mod":
        e = a % rng.choice([2, 3, 8, 12, 64, SIZE])
    elif kind in ("xor", "and", "or"):
        a, b = E.maximum(a, 0), E.maximum(b, 0)
        e = {"xor": a ^ b, "and": a & b, "or": a | b}[kind]
    elif kind == "shl":
        e = a << rng.choice([0, 1, 4])
    elif kind == "shr":
        e = a >> rng.choice([0, 1, 4])
    elif kind == "min":
        e = E.minimum(a, b)
    elif kind == "max":
        e = E.maximum(a, b)
    else:
        condition = rng.choice(
            [
                a.lt(b),
                a.le(b),
                a.eq(b),
                a.ne(b),
                E.land(a.lt(b), b.lt(50)),
                E.lor(a.lt(b), a.eq(7)),
                E.lnot(a.lt(b)),
                E.select(b.lt(9), a.lt(b), a.eq(b)),
            ]
        )
        e = E.select(condition, sub(), sub())
    small = all(n.lo is not None and n.hi is not None and n.lo > -LIMIT and n.hi < LIMIT for n in E.postorder(e))
    return e if small else sub()


@pytest.mark.parametrize("seed", range(10))
def test_random_expressions(seed: int) -> None:
    """20 expressions a kernel: before, inside and after a loop, for all threads of two workgroups."""
    rng = random.Random(seed)
    inside = [random_number(rng, 4, (*VARIABLES[:2], var("block_x", 0, 3), *VARIABLES[3:])) for _ in range(12)]
    outside = [random_number(rng, 4, (*VARIABLES[:2], var("block_x", 0, 3), SIZE)) for _ in range(8)]
    count, steps = len(inside) + len(outside), 5
    z = tensor("z", i32, 2 * 128 * count, written=True)
    place = (BLOCK_X * 128 + WAVE_NUMBER * WAVE + LANE) * count
    b = IrBuilder()

    def store(n: int, value: object) -> None:
        b.store(Access(z, (place + n) * 4, 1, (place + n,), 0), value)  # type: ignore[arg-type]

    for n, e in enumerate(outside[:4]):
        store(n, b.index(e))
    zero = b.constant(0, i32)
    with b.loop(LOOP, 0, const(steps), tuple(zero for _ in inside)) as loop:
        loop.yields(*(b.map("add", acc, b.index(e)) for acc, e in zip(loop.args, inside, strict=True)))
    for n, total in enumerate(loop.outs):
        store(8 + n, total)
    for n, e in enumerate(outside[4:], 4):
        store(n, b.index(e))
    out = np.zeros((2, WAVES, WAVE, count), np.int32)
    size = rng.randint(1, 4096)
    k = kernel("index", [z], b, WAVES, shapes=(SIZE,), grid=(const(2), const(1), const(1)))
    launch(k, out, size, grid=(2, 1, 1), checks=EXACT)
    block, wave, lane = np.meshgrid(np.arange(2), np.arange(WAVES), np.arange(WAVE), indexing="ij")
    here = {"block_x": block, "wave": wave, "lane": lane, "K": size}
    for n, e in enumerate(outside):
        np.testing.assert_array_equal(out[..., n], E.evaluate(e, here), err_msg=str(e))
    for n, e in enumerate(inside):
        total = sum(
            np.broadcast_to(E.evaluate(e, {**here, "kt": kt}), block.shape).astype(np.int64) for kt in range(steps)
        )
        np.testing.assert_array_equal(out[..., 8 + n], total.astype(np.int32), err_msg=str(e))


def indices(made: list[Expr], size: int) -> np.ndarray:
    """What lanes have of these expressions of LANE and SIZE on the machine."""
    z = tensor("z", i32, WAVE * len(made), written=True)
    b = IrBuilder()
    for n, e in enumerate(made):
        place = LANE * len(made) + n
        b.store(Access(z, place * 4, 1, (place,), 0), b.index(e))
    out = np.zeros((WAVE, len(made)), np.int32)
    launch(kernel("far", [z], b, shapes=(SIZE,)), out, size, checks=EXACT)
    return out


@pytest.mark.parametrize("size", [1, 31, 32, 33, 41, 64, 4095])
def test_amounts_that_are_sizes_count_modulo_32(size: int) -> None:
    """The rule `fits` refuses 32 and more; what the object does then is no poison either."""
    lane, amount = np.arange(WAVE), size % 32
    out = indices([const(3) << SIZE, LANE >> SIZE, (LANE - 9) >> (SIZE + LANE)], size)
    np.testing.assert_array_equal(out[:, 0], np.full(WAVE, 3 << amount & 0xFFFFFFFF, np.uint32).view(np.int32))
    np.testing.assert_array_equal(out[:, 1], lane >> amount)
    np.testing.assert_array_equal(out[:, 2], (lane - 9) >> (size + lane) % 32)


@pytest.mark.parametrize("far", [31, 32, 40])
def test_constant_amounts_are_below_32_or_refused(far: int) -> None:
    made = [LANE << far, (LANE + SIZE) << far]
    if far < 32:
        exact = np.stack([np.arange(WAVE) << far, (np.arange(WAVE) + 41) << far], axis=1)
        np.testing.assert_array_equal(indices(made, 41), exact.astype(np.uint32).view(np.int32))
        return
    with pytest.raises(CompileError, match="does not fit 32 bits"):
        indices(made, 41)


@pytest.mark.parametrize("size", [1, 2, 5])
def test_divisors_of_loops_that_never_run(size: int) -> None:
    """A quotient by SIZE - 1 is not computed before its loop: LLVM would conclude that it is not zero, also where the
    loop has no turn."""
    turns = SIZE - 1
    z = tensor("z", i32, 2 * WAVE, written=True)
    b = IrBuilder()
    with b.loop(LOOP, 0, turns, (b.constant(0, i32),)) as loop:
        loop.yields(b.map("add", loop.args[0], b.index((LANE + 100) // turns + (LANE - 9) % turns)))
    for n, value in enumerate((loop.outs[0], b.index(E.select(turns.eq(0), const(7), const(8))))):
        place = LANE * 2 + n
        b.store(Access(z, place * 4, 1, (place,), 0), value)
    out = np.zeros((WAVE, 2), np.int32)
    launch(kernel("turns", [z], b, shapes=(SIZE,)), out, size, checks=EXACT)
    lane, by = np.arange(WAVE), size - 1
    np.testing.assert_array_equal(out[:, 0], by * ((lane + 100) // by + (lane - 9) % by) if by else 0 * lane)
    np.testing.assert_array_equal(out[:, 1], 8 if by else 7)


def test_slope_is_the_difference_of_neighbours() -> None:
    rng = random.Random(7)
    found = 0
    for _ in range(400):
        e = random_number(rng, 3, (LANE, SIZE, LOOP))
        rate = slope(e, LOOP)
        if rate is None:
            continue
        found += 1
        assert LOOP not in rate.free()
        for kt in range(6):
            env = {"lane": np.arange(WAVE), "K": 37}
            step = np.asarray(E.evaluate(e, {**env, "kt": kt + 1})) - np.asarray(E.evaluate(e, {**env, "kt": kt}))
            np.testing.assert_array_equal(step, np.broadcast_to(E.evaluate(rate, env), step.shape))
    assert found > 50


@pytest.mark.full
@pytest.mark.parametrize("first", range(100, 400, 50))
def test_many_random_expressions(first: int) -> None:
    for seed in range(first, first + 50):
        test_random_expressions(seed)
