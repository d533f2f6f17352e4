"""What the execution of a proof came to: launches, the elements compared, a disagreement if there is one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

Kind = Literal[
    "normal", "positive", "negative", "special", "sparse", "rising", "falling", "powers", "wide", "whole", "half"
]  # fmt: skip
NOT_ASKED = "not asked for (--no-run)"


@dataclass(frozen=True, slots=True)
class SmallLaunch:
    """Sizes, kind of inputs, their seed, and how many times they are made smaller."""

    sizes: Mapping[str, int]
    kind: Kind
    seed: int
    smaller: int = 0


@dataclass(frozen=True, slots=True)
class Disagreement:
    """A launch of a proved kernel that gives something else than its specification."""

    launch: SmallLaunch
    result: str
    at: tuple[int, ...]
    got: float
    want: float
    hazard: str = ""
    device: str = "the interpreter"
    rounding: str = ""
    """Why it may be a matter of lost digits alone: the bound derived from the kernel's arithmetic allows it, or there
    is none."""

    def sentence(self) -> str:
        sizes = " ".join(f"{name}={n}" for name, n in self.launch.sizes.items())
        where = f"at {sizes} with {self.launch.kind} inputs (seed {self.launch.seed})"
        if self.hazard:
            return f"{self.device} meets a hazard {where}: {self.hazard}"
        place = f"{self.result}[{', '.join(map(str, self.at))}]"
        return f"on {self.device} {place} is {self.got:.6g} instead of {self.want:.6g} {where}"


@dataclass(frozen=True, slots=True)
class Executed:
    """What the execution of a proof came to."""

    launches: int = 0
    elements: int = 0
    skipped: str = ""
    problem: Disagreement | None = None
    left_out: str = ""
    beyond: Disagreement | None = None
    """A launch with ordinary inputs at which a number is beyond its type, where there is no other such launch."""

    def note(self) -> str:
        if self.skipped:
            return f"executed nothing: {self.skipped}"
        note = f"executed {self.launches} launch{'es' if self.launches != 1 else ''}"
        return f"{note}; value proved, not executed: {self.left_out}" if self.left_out else note

    def to_json(self) -> dict[str, Any]:
        return {
            "launches": self.launches, "elements": self.elements, "skipped": self.skipped, "left_out": self.left_out,
        }  # fmt: skip
