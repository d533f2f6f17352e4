"""What the compiler says when a kernel cannot become a code object.

One exception, one stable code per cause, a sentence in the author's words, and the place in the kernel file:

    gemm.py:47:13: error C130: the tile needs 560 registers a thread, the chip has 512
      note: accumulators 256, fragments 208, staging 64, addresses 32
      help: smaller tile, or fewer fragments in flight

Codes: C1xx the kernel asks for something the target does not have, C2xx LLVM failed, C3xx the finished object is not
what the kernel IR says (the audit), C4xx an object file is malformed.
"""

from __future__ import annotations

from argus.ir.types import NOWHERE, Span

CODES: dict[str, str] = {
    "C101": "no such operation on this element type",
    "C102": "an index expression has no machine code",
    "C103": "memory access the hardware does not have",
    "C104": "unaligned vector access in LDS",
    "C110": "too much LDS",
    "C120": "no such instruction on gfx942",
    "C130": "too many registers",
    "C140": "a lane exchange names a lane outside the wave",
    "C150": "a policy names something the compiler does not know",
    "C201": "LLVM rejected the module",
    "C202": "LLVM aborted",
    "C203": "LLVM did not finish in time",
    "C301": "the object spills registers to memory",
    "C302": "the object does not hold the instructions of the kernel",
    "C303": "accumulators are copied inside a loop",
    "C304": "registers or LDS differ from the plan",
    "C305": "a wait of the object is weaker than the plan",
    "C306": "two dependent instructions of the object are too close",
    "C307": "a register is used before the load that fills it has arrived",
    "C308": "on the decoded object a hazard rule does not hold",
    "C309": "an instruction of the object is not what its line says",
    "C310": "an instruction of the object is not in the list of known ones",
    "C401": "not an AMDGPU relocatable object",
    "C402": "the object needs something the linker does not do",
}


class CompileError(Exception):
    """`code` is a key of CODES; `notes` are further lines; `details` hold raw output of a tool, last lines only."""

    def __init__(
        self,
        code: str,
        message: str,
        span: Span = NOWHERE,
        notes: tuple[str, ...] = (),
        details: str = "",
    ) -> None:
        self.code = code
        self.message = message
        self.span = span
        self.notes = notes
        self.details = details
        super().__init__(str(self))

    def __str__(self) -> str:
        where = f"{self.span}: " if self.span.line else ""
        lines = [f"{where}error {self.code}: {self.message}", *(f"  note: {note}" for note in self.notes)]
        lines += [f"  | {line}" for line in self.details.splitlines()]
        return "\n".join(lines)

    def to_json(self) -> dict[str, object]:
        span = [self.span.file, self.span.line, self.span.col, self.span.end_line, self.span.end_col]
        return {
            "code": self.code,
            "message": self.message,
            "span": span if self.span.line else None,
            "notes": list(self.notes),
            "details": self.details,
        }
