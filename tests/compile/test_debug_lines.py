"""`--debug-lines`: the same code, and source lines that other people's DWARF readers find."""

from __future__ import annotations

import itertools
import re
import subprocess
from bisect import bisect_right
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from argus.cli.main import main
from argus.compile.cache import compile_cached
from argus.compile.compiler import Compiled
from argus.compile.debug_lines import with_debug_lines
from argus.device.simulated import JitDevice
from argus.gfx942.elf import parse_elf
from argus.ir.passes.schedule import scheduled
from argus.lang import read
from argus.machine.corpus import find_objdump
from tests.compile.oracles import tool

KERNELS = Path(__file__).parents[2] / "argus" / "kernels"
NAMES = ("vadd", "gemm", "softmax")


@cache
def pair(name: str) -> tuple[Compiled, Compiled]:
    plain = compile_cached(scheduled(read(KERNELS / f"{name}.py", kernel=name)))
    return plain, with_debug_lines(plain)


def places(compiled: Compiled) -> dict[int, tuple[str, int]]:
    """Loaded address of every code word of the kernel -> (file, line) by the sidecar; line 0 where there is none."""
    symbol = next(s for s in parse_elf(compiled.object).symbols if s.name == compiled.name)
    spans = {op["id"]: op["span"] for op in compiled.sidecar["ops"]}
    rows = compiled.sidecar["pcs"]
    starts = [pc for pc, _ in rows]
    found = {}
    for pc in range(0, symbol.size, 4):
        op = rows[bisect_right(starts, pc) - 1][1]
        found[symbol.value + pc] = (Path(spans[op][0]).name, spans[op][1]) if op in spans else ("", 0)
    return found


@pytest.mark.parametrize("name", NAMES)
def test_everything_that_is_loaded_is_the_same(name: str) -> None:
    plain, lines = pair(name)
    before, after = parse_elf(plain.object), parse_elf(lines.object)
    kept = [(s.name, s.type, s.flags, s.address, s.offset, s.data) for s in before.sections if s.name != ".shstrtab"]
    there = [(s.name, s.type, s.flags, s.address, s.offset, s.data) for s in after.sections if s.name != ".shstrtab"]
    assert there[: len(kept)] == kept
    assert [row[0] for row in there[len(kept) :]] == [".debug_abbrev", ".debug_info", ".debug_line"]
    assert not any(row[2] or row[3] for row in there[len(kept) :]), "no debug section is loaded"
    assert lines.object[64 : len(plain.object)] == plain.object[64:], "program headers and segments, byte for byte"
    assert before.section(".text").data == after.section(".text").data  # type: ignore[union-attr]


@pytest.mark.parametrize("name", NAMES)
def test_llvm_reads_the_lines_of_the_sidecar(name: str, tmp_path: Path) -> None:
    """Every row of llvm-dwarfdump, spread over the words it covers, against the map."""
    file = tmp_path / f"{name}.hsaco"
    file.write_bytes(pair(name)[1].object)
    dump = tool("llvm-dwarfdump-22", "llvm-dwarfdump-19", "llvm-dwarfdump")
    subprocess.run([dump, "--verify", str(file)], check=True, capture_output=True, timeout=60)
    text = subprocess.run([dump, "--debug-line", str(file)], check=True, capture_output=True, text=True).stdout
    names = {int(n): Path(f).name for n, f in re.findall(r'file_names\[ *(\d+)\]:\n +name: "(.*)"', text)}
    rows = [
        (int(pc, 16), int(line), names[int(number)], "end_sequence" in flags)
        for pc, line, number, flags in re.findall(r"^(0x[0-9a-f]+) +(\d+) +\d+ +(\d+) +\d+ +\d+ +(.*)$", text, re.M)
    ]
    found: dict[int, tuple[str, int]] = {}
    for (pc, line, where, _), following in itertools.pairwise(rows):
        for address in range(pc, following[0], 4):
            found[address] = (where if line else "", line)
    assert rows[-1][3]
    assert found == places(pair(name)[1])


def test_objdump_prints_source_lines(tmp_path: Path) -> None:
    objdump = find_objdump()
    if objdump is None:
        pytest.skip("no llvm-objdump that knows gfx942 is installed")
    file = tmp_path / "vadd.hsaco"
    for compiled, expected in zip(pair("vadd"), (False, True), strict=True):
        file.write_bytes(compiled.object)
        command = [objdump, "-d", "-l", "--mcpu=gfx942", str(file)]
        text = subprocess.run(command, check=True, capture_output=True, text=True, timeout=60).stdout
        lines = {int(n) for n in re.findall(rf"^; {re.escape(str(KERNELS / 'vadd.py'))}:(\d+)$", text, re.M)}
        assert lines == ({line for _, line in places(compiled).values() if line} if expected else set())


def test_the_object_still_runs_and_is_what_compile_writes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = str(KERNELS / "vadd.py")
    assert main(["compile", source, "-o", str(tmp_path), "--debug-lines"]) == 0
    data = (tmp_path / "vadd.hsaco").read_bytes()
    assert data == pair("vadd")[1].object
    x = np.arange(1000, dtype=np.float32)
    arrays = {"x": x, "y": x, "z": np.zeros_like(x)}
    JitDevice().launch(read(source), data, {"N": 1000}, arrays)
    np.testing.assert_array_equal(arrays["z"], 2 * x)


def test_a_kernel_without_a_file_has_lines_too() -> None:
    source = (KERNELS / "vadd.py").read_text()
    compiled = with_debug_lines(compile_cached(scheduled(read(source))))
    assert b"<kernel>" in parse_elf(compiled.object).section(".debug_line").data  # type: ignore[union-attr]
