"""Sound integer intervals for index expressions.

An interval is a pair ``(lo, hi)`` of inclusive bounds; ``None`` on a side means unbounded there.  Every function
returns an interval that contains every value the operation can produce when its operands lie in theirs:

    x in 0..63,  y in 0..3
    add((0, 63), (0, 3))       -> (0, 66)
    floordiv((0, 66), (8, 8))  -> (0, 8)
    xor((0, 63), (0, 3))       -> (0, 63)       both below 64, so the result is below 64

Intervals are what lets ``(row*8 + c) // 8`` become ``row``: the rule needs ``0 <= c < 8`` and nothing else.
They forget relations between variables: ``x - x//2`` is only known to lie between ``lo(x) - hi(x)//2`` and
``hi(x) - lo(x)//2``.  Where that matters a solver is asked instead.
"""

from __future__ import annotations

from collections.abc import Callable

Interval = tuple[int | None, int | None]

BOOLEAN: Interval = (0, 1)
UNBOUNDED: Interval = (None, None)


def contains(outer: Interval, inner: Interval) -> bool:
    """Every value of `inner` is a value of `outer`."""
    low = outer[0] is None or (inner[0] is not None and inner[0] >= outer[0])
    high = outer[1] is None or (inner[1] is not None and inner[1] <= outer[1])
    return low and high


def join(a: Interval, b: Interval) -> Interval:
    """Smallest interval with every value of both."""
    lo = None if a[0] is None or b[0] is None else min(a[0], b[0])
    hi = None if a[1] is None or b[1] is None else max(a[1], b[1])
    return lo, hi


def add(a: Interval, b: Interval) -> Interval:
    lo = None if a[0] is None or b[0] is None else a[0] + b[0]
    hi = None if a[1] is None or b[1] is None else a[1] + b[1]
    return lo, hi


def scale(a: Interval, k: int) -> Interval:
    """Multiply by the constant k."""
    if k == 0:
        return 0, 0
    lo = None if a[0] is None else a[0] * k
    hi = None if a[1] is None else a[1] * k
    return (lo, hi) if k > 0 else (hi, lo)


def mul(a: Interval, b: Interval) -> Interval:
    if a[0] is not None and a[0] == a[1]:
        return scale(b, a[0])
    if b[0] is not None and b[0] == b[1]:
        return scale(a, b[0])
    if a[0] is not None and a[1] is not None and b[0] is not None and b[1] is not None:
        corners = (a[0] * b[0], a[0] * b[1], a[1] * b[0], a[1] * b[1])
        return min(corners), max(corners)
    # With an open side only the sign is kept, and the corner where both magnitudes are smallest.
    if a[0] is not None and b[0] is not None and a[0] >= 0 and b[0] >= 0:
        return a[0] * b[0], None
    if a[1] is not None and b[1] is not None and a[1] <= 0 and b[1] <= 0:
        return a[1] * b[1], None
    if a[0] is not None and a[0] >= 0 and b[1] is not None and b[1] <= 0:
        return None, a[0] * b[1]
    if b[0] is not None and b[0] >= 0 and a[1] is not None and a[1] <= 0:
        return None, a[1] * b[0]
    return UNBOUNDED


def negate(a: Interval) -> Interval:
    return scale(a, -1)


def _divide_by_positive(a: Interval, b: Interval) -> Interval:
    # a//b is monotone in a; in b it moves towards 0 (from above) or -1 (from below) as b grows.
    low_divisor, high_divisor = b
    if low_divisor is None:
        return UNBOUNDED
    if a[0] is None:
        lo = None
    elif a[0] >= 0:
        lo = 0 if high_divisor is None else a[0] // high_divisor
    else:
        lo = a[0] // low_divisor
    if a[1] is None:
        hi = None
    elif a[1] >= 0:
        hi = a[1] // low_divisor
    else:
        hi = -1 if high_divisor is None else a[1] // high_divisor
    return lo, hi


def floordiv(a: Interval, b: Interval) -> Interval:
    if b[0] is not None and b[0] > 0:
        return _divide_by_positive(a, b)
    if b[1] is not None and b[1] < 0:
        # a // b == (-a) // (-b)
        return _divide_by_positive(negate(a), negate(b))
    return UNBOUNDED


def mod(a: Interval, b: Interval) -> Interval:
    if b[0] is not None and b[0] > 0:
        if a[0] is not None and a[0] >= 0:
            # 0 <= a % b <= a and a % b < b
            limits = [x for x in (a[1], None if b[1] is None else b[1] - 1) if x is not None]
            return 0, min(limits) if limits else None
        return 0, None if b[1] is None else b[1] - 1
    if b[1] is not None and b[1] < 0:
        return (None if b[0] is None else b[0] + 1), 0
    return UNBOUNDED


def _bits(a: Interval, b: Interval) -> int | None:
    """Bits k with every value of both in [-2**k, 2**k), or None."""
    ends = (*a, *b)
    known = [(x if x >= 0 else ~x).bit_length() for x in ends if x is not None]
    return max(known) if len(known) == 4 else None


def bitwise(a: Interval, b: Interval) -> Interval:
    """Any of ^ and |: no bit above the operands' highest, no sign where none was."""
    bits = _bits(a, b)
    nonnegative = a[0] is not None and a[0] >= 0 and b[0] is not None and b[0] >= 0
    if bits is None:
        return (0, None) if nonnegative else UNBOUNDED
    return (0 if nonnegative else -(1 << bits)), (1 << bits) - 1


def bit_and(a: Interval, b: Interval) -> Interval:
    # x & y with x >= 0 clears bits of x: the result is in 0..x.
    limits = [x[1] for x in (a, b) if x[0] is not None and x[0] >= 0]
    if limits:
        known = [x for x in limits if x is not None]
        return 0, min(known) if known else None
    bits = _bits(a, b)
    return UNBOUNDED if bits is None else (-(1 << bits), (1 << bits) - 1)


def _power(shift: Interval) -> Interval:
    lo = 1 if shift[0] is None or shift[0] < 0 else 1 << min(shift[0], 4096)
    hi = None if shift[1] is None or shift[1] > 4096 else 1 << max(shift[1], 0)
    return lo, hi


def shl(a: Interval, b: Interval) -> Interval:
    return mul(a, _power(b))


def shr(a: Interval, b: Interval) -> Interval:
    return floordiv(a, _power(b))


def minimum(a: Interval, b: Interval) -> Interval:
    lo = None if a[0] is None or b[0] is None else min(a[0], b[0])
    known = [x for x in (a[1], b[1]) if x is not None]
    return lo, min(known) if known else None


def maximum(a: Interval, b: Interval) -> Interval:
    hi = None if a[1] is None or b[1] is None else max(a[1], b[1])
    known = [x for x in (a[0], b[0]) if x is not None]
    return (max(known) if known else None), hi


BINARY: dict[str, Callable[[Interval, Interval], Interval]] = {
    "add": add,
    "mul": mul,
    "floordiv": floordiv,
    "mod": mod,
    "xor": bitwise,
    "or": bitwise,
    "and": bit_and,
    "shl": shl,
    "shr": shr,
    "min": minimum,
    "max": maximum,
}


def transfer(op: str, args: tuple[Interval, ...]) -> Interval:
    """Interval of `op` applied to operands in `args`; n-ary operators fold from the left."""
    if op in BINARY:
        step = BINARY[op]
        result = args[0]
        for arg in args[1:]:
            result = step(result, arg)
        return result
    if op == "select":
        return join(args[1], args[2])
    return BOOLEAN
