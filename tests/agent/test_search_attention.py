"""The search for attention, with a judge that gives times by what a source contains: it arrives at skewed turns.

The times are made up; what is tested is that proposals, prerequisites and gains lead from the naive kernel to the form
that the fixed chain of `bench.agent_chains` writes, within a few evaluations.
"""

from __future__ import annotations

from collections.abc import Sequence

from argus.agent.judge import Judgement
from argus.agent.optimise import optimise
from argus.agent.policy import PolicyTable
from argus.agent.search_state import Settings
from argus.tasks.task import Task, load_task

SHARES = {
    "WAVES = ": 0.7,
    "KEY_TILES": 0.85,
    "ag.cdiv(": 0.55,
    " - 1 - place": 0.92,
    "ag.rcp": 0.98,
    "wide=8": 0.95,
    "xor": 0.8,
    "finite=True": 0.93,
    "ag.fma": 0.96,
    "pairs": 0.85,
    "ag.schedule": 0.8,
}


class ByContent:
    """Passes everything; each word of SHARES makes a kernel faster."""

    def judge(self, sources: Sequence[str], task: Task, *, seed: int = 0) -> list[Judgement]:
        return [self._judged(source) for source in sources]

    def _judged(self, source: str) -> Judgement:
        took = 5000.0
        for word, share in SHARES.items():
            took *= share if word in source else 1.0
        stall = "matrix" if "pairs" in source else "valu" if "ag.shared" in source else "wait_vmem"
        seen = {"bound": "compute", "stalls": {stall: 1.0}, "helps": {}}
        return Judgement("pass", "time", (), {"x": took}, {"x": 100.0}, seen, 1, 0, "evidence", {})


def test_the_search_arrives_at_skewed_turns() -> None:
    found = optimise(load_task("attention"), Settings(seed=0, budget=10), ByContent(), policy=PolicyTable())
    best = found.best.source
    for word in ("ag.ring(2", 'order="mfma valu', "ag.fma(", "- 1 - place"):
        assert word in best
