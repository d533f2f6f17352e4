"""Answers of `argus plan`, `argus tune` and `argus bench kernelbench`."""

from __future__ import annotations

from typing import Any, Literal

from msgspec import UNSET, UnsetType

from argus.cli.answers.base import Answer, AnswerPart


class ViewPart(AnswerPart, kw_only=True):
    """Elements of a buffer: at offset + sum of index * stride."""

    buffer: str
    offset: int
    shape: list[int]
    strides: list[int]


class PlanBufferPart(AnswerPart, kw_only=True):
    name: str
    kind: Literal["input", "parameter", "output", "temporary", "filled"]
    dtype: str
    elements: int
    fill: float | None
    place: int
    live: list[int]


class PlannedLaunchPart(AnswerPart, kw_only=True):
    """`nodes`: what of the module's graph it computes."""

    file: str
    kernel: str
    knobs: dict[str, int | bool | str]
    sizes: dict[str, int]
    arguments: dict[str, ViewPart]
    scalars: dict[str, float]
    writes: list[str]
    nodes: list[str]
    computes: str


class PlanAnswer(Answer, kw_only=True):
    """`argus plan`: launches in order; `arena`: bytes of all temporaries."""

    schema: Literal["argus.plan"] = "argus.plan"
    arena: int
    buffers: list[PlanBufferPart]
    launches: list[PlannedLaunchPart]
    outputs: dict[str, ViewPart]


class FullSizePart(AnswerPart, kw_only=True):
    """Sampled workgroups (`blocks`) at full size; `worst`: the largest error over its bound."""

    launches: int
    blocks: int
    elements: int
    worst: float


class LaunchCostPart(AnswerPart, kw_only=True):
    """Equal launches of a plan, and the simulated time of all of them."""

    launch: str
    count: int
    us: float


class KernelBenchPart(AnswerPart, kw_only=True):
    """A task; `error`: the largest at reduced sizes, as |difference| / (1 + |wanted|).

    `not_sampled`: launches of which no workgroups could be looked at, with reasons; `rests`: digests of what the record
    depends on (docs/kernelbench.md)."""

    level: int
    task: int
    name: str
    dtype: str
    status: Literal["solved", "timed", "unsampled", "wrong", "unproved", "refused", "failed"]
    code: str
    reason: str
    rests: dict[str, str]
    family: str | UnsetType = UNSET
    launches: int | UnsetType = UNSET
    kernels: int | UnsetType = UNSET
    proved: int | UnsetType = UNSET
    unknown: int | UnsetType = UNSET
    cases: int | UnsetType = UNSET
    error: float | UnsetType = UNSET
    seeds: str | UnsetType = UNSET
    constant: bool | UnsetType = UNSET
    full_size: FullSizePart | UnsetType = UNSET
    not_sampled: list[str] | UnsetType = UNSET
    simulated_us: float | UnsetType = UNSET
    low_us: float | UnsetType = UNSET
    high_us: float | UnsetType = UNSET
    protocol: str | UnsetType = UNSET
    costs: list[LaunchCostPart] | UnsetType = UNSET
    cpu_seconds: float | UnsetType = UNSET
    machine: dict[str, str] | UnsetType = UNSET


class KernelBenchAnswer(Answer, kw_only=True):
    """`argus bench kernelbench`: times are simulated."""

    schema: Literal["argus.bench.kernelbench"] = "argus.bench.kernelbench"
    label: str
    records: list[KernelBenchPart]


class TunedPart(AnswerPart, kw_only=True):
    """A decision point for a shape class, with every alternative tried (`take`, `us`, `low`, `high`, or `why` it has no
    time); `row`: what the dispatch table gets, null where nothing is surely faster (`why`)."""

    task: str
    decision: str
    shape: dict[str, int | bool | str]
    default: dict[str, int | bool | str]
    taken: dict[str, int | bool | str]
    taken_us: float
    tried: list[dict[str, Any]]
    why: str
    row: dict[str, Any] | None


class TuningRefusalPart(AnswerPart, kw_only=True):
    """A task without a plan."""

    task: str
    code: str
    reason: str


class TuneAnswer(Answer, kw_only=True):
    """`argus tune`: times are simulated."""

    schema: Literal["argus.tune"] = "argus.tune"
    label: str
    points: list[TunedPart]
    refused: list[TuningRefusalPart]
    written: bool
