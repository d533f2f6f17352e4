"""Damaged code objects and random instruction streams through the machine: a diagnostic each, and nothing else.

    python bench/machine_fuzz.py --interp 100000 --jit 1000        the full run
    python bench/machine_fuzz.py --interp 0 --jit 0 --case jit:17  one case again, in this process

A case is a number: it seeds the choice of an object (Triton's and our compiler's, both compiled in the run), what is
done to it, and how it is launched. What can be done:

| damage     | what changes                                                                                   |
|------------|------------------------------------------------------------------------------------------------|
| text       | one to four bits of the machine code                                                           |
| words      | one to eight words of it become random words                                                   |
| stream     | the kernel becomes a random sequence of valid instructions, every opcode equally likely          |
| descriptor | one to six bits of the kernel descriptor                                                       |
| metadata   | one to eight bytes of the metadata note                                                        |
| file       | bytes anywhere, or the file is cut, or a part of it repeated                                       |

Allowed ends are a normal end, `LoadError`, `LaunchError`, `MachineError` (each with its code), and from the JIT
`JitError`; any other exception, a signal, more than SECONDS of one case or more than MOST_MEMORY bytes is a failure,
printed with its case.

That nothing is touched outside the simulated memory is checked twice. Device memory lies between pages without access
rights (`Fence`), 64 MiB on either side and flush with both ends; so do the registers and the LDS of the JIT. A stray
access of native code or NumPy therefore ends the child process by a signal. And after each launch every byte of
device memory outside the allocations must still be zero, so that a write between two arrays shows as well. Cases run
in child processes that are replaced when they die; the interpreter's too, although nothing in it may kill its caller.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import mmap
import os
import random
import resource
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal
from unittest import mock

import numpy as np
from numpy.typing import NDArray

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "machine")]

from argus.gfx942.decoder import DecodeError, decode  # noqa: E402
from argus.gfx942.elf import SHT_NOTE, parse_elf  # noqa: E402
from argus.ir.passes.schedule import scheduled  # noqa: E402
from argus.machine import LoadError, MachineError, Options, load  # noqa: E402
from argus.machine import launch as launch_module  # noqa: E402
from argus.machine.jit import workers  # noqa: E402
from argus.machine.jit.errors import JitError  # noqa: E402
from argus.machine.launch import LoadedKernel, PreparedLaunch  # noqa: E402
from argus.machine.memory import GARBAGE, Arena  # noqa: E402
from argus.machine.semantics.control import BARRIER, BRANCHES, WAIT  # noqa: E402
from argus.machine.semantics.lanes import LANE_OPS  # noqa: E402
from argus.machine.semantics.matrix import MATRIX  # noqa: E402
from argus.machine.semantics.mem import MEMORY  # noqa: E402
from argus.machine.semantics.salu import SALU  # noqa: E402
from argus.machine.semantics.valu import VALU  # noqa: E402

Executor = Literal["checking", "jit"]
DAMAGES = ("text", "words", "stream", "descriptor", "metadata", "file")
SECONDS = {"checking": 20, "jit": 60}
MOST_MEMORY = 3 << 30
STEPS = {"checking": 3_000, "jit": 3_000_000}
BATCH = {"checking": 2000, "jit": 40}
LONGEST = {"checking": 200, "jit": 60}
FENCE = 64 << 20
CAPACITY = 1 << 20
PAGE = 4096
END = (0xBF810000).to_bytes(4, "little")


# fences


def fenced(size: int) -> NDArray[np.uint8]:
    """Zeroed bytes, a multiple of a page, between two stretches of memory nobody may touch."""
    room = -(-max(size, 1) // PAGE) * PAGE
    region = mmap.mmap(-1, room + 2 * FENCE)
    whole = np.frombuffer(region, np.uint8)
    protect = ctypes.CDLL(None, use_errno=True).mprotect
    for start in (0, FENCE + room):
        if protect(ctypes.c_void_p(whole.ctypes.data + start), ctypes.c_size_t(FENCE), 0):
            raise OSError(ctypes.get_errno(), "mprotect failed")
    return whole[FENCE : FENCE + room]


class FencedArena(Arena):
    """Device memory between fences; launches of the fuzz fit into CAPACITY."""

    def __init__(self) -> None:
        super().__init__()
        self.buffer = fenced(CAPACITY)
        self._view()

    def stray(self) -> int:
        """Bytes outside the allocations that are not zero any more, or not the garbage of a last dword."""
        outside = self.buffer.copy()
        for allocation in self.allocations:
            start = allocation.start - self.base
            outside[start : start + allocation.size] = 0
            outside[start + allocation.size : start + allocation.readable] ^= GARBAGE
        return int(np.count_nonzero(outside))


def fenced_workspace(size: int) -> tuple[NDArray[np.uint8], int]:
    """As `workers._aligned`: memory and a 64-byte aligned address in it, its end within 63 bytes of the fence."""
    memory = fenced(size + 64)
    return memory, memory.ctypes.data + len(memory) - size & ~63


# objects and damage


@dataclass(frozen=True)
class Seed:
    """An object to damage: where its code, descriptors and metadata lie in the file."""

    name: str
    data: bytes
    text: tuple[int, int]
    descriptors: tuple[int, ...]
    note: tuple[int, int]
    entry: int


def seed(name: str, data: bytes) -> Seed:
    elf = parse_elf(data)
    text = next(s for s in elf.sections if s.name == ".text")
    note = next(s for s in elf.sections if s.type == SHT_NOTE)
    places = [
        s.value - elf.sections[s.section].address + elf.sections[s.section].offset
        for s in elf.symbols
        if s.name.endswith(".kd")
    ]
    first = next(iter(load(data).code.kernels.values()))
    return Seed(name, data, (text.offset, text.size), tuple(places), (note.offset, note.size), first.start)


def write_seeds(folder: Path) -> None:
    """Small objects of two compilers, compiled now."""
    import triton_kernels

    from argus.compile import compile_kernel
    from argus.lang.reader import read

    made = {
        "triton-vadd": triton_kernels.compiled_vadd().hsaco,
        "triton-softmax": triton_kernels.compiled_softmax(block=256, warps=1).hsaco,
    }
    for name in ("vadd", "gemm"):
        made[f"argus-{name}"] = compile_kernel(scheduled(read(ROOT / "argus" / "kernels" / f"{name}.py"))).object
    for name, data in made.items():
        (folder / f"{name}.hsaco").write_bytes(data)


FAMILIES = {
    "SOP2": (0x80000000, 30), "SOPK": (0xB0000000, 28), "SOP1": (0xBE800000, 23), "SOPC": (0xBF000000, 23),
    "SOPP": (0xBF800000, 23), "SMEM": (0xC0000000, 26), "VOP2": (0x00000000, 31), "VOP1": (0x7E000000, 25),
    "VOPC": (0x7C000000, 25), "VOP3": (0xD0000000, 26), "VOP3P": (0xD3800000, 23), "DS": (0xD8000000, 26),
    "FLAT": (0xDC000000, 26), "MUBUF": (0xE0000000, 26),
}  # fmt: skip
"""Leading bits of the instruction families, and how many bits follow them."""
TRIES = 1200
SEMANTICS = (VALU, SALU, MATRIX, MEMORY, LANE_OPS, BRANCHES, (BARRIER, WAIT))


class Pool:
    """Valid encodings found by trying random words of every family, by opcode.

    `plain` holds opcodes the machine has a meaning for, without exotic sources and modifiers; `every` all.
    """

    def __init__(self) -> None:
        rng = random.Random(0)
        self.every: dict[str, list[bytes]] = {}
        self.plain: dict[str, list[bytes]] = {}
        for lead, bits in FAMILIES.values():
            for _ in range(TRIES):
                code = (lead | rng.getrandbits(bits)).to_bytes(4, "little") + rng.randbytes(8)
                try:
                    inst = decode(code)
                except DecodeError:
                    continue
                if inst.op in BRANCHES:
                    code = rng.randint(0, 6).to_bytes(2, "little") + code[2:]
                self.every.setdefault(inst.op, []).append(code[: inst.size])
                exotic = any(o.kind == "special" for o in inst.operands) or {"omod", "clamp"} & set(inst.mods)
                if any(inst.op in table for table in SEMANTICS) and not exotic:
                    self.plain.setdefault(inst.op, []).append(code[: inst.size])

    def stream(self, rng: random.Random, size: int, plain: bool) -> bytes:
        """Random instructions, about one in ten of them a memory access, and an end; exactly `size` bytes."""
        ops = self.plain if plain else self.every
        moving = [op for op in ops if op in MEMORY]
        still = [op for op in ops if op not in MEMORY]
        code = b""
        while len(code) < size:
            code += rng.choice(ops[rng.choice(moving if rng.random() < 0.1 else still)])
        return code[: size - len(END)] + END


def flip(rng: random.Random, data: bytearray, start: int, size: int, most: int) -> None:
    for _ in range(rng.randint(1, most)):
        bit = rng.randrange(8 * size)
        data[start + bit // 8] ^= 1 << bit % 8


def damaged(rng: random.Random, chosen: Seed, damage: str, pool: Pool, executor: Executor) -> bytes:
    """The object after the damage."""
    data = bytearray(chosen.data)
    start, size = chosen.text
    if damage == "text":
        flip(rng, data, start, size, 4)
    elif damage == "words":
        for _ in range(rng.randint(1, 8)):
            at = start + 4 * rng.randrange(size // 4)
            data[at : at + 4] = rng.randbytes(4)
    elif damage == "stream":
        length = min(4 * rng.randint(2, LONGEST[executor]), size - chosen.entry)
        data[start + chosen.entry : start + chosen.entry + length] = pool.stream(
            rng, length, executor == "jit" or rng.random() < 0.7
        )
    elif damage == "descriptor":
        flip(rng, data, rng.choice(chosen.descriptors), 64, 6)
    elif damage == "metadata":
        for _ in range(rng.randint(1, 8)):
            data[chosen.note[0] + rng.randrange(chosen.note[1])] = rng.randrange(256)
    else:
        _damage_file(rng, data)
    return bytes(data)


def _damage_file(rng: random.Random, data: bytearray) -> None:
    how = rng.randrange(4)
    at = rng.randrange(len(data))
    if how == 0:
        flip(rng, data, 0, len(data), 16)
    elif how == 1:
        del data[at:]
    elif how == 2:
        data[at:at] = data[at : at + rng.randint(1, 4096)]
    else:
        headers = int.from_bytes(data[40:48], "little")
        flip(rng, data, *((0, 64) if rng.random() < 0.3 or headers >= len(data) else (headers, len(data) - headers)), 4)


# one case


def arguments(kernel: LoadedKernel, rng: random.Random) -> list[Any]:
    """What a user would pass: arrays for pointers, small numbers for values."""
    visible = [a for a in kernel.info.args if not a.hidden]
    memory = np.frombuffer(rng.randbytes(4096), np.uint8)
    return [memory.copy() if a.value_kind == "global_buffer" else rng.randint(0, 300) for a in visible[:64]]


def run_case(number: int, executor: Executor, all_seeds: list[Seed], pool: Pool) -> str:
    """How the case ended: a short word, or an exception that is a failure."""
    rng = random.Random(f"{executor} {number}")
    chosen, damage = rng.choice(all_seeds), rng.choice(DAMAGES)
    data = damaged(rng, chosen, damage, pool, executor)
    arenas: list[FencedArena] = []

    def arena() -> FencedArena:
        arenas.append(FencedArena())
        return arenas[-1]

    checked = executor == "checking" and rng.random() < 0.1
    options = Options(max_steps=STEPS[executor], switch_after=STEPS[executor], checks="all" if checked else ())
    with mock.patch.object(launch_module, "Arena", arena), mock.patch.object(workers, "_aligned", fenced_workspace):
        try:
            kernel = load(data).kernel()
            block = kernel.info.required_workgroup_size or min(rng.choice((64, 100, 128)), _most_threads(kernel))
            prepared = kernel.prepare(
                1, block, arguments(kernel, rng), 0 if rng.random() < 0.9 else 4096, None, options
            )
            end = _execute(prepared, executor)
        except LoadError:
            end = "LoadError"
        except JitError as why:
            end = type(why).__name__
        except MachineError as why:
            end = why.report.code
    strays = sum(a.stray() for a in arenas)
    if strays:
        raise AssertionError(f"{strays} bytes between the allocations were changed")
    return f"{damage} {end}"


def _most_threads(kernel: LoadedKernel) -> int:
    return max(1, kernel.info.max_flat_workgroup_size)


def _execute(prepared: PreparedLaunch, executor: Executor) -> str:
    if executor == "jit":
        from argus.machine.jit.executor import execute

        return "found" if execute(prepared).reports else "ended"
    return "found" if launch_module.interpret(prepared).reports else "ended"


# child processes


class TooLong(Exception):
    """A case has used up its time."""


def _alarm(number: int, frame: object) -> None:
    raise TooLong


def child(folder: Path, executor: Executor, first: int, count: int) -> None:
    """Run cases and print one JSON line each: number, how it ended or what failed, seconds."""
    resource.setrlimit(resource.RLIMIT_DATA, (MOST_MEMORY, MOST_MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.signal(signal.SIGALRM, _alarm)
    all_seeds = [seed(path.stem, path.read_bytes()) for path in sorted(folder.glob("*.hsaco"))]
    pool = Pool()
    for number in range(first, first + count):
        start = time.perf_counter()
        line: dict[str, object] = {"case": number}
        signal.alarm(SECONDS[executor])
        try:
            line["end"] = run_case(number, executor, all_seeds, pool)
        except TooLong:
            line["failure"] = f"more than {SECONDS[executor]} seconds"
        except Exception as why:
            frame = traceback.extract_tb(why.__traceback__)[-1]
            line["failure"] = f"{type(why).__name__} at {Path(frame.filename).name}:{frame.lineno}: {why}"[:300]
        finally:
            signal.alarm(0)
        line["seconds"] = time.perf_counter() - start
        line["resident"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        print(json.dumps(line), flush=True)


def lines(folder: Path, executor: Executor, first: int, count: int) -> Iterator[dict[str, Any]]:
    """Results of cases from child processes, replaced when they die or after a batch."""
    at = first
    while at < first + count:
        batch = min(BATCH[executor], first + count - at)
        command = [sys.executable, __file__, "--child", str(folder), executor, str(at), str(batch)]
        environment = os.environ | {"ARGUS_CACHE": str(folder / "cache"), "ARGUS_THREADS": "1"}
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)
        out, err = process.communicate()
        done = [json.loads(line) for line in out.splitlines() if line.endswith("}")]
        yield from done
        at += len(done)
        if len(done) < batch:
            last = err.strip().splitlines()[-1:] or [""]
            yield {
                "case": at,
                "failure": f"the process ended by {process.returncode}: {last[0]}",
                "seconds": 0.0,
                "resident": 0,
            }
            at += 1


@dataclass
class Summary:
    """What came of the cases of one executor."""

    executor: Executor
    ends: Counter[str]
    failures: list[tuple[int, str]]
    seconds: float
    slowest: float
    resident: int

    def __str__(self) -> str:
        total = sum(self.ends.values())
        figures = f"{self.seconds:.0f} s, slowest {self.slowest:.1f} s, {self.resident >> 10} MiB resident"
        rows = [f"{self.executor}: {total} cases, {len(self.failures)} failures, {figures}"]
        for damage in DAMAGES:
            ends = {end.split()[1]: n for end, n in sorted(self.ends.items()) if end.split()[0] == damage}
            rows.append(f"  {damage:<11}" + ", ".join(f"{end} {n}" for end, n in ends.items()))
        kinds = Counter(why.split(": ")[0] for _, why in self.failures)
        for kind, count in kinds.most_common():
            case, why = next(f for f in self.failures if f[1].split(": ")[0] == kind)
            rows.append(f"  FAILED {count} times, first as {self.executor}:{case}: {why}")
        return "\n".join(rows)


def fuzz(folder: Path, executor: Executor, count: int, first: int = 0) -> Summary:
    """Run `count` cases; `folder` holds the seeds (`write_seeds`) and gets the JIT's cache."""
    summary = Summary(executor, Counter(), [], 0.0, 0.0, 0)
    start = time.perf_counter()
    for line in lines(folder, executor, first, count):
        summary.ends[line.get("end", "failed failed")] += 1
        if "failure" in line:
            summary.failures.append((line["case"], line["failure"]))
        summary.slowest = max(summary.slowest, line["seconds"])
        summary.resident = max(summary.resident, line["resident"])
    summary.seconds = time.perf_counter() - start
    return summary


def main() -> int:
    if sys.argv[1:2] == ["--child"]:
        place, executor, first, count = sys.argv[2:6]
        child(Path(place), "jit" if executor == "jit" else "checking", int(first), int(count))
        return 0
    parser = argparse.ArgumentParser(description="Damaged objects and random streams through the machine.")
    parser.add_argument("--interp", type=int, default=2000, help="cases for loader, decoder and interpreter")
    parser.add_argument("--jit", type=int, default=20, help="cases for the JIT")
    parser.add_argument("--first", type=int, default=0, help="number of the first case")
    parser.add_argument("--case", help="only this one, such as jit:17, in this process, with its traceback")
    options = parser.parse_args()
    failures = 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_seeds(folder)
        if options.case:
            kind, _, number = options.case.partition(":")
            all_seeds = [seed(path.stem, path.read_bytes()) for path in sorted(folder.glob("*.hsaco"))]
            print(run_case(int(number), "jit" if kind == "jit" else "checking", all_seeds, Pool()))
            return 0
        for executor, count in (("checking", options.interp), ("jit", options.jit)):
            summary = fuzz(folder, "jit" if executor == "jit" else "checking", count, options.first)
            print(summary, flush=True)
            failures += len(summary.failures)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
