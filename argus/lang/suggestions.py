"""What to say about a name the language does not have: what other kernel languages call it, or the nearest name here.

ag.syncthreads      you may be looking for `ag.barrier()`
ag.v_med3_f23       did you mean `v_med3_f32`?
ag.s_branch         an instruction of the chip with another form here (AG122)
"""

from __future__ import annotations

import difflib

from argus.gfx942.calls import why_not
from argus.gfx942.instructions import specs

ELSEWHERE: dict[str, str] = {
    **dict.fromkeys(("syncthreads", "sync_threads", "sync", "syncwarp", "fence", "threadfence"), "ag.barrier()"),
    **dict.fromkeys(("program_id", "block_id", "blockIdx", "num_programs", "grid_dim"), "ag.grid(…)"),
    **dict.fromkeys(("thread_id", "threadIdx", "tid", "local_id"), "ag.thread()"),
    **dict.fromkeys(("lane_id", "laneid"), "ag.lane()"),
    **dict.fromkeys(("wave_id", "warp", "warp_id"), "ag.wave()"),
    **dict.fromkeys(("arange", "iota"), "the coordinates of a tile, `t.n`, or ag.lane()"),
    **dict.fromkeys(("load", "store", "copy", "atomic_add", "atomic_max", "atomic_min"), "A[…].load(owner, width=16)"),
    **dict.fromkeys(("shared_memory", "smem", "alloc_shared", "lds"), "ag.shared(layout, type)"),
    **dict.fromkeys(("dot", "matmul", "mma"), "ag.mfma(a, b, acc)"),
    **dict.fromkeys(("exp1", "expf"), "ag.exp(x)"),
    **dict.fromkeys(("ln", "logf"), "ag.log(x)"),
    **dict.fromkeys(("power", "powf"), "ag.pow(x, y)"),
    **dict.fromkeys(("logistic", "expit"), "ag.sigmoid(x)"),
    **dict.fromkeys(("maximum", "fmax"), "ag.max(x, y)"),
    **dict.fromkeys(("minimum", "fmin"), "ag.min(x, y)"),
    **dict.fromkeys(("sum", "reduce", "amax", "amin"), 'x.sum("n"), x.max("n"), x.min("n")'),
    **dict.fromkeys(("cumsum", "cumprod", "scan", "associative_scan", "prefix_sum"), 'x.cumsum("n"), x.cummax("n")'),
    **dict.fromkeys(("shfl", "shuffle", "shfl_xor", "bpermute"), "x.from_lane(ag.lane() ^ 1)"),
    **dict.fromkeys(("cast", "convert", "astype"), "x.to(bf16)"),
    **dict.fromkeys(("reciprocal", "recip"), "ag.rcp(x)"),
    **dict.fromkeys(("static_range", "static_for"), "ag.unroll(n)"),
    **dict.fromkeys(("ceil_div", "ceildiv", "divup"), "ag.cdiv(x, y)"),
    **dict.fromkeys(("select", "cond"), "ag.where(mask, x, y)"),
    **dict.fromkeys(("sleep", "nop"), "ag.s_sleep(n), ag.s_nop(n)"),
}


def suggestion(name: str, known: list[str]) -> str:
    """A note for the author, or ""."""
    elsewhere = ELSEWHERE.get(name)
    if elsewhere is not None:
        return f"you may be looking for `{elsewhere}`"
    return nearest(name, known)


def nearest(name: str, known: list[str]) -> str:
    """The names most like it, as a question; "" if none is."""
    near = difflib.get_close_matches(name, known, 3 if name.startswith(("v_", "s_", "ds_")) else 1, 0.7)
    if not near:
        return ""
    return f"did you mean {' or '.join(f'`{n}`' for n in near)}?"


def other_form(name: str) -> str:
    """What the language has instead of an instruction of the chip that is not a function; "" for no instruction."""
    return why_not(name) if name in specs() else ""
