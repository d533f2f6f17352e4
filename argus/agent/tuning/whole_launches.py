"""Launches that were cut into parts (`argus.plan.chunks`) as the ones they were cut from.

    whole([rows 0 to 65535, rows 65536 to 100000])     [all 100000 rows]

Two plans that differ in where a launch is cut have the same whole launches. A part follows another if kernel, meaning
and other sizes are the same and every array begins where the other part's ends, along one axis each, or is the same.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

Launch = dict[str, Any]
APART = ("sizes", "arguments")


def whole(launches: Iterable[Launch]) -> list[Launch]:
    """Launches as plain data (`PlannedLaunch.to_json`), neighbors joined as far as they are parts of one."""
    found: list[Launch] = []
    for launch in launches:
        joined = _joined(found[-1], launch) if found else None
        if joined is None:
            found.append(launch)
        else:
            found[-1] = joined
    return found


def _joined(first: Launch, second: Launch) -> Launch | None:
    """Both as one launch, if the second is the part behind the first."""
    if first.keys() != second.keys() or first["arguments"].keys() != second["arguments"].keys():
        return None
    if any(first[key] != second[key] for key in first if key not in APART):
        return None
    views, cuts = {}, set()
    for name, view in first["arguments"].items():
        behind = second["arguments"][name]
        if view == behind:
            views[name] = view
            continue
        axis = _axis(view, behind)
        if axis is None:
            return None
        cuts.add((view["shape"][axis], behind["shape"][axis]))
        shape = [e + behind["shape"][axis] if at == axis else e for at, e in enumerate(view["shape"])]
        views[name] = {**view, "shape": shape}
    for symbol, extent in first["sizes"].items():
        others = {**second["sizes"], symbol: extent} == first["sizes"]
        if others and cuts == {(extent, second["sizes"][symbol])}:
            return {**first, "sizes": {**first["sizes"], symbol: extent + second["sizes"][symbol]}, "arguments": views}
    return None


def _axis(view: Launch, behind: Launch) -> int | None:
    """The axis along which a view begins where another ends."""
    if any(view[key] != behind[key] for key in ("buffer", "strides")):
        return None
    for axis, (extent, stride) in enumerate(zip(view["shape"], view["strides"], strict=True)):
        same = [e for at, e in enumerate(view["shape"]) if at != axis]
        if behind["offset"] == view["offset"] + extent * stride and same == [
            e for at, e in enumerate(behind["shape"]) if at != axis
        ]:
            return axis
    return None
