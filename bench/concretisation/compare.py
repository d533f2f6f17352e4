"""One kernel at one launch: every claim of the walk beside the value that the interpreter holds.

    held = concretised(program, arrays, sizes)
    held.claims         elements whose value was compared
    held.silent         elements without a claim, by reason
    held.differences    op, line, wave, lane, element, claimed and found

A claim of an op in iteration 3 of a loop is the claim of the snapshot whose path holds there. Only lanes that take part
are compared. LDS is compared when all waves have met at one barrier. Where waves are out of step, each at a barrier of
its own, LDS at no moment holds what the text says; what their loads deliver is compared.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from argus.check.domain.tags import Tags
from argus.ir import ops
from argus.ir.interp import InterpSchedule, run
from argus.ir.interp.numbers import numpy_dtype
from argus.ir.interp.wave import InterpWave
from argus.ir.kernel import Kernel
from argus.ir.ops import Op
from argus.ir.stages import Scheduled
from argus.ir.types import DType
from argus.layout import expr as E
from argus.layout.expr import Expr
from bench.concretisation.claims import Claimed, Claims, NoClaim
from bench.concretisation.hook import Snapshot, WatchedWalk, watched_run, watched_walk

MANTISSA = {"bf16": 8, "f16": 11, "fp8": 4, "bf8": 3, "f32": 24, "f64": 53}
MOST_DIFFERENCES = 20
MOST_ENVIRONMENTS = 64
Environment = tuple[tuple[str, int], ...]


@dataclass
class Concretised:
    """What one execution says of the walk's claims."""

    claims: int = 0
    silent: Counter[str] = field(default_factory=Counter)
    differences: list[str] = field(default_factory=list)

    def join(self, other: Concretised) -> None:
        self.claims += other.claims
        self.silent += other.silent
        self.differences += other.differences


def slack_of(kernel: Kernel) -> float:
    """Relative rounding allowed: of the narrowest float any value of the kernel has, four units of it."""
    bits = [MANTISSA[v.dtype.name] for op in ops.walk(kernel.body) for v in op.results if v.dtype.name in MANTISSA]
    return 16 * 2.0 ** -min([*bits, 24])


def concretised(
    program: Scheduled,
    arrays: Mapping[str, NDArray[Any]],
    sizes: Mapping[str, int],
    scalars: Mapping[str, float] | None = None,
    blocks: list[tuple[int, int, int]] | None = None,
    walk: WatchedWalk | None = None,
) -> Concretised:
    """Walk the program, run it, compare."""
    walk = walk or watched_walk(program)
    # the walk sees the kernel with its waits inserted: ops are found again by their numbers
    kernel = walk.report.kernel
    observer = _Observer(kernel, walk, arrays, scalars or {}, {t.name for t in kernel.tensors if not t.written})
    with watched_run(observer.after), np.errstate(all="ignore"):
        run(kernel, arrays, sizes, scalars=scalars, blocks=blocks, schedule=InterpSchedule("forward", "early"))
    return observer.found


class _Observer:
    def __init__(
        self, kernel: Kernel, walk: WatchedWalk, arrays: Mapping[str, NDArray[Any]], scalars: Mapping[str, float],
        kept: set[str],
    ) -> None:  # fmt: skip
        self.kernel, self.walk, self.scalars = kernel, walk, scalars
        self.arrays = {name: a for name, a in arrays.items() if name in kept}
        self.slack = slack_of(kernel)
        self.found = Concretised()
        self.met: set[tuple[object, ...]] = set()
        self.recent: dict[Environment, Claims] = {}
        self.current: tuple[Environment, Claims] | None = None

    def after(self, wave: InterpWave, op: Op, active: NDArray[np.bool_]) -> None:
        env = {k: int(v) for k, v in wave.env.items() if np.ndim(v) == 0}
        chosen = self.snapshot(op, env)
        if chosen is None:
            return
        snapshot, claims = chosen
        for value, tags in snapshot.values.items():
            if value in wave.file:
                data = wave.file[value].data
                lanes = active & snapshot.active[wave.number]
                self.registers(claims, tags, data, wave.number, lanes, value.dtype, op)
        if isinstance(op, ops.Barrier) and snapshot.in_step:
            meeting = (id(wave.group), op.id, wave.barriers)
            if meeting not in self.met:
                self.met.add(meeting)
                self.lds(claims, snapshot.memory, wave.group.lds.data, op)

    def snapshot(self, op: Op, env: Mapping[str, int]) -> tuple[Snapshot, Claims] | None:
        """The snapshot of the path that this execution is on, and its environment."""
        for one in self.walk.snapshots.get(op.id, ()):
            rounds = _rounds(one, env)
            if rounds is None:
                continue
            claims = self.claims({**env, **rounds})
            if all(claims.holds(fact) is not False for fact in one.facts):
                return one, claims
        return None

    def claims(self, env: dict[str, int]) -> Claims:
        """Claims under an environment; waves do not matter to them, so they share one."""
        key = tuple(sorted((k, v) for k, v in env.items() if k != "wave"))
        if self.current is None or self.current[0] != key:
            if key not in self.recent:
                if len(self.recent) > MOST_ENVIRONMENTS:
                    self.recent.clear()
                names = dict(key)
                self.recent[key] = Claims(self.kernel, self.walk.tables, self.arrays, names, self.scalars)
            self.current = key, self.recent[key]
        return self.current[1]

    def case(self, claims: Claims, tags: Tags) -> Any:
        truths = [(claims.holds(c.guard), c) for c in tags.cases]
        if any(t is None for t, _ in truths):
            self.found.silent["an alternative that cannot be told"] += 1
            return None
        applying = [c for t, c in truths if t]
        if len(applying) != 1:
            self.found.silent[f"{len(applying)} alternatives hold"] += 1
            return None
        return applying[0]

    def registers(
        self, claims: Claims, tags: Tags, data: NDArray[Any], wave: int, lanes: NDArray[np.bool_], dtype: DType, op: Op
    ) -> None:
        case = self.case(claims, tags)
        if case is None or not lanes.any():
            return
        record, offset = case.record[wave], case.offset[wave]
        for number in np.unique(record[lanes]):
            here = (record == number) & lanes[:, None]
            one = self.walk.tables[int(number)]
            if one.part != (0, 1):
                self.found.silent["a part of an element"] += int(here.sum())
                continue
            self.compare(claims, int(number), offset[here], data[here], dtype, op, here, f"wave {wave}")

    def compare(
        self, claims: Claims, number: int, offsets: NDArray[np.int32], got: NDArray[Any], dtype: DType, op: Op,
        here: NDArray[np.bool_], whose: str,
    ) -> None:  # fmt: skip
        try:
            claimed = claims.values(self.walk.tables[number], offsets)
        except NoClaim as why:
            self.found.silent[str(why).split(":")[0]] += len(offsets)
            return
        wrong = self.differ(claimed, got, dtype)
        self.found.claims += len(offsets)
        if wrong.any() and len(self.found.differences) < MOST_DIFFERENCES:
            n = int(np.flatnonzero(wrong)[0])
            where = [int(i) for i in np.argwhere(here)[n]]
            record = self.walk.tables[number]
            self.found.differences.append(
                f"{self.kernel.name} line {op.span.line} {type(op).__name__} {op.id}, {whose} {where}: "
                f"claimed {claimed.value[n]:.9g} ({record.kind} {record.label} term {record.term}), "
                f"found {got[n]} at {dict(claims.env.items())} ({int(wrong.sum())} elements)"
            )

    def differ(self, claimed: Claimed, got: NDArray[Any], dtype: DType) -> NDArray[np.bool_]:
        found = got.astype(np.float64)
        if dtype.kind in ("int", "uint"):
            modulus = 2.0**dtype.bits
            want = np.where(np.abs(claimed.value) < 2.0**53, claimed.value, 0.0)
            same: NDArray[np.bool_] = np.mod(found - want, modulus) == 0
            wraps: NDArray[np.bool_] = ~same & np.isfinite(claimed.value) & (np.abs(claimed.value) < 2.0**53)
            return wraps
        finite = np.isfinite(claimed.value) & np.isfinite(claimed.weight)
        bound = self.slack * (claimed.weight + np.abs(claimed.value)) + 1e-30
        if claimed.exact:
            bound = np.zeros_like(claimed.value)
        representable = np.abs(claimed.value) < 3e38
        apart: NDArray[np.bool_] = finite & representable & ~(np.abs(found - claimed.value) <= bound)
        return apart

    def lds(self, claims: Claims, tags: Tags, data: NDArray[np.uint8], op: Op) -> None:
        """Granules that hold whole elements, or pieces of elements of tensors."""
        case = self.case(claims, tags)
        if case is None:
            return
        unit = self.walk.unit
        for number in np.unique(case.record):
            record = self.walk.tables[int(number)]
            where = np.flatnonzero(case.record == number)
            dtype = self._stored(record.label) if record.kind == "element" else None
            if record.kind == "zero":
                at = where[:, None] * unit + np.arange(unit)
                at = at[(at < len(data)).all(1)]
                self.found.claims += len(at)
                if data[at].any():
                    self.found.differences.append(f"{self.kernel.name} line {op.span.line}: LDS claimed zero is not")
                continue
            if dtype is None or np.dtype(dtype).itemsize != unit * record.part[1]:
                self.found.silent["LDS"] += len(where)
                continue
            try:
                claimed = claims.values(record, case.offset[where])
            except NoClaim as why:
                self.found.silent[f"LDS {str(why).split(':')[0]}"] += len(where)
                continue
            raw = np.ascontiguousarray(claimed.value.astype(dtype)).view(np.uint8).reshape(len(where), -1)
            piece = raw[:, record.part[0] * unit : (record.part[0] + 1) * unit]
            at = where[:, None] * unit + np.arange(unit)
            wrong = (data[at] != piece).any(axis=1)
            self.found.claims += len(where)
            if wrong.any() and len(self.found.differences) < MOST_DIFFERENCES:
                n = int(np.flatnonzero(wrong)[0])
                self.found.differences.append(
                    f"{self.kernel.name} line {op.span.line} barrier {op.id}: LDS byte {int(at[n, 0])} claimed "
                    f"{record.label} {claimed.value[n]:.9g}, found bytes {data[at[n]].tolist()} "
                    f"({int(wrong.sum())} granules)"
                )

    def _stored(self, label: str) -> np.dtype[Any] | None:
        tensor = next((t for t in self.kernel.tensors if t.name == label), None)
        return None if tensor is None else numpy_dtype(tensor.dtype)


def _rounds(snapshot: Snapshot, env: Mapping[str, int]) -> dict[str, int] | None:
    """Counters of rounds, where the walk numbers iterations by rounds; None if this iteration is not the snapshot's."""
    found: dict[str, int] = {}
    for var, value in snapshot.loops:
        if var.name not in env:
            return None
        if value is var:
            continue
        solved = _solved(value, env[var.name], {**env, **found})
        if solved is None:
            return None
        found |= solved
    return found


def _solved(value: Expr, number: int, env: Mapping[str, int]) -> dict[str, int] | None:
    parts, constant = E.linear(value)
    unknown = [(e, c) for e, c in parts.items() if e.op == "var" and e.name not in env]
    if len(unknown) != 1:
        return None
    (counter, factor), rest = unknown[0], number - constant
    for e, c in parts.items():
        if e is not counter:
            rest -= c * int(E.evaluate(e, env))
    return {counter.name: rest // factor} if rest % factor == 0 and rest // factor >= 0 else None
