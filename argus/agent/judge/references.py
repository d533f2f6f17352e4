"""Specified values that were computed before: the same inputs and the same part of the output have the same ones.

    known = References().of(("shapes", 0, "normal", 7))      of these inputs
    known(box, make)                                         the values of that part of the output; made the first time

Candidates of a problem are judged on the same data, and many write the same blocks; the float64 reference of a block of
256 x 256 with 4096 products each takes longer than the candidate's run. All are forgotten when they take `KEPT_BYTES`.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field

from argus.spec import Bounded

Known = Callable[[Hashable, Callable[[], Bounded]], Bounded]
KEPT_BYTES = 1 << 28


@dataclass
class References:
    """Values by inputs and part of the output."""

    _kept: dict[tuple[Hashable, Hashable], Bounded] = field(default_factory=dict)
    _bytes: int = 0

    def of(self, inputs: Hashable) -> Known:
        """Those of one set of inputs, which `inputs` names."""

        def known(part: Hashable, make: Callable[[], Bounded]) -> Bounded:
            key = (inputs, part)
            found = self._kept.get(key)
            if found is None:
                found = make()
                size = found.value.nbytes + found.error.nbytes
                if self._bytes + size > KEPT_BYTES:
                    self._kept.clear()
                    self._bytes = 0
                self._kept[key] = found
                self._bytes += size
            return found

        return known


def unknown(part: Hashable, make: Callable[[], Bounded]) -> Bounded:
    """Nothing is remembered."""
    return make()
