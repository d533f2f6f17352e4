"""`argus compare A B …`: several launches that do the same work, timed in one run, in one table.

    argus compare "gemm.py --shape M=4096,N=4096,K=4096" \\
                  "triton.hsaco --kernel matmul --grid 1024 --block 512 --arg bf16[4096,4096]:normal …"

Each candidate is what `argus time` takes, in quotes. Every one is executed (a sample of its workgroups) and timed at
the stated and at the predicted sustained clock, then again under 20 perturbed clocks. The verdict of each against the
fastest is *tie* unless 1 lies outside the interval of the ratio of their times: under clocks that move everything
fitted or assumed, and with the spread of what the clock gets wrong between families of programs. Kernel files are one
family (one compiler made them), each object is one of its own. All figures are simulated.
"""

from __future__ import annotations

import argparse
import math
import shlex
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from argus.cli.answers import CompareAnswer, emit
from argus.cli.arguments.shared import add_time_arguments
from argus.cli.parser import ArgusParser
from argus.cli.time import TimedLaunch, given, without_mechanism
from argus.cli.usage import GOOD, CommandError, UsageError
from argus.clock import LABEL, PARAMETERS, Launch, Parameters, Recorded
from argus.clock.data_loops import with_data_loops
from argus.clock.paired import Paired, decided
from argus.clock.sampled import matrix_element, prepared, sample, time_prepared
from argus.clock.sensitivity import perturbed
from argus.clock.uncertainty import described, family_spread, interval_of, regime_of
from argus.gfx942.inst import Inst

NAME = 70


@dataclass(frozen=True, slots=True)
class ComparedLaunch:
    """One launch with its executed sample."""

    timed: TimedLaunch
    recorded: Recorded
    element: str | None
    args: argparse.Namespace
    insts: tuple[Inst, ...]

    def launch(self, parameters: Parameters = PARAMETERS) -> Launch:
        return time_prepared(
            self.timed.work,
            self.recorded,
            self.element,
            parameters=without_mechanism(self.args, parameters),
            clock_mhz=self.args.device_clock,
            warm=self.args.warm,
            protocol=self.args.protocol,
        )[1]

    @property
    def family(self) -> str:
        """What the clock's errors are shared with: all kernel files are of one compiler, an object is its own."""
        return "kernel files" if self.timed.files else str(self.args.file)


def handle(args: argparse.Namespace) -> int:
    if len(args.candidates) < 2:
        raise UsageError("a comparison needs at least two candidates")
    if args.clocks < 1:
        raise UsageError(f"--clocks takes at least 1, not {args.clocks}")
    found = [_candidate(text) for text in args.candidates]
    launches = [with_data_loops(candidate.launch(), candidate.insts) for candidate in found]
    verdicts = _verdicts(found, launches, perturbed(args.seed, args.clocks))
    rows = [
        {
            "candidate": f"{number}. {textwrap.shorten(text, NAME)}",
            "cycles": launch.cycles,
            "microseconds": launch.microseconds,
            "clock_mhz": launch.clock_mhz,
            "protocol": launch.protocol,
            "sustained_mhz": launch.sustained.clock_mhz,
            "sustained_microseconds": launch.sustained.microseconds,
            "interval": interval_of(launch).to_json(),
            "tflops": launch.sustained.tflops,
            "hbm_gbps": launch.hbm_gbps,
            "bound": launch.bound,
            "against_fastest": None if verdict is None else verdict.to_json(),
            "notes": list(launch.notes),
        }
        for number, (text, launch, verdict) in enumerate(zip(args.candidates, launches, verdicts, strict=True), 1)
    ]
    if args.json:
        emit(CompareAnswer, {"label": LABEL, "clocks": args.clocks, "rows": rows})
    else:
        print(_table(rows, launches, verdicts, args.clocks))
    return GOOD


def _verdicts(
    found: Sequence[ComparedLaunch], launches: Sequence[Launch], clocks: Sequence[Parameters]
) -> list[Paired | None]:
    """Each against the fastest, under the same perturbed clocks; None for the fastest itself."""

    def logs(candidate: ComparedLaunch) -> list[float]:
        return [math.log(candidate.launch(clock).sustained.microseconds) for clock in clocks]

    nominal = [math.log(launch.sustained.microseconds) for launch in launches]
    first = nominal.index(min(nominal))
    under = [logs(candidate) for candidate in found]
    verdicts: list[Paired | None] = []
    for number, candidate in enumerate(found):
        ratios = [one - other for one, other in zip(under[number], under[first], strict=True)]
        same = candidate.family == found[first].family
        spread = 0.0 if same else family_spread(regime_of(launches[number]), regime_of(launches[first]))
        pair = decided(nominal[number] - nominal[first], ratios, spread)
        verdicts.append(None if number == first else pair)
    return verdicts


def _candidate(text: str) -> ComparedLaunch:
    parser = ArgusParser(add_help=False)
    add_time_arguments(parser)
    try:
        args = parser.parse_args(shlex.split(text))
    except (ValueError, CommandError) as error:
        raise UsageError(f"candidate {text!r}: {error}") from error
    timed = given(args)
    seen = sample(timed.work, args.seed)
    return ComparedLaunch(timed, prepared(seen, args.seed), matrix_element(seen), args, seen.insts)


def _table(
    rows: Sequence[dict[str, Any]], launches: Sequence[Launch], verdicts: Sequence[Paired | None], clocks: int
) -> str:
    lines = [LABEL, f"{'clk':>10} {'at MHz':>7} {'TFLOPS':>8}  {'against the fastest':<38} candidate: time"]
    order = sorted(range(len(rows)), key=lambda number: launches[number].sustained.microseconds)
    for row, launch, verdict in ((rows[number], launches[number], verdicts[number]) for number in order):
        rate = "-" if row["tflops"] is None else f"{row['tflops']:.1f}"
        lines.append(
            f"{row['cycles']:>10.0f} {row['sustained_mhz']:>7.0f} {rate:>8}  "
            f"{'fastest' if verdict is None else verdict.text():<38} "
            f"{row['candidate']}: {described(launch)}, {row['bound']}"
        )
    lines += [f"note: {row['candidate']}: {note}" for row in rows for note in row["notes"]]
    lines.append(
        f"against the fastest: ratio of times with its 90 % interval, {clocks} perturbed clocks and the spread between "
        "families of programs; all figures are simulated"
    )
    return "\n".join(lines)
