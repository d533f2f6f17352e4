"""One recording: what it was made of, every judgement, and what the model wrote.

    {"episode": {"task": "grouped_gemm", "arm": "first", "number": 1, "budget": 10, "model": "…", "commit": "…"}}
    {"attempt": {"number": 0, "verdict": "pass", "microseconds": 812.0, …}}
    {"request": "…", "role": "lowering", "reply": {…}}

Files are `examples/agent/episodes/TASK-ARM-NUMBER.jsonl`. The lines of replies are those of any recording, so
`replay:FILE` plays an episode again as long as the prompts are the same.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from argus.agent.free_edit.arms import ARMS
from argus.agent.free_edit.episode import Attempt
from argus.agent.reward import microseconds, roof_share

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "agent"
EPISODES = EXAMPLES / "episodes"
TASKS = EXAMPLES / "uncovered"
NEAR = {
    "attention_dq": ("attention",),
    "attention_dk": ("attention",),
    "slot_decode": ("attention",),
    "paged_scores": ("attention", "moe"),
    "grouped_gemm": ("moe",),
    "rope_norm_quant": (),
}
"""Task -> families of the knowledge base that are too near and hidden."""


@dataclass(frozen=True, slots=True)
class RecordedEpisode:
    """`attempts` as they stand in the file; `characters` of all replies."""

    head: dict[str, Any]
    attempts: list[dict[str, Any]] = field(default_factory=list)
    characters: int = 0
    tokens: int = 0
    asked: int = 0
    calls: int = 0

    @property
    def first_proved(self) -> int | None:
        """The evaluation at which the first edit passed; the naive kernel is evaluation 1."""
        passed = (a["number"] for a in self.attempts if a["number"] and a["verdict"] == "pass")
        found = next(passed, None)
        return None if found is None else found + 1

    @property
    def best(self) -> dict[str, Any] | None:
        passed = [a for a in self.attempts if a["verdict"] == "pass"]
        return min(passed, key=lambda a: float(a["microseconds"]), default=None)


def path_of(task: str, arm: str, number: int) -> Path:
    if task not in NEAR or arm not in ARMS:
        raise SystemExit(f"tasks are {', '.join(NEAR)}; arms are {', '.join(ARMS)}")
    return EPISODES / f"{task}-{arm}-{number}.jsonl"


def attempt_line(attempt: Attempt) -> dict[str, Any]:
    """A judged attempt as the recording keeps it."""
    judged = attempt.judgement
    took = microseconds(judged)
    return {
        "number": attempt.number,
        "verdict": judged.verdict,
        "stage": judged.stage,
        "rules": sorted({v.rule for v in judged.violations}),
        "microseconds": round(took, 3) if math.isfinite(took) else None,
        "roof_share": round(roof_share(judged), 4),
        "interval": {shape: dict(bounds) for shape, bounds in judged.intervals.items()},
        "evidence": judged.evidence,
    }


def read_episode(path: Path) -> RecordedEpisode:
    """A recording, complete or not."""
    head: dict[str, Any] = {}
    attempts: dict[int, dict[str, Any]] = {}
    characters = tokens = asked = calls = 0
    for line in path.read_text(encoding="utf-8").splitlines():
        entry = json.loads(line)
        if "episode" in entry:
            head = entry["episode"]
        elif "attempt" in entry:
            attempts[entry["attempt"]["number"]] = entry["attempt"]
        else:
            reply = entry["reply"]
            asked += 1
            characters += len(reply["text"])
            tokens += reply["tokens_in"] + reply["tokens_out"]
            calls += len(reply["calls"])
    if not head:
        raise SystemExit(f"{path}: no line says what it is a recording of")
    return RecordedEpisode(head, [attempts[n] for n in sorted(attempts)], characters, tokens, asked, calls)
