"""Answers of `argus plan`."""

from __future__ import annotations

from typing import Literal

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
