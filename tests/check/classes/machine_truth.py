"""Truth from the machine: the compiled object under several orders of waves, on both executors, at several sizes.

A launch is right when every run gives the reference's result, no check of the machine reports anything, and no byte
beside an output has changed. The outputs start as a number that no kernel computes, so what nobody writes is seen.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from argus import machine
from argus.compile import CompileError, compile_kernel
from argus.compile.compiler import Compiled
from argus.device.guards import LaunchRefused, check_sizes
from argus.ir.interp import extents
from argus.ir.interp.numbers import numpy_dtype
from argus.ir.kernel import Kernel
from argus.ir.passes.schedule import scheduled
from argus.layout import expr as E
from argus.machine.checks import CheckName
from tests.check.classes.table import AttackClass

CHECKS: tuple[CheckName, ...] = ("waits", "lds-races", "global-races", "wait-states", "barriers")
RUNS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("checking", {"checks": CHECKS}),
    ("checking", {"schedule": "sequential"}),
    ("checking", {"schedule": "random", "quantum": 3, "seed": 1}),
    ("checking", {"schedule": "random", "quantum": 17, "seed": 2, "soffset_in_range": False}),
    ("checking", {"partial_in_range": True}),
    ("jit", {}),
)
UNTOUCHED = 77


def inputs(kernel: Kernel, sizes: Mapping[str, int], seed: int = 5) -> dict[str, Any]:
    """Small whole numbers, none of them zero."""
    dice = np.random.default_rng(seed)
    return {
        t.name: (1 + dice.integers(0, 9, extents(t, sizes))).astype(np.float32).astype(numpy_dtype(t.dtype))
        for t in kernel.tensors
        if t.read
    }


def object_of(kernel: Kernel) -> Compiled | str:
    """The compiled kernel, or why it is refused."""
    try:
        return compile_kernel(scheduled(kernel))
    except CompileError as error:
        return error.code


def differs(kernel: Kernel, compiled: Compiled, attack: AttackClass, sizes: Mapping[str, int]) -> str:
    """Empty when this launch is right in every run, else what is wrong with it."""
    try:
        check_sizes(kernel, sizes)
    except LaunchRefused:
        return ""
    given = inputs(kernel, sizes)
    wanted = attack.reference(given)
    grid = tuple(int(E.evaluate(extent, sizes)) for extent in kernel.grid)
    shapes = [sizes[size.name] for size in kernel.shapes]
    for executor, options in RUNS:
        arrays = {
            t.name: given[t.name].copy()
            if t.name in given
            else np.full(extents(t, sizes), UNTOUCHED).astype(numpy_dtype(t.dtype))
            for t in kernel.tensors
        }
        try:
            result = machine.load(compiled.object).kernel(kernel.name)(
                grid, (kernel.threads, 1, 1), *arrays.values(), *shapes,
                options=machine.Options(max_steps=20_000_000, **options), executor=executor,
            )  # fmt: skip
        except machine.MachineError as error:
            return f"{executor} {options}: {error}"
        if result.reports:
            return f"{executor} {options}: {result.reports[0]}"
        for name, expected in wanted.items():
            got = arrays[name].astype(np.float64)
            if not np.array_equal(got, np.asarray(expected).astype(arrays[name].dtype).astype(np.float64)):
                return f"{executor} {options}: wrong {name} at {np.argwhere(got != expected)[:3].tolist()}"
        for name, before in given.items():
            if name not in wanted and not np.array_equal(arrays[name], before):
                return f"{executor} {options}: {name} has changed"
    return ""


def truth(kernel: Kernel, compiled: Compiled, attack: AttackClass) -> str:
    """Over all launches of the class."""
    for sizes in attack.launches:
        wrong = differs(kernel, compiled, attack, sizes)
        if wrong:
            return f"{dict(sizes)}: {wrong}"
    return ""
