"""Compiled kernels in this process.

    loaded = Loaded(objects)
    loaded.run_workgroups(context, launch, waves, status, ids, count)      ctypes releases the GIL during the call

The objects of a kernel are complete together: the kernel, the runtime functions it calls, the scheduler. Only objects
made by `objects.py` are loaded, after their checksums were verified; loading links, it compiles nothing.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Sequence

import llvmlite.binding as llvm

_LOCK = threading.Lock()
POINTER = ctypes.c_void_p


class Loaded:
    """One kernel's code; it stays in memory as long as this object lives."""

    def __init__(self, codes: Sequence[bytes]) -> None:
        with _LOCK:
            llvm.initialize_native_target()
            llvm.initialize_native_asmprinter()
            machine = llvm.Target.from_default_triple().create_target_machine(jit=True)
            self._engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), machine)
            for code in codes:
                self._engine.add_object_file(llvm.object_file.ObjectFileRef.from_data(code))
            self._engine.finalize_object()
        self.run_workgroups: Callable[..., int] = self._function("run_workgroups", *[POINTER] * 5, ctypes.c_int64)
        self.advance_workgroup: Callable[..., int] = self._function("advance_workgroup", *[POINTER] * 4)

    def _function(self, name: str, *arguments: type) -> Callable[..., int]:
        return ctypes.CFUNCTYPE(ctypes.c_int32, *arguments)(self._engine.get_function_address(name))
