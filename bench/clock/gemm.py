"""AITER's GEMM rows: bf16 (LDS-staged assembly) and i8 (per-token scales).

A bf16 launch is recorded with as many rows of tiles as one XCD needs for its first round; the grid is the measured one.
The i8 kernels use indexed registers, which only the interpreter executes: one workgroup is recorded, and how many
workgroups of an XCD share a line follows from the placement of its tiles (`sharers`). Their times come from AITER's
tuner, which rotates over up to 101 copies of the tensors (aiter/test_common.py): caches are cold.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from argus import machine
from argus.bench.foreign import gemm_bf16, gemm_i8
from argus.bench.foreign.case import Case
from argus.clock import Recorded, kernel_resources, workgroups_to_record
from argus.clock.model import room_for
from argus.clock.observe import observe
from argus.gfx942.chip import CUS, CUS_PER_XCD, XCDS
from bench.clock.rows import Measured, Timer, number, read, timer, without_gap

LARGEST = 4096
"""Largest bf16 GEMM of which one XCD's workgroups are all recorded; beyond, sharing follows from placement."""


def recorded_launch(root: Path, case: Case, grid: int, sharing: bool, executor: Literal["jit", "checking"]) -> Recorded:
    """A recorded sample: one CU's workgroups, or (`sharing`) one XCD's, as far as the case has them."""
    kernel = machine.load(root / case.path).kernel()
    room = room_for(kernel_resources(kernel.info), case.block // 64)
    recorded = case.grid[0] * case.grid[1] * case.grid[2]
    sample = [n for n in workgroups_to_record(grid, room, sharing=sharing) if n < recorded]
    seen = observe(kernel, case.grid, case.block, case.args, offsets=case.offsets, workgroups=sample, executor=executor)
    return Recorded(seen.record, seen.insts, seen.kernel, grid=grid)


def enough(m: int, tile_m: int, columns: int, room: int) -> int:
    """Rows of A for one round of workgroups on the whole chip."""
    return min(m, tile_m * -(-room * CUS // columns))


def bf16(root: Path, facts: Path) -> Iterator[tuple[Measured, Timer]]:
    for row in read(facts / "calibration.csv"):
        if "gemm_a16w16_asm" not in row["kernel"] or row["metric"] != "time":
            continue
        size = number(r"M=N=K=(\d+)", row["shape"])
        tile = 64 if size == 1024 else 96
        found = Measured(
            role=row["role"],
            family="GEMM bf16, AITER assembly",
            program=f"bf16gemm {tile}x64_pf3",
            shape=f"bf16 {row['shape']}",
            flops=2.0 * size**3,
            bytes=8.0 * size**2,
            element="bf16",
            microseconds=without_gap(row),
            source=row["source"],
        )
        grid = (size // 64, -(-size // tile))
        shared = sharers(grid, (tile, 64), 1) if size > LARGEST else None
        m = enough(size, tile, size // 64, 1) if shared is None else tile
        case = gemm_bf16.case("f32 out", f"{tile}x64_pf3_splitk", m, size, size)
        recorded = recorded_launch(root, case, grid[0] * grid[1], shared is None, "jit")
        yield found, timer(found, recorded, warm=True, **({} if shared is None else {"l2_sharers": shared}))


def i8(root: Path, facts: Path) -> Iterator[tuple[Measured, Timer]]:
    for row in read(facts / "aiter_asm_gemm_times.csv"):
        m, n, k = (int(row[name]) for name in ("M", "N", "K"))
        tile = row["kernelName"].rsplit("_", 1)[1].removesuffix("E")
        tile_m, tile_n = (int(part) for part in tile.split("x"))
        found = Measured(
            role=row["role"],
            family="GEMM i8, AITER assembly",
            program=f"I8gemm {tile}",
            shape=f"i8 {m}x{n}x{k}",
            flops=2.0 * m * n * k,
            bytes=1.0 * (m * k + n * k + 2 * m * n),
            element="i8",
            microseconds=float(row["us"]),
            source=row["file"],
        )
        grid = (n // tile_n, -(-m // tile_m))
        case = gemm_i8.case("bias", tile, min(m, tile_m), n, k)
        recorded = recorded_launch(root, case, grid[0] * grid[1], False, "checking")
        shared = sharers(grid, (tile_m, tile_n), recorded.room)
        yield found, timer(found, recorded, warm=False, l2_sharers=shared)


def sharers(grid: tuple[int, int], tile: tuple[int, int], room: int) -> float:
    """Mean number of workgroups on XCD 0 that read a line of A or B, in the first round; column tiles run fastest."""
    together = range(0, grid[0] * grid[1], XCDS)[: CUS_PER_XCD * room]
    rows, columns = {n // grid[0] for n in together}, {n % grid[0] for n in together}
    return len(together) * sum(tile) / (len(rows) * tile[0] + len(columns) * tile[1])
