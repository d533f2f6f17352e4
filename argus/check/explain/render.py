"""A report as text, in the manner of rustc: code, place, source with carets, notes, help.

    error[conform]: the operands of an MFMA do not pair the same K
      --> gemm.py:47:9 in gemm
       |
    47 |         acc = ag.mfma(b[j][h], a[i][h], acc)
       |               ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
       = where: M=128 N=128 K=64, block=(0,0,0), kt=0, wave 0
       = a: thread 32 (lane 32) element 0 holds A[M=0, K=8], written at gemm.py:31 by thread 1
       = b: thread 32 (lane 32) element 0 holds B[N=0, K=4], written at gemm.py:32 by thread 0
       = help: read both operands with the layout they were stored with

A race is a table instead: what both share once, then one column per thread.
"""

from __future__ import annotations

from argus.check.report import Counterexample, Party, Report, Verdict
from argus.ir.kernel import Kernel
from argus.ir.types import Span


def render(report: Report) -> str:
    blocks = [_verdict(report.kernel, v) for v in report.verdicts if v.status != "proved"]
    proved = [v for v in report.verdicts if v.status == "proved"]
    if proved:
        lines = [_proved_line(v) for v in proved]
        if report.premises:
            lines.append(f"value is proved where {' and '.join(report.premises)}")
        rounding = report.rounding
        if rounding is not None:
            lines += [bound.text() for bound in rounding.bounds]
            lines += [f"note: {hazard.text()}" for hazard in rounding.hazards]
        blocks.append("\n".join(lines))
    count = report.count()
    parts = [f"{count[s]} {s}" for s in ("proved", "refuted", "unknown") if count[s]]
    executed = () if report.executed is None else (report.executed.note(),)
    notes = "".join(f"; {note}" for note in (*executed, *report.notes))
    blocks.append(f"{report.kernel.name}: {', '.join(parts) or 'nothing to check'} in {report.seconds:.2f} s{notes}")
    return "\n\n".join(blocks)


def _proved_line(verdict: Verdict) -> str:
    bounds = ", ".join(f"{name} {_range(bound)}" for name, bound in verdict.bounds.items())
    sites = f"{verdict.sites} sites, " if verdict.sites > 1 else ""
    return f"proved[{verdict.rule}] {verdict.span} ({sites}by {verdict.decided_by}{'; ' + bounds if bounds else ''})"


def _range(bound: tuple[int | None, int | None]) -> str:
    low, high = ("" if b is None else str(b) for b in bound)
    return f"{low}..{high}"


def _verdict(kernel: Kernel, verdict: Verdict) -> str:
    if verdict.counterexample is None:
        lines = [f"unknown[{verdict.rule}]: {verdict.reason}", *_snippet(kernel, verdict.span)]
        if verdict.help:
            lines.append(f"{_gutter()} = help: {verdict.help}")
        return "\n".join(lines)
    found = verdict.counterexample
    lines = [
        f"error[{found.rule}]: {found.message}",
        *_snippet(kernel, found.span),
        f"{_gutter()} = where: {_where(found)}",
    ]
    if found.table:
        lines += _table(found)
    else:
        lines += [f"{_gutter()} = {_operand(o)}" for o in found.operands]
    lines += [f"{_gutter()} = {detail}" for detail in found.details]
    if found.help:
        lines.append(f"{_gutter()} = help: {found.help}")
    return "\n".join(lines)


def _gutter(number: int | None = None) -> str:
    return f"{'' if number is None else number:>5}"


def _snippet(kernel: Kernel, span: Span) -> list[str]:
    lines = [f"  --> {span} in {kernel.name}"]
    source = kernel.text_of(span.file).splitlines()
    if not 0 < span.line <= len(source):
        return lines
    text = source[span.line - 1]
    end = span.end_col if span.end_line == span.line else len(text)
    lines += [
        f"{_gutter()} |",
        f"{_gutter(span.line)} | {text}",
        f"{_gutter()} | {' ' * span.col}{'^' * max(1, end - span.col)}",
    ]
    return lines


def _where(found: Counterexample) -> str:
    parts = [" ".join(f"{name}={value}" for name, value in found.sizes.items())]
    parts.append(f"block=({','.join(str(b) for b in found.block)})")
    parts += [f"{name}={value}" for name, value in found.loop.items()]
    if not found.table:
        parts.append(f"wave {found.wave}")
    return ", ".join(p for p in parts if p)


def _operand(operand: Party) -> str:
    who = f"thread {operand.thread} (lane {operand.thread % 64}) element {operand.element}"
    text = f"{operand.name}: {who} {operand.does}"
    if operand.written_at is not None:
        span = operand.written_at.span
        text += f", written at {span.file}:{span.line} by thread {operand.written_at.thread}"
    return text


def _table(found: Counterexample) -> list[str]:
    """Rows of facts, one column per thread."""
    columns = [
        [
            f"thread {o.thread}",
            f"wave {o.thread // 64}, lane {o.thread % 64}",
            o.name,
            "" if o.span is None else f"{o.span.file}:{o.span.line}",
            o.does,
        ]
        for o in found.operands
    ]
    widths = [max(len(cell) for cell in column) for column in columns]
    rows = []
    for n in range(len(columns[0])):
        cells = " | ".join(column[n].ljust(width) for column, width in zip(columns, widths, strict=True))
        rows.append(f"{_gutter()} | {cells}".rstrip())
        if n == 0:
            rows.append(f"{_gutter()} | {'-+-'.join('-' * width for width in widths)}")
    return rows
