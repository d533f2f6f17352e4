"""The bottleneck of a kernel, as one word for the planner: from what the clock saw.

| word | the clock says |
|---|---|
| hbm, mall, l2, atomics | this level of memory takes longest |
| dispatch | handing out workgroups takes longest |
| banks | an LDS without bank conflicts would save 5 % or more |
| latency | waves wait for global memory |
| memory-issue | the queue of memory instructions is full |
| lds | waves wait for LDS or its queue is full |
| barrier | waves wait for each other |
| matrix | the matrix core is busy |
| valu | vector arithmetic is busy |
| issue | instructions, branches, nops |
| contract, read, check, compile, … | not timed: the stage that ended the judgement |
"""

from __future__ import annotations

from argus.agent.judge import Judgement

WORTH = 0.05
WORDS = {
    "wait_vmem": "latency",
    "vmem": "memory-issue",
    "counter": "memory-issue",
    "wait_lds": "lds",
    "lds": "lds",
    "barrier": "barrier",
    "matrix": "matrix",
    "matrix_result": "matrix",
    "valu": "valu",
}


def bottleneck(judgement: Judgement) -> str:
    """The one word."""
    seen = judgement.bottleneck
    if judgement.verdict != "pass" or not seen:
        return judgement.stage
    bound = str(seen.get("bound", "compute"))
    if bound != "compute":
        return bound
    if float(seen.get("helps", {}).get("no bank conflicts", 0.0)) >= WORTH:
        return "banks"
    stalls = {str(name): float(clocks) for name, clocks in dict(seen.get("stalls", {})).items()}
    grouped: dict[str, float] = {}
    for name, clocks in stalls.items():
        grouped[WORDS.get(name, "issue")] = grouped.get(WORDS.get(name, "issue"), 0.0) + clocks
    return max(sorted(grouped), key=lambda word: grouped[word]) if grouped else "issue"
