"""`argus compare A B …`: several launches that do the same work, timed in one run, in one table.

    argus compare "gemm.py --shape M=4096,N=4096,K=4096" \\
                  "triton.hsaco --kernel matmul --grid 1024 --block 512 --arg bf16[4096,4096]:normal …"

Each candidate is what `argus time` takes, in quotes. Every one is executed (a sample of its workgroups) and timed at
the stated and at the predicted sustained clock, then again under 20 perturbed clocks: the share of wins says whether
the ranking survives what is not known about the hardware. All figures are simulated.
"""

from __future__ import annotations

import argparse
import json
import shlex
import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NoReturn

from argus.cli.options import GOOD, UsageError
from argus.cli.time import TimedLaunch, add_time_arguments, given
from argus.clock import LABEL, PARAMETERS, Launch, Parameters, Recorded
from argus.clock.sampled import matrix_element, prepared, sample, time_prepared
from argus.clock.sensitivity import CLOCKS
from argus.clock.sensitivity import compare as under_perturbed_clocks

NAME = 70


class _Words(argparse.ArgumentParser):
    """The arguments of one candidate; a mistake in them is a mistake of the command."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{self.prog}: {message}")


@dataclass(frozen=True, slots=True)
class ComparedLaunch:
    """One launch with its executed sample."""

    timed: TimedLaunch
    recorded: Recorded
    element: str | None
    args: argparse.Namespace

    def launch(self, parameters: Parameters = PARAMETERS) -> Launch:
        return time_prepared(
            self.timed.work,
            self.recorded,
            self.element,
            parameters=parameters,
            clock_mhz=self.args.device_clock,
            warm=self.args.warm,
            protocol=self.args.protocol,
        )[1]

    def time_under(self) -> Callable[[Parameters], float]:
        return lambda parameters: self.launch(parameters).sustained.microseconds


def register(verbs: Any) -> None:
    parser = verbs.add_parser("compare", help="time several launches of the same work in one run (simulated)")
    parser.add_argument(
        "candidates", nargs="+", metavar="A", help='what `argus time` takes, in quotes: "FILE --shape …"'
    )
    parser.add_argument("--clocks", type=int, default=CLOCKS, help="perturbed clocks to repeat the comparison under")
    parser.add_argument("--seed", type=int, default=0, help="seed of the perturbed clocks")
    parser.add_argument("--json", action="store_true", help="machine-readable output")
    parser.set_defaults(handler=handle)


def handle(args: argparse.Namespace) -> int:
    if len(args.candidates) < 2:
        raise UsageError("a comparison needs at least two candidates")
    if args.clocks < 1:
        raise UsageError(f"--clocks takes at least 1, not {args.clocks}")
    found = [_candidate(text) for text in args.candidates]
    launches = [candidate.launch() for candidate in found]
    names = [f"{number}. {textwrap.shorten(text, NAME)}" for number, text in enumerate(args.candidates, 1)]
    timers = {name: candidate.time_under() for name, candidate in zip(names, found, strict=True)}
    result = under_perturbed_clocks(timers, seed=args.seed, count=args.clocks)
    fastest = min(launch.sustained.microseconds for launch in launches)
    rows = [
        {
            "candidate": name,
            "cycles": launch.cycles,
            "microseconds": launch.microseconds,
            "clock_mhz": launch.clock_mhz,
            "sustained_mhz": launch.sustained.clock_mhz,
            "sustained_microseconds": launch.sustained.microseconds,
            "tflops": launch.sustained.tflops,
            "hbm_gbps": launch.hbm_gbps,
            "bound": launch.bound,
            "relative": launch.sustained.microseconds / fastest,
            "wins": result.wins[name],
            "spread_microseconds": result.spread[name],
        }
        for name, launch in zip(names, launches, strict=True)
    ]
    if args.json:
        print(json.dumps({"label": LABEL, "clocks": args.clocks, "rows": rows}))
    else:
        print(_table(rows, args.clocks))
    return GOOD


def _candidate(text: str) -> ComparedLaunch:
    parser = _Words(prog=f"candidate {text!r}", add_help=False)
    add_time_arguments(parser)
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise UsageError(f"candidate {text!r}: {error}") from error
    args = parser.parse_args(words)
    timed = given(args)
    seen = sample(timed.work, args.seed)
    return ComparedLaunch(timed, prepared(seen, args.seed), matrix_element(seen), args)


def _table(rows: list[dict[str, Any]], clocks: int) -> str:
    lines = [LABEL, f"{'clk':>10} {'us':>9} {'at MHz':>7} {'TFLOPS':>8} {'slower':>7} {'wins':>6}  candidate"]
    for row in sorted(rows, key=lambda r: float(r["sustained_microseconds"])):
        rate = "-" if row["tflops"] is None else f"{row['tflops']:.1f}"
        lines.append(
            f"{row['cycles']:>10.0f} {row['sustained_microseconds']:>9.2f} {row['sustained_mhz']:>7.0f} {rate:>8} "
            f"{row['relative']:>6.2f}x {100 * row['wins']:>4.0f} %  {row['candidate']} ({row['bound']})"
        )
    lines.append(
        f"wins: share of {clocks} perturbed clocks in which the candidate is fastest; all figures are simulated"
    )
    return "\n".join(lines)
