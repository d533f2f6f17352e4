"""What can go wrong in the translator, in the user's words; all are errors of the machine, with a report."""

from __future__ import annotations

from argus.gfx942.disasm import text
from argus.gfx942.inst import Inst
from argus.machine.errors import LaunchPoint, MachineError, MachineReport


class JitError(MachineError):
    """Base of the translator's errors."""


class JitUnsupported(JitError):
    """The kernel contains something only the interpreter can run; `inst` is the first such instruction."""

    def __init__(self, inst: Inst, reason: str = "") -> None:
        self.inst = inst
        because = f" ({reason})" if reason else ""
        message = f"the JIT does not translate it{because}; run this kernel with the interpreter"
        super().__init__(MachineReport("ARG-M109", message, LaunchPoint(pc=inst.pc, text=text(inst))))


class TranslationError(JitError):
    """LLVM refused or aborted on the translated code; the child process's last words are in the message."""

    def __init__(self, message: str) -> None:
        super().__init__(MachineReport("ARG-M109", f"{message}; run this kernel with the interpreter"))
