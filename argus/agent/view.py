"""What a person sees while a run goes on: the best so far against start and roof, every attempt with its reason.

What is being judged is shown before its judgement is there, with the reason. On a terminal that and the best so far are
a panel at the bottom, redrawn in place; elsewhere everything is a line. The heading says whether times are simulated or
measured.

         trying  fragment-prefetch depth=fragments: the next fragments early: bottleneck lds
    14  step 6   fragment-prefetch depth=fragments      pass     301.2 µs (277.1 to 346.4)   1.31x  lds
    15  step 6   block-sizes tiles_row=4 …              fail     C301 142 registers do not fit …
"""

from __future__ import annotations

import math
import shutil
import sys
import textwrap
from collections import Counter
from collections.abc import Mapping
from typing import Any, TextIO

from argus.agent.bottleneck import bottleneck
from argus.agent.labels import heading
from argus.agent.optimise import SearchCandidate, State
from argus.agent.reward import roof_share
from argus.agent.time_text import described

BAR = 30
TAUGHT = 3


class RunView:
    """Prints to a stream; `tty` says whether it can be redrawn."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._out = stream or sys.stdout
        self._tty = self._out.isatty()
        self._panel = 0
        self._violations: Counter[str] = Counter()
        self._waiting: list[str] = []
        self._state: State | None = None

    def start(self, title: str, device: str) -> None:
        print(f"{title}\n{heading(device)}", file=self._out, flush=True)

    def trying(self, technique: str, params: Mapping[str, Any], why: str) -> None:
        """An attempt that goes to the judge now."""
        line = f"     trying  {_what(technique, params)}: {textwrap.shorten(why, 120, placeholder=' …')}"
        self._waiting.append(line)
        if not self._tty:
            print(line, file=self._out)
        self._redraw()

    def listen(self, state: State, candidate: SearchCandidate) -> None:
        """One attempt, judged; they come in the order they were tried in."""
        self._state = state
        del self._waiting[:1]
        self._violations.update({v.rule for v in candidate.judgement.violations})
        self._clear()
        print(attempt_line(state, candidate), file=self._out)
        self._redraw()

    def end(self, state: State) -> None:
        """How it ended, and the most telling of what was learnt."""
        self._clear()
        taught = [f"learnt: {line}" for line in state.learnt.lessons(most=TAUGHT).splitlines()]
        print("\n".join([*self._lines(state), f"ended: {state.ended}", *taught]), file=self._out, flush=True)

    def _redraw(self) -> None:
        if self._tty:
            self._clear()
            waiting = [line[: _width() - 1] for line in self._waiting]
            lines = [*waiting, *(self._lines(self._state) if self._state is not None else ())]
            self._out.write("".join(f"{line}\n" for line in lines))
            self._panel = len(lines)
        self._out.flush()

    def _clear(self) -> None:
        if self._panel:
            self._out.write(f"\x1b[{self._panel}F\x1b[J")
            self._panel = 0

    def _lines(self, state: State) -> list[str]:
        naive, best = state.naive.microseconds, state.best.microseconds
        share = roof_share(state.best.judgement)
        passed = sum(c.judgement.verdict == "pass" for c in state.candidates)
        filled = round(BAR * min(1.0, share))
        wrong = ", ".join(f"{rule} {n}" for rule, n in self._violations.most_common(5)) or "none"
        lines = [
            f"best {_time(state.best)} ({_times(naive, best)} the naive {_time(state.naive)}), bottleneck "
            f"{bottleneck(state.best.judgement)}",
            f"roofline [{'#' * filled}{'.' * (BAR - filled)}] {100 * share:.1f} %",
            f"{state.spent} of {state.settings.budget} evaluations, {passed} passed; violations: {wrong}",
            f"way: {' > '.join(step.split(' ', 1)[0] for step in state.best.done) or 'naive'}",
        ]
        return [piece for line in lines for piece in textwrap.wrap(line, max(40, _width() - 1))]


def attempt_line(state: State, candidate: SearchCandidate) -> str:
    """One line about one attempt."""
    what = _what(candidate.technique, candidate.params)
    judged = candidate.judgement
    head = f"{candidate.number:>3}  step {candidate.step:<3} {what:<52} {judged.verdict:<8}"
    if judged.verdict == "pass":
        parent = state.candidates[candidate.parent] if candidate.parent is not None else candidate
        speed = _times(parent.microseconds, candidate.microseconds)
        best = "  best" if state.best.number == candidate.number else ""
        return f"{head} {_time(candidate, regime=False):>28} {speed:>7}  {bottleneck(judged)}{best}"
    first = judged.violations[0] if judged.violations else None
    said = judged.stage if first is None else f"{judged.stage}: {first.rule} {first.message}"
    repair = (
        f"  <- {candidate.why}" if candidate.why.startswith(("race_free", "fresh", "bank_free", "in_bounds")) else ""
    )
    return f"{head} {textwrap.shorten(said, 90, placeholder=' …')}{repair}"


def _width() -> int:
    return shutil.get_terminal_size((110, 24)).columns


def _what(technique: str, params: Mapping[str, Any]) -> str:
    words = " ".join(f"{k}={v}" for k, v in params.items())
    return textwrap.shorten(f"{technique} {words}", 52, placeholder=" …")


def _time(candidate: SearchCandidate, regime: bool = True) -> str:
    if not math.isfinite(candidate.microseconds):
        return "no time"
    return described(candidate.judgement.times, candidate.judgement.intervals, regime)


def _times(before: float, after: float) -> str:
    return f"{before / after:.2f}x" if math.isfinite(before) and math.isfinite(after) else ""
