"""Runs damaged kernels on the JIT, one after another: `python jit_fuzz_child.py OBJECT FIRST COUNT`.

Each case changes a few words of the kernel's code, launches it with a small step limit, and prints one line: the case
and how it ended. Any way to end is fine as long as this process survives to print it. Not a test module itself.
"""

from __future__ import annotations

import dataclasses
import random
import struct
import sys
from pathlib import Path

import numpy as np

from argus.machine import MachineError
from argus.machine.launch import LoadedKernel, Options
from argus.machine.loader import CodeObject, load_object


def damaged(code: CodeObject, seed: int) -> CodeObject:
    """The object with one to four code words changed: bits flipped, replaced, or copied from elsewhere."""
    rng = random.Random(seed)
    text = bytearray(code.text)
    (info,) = code.kernels.values()
    places = range(info.start, info.end - 4, 4)
    for _ in range(rng.randint(1, 4)):
        at = rng.choice(places)
        (word,) = struct.unpack_from("<I", text, at)
        kind = rng.random()
        if kind < 0.5:
            word ^= 1 << rng.randrange(32)
        elif kind < 0.8:
            (word,) = struct.unpack_from("<I", text, rng.choice(places))
        else:
            word = rng.getrandbits(32)
        struct.pack_into("<I", text, at, word)
    return dataclasses.replace(code, text=bytes(text))


def main(path: str, first: int, count: int) -> int:
    code = load_object(Path(path).read_bytes())
    (info,) = code.kernels.values()
    for seed in range(first, first + count):
        arrays = np.arange(1 << 12, dtype=np.uint32), np.zeros(1 << 15, np.uint32)
        try:
            kernel = LoadedKernel(damaged(code, seed), info)
            kernel((2, 1, 1), (128, 1, 1), *arrays, executor="jit", options=Options(max_steps=2_000_000))
            ended = "ok"
        except MachineError as error:
            ended = error.report.code
        print(seed, ended, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3])))
