"""One wave, arrays in, arrays out: run a handful of IR ops through compiler and machine.

    run(lambda b, x, y: b.map("add", x, y), f32, x, y)      each lane holds a row of the (64, n) inputs

Every run compiles to a code object, audits it, and executes it with all of the machine's checks on.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import ml_dtypes
import numpy as np

from argus import machine
from argus.compile import compile_kernel
from argus.ir.build import IrBuilder
from argus.ir.kernel import LANE, Kernel
from argus.ir.ops import Access, Shared, Tensor
from argus.ir.passes.schedule import scheduled
from argus.ir.types import DTYPES, NOWHERE, DType, Value
from argus.layout.expr import Expr, const

WAVE = 64
NUMPY: Mapping[str, np.dtype[np.generic]] = {
    "f64": np.dtype(np.float64),
    "f32": np.dtype(np.float32),
    "f16": np.dtype(np.float16),
    "bf16": np.dtype(ml_dtypes.bfloat16),
    "fp8": np.dtype(ml_dtypes.float8_e4m3fnuz),
    "bf8": np.dtype(ml_dtypes.float8_e5m2fnuz),
    "i64": np.dtype(np.int64),
    "i32": np.dtype(np.int32),
    "i16": np.dtype(np.int16),
    "i8": np.dtype(np.int8),
    "u32": np.dtype(np.uint32),
    "u16": np.dtype(np.uint16),
    "u8": np.dtype(np.uint8),
}
OF_NUMPY = {np_dtype: DTYPES[name] for name, np_dtype in NUMPY.items()}


EXACT = ("waits", "lds-races", "global-races", "wait-states", "barriers")
"""The machine's checks without `uninitialised`, which asks whole registers to be defined where LLVM uses only a half of
a pair (packed f32 with op_sel, the addend of v_mad_u64_u32); results are compared instead."""


def tensor(name: str, dtype: DType, count: int, written: bool = False) -> Tensor:
    return Tensor(name, dtype, ("i",), (const(count),), (const(1),), not written, written)


def kernel(
    name: str, tensors: list[Tensor], body: IrBuilder, waves: int = 1, shared: tuple[Shared, ...] = (),
    shapes: tuple[Expr, ...] = (), grid: tuple[Expr, Expr, Expr] | None = None, **rest: object,
) -> Kernel:  # fmt: skip
    return Kernel(
        name=name, file="test.py", source="", tensors=tuple(tensors), scalars=(), shapes=shapes, knobs=(), settings={},
        requires=(), waves=waves, grid=grid or (const(1), const(1), const(1)), shared=shared, body=body.body,
        span=NOWHERE, **rest,  # type: ignore[arg-type]
    )  # fmt: skip


def lane_rows(t: Tensor, count: int) -> Access:
    """Lane l holds elements l*count .. l*count + count - 1."""
    at = LANE * count
    return Access(t, at * t.dtype.bytes, count, (at,), 0)


def launch(k: Kernel, *args: object, grid: tuple[int, int, int] = (1, 1, 1), checks: object = "all") -> None:
    """Compile, audit, run with every check; a report is a failure."""
    compiled = compile_kernel(scheduled(k))
    result = machine.load(compiled.object).kernel(k.name)(
        grid, (k.threads, 1, 1), *args, options=machine.Options(checks=checks, max_steps=2_000_000)
    )
    assert not result.reports, result.reports[0]


def run(ops: Callable[..., Value], *inputs: np.ndarray) -> np.ndarray:
    """The (64, n) result of `ops(builder, *values)` on (64, n) inputs."""
    b = IrBuilder()
    tensors = [tensor(f"in{n}", OF_NUMPY[x.dtype], x.size) for n, x in enumerate(inputs)]
    values = [b.load(lane_rows(t, x.shape[1])) for t, x in zip(tensors, inputs, strict=True)]
    result = ops(b, *values)
    out = tensor("out", result.dtype, WAVE * result.count, written=True)
    b.store(lane_rows(out, result.count), result)
    made = np.zeros((WAVE, result.count), NUMPY[result.dtype.name])
    launch(kernel("ops", [*tensors, out], b), *inputs, made)
    return made
