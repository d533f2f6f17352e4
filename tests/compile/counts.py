"""Inner loops side by side: instructions by class of our kernels and of Triton's for the same tile.

    python -m tests.compile.counts

Static counts of the loop with the most matrix instructions, per wave and iteration, read from the code objects with
the project's own decoder; where a loop has several paths, our longest and Triton's shortest (the masked path of our
causal loop is taken in the last steps only). Triton's rows need the
`triton` package; it compiles for gfx942 without a GPU.
"""

from __future__ import annotations

import importlib.util
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from argus.compile import compile_kernel
from argus.compile.decoded import Decoded, decode
from argus.gfx942.mfma import MFMA
from argus.gfx942.waits import decode as decode_wait
from argus.ir.kernel import KnobValue
from argus.ir.passes.schedule import scheduled
from argus.lang import read
from tests.compile.pipelined import Pipelined

PASS, PER_MATRIX = 32, 64
"""Clocks of a 32x32x8 matrix instruction; `per 64M` is the loop's length for 64 of them (2048 clocks of work)."""
ROOT = Path(__file__).parents[2]
COLUMNS = (
    "mfma", "valu", "trans", "accmov", "ds_read", "ds_write", "exchange", "load", "salu", "wait", "barrier", "nop",
    "scratch",
)  # fmt: skip


def row(name: str, code: Decoded, longest: bool) -> str:
    """Of several loops with the most matrix instructions (paths of one loop) the longest or the shortest."""
    sign = 1 if longest else -1
    first, last = max(code.loops, key=lambda s: (code.kinds[s[0] : s[1]].count("mfma"), sign * (s[1] - s[0])))
    inside = range(first, last + 1)
    counts = Counter(code.kinds[n] for n in inside)
    clocks = sum(MFMA[code.insts[n].op].cycles for n in inside if code.insts[n].op in MFMA)
    waits = [decode_wait(code.insts[n].operands[0].value).vm for n in inside if code.insts[n].op == "s_waitcnt"]
    length = last - first + 1
    share = round(length * PER_MATRIX / (clocks // PASS)) if clocks else 0
    numbers = [code.metadata[".vgpr_count"], code.metadata[".vgpr_spill_count"], length, share, clocks]
    cells = [*map(str, numbers), *(str(counts[c]) for c in COLUMNS), str(min(waits, default=63))]
    return f"{name:<44}" + "".join(f"{cell:>9}" for cell in cells)


def ours() -> Iterator[tuple[str, Decoded]]:
    forms = {
        "GEMM 256x256x64, 4 waves, 32x32x8": Pipelined(4, 32),
        "GEMM 256x256x64, 8 waves, 32x32x8": Pipelined(8, 32),
        "GEMM 256x256x64, 8 waves, 16x16x16": Pipelined(8, 16, deep=False, rolling=True),
        "GEMM 256x256x64, 4 waves, 16x16x16": Pipelined(4, 16, deep=False, rolling=True),
    }
    for name, form in forms.items():
        yield name, decode(compile_kernel(scheduled(form.kernel())).object, "gemm256")
    files: list[tuple[str, str, dict[str, KnobValue]]] = [
        ("gemm.py", "argus/kernels/gemm.py", {}),
        ("attention.py 256x64, D 128, 8 waves, RNE", "argus/kernels/attention.py", {}),
        ("attention.py, P truncated", "argus/kernels/attention.py", {"ROUND": "rtz"}),
        ("attention.py, causal, RNE", "argus/kernels/attention.py", {"causal": True}),
        ("attention.py, D 64", "argus/kernels/attention.py", {"D": 64}),
        ("attention.py, lazy rescale", "argus/kernels/attention.py", {"LAZY": 8}),
        ("attention.py, opposite phases", "argus/kernels/attention.py", {"OPPOSITE": True}),
        ("gemm_opposite.py 256x256x32, 8 waves", "argus/kernels/gemm_opposite.py", {}),
    ]
    for name, path, knobs in files:
        kernel = read(str(ROOT / path), settings=knobs, kernel="attention" if "attention" in path else None)
        yield name, decode(compile_kernel(scheduled(kernel)).object, kernel.name)


def tritons() -> Iterator[tuple[str, Decoded]]:
    if importlib.util.find_spec("triton") is None:
        return
    from tests.compile import counts_triton

    for name, kernel, code_object in counts_triton.compiled():
        yield name, decode(code_object, kernel)


def main() -> None:
    head = ("regs", "spills", "insts", "per 64M", "clocks", *COLUMNS, "vmcnt>=")
    print(f"{'loop with the most matrix instructions':<44}" + "".join(f"{column:>9}" for column in head))
    for name, code in ours():
        print(row(name, code, longest=True))
    for name, code in tritons():
        print(row(name, code, longest=False))


if __name__ == "__main__":
    main()
