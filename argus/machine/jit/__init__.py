"""The JIT: gfx942 kernels translated to host code, eight lanes at a time.

    from argus.machine import load
    load("gemm.hsaco").kernel("gemm")(grid, block, *args, lds=n, executor="jit")

    from argus.machine.jit import translate
    translate(load_object("gemm.hsaco"), "gemm")         # compile ahead, into the cache

The way of a kernel: `flow` finds its blocks and constants; `translator` walks them and writes LLVM text (`irtext`):
lane-wise runs through the semantic table (`region`, `lanewise`, `llvm_builder`, `outline`), the rest by `lower_*`;
`runtime` adds the functions it calls (`access`, `addresses`, `updates`, `scalar_memory`, `lanes`, `matrix`,
`scheduler`, `tracing`); `objects` compiles the text in child processes and keeps the result on disk; `engine` loads
it; `workers` runs workgroups on threads; `executor` puts a launch around all that, `expand` makes the record.

The result is the interpreter's, bit for bit, because both run the same table, with these exceptions:

* NaN results may carry other payloads: LLVM may exchange the operands of commutative operations.
* The order in which waves and workgroups take turns is another one (each wave runs until it waits), so kernels with
  races, and float atomics from several waves to one address, may give other results; so does the interpreter with
  another seed. `schedule`, `quantum`, `seed` and `switch_after` choose orders of the interpreter and change nothing
  here: the waves of a workgroup run in order of their number, each until it ends, waits at a barrier, or has used its
  time slice (about a million instructions), and a workgroup is put aside only when its slice is over. With one thread
  (ARGUS_THREADS=1) that makes every launch repeatable; with several, workgroups run side by side, and the order of
  float atomics between them is not the same twice.
* s_memtime and s_memrealtime count other instructions (all of the thread's).
* An eight-byte atomic that is not aligned to eight bytes is a fault here.
* In the execution record an access that crosses the end of a buffer is one row of the lanes wholly inside; the
  interpreter adds rows for the dwords that fit.
* A fault ends the launch at the wave's next back edge, barrier or end, not at the instruction; the report names the
  instruction, but memory may already show what the wave did after it. Of several faulting workgroups the earliest
  started is reported, not counting those put aside after a time slice.

Safety: every address is checked against the launch's allocations before it is used, LDS and private addresses against
their sizes, registers at translation; every loop checks a budget; LLVM runs in child processes. Nothing a kernel does
can touch host memory outside its arrays or hang the process.

Not translated (`JitUnsupported`, use the interpreter): register-indexed code (s_set_gpr_idx_*), calls (s_swappc,
s_call), jumps through registers (s_setpc) to an address that is not a constant of the program, rounding modes, MODE
values not known at translation, f64 matrix operands with negation, sparse matrix instructions. The checks of
the interpreter are not made here.
"""

from __future__ import annotations

from argus.machine.jit.errors import JitError, JitUnsupported, TranslationError
from argus.machine.jit.executor import Translated, execute, translate

__all__ = ["JitError", "JitUnsupported", "Translated", "TranslationError", "execute", "translate"]
