"""hipBLASLt's matrix products as code objects in a directory the caller names (docs/foreign.md says how to make them).

    table = Table(Path("objects/Cijk_Alik_Bljk_BBS_BH_UserArgs"))
    chosen = table.choice(4096, 4096, 1, 4096)         -> TableChoice(solution 35, "exact")
    work(chosen.solution, 4096, 4096, 4096)            the launch, ready to be sampled

A folder is one table of the library: `table.json` (sizes with the solution its tuner chose), and per solution INDEX.co,
INDEX.json (its parameters), INDEX.args (names of the arguments). Sizes are hipBLASLt's: D is column-major M x N, so our
C[m, n] = A[m, k] @ B[n, k].T is its product with M = n, N = m (`of_ours`). Its names say the layout: `Alik` is T (k
runs fastest), `Ailk` is N; `Bljk` is N (k fastest), `Bjlk` is T.

An exact entry of the table counts; without one, the nearest of a table made for that (`GridBased`) by the library's own
distance. What a solution relies on (multiples of its sizes) is checked here: outside it would write out of bounds.
Solutions that divide K leave f32 parts in a workspace, which a second launch adds up (`MultipleBuffer`). That kernel is
no object of a table: the library's own `combine` takes its place, with no more parts than there are, and the time says
so. Where the workgroup that comes last adds up the parts, a solution is refused: of a sample, nobody is the last.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import ml_dtypes
import numpy as np
import numpy.typing as npt

from argus import machine
from argus.bench.contestant import Contestant, executed, from_choice
from argus.bench.kept import Passing
from argus.clock.sampled import Work
from argus.clock.staged import Operand
from argus.gfx942.elf import LoadError
from argus.machine import MachineError
from argus.machine.launch import LoadedKernel
from argus.ops.choice import Choice, finishing

Layout = Literal["TN", "NN", "NT", "TT"]
LAYOUTS: Mapping[str, Layout] = {"Alik_Bljk": "TN", "Ailk_Bljk": "NN", "Ailk_Bjlk": "NT", "Alik_Bjlk": "TT"}
TYPES: Mapping[str, tuple[str, npt.DTypeLike, npt.DTypeLike]] = {
    "BBS": ("bf16", ml_dtypes.bfloat16, ml_dtypes.bfloat16),
    "HHS": ("f16", np.float16, np.float16),
    "F8BS": ("fp8", ml_dtypes.float8_e4m3fnuz, ml_dtypes.bfloat16),
}
ALL_CUS = 304
ADDED = (2, 3, 4, 5, 6, 7, 8, 16)
"""Numbers of parts that the kernel `combine` adds up."""
GRID_EDGE = 32768
"""Sizes beyond which the library measures its distance another way."""


class HipblasltError(RuntimeError):
    """A solution of hipBLASLt cannot do what is asked."""


class MissingSolutionError(HipblasltError, Passing):
    """The directory does not hold the object or its facts."""


@dataclass(frozen=True, slots=True)
class Solution:
    """One solution of a table, by its number; `folder` holds its files."""

    folder: Path
    index: int
    parameters: Mapping[str, Any]

    @property
    def tile(self) -> tuple[int, int, int]:
        return self.parameters["MacroTile0"], self.parameters["MacroTile1"], self.parameters["DepthU"]

    @property
    def split(self) -> int:
        return int(self.parameters["GlobalSplitU"])

    @property
    def threads(self) -> int:
        return int(self.parameters["NumThreads"])

    @property
    def layout(self) -> Layout:
        return LAYOUTS["_".join(self.folder.name.split("_")[1:3])]

    @property
    def type(self) -> str:
        return self.folder.name.split("_")[3]

    def text(self) -> str:
        return f"solution {self.index}, {'x'.join(map(str, self.tile))}"

    @property
    def leaves_parts(self) -> bool:
        """Whether it divides K and leaves the parts to a second launch."""
        return self.split != 1 and self.parameters.get("GlobalSplitUAlgorithm") == "MultipleBuffer"

    def refusal(self, m: int, n: int, k: int, *, parts: bool = False) -> str | None:
        """Why it cannot take these sizes; None if it can. `parts`: it may leave parts to a second launch."""
        if self.parameters.get("CustomKernelName"):
            return f"{self.text()} is a kernel written by hand, with arguments of its own"
        if self.split != 1 and not (parts and self.leaves_parts):
            how = self.parameters.get("GlobalSplitUAlgorithm", "")
            return f"{self.text()} divides K by {self.split} and needs a workspace ({how})"
        wanted = {"Free0": m, "Free1": n, "Summation": k}
        for name, size in wanted.items():
            multiple = int(self.parameters[f"Assert{name}ElementMultiple"])
            if size % multiple:
                return f"{self.text()} relies on {name} sizes that are multiples of {multiple}, not {size}"
        return None

    def object(self) -> bytes:
        try:
            return (self.folder / f"{self.index}.co").read_bytes()
        except OSError as error:
            raise MissingSolutionError(f"hipBLASLt {self.folder.name}/{self.index}.co: {error.strerror}") from error

    def kernel(self) -> LoadedKernel:
        try:
            return machine.load(self.object()).kernel()
        except LoadError as error:
            raise HipblasltError(f"hipBLASLt {self.text()}: {error}") from error

    def grid(self, m: int, n: int, batch: int = 1) -> int:
        return -(-m // self.tile[0]) * -(-n // self.tile[1]) * batch * self.split


@dataclass(frozen=True, slots=True)
class Entry:
    """A size of a table: the solution chosen for it and, if the tuner left it, its measured GFLOPS."""

    m: int
    n: int
    batch: int
    k: int
    index: int
    gflops: float


@dataclass(frozen=True, slots=True)
class TableChoice:
    """The solution a table names for a size, and how: `exact`, or the size of the nearest entry."""

    solution: Solution
    how: str

    def text(self) -> str:
        split = self.solution.split
        parts = f", K in {split} parts, added by our combine" if split != 1 else ""
        return f"{self.solution.text()}{parts}, {self.how}"


class Table:
    """The folder of one table."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        try:
            found = json.loads((folder / "table.json").read_text(encoding="utf-8"))
        except (OSError, json.JSONDecodeError) as error:
            raise MissingSolutionError(f"hipBLASLt {folder}: no table.json that can be read") from error
        self.kind: str = found["kind"]
        self.entries = [Entry(m, n, b, k, at, float(speed)) for m, n, b, k, *_, at, speed in found["rows"]]

    @cached_property
    def solutions(self) -> Mapping[int, Solution]:
        """Those whose object is here."""
        found = {}
        for path in sorted(self.folder.glob("*.co")):
            facts = path.with_suffix(".json")
            if facts.is_file():
                found[int(path.stem)] = Solution(self.folder, int(path.stem), json.loads(facts.read_text("utf-8")))
        return found

    def solution(self, index: int) -> Solution:
        if index not in self.solutions:
            raise MissingSolutionError(f"hipBLASLt {self.folder.name}: solution {index} was not made")
        return self.solutions[index]

    def names(self, m: int, n: int, k: int) -> bool:
        """Whether it says something about this size: it has an entry for it, or is a grid that answers any size."""
        grid = self.kind == "GridBased" and bool(self.entries)
        return grid or any((e.m, e.n, e.batch, e.k) == (m, n, 1, k) for e in self.entries)

    def choice(self, m: int, n: int, batch: int, k: int) -> TableChoice:
        """What the library would take for this size."""
        for entry in self.entries:
            if (entry.m, entry.n, entry.batch, entry.k) == (m, n, batch, k):
                return TableChoice(self.solution(entry.index), "exact entry")
        if self.kind != "GridBased" or not self.entries:
            raise HipblasltError(f"hipBLASLt {self.folder.name}: no entry for {m} x {n} x {k}")
        near = min(self.entries, key=lambda entry: distance((m, n, batch, k), entry))
        return TableChoice(self.solution(near.index), f"nearest entry {near.m} x {near.n} x {near.k}")


def distance(size: tuple[int, int, int, int], entry: Entry) -> float:
    """The library's own distance of a size from an entry of a `GridBased` table (tensilelite Distance.hpp)."""
    m, n, batch, k = size
    step_m = math.ceil(m / entry.m) if m <= GRID_EDGE else 1
    step_n = math.ceil(n / entry.n) if n <= GRID_EDGE else 1
    if m <= GRID_EDGE and n <= GRID_EDGE:
        filled = m * n / (step_m * entry.m * step_n * entry.n)
        found = float(round(100 * step_m * step_n / filled**2))
    else:
        found = float(round(10000 * step_m * step_n * math.hypot(m - entry.m, n - entry.n)))
    found += abs(entry.k - k) / (entry.k + 8 * k)
    return found + abs(entry.batch - batch) / (entry.batch + 8 * batch)


def tables(root: Path, layout: str, dtype: str) -> list[Table]:
    """The tables under `root` for a layout and an element type, those of exact sizes first."""
    found = []
    for folder in sorted(path for path in root.glob("Cijk_*") if path.is_dir()):
        parts = folder.name.split("_")
        named = TYPES.get(parts[3]) if len(parts) > 3 else None
        if named is not None and named[0] == dtype and LAYOUTS.get("_".join(parts[1:3])) == layout:
            found.append(Table(folder))
    if not found:
        raise MissingSolutionError(f"there is no table Cijk_… for {dtype} {layout} under {root}")
    return sorted(found, key=lambda table: table.kind != "Equality")


def chosen(root: Path, layout: str, dtype: str, m: int, n: int, k: int) -> TableChoice:
    """What the library's tables under `root` choose: the first exact entry, else the nearest one."""
    why = ""
    for table in tables(root, layout, dtype):
        try:
            found = table.choice(m, n, 1, k)
        except HipblasltError as error:
            why = str(error)
            continue
        refusal = found.solution.refusal(m, n, k, parts=True)
        if refusal is None:
            return found
        why = f"hipBLASLt {found.how}: {refusal}"
    raise HipblasltError(why)


def nearest(root: Path, layout: str, dtype: str, m: int, n: int, k: int, count: int) -> list[TableChoice]:
    """The `count` solutions nearest by the library's own distance that may take this size, nearest first. The library
    would take one of a table made for that; these are what is at hand."""
    found: dict[tuple[Path, int], tuple[float, TableChoice]] = {}
    for table in tables(root, layout, dtype):
        for entry in table.entries:
            solution = table.solutions.get(entry.index)
            if solution is None or entry.batch != 1 or solution.refusal(m, n, k, parts=True) is not None:
                continue
            far = distance((m, n, 1, k), entry)
            known = found.get((table.folder, entry.index))
            if known is None or far < known[0]:
                how = f"near entry {entry.m} x {entry.n} x {entry.k}"
                found[table.folder, entry.index] = far, TableChoice(solution, how)
    if not found:
        raise HipblasltError(f"hipBLASLt {dtype} {layout}: no solution at hand may take {m} x {n} x {k}")
    return [choice for _, choice in sorted(found.values(), key=lambda each: each[0])[:count]]


def stored(solution: Solution, m: int, n: int, k: int) -> tuple[tuple[int, int], tuple[int, int], tuple[int, int]]:
    """Shapes of A, B and D as they lie in memory, the last index fastest."""
    layout = solution.layout
    return (m, k) if layout[0] == "T" else (k, m), (n, k) if layout[1] == "N" else (k, n), (n, m)


def arguments(solution: Solution, d: Any, a: Any, b: Any, m: int, n: int, k: int) -> list[Any]:
    """The kernel's arguments in the order of INDEX.args; alpha 1, beta 0, no bias, no activation."""
    p = solution.parameters
    xcc = int(p["WorkGroupMappingXCC"])
    group = ALL_CUS if xcc > 1 and p["WorkGroupMappingXCCGroup"] == -1 else int(p["WorkGroupMappingXCCGroup"])
    stagger = int(p["StaggerU"]) & 0xFF | int(p["_staggerStrideShift"]) << 8 & 0x1F00 | int(p["StaggerUMapping"]) << 13
    flags = bool(p["GlobalSplitUCoalesced"]) << 15 | bool(p["GlobalSplitUWorkGroupMappingRoundRobin"]) << 14
    shape_a, shape_b, _ = stored(solution, m, n, k)
    numbers = {
        "Gemm info": 1,
        "kernel info0": stagger << 16 | flags | solution.split & 0x3FFF,
        "kernel info1": group << 22 | xcc << 16 | int(p["WorkGroupMapping"]) & 0xFFFF,
        "numWG": solution.grid(m, n),
        "SizesFree0": m,
        "SizesFree1": n,
        "SizesFree2": 1,
        "SizesSum0": k,
        "strideD0": m,
        "strideD1": m * n,
        "strideC0": m,
        "strideC1": m * n,
        "strideA0": shape_a[1],
        "strideA1": m * k,
        "strideB0": shape_b[1],
        "strideB1": n * k,
        **dict.fromkeys(("biasType", "StrideBias", "activationType", "GSUSync"), 0),
    }
    values: dict[str, Any] = {name: np.uint32(value & 0xFFFFFFFF) for name, value in numbers.items()}
    values |= {"D": d, "C": d, "A": a, "B": b, "dstD": d, "alpha": np.float32(1.0), "beta": np.float32(0.0)}
    values |= dict.fromkeys(("activationAlpha", "activationBeta"), np.float32(0.0))
    values |= dict.fromkeys(("AddressScaleAlphaVec", "bias", "Synchronizer", "AddressScaleA", "AddressScaleB"))
    names = (solution.folder / f"{solution.index}.args").read_text("utf-8").split("\n")
    unknown = [name for name in names if name not in values]
    if unknown:
        raise HipblasltError(f"hipBLASLt {solution.text()}: unknown arguments {', '.join(unknown)}")
    return [values[name] for name in names]


def work(solution: Solution, m: int, n: int, k: int) -> Work:
    """The launch at these sizes (hipBLASLt's M, N, K)."""
    refusal = solution.refusal(m, n, k)
    if refusal is not None:
        raise HipblasltError(f"hipBLASLt {refusal}")
    return _launch(solution, m, n, k)


def _launch(solution: Solution, m: int, n: int, k: int) -> Work:
    """Its launch; with K divided it writes the parts."""
    _, kind, out = TYPES[solution.type]
    shape_a, shape_b, shape_d = stored(solution, m, n, k)
    a, b, d = Operand(shape_a, kind, 0), Operand(shape_b, kind, 1), Operand(shape_d, out, blank=True)
    if solution.split != 1:
        d = Operand((solution.split, *shape_d), np.float32, blank=True)
    args = arguments(solution, d, a, b, m, n, k)
    moved = float(a.nbytes + b.nbytes + d.nbytes)
    name = f"hipBLASLt {solution.text()}"
    return Work(name, solution.kernel(), (solution.grid(m, n),), (solution.threads,), args, bytes=moved)


def contestant(found: TableChoice, m: int, n: int, k: int) -> Contestant:
    """The chosen solution at these sizes, after its object gave a right result on a small product. Parts of a divided
    K are added up by the library's own `combine`."""
    solution = found.solution
    refusal = solution.refusal(m, n, k, parts=True)
    if refusal is not None:
        raise HipblasltError(f"hipBLASLt {refusal}")
    try:
        share = checked(solution)
        if not share <= 1.0:
            raise HipblasltError(f"hipBLASLt {solution.text()}: wrong by {share:.1f} times what rounding may do")
        parts = [executed(_launch(solution, m, n, k))]
    except MachineError as error:
        raise HipblasltError(f"hipBLASLt {solution.text()}: {error}") from error
    if solution.split != 1:
        parts += from_choice("sum", summed(solution, m), {"M": n, "N": m}).parts
    return Contestant("hipblaslt", found.text(), tuple(parts))


def summed(solution: Solution, m: int) -> Choice:
    """The launch that adds up the parts, or fewer of them if there is no kernel for so many: never more work."""
    out = "f16" if TYPES[solution.type][2] is np.float16 else "bf16"
    return finishing(out, max(count for count in ADDED if count <= solution.split), m, False, "none")


def of_ours(shape: Sequence[int]) -> tuple[int, int, int]:
    """Sizes of our C[m, n] = A[m, k] @ B[n, k].T in hipBLASLt's column-major words."""
    m, n, k = shape
    return n, m, k


def checked(solution: Solution) -> float:
    """Runs the object on a small product of random numbers; the largest error as a share of what rounding may do."""
    p = solution.parameters
    step_m, step_n = (int(p[f"AssertFree{axis}ElementMultiple"]) for axis in (0, 1))
    m, n = (solution.tile[axis] + step for axis, step in enumerate((step_m, step_n)))
    k = max(2 * solution.tile[2], int(p["AssertSummationElementMultiple"])) * solution.split
    _, kind, out = TYPES[solution.type]
    dice = np.random.default_rng(solution.index)
    shapes = stored(solution, m, n, k)
    a, b = (dice.standard_normal(shape).astype(kind) for shape in shapes[:2])
    divided = solution.split != 1
    d = np.zeros((solution.split, *shapes[2]), np.float32) if divided else np.zeros(shapes[2], out)
    solution.kernel()((solution.grid(m, n),), (solution.threads,), *arguments(solution, d, a, b, m, n, k))
    left, right = a.astype(np.float64), b.astype(np.float64)
    left, right = left if solution.layout[0] == "T" else left.T, right if solution.layout[1] == "N" else right.T
    exact, magnitude = right @ left.T, np.abs(right) @ np.abs(left).T
    bound = k * 2.0**-24 * magnitude
    if not divided:
        bound += 2.0 ** (-11 if out is np.float16 else -8) * np.abs(exact)
    got = d.astype(np.float64).sum(axis=0) if divided else d.astype(np.float64)
    return float((np.abs(got - exact) / bound).max())
