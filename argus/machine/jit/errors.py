"""What can go wrong in the translator, in the user's words."""

from __future__ import annotations

from argus.gfx942.inst import Inst


class JitError(Exception):
    """Base of the translator's errors."""


class JitUnsupported(JitError):
    """The kernel contains something only the interpreter can run; `inst` is the first such instruction."""

    def __init__(self, inst: Inst, reason: str = "") -> None:
        self.inst = inst
        because = f" ({reason})" if reason else ""
        super().__init__(
            f"the JIT does not translate {inst.op} at pc {inst.pc:#x}{because}; run this kernel with the interpreter"
        )


class CompileError(JitError):
    """LLVM refused or aborted on the translated code; the child process's last words are in the message."""
