"""One walk seen with other waits: the same ops and accesses, in a kernel that also waits where its registers need it.

    on the object      race_free   no waits but those its instructions show
                       fresh       the same order, and the waits for registers, which machine code was searched for

Tags flow through ops, and a wait is none that moves data, so the walk of one serves both; only rules that look at the
kernel's waits, or run it, must see the right one.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from argus.check.walk import KernelWalk
from argus.ir.passes.insert_waits import insert_waits


class Waited(KernelWalk):
    """The flow of a kernel as rules see it that assume every register to be waited for."""

    def __init__(self, flow: KernelWalk) -> None:
        self._flow = flow
        self.registers_arrive = True
        policies = {name: policy for name, policy in flow.kernel.policies.items() if name != "waits"}
        self.kernel = insert_waits(replace(flow.kernel, policies=policies))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._flow, name)
