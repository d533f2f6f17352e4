"""What a person sees while a run goes on: the best so far against start and roof, every attempt with its reason.

What is being judged is shown before its judgement is there, with the reason. On a terminal that and the best so far are
a panel at the bottom (`argus.agent.live_panel`), with the seconds of each candidate under way, the seconds since the
last event and the time left; elsewhere everything is a line. The heading says whether times are simulated or measured.

         trying  fragment-prefetch depth=fragments: the next fragments early: bottleneck lds
    14  step 6   fragment-prefetch depth=fragments      pass     301.2 µs (277.1 to 346.4)   1.31x  lds
    15  step 6   block-sizes tiles_row=4 …              fail     C301 142 registers do not fit …

Names, reasons and messages may come from a model or a foreign file: characters that are not printable (the escape of
a terminal's commands above all) are shown as `�`.
"""

from __future__ import annotations

import math
import sys
import textwrap
import time
from collections import Counter
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TextIO

from argus.agent.bottleneck import bottleneck
from argus.agent.labels import heading
from argus.agent.pace import Pace
from argus.agent.reward import roof_share
from argus.agent.search_state import SearchCandidate, State
from argus.agent.time_text import described

if TYPE_CHECKING:
    from argus.agent.live_panel import LivePanel, Shown

TAUGHT = 3
NEAR_ROOF = 0.9
WIDTH = 110
WHAT, REST = 52, 76
"""Columns of an attempt's line: technique with parameters, and everything else."""
STYLES = {"fail": "red", "error": "yellow", "unknown": "yellow"}


class RunView:
    """Prints to a stream, and on a terminal keeps a panel below what is printed; a context manager."""

    def __init__(self, stream: TextIO | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        self._out = stream or sys.stdout
        self._pace = Pace(clock)
        self._panel: LivePanel | None = None
        self._violations: Counter[str] = Counter()
        self._waiting: list[str] = []
        self._state: State | None = None
        self._budget = 0

    def __enter__(self) -> RunView:
        return self

    def __exit__(self, *_: object) -> None:
        self._close()

    def start(self, title: str, device: str, budget: int = 0) -> None:
        self._budget = budget
        print(f"{printable(title)}\n{heading(device)}", file=self._out, flush=True)
        if self._out.isatty():
            from argus.agent.live_panel import LivePanel, console_for

            console = console_for(self._out)
            if not console.is_dumb_terminal:
                self._panel = LivePanel(console, self._shown)

    def trying(self, technique: str, params: Mapping[str, Any], why: str) -> None:
        """An attempt that goes to the judge now."""
        line = printable(f"{_what(technique, params)}: {textwrap.shorten(why, 120, placeholder=' …')}")
        self._waiting.append(line)
        self._pace.tried()
        if self._panel is None:
            print(f"     trying  {line}", file=self._out, flush=True)
        else:
            self._panel.redraw()

    def listen(self, state: State, candidate: SearchCandidate) -> None:
        """One attempt, judged; they come in the order they were tried in."""
        self._state = state
        self._waiting = self._waiting[1:]
        self._pace.judged()
        self._violations.update({v.rule for v in candidate.judgement.violations})
        if self._panel is None:
            print(attempt_line(state, candidate), file=self._out, flush=True)
        else:
            line = attempt_line(state, candidate, max(20, min(WHAT, self._panel.width - REST)))
            best = state.best.number == candidate.number
            self._panel.print(line, "bold green" if best else STYLES.get(candidate.judgement.verdict, ""))

    def end(self, state: State) -> None:
        """How it ended, and the most telling of what was learnt."""
        self._close()
        share = f"roofline {100 * roof_share(state.best.judgement):.1f} %"
        facts = [f"{name} {said}" for name, said in self._facts(state)]
        counted = f"{state.spent} of {state.settings.budget} evaluations"
        taught = [f"learnt: {line}" for line in state.learnt.rows_in_words(most=TAUGHT)]
        lines = [*facts[:1], share, counted, *facts[1:], f"ended: {state.ended}", *_library(state), *taught]
        wrapped = [piece for line in lines for piece in textwrap.wrap(line, WIDTH) or [""]]
        print("\n".join(wrapped), file=self._out, flush=True)

    def _close(self) -> None:
        if self._panel is not None:
            self._panel.close()
            self._panel = None

    def _shown(self) -> Shown:
        """The panel of this moment."""
        from argus.agent.live_panel import Shown

        state = self._state
        done = 0 if state is None else state.spent
        return Shown(
            waiting=list(zip(self._waiting, self._pace.waiting(), strict=False)),
            facts=[] if state is None else self._facts(state),
            roofline=None if state is None else roof_share(state.best.judgement),
            done=done,
            budget=self._budget,
            elapsed=self._pace.since_start(),
            left=self._pace.left(self._budget - done),
            since_event=self._pace.since_event(),
        )

    def _facts(self, state: State) -> list[tuple[str, str]]:
        naive, best = state.naive.microseconds, state.best.microseconds
        passed = sum(c.judgement.verdict == "pass" for c in state.candidates)
        wrong = ", ".join(f"{rule} {n}" for rule, n in self._violations.most_common(5)) or "none"
        gain = _times(naive, best)
        found = [
            (
                "best",
                f"{_time(state.best)}{f', speed-up of {gain} over' if gain else ', beside'} the naive "
                f"{_time(state.naive)}, bottleneck {bottleneck(state.best.judgement)}",
            ),
            ("passed", f"{passed}; violations: {wrong}"),
            ("way", " > ".join(step.split(" ", 1)[0] for step in state.best.done) or "naive"),
        ]
        return [(name, printable(said)) for name, said in found]


def attempt_line(state: State, candidate: SearchCandidate, width: int = WHAT) -> str:
    """One line about one attempt; `width`: of its technique and parameters."""
    what = _what(candidate.technique, candidate.params, width)
    judged = candidate.judgement
    head = f"{candidate.number:>3}  step {candidate.step:<3} {what:<{width}} {judged.verdict:<8}"
    if judged.verdict == "pass":
        parent = state.candidates[candidate.parent] if candidate.parent is not None else candidate
        speed = _times(parent.microseconds, candidate.microseconds)
        best = "  best" if state.best.number == candidate.number else ""
        return printable(f"{head} {_time(candidate):>28} {speed:>7}  {bottleneck(judged)}{best}")
    first = judged.violations[0] if judged.violations else None
    said = judged.stage if first is None else f"{judged.stage}: {first.rule} {first.message}"
    repair = (
        f"  <- {candidate.why}" if candidate.why.startswith(("race_free", "fresh", "bank_free", "in_bounds")) else ""
    )
    return printable(f"{head} {textwrap.shorten(said, 90, placeholder=' …')}{repair}")


def printable(text: str) -> str:
    """The text with nothing in it that a terminal would obey."""
    return "".join(letter if letter.isprintable() else "�" for letter in text)


def _library(state: State) -> list[str]:
    """The library's kernel for the task, where the search is stuck below the roof."""
    stuck = roof_share(state.best.judgement) < NEAR_ROOF
    return (
        [f"the library has a kernel for this: {printable(state.task.library)}"] if stuck and state.task.library else []
    )


def _what(technique: str, params: Mapping[str, Any], width: int = WHAT) -> str:
    words = " ".join(f"{k}={v}" for k, v in params.items())
    return textwrap.shorten(f"{technique} {words}", width, placeholder=" …")


def _time(candidate: SearchCandidate) -> str:
    if not math.isfinite(candidate.microseconds):
        return "no time"
    return described(candidate.judgement.times, candidate.judgement.intervals, regime=False)


def _times(before: float, after: float) -> str:
    return f"{before / after:.2f}x" if math.isfinite(before) and math.isfinite(after) else ""
