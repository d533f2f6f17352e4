"""What every verb says with `--json`, as types: one struct per answer, with the name and version of its schema.

    $ argus check gemm.py --json
    {"schema": "argus.check", "version": 1, "kernel": "gemm", …}
    $ argus check nothere.py --json
    {"schema": "argus.error", "version": 1, "exit": 2, "kind": "program", "code": "AG100", …}

`emit` is the only way an answer is printed: what does not fit its type is a fault of Argus, never printed. The schemas
in docs/schemas are written from these types (`python -m argus.cli.answers docs/schemas`). Within a version no field is
renamed, removed or given another meaning; new ones may come, so the schemas allow them. Rooms make plain dictionaries
(`to_json`); the types stand here, so that no room but this one depends on how answers are encoded.
"""

from argus.cli.answers.base import Answer, emit
from argus.cli.answers.doctor import DoctorAnswer
from argus.cli.answers.errors import ErrorAnswer
from argus.cli.answers.journal import (
    BestAnswer,
    DiffAnswer,
    HistoryAnswer,
    KnowledgeAnswer,
    OptimizeAnswer,
    ReportAnswer,
    RunAnswer,
    VerifyAnswer,
)
from argus.cli.answers.launches import (
    AgentsAnswer,
    AlgebraAnswer,
    BenchAnswer,
    ClockScoresAnswer,
    CompareAnswer,
    CorpusAnswer,
    ExecutionAnswer,
    ExplainTimeAnswer,
    FitAnswer,
    ObjectRunAnswer,
    TimeAnswer,
    ValidateAnswer,
)
from argus.cli.answers.plans import KernelBenchAnswer, PlanAnswer, TuneAnswer
from argus.cli.answers.proofs import (
    CheckAnswer,
    CompileAnswer,
    DocsAnswer,
    ExplainAnswer,
    InitAnswer,
    IrAnswer,
    LayoutAnswer,
    RegistersAnswer,
    ShowAnswer,
    ToolsAnswer,
)

ANSWERS: tuple[type[Answer], ...] = (
    AgentsAnswer, AlgebraAnswer, BenchAnswer, BestAnswer, CheckAnswer, ClockScoresAnswer, CompareAnswer, CompileAnswer,
    CorpusAnswer, DiffAnswer, DocsAnswer, DoctorAnswer, ErrorAnswer, ExecutionAnswer, ExplainAnswer,
    ExplainTimeAnswer, FitAnswer, HistoryAnswer, InitAnswer, IrAnswer, KernelBenchAnswer, KnowledgeAnswer,
    LayoutAnswer, ObjectRunAnswer, OptimizeAnswer, PlanAnswer, RegistersAnswer, ReportAnswer, RunAnswer,
    ShowAnswer, TimeAnswer, ToolsAnswer, TuneAnswer, ValidateAnswer, VerifyAnswer,
)  # fmt: skip

__all__ = [
    "ANSWERS",
    "AgentsAnswer",
    "AlgebraAnswer",
    "Answer",
    "BenchAnswer",
    "BestAnswer",
    "CheckAnswer",
    "ClockScoresAnswer",
    "CompareAnswer",
    "CompileAnswer",
    "CorpusAnswer",
    "DiffAnswer",
    "DocsAnswer",
    "DoctorAnswer",
    "ErrorAnswer",
    "ExecutionAnswer",
    "ExplainAnswer",
    "ExplainTimeAnswer",
    "FitAnswer",
    "HistoryAnswer",
    "InitAnswer",
    "IrAnswer",
    "KernelBenchAnswer",
    "KnowledgeAnswer",
    "LayoutAnswer",
    "ObjectRunAnswer",
    "OptimizeAnswer",
    "PlanAnswer",
    "RegistersAnswer",
    "ReportAnswer",
    "RunAnswer",
    "ShowAnswer",
    "TimeAnswer",
    "ToolsAnswer",
    "TuneAnswer",
    "ValidateAnswer",
    "VerifyAnswer",
    "emit",
]
