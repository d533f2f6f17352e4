"""The compiling child: LLVM texts on standard input, a host object file for each at the path named with it.

    python -P child.py

    request   a line of JSON, {"output": PATH, "bytes": N}, and N bytes of LLVM text
    answer    a line of JSON, {} or {"error": WHAT}

LLVM ends the whole process when it meets something it cannot do, so it is met here and not in the user's process.
The script imports nothing of the package (it starts in a tenth of a second), ends with its input, and leaves no partial
output behind: an object is written beside its final name and renamed. No optimisation passes over the text: its code is
already what it should be, they would take longer than they save; the code generator's own work (selection, scheduling,
registers) is at its usual level.
"""

from __future__ import annotations

import json
import os
import sys

import llvmlite.binding as llvm


def compile_text(text: str) -> bytes:
    """Host machine code of an LLVM module."""
    module = llvm.parse_assembly(text, llvm.create_context())
    module.verify()
    target = llvm.Target.from_default_triple()
    machine = target.create_target_machine(
        cpu=llvm.get_host_cpu_name(), features=llvm.get_host_cpu_features().flatten(), opt=2, jit=True
    )
    module.triple = llvm.get_default_triple()
    module.data_layout = str(machine.target_data)
    made: bytes = machine.emit_object(module)
    return made


def answered(output: str, text: str) -> dict[str, str]:
    """Compile one text into `output`."""
    try:
        made = compile_text(text)
        partial = f"{output}.{os.getpid()}"
        with open(partial, "wb") as file:
            file.write(made)
        os.replace(partial, output)
    except (RuntimeError, OSError) as error:
        return {"error": str(error)}
    return {}


def main() -> int:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    while line := sys.stdin.buffer.readline():
        asked = json.loads(line)
        text = sys.stdin.buffer.read(asked["bytes"]).decode()
        print(json.dumps(answered(asked["output"], text)), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
