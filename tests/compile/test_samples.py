"""The two sample kernels through the compiler: counts, order, lines, determinism."""

from __future__ import annotations

import subprocess
import sys
from bisect import bisect_right
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

from argus.compile import Compiled, backend, compile_kernel, linker
from argus.compile.decoded import decode
from argus.compile.emit import emit
from argus.compile.registers import plan
from argus.ir import ops
from argus.ir.kernel import Kernel
from argus.ir.passes.schedule import scheduled
from tests.compile.oracles import disassemble
from tests.ir import samples

SAMPLES = {"vadd": samples.vadd, "gemm": samples.gemm}


@cache
def compiled(name: str) -> Compiled:
    return compile_kernel(scheduled(SAMPLES[name]()))


def wanted(kernel: Kernel) -> Counter[str]:
    """Instruction counts the IR asks for, by mnemonic prefix, stated independently of the compiler."""
    counts: Counter[str] = Counter()
    for op in ops.walk(kernel.body):
        if isinstance(op, ops.Mfma):
            counts["v_mfma"] += 1
        elif isinstance(op, ops.Barrier):
            counts["s_barrier"] += 1
        elif isinstance(op, ops.Load):
            counts["ds_read" if isinstance(op.access.memory, ops.Shared) else "buffer_load"] += 1
        elif isinstance(op, ops.Store):
            counts["ds_write" if isinstance(op.access.memory, ops.Shared) else "buffer_store"] += 1
    return counts


@pytest.mark.parametrize("name", SAMPLES)
def test_instructions_are_those_of_the_ir(name: str, tmp_path: Path) -> None:
    path = tmp_path / "k.hsaco"
    path.write_bytes(compiled(name).object)
    expected = wanted(SAMPLES[name]())
    found = Counter(prefix for _, text in disassemble(path) for prefix in expected if text.startswith(prefix))
    assert found == expected


def test_gemm_loop_has_no_vector_arithmetic() -> None:
    """One iteration of 32 matrix instructions: everything else is loads, stores, waits and the loop's own counter."""
    code = decode(compiled("gemm").object, "gemm")
    first, last = code.loops[-1]
    counts = Counter(code.kinds[first : last + 1])
    assert counts["mfma"] == 32
    assert counts["valu"] == counts["accmov"] == counts["scratch"] == counts["nop"] == 0
    assert counts["salu"] <= 3
    assert last - first + 1 <= 88


@pytest.mark.parametrize("name", SAMPLES)
def test_every_memory_and_matrix_instruction_maps_to_its_op(name: str, tmp_path: Path) -> None:
    result = compiled(name)
    path = tmp_path / "k.hsaco"
    path.write_bytes(result.object)
    kinds = {row["id"]: row["op"] for row in result.sidecar["ops"]}
    pcs = [row[0] for row in result.sidecar["pcs"]]
    by_prefix = {
        "v_mfma": "mfma",
        "ds_read": "load",
        "ds_write": "store",
        "buffer_load": "load",
        "buffer_store": "store",
    }
    rows = disassemble(path)
    entry = rows[0][0]
    seen: list[int] = []
    for address, text in rows:
        prefix = next((p for p in by_prefix if text.startswith(p)), None)
        if prefix is not None:
            op = result.sidecar["pcs"][bisect_right(pcs, address - entry) - 1][1]
            assert kinds[op] == by_prefix[prefix], text
            seen.append(op)
    expected = [op.id for op in ops.walk(SAMPLES[name]().body) if isinstance(op, ops.Mfma | ops.Load | ops.Store)]
    assert seen == expected


@pytest.mark.parametrize("name", SAMPLES)
def test_line_information_changes_no_byte(name: str) -> None:
    kernel = SAMPLES[name]()
    with_lines, without = (linker.link(backend.run(emit(kernel, plan(kernel), debug=d).text)) for d in (True, False))
    assert with_lines == without == compiled(name).object


def test_checks_and_their_lines_change_no_byte() -> None:
    kernel = samples.gemm()
    kernel.body[:] = [op for op in kernel.body if not isinstance(op, ops.Check | ops.Tag)]
    for number, op in enumerate(ops.walk(kernel.body)):
        op.id = 1000 + number
        op.span = samples.at(7)
    assert compile_kernel(scheduled(kernel)).object == compiled("gemm").object


def test_same_source_same_bytes_in_another_process() -> None:
    program = (
        "import hashlib\nfrom tests.ir import samples\nfrom argus.compile import compile_kernel\n"
        "from argus.ir.passes.schedule import scheduled\n"
        "for make in (samples.vadd, samples.gemm):\n"
        "    print(hashlib.sha256(compile_kernel(scheduled(make())).object).hexdigest())\n"
    )
    runs = [
        subprocess.run(
            [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60,
            env={"PYTHONHASHSEED": str(seed), "PATH": "/usr/bin", "PYTHONPATH": str(Path(__file__).parents[2])},
        ).stdout
        for seed in (1, 2)
    ]  # fmt: skip
    assert runs[0] == runs[1]
    assert runs[0].split() == [compiled(name).sidecar["object_sha256"] for name in SAMPLES]


def test_a_second_compile_of_the_same_kernel_object_is_equal() -> None:
    kernel = samples.gemm()
    assert compile_kernel(scheduled(kernel)).object == compile_kernel(scheduled(kernel)).object
