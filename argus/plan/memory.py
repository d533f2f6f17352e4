"""Places of temporaries in one arena: buffers whose lifetimes meet do not overlap, others may.

    placed(buffers, launches)      the buffers with `live` and `place`, and the bytes of the arena

A temporary lives from the launch that first writes it to the last one that reads it. Buffers are placed from the
largest to the smallest, each at the lowest place that is free during its life; ties go to the earlier one. That is not
the least arena there is, but no more than the temporaries together.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from argus.plan.plan import PlanBuffer, PlannedLaunch

ALIGNED = 256
"""Bytes that a place is a multiple of: a line of the caches, and the widest access."""


def lifetimes(launches: Sequence[PlannedLaunch]) -> dict[str, tuple[int, int]]:
    """First and last launch that touches a buffer."""
    found: dict[str, tuple[int, int]] = {}
    for number, launch in enumerate(launches):
        for view in launch.arguments.values():
            found[view.buffer] = (found.get(view.buffer, (number, number))[0], number)
    return found


def placed(buffers: Mapping[str, PlanBuffer], launches: Sequence[PlannedLaunch]) -> tuple[dict[str, PlanBuffer], int]:
    """The buffers with lifetimes and places, and the size of the arena in bytes."""
    live = lifetimes(launches)
    made = {name: replace(buffer, live=live.get(name, (0, 0))) for name, buffer in buffers.items()}
    done: list[PlanBuffer] = []
    for buffer in sorted((b for b in made.values() if b.kind == "temporary"), key=lambda b: (-b.bytes, b.live)):
        meeting = sorted((b for b in done if _meet(b, buffer)), key=lambda b: b.place)
        place = 0
        for other in meeting:
            if place + buffer.bytes <= other.place:
                break
            place = max(place, _rounded(other.place + other.bytes))
        made[buffer.name] = replace(buffer, place=place)
        done.append(made[buffer.name])
    return made, max((_rounded(b.place + b.bytes) for b in done), default=0)


def _meet(one: PlanBuffer, other: PlanBuffer) -> bool:
    return one.live[0] <= other.live[1] and other.live[0] <= one.live[1]


def _rounded(count: int) -> int:
    return -(-count // ALIGNED) * ALIGNED
