"""The linker against lld and the LLVM tools, and against damaged input."""

from __future__ import annotations

import re
import subprocess
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from argus.compile import backend, linker
from argus.compile.emit import emit
from argus.compile.objects import read_object
from argus.compile.registers import plan
from argus.gfx942 import elf
from argus.ir.compile_error import CompileError
from tests.compile.oracles import disassemble, tool
from tests.ir import samples


@cache
def relocatable(name: str) -> bytes:
    kernel = {"vadd": samples.vadd, "gemm": samples.gemm}[name]()
    return backend.run(emit(kernel, plan(kernel)).text)


@pytest.fixture(params=["vadd", "gemm"])
def files(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Path, Path]:
    source, result = tmp_path / "k.o", tmp_path / "k.hsaco"
    source.write_bytes(relocatable(request.param))
    result.write_bytes(linker.link(source.read_bytes()))
    return source, result


def run(*command: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    assert "warning" not in done.stderr.lower(), done.stderr
    return done.stdout


def test_same_code_and_symbols_as_lld(files: tuple[Path, Path]) -> None:
    source, ours = files
    theirs = source.with_name("lld.hsaco")
    run(tool("ld.lld-22", "ld.lld"), "-shared", str(source), "-o", str(theirs))
    base = {path: disassemble(path)[0][0] for path in (ours, theirs)}
    texts = [[(a - base[path], text) for a, text in disassemble(path)] for path in (ours, theirs)]
    assert texts[0] == texts[1]
    readelf = tool("llvm-readelf-22", "llvm-readelf")
    tables = []
    for path in (ours, theirs):
        rows = re.findall(
            r"^ +\d+: \w+ +(\d+) (\w+) +(\w+) +(\w+) +\w+ (\S+)$", run(readelf, "--dyn-syms", str(path)), re.M
        )
        tables.append(sorted(rows))
    assert tables[0] == tables[1]
    assert len(tables[0]) == 2
    notes = [run(readelf, "--notes", str(path)) for path in (ours, theirs)]
    assert notes[0] == notes[1].replace(str(theirs), str(ours))


def test_kernel_descriptor_points_to_the_entry(files: tuple[Path, Path]) -> None:
    result = read_object(files[1].read_bytes(), elf.ET_DYN)
    symbols = {s.name: s for s in result.symbols}
    name = next(n for n in symbols if n.endswith(".kd")).removesuffix(".kd")
    descriptor = symbols[name + ".kd"]
    section = result.sections[descriptor.section]
    start = descriptor.value - section.address
    distance = int.from_bytes(section.data[start + 16 : start + 24], "little", signed=True)
    assert descriptor.value + distance == symbols[name].value
    assert symbols[name].value % 256 == 0


def test_tools_accept_the_object(files: tuple[Path, Path]) -> None:
    readelf = tool("llvm-readelf-22", "llvm-readelf")
    text = run(readelf, "-h", "-l", "-S", "-d", "--notes", str(files[1]))
    assert "sramecc+" in text
    assert not re.search(r"xnack[+-]", text), "open: loads in either mode"
    assert read_object(files[1].read_bytes(), elf.ET_DYN).flags >> 8 & 3 == 1
    assert ".debug" not in text
    assert re.search(r"amdhsa\.version:\s+- 1\s+- 2", text), "code-object version 5"


def test_segments_do_not_share_pages_and_are_congruent(files: tuple[Path, Path]) -> None:
    data = files[1].read_bytes()
    pages: list[set[int]] = []
    for n in range(linker.SEGMENTS):
        kind, _, offset, address, _, _, size, align = linker.PROGRAM_HEADER.unpack_from(data, 64 + 56 * n)
        if kind == linker.PT_LOAD:
            assert (address - offset) % align == 0
            pages.append(set(range(address // linker.PAGE, (address + size - 1) // linker.PAGE + 1)))
    assert len(pages) == 3
    assert sum(map(len, pages)) == len(set().union(*pages))


def test_metadata_is_complete() -> None:
    from argus.compile.decoded import decode

    found = decode(linker.link(relocatable("gemm")), "gemm").metadata
    arguments = [(a[".name"], a[".offset"], a[".size"], a[".value_kind"]) for a in found[".args"]]
    assert arguments == [
        ("A", 0, 8, "global_buffer"),
        ("B", 8, 8, "global_buffer"),
        ("C", 16, 8, "global_buffer"),
        ("M", 24, 4, "by_value"),
        ("N", 28, 4, "by_value"),
        ("K", 32, 4, "by_value"),
    ]
    assert found[".reqd_workgroup_size"] == [256, 1, 1]
    assert found[".group_segment_fixed_size"] == 32768
    assert found[".private_segment_fixed_size"] == 0
    assert found[".kernarg_segment_size"] == 36
    assert found[".wavefront_size"] == 64


@settings(max_examples=150, deadline=None, derandomize=True)
@given(st.data())
def test_damaged_objects_end_in_a_coded_error(data: st.DataObject) -> None:
    """Cut short or with bytes overwritten: a CompileError or a result, never another exception."""
    good = bytearray(relocatable("vadd"))
    if data.draw(st.booleans()):
        good = good[: data.draw(st.integers(0, len(good)))]
    for _ in range(data.draw(st.integers(0, 6))):
        if good:
            good[data.draw(st.integers(0, len(good) - 1))] = data.draw(st.integers(0, 255))
    try:
        assert linker.link(bytes(good))[:4] == b"\x7fELF"
    except CompileError as error:
        assert error.code in ("C401", "C402")  # noqa: PT017 (both outcomes are fine)
