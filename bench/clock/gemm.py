"""AITER's GEMM rows: bf16 (LDS-staged assembly) and i8 (per-token scales).

A launch is recorded with as many rows of tiles as one XCD needs for its first round; the grid is the measured one.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from argus import machine
from argus.clock import kernel_resources, time_launch, workgroups_to_record
from argus.clock.model import room_for
from argus.clock.observe import observe
from argus.gfx942.chip import CUS
from bench.clock.rows import Measured, line, number, read
from bench.foreign import gemm_bf16, gemm_i8
from bench.foreign.case import Case


def launch_line(root: Path, row: Measured, case: Case, grid: int) -> dict[str, Any]:
    kernel = machine.load(root / case.path).kernel()
    room = room_for(kernel_resources(kernel.info), case.block // 64)
    recorded = case.grid[0] * case.grid[1] * case.grid[2]
    sample = [n for n in workgroups_to_record(grid, room, sharing=True) if n < recorded]
    seen = observe(kernel, case.grid, case.block, case.args, offsets=case.offsets, workgroups=sample, executor="jit")
    _, launch = time_launch(
        seen.record,
        seen.insts,
        seen.kernel,
        grid=grid,
        flops=row.flops,
        hbm_bytes=row.bytes,
        element=row.element,
        warm=True,
    )
    return line(row, launch)


def enough(m: int, tile_m: int, columns: int, room: int) -> int:
    """Rows of A for one round of workgroups on the whole chip."""
    return min(m, tile_m * -(-room * CUS // columns))


def bf16(root: Path, facts: Path) -> Iterator[dict[str, Any]]:
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
            microseconds=float(row["value"]),
            source=row["source"],
        )
        m = enough(size, tile, size // 64, 1)
        case = gemm_bf16.case("f32 out", f"{tile}x64_pf3_splitk", m, size, size)
        yield launch_line(root, found, case, size // 64 * -(-size // tile))


def i8(root: Path, facts: Path) -> Iterator[dict[str, Any]]:
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
        case = gemm_i8.case("bias", tile, enough(m, tile_m, n // tile_n, 2), n, k)
        yield launch_line(root, found, case, n // tile_n * -(-m // tile_m))
