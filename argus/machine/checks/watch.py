"""Watching registers and tracing waves.

    Watch("v5", lane=3, wave=0)            every change of v5 in lane 3 of wave 0, in every workgroup that runs
    Watch("s[4:5]", workgroup=2)           every change of the pair in every wave of workgroup number 2
    Watch("*", workgroup=0, wave=1)        a trace: every instruction of that wave and the registers it changed

`LaunchResult.events` lists them in order of execution.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from argus.gfx942.disasm import text
from argus.gfx942.hazards import SCC, registers
from argus.gfx942.inst import EXEC, M0, VCC, Inst
from argus.machine.checks.names import physical, scalar_name, vector_name
from argus.machine.errors import LaunchError
from argus.machine.state import Wave

Run = Callable[[Wave], Any]
_NAMED = {"vcc": (VCC, 2), "exec": (EXEC, 2), "m0": (M0, 1), "scc": (SCC, 1)}
_FORM = re.compile(r"([vas])(?:(\d+)|\[(\d+):(\d+)\])$")


@dataclass(frozen=True, slots=True)
class Watch:
    """What to watch; None means every one. `workgroup` is the linear number."""

    register: str
    workgroup: int | None = None
    wave: int | None = None
    lane: int | None = None


@dataclass(frozen=True, slots=True)
class WatchEvent:
    """A register changed, or (register "") an instruction was executed."""

    workgroup: int
    wave: int
    step: int
    pc: int
    instruction: str
    register: str = ""
    lane: int | None = None
    old: int = 0
    new: int = 0

    def __str__(self) -> str:
        where = f"workgroup {self.workgroup} wave {self.wave} step {self.step} {self.pc:#x} {self.instruction}"
        if not self.register:
            return where
        lane = f"[{self.lane}]" if self.lane is not None else ""
        return f"{where}: {self.register}{lane} {self.old:#x} -> {self.new:#x}"


def _parse(name: str) -> tuple[str, int, int]:
    """(kind, first, count) of a register name."""
    if name in _NAMED:
        return ("s", *_NAMED[name])
    match = _FORM.match(name)
    if match is None:
        raise LaunchError(f"cannot watch {name!r}: write v5, a3, s4, s[4:5], vcc, exec, m0, scc or *")
    first = int(match[2] or match[3])
    return match[1], first, int(match[4]) - first + 1 if match[4] else 1


class Watcher:
    """Compares watched registers around every instruction that writes them."""

    def __init__(self, watches: Sequence[Watch], accum_offset: int, limit: int) -> None:
        self.events: list[WatchEvent] = []
        self._limit = limit
        self._accum = accum_offset
        self._traces = [w for w in watches if w.register == "*"]
        self._registers = [(w, *_parse(w.register)) for w in watches if w.register != "*"]

    def wrap(self, inst: Inst, run: Run) -> Run:
        use = registers(inst)
        vectors = {physical(k, self._accum) for k in use.writes}
        scalars = set(use.scalar_writes)
        chosen: list[tuple[Watch, tuple[int, ...], tuple[int, ...]]] = [
            (watch, tuple(sorted(vectors)), tuple(sorted(scalars))) for watch in self._traces
        ]
        for watch, kind, first, count in self._registers:
            wanted = set(range(first, first + count))
            if kind == "s" and wanted & scalars:
                chosen.append((watch, (), tuple(sorted(wanted & scalars))))
            elif kind != "s":
                moved = {n + self._accum for n in wanted} if kind == "a" else wanted
                if moved & vectors:
                    chosen.append((watch, tuple(sorted(moved & vectors)), ()))
        if not chosen:
            return run

        def watched(w: Wave) -> Any:
            active = [c for c in chosen if self._applies(c[0], w)]
            if not active or len(self.events) >= self._limit:
                return run(w)
            before = [(self._rows(w, v), self._scalars(w, s)) for _, v, s in active]
            result = run(w)
            for (watch, v, s), (rows, values) in zip(active, before, strict=True):
                self._note(w, inst, watch, v, s, rows, values)
            return result

        return watched

    def _applies(self, watch: Watch, w: Wave) -> bool:
        return watch.workgroup in (None, w.group.number) and watch.wave in (None, w.index)

    def _rows(self, w: Wave, numbers: tuple[int, ...]) -> list[list[int]]:
        return [w.v[n].tolist() for n in numbers]

    def _scalars(self, w: Wave, numbers: tuple[int, ...]) -> list[int]:
        return [int(w.scc) if n == SCC else w.s[n] for n in numbers]

    def _note(
        self,
        w: Wave,
        inst: Inst,
        watch: Watch,
        vectors: tuple[int, ...],
        scalars: tuple[int, ...],
        rows: list[list[int]],
        values: list[int],
    ) -> None:
        base = (w.group.number, w.index, w.steps, inst.pc, text(inst))
        if watch.register == "*":
            self.events.append(WatchEvent(*base))
        for n, old_row, new_row in zip(vectors, rows, self._rows(w, vectors), strict=True):
            for lane in range(64) if watch.lane is None else (watch.lane,):
                if old_row[lane] != new_row[lane]:
                    name = vector_name(n, self._accum)
                    self.events.append(WatchEvent(*base, name, lane, old_row[lane], new_row[lane]))
        for n, old, new in zip(scalars, values, self._scalars(w, scalars), strict=True):
            if old != new:
                self.events.append(WatchEvent(*base, scalar_name(n), None, old, new))
