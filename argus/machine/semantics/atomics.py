"""Read-modify-write updates: the new value of a memory cell from its old value and the data.

    ATOMICS["inc32"](b, old, data)      0 where old >= data, else old + 1

`cmpswap` (global) has the new value in the low and the comparand in the high half of the data registers; `cmpst`
(LDS) has comparand, then new value as separate operands; both arrive here as (old, new, comparand). `mskor` gets
(old, or, mask). Float updates use the f32/f64 rules of the builder; bf16 sums are f32 sums rounded to nearest even.
"""

from __future__ import annotations

from collections.abc import Callable

from argus.machine.semantics.builder import Builder, Word
from argus.machine.semantics.valu_float import half2

Update = Callable[..., Word]

ATOMICS: dict[str, Update] = {}
TWO_OPERANDS = frozenset({"cmpswap32", "cmpswap64", "cmpst32", "cmpst64", "mskor32", "mskor64"})


def _inc(b: Builder, old: Word, data: Word, one: Word, zero: Word, add: Callable[[Word, Word], Word]) -> Word:
    return b.select(b.ule(data, old), zero, add(old, one))


def _dec(b: Builder, old: Word, data: Word, one: Word, zero: Word, sub: Callable[[Word, Word], Word]) -> Word:
    wrap = b.mask_or(b.eq(old, zero), b.ult(data, old))
    return b.select(wrap, data, sub(old, one))


def _width(bits: int) -> dict[str, Update]:
    const, add, sub, slt, neg = f"const{bits}", f"add{bits}", f"sub{bits}", f"slt{bits}", f"not{bits}"

    def less(b: Builder, x: Word, y: Word) -> Word:
        return getattr(b, slt)(x, y)

    def k(b: Builder, value: int) -> Word:
        return getattr(b, const)(value)

    return {
        "swap": lambda b, old, data: data,
        "cmpswap": lambda b, old, new, compare: b.select(b.eq(old, compare), new, old),
        "cmpst": lambda b, old, new, compare: b.select(b.eq(old, compare), new, old),
        "mskor": lambda b, old, bits_, mask: b.or_(b.and_(old, getattr(b, neg)(mask)), bits_),
        "add": lambda b, old, data: getattr(b, add)(old, data),
        "sub": lambda b, old, data: getattr(b, sub)(old, data),
        "rsub": lambda b, old, data: getattr(b, sub)(data, old),
        "umin": lambda b, old, data: b.select(b.ult(data, old), data, old),
        "umax": lambda b, old, data: b.select(b.ult(old, data), data, old),
        "smin": lambda b, old, data: b.select(less(b, data, old), data, old),
        "smax": lambda b, old, data: b.select(less(b, old, data), data, old),
        "and": lambda b, old, data: b.and_(old, data),
        "or": lambda b, old, data: b.or_(old, data),
        "xor": lambda b, old, data: b.xor(old, data),
        "inc": lambda b, old, data: _inc(b, old, data, k(b, 1), k(b, 0), getattr(b, add)),
        "dec": lambda b, old, data: _dec(b, old, data, k(b, 1), k(b, 0), getattr(b, sub)),
    }


for _bits in (32, 64):
    for _name, _fn in _width(_bits).items():
        ATOMICS[f"{_name}{_bits}"] = _fn


def round_to_bf16(b: Builder, x: Word) -> Word:
    """f32 to bf16 in the low half of a w32, round to nearest even; NaN stays NaN."""
    odd = b.and_(b.lshr32(x, b.const32(16)), b.const32(1))
    rounded = b.lshr32(b.add32(b.add32(x, b.const32(0x7FFF)), odd), b.const32(16))
    return b.select(b.funo32(x, x), b.const32(0x7FC0), rounded)


def _packed(add: Callable[[Builder, Word, Word], Word]) -> Update:
    def run(b: Builder, old: Word, data: Word) -> Word:
        low, sixteen = b.const32(0xFFFF), b.const32(16)
        lo = add(b, b.and_(old, low), b.and_(data, low))
        hi = add(b, b.lshr32(old, sixteen), b.lshr32(data, sixteen))
        return b.or_(lo, b.shl32(hi, sixteen))

    return run


def _add_bf16(b: Builder, x: Word, y: Word) -> Word:
    sixteen = b.const32(16)
    return round_to_bf16(b, b.fadd32(b.shl32(x, sixteen), b.shl32(y, sixteen)))


ATOMICS["add_f32"] = lambda b, old, data: b.fadd32(old, data)
ATOMICS["min_f32"] = lambda b, old, data: b.fmin32(old, data)
ATOMICS["max_f32"] = lambda b, old, data: b.fmax32(old, data)
ATOMICS["add_f64"] = lambda b, old, data: b.fadd64(old, data)
ATOMICS["min_f64"] = lambda b, old, data: b.fmin64(old, data)
ATOMICS["max_f64"] = lambda b, old, data: b.fmax64(old, data)
ATOMICS["pk_add_f16"] = _packed(half2(lambda b, x, y: b.fadd32(x, y)))
ATOMICS["pk_add_bf16"] = _packed(_add_bf16)
