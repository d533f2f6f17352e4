"""The answer of `doctor`."""

from __future__ import annotations

from typing import Literal

from argus.cli.answers.base import Answer, AnswerPart


class PackagePart(AnswerPart, kw_only=True):
    """A package Argus names in its metadata; `extra` is null for those it always needs, `version` for a missing one."""

    name: str
    wanted: str
    extra: str | None
    version: str | None
    fits: bool


class GpuPart(AnswerPart, kw_only=True):
    """`usable`: a gfx942."""

    number: int
    name: str
    architecture: str
    bytes: int
    usable: bool


class HipPart(AnswerPart, kw_only=True):
    """The HIP runtime and its GPUs, or why there is none; `found_by` is the rule of the search."""

    library: str | None
    found_by: str | None
    version: str | None
    devices: list[GpuPart]
    error: str | None
    code: str | None


class CachePart(AnswerPart, kw_only=True):
    name: str
    path: str
    files: int
    bytes: int


class SimulatedTimePart(AnswerPart, kw_only=True):
    """By the clock, with the interval nine of ten published times of such launches lie in."""

    microseconds: float
    low: float
    high: float


class MeasuredTimePart(AnswerPart, kw_only=True):
    """On the GPU: median, 10th and 90th percentile of the launches."""

    microseconds: float
    p10: float
    p90: float


class SelfTestPart(AnswerPart, kw_only=True):
    """`ratio` is measured over simulated, from `ratio_low` to `ratio_high` by the interval of the simulated time."""

    kernel: str
    shape: dict[str, int]
    right: bool
    simulated: SimulatedTimePart
    measured: MeasuredTimePart | None
    ratio: float | None
    ratio_low: float | None
    ratio_high: float | None
    error: str


class DoctorAnswer(Answer, kw_only=True):
    """`objdump` is an llvm-objdump that knows gfx942; `self_test` is null where there is no gfx942."""

    schema: Literal["argus.doctor"] = "argus.doctor"
    argus: str
    python: str
    system: str
    cores: int
    memory_bytes: int
    packages: list[PackagePart]
    objdump: str | None
    hip: HipPart
    caches: list[CachePart]
    self_test: list[SelfTestPart] | None
