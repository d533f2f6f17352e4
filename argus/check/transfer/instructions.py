"""Tag transfer of instructions named directly (`ops.Instruction`), by the class `argus.gfx942.calling` gives them.

    v_max3_f32(x, y, z)       as max(max(x, y), z)
    v_exp_f32(x)              as exp2(x)
    v_sad_u8(x, y, z)         a function of its own: belongs to the coordinates its operands agree on
    v_perm_b32(x, y, s)       bits side by side: as above, but operands of different places make it unknown, not wrong
    v_mov_b32_dpp(x, old)     the elements of other lanes, lane by lane; `old` or zero where there is no source

Exchanges whose source lanes are data (`ds_bpermute_b32`) are unknown.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from argus.check.domain.records import CONFLICT, Tables
from argus.check.domain.tags import Case, Tags, bare
from argus.gfx942.calling import entry
from argus.gfx942.calls import Call
from argus.ir import ops
from argus.ir.types import Value
from argus.layout import expr as E

if TYPE_CHECKING:
    from argus.check.walk import KernelWalk

_OWN_FUNCTION = ("other", "bits")
_EXACT = {
    "v_add_f32": "add", "v_sub_f32": "sub", "v_mul_f32": "mul", "v_max_f32": "max", "v_min_f32": "min",
    "v_max3_f32": "max", "v_min3_f32": "min", "v_exp_f32": "exp2", "v_rcp_f32": "rcp", "v_rsq_f32": "rsqrt",
    "v_sqrt_f32": "sqrt", "v_fma_f32": "fma", "v_pk_add_f32": "add", "v_pk_mul_f32": "mul", "v_pk_fma_f32": "fma",
}  # fmt: skip
"""Instructions whose result is worth what the function says; of others only the coordinates are followed."""


def transfer(flow: KernelWalk, op: ops.Instruction) -> None:
    """Give every result of the op its tags."""
    row = entry(op.inst)
    for n, out in enumerate(op.outs):
        if row is None:
            flow.values[out] = flow.lost(out, f"{op.inst} has no tag transfer", op)
        elif row.transfer == "lanes":
            flow.values[out] = _exchanged(flow, op, row, out)
        elif row.transfer == "mov":
            flow.values[out] = flow.values[op.args[0]]
        else:
            found = _computed(flow, op, row, out, n)
            exact = _EXACT.get(op.inst) == row.transfer and not op.attrs
            flow.values[out] = found if exact else found.each(lambda c: bare(flow.tables, c))


def _computed(flow: KernelWalk, op: ops.Instruction, row: Call, out: Value, n: int) -> Tags:
    if row.transfer == "select":
        return _mapped(flow, op, "select", out, (op.args[2], op.args[1], op.args[0]))
    options = "".join(f" {k}={v}" for k, v in op.attrs.items())
    fn = f"{op.inst}{options} {n}" if row.transfer in _OWN_FUNCTION else row.transfer
    args = op.args
    while len(args) > 2 and fn != "fma":
        joined = Value(-1, args[0].dtype, args[0].count)
        flow.values[joined] = _mapped(flow, op, fn, joined, args[:2])
        args = (joined, *args[2:])
    found = _mapped(flow, op, fn, out, args)
    return found.each(lambda case: _unknown_if_mixed(flow, op, case)) if row.transfer == "bits" else found


def _mapped(flow: KernelWalk, op: ops.Instruction, fn: str, out: Value, args: tuple[Value, ...]) -> Tags:
    return flow.map(ops.Map(id=op.id, span=op.span, site=op.site, fn=fn, args=args, result=out))


def _unknown_if_mixed(flow: KernelWalk, op: ops.Instruction, case: Case) -> Case:
    tables = flow.tables
    lost = tables.lost(f"{op.inst} puts bits of different elements together", op.id)
    mixed = (tables.rests_of(case.record) == CONFLICT).any(axis=-1)
    record = np.where(mixed, np.int32(lost), case.record)
    return Case(case.guard, record, np.where(mixed[..., None], 0, case.offset).astype(np.int32), case.site)


def _exchanged(flow: KernelWalk, op: ops.Instruction, row: Call, out: Value) -> Tags:
    if row.sources is None:
        return flow.lost(out, f"{op.inst} reads from a lane that data decide", op)
    sources = np.array(row.sources(**{k: int(v) for k, v in op.attrs.items()}))
    wave = np.broadcast_to(np.arange(flow.threads.waves)[:, None], flow.threads.shape)
    moved = flow.values[op.args[0]].gather((wave, np.broadcast_to(np.maximum(sources, 0), flow.threads.shape)))
    here = np.broadcast_to(sources[None, :, None], flow.shape(out))
    if (here >= 0).all():
        return moved

    def merged(cases: tuple[Case, ...]) -> Case:
        new, old = cases[0], cases[-1]
        record = np.where(here >= 0, new.record, np.where(here == -2, old.record, np.int32(Tables.ZERO)))
        offset = np.where((here >= 0)[..., None], new.offset, np.where((here == -2)[..., None], old.offset, 0))
        site = np.where(here >= 0, new.site, np.where(here == -2, old.site, -1))
        return Case(E.land(new.guard, old.guard), record.astype(np.int32), offset.astype(np.int32), site)

    return flow.combined(op, out, (moved, flow.values[op.args[-1]]), merged)
