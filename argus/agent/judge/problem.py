"""What the judge is asked and what it answers, as plain data that crosses a process boundary.

A `Problem` is the task as far as judging needs it. Its naive kernel fixes the contract: names, axes and element types
of the arguments, and what is computed. A candidate must keep all of that; its own words about what it computes count
for nothing.

A `Judgement` without `evidence` ranks nowhere, and only `pass` ranks.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from traceback import extract_tb
from typing import Any, Literal

from argus.gfx942.target import GFX942, Target
from argus.ir.kernel import Kernel
from argus.spec.compare import json_number
from argus.tasks.routing import RoutingTensors
from argus.tasks.task import Task

Sizes = Mapping[str, int]
Verdict = Literal["pass", "fail", "unknown", "error"]

MACHINE = ("judge", "measure")
STAGES = ("read", "contract", "check", "compile", "small", "algebra", "shapes", "held_out", "time")


@dataclass(frozen=True, slots=True)
class Problem:
    """`small` shapes run whole with all checks on; `shapes` are timed; `held_out` ones are judged for results only.

    `device`: whose times count, `simulated` or `hip`. `routing`: which of the inputs are a routing's index tensors.
    `beside`: texts of the files that naive kernel and candidates import from the task's folder, by module name.
    `target`: the chip they are read for.
    """

    task: str
    naive: str
    small: tuple[Sizes, ...]
    shapes: tuple[Sizes, ...]
    held_out: tuple[Sizes, ...] = ()
    specials: bool = True
    deterministic: bool = True
    device: str = "simulated"
    routing: RoutingTensors | None = None
    beside: Mapping[str, str] = field(default_factory=dict)
    target: Target = GFX942

    @staticmethod
    def of(task: Task) -> Problem:
        """The problem a task poses."""
        return Problem(
            task.name,
            task.source,
            task.small,
            task.shapes,
            task.held_out,
            task.specials,
            device=task.device,
            routing=task.routing,
            beside=task.beside,
            target=task.kernel.target,
        ).ordered(task.kernel)

    def to_json(self) -> dict[str, Any]:
        found: dict[str, Any] = {f.name: getattr(self, f.name) for f in fields(self)}
        found["routing"] = None if self.routing is None else asdict(self.routing)
        for name in ("small", "shapes", "held_out"):
            found[name] = [dict(sizes) for sizes in getattr(self, name)]
        if self.routing is None:
            del found["routing"]
        found["target"] = self.target.to_json()
        if self.target == GFX942:
            del found["target"]
        if not self.beside:
            del found["beside"]
        return found

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> Problem:
        lists = {name: tuple(dict(sizes) for sizes in data[name]) for name in ("small", "shapes", "held_out")}
        return Problem(
            data["task"],
            data["naive"],
            **lists,
            specials=data["specials"],
            deterministic=data["deterministic"],
            device=data.get("device", "simulated"),
            routing=RoutingTensors(**data["routing"]) if "routing" in data else None,
            beside=dict(data.get("beside", {})),
            target=Target.from_json(data["target"]) if "target" in data else GFX942,
        )

    def ordered(self, kernel: Kernel) -> Problem:
        """The same with the sizes of every shape in the order of the signature.

        A file or a journal may have them in any order. The digest is the same; the names of shapes (`shape_text`),
        which data and evidence rest on, are made from this one.
        """
        names = [symbol.name for symbol in kernel.shapes]

        def in_order(shapes: tuple[Sizes, ...]) -> tuple[Sizes, ...]:
            return tuple({name: sizes[name] for name in names if name in sizes} for sizes in shapes)

        small, shapes, held_out = (in_order(each) for each in (self.small, self.shapes, self.held_out))
        return replace(self, small=small, shapes=shapes, held_out=held_out)

    def digest(self) -> str:
        """A digest of the problem, whatever the order of the sizes in its shapes."""
        return hashlib.sha256(json.dumps(self.to_json(), sort_keys=True).encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Violation:
    """One thing that is wrong: `rule` is a rule of the checker, a stage of the judge or the code of a report.

    `detail` is the counterexample or the report as JSON.
    """

    rule: str
    message: str
    line: int = 0
    status: str = "refuted"
    help: str = ""
    detail: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Judgement:
    """`times` and `roof` are microseconds by shape, `intervals` the clock's limits of each simulated time, `bottleneck`
    what the clock saw at the first one. `seconds` of the stages and the `machine` it was made on differ from one
    judging to the next: they are kept beside a judgement and are no part of its evidence."""

    verdict: Verdict
    stage: str
    violations: tuple[Violation, ...] = ()
    times: Mapping[str, float] = field(default_factory=dict)
    roof: Mapping[str, float] = field(default_factory=dict)
    bottleneck: Mapping[str, Any] = field(default_factory=dict)
    proved: int = 0
    unknown: int = 0
    evidence: str = ""
    seconds: Mapping[str, float] = field(default_factory=dict)
    intervals: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    machine: Mapping[str, str] = field(default_factory=dict)

    @property
    def of_machine(self) -> bool:
        """Whether the machine, not the candidate, is to blame: no memory, no time, no GPU, a fault of the judge.

        Asked again, the answer may be another one, so nobody remembers it.
        """
        return self.verdict == "error" and any(v.rule in MACHINE for v in self.violations)

    def to_json(self) -> dict[str, Any]:
        """Without `seconds` and `machine`."""
        found: dict[str, Any] = _plain(asdict(self))
        del found["seconds"], found["machine"]
        return found

    @staticmethod
    def from_json(
        data: Mapping[str, Any], seconds: Mapping[str, float] | None = None, machine: Mapping[str, str] | None = None
    ) -> Judgement:
        values = {name: data[name] for name in data if name in Judgement.__dataclass_fields__ and name != "violations"}
        found = tuple(Violation(**item) for item in data["violations"])
        return Judgement(
            **{**values, "violations": found, "seconds": dict(seconds or {}), "machine": dict(machine or {})}
        )


def fault(error: Exception) -> Violation:
    """A fault of the judge itself, with the place of its origin."""
    place = ""
    if error.__traceback__ is not None:
        last = extract_tb(error.__traceback__)[-1]
        place = f" ({Path(last.filename).name}:{last.lineno})"
    return Violation("judge", f"{type(error).__name__}: {error}{place}", status="error")


def _plain(value: Any) -> Any:
    """The same with words for numbers that JSON does not have."""
    if isinstance(value, float):
        return json_number(value)
    if isinstance(value, Mapping):
        return {name: _plain(item) for name, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, list | tuple) else value


def shape_text(sizes: Sizes) -> str:
    """`M=4096,N=4096`: the key of a shape; a judge has its sizes in the order of the signature."""
    return ",".join(f"{name}={size}" for name, size in sizes.items())
