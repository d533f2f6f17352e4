"""How a time was, or would be, taken: what a measurement adds to the time from the first workgroup to the last.

    floor("graph")   -> 2.0     launches of one graph replayed back to back: the next is set up while one runs
    floor("stream")  -> 2.7     launched one after another into a stream, timed as the mean of many
    floor("event")   -> 5.0     each launch alone between two events, waited for: the events are in it
    floor("cold")    -> 2.1     each launch alone by a profiler, tensors rotated before: also nothing is warm

The floor is time, not clocks: command processor, first wave's start, drain. It is in the time of every launch, so two
launches pay it twice. The values are parameters (`launch_floor_*`) with their sources.
"""

from __future__ import annotations

from typing import Literal, get_args

from argus.clock.parameters import PARAMETERS, Parameters

Protocol = Literal["graph", "stream", "event", "cold"]
PROTOCOLS: tuple[Protocol, ...] = get_args(Protocol)


def floor(protocol: Protocol, parameters: Parameters = PARAMETERS) -> float:
    """Microseconds that this protocol adds to each launch."""
    return parameters[f"launch_floor_{protocol}"]
