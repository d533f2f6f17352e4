"""The numbers of `argus.ops.product_time`, found from times by the clock.

    model = fitted(row, 2, [ProductSample((1000, 3000, 2000), 0, 1, account), ...])
    to_json(model)                    -> {"room": 2, "step": [640.0, 893.0], "start": 3800.0, ...}

Work and lines are linear in what a launch does and follow by least squares from the accounts. Clocks of starts and
steps are fitted to the logarithm of each launch's time at the highest clock and at its sustained one, by
Levenberg-Marquardt; every number is pulled a little towards a plain guess, which decides where no sample does.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from argus.bench.kept import LaunchAccount
from argus.bench.product_shapes import Shape
from argus.clock.launch import kept_by_mall
from argus.clock.parameters import PARAMETERS, Parameters
from argus.clock.power import MATRIX_POWER
from argus.clock.profile import Profile
from argus.clock.protocol import floor
from argus.gfx942.chip import CLOCK_MAX_MHZ, CUS, XCDS
from argus.ops.product_time import K_STEP, Chip, ProductModel, busy, model_of, parts_of, skewed, steps_of

Floats = npt.NDArray[np.float64]
PULL = 0.03
"""Weight of the plain guess beside one sample's error of the logarithm."""
TRIES = 40
FEW = 3
"""Samples with which a tile counts half in what is known of its kernel."""
ALIKE = ("apart", "start", "each", "again", "skew", "wait", "lines", "work", "step_work")
"""Numbers of a kernel's tiles that are about as far from the plain guess as those of its other tiles."""
Moves = Mapping[str, float]


@dataclass(frozen=True, slots=True)
class ProductSample:
    """A launch of a candidate at a shape: the order of its workgroups over the XCDs, and its account."""

    shape: Shape
    order: int
    group: int
    account: LaunchAccount


def chip_of(parameters: Parameters = PARAMETERS) -> Chip:
    """The clock's numbers that the formula needs."""
    return Chip(
        launch=floor("stream", parameters),
        top=float(CLOCK_MAX_MHZ),
        fill=parameters["cu_fill"],
        l2=parameters["l2_share"] * XCDS,
        mall=parameters["mall_bandwidth"] * 1e3,
        mall_bytes=kept_by_mall(parameters),
        mixed=parameters["mall_mixed"],
        written=parameters["mall_written"],
        hbm=parameters["hbm_bandwidth"] * 1e3,
        limit=parameters["power_limit"],
        idle=parameters["power_idle"],
        base=parameters["power_base"],
        exponent=parameters["power_exponent"],
        fabric_energy=parameters["power_memory"] * 1e-3,
        hbm_energy=parameters["power_hbm"] * 1e-3,
    )


def plain(row: Mapping[str, Any], room: int) -> ProductModel:
    """A guess at a candidate that was never timed: its matrix instructions, waits for memory, lines once."""
    knobs = row["knobs"]
    area = int(knobs["BM"]) * int(knobs["BN"]) / 16  # clocks of the matrix cores of a compute unit for a k-step
    waits = 700.0 / max(1, int(knobs.get("DEPTH", 1)))  # a k-step that waits for memory, so many on their way
    powered = PARAMETERS["power_matrix_bf16"] * area / CUS
    numbers = {
        "room": room, "apart": 1000.0, "start": 2000.0, "each": 500.0, "again": 0.8, "skew": 0.05 * area, "wait": 0.2,
        "step": [max(waits, 1.1 * area * r) for r in range(1, room + 1)],
        "lines": 1.0, "skewed_lines": 0.5, "work": powered, "step_work": powered, "skew_work": 0.05 * powered,
    }  # fmt: skip
    return model_of({**row, "fit": numbers})


def fitted(
    row: Mapping[str, Any], room: int, samples: Sequence[ProductSample], moves: Moves | None = None
) -> ProductModel:
    """The numbers of a candidate (kernel and knobs, workgroups a compute unit has room for) from its samples; `moves`:
    how far from the plain guess they are for other tiles of the kernel."""
    guess = plain(row, room)
    if moves:
        scaled = {name: getattr(guess, name) * math.exp(moves[name]) for name in ALIKE}
        guess = replace(guess, **scaled, step=[step * math.exp(moves["step"]) for step in guess.step])
    if not samples:
        return guess
    return _with_times(_with_work(guess, samples), samples)


def moved(models: Sequence[tuple[Mapping[str, Any], ProductModel, int]]) -> Moves:
    """How far from the plain guess the numbers of a kernel's tiles are: the mean logarithm; a tile with many samples
    counts more. `models`: candidate, its model, and of how many samples."""
    weights = [count / (count + FEW) for *_, count in models]
    total = sum(weights)
    if not total:
        return {}
    guesses = [plain(row, model.room) for row, model, _ in models]
    found = {
        name: sum(
            weight * math.log(max(getattr(model, name), 1e-3) / getattr(guess, name))
            for weight, (_, model, _), guess in zip(weights, models, guesses, strict=True)
        )
        / total
        for name in ALIKE
    }
    steps = [math.log(model.step[0] / guess.step[0]) for (_, model, _), guess in zip(models, guesses, strict=True)]
    found["step"] = sum(weight * step for weight, step in zip(weights, steps, strict=True)) / total
    return found


NUMBERS = (
    "apart", "start", "each", "again", "skew", "wait", "lines", "skewed_lines", "work", "step_work", "skew_work",
)  # fmt: skip


def to_json(model: ProductModel) -> dict[str, Any]:
    """The numbers of a model that the table keeps, to four digits."""
    numbers = {name: float(f"{getattr(model, name):.4g}") for name in NUMBERS}
    return {"room": model.room, "step": [float(f"{step:.4g}") for step in model.step], **numbers}


def combining(samples: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """us that adding up parts takes at least beside its launch, and us for each byte; samples: (bytes, us)."""
    if not samples:
        return 2.0, 1 / 4e6
    launch = floor("stream", PARAMETERS)
    bytes_, us = (np.array(column) for column in zip(*samples, strict=True))
    best = min(
        ((least, each) for least in np.linspace(0.5, 3.0, 26) for each in np.linspace(1e-7, 6e-7, 51)),
        key=lambda found: float((np.log((launch + np.maximum(found[0], bytes_ * found[1])) / us) ** 2).sum()),
    )
    return float(f"{best[0]:.3g}"), float(f"{best[1]:.3g}")


def _switched(profile: Profile, parameters: Parameters = PARAMETERS) -> float:
    """Watts times clocks, of a mean compute unit."""
    return (
        sum(parameters[MATRIX_POWER[name]] * clocks for name, clocks in profile.matrix.items())
        + parameters["power_valu"] * profile.valu
        + parameters["power_lds"] * profile.lds
        + parameters["power_vmem"] * profile.vmem
    )


def _with_work(model: ProductModel, samples: Sequence[ProductSample]) -> ProductModel:
    work, lines = [], []
    wanted, missed = [], []
    for sample in samples:
        m, n, k = sample.shape
        steps, skew, grid = steps_of(model, k), skewed(k), sample.account.profile.workgroups
        work.append([grid, grid * steps, grid * steps * skew])
        wanted.append(_switched(sample.account.profile))
        columns, rows = -(-n // model.bn), -(-m // model.bm)
        deep = k if model.splits == 1 else model.splits * K_STEP * (steps * model.groups + model.turn)
        plain = 2.0 * deep * (m * columns + n * rows)
        lines.append([plain, plain * skew])
        missed.append(sample.account.profile.l2_bytes)
    found = _least_squares(work, wanted)
    passed = _least_squares(lines, missed)
    return replace(
        model, work=found[0], step_work=found[1], skew_work=found[2], lines=passed[0], skewed_lines=passed[1]
    )


def _least_squares(rows: Sequence[Sequence[float]], wanted: Sequence[float]) -> list[float]:
    """Numbers, none negative, with the least relative errors."""
    scaled: Floats = np.array(rows) / np.array(wanted)[:, None]
    active = list(range(scaled.shape[1]))
    found = np.zeros(scaled.shape[1])
    while active:
        part = np.linalg.lstsq(scaled[:, active], np.ones(len(wanted)), rcond=None)[0]
        if (part >= 0).all():
            found[active] = part
            break
        active.pop(int(part.argmin()))
    return [float(value) for value in found]


def _with_times(model: ProductModel, samples: Sequence[ProductSample]) -> ProductModel:
    chip = chip_of()
    first = [model.apart, model.start, model.each, model.again, model.skew, model.wait, *model.step]

    def made(moves: Floats) -> ProductModel:
        apart, start, each, again, skew, wait, *step = (a * math.exp(b) for a, b in zip(first, moves, strict=True))
        return replace(
            model, apart=apart, start=start, each=each, again=again, skew=skew, wait=min(wait, 1.0), step=step
        )

    points = [
        (sample, clock, math.log(sample.account.profile.busy_microseconds(clock)))
        for sample in samples
        for clock in {chip.top, sample.account.mhz}
    ]

    def errors(moves: Floats) -> Floats:
        tried = made(moves)
        known = {id(s): parts_of(chip, tried, *s.shape, s.order, s.group) for s in samples}
        off = [math.log(busy(chip, tried, known[id(s)], clock)) - wanted for s, clock, wanted in points]
        return np.concatenate([np.array(off), PULL * moves])

    return made(_levenberg_marquardt(errors, np.zeros(len(first))))


def _levenberg_marquardt(errors: Callable[[Floats], Floats], at: Floats) -> Floats:
    now, damping = errors(at), 1e-2
    for _ in range(TRIES):
        slopes = np.stack([(errors(at + 1e-4 * unit) - now) / 1e-4 for unit in np.eye(len(at))], axis=1)
        square, gradient = slopes.T @ slopes, slopes.T @ now
        while damping < 1e8:
            move = np.linalg.solve(square + damping * np.diag(np.diag(square) + 1e-9), -gradient)
            moved = errors(at + np.clip(move, -1.0, 1.0))
            if moved @ moved < now @ now:
                break
            damping *= 4
        else:
            return at
        better = now @ now - moved @ moved
        at, now, damping = at + np.clip(move, -1.0, 1.0), moved, damping / 3
        if better < 1e-7 * (now @ now):
            break
    return at
