"""The panel at the bottom of a terminal while a run goes on, redrawn in place by `rich`.

    panel = LivePanel(stream, lambda: Shown(waiting=[("row-resident: …", 4.2)], …))
    panel.print(line, "green")        a line above the panel, which stays
    panel.close()                     the panel goes, the cursor is back

`shown` is asked anew at every redraw, four times a second, from a thread of rich's: it only reads. Text is printed as
it is, never read as markup.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TextIO

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.spinner import Spinner
from rich.table import Table
from rich.text import Text

from argus.agent.pace import duration

REDRAWN = 4


@dataclass(frozen=True, slots=True)
class Shown:
    """What the panel says: candidates under way with their seconds, facts about the best, shares done."""

    waiting: Sequence[tuple[str, float]]
    facts: Sequence[tuple[str, str]]
    roofline: float | None
    done: int
    budget: int
    elapsed: float
    left: float | None
    since_event: float


def console_for(stream: TextIO) -> Console:
    return Console(file=stream, highlight=False, markup=False, emoji=False)


class LivePanel:
    """Begins at once; `close` must be called."""

    def __init__(self, console: Console, shown: Callable[[], Shown]) -> None:
        self._shown = shown
        self._spinner = Spinner("dots", style="cyan")
        self._console = console
        self._live = Live(
            console=console, get_renderable=self._render, refresh_per_second=REDRAWN, transient=True, screen=False
        )
        self._live.start()

    @property
    def width(self) -> int:
        return self._console.width

    def print(self, line: str, style: str = "") -> None:
        self._console.print(Text(line, style=style))

    def redraw(self) -> None:
        self._live.refresh()

    def close(self) -> None:
        self._live.stop()

    def _render(self) -> RenderableType:
        return rendered(self._shown(), self._spinner)


def rendered(shown: Shown, spinner: RenderableType = "") -> RenderableType:
    """The panel of one moment."""
    under_way = Table.grid(padding=(0, 1), expand=True)
    under_way.add_column(width=1)
    under_way.add_column(ratio=1, no_wrap=True, overflow="ellipsis")
    under_way.add_column(justify="right", no_wrap=True, style="cyan")
    for what, seconds in shown.waiting:
        under_way.add_row(spinner, Text(what), duration(seconds))
    facts = Table.grid(padding=(0, 2))
    facts.add_column(style="dim", no_wrap=True)
    facts.add_column(overflow="fold")
    for name, said in shown.facts:
        facts.add_row(name, Text(said))
    if shown.roofline is not None:
        facts.add_row("roofline", _bar(shown.roofline, f"{100 * shown.roofline:.1f} %"))
    left = "" if shown.left is None else f", ETA {duration(shown.left)}"
    said = f"{shown.done} of {shown.budget}, {duration(shown.elapsed)} so far{left}"
    facts.add_row("evaluations", _bar(shown.done / max(1, shown.budget), said))
    facts.add_row("last event", f"{duration(shown.since_event)} ago")
    return Group(Text("─" * 12, style="dim"), under_way, facts)


def _bar(share: float, said: str) -> RenderableType:
    row = Table.grid(padding=(0, 1))
    row.add_column(width=30)
    row.add_column()
    row.add_row(ProgressBar(total=1.0, completed=min(1.0, share), width=30), Text(said))
    return row
