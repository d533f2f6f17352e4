"""`.debug_line` for tools: the line of the kernel file each instruction came from, as DWARF added to a finished object.

    with_debug_lines(compiled)  ->  the same object with .debug_abbrev, .debug_info, .debug_line behind it

rocprofv3, rocgdb, llvm-objdump -l and addr2line read these; nothing that runs the kernel does. The sections are written
from the map from code to source (the sidecar), not taken from LLVM, whose line numbers are numbers of operations. They
are appended behind all bytes of the object and are not loaded, so code, descriptors and metadata are the same with and
without; of the bytes before them only the header's place and count of sections differ.

DWARF 4, one unit with one subprogram, a row wherever the operation changes. Code that belongs to no operation (set-up
of registers, waits the hardware needs) has line 0, which is DWARF's word for it. Variables are not described: registers
hold fragments of tiles, for which DWARF has no words.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from argus.compile.compiler import Compiled
from argus.compile.objects import read_object
from argus.gfx942 import elf
from argus.gfx942.elf import ET_DYN
from argus.ir.compile_error import CompileError

PRODUCER = "Argus"
VERSION = 4
LANGUAGE = 0x14  # DW_LANG_Python
CODE_UNIT = 4
OPCODE_BASE, LINE_BASE, LINE_RANGE = 13, -5, 14
STANDARD_LENGTHS = (0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1)
COPY, ADVANCE_PC, ADVANCE_LINE, SET_FILE, SET_COLUMN = 1, 2, 3, 4, 5
END_SEQUENCE, SET_ADDRESS = 1, 2
ABBREVIATIONS = bytes(
    [
        1, 0x11, 1, 0x25, 0x08, 0x13, 0x05, 0x03, 0x08, 0x1B, 0x08, 0x10, 0x17, 0x11, 0x01, 0x12, 0x07, 0, 0,
        2, 0x2E, 0, 0x03, 0x08, 0x3A, 0x0F, 0x3B, 0x0F, 0x11, 0x01, 0x12, 0x07, 0x3F, 0x19, 0, 0,
        0,
    ]
)  # fmt: skip
"""1: compile unit (producer, language, name, folder, line table, first pc, length). 2: subprogram (name, file, line,
first pc, length, external)."""


def with_debug_lines(compiled: Compiled) -> Compiled:
    """The same kernel with line information in its object; the map names the new object's digest."""
    data = add_sections(compiled.object, debug_sections(compiled))
    named = {**compiled.sidecar, "object_sha256": hashlib.sha256(data).hexdigest()}
    return replace(compiled, object=data, sidecar=named)


def debug_sections(compiled: Compiled) -> Mapping[str, bytes]:
    """Name -> contents of the debug sections."""
    source = read_object(compiled.object, ET_DYN)
    symbol = next((s for s in source.symbols if s.name == compiled.name), None)
    if symbol is None:
        raise CompileError("C401", f"the object has no symbol {compiled.name!r}")
    spans = {op["id"]: op["span"] for op in compiled.sidecar["ops"]}
    files = list(dict.fromkeys([*compiled.sidecar["sources_sha256"], *(span[0] for span in spans.values())]))
    number = {file: n for n, file in enumerate(files, 1)}
    rows = [
        (pc, number[spans[op][0]], spans[op][1], spans[op][2]) if op in spans else (pc, 1, 0, 0)
        for pc, op in compiled.sidecar["pcs"]
    ]
    first = min((row[2] for row in rows if row[1] == 1 and row[2]), default=1)
    return {
        ".debug_abbrev": ABBREVIATIONS,
        ".debug_info": _info(compiled.name, _absolute(files[0]), first, symbol.value, symbol.size),
        ".debug_line": _line_program(files, rows, symbol.value, symbol.size),
    }


def _absolute(file: str) -> str:
    """Where a debugger finds the file; a text without a file keeps its name."""
    return file if file.startswith("<") else str(Path(file).resolve())


def _info(kernel: str, file: str, line: int, start: int, size: int) -> bytes:
    folder = str(Path(file).parent) if not file.startswith("<") else ""
    unit = _uleb(1) + _text(PRODUCER) + struct.pack("<H", LANGUAGE) + _text(file) + _text(folder)
    unit += struct.pack("<IQQ", 0, start, size)
    function = _uleb(2) + _text(kernel) + _uleb(1) + _uleb(line) + struct.pack("<QQ", start, size)
    body = struct.pack("<HIB", VERSION, 0, 8) + unit + function + _uleb(0)
    return struct.pack("<I", len(body)) + body


def _line_program(files: list[str], rows: list[tuple[int, int, int, int]], start: int, size: int) -> bytes:
    """The line table: header with the files, then one row per change, up to the end of the kernel."""
    names = b"".join(_text(_absolute(file)) + bytes(3) for file in files) + b"\0"
    about = struct.pack("<BBBbBB", CODE_UNIT, 1, 1, LINE_BASE, LINE_RANGE, OPCODE_BASE) + bytes(STANDARD_LENGTHS)
    header = about + b"\0" + names
    body = struct.pack("<HI", VERSION, len(header)) + header + b"".join(_rows(rows, start, size))
    return struct.pack("<I", len(body)) + body


def _rows(rows: list[tuple[int, int, int, int]], start: int, size: int) -> Iterator[bytes]:
    yield bytes((0, 9, SET_ADDRESS)) + struct.pack("<Q", start)
    at, file, line, column = 0, 1, 1, 0
    for pc, new_file, new_line, new_column in rows:
        if pc != at:
            yield bytes((ADVANCE_PC,)) + _uleb((pc - at) // CODE_UNIT)
        if new_file != file:
            yield bytes((SET_FILE,)) + _uleb(new_file)
        if new_column != column:
            yield bytes((SET_COLUMN,)) + _uleb(new_column)
        if new_line != line:
            yield bytes((ADVANCE_LINE,)) + _sleb(new_line - line)
        yield bytes((COPY,))
        at, file, line, column = pc, new_file, new_line, new_column
    yield bytes((ADVANCE_PC,)) + _uleb((size - at) // CODE_UNIT) + bytes((0, 1, END_SEQUENCE))


def add_sections(data: bytes, sections: Mapping[str, bytes]) -> bytes:
    """An ELF file with more sections behind it, which are not loaded."""
    header: list[Any] = list(elf.HEADER.unpack_from(data))
    table_at, count, names_index = header[6], header[12], header[13]
    rows = [list(elf.SECTION.unpack_from(data, table_at + elf.SECTION.size * n)) for n in range(count)]
    offset, size = rows[names_index][4], rows[names_index][5]
    names = bytearray(data[offset : offset + size])
    result = bytearray(data)
    for name, contents in sections.items():
        rows.append([len(names), 1, 0, 0, len(result), len(contents), 0, 0, 1, 0])
        names += _text(name)
        result += contents
    rows[names_index][4:6] = len(result), len(names)
    result += names
    result += bytes(-len(result) % 8)
    header[6], header[12] = len(result), len(rows)
    elf.HEADER.pack_into(result, 0, *header)
    return bytes(result) + b"".join(elf.SECTION.pack(*row) for row in rows)


def _text(text: str) -> bytes:
    return text.encode() + b"\0"


def _uleb(value: int) -> bytes:
    result = bytearray()
    while True:
        byte, value = value & 127, value >> 7
        result.append(byte | (128 if value else 0))
        if not value:
            return bytes(result)


def _sleb(value: int) -> bytes:
    result = bytearray()
    while True:
        byte, value = value & 127, value >> 7
        done = (value == 0 and not byte & 64) or (value == -1 and byte & 64)
        result.append(byte | (0 if done else 128))
        if done:
            return bytes(result)
