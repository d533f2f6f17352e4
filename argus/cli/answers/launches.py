"""Answers of `run`, `time`, `compare`, `clock`, `bench` and `machine`. Times are simulated unless named published."""

from __future__ import annotations

from typing import Any, Literal

from msgspec import UNSET, UnsetType

from argus.cli.answers.base import Answer, AnswerPart


class InstructionPart(AnswerPart, kw_only=True):
    """Where the machine was."""

    workgroup: Any
    wave: int
    lane: int | None
    pc: int
    instruction: str


class MachineReportPart(AnswerPart, kw_only=True):
    """A finding of the machine; `code` has a page in `argus explain`."""

    code: str
    name: str
    message: str
    at: InstructionPart
    other: InstructionPart | None
    address: int | None
    space: str
    count: int
    level: Literal["error", "warning", "note"]


class WrongElementPart(AnswerPart, kw_only=True):
    index: list[int]
    got: float | str
    want: float | str


class ComparisonPart(AnswerPart, kw_only=True):
    """Results against float64; a number that is not finite is a word."""

    elements: int
    wrong: int
    finite: int
    worst_error_over_bound: float | str
    first_wrong: WrongElementPart | None
    mean_signed_error: float | str


class ExecutionAnswer(Answer, kw_only=True):
    """`argus run FILE`."""

    schema: Literal["argus.run"] = "argus.run"
    kernel: str
    shape: dict[str, int]
    device: str
    workgroups: int
    instructions: int
    seconds: float
    reports: list[MachineReportPart]
    comparison: ComparisonPart | None


class ArrayPart(AnswerPart, kw_only=True):
    argument: str
    min: float | str
    max: float | str
    mean: float | str
    first: list[float | str]


class ObjectRunAnswer(Answer, kw_only=True):
    """`argus run OBJECT`."""

    schema: Literal["argus.run.object"] = "argus.run.object"
    kernel: str
    workgroups: int
    instructions: int
    reports: list[MachineReportPart]
    arrays: list[ArrayPart]


class AlgebraPart(AnswerPart, kw_only=True):
    result: str
    verdict: Literal["equal", "different", "not followed"]
    elements: int
    different: int
    not_followed: int
    doubtful: int
    first_different: list[int] | None
    writer: str | None
    cause: str | None


class AlgebraAnswer(Answer, kw_only=True):
    """`argus run --algebra`."""

    schema: Literal["argus.run.algebra"] = "argus.run.algebra"
    kernel: str
    shape: dict[str, int] | None = None
    against: str | None = None
    computes: str | None = None
    algebra: list[AlgebraPart]


class IntervalPart(AnswerPart, kw_only=True):
    """Microseconds between which nine of ten published times of such launches lie."""

    low: float
    high: float
    regime: str


class SustainedPart(AnswerPart, kw_only=True):
    clock_mhz: float
    cycles: float
    microseconds: float
    tflops: float | None
    matrix_peak_share: float | None


class LaunchPart(AnswerPart, kw_only=True):
    """The whole launch: at the stated clock, and `sustained` at the clock its power allows."""

    label: str
    grid: int
    rounds: float
    cycles: float
    clock_mhz: float
    microseconds: float
    bound: str
    parts_clk: dict[str, float]
    tflops: float | None
    matrix_peak_share: float | None
    hbm_gbps: float
    hbm_load: float
    hbm_bytes: float
    protocol: str
    profile: dict[str, Any]
    activity: dict[str, Any]
    sustained: SustainedPart
    interval: IntervalPart
    work_standard_error: float | None
    sharing_error: float
    iteration_error: float
    notes: list[str]


class TimeAnswer(Answer, kw_only=True):
    """`unit` is one compute unit: occupancy, stalls by reason, clocks by instruction."""

    schema: Literal["argus.time"] = "argus.time"
    launch: LaunchPart
    unit: dict[str, Any]
    sampled: list[int]
    executor: str
    note: str


class PairedPart(AnswerPart, kw_only=True):
    """Time of one over time of another, with its 90 % interval."""

    verdict: str
    ratio: float
    low: float
    high: float
    clocks: int


class ComparedPart(AnswerPart, kw_only=True):
    candidate: str
    cycles: float
    microseconds: float
    clock_mhz: float
    protocol: str
    sustained_mhz: float
    sustained_microseconds: float
    interval: IntervalPart
    tflops: float | None
    hbm_gbps: float
    bound: str
    against_fastest: PairedPart | None
    notes: list[str]


class CompareAnswer(Answer, kw_only=True):
    schema: Literal["argus.compare"] = "argus.compare"
    label: str
    clocks: int
    rows: list[ComparedPart]


class CausePart(AnswerPart, kw_only=True):
    cause: str
    group: str
    title: str
    microseconds: float
    share: float


class CounterPart(AnswerPart, kw_only=True):
    name: str
    value: float
    unit: str
    match: Literal["same", "similar"]
    note: str


class ChangePart(AnswerPart, kw_only=True):
    name: str
    group: str
    microseconds: float
    saved: float


class OccupancyPart(AnswerPart, kw_only=True):
    """Workgroups and waves of one compute unit."""

    resident_workgroups: int
    possible_workgroups: int
    waves: int
    waves_per_simd: float


class ConflictPart(AnswerPart, kw_only=True):
    """Clocks that one compute unit loses to LDS bank conflicts, by buffer and source line."""

    buffer: str
    place: str
    clocks: float


class ExplainTimeAnswer(Answer, kw_only=True):
    """`argus clock explain`: docs/interfaces.md, section 7."""

    schema: Literal["argus.clock.explain"] = "argus.clock.explain"
    source: Literal["simulated"]
    model: str
    title: str
    microseconds: float
    bound: dict[str, str]
    launch: LaunchPart
    occupancy: OccupancyPart
    utilization: dict[str, float]
    stack: list[CausePart]
    wave_clocks: dict[str, Any]
    causes: dict[str, dict[str, str]]
    lines: list[dict[str, Any]]
    instructions: list[dict[str, Any]]
    waits: list[dict[str, Any]]
    lds_conflicts: list[ConflictPart]
    what_if: list[ChangePart]
    counters: list[CounterPart]
    notes: list[str]


class ScorePart(AnswerPart, kw_only=True):
    """Errors of time against published ones."""

    rows: int
    families: int
    median: float
    p90: float
    bias: float


class FitAnswer(Answer, kw_only=True):
    """`before` and `after`: mean error of the logarithm of time."""

    schema: Literal["argus.clock.fit"] = "argus.clock.fit"
    label: str
    before: float
    after: float
    values: dict[str, float]


class ValidatedPart(AnswerPart, kw_only=True):
    family: str
    program: str
    shape: str
    regime: str
    measured_us: float
    predicted_us: float
    left_out_us: float
    error: float
    clock_mhz: float
    roofline_us: float


class ValidateAnswer(Answer, kw_only=True):
    schema: Literal["argus.clock.validate"] = "argus.clock.validate"
    label: str
    all: ScorePart
    unseen: ScorePart
    regimes: dict[str, ScorePart]
    unseen_regimes: dict[str, ScorePart]
    inside_interval: float
    inside_without_family: float | None
    ranks: dict[str, float | None]
    rows: list[ValidatedPart]


class ClockScoresAnswer(Answer, kw_only=True):
    """`argus clock ablate`: by mechanism switched off, then by regime."""

    schema: Literal["argus.clock.ablate"] = "argus.clock.ablate"
    label: str
    without: dict[str, dict[str, ScorePart]]


class BenchPart(AnswerPart, kw_only=True):
    """One family, or one shape of it: rows beside others, a list of times, or what the dispatcher loses."""

    family: str
    shape: str | None = None
    rows: list[dict[str, Any]] | UnsetType = UNSET
    times: dict[str, dict[str, Any]] | UnsetType = UNSET
    regret: dict[str, float] | UnsetType = UNSET
    geometric_mean: float | UnsetType = UNSET
    left_out: str | UnsetType = UNSET


class BenchAnswer(Answer, kw_only=True):
    schema: Literal["argus.bench"] = "argus.bench"
    label: str
    results: list[BenchPart]


class AgentTimePart(AnswerPart, kw_only=True):
    """A simulated time at the sustained clock, in microseconds."""

    us: float
    mhz: float
    why: str
    interval: IntervalPart | None


class AgentRowPart(AnswerPart, kw_only=True):
    """A kernel of another system at a published size. Figures named `simulated` and `published` form no ratio with each
    other; `error_share`: the largest error at the small size as a part of its tolerance."""

    system: str
    variant: str
    problem: Literal["gemm", "attention", "moe"]
    size: int
    status: Literal["right", "wrong", "left out"]
    reason: str
    error_share: float | str | None
    ours_simulated: AgentTimePart | None
    ours: str
    theirs_simulated: AgentTimePart | None
    verdict_simulated: PairedPart | None
    published_ms: float | None
    published_reference: str
    published_reference_ms: float | None
    published_reference_over_theirs: float | None
    note: str


class AgentsAnswer(Answer, kw_only=True):
    """`argus bench agents`: `source` says who published the kernels and their times."""

    schema: Literal["argus.bench.agents"] = "argus.bench.agents"
    label: str
    source: str
    rows: list[AgentRowPart]


class CorpusAnswer(Answer, kw_only=True):
    """`argus machine corpus`."""

    schema: Literal["argus.machine.corpus"] = "argus.machine.corpus"
    objects: int
    not_loaded: dict[str, str]
    instructions: int
    not_decoded: dict[str, list[str]]
    distinct_encodings: int
    compared: bool
    differing: dict[str, list[str]]
    opcodes: dict[str, int]
    missing: dict[str, int]
