"""The file of solutions: whose kernel stands where in the folder, how it is launched, which times were published.

    found = read(Path("solutions.json"))
    found.solutions[0].system, found.solutions[0].path(root)

A kernel's arguments are named as the kernel names them and given by operands and sizes of the problem (`problems.py`),
grids by expressions of the sizes (`expressions.py`): docs/agents_bench.md has every field. The file is data: a path
leads nowhere but into the folder, and only flags of `FLAGS` reach the compiler.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Literal

import msgspec

from argus.bench.agents.refusal import SolutionRefused

NAME = "solutions.json"
FLAGS = ("-O1", "-O2", "-O3", "-Ofast", "-ffast-math", "-munsafe-fp-atomics", "-std=c++17", "-std=c++20")
ProblemName = Literal["gemm", "attention", "moe"]


class AgentVariant(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """One way to launch a kernel. `sizes`: for which of the published sizes (none: all)."""

    name: str = ""
    sizes: tuple[int, ...] = ()
    fixed: dict[str, int | float] = {}
    """Constants of the kernel; whole ones are known in expressions."""
    options: dict[str, int] = {}
    """Triton's options: num_warps, num_stages, …"""
    published_ms: dict[str, float] = {}

    def known(self, sizes: Mapping[str, int]) -> dict[str, int]:
        """The names that an expression of this variant knows."""
        return {**sizes, **{name: value for name, value in self.fixed.items() if isinstance(value, int)}}


class AgentSolution(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """One kernel of one system for one problem."""

    system: str
    problem: ProblemName
    language: Literal["hip", "triton"]
    file: str
    kernel: str
    """The function; `name<1>` instantiates a template."""
    grid: tuple[str, ...]
    arguments: dict[str, str]
    block: tuple[int, ...] = ()
    """HIP: threads of a workgroup."""
    lds: str = "0"
    """HIP: dynamic bytes."""
    steps: str = ""
    """What a workgroup's length goes with, where they differ: an expression of bx, by, bz and the sizes."""
    flags: tuple[str, ...] = ("-O3",)
    constants: dict[str, str] = {}
    """`constexpr` names of the source that follow the sizes."""
    presets: dict[str, list[float | str]] = {}
    """Arrays that the host fills before a launch, and with what."""
    variants: tuple[AgentVariant, ...] = (AgentVariant(),)
    untimed: str = ""
    """Why it is judged and not timed."""
    note: str = ""

    def path(self, root: Path) -> Path:
        """Its file; SolutionRefused if it is not there or not in the folder."""
        path = root / self.file
        if not path.resolve().is_relative_to(root.resolve()):
            raise SolutionRefused(f"{self.file} leads out of the folder")
        if not path.is_file():
            raise SolutionRefused(f"there is no {self.file}")
        return path

    def checked_flags(self) -> tuple[str, ...]:
        if unknown := [flag for flag in self.flags if flag not in FLAGS]:
            raise SolutionRefused(f"{unknown[0]} is no flag that is passed on; there are {', '.join(sorted(FLAGS))}")
        return self.flags


class PublishedReference(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """What the publication itself compares with at a problem."""

    name: str
    published_ms: dict[str, float]


class SolutionSet(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """The whole file. `source`: who published the kernels and times."""

    source: str
    solutions: tuple[AgentSolution, ...]
    references: dict[ProblemName, PublishedReference] = {}


def read(file: Path) -> SolutionSet:
    """The solutions that a file lists; ValueError says what is wrong with it."""
    try:
        return msgspec.json.decode(file.read_bytes(), type=SolutionSet)
    except msgspec.DecodeError as error:
        raise ValueError(f"{file}: {error}") from error
