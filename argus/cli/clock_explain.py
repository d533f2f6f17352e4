"""`argus clock explain FILE|OBJECT …`: why a kernel takes its time (simulated).

    argus clock explain argus/kernels/gemm.py --shape M=1024,N=1024,K=1024
    argus clock explain x.co --kernel k --grid 32,22 --block 256 --arg … --json

The launch is given as for `argus time`. The text answers in order: what limits the launch, the time as a stack of
causes, the time without each cause, the source lines, which instruction waits for which, and counters under rocprofv3's
names. `--json` has all of it, complete, in the schema `argus.clock.explain` (docs/interfaces.md).
"""

from __future__ import annotations

import argparse
from typing import Any

from argus.cli.answers import ExplainTimeAnswer, emit
from argus.cli.time import given, without_mechanism
from argus.cli.usage import GOOD, UsageError
from argus.clock import Launch, Parameters, Recorded, Timing
from argus.clock.data_loops import with_data_loops
from argus.clock.explain import explain
from argus.clock.explain_text import explanation_text
from argus.clock.sampled import matrix_element, prepared, sample, time_prepared


def handle(args: argparse.Namespace) -> int:
    if args.top < 1:
        raise UsageError(f"--top takes at least 1, not {args.top}")
    timed = given(args)
    seen = sample(timed.work, args.seed)
    element = matrix_element(seen)

    def timer(recorded: Recorded, parameters: Parameters, **options: Any) -> tuple[Timing, Launch]:
        stated = {"clock_mhz": args.device_clock, "warm": args.warm, "protocol": args.protocol}
        timing, launch = time_prepared(timed.work, recorded, element, parameters=parameters, **stated, **options)
        return timing, with_data_loops(launch, seen.insts)

    parameters = without_mechanism(args)
    found = explain(
        prepared(seen, args.seed),
        timer,
        title=timed.title,
        places=timed.places,
        buffers=timed.buffers,
        parameters=parameters,
    )
    if args.json:
        emit(ExplainTimeAnswer, found.to_json())
    else:
        print(explanation_text(found, timed.files, args.top))
    return GOOD
