"""The stages of a kernel on its way to an object, as types, so that no step can be handed the wrong one.

    Kernel      as the reader made it: schedule regions are requests, order is the author's
    Scheduled   in the order in which it is emitted: what is proved and what is compiled are this one program
    Proved      a scheduled program with a report in which everything is proved   (`argus.pipeline`)
    Compiled    its code object, audited                                          (`argus.compile.compiler`)

Only `argus.ir.passes.schedule.scheduled` makes a `Scheduled`, and it is made once per kernel: checker, compiler, audit
and reports are given that one.
"""

from __future__ import annotations

from dataclasses import dataclass

from argus.ir.kernel import Kernel


@dataclass(frozen=True, slots=True, eq=False)
class Scheduled:
    """A program in its final order; `read` is the kernel as it was written."""

    kernel: Kernel
    read: Kernel

    @property
    def name(self) -> str:
        return self.kernel.name
