"""What each workgroup of a launch writes, and which workgroups to look at.

    sites = store_sites(kernel)
    chosen = workgroups(kernel, sizes, sites, seed=0)       [0, 63, 17, ...]
    written(kernel, sizes, sites, chosen)                   {0: {"C": rows of coordinates}, 63: ...}

Stores of the IR have coordinates over workgroup, wave, lane and loops, so the elements are known before anything runs;
that the code object writes just these is what a run shows. Chosen are: a workgroup for every combination of axes on
which it is the last one, where the last one is shorter (a remainder case); the first and the last on every axis; and a
few by lot. What it cannot do: stores that data address, and atomics.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import assert_never

import numpy as np
import numpy.typing as npt

from argus.device.guards import buffer_elements, element_strides, launch_grid, tensor_shapes
from argus.ir import ops
from argus.ir.kernel import WAVE, Kernel
from argus.layout.expr import Expr, evaluate

Places = npt.NDArray[np.int64]
Held = npt.NDArray[np.bool_]
Environment = Mapping[str, int | Places]
LOOKED_AT = 1 << 18
"""Workgroups of which the place is computed, when some are chosen."""
CASES = 8
"""Remainder cases that are looked at; beyond that some are chosen by lot."""
BY_LOT = 2


class NotSampled(Exception):
    """A launch of which no workgroups can be looked at; the message says why."""


@dataclass(frozen=True, slots=True)
class StoreSite:
    """A store to a tensor, the loops around it, outermost first, and the conditions: what must hold, or not."""

    access: ops.Access
    loops: tuple[ops.For, ...]
    conditions: tuple[tuple[Expr, bool], ...]

    @property
    def tensor(self) -> ops.Tensor:
        assert isinstance(self.access.memory, ops.Tensor)
        return self.access.memory


def store_sites(kernel: Kernel) -> list[StoreSite]:
    """All stores to global memory."""
    return list(_sites(kernel.body, (), ()))


def _sites(
    body: Sequence[ops.Op], loops: tuple[ops.For, ...], conditions: tuple[tuple[Expr, bool], ...]
) -> Iterator[StoreSite]:
    for op in body:
        match op:
            case ops.For():
                yield from _sites(op.body, (*loops, op), conditions)
            case ops.If():
                yield from _sites(op.then, loops, (*conditions, (op.cond, True)))
                yield from _sites(op.orelse, loops, (*conditions, (op.cond, False)))
            case ops.Schedule():
                for block in op.blocks:
                    yield from _sites(block, loops, conditions)
            case ops.Atomic():
                if op.access.space == "global":
                    raise NotSampled("workgroups add to elements together (atomics): one alone says nothing")
            case ops.Store():
                if op.access.space == "global":
                    yield StoreSite(op.access, loops, conditions)
            case (
                ops.Index() | ops.Constant() | ops.Convert() | ops.Lanes() | ops.Registers() | ops.Map() |
                ops.Bitcast() | ops.Mfma() | ops.Instruction() | ops.Load() | ops.CopyToLds() | ops.Symbol() |
                ops.Barrier() | ops.Wait() | ops.SetPrio() | ops.Tag() | ops.Check()
            ):  # fmt: skip
                pass
            case _:
                assert_never(op)


def written(
    kernel: Kernel, sizes: Mapping[str, int], sites: Sequence[StoreSite], chosen: Sequence[int]
) -> dict[int, dict[str, Places]]:
    """By workgroup and tensor, the coordinates of the elements that it writes, a row each, in order, none twice."""
    shapes, strides = tensor_shapes(kernel, sizes), element_strides(kernel, sizes)
    threads = np.arange(kernel.threads)
    groups = np.array(chosen, np.int64)[:, None]
    env: dict[str, int | Places] = {
        **sizes,
        **block_names(launch_grid(kernel, sizes), groups),
        "lane": threads % WAVE,
        "wave": threads // WAVE,
    }
    found: dict[int, dict[str, list[Places]]] = {number: {} for number in chosen}
    for site in sites:
        name = site.tensor.name
        size = buffer_elements(shapes[name], strides[name]) * site.tensor.dtype.bytes
        for here, held in _turns(site.loops, env, np.ones((len(groups), 1), np.bool_)):
            coords, stored = _stored(site, here, held, size, (len(groups), len(threads)))
            for row, number in enumerate(chosen):
                if stored[row].any():
                    found[number].setdefault(name, []).append(coords[row][stored[row]])
    return {
        number: {name: _distinct(np.concatenate(arrays), shapes[name]) for name, arrays in parts.items()}
        for number, parts in found.items()
    }


def _distinct(coords: Places, shape: tuple[int, ...]) -> Places:
    outside = ((coords < 0) | (coords >= np.array(shape))).any(axis=1)
    if outside.any():
        at = coords[outside][0].tolist()
        raise NotSampled(f"a store at {at} is outside of {list(shape)}")
    flat = np.unique(np.ravel_multi_index(tuple(coords.T), shape))
    return np.stack(np.unravel_index(flat, shape), axis=-1).astype(np.int64)


def _turns(loops: Sequence[ops.For], env: Environment, held: Held) -> Iterator[tuple[Environment, Held]]:
    """The environment at every turn of the loops, and which workgroups take it."""
    if not loops:
        yield env, held
        return
    loop, *inner = loops
    low, high = (_of_workgroups(evaluate(end, env), held.shape) for end in (loop.lo, loop.hi))
    first, step = int(low.min()), loop.step if (low == low.min()).all() else 1
    for turn in range(first, int(high.max()), step):
        takes = held & (low <= turn) & (turn < high) & ((turn - low) % loop.step == 0)
        if takes.any():
            yield from _turns(inner, {**env, loop.var.name: turn}, takes)


def _of_workgroups(value: int | Places, shape: tuple[int, ...]) -> Places:
    """The end of a loop for every workgroup; it is the same for all threads of one."""
    made = np.asarray(value, np.int64)
    if made.ndim == len(shape) and made.shape[1] > 1:
        if (made != made[:, :1]).any():
            raise NotSampled("a loop around a store ends at another place for every thread")
        made = made[:, :1]
    return np.broadcast_to(made, shape)


def _stored(site: StoreSite, env: Environment, held: Held, size: int, shape: tuple[int, int]) -> tuple[Places, Held]:
    """Coordinates of what workgroups and threads store at one turn, and which of them they do store."""
    access = site.access

    def over_threads(expr: Expr) -> Places:
        return np.broadcast_to(np.asarray(evaluate(expr, env), np.int64), shape)

    stores = np.broadcast_to(held, shape).copy()
    for condition, wanted in site.conditions:
        stores &= (over_threads(condition) != 0) == wanted
    if access.guard is not None:
        stores &= over_threads(access.guard) != 0
    elements = np.arange(access.count)
    coords = np.stack([over_threads(coord) for coord in access.coords], axis=-1)
    coords = np.repeat(coords[:, :, None], access.count, axis=2)
    coords[..., access.axis] += elements
    at = over_threads(access.address)[:, :, None] + elements * site.tensor.dtype.bytes
    return coords, stores[:, :, None] & (at >= 0) & (at < size)


def block_names(grid: Sequence[int], number: int | Places) -> dict[str, int | Places]:
    """The three numbers of a workgroup, by the names they have in expressions."""
    x, y, _ = grid
    return {"block_x": number % x, "block_y": number // x % y, "block_z": number // (x * y)}


def workgroups(kernel: Kernel, sizes: Mapping[str, int], sites: Sequence[StoreSite], seed: int) -> list[int]:
    """The workgroups to look at, those of remainder cases first."""
    grid = launch_grid(kernel, sizes)
    count = math.prod(grid)
    dice = random.Random(f"{seed} {kernel.name} {sorted(sizes.items())}")
    if count <= LOOKED_AT:
        numbers = np.arange(count)
    else:
        rest = dice.sample(range(count), LOOKED_AT // 2)
        numbers = np.unique([*_corners(grid), *range(LOOKED_AT // 4), *range(count - LOOKED_AT // 4, count), *rest])
    chosen: dict[int, None] = {}
    for site in {site.tensor.name: site for site in reversed(sites)}.values():
        origins, extents = _origins(kernel, sizes, site, numbers)
        inside = ((origins >= 0) & (origins < extents)).all(axis=1)
        for number in _edges(numbers[inside], origins[inside], extents, dice):
            chosen.setdefault(number)
    for number in (0, count - 1, *(dice.randrange(count) for _ in range(BY_LOT))):
        chosen.setdefault(number)
    return list(chosen)


def _corners(grid: Sequence[int]) -> list[int]:
    x, y, z = grid
    return [a + x * (b + y * c) for a in {0, x - 1} for b in {0, y - 1} for c in {0, z - 1}]


def _origins(kernel: Kernel, sizes: Mapping[str, int], site: StoreSite, numbers: Places) -> tuple[Places, Places]:
    """Where the first thread of every workgroup stores at the first turn of its loops."""
    env: dict[str, int | Places] = {**sizes, **block_names(launch_grid(kernel, sizes), numbers), "lane": 0, "wave": 0}
    for loop in site.loops:
        env[loop.var.name] = evaluate(loop.lo, env)
    places = [np.broadcast_to(np.asarray(evaluate(c, env), np.int64), numbers.shape) for c in site.access.coords]
    return np.stack(places, axis=-1), np.array(tensor_shapes(kernel, sizes)[site.tensor.name])


def _edges(numbers: Places, origins: Places, extents: Places, dice: random.Random) -> Iterator[int]:
    """Workgroups at the ends of axes: all last, all first, one of every remainder case, and the last of every axis."""
    if not len(numbers):
        return
    last = origins == origins.max(axis=0)
    shorter = []
    for axis in range(origins.shape[1]):
        starts = np.unique(origins[:, axis])
        if len(starts) > 1 and extents[axis] - starts[-1] != starts[1] - starts[0]:
            shorter.append(axis)
    yield int(numbers[last.sum(axis=1).argmax()])
    yield int(numbers[(origins == origins.min(axis=0)).sum(axis=1).argmax()])
    cases, of = np.unique(last[:, shorter], axis=0, return_inverse=True)
    for case in dice.sample(range(len(cases)), min(len(cases), CASES)):
        yield int(dice.choice(numbers[of.reshape(-1) == case].tolist()))
    for axis in range(origins.shape[1]):
        if not last[:, axis].all():
            yield int(dice.choice(numbers[last[:, axis]].tolist()))
