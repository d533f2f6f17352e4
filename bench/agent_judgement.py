"""How long one judgement takes: GEMM 4096, the pipelined kernel in 256 x 256 blocks, stage by stage.

    python -m bench.agent_judgement [--task gemm]

The naive kernel of the task is lowered by a fixed chain; two variants of the result are judged in this process, each
for the first time, with an empty cache of objects. The first also draws the data of the problem and loads what a
process loads once; the second is what a candidate costs in a run. Seconds of CPU (of this process, and of the compiling
children it waits for) and of the wall clock.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time

from argus.agent.judge import Problem
from argus.agent.judge.court import Court
from argus.agent.lower import lower
from argus.tasks.task import load_task

CHAIN: tuple[tuple[str, dict[str, object]], ...] = (
    ("register-blocking", {"tiles_row": 4, "tiles_col": 4, "waves_row": 2, "waves_col": 2, "tiles_k": 8}),
    ("wide-fragments", {}),
    ("vector-stores", {}),
    ("lds-staging", {"barriers": "both"}),
    ("lds-swizzle", {"kind": "xor", "amount": 3}),
    ("fragment-prefetch", {"depth": "fragments"}),
)
VARIANTS: tuple[tuple[str, dict[str, object]], ...] = (
    ("instruction-scheduling", {"mfma": 1}),
    ("instruction-scheduling", {"mfma": 2}),
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--task", default="gemm")
    task = load_task(parser.parse_args().task)
    text = task.source
    for name, params in CHAIN:
        text = lower(text, name, params)
    with tempfile.TemporaryDirectory() as cache:
        os.environ["ARGUS_CACHE"] = cache
        court = Court(Problem.of(task))
        for number, (name, params) in enumerate(VARIANTS):
            wall, cpu = time.perf_counter(), sum(os.times()[:4])
            found = court.judge(lower(text, name, params), 0)
            wall, cpu = time.perf_counter() - wall, sum(os.times()[:4]) - cpu
            stages = ", ".join(f"{stage} {seconds:.1f}" for stage, seconds in found.seconds.items())
            which = "first" if number == 0 else "next"
            print(f"{which} judgement: {found.verdict}, {cpu:.1f} s CPU, {wall:.1f} s wall ({stages})", flush=True)


if __name__ == "__main__":
    main()
