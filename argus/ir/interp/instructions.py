"""Instructions named directly (`ops.Instruction`), on the arrays of one wave.

    v_bfe_u32 on [64, count] arrays: operands read as the signature's words say, results back in the types of the IR

The meanings are those of `argus.gfx942.calling`. Lane exchanges take all 64 lanes as active, which the language
guarantees.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from argus.gfx942.calling import entry
from argus.gfx942.calls import LANES, Call
from argus.ir.interp.numbers import numpy_dtype
from argus.ir.ops import Instruction

Array = NDArray[Any]

_AS: dict[str, Any] = {
    "f64": np.float64, "f32": np.float32, "f16": np.float16, "u64": np.uint64, "i64": np.int64, "u32": np.uint32,
    "i32": np.int32, "u16": np.uint16, "i16": np.int16, "b32": np.uint32, "bool": np.bool_,
}  # fmt: skip


def compute(op: Instruction, args: list[Array]) -> list[Array]:
    """The results of the op, in the numpy types of its values."""
    row = entry(op.inst)
    if row is None:
        raise KeyError(op.inst)
    if not row.results:
        return []
    given = iter(args)
    lanes = np.broadcast_to(np.arange(LANES, dtype=np.uint32)[:, None], args[0].shape)
    read = [lanes if word == "lane" else _read(next(given), word) for word in row.args]
    with np.errstate(all="ignore"):
        made = row.meaning(*read, **{k: int(v) for k, v in op.attrs.items()})
    results = made if isinstance(made, tuple) else (made,)
    return [
        np.ascontiguousarray(np.asarray(result).astype(_kind(word))).view(numpy_dtype(out.dtype))
        for result, word, out in zip(results, row.results, op.outs, strict=True)
    ]


def moved(row: Call, op: Instruction, codes: list[NDArray[np.int64]], zero: int) -> NDArray[np.int64] | None:
    """Provenance after an exchange with static source lanes; None where data decide."""
    if row.sources is None:
        return None
    sources = np.array(row.sources(**{k: int(v) for k, v in op.attrs.items()}))[:, None]
    result = np.where(sources >= 0, codes[0][np.maximum(sources[:, 0], 0)], zero)
    return np.where(sources == -2, codes[-1], result)


def _kind(word: str) -> Any:
    return _AS[word.removesuffix("x2")]


def _read(x: Array, word: str) -> Array:
    word = word.removeprefix("old:")
    return np.ascontiguousarray(x) if word == "mix" else np.ascontiguousarray(x).view(_kind(word))
