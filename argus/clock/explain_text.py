"""An explanation as text for a terminal: time by cause, prices, source lines, waits, instructions, counters.

    print(explanation_text(explanation, files={"gemm.py": source}, top=10))

The order is that of the questions: what limits it, where the time goes, what each cause costs, which lines, which
instructions wait for which, and the counters to lay beside a real profile. docs/clock_explain.md reads one aloud.
"""

from __future__ import annotations

from collections.abc import Mapping

from argus.clock.explain import Explanation
from argus.clock.launch_stack import MEMORY_ROOFS, occupancy_text
from argus.clock.parameters import MODEL_VERSION
from argus.clock.stall_stack import CAUSES, WaitFor

SHOWN = 0.001
WIDTH = 46


def explanation_text(explanation: Explanation, files: Mapping[str, str] | None = None, top: int = 10) -> str:
    """The whole report; `files` holds the text of source files by name, `top` limits each table."""
    sections = [
        _head(explanation),
        _stack(explanation),
        _prices(explanation),
        _lines(explanation, files or {}, top),
        _conflicts(explanation, top),
        _waits(explanation, top),
        _instructions(explanation, top),
        _counters(explanation),
    ]
    notes = [f"note: {note}" for note in explanation.launch.notes]
    return "\n\n".join(section for section in [*sections, "\n".join(notes)] if section)


def _head(found: Explanation) -> str:
    launch, timing = found.launch, found.timing
    roofs = "  ".join(f"{text} {100 * launch.parts[name] / launch.cycles:.0f} %" for name, text in MEMORY_ROOFS.items())
    return "\n".join(
        [
            f"{found.title}: {launch.summary()}; simulated, model {MODEL_VERSION}",
            f"{found.bound[0]}: {found.bound[1]}",
            f"grid        {launch.grid} workgroups, {launch.rounds:.2f} rounds on the fullest CU",
            f"occupancy   {occupancy_text(timing)}",
            "units busy  " + "  ".join(f"{name} {100 * share:.0f} %" for name, share in timing.utilisation.items()),
            f"rooflines   matrix {100 * timing.utilisation['matrix']:.0f} %  {roofs}  (time at that limit alone)",
        ]
    )


def _stack(found: Explanation) -> str:
    groups: dict[str, float] = {}
    for part in found.parts:
        groups[part.group] = groups.get(part.group, 0.0) + part.microseconds
    lines = [f"time by cause (the parts sum to {found.microseconds:.2f} us)", f"{'us':>9} {'%':>6}"]
    for group, total in sorted(groups.items(), key=lambda item: -item[1]):
        lines.append(f"{total:>9.2f} {100 * total / found.microseconds:>6.1f}  {group}")
        inside = [part for part in found.parts if part.group == group]
        for part in sorted(inside, key=lambda p: -p.microseconds):
            if abs(part.microseconds) >= SHOWN * found.microseconds:
                share = 100 * part.microseconds / found.microseconds
                lines.append(f"{part.microseconds:>9.2f} {share:>6.1f}    {part.title}")
    return "\n".join(lines)


def _prices(found: Explanation) -> str:
    lines = ["what-if (the launch timed again without one cost)", f"{'us':>9} {'saved':>6}"]
    for price in found.prices:
        lines.append(f"{price.microseconds:>9.2f} {_percent(price.saved):>4} %  no {price.name}")
    return "\n".join(lines)


def _mostly(found: Explanation, causes: Mapping[str, float], count: int = 3) -> str:
    ranked = sorted(causes.items(), key=lambda item: -item[1])[:count]
    shown = [(cause, clocks) for cause, clocks in ranked if clocks >= SHOWN * found.stack.total]
    return ", ".join(f"{CAUSES[cause].title} {100 * clocks / found.stack.total:.1f}" for cause, clocks in shown)


def _lines(found: Explanation, files: Mapping[str, str], top: int) -> str:
    if not found.places:
        return ""
    lines = ["source lines (% of the wave-clocks of one CU)", f"{'%':>6}  line"]
    for place, causes in list(found.stack.by_place(found.places, found.ops).items())[:top]:
        share = 100 * sum(causes.values()) / found.stack.total
        text = _source(place, files) or "(code of no single line)"
        lines.append(f"{share:>6.1f}  {place or '-':<16}  {text}".rstrip())
        mostly = _mostly(found, causes)
        lines += [f"{'':>6}  {'':<16}    {mostly}"] if mostly else []
    return "\n".join(lines)


def _conflicts(found: Explanation, top: int) -> str:
    rows = found.lds_conflicts()[:top]
    if not rows:
        return ""
    lines = ["LDS bank conflicts by buffer and line (clocks of one CU, % of its clocks)", f"{'clk':>9} {'%':>6}"]
    for buffer, place, clocks in rows:
        share = 100 * clocks / found.timing.cycles
        lines.append(f"{clocks:>9.0f} {share:>6.1f}  {buffer or '-':<10}  {place or '-'}")
    return "\n".join(lines)


def _source(place: str, files: Mapping[str, str]) -> str:
    name, _, number = place.partition(":")
    lines = files.get(name, "").splitlines()
    return lines[int(number) - 1].strip() if number.isdigit() and 0 < int(number) <= len(lines) else ""


def _waits(found: Explanation, top: int) -> str:
    if not found.stack.waits:
        return ""
    lines = ["waits (% of the wave-clocks of one CU): what waited, for what, served by what"]
    lines += [_wait(found, wait) for wait in found.stack.waits[:top]]
    return "\n".join(lines)


def _wait(found: Explanation, wait: WaitFor) -> str:
    share = 100 * wait.wave_clocks / found.stack.total
    source = found.ops[wait.source].text if wait.source >= 0 else "not known"
    return (
        f"{share:>6.1f}  {found.place(wait.at):<16} {_short(found.ops[wait.at].text, 22):<22} for "
        f"{found.place(wait.source):<16} {_short(source, WIDTH):<{WIDTH}} {wait.served_by}"
    )


def _instructions(found: Explanation, top: int) -> str:
    ranked = sorted(found.stack.by_op.items(), key=lambda item: (-sum(item[1].values()), item[0]))[:top]
    lines = ["instructions (% of the wave-clocks of one CU)", f"{'%':>6} {'executed':>9}  pc"]
    for index, causes in ranked:
        op = found.ops[index]
        share = 100 * sum(causes.values()) / found.stack.total
        conflicts = f"; {found.conflicts[index]:.0f} clk of bank conflicts" if found.conflicts.get(index) else ""
        lines.append(
            f"{share:>6.1f} {found.timing.rows[index].executed:>9}  {op.pc:#07x}  {_short(op.text, WIDTH):<{WIDTH}} "
            f"{found.place(index):<16} {_mostly(found, causes, 2)}{conflicts}".rstrip()
        )
    return "\n".join(lines)


def _counters(found: Explanation) -> str:
    lines = ["counters of one launch (= defined as rocprofv3's, ~ similar; docs/clock_explain.md)"]
    for counter in found.counters:
        sign = "=" if counter.match == "same" else "~"
        note = f" ({counter.note})" if counter.note else ""
        lines.append(f"{counter.value:>16.0f} {sign} {counter.name:<30} {counter.unit}{note}")
    return "\n".join(lines)


def _short(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 1] + "…"


def _percent(share: float) -> str:
    rounded = round(100 * share)
    return f"{rounded or 0}"
