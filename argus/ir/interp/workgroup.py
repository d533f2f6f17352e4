"""A workgroup: its waves, its LDS, and an adversary who decides which wave goes next.

Waves between two barriers may run in any order. The schedules here are the extreme ones: the first wave runs as far as
it can before the next starts, or the last does, or all go step by step. Together with the two visibilities (`early`,
`late`) they make most missing barriers and waits change the result; the shadow state finds them all as hazards. The
arms of a branch that splits a wave run in either order (`arms`).
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from argus.ir.interp.memory import Bytes, Hazard, Shadow, Token
from argus.ir.interp.wave import InterpError, InterpWave, OpEvent, Pause, StoreEvent
from argus.ir.kernel import BLOCK_X, BLOCK_Y, BLOCK_Z, Kernel
from argus.ir.ops import Memory, Op, Shared, Tensor
from argus.ir.semantics.fitting_numbers import Watched

STEP_LIMIT = 20_000_000
BLOCK = (BLOCK_X, BLOCK_Y, BLOCK_Z)


@dataclass(frozen=True, slots=True)
class InterpSchedule:
    """`order` of waves between barriers; `visibility` of an access: at issue, or as late as its wave's waits allow;
    `arms`: which arm of a branch goes first where a wave takes both."""

    order: Literal["forward", "reverse", "lockstep", "random"] = "forward"
    visibility: Literal["early", "late"] = "late"
    seed: int = 0
    arms: Literal["then", "else"] = "then"


ADVERSARIES: tuple[InterpSchedule, ...] = (
    InterpSchedule("forward", "late"),
    InterpSchedule("reverse", "late"),
    InterpSchedule("forward", "early"),
    InterpSchedule("reverse", "early"),
    InterpSchedule("lockstep", "late"),
    InterpSchedule("forward", "late", arms="else"),
)


class InterpWorkgroup:
    """State shared by the waves of one workgroup, and their execution to the end."""

    def __init__(
        self,
        kernel: Kernel,
        block: tuple[int, int, int],
        env: Mapping[str, int],
        scalars: Mapping[str, float | int],
        global_memory: dict[Tensor, Bytes],
        writes: dict[str, NDArray[np.int32]],
        hazards: list[Hazard],
        schedule: InterpSchedule,
        watch: Mapping[int, Callable[[OpEvent], None]],
        results: Mapping[int, Callable[[OpEvent], None]],
        provenance: bool,
        implied_waits: bool,
        emitted: frozenset[int],
        numbers: Watched,
        stored: Callable[[StoreEvent], None] | None = None,
    ) -> None:
        self.kernel = kernel
        self.block = block
        self.env: dict[str, Any] = {**env, **{v.name: n for v, n in zip(BLOCK, block, strict=True)}}
        self.scalars = scalars
        self.globals = global_memory
        self.writes = writes
        self.hazards = hazards
        self.schedule = schedule
        self.watch = watch
        self.results = results
        self.provenance = provenance
        self.implied_waits = implied_waits
        self.emitted = emitted
        self.numbers = numbers
        self.stored = stored
        self.branches = 0
        self.tokens: list[Token] = []
        self.steps = 0
        garbage = np.full(kernel.lds_bytes, 0xA5, dtype=np.uint8)
        self.lds = Bytes(garbage, provenance)
        self._shadows: dict[Tensor | None, Shadow] = {
            None: Shadow("lds", kernel.lds_bytes, kernel.waves, self.tokens, hazards)
        }
        for tensor in kernel.tensors:
            if tensor.written:
                size = len(global_memory[tensor].data)
                self._shadows[tensor] = Shadow(tensor.name, size, kernel.waves, self.tokens, hazards)

    def shadow(self, memory: Memory) -> Shadow | None:
        return self._shadows.get(None if isinstance(memory, Shared) else memory)

    def tensor_bytes(self, tensor: Tensor) -> int:
        return len(self.globals[tensor].data)

    def next_branch(self) -> int:
        """A number for one execution of a branch by one wave."""
        self.branches += 1
        return self.branches

    def count_step(self, op: Op) -> None:
        self.steps += 1
        if self.steps > STEP_LIMIT:
            raise InterpError(f"{op.span}: more than {STEP_LIMIT} operations in one workgroup")

    def run(self) -> None:
        waves = [InterpWave(self, n) for n in range(self.kernel.waves)]
        everyone = np.ones(64, dtype=np.bool_)
        running: dict[int, Iterator[Pause]] = {w.number: w.execute(self.kernel.body, everyone) for w in waves}
        waiting: set[int] = set()
        dice = random.Random(self.schedule.seed)
        while running:
            ready = [n for n in running if n not in waiting]
            if not ready:
                if len(running) < len(waves):
                    self.stuck(waves, waiting)
                    return
                waiting.clear()
                continue
            self.advance(self.choose(ready, dice), running, waiting, waves)

    def choose(self, ready: list[int], dice: random.Random) -> list[int]:
        match self.schedule.order:
            case "forward":
                return ready
            case "reverse":
                return ready[::-1]
            case "lockstep":
                return ready
            case "random":
                return [dice.choice(ready)]

    def advance(
        self, order: list[int], running: dict[int, Iterator[Pause]], waiting: set[int], waves: list[InterpWave]
    ) -> None:
        one_step = self.schedule.order in ("lockstep", "random")
        for n in order:
            while True:
                pause = next(running[n], None)
                if pause is None:
                    waves[n].finish()
                    del running[n]
                    break
                if pause == "barrier":
                    waiting.add(n)
                    break
                if one_step:
                    break

    def stuck(self, waves: list[InterpWave], waiting: set[int]) -> None:
        for n in waiting:
            waves[n].finish()
        first, ended = min(waiting), min(set(range(len(waves))) - waiting)
        sentence = f"wave {first} waits at a barrier that wave {ended} never reaches"
        self.hazards.append(Hazard("barrier", "", 0, (-1, first), (-1, ended), sentence))
