"""The compiler: kernel IR to LLVM IR to a gfx942 code object, audited. See `argus.compile.compiler`."""

from argus.compile.compiler import Compiled, compile_kernel
from argus.ir.compile_error import CompileError

__all__ = ["CompileError", "Compiled", "compile_kernel"]
