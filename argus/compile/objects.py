"""Objects that the compiler reads back: LLVM's relocatable ones and its own linked ones."""

from __future__ import annotations

from argus.gfx942.elf import ET_REL, Elf, LoadError, parse_elf
from argus.ir.compile_error import CompileError


def read_object(data: bytes, kind: int = ET_REL) -> Elf:
    """The object in `data`, relocatable or (ET_DYN) linked; CompileError C401 if it is not one."""
    try:
        source = parse_elf(data)
    except LoadError as error:
        raise CompileError("C401", f"not a readable AMDGPU object: {error}") from None
    if source.type != kind:
        raise CompileError("C401", f"not a readable AMDGPU object: it is of ELF type {source.type}, not {kind}")
    if not source.symbols:
        raise CompileError("C401", "not a readable AMDGPU object: no symbol table")
    for row in source.relocations:
        if row.symbol >= len(source.tables.get(row.table, ())):
            raise CompileError("C401", "not a readable AMDGPU object: a relocation points outside the object")
    return source
