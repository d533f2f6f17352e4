"""The numbers that suit known times and clocks best: a seeded search over all fitted numbers at once.

    known = Known.of(rows, published_clocks(), PARAMETERS)
    search(known, PARAMETERS)          -> {"power_exponent": 1.3, "power_matrix_bf16": 510.0, ...}

What counts is the mean absolute logarithm of predicted over known (`Known.losses`): times of rows, and clocks of
published runs. Every regime weighs the same, in it every family, and in that every row; the published clocks are a
regime of their own. So no family dominates, however many rows it has. The terms of the power model stand in for each
other (a chip that does more multiplies also moves more), so the loss has many poor valleys in which a search along
single numbers stops. Differential evolution (Storn and Price 1997) moves a population of sets by the differences among
them, in logarithms, with a fixed seed: the same rows give the same numbers. A whole population is timed at once, as
arrays of (set, launch).

Numbers that no row tells apart from a similar one (`ALIKE`) are pulled towards it, weakly, and so is the difference
that data make towards none. What it cannot do: say how
sure the numbers are. `argus.clock.validation` refits without each family for that.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from argus.clock.calibration import Row
from argus.clock.parameters import Parameters
from argus.clock.power import DATA, DATA_POWER, LOWEST_MHZ, MATRIX_POWER
from argus.clock.profile import Profile
from argus.clock.uncertainty import regime_of_profile
from argus.gfx942.chip import CLOCK_MAX_MHZ, XCDS

Numbers = npt.NDArray[np.float64]

BASE_MOST = 560.0
"""RRZE's L1 loop on all compute units reaches 38.8 TB/s, at 64 B/clk and so at 1994 MHz or more: all it does takes 666
W at most at 2100 MHz. Two multiply-adds and an address per 16-byte load keep the VALUs busy a quarter, some 100 W."""
BOUNDS = {
    "power_matrix_bf16": (50.0, 3000.0),
    "power_matrix_f16": (50.0, 3000.0),
    "power_matrix_fp8": (50.0, 3000.0),
    "power_matrix_i8": (50.0, 3000.0),
    "power_valu": (20.0, 3000.0),
    "power_lds": (5.0, 1500.0),
    "power_vmem": (5.0, 1500.0),
    "power_base": (50.0, BASE_MOST),
    "power_memory": (0.01, 0.12),
    "power_hbm": (0.01, 0.12),
    "power_positive": (0.2, 1.0),
    "power_sines": (0.2, 1.0),
}
FITTED = tuple(BOUNDS)
ALIKE = (
    ("power_matrix_f16", "power_matrix_bf16"),
    ("power_matrix_fp8", "power_matrix_bf16"),
    ("power_matrix_i8", "power_matrix_fp8"),
    ("power_vmem", "power_lds"),
)
"""Numbers that are taken to be equal as far as no row tells them apart."""
PULL = 0.002
"""Loss for each of these pairs and a factor of e between them."""
SWITCHED = ("power_valu", "power_lds", "power_vmem", "power_base")
FORMATS = tuple(sorted(set(MATRIX_POWER.values())))
POPULATION, GENERATIONS, SEEDS = 50, 300, (0, 1, 5, 7)
STEP, CROSSING, TOWARDS_BEST = 0.7, 0.8, 0.5
_HALVINGS = 12
LEAST = 1e-9
"""Stands for 0 among logarithms."""
_POINTS = 3


@dataclass(frozen=True, slots=True)
class Known:
    """Launches as arrays; several launches make a row, and a published clock is a row of one launch of given activity.

    clocks, cycles  the timed points of each launch's compute part, lowest first, the last repeated
    switched        clocks of matrix cores by format, VALUs, LDS banks, L1 path, and 1 per cycle for the base
    moved           bytes beyond the L2s and of HBM; of a published run (`fixed`), GB/s whatever the clock
    fabric_rate     GB/s of the Infinity Cache for the launch's mix of reads and writes
    l2, atomics, workgroups     what the roofs are applied to
    data            what the factors of its matrix products are, as a number in `DATA`
    row             the row each launch belongs to
    """

    clocks: Numbers
    cycles: Numbers
    switched: Numbers
    moved: Numbers
    fabric_rate: Numbers
    l2: Numbers
    atomics: Numbers
    workgroups: Numbers
    data: npt.NDArray[np.int64]
    fixed: npt.NDArray[np.bool_]
    limit: Numbers
    floor: list[str]
    row: npt.NDArray[np.int64]
    microseconds: Numbers
    weight: Numbers

    @staticmethod
    def of(rows: Sequence[Row], published: Sequence[Mapping[str, Any]], base: Parameters) -> Known:
        """All rows, and the published clocks of steady states."""
        launches: list[tuple[Any, ...]] = []
        times: list[float] = []
        family: list[tuple[str, str]] = []
        for number, row in enumerate(rows):
            limit = base["power_limit" if row.state == "steady" else "power_limit_burst"]
            floor = f"launch_floor_{row.protocol}"
            data = DATA.index(row.data)
            launches += [(*_entry(profile, base), data, False, limit, floor, number) for profile in row.launches]
            times.append(row.microseconds)
            family.append((str(regime_of_profile(row.longest)), row.family))
        for run in (run for run in published if run["state"] == "steady"):
            million = 1e6
            shares = Profile(
                compute=((LOWEST_MHZ, million), (CLOCK_MAX_MHZ, million)),
                matrix={name: million * share for name, share in run["matrix"].items()},
                valu=million * run["valu"],
                lds=million * run["lds"],
                vmem=million * run["vmem"],
                fabric_bytes=run["fabric_gbps"],
                hbm_bytes=run["hbm_gbps"],
            )
            data = DATA.index(run["data"])
            launches.append((*_entry(shares, base), data, True, base["power_limit"], "", len(times)))
            times.append(million / run["clock_mhz"])
            family.append(("clocks", run["family"]))
        columns = list(zip(*launches, strict=True))
        clocks, cycles, switched, moved, rate, l2, atomics, workgroups = (
            np.array(column, float) for column in columns[:8]
        )
        return Known(
            clocks=clocks,
            cycles=cycles,
            switched=switched,
            moved=moved,
            fabric_rate=rate,
            l2=l2,
            atomics=atomics,
            workgroups=workgroups,
            data=np.array(columns[8], np.int64),
            fixed=np.array(columns[9]),
            limit=np.array(columns[10], float),
            floor=list(columns[11]),
            row=np.array(columns[12], np.int64),
            microseconds=np.array(times),
            weight=_weights(family),
        )

    def predicted(self, sets: Numbers, base: Parameters) -> Numbers:
        """Microseconds of every row at the sustained clocks of chips with these numbers, one set per row of `sets`."""
        column = {name: sets[:, [at]] for at, name in enumerate(FITTED)}

        def value(name: str) -> Numbers:
            return column.get(name, np.full((len(sets), 1), base[name] if name else 0.0))

        multiplying = np.concatenate([value(name) for name in FORMATS], axis=1) @ self.switched[:, : len(FORMATS)].T
        others = np.concatenate([value(name) for name in SWITCHED[:-1]], axis=1) @ self.switched[:, len(FORMATS) :].T
        by_data = [value(DATA_POWER[data]) if data in DATA_POWER else np.ones((len(sets), 1)) for data in DATA]
        work = np.concatenate(by_data, axis=1)[:, self.data] * multiplying + others
        moving = np.concatenate([value("power_memory"), value("power_hbm")], axis=1) @ self.moved.T
        seconds = np.maximum(self.moved[:, 0] / self.fabric_rate, self.moved[:, 1] / value("hbm_bandwidth")) * 1e-3
        seconds = np.where(self.fixed, 0.0, np.maximum(seconds, self.atomics * value("atomic_ns") * 1e-3))
        l2 = self.l2 / (value("l2_share") * XCDS)
        roof = np.maximum(l2, self.workgroups / XCDS * value("dispatch_clocks"))
        spare = self.limit - value("power_idle")
        exponent, resting = value("power_exponent"), value("power_base")
        floors = np.concatenate([value(name) for name in self.floor], axis=1)
        gaps = floors * value("power_gaps")

        def busy(clock: Numbers) -> Numbers:
            found: Numbers = np.maximum(np.maximum(self._cycles(clock), roof) / clock, seconds)
            return found

        def fits(clock: Numbers) -> npt.NDArray[np.bool_]:
            time = busy(clock)
            rate = np.where(self.fixed, 1.0, 1e-3 / time)
            switching = work / (time * clock) + resting
            taken = (clock / CLOCK_MAX_MHZ) ** exponent * switching + moving * rate
            found: npt.NDArray[np.bool_] = taken * time / (time + gaps) <= spare
            return found

        shape = (len(sets), len(self.row))
        low, high = np.full(shape, LOWEST_MHZ), np.full(shape, float(CLOCK_MAX_MHZ))
        low = np.where(fits(high), high, low)
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            inside = fits(middle)
            low, high = np.where(inside, middle, low), np.where(inside, high, middle)
        each = busy(low) + floors
        member = self.row[:, None] == np.arange(len(self.microseconds))
        total: Numbers = each @ member
        return total

    def _cycles(self, clock: Numbers) -> Numbers:
        (f0, f1, f2), (c0, c1, c2) = self.clocks.T, self.cycles.T
        below = np.maximum(0.0, (c1 - c0) / np.maximum(f1 - f0, 1e-9))
        above = np.where(f2 > f1, np.maximum(0.0, (c2 - c1) / np.maximum(f2 - f1, 1e-9)), below)
        found: Numbers = np.where(clock <= f1, c0 + below * (clock - f0), c1 + above * (clock - f1))
        return np.maximum(found, 1.0)

    def losses(self, sets: Numbers, base: Parameters) -> Numbers:
        """For each set: the mean error, weighted."""
        error = np.abs(np.log(self.predicted(sets, base) / self.microseconds))
        apart = [np.log((_of(sets, one) + LEAST) / (_of(sets, two) + LEAST)) for one, two in ALIKE]
        apart += [np.log(_of(sets, name)) for name in DATA_POWER.values()]
        pull = np.abs(np.array(apart)).sum(axis=0)
        found: Numbers = error @ self.weight + PULL * pull
        return found


def _weights(family: Sequence[tuple[str, str]]) -> Numbers:
    """Every regime weighs the same, in it every family, and in that every row."""
    rows, families = Counter(family), Counter(regime for regime, _ in set(family))
    return np.array([1 / (len(families) * families[each[0]] * rows[each]) for each in family])


def _of(sets: Numbers, name: str) -> Numbers:
    found: Numbers = sets[:, FITTED.index(name)]
    return found


def _entry(profile: Profile, base: Parameters) -> tuple[Any, ...]:
    points = sorted(profile.compute)
    points = [*points[:1], *points[1:-1][:1], *points[-1:]] if len(points) > _POINTS else points
    points = [*points, *[points[-1]] * (_POINTS - len(points))]
    by_format = dict.fromkeys(FORMATS, 0.0)
    for name, clocks in profile.matrix.items():
        by_format[MATRIX_POWER[name]] += clocks
    return (
        [clock for clock, _ in points],
        [cycles for _, cycles in points],
        [*by_format.values(), profile.valu, profile.lds, profile.vmem],
        [profile.fabric_bytes, profile.hbm_bytes],
        profile.fabric_rate(base),
        profile.l2_bytes,
        profile.atomics,
        profile.workgroups,
    )


def search(
    known: Known,
    base: Parameters,
    generations: int = GENERATIONS,
    seeds: Sequence[int] = SEEDS,
    spread: float = 1.0,
    held: Container[str] = (),
) -> dict[str, float]:
    """The best numbers found, starting from those of `base` and from sets drawn over `spread` of their ranges.

    held   numbers that stay as they are in `base`
    """
    lowest, highest = np.log(np.array(list(BOUNDS.values()))).T
    best = np.clip(np.log([max(base[name], LEAST) for name in FITTED]), lowest, highest)
    for at, name in enumerate(FITTED):
        if name in held:
            lowest[at] = highest[at] = best[at] = np.log(max(base[name], LEAST))
    for seed in seeds:
        best = _evolved(known, base, np.random.default_rng(seed), best, (lowest, highest), generations, spread)
    found = dict(zip(FITTED, np.exp(best).tolist(), strict=True))
    return {name: base[name] if name in held else value for name, value in found.items()}


def _evolved(
    known: Known,
    base: Parameters,
    dice: np.random.Generator,
    start: Numbers,
    bounds: tuple[Numbers, Numbers],
    generations: int,
    spread: float,
) -> Numbers:
    lowest, highest = bounds
    drawn = lowest + (highest - lowest) * dice.random((POPULATION, len(lowest)))
    people = start + spread * (drawn - start)
    people[0] = start
    losses = known.losses(np.exp(people), base)
    for _ in range(generations):
        best = people[losses.argmin()]
        picks = np.array([dice.choice(POPULATION, 3, replace=False) for _ in range(POPULATION)])
        origin = np.where(dice.random((POPULATION, 1)) < TOWARDS_BEST, best, people[picks[:, 0]])
        moved = np.clip(origin + STEP * (people[picks[:, 1]] - people[picks[:, 2]]), lowest, highest)
        tried = np.where(dice.random(people.shape) < CROSSING, moved, people)
        found = known.losses(np.exp(tried), base)
        better = found < losses
        people[better], losses[better] = tried[better], found[better]
    winner: Numbers = people[losses.argmin()]
    return winner
