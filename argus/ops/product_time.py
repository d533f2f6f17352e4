"""How long a matrix product of the library takes at sizes nobody timed: a formula with a few numbers per candidate.

    chip, model = Chip(**table["chip"]), model_of(row)      data of argus/kernels/matmul.json
    estimate(chip, model, 1000, 3000, 2000)                  -> 37.1 us at the sustained clock

The formula has the terms of the clock (`argus.clock.launch`, `argus.clock.power`):

    compute   rounds of workgroups on the fullest compute unit. One of r workgroups takes `start` + `each` * r clocks
              (`again` of that if it follows another), and for every k-step `step[r - 1]` clocks, with `skew` * r more
              where all rows start inside a cache line. The share `wait` of it is waiting for memory, which takes fewer
              clocks when the clock is low, and more where HBM is busy.
    fill      lines that miss its L1, and `pull` those of them that miss the L2
    l2        the same lines of the whole chip; `fabric`: those that miss the L2s, which are the rows and columns of
              tiles that an XCD works on at a time; `hbm`: every tensor once, or what the Infinity Cache cannot hold
    power     `work` (watts times clocks of a compute unit) of a workgroup, of its steps, of skewed steps; energy of
              bytes; idling between launches. The clock is the one at which the mean power meets the limit.

Nothing overlaps the first `apart` clocks. Then compute, fill and pull overlap, and what counts is their 4-norm: near
the longest, up to a fifth more where two are alike. What the formula does not know: how the Infinity Cache ages,
conflicts in caches, unequal workgroups. `argus.bench.product_fit` finds the numbers on the clock.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import gcd, sqrt
from typing import Any, NamedTuple

from argus.gfx942.chip import CUS, CUS_PER_XCD, XCDS

K_STEP = 64
LINE = 64
"""Elements of two bytes in a cache line."""
CLOCK_STEPS = 3
"""Steps from the highest clock down to one that power allows, which is up to 7 % below the highest such clock."""
NEIGHBORS = -1
"""Order of workgroups in which each XCD has neighboring tiles (`BAND`); others are the XCDs along M, 0: by rows."""
SLOWEST = 500.0
"""MHz that every launch may have."""


@dataclass(slots=True)
class Chip:
    """Rates in bytes per us (of `fill`, into a compute unit, and `l2`: per clock), powers in watts, energies in watts
    times us per byte."""

    launch: float
    top: float
    fill: float
    l2: float
    mall: float
    mall_bytes: float
    mixed: float
    written: float
    hbm: float
    limit: float
    idle: float
    base: float
    exponent: float
    fabric_energy: float
    hbm_energy: float


@dataclass(slots=True)
class ProductModel:
    """A candidate's numbers; see above. `turn`: k-steps of a wave that go together, `groups` of waves divide K,
    `room`: workgroups on a compute unit, `combine`: us at least and us per byte of adding up the parts."""

    bm: int
    bn: int
    splits: int
    turn: int
    groups: int
    room: int
    apart: float
    start: float
    each: float
    again: float
    step: Sequence[float]
    skew: float
    wait: float
    lines: float
    skewed_lines: float
    work: float
    step_work: float
    skew_work: float
    combine: Sequence[float] = (0.0, 0.0)
    span: int = 0
    first: Sequence[float] = ()

    def __post_init__(self) -> None:
        self.span = self.splits * self.groups * self.turn  # k-steps of a turn of all waves
        self.first = [self.start + self.each * resident for resident in range(self.room + 1)]


class ProductNeeds(NamedTuple):
    """What a launch needs: clocks of the fullest compute unit at the highest clock, clocks its lines take from the L2s,
    us they take beyond them; clocks of all L2s, us of the fabric and of HBM; watts times clocks; watts times us."""

    compute: float
    fill: float
    pull: float
    l2: float
    fabric: float
    hbm: float
    work: float
    moved: float


def model_of(row: Mapping[str, Any], combine: Sequence[float] = (0.0, 0.0)) -> ProductModel:
    """The numbers of a candidate of the table."""
    knobs = row["knobs"]
    shape: dict[str, Any] = {
        "bm": int(knobs["BM"]),
        "bn": int(knobs["BN"]),
        "splits": int(knobs.get("SPLITS", 1)),
        "turn": max(1, int(knobs.get("DEPTH", 1))),
        "groups": int(knobs.get("WK", 1)),
    }
    return ProductModel(**shape, **row["fit"], combine=combine)


def steps_of(model: ProductModel, k: int) -> int:
    """K-steps of a wave."""
    return -(-k // (K_STEP * model.span)) * model.turn


def skewed(k: int) -> float:
    """Share of rows that start inside a cache line."""
    return 1 - gcd(LINE, k) / LINE


def compute_clocks(model: ProductModel, grid: int, steps: int, skew: float) -> float:
    """Clocks of the fullest compute unit at the highest clock."""
    return rounds_clocks(model, -(-grid // CUS), steps, model.skew * skew)


def rounds_clocks(model: ProductModel, count: int, steps: int, more: float) -> float:
    """Clocks of a compute unit that runs so many workgroups, a k-step taking `more` for each of a round."""
    room = model.room
    full, rest = count // room, count % room
    if not full:
        return model.first[rest] + steps * (model.step[rest - 1] + more * rest)
    clocks = model.first[room] * (1 + model.again * (full - 1)) + full * steps * (model.step[room - 1] + more * room)
    if rest:
        clocks += model.first[rest] * model.again + steps * (model.step[rest - 1] + more * rest)
    return clocks


def at_least(chip: Chip, models: Sequence[ProductModel], m: int, n: int, k: int) -> list[float]:
    """us below `estimate` of each: the fullest compute unit's run at the highest clock."""
    steps, skew, launch, top, found = -(-k // K_STEP), skewed(k), chip.launch, chip.top, []
    for model in models:
        room, more = model.room, model.skew * skew
        resident = -(-(-(-m // model.bm) * -(-n // model.bn) * model.splits) // CUS)
        turns = -(-steps // model.span) * model.turn
        if resident <= room:
            clocks = model.first[resident] + turns * (model.step[resident - 1] + more * resident)
        else:
            clocks = rounds_clocks(model, resident, turns, more)
        found.append(launch + (model.apart + clocks) / top)
    return found


def closer(chip: Chip, model: ProductModel, m: int, n: int, k: int, us: float) -> float:
    """us below `estimate` and above `at_least`, which is given: lines that miss the L1 take their time beside the run,
    and what the run works must be within the power limit.

    With f the clock and T the time, f is at least clocks / T, and (work / clocks + base) * (f / top) ** exponent is at
    most (limit - idle) * (1 + launch / T). So T is at least clocks / top times the root of what power is too much.
    """
    columns, rows, splits = -(-n // model.bn), -(-m // model.bm), model.splits
    grid, launch = rows * columns * splits, chip.launch
    steps = -(-k // (K_STEP * model.span)) * model.turn
    run = us - launch
    fill = 2.0 * k * (m * columns + n * rows) * model.lines * -(-grid // CUS) / grid
    fill /= (min(chip.fill, chip.l2 / grid) if grid < CUS else chip.l2 / CUS) * chip.top
    bare = run - model.apart / chip.top
    square, other = bare * bare, fill * fill
    filled = us - bare + sqrt(sqrt(square * square + other * other))
    work = grid * (model.work + steps * model.step_work)
    clocks = run * chip.top * (1 - model.wait)
    much = (work / clocks + chip.base) / ((chip.limit - chip.idle) * (1 + launch / run))
    return filled if much <= 1 else max(filled, launch + clocks / chip.top * much ** (1 / chip.exponent))


def fabric_rows(model: ProductModel, m: int, n: int, order: int, group: int) -> tuple[float, float]:
    """Rows of operands that miss the L2s, and those of them that no other XCD asks for at the same time."""
    rows, columns = -(-m // model.bm), -(-n // model.bn)
    held = CUS_PER_XCD * model.room
    if order == NEIGHBORS:
        busy_xcds = min(rows * columns, XCDS)
        mine = rows * columns / busy_xcds
        now = min(mine, held)
        tall = min(rows, now, max(1.0, now / columns, sqrt(now * n * rows / (columns * m))))
        of_a, of_b = m / rows * tall, n / columns * now / tall
        often, sharers = busy_xcds * mine / now, sqrt(XCDS)
    elif order:
        down, across = rows / order, columns * order / XCDS
        of_xcd = down * across
        now = min(of_xcd, held)
        tall = min(down, max(group, now / across))
        of_a, of_b = m / rows * tall, n / columns * min(across, max(1.0, now / tall))
        often, sharers = XCDS * of_xcd / now, XCDS / order
    else:
        tiles = rows * columns
        total = tiles * model.splits
        now = min(total, XCDS * held)
        parts = max(1.0, now / tiles)
        pairs = min(XCDS * parts, now)
        mine, inside = now / pairs, now / parts
        of_a = m / rows * max(1.0, min(inside / columns, mine))
        of_b = n / columns * (min(mine, columns / gcd(XCDS, columns)) if inside > columns else mine)
        often, sharers = total / now * pairs / model.splits, min(XCDS, columns)
    return max(often * (of_a + of_b), m + n), max(often * (of_a / sharers + of_b * sharers / XCDS), m + n)


def parts_of(chip: Chip, model: ProductModel, m: int, n: int, k: int, order: int = 0, group: int = 1) -> ProductNeeds:
    """What a launch needs; `order`, `group`: how tiles are dealt out to XCDs."""
    rows, columns, splits = -(-m // model.bm), -(-n // model.bn), model.splits
    grid = rows * columns * splits
    steps, skew = steps_of(model, k), skewed(k)
    stored = (4.0 * splits if splits > 1 else 2.0) * m * n
    apart, alone = fabric_rows(model, m, n, order, group)
    read = 2.0 * k * apart
    fabric = read + stored
    share = stored / fabric
    if share < 0.25:
        rate = chip.mall * (1 - (1 - chip.mixed) * 4 * share)
    elif share < 0.5:
        rate = chip.mall * chip.mixed
    else:
        rate = chip.mall * (chip.mixed + (chip.written - chip.mixed) * (2 * share - 1))
    moved = 2.0 * k * (m + n) + stored
    if moved > chip.mall_bytes:
        moved = 2.0 * k * alone + stored
    deep = k if splits == 1 else splits * K_STEP * (steps * model.groups + model.turn)
    missed = 2.0 * deep * (m * columns + n * rows) * (model.lines + model.skewed_lines * skew)
    active = min(grid, CUS)
    fullest = -(-grid // CUS) / grid  # the share of the launch that the fullest compute unit has
    return ProductNeeds(
        compute_clocks(model, grid, steps, skew),
        missed * fullest / min(chip.fill, chip.l2 / active),
        read * fullest * active / chip.mall,
        missed / chip.l2,
        fabric / rate,
        moved / chip.hbm,
        grid * (model.work + steps * (model.step_work + skew * model.skew_work)),
        chip.fabric_energy * fabric + chip.hbm_energy * moved,
    )


def busy(chip: Chip, model: ProductModel, parts: ProductNeeds, clock: float) -> float:
    """us of the launch at a clock."""
    compute, fill, pull, l2, fabric, hbm, _, _ = parts
    wait = model.wait
    cores, waits = compute * (1 - wait) / clock, compute * wait / chip.top
    fill /= clock
    others = fill * fill * fill * fill + pull * pull * pull * pull
    us = cores + waits
    load = hbm / sqrt(sqrt(us * us * us * us + others))
    us = cores + waits * (1 + load * load * load if load < 1 else 2)
    us = sqrt(sqrt(us * us * us * us + others)) + model.apart * ((1 - wait) / clock + wait / chip.top)
    l2 /= clock
    if l2 > us:
        us = l2
    if fabric > us:
        us = fabric
    return hbm if hbm > us else us


def sustained(chip: Chip, model: ProductModel, parts: ProductNeeds) -> tuple[float, float]:
    """The clock in MHz that the mean power allows, and us of the launch at it."""
    clock, spare, work, moved = chip.top, chip.limit - chip.idle, parts.work, parts.moved
    us = busy(chip, model, parts, clock)
    for _ in range(CLOCK_STEPS):
        switched = (clock / chip.top) ** chip.exponent * (work / clock + chip.base * us)
        allowed = spare * (us + chip.launch) - moved
        if switched <= allowed:
            break
        # power goes with clock ** exponent, as clocks that work takes and time go with 1 / clock alike
        clock = max(SLOWEST, clock * (max(allowed, 0.01 * switched) / switched) ** (1 / chip.exponent))
        us = busy(chip, model, parts, clock)
    return clock, us


def estimate(chip: Chip, model: ProductModel, m: int, n: int, k: int, order: int = 0, group: int = 1) -> float:
    """us at the sustained clock, launch included."""
    us = chip.launch + sustained(chip, model, parts_of(chip, model, m, n, k, order, group))[1]
    if model.splits > 1:
        least, each = model.combine
        us += chip.launch + max(least, (4.0 * model.splits + 2.0) * m * n * each)
    return us
