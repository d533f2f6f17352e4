"""The tile language: a kernel file is read from its syntax tree, never executed.

from argus.lang import read
kernel = read("argus/kernels/gemm.py", settings={"BM": 64})
"""

from argus.lang.errors import Diagnostic, ProgramError, explain
from argus.lang.reader import read, read_value

__all__ = ["Diagnostic", "ProgramError", "explain", "read", "read_value"]
