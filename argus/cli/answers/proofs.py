"""Answers of `init`, `check`, `ir`, `compile`, `registers`, `layout`, `explain`, `docs` and `mcp --list`."""

from __future__ import annotations

from typing import Any, Literal

from msgspec import UNSET, UnsetType

from argus.cli.answers.base import Answer, AnswerPart

Verdict3 = Literal["proved", "refuted", "unknown"]


class InitAnswer(Answer, kw_only=True):
    schema: Literal["argus.init"] = "argus.init"
    folder: str
    files: list[str]


class PlacePart(AnswerPart, kw_only=True):
    """A place in a kernel file; `op` numbers the operation of the IR."""

    file: str
    line: int
    col: int | UnsetType = UNSET
    op: int | UnsetType = UNSET
    thread: int | UnsetType = UNSET


class TagPart(AnswerPart, kw_only=True):
    """What an element holds: which element of which tensor."""

    tensor: str
    coords: dict[str, int]


class OperandPart(AnswerPart, kw_only=True):
    name: str
    thread: int
    lane: int
    element: int | None
    does: str
    tag: TagPart | UnsetType = UNSET
    at: PlacePart | UnsetType = UNSET
    written_at: PlacePart | UnsetType = UNSET


class WherePart(AnswerPart, kw_only=True):
    """The launch and the moment of a counterexample."""

    sizes: dict[str, int]
    loop: dict[str, int]
    block: list[int]
    wave: int


class CounterexamplePart(AnswerPart, kw_only=True):
    rule: str
    program_point: PlacePart
    message: str
    where: WherePart
    operands: list[OperandPart]
    details: list[str]
    help: str


class VerdictPart(AnswerPart, kw_only=True):
    """One claim; `bounds` are the ranges of sizes, loops and workgroups it holds for."""

    rule: str
    status: Verdict3
    decided_by: str
    seconds: float
    program_point: PlacePart
    sites: int
    bounds: dict[str, list[int | None]]
    reason: str
    help: str
    counterexample: CounterexamplePart | None


class ObligationPart(AnswerPart, kw_only=True):
    id: int
    op: int
    line: int
    rule: str
    what: str
    status: Literal["discharged", "open"]
    reason: str
    sites: int


class BoundPart(AnswerPart, kw_only=True):
    """The bound of an output's rounding error, or why there is none."""

    result: str
    bound: str | None
    reason: str
    line: int


class HazardPart(AnswerPart, kw_only=True):
    line: int
    kind: str
    reason: str


class ExecutedPart(AnswerPart, kw_only=True):
    launches: int
    elements: int
    skipped: str
    left_out: str


class CheckAnswer(Answer, kw_only=True):
    """The report of the checker: docs/interfaces.md, section 3."""

    schema: Literal["argus.check"] = "argus.check"
    status: Verdict3
    kernel: str
    file: str
    settings: dict[str, int | bool | float | str]
    seconds: float
    stats: dict[str, float]
    notes: list[str]
    premises: list[str]
    rounding: list[BoundPart]
    hazards: list[HazardPart]
    executed: ExecutedPart | None
    verdicts: list[VerdictPart]
    obligations: list[ObligationPart]
    machine: list[str]
    smt: list[str]
    picture: str | None


class ShowAnswer(Answer, kw_only=True):
    """`argus check --show LINE`."""

    schema: Literal["argus.check.show"] = "argus.check.show"
    kernel: str
    line: int
    text: str


class IrAnswer(Answer, kw_only=True):
    """`ir` is the textual form, which `argus.ir.parser` reads back."""

    schema: Literal["argus.ir"] = "argus.ir"
    kernel: str
    ir: str


class LoopPart(AnswerPart, kw_only=True):
    pc: list[int]
    line: int
    instructions: int
    classes: dict[str, int]
    matrix_clocks: int
    waits: dict[str, int]


class CompileAnswer(Answer, kw_only=True):
    """`instructions` counts by class; `recheck` is of proved kernels, `loops` and `stronger_waits` of `--report`."""

    schema: Literal["argus.compile"] = "argus.compile"
    object: str
    kernel: str
    bytes: int
    sha256: str
    vgprs: int
    agprs: int
    sgprs: int
    lds_bytes: int
    instructions: dict[str, int]
    loops: list[LoopPart] | UnsetType = UNSET
    stronger_waits: list[dict[str, Any]] | UnsetType = UNSET
    recheck: dict[str, Any] | UnsetType = UNSET


class LiveValuePart(AnswerPart, kw_only=True):
    """Registers of the values made on one line, with the last line that uses them."""

    name: str
    line: int
    registers: int
    last: int
    carried: bool


class RegistersAnswer(Answer, kw_only=True):
    """The live values at the fullest point, estimated; `vgprs` and `agprs` are LLVM's, null where nothing fits, and
    `refusal` then says why."""

    schema: Literal["argus.registers"] = "argus.registers"
    kernel: str
    place: PlacePart
    live: int
    budget: int
    addresses: int | None
    in_transit: int | None
    values: list[LiveValuePart]
    vgprs: int | None
    agprs: int | None
    refusal: str


class LayoutAnswer(Answer, kw_only=True):
    """`svg` is the file that was written, or null."""

    schema: Literal["argus.layout"] = "argus.layout"
    layout: str
    table: str
    svg: str | None


class ExplainAnswer(Answer, kw_only=True):
    schema: Literal["argus.explain"] = "argus.explain"
    code: str
    page: str


class ToolPart(AnswerPart, kw_only=True):
    """`parameters` is the JSON Schema of what it takes."""

    name: str
    text: str
    parameters: dict[str, Any]


class ToolsAnswer(Answer, kw_only=True):
    """`argus mcp --list`."""

    schema: Literal["argus.mcp.tools"] = "argus.mcp.tools"
    tools: list[ToolPart]


class DocPagePart(AnswerPart, kw_only=True):
    page: str
    title: str


class DocSectionPart(AnswerPart, kw_only=True):
    """One section of a page, as Markdown."""

    page: str
    section: str
    text: str


class DocsAnswer(Answer, kw_only=True):
    """`argus docs`: the pages, or the sections that were asked for, best first."""

    schema: Literal["argus.docs"] = "argus.docs"
    pages: list[DocPagePart]
    sections: list[DocSectionPart]
