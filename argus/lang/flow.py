"""Loops, barriers, waits and schedules: what orders the instructions of a wave and the waves of a workgroup."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

from argus.ir.ops import Op, SetPrio
from argus.lang import arguments as want
from argus.lang import grids
from argus.lang.context import MAX_LENGTH
from argus.lang.errors import Note
from argus.lang.values import NamedPolicy, Range, Unroll
from argus.layout.expr import Expr, const

if TYPE_CHECKING:
    from argus.lang.expressions import Expressions


def loop_range(interp: Expressions, *bounds: object, step: object = 1) -> object:
    ctx = interp.ctx
    if len(bounds) == 3:
        *bounds_, step = bounds
        bounds = tuple(bounds_)
    if len(bounds) not in (1, 2):
        raise ctx.error(
            "AG112",
            function="ag.range",
            problem=f"it takes range(n), range(lo, hi) or range(lo, hi, step), not {len(bounds)} bounds",
        )
    ends = [want.index(ctx, "ag.range", "a bound", b) for b in bounds]
    low, high = (const(0), ends[0]) if len(ends) == 1 else (ends[0], ends[1])
    for end in (low, high):
        if ctx.level(end) != "block":
            raise ctx.error("AG504", bound=str(end), who="lanes" if ctx.level(end) == "lane" else "waves")
    return Range(low, high, want.integer(ctx, "ag.range", "step", step, 1, 1 << 20))


def unroll(interp: Expressions, *counts: object) -> object:
    ctx = interp.ctx
    if not counts:
        raise ctx.error("AG112", function="ag.unroll", problem="it needs at least one count")
    axes: list[range] = []
    total = 1
    for c in counts:
        if isinstance(c, Expr):
            raise ctx.error("AG510", bound=str(c))
        n = want.integer(ctx, "ag.unroll", "count", c, 0, 1 << 20)
        axes.append(range(n))
        total *= n
    if total > MAX_LENGTH:
        raise ctx.error("AG115", what="an unrolled loop", limit=f"{MAX_LENGTH:,} copies")
    return Unroll(tuple(p[0] if len(p) == 1 else p for p in product(*axes)))


def together(interp: Expressions) -> None:
    """An error where not all waves of the workgroup are."""
    ctx = interp.ctx
    for level, span in ctx.divergence:
        if level != "block":
            raise ctx.error(
                "AG506", Note("the branch is decided here", span), who="lanes" if level == "lane" else "waves"
            )


def barrier(interp: Expressions, bare: object = False) -> None:
    ctx = interp.ctx
    together(interp)
    ctx.b.barrier(want.flag(ctx, "ag.barrier", "bare", bare))


def wait(interp: Expressions, vm: object = None, lgkm: object = None) -> None:
    ctx = interp.ctx
    if vm is None and lgkm is None:
        raise ctx.error("AG112", function="ag.wait", problem="say what to wait for: vm= (global memory) or lgkm= (LDS)")
    most = {name: top - 1 for name, top in ctx.target.counters.items()}  # the counter's largest number is no wait
    ctx.b.wait(
        None if vm is None else want.integer(ctx, "ag.wait", "vm", vm, 0, most["vm"]),
        None if lgkm is None else want.integer(ctx, "ag.wait", "lgkm", lgkm, 0, most["lgkm"]),
    )


def setprio(interp: Expressions, priority: object) -> None:
    interp.ctx.b.append(SetPrio(priority=want.integer(interp.ctx, "ag.setprio", "priority", priority, 0, 3)))


def opposite(interp: Expressions) -> object:
    """The second half of the waves one barrier behind the first; see `shift_phase`."""
    ctx = interp.ctx
    together(interp)
    if ctx.waves % 2:
        raise ctx.error("AG524", waves=ctx.waves)
    return NamedPolicy("opposite", {})


def shift_phase(interp: Expressions, late: bool) -> None:
    """A barrier that only one half of the waves passes: the second when the block begins, the first when it ends."""
    ctx = interp.ctx
    half = const(ctx.waves // 2)
    block: list[Op] = []
    with ctx.b.into(block):
        ctx.b.barrier(True)
    ctx.b.branch(ctx.wave.ge(half) if late else ctx.wave.lt(half), True, block, [], (), ())


def schedule(interp: Expressions, /, order: object = None, **ratios: object) -> object:
    ctx = interp.ctx
    params: dict[str, int | str] = {}
    if order is not None:
        params["order"] = text = want.text(ctx, "ag.schedule", "order", order)
        for word in text.replace(",", " ").split():
            name, star, count = word.partition("*")
            if name not in grids.SCHEDULE_CLASSES or (star and not count.isdecimal()):
                raise ctx.error("AG602", name=word, known=", ".join(grids.SCHEDULE_CLASSES))
    for name, ratio in ratios.items():
        if name not in grids.SCHEDULE_CLASSES:
            raise ctx.error("AG602", name=name, known=", ".join(grids.SCHEDULE_CLASSES))
        params[name] = want.integer(ctx, "ag.schedule", name, ratio, 1, 64)
    return NamedPolicy("schedule", params)
