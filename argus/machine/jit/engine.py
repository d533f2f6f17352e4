"""Host code in this process: the runtime functions once, and each kernel's object when it is first launched.

    engine = Engine.shared()
    engine.run_workgroups(...)                     # a runtime function as a ctypes callable; ctypes releases the GIL
    address = engine.load(object_bytes, "kernel")  # the kernel's function, calls to runtime functions resolved

The runtime functions (matrix, memory, LDS, lanes, scheduler) are one module: calling them instead of inlining them
keeps a kernel's compile time linear. Only objects made by `objects.py` are loaded, after their checksum was verified;
loading links, it compiles nothing.
"""

from __future__ import annotations

import ctypes
import functools
import threading

import llvmlite.binding as llvm

from argus.machine.jit.objects import Facts, ObjectStore, source_digest
from argus.machine.jit.runtime import runtime

RUNTIME_PASSES = 0


def _produce_runtime() -> tuple[str, Facts]:
    text, names = runtime()
    return text, {"exports": names}


class Engine:
    """Loaded code. One per process: symbols of the runtime are process-wide."""

    def __init__(self, store: ObjectStore) -> None:
        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        self._lock = threading.Lock()
        self._engines: list[llvm.ExecutionEngine] = []
        entry = store.get(f"runtime-{source_digest()[:40]}", _produce_runtime, RUNTIME_PASSES)
        runtime = self._link(entry.code)
        for name in entry.facts["exports"]:
            llvm.add_symbol(name, runtime.get_function_address(name))
        pointer, i64 = ctypes.c_void_p, ctypes.c_int64
        self.run_workgroups = ctypes.CFUNCTYPE(ctypes.c_int32, *[pointer] * 6, i64)(
            runtime.get_function_address("run_workgroups")
        )
        self.advance_workgroup = ctypes.CFUNCTYPE(ctypes.c_int32, *[pointer] * 5)(
            runtime.get_function_address("advance_workgroup")
        )

    @staticmethod
    @functools.cache
    def shared() -> Engine:
        return Engine(ObjectStore.default())

    def load(self, code: bytes, symbol: str) -> int:
        """Link an object and return the address of one of its functions."""
        with self._lock:
            address: int = self._link(code).get_function_address(symbol)
        return address

    def _link(self, code: bytes) -> llvm.ExecutionEngine:
        target = llvm.Target.from_default_triple()
        machine = target.create_target_machine(jit=True)
        engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), machine)
        engine.add_object_file(llvm.object_file.ObjectFileRef.from_data(code))
        engine.finalize_object()
        self._engines.append(engine)
        return engine
