"""Who uses the LDS banks when: clocks handed out from the earliest free ones on.

The two LDS ports work side by side and their accesses interleave phase by phase in the banks. An access that starts
later may have been booked earlier (queues are filled ahead of time), so a single "free from here on" would leave holes
that the hardware does not have. This calendar keeps the booked intervals and fills the holes:

    banks = BankCalendar()
    banks.book(0, 16)      -> 16      clocks 0..15
    banks.book(23, 16)     -> 39      clocks 23..38
    banks.book(0, 16)      -> 48      clocks 16..22, then 39..47

Booked intervals that lie behind `forget(now)` are dropped.
"""

from __future__ import annotations


class BankCalendar:
    """Sorted, disjoint, non-touching busy intervals."""

    def __init__(self) -> None:
        self.busy: list[tuple[float, float]] = []

    def book(self, start: float, clocks: float) -> float:
        """Takes the first `clocks` free clocks at or after `start`; returns when the last of them ends."""
        at, left, end = start, clocks, start
        taken: list[tuple[float, float]] = []
        for first, last in self.busy:
            if last <= at:
                continue
            gap = min(first - at, left)
            if gap > 0:
                taken.append((at, at + gap))
                end = at + gap
                left -= gap
                if left <= 0:
                    break
            at = last
        if left > 0:
            taken.append((at, at + left))
            end = at + left
        self._merge(taken)
        return end

    def forget(self, now: float) -> None:
        while self.busy and self.busy[0][1] <= now:
            self.busy.pop(0)

    def _merge(self, taken: list[tuple[float, float]]) -> None:
        merged: list[tuple[float, float]] = []
        for first, last in sorted(self.busy + taken):
            if merged and first <= merged[-1][1]:
                merged[-1] = (merged[-1][0], max(last, merged[-1][1]))
            else:
                merged.append((first, last))
        self.busy = merged
