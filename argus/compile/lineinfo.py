"""Which instruction came from which IR op: read from LLVM's line table, kept beside the object.

The module is compiled with debug locations whose line number is the op id plus one (0: no op). LLVM writes the usual
`.debug_line` program into the relocatable object; `op_at_pc` runs it and gives `[(pc, op id), ...]`, sorted, each
entry valid until the next, -1 for code that belongs to no op. The linker then drops all debug sections.

Reads DWARF version 4 as LLVM writes it (one unit, one sequence per function, minimum instruction length 4, no VLIW).
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

from argus.compile.objects import read_object
from argus.ir.compile_error import CompileError

NO_OP = -1
R_ABS64 = 3


@dataclass(slots=True)
class _Cursor:
    data: bytes
    at: int = 0

    def u8(self) -> int:
        self.at += 1
        return self.data[self.at - 1]

    def fixed(self, form: str) -> int:
        value: int = struct.unpack_from("<" + form, self.data, self.at)[0]
        self.at += struct.calcsize(form)
        return value

    def uleb(self) -> int:
        value = shift = 0
        while True:
            byte = self.u8()
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    def sleb(self) -> int:
        start = self.at
        value = self.uleb()
        return value - (1 << 7 * (self.at - start)) if self.data[self.at - 1] & 64 else value


def op_at_pc(data: bytes, kernel: str) -> list[tuple[int, int]]:
    """(pc from the kernel's entry, op id) for the kernel's code in a relocatable object."""
    source = read_object(data)
    symbol = next((s for s in source.symbols if s.name == kernel), None)
    section = source.section(".debug_line")
    if symbol is None or section is None:
        return []
    table = bytearray(section.data)
    try:
        for r in source.relocations:
            if r.target == section.index and r.kind == R_ABS64:
                struct.pack_into("<Q", table, r.offset, source.tables[r.table][r.symbol].value + r.addend)
        rows = _run(_Cursor(bytes(table)))
    except (struct.error, IndexError) as error:
        raise CompileError("C401", f"the object's line table is not readable: {error}") from None
    inside = [
        (address - symbol.value, line - 1)
        for address, line in rows
        if symbol.value <= address < symbol.value + symbol.size
    ]
    return _merged(inside)


def _merged(rows: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """One entry per change; of several rows at one address the last counts."""
    last = dict(sorted(rows, key=lambda row: row[0]))
    result: list[tuple[int, int]] = []
    for pc, op in last.items():
        if not result or result[-1][1] != op:
            result.append((pc, op))
    if not result or result[0][0] != 0:
        result.insert(0, (0, NO_OP))
    return result


def _run(c: _Cursor) -> list[tuple[int, int]]:
    """Every (address, line) row of the line program, in order."""
    rows: list[tuple[int, int]] = []
    while c.at < len(c.data):
        length = c.fixed("I")
        end = c.at + length
        version = c.fixed("H")
        if version != 4:
            raise CompileError("C401", f"line table of DWARF version {version}, expected 4")
        program = c.at + 4 + c.fixed("I")
        instruction, _, _, base, span, special = c.u8(), c.u8(), c.u8(), c.fixed("b"), c.u8(), c.u8()
        lengths = [c.u8() for _ in range(special - 1)]
        c.at = program
        address, line = 0, 1
        while c.at < end:
            code = c.u8()
            if code >= special:
                address += (code - special) // span * instruction
                line += base + (code - special) % span
                rows.append((address, line))
            elif code == 0:
                size = c.uleb()
                after, extended = c.at + size, c.u8()
                if extended == 1:
                    address, line = 0, 1
                elif extended == 2:
                    address = c.fixed("Q")
                c.at = after
            elif code == 1:
                rows.append((address, line))
            elif code == 2:
                address += c.uleb() * instruction
            elif code == 3:
                line += c.sleb()
            elif code == 8:
                address += (255 - special) // span * instruction
            elif code == 9:
                address += c.fixed("H")
            else:
                for _ in range(lengths[code - 1]):
                    c.uleb()
        c.at = end
    return rows
