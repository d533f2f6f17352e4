"""What a person sees of a run: a live panel on a terminal, plain lines elsewhere, and times that add up."""

from __future__ import annotations

import io
import os
import pty
import re
import threading
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, TextIO

import pytest
from rich.console import Console

from argus.agent.bottleneck import bottleneck
from argus.agent.judge import Violation
from argus.agent.live_panel import rendered
from argus.agent.optimise import optimise
from argus.agent.pace import Pace, duration
from argus.agent.policy import PolicyTable
from argus.agent.search_state import SearchCandidate, Settings, State
from argus.agent.view import RunView, attempt_line, printable
from argus.tasks.task import load_task
from tests.agent.test_search import Scripted

SETTINGS = Settings(seed=2, budget=8)
ESCAPE = "\x1b"


class Seconds:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_pace_counts_what_is_under_way_and_what_is_left() -> None:
    clock = Seconds()
    pace = Pace(clock)
    assert pace.left(8) is None
    pace.tried()
    pace.tried()
    clock.now += 10
    assert pace.waiting() == [10.0, 10.0]
    pace.judged()
    clock.now += 4
    assert pace.waiting() == [14.0]
    assert pace.since_event() == 4.0
    assert pace.left(3) == 3 * 10 - 4
    pace.judged()
    assert pace.left(3) == 3 * (10 + 4) / 2
    clock.now += 1000
    assert pace.left(3) == 0.0
    assert pace.since_start() == 1014.0


def test_answers_from_the_journal_do_not_make_the_rest_look_quick() -> None:
    clock = Seconds()
    pace = Pace(clock)
    for _ in range(20):
        pace.tried()
        pace.judged()
    assert pace.left(5) is None
    pace.tried()
    clock.now += 30
    pace.judged()
    assert pace.left(5) == 150.0


@pytest.mark.parametrize(("seconds", "said"), [(0.4, "0 s"), (48, "48 s"), (185, "3:05"), (3729.2, "1:02:09")])
def test_duration(seconds: float, said: str) -> None:
    assert duration(seconds) == said


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def _screen(view: RunView) -> str:
    """What the panel says now."""
    console = Console(file=io.StringIO(), width=120)
    with console.capture() as found:
        console.print(rendered(view._shown()))
    return found.get()


def test_the_panel_says_what_is_under_way_and_how_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    clock, stream = Seconds(), Terminal()
    view = RunView(stream, clock)
    seen: list[str] = []

    def trying(technique: str, params: Mapping[str, Any], why: str) -> None:
        view.trying(technique, params, why)
        clock.now += 7
        seen.append(_screen(view))

    with view:
        view.start("gemm, seed 2", "simulated", SETTINGS.budget)
        state = optimise(load_task("gemm"), SETTINGS, Scripted(), listen=view.listen, trying=trying)  # type: ignore[arg-type]
        last = _screen(view)
        clock.now += 33
        assert "last event  33 s ago" in re.sub(" {2,}", "  ", _screen(view))
        view.end(state)
    assert re.search(r"naive.*7 s\n", seen[0])
    assert "ETA" not in seen[0]
    assert "0 of 8" in seen[0]
    assert re.search(r"[1-7] of 8, .* so far, ETA \d", seen[3])
    assert "8 of 8" in last
    assert f"bottleneck {bottleneck(state.best.judgement)}" in last
    assert all(f"{c.technique}" in stream.getvalue() for c in state.candidates)
    assert stream.getvalue().rstrip().splitlines()[-1].startswith(("learnt:", "ended:"))
    assert f"{ESCAPE}[?25h" in stream.getvalue()[stream.getvalue().rindex(f"{ESCAPE}[?25l") :]


def test_a_real_terminal_gets_the_panel_and_its_cursor_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    ours, theirs = pty.openpty()
    read = bytearray()

    def drain() -> None:
        while True:
            try:
                found = os.read(ours, 65536)
            except OSError:
                return
            if not found:
                return
            read.extend(found)

    reader = threading.Thread(target=drain, daemon=True)
    reader.start()

    def interrupted(stream: TextIO) -> None:
        with RunView(stream) as view:
            view.start("gemm", "simulated", 8)
            view.trying("naive", {}, "the naive kernel")
            raise KeyboardInterrupt

    with os.fdopen(theirs, "w") as stream, pytest.raises(KeyboardInterrupt):
        interrupted(stream)
    reader.join(5)
    os.close(ours)
    text = read.decode()
    assert "last event" in text
    assert text.index(f"{ESCAPE}[?25l") < text.rindex(f"{ESCAPE}[?25h")


def test_where_there_is_no_terminal_everything_is_a_line() -> None:
    stream = io.StringIO()
    with RunView(stream) as view:
        view.start("gemm", "simulated", SETTINGS.budget)
        state = optimise(
            load_task("gemm"),
            SETTINGS,
            Scripted(),  # type: ignore[arg-type]
            listen=view.listen,
            trying=view.trying,
        )
        view.end(state)
    text = stream.getvalue()
    assert ESCAPE not in text
    assert "     trying  naive: the naive kernel\n" in text
    assert all(attempt_line(state, c).removesuffix("  best") in text for c in state.candidates)
    assert "8 of 8 evaluations" in text


def test_a_dumb_terminal_gets_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "dumb")
    stream = Terminal()
    with RunView(stream) as view:
        view.start("gemm", "simulated", 8)
        view.trying("naive", {}, "first")
    assert ESCAPE not in stream.getvalue()
    assert "trying  naive: first" in stream.getvalue()


def test_a_terminal_obeys_nothing_that_comes_from_a_candidate() -> None:
    hostile = f"{ESCAPE}[2J{ESCAPE}]0;owned\x07[red]x[/red]"
    stream = io.StringIO()
    view = RunView(stream)
    view.trying(hostile, {"a": hostile}, hostile)
    state = optimise(load_task("gemm"), replace(SETTINGS, budget=1), Scripted(), policy=PolicyTable())  # type: ignore[arg-type]
    judged = replace(state.naive.judgement, verdict="fail", violations=(Violation("race_free", hostile),))
    wrong = SearchCandidate(1, 1, 0, "", hostile, {}, hostile, (), judged)
    state = State(state.task, state.settings, state.policy, [state.naive, wrong])
    view.listen(state, wrong)
    assert ESCAPE not in stream.getvalue()
    assert "\x07" not in stream.getvalue()
    assert "[red]x[/red]" in stream.getvalue()
    assert printable("a\tb\u202ec") == "a�b�c"
