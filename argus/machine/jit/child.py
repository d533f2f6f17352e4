"""The compiling child: LLVM IR on standard input, a host object file at the path given as argument.

    python -P child.py OUTPUT < kernel.ll

LLVM ends the whole process when it meets something it cannot do, so it is met here and not in the user's process.
The script imports nothing of the package (it starts in a tenth of a second) and leaves no partial output behind:
the object is written beside its final name and renamed. No optimisation passes over
the text: its code is already what it should be, they would take longer than they save; the code generator's own work
(selection, scheduling, registers) is at its usual level.
"""

from __future__ import annotations

import os
import sys

import llvmlite.binding as llvm


def compile_text(text: str) -> bytes:
    """Host machine code of an LLVM module."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    module = llvm.parse_assembly(text)
    module.verify()
    target = llvm.Target.from_default_triple()
    machine = target.create_target_machine(
        cpu=llvm.get_host_cpu_name(), features=llvm.get_host_cpu_features().flatten(), opt=2, jit=True
    )
    module.triple = llvm.get_default_triple()
    module.data_layout = str(machine.target_data)
    made: bytes = machine.emit_object(module)
    return made


def main(output: str) -> int:
    try:
        made = compile_text(sys.stdin.read())
    except RuntimeError as error:
        print(error, file=sys.stderr)
        return 1
    partial = f"{output}.{os.getpid()}"
    with open(partial, "wb") as file:
        file.write(made)
    os.replace(partial, output)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
