"""Scans of rows: sums, maxima and minima up to each element, in one piece or carried from piece to piece.

scan      a row, or each of several, scanned by one wave: inclusive or not, from either end, of a function of the
          elements; the pieces of a long row carry what all before have taken, by `last` or by a reduction
steps     the same by hand: exchanges between lanes and masks by the lane number
"""

from __future__ import annotations

from random import Random

import numpy as np

from bench.verdict_fuzz.bounded import LARGEST, ROUNDING, TINY, Real, given
from bench.verdict_fuzz.families.flat import common_width, varied
from bench.verdict_fuzz.families.rows import NEUTRAL, zero_stays
from bench.verdict_fuzz.formulas import Formula, formula, leaf, of
from bench.verdict_fuzz.program import F32, FLOATS, Arrays, Generated, Sizes, as_f32, as_kind, header, pick

JOIN = {"sum": "{} + {}", "max": "ag.max({}, {})", "min": "ag.min({}, {})"}
STATED = {"sum": "0", "max": "-inf", "min": "inf"}


def _taken(x: Real, op: str, exclusive: bool, reverse: bool) -> Real:
    """Everything up to each element of axis 1, with the error of a sum in any order."""
    value, error = (a[:, ::-1] if reverse else a for a in (x.value, x.error))
    n = value.shape[1]
    if op == "sum":
        weight = np.cumsum(np.abs(value) + error, axis=1)
        lost = ~np.isfinite(weight) | (weight > LARGEST)
        made = np.cumsum(value, axis=1)
        bound = np.where(lost, np.inf, np.cumsum(error, axis=1) + n * ROUNDING * 1.01 * weight + n * TINY)
    else:
        made = (np.maximum if op == "max" else np.minimum).accumulate(value, axis=1)
        bound = np.maximum.accumulate(error, axis=1)
    if exclusive:
        first = {"sum": 0.0, "max": -np.inf, "min": np.inf}[op]
        made = np.concatenate([np.full_like(made[:, :1], first), made[:, :-1]], axis=1)
        bound = np.concatenate([np.zeros_like(bound[:, :1]), bound[:, :-1]], axis=1)
    bound = np.where(np.isfinite(made), bound, np.inf)
    return Real(made[:, ::-1], bound[:, ::-1]) if reverse else Real(made, bound)


def _relation(exclusive: bool, reverse: bool) -> str:
    return (">" if reverse else "<") + ("" if exclusive else "=")


def _body(dice: Random) -> Formula:
    f = leaf("x") if pick(dice, 0.6) else formula(dice, ["x"], 1)
    return f if f.leaves() else of("add", of("mul", leaf("x"), 0), f)


def _launches(span: int, elements: int, per_group: int) -> tuple[dict[str, int], ...]:
    sizes = [(1, span), (3, 2 * span - elements), (per_group + 1, span + elements), (2, elements), (1, 3 * span)]
    return tuple({"M": m, "N": n} for m, n in dict.fromkeys(sizes))


def scan(dice: Random) -> Generated:
    kind = dice.choice(FLOATS)
    each, chunks, per_group = dice.choice((1, 2, 4)), dice.choice((1, 1, 2)), dice.choice((1, 1, 2))
    span = 64 * each * chunks
    elements = common_width(dice, [kind], each)
    op, exclusive, reverse = dice.choice(("sum", "sum", "max", "min")), pick(dice, 0.4), pick(dice, 0.4)
    f = _body(dice)
    g = varied(dice, f)
    masked = pick(dice, 0.15) or (reverse and not (op == "sum" and zero_stays(g)))
    long, early = pick(dice, 0.75), pick(dice, 0.3)
    row = f"{per_group} * ag.grid(ag.cdiv(M, {per_group})) + ag.wave()" if per_group > 1 else "ag.grid(M)"
    count = f"ag.cdiv(N, {span})"
    at = (f"({count} - 1 - i) * {span}" if reverse else f"i * {span}") if long else "0"
    ends = "first" if reverse else "last"
    words = f'"n"{", exclusive=True" if exclusive else ""}{", reverse=True" if reverse else ""}'
    access = f'width={elements * kind.size}, guard="shape"'
    inner = [
        "x = " + as_f32(f"X[row, {at}].load(ROW, {access})", kind),
        f"u = {g.kernel({'x': 'x'})}",
        *([f"u = ag.where({at} + x.n < N, u, {NEUTRAL[op]})"] if masked else []),
        f"y = u.cum{op}({words})",
    ]
    if not long:
        body = [*inner, f"Y[row].store({as_kind('y', kind)}, {access})"]
    else:
        if early:
            total = f'u.{op}("n")'
        else:
            total = JOIN[op].format(f'y.{ends}("n")', f'u.{ends}("n")') if exclusive else f'y.{ends}("n")'
        start = "ag.zeros(ONE, f32)" if op == "sum" else f"ag.full(ONE, f32, {NEUTRAL[op]})"
        inner += [
            f"Y[row, {at}].store({as_kind(JOIN[op].format('acc', 'y'), kind)}, {access})",
            "acc = " + JOIN[op].format("acc", total),
        ]
        body = [f"acc = {start}.without()", f"for i in ag.range({count}):", *(f"    {line}" for line in inner)]
    spec = f"{op}(where(k {_relation(exclusive, reverse)} n, {f.spec({'x': 'X[m, k]'})}, {STATED[op]}), k)"
    requires = "M >= 1 and N >= 1" + (f" and N % {elements} == 0" if elements > 1 else "")
    requires += "" if long else f" and N <= {span}"
    source = (
        header(kind) + f'ROW = ag.Owner(lane=64, p={chunks}, e={each}, n="p*{64 * each} + lane*{each} + e")\n'
        f'ONE = ag.Owner(t={64 * per_group}, z="t*0")\n\n\n'
        f'@ag.kernel(threads={64 * per_group}, requires="{requires}", computes="Y[m, n] = {spec}", '
        f"example=dict(M=3, N={span}))\n"
        f'def k(X: ag.In["M N", {kind.name}], Y: ag.Out["M N", {kind.name}]):\n    '
        + "\n    ".join([f"row = {row}", *body])
        + "\n"
    )

    def meaning(arrays: Arrays, sizes: Sizes) -> dict[str, Real]:
        x = given(arrays["X"].astype(np.float64))
        value = g.value({"x": x})
        shape = x.value.shape
        whole = Real(np.broadcast_to(value.value, shape), np.broadcast_to(value.error, shape))
        return {"Y": _taken(whole, op, exclusive, reverse)}

    constructs = ("scan", "scan " + op, kind.name, "loop" if long else "one piece", "mask" if masked else "no mask")
    constructs += ("exclusive",) if exclusive else ()
    constructs += ("reverse",) if reverse else ()
    return Generated("scan", source, constructs, _launches(span, elements, per_group), meaning)


def steps(dice: Random) -> Generated:
    """One element per lane; lanes take from lanes 1, 2, 4 … before them, or all of a half from its last lane."""
    op, halves = dice.choice(("sum", "max", "min")), pick(dice, 0.5)
    lines = []
    for bit in range(6):
        d = 1 << bit
        if halves:
            source, test = f"(ag.lane() // {2 * d} * {2 * d} + {d - 1})", f"ag.lane() % {2 * d} >= {d}"
        else:
            source, test = f"(ag.lane() + {64 - d}) % 64", f"ag.lane() >= {d}"
        lines += [f"    t = s.from_lane({source}).without()"]
        lines += [f"    s = {JOIN[op].format('s', f'ag.where({test}, t, {NEUTRAL[op]})')}"]
    body = [
        "row = ag.grid(M)",
        "acc = " + ("ag.zeros(ONE, f32)" if op == "sum" else f"ag.full(ONE, f32, {NEUTRAL[op]})") + ".without()",
        "for i in ag.range(ag.cdiv(N, 64)):",
        '    s = X[row, i * 64].load(ROW, width=4, guard="shape").without()',
        *lines,
        f"    Y[row, i * 64 + ag.lane()].store({JOIN[op].format('acc', 's')}, width=4, guard=i * 64 + ag.lane() < N)",
        f"    acc = {JOIN[op].format('acc', 's.from_lane(63).without()')}",
    ]
    source = (
        header(F32) + 'ROW = ag.Owner(lane=64, n="lane")\nONE = ag.Owner(lane=64, z="lane*0")\n\n\n'
        f'@ag.kernel(threads=64, requires="M >= 1 and N >= 1", computes="Y[m, n] = '
        f'{op}(where(k <= n, X[m, k], {STATED[op]}), k)", example=dict(M=3, N=64))\n'
        'def k(X: ag.In["M N", f32], Y: ag.Out["M N", f32]):\n    ' + "\n    ".join(body) + "\n"
    )

    def meaning(arrays: Arrays, sizes: Sizes) -> dict[str, Real]:
        return {"Y": _taken(given(arrays["X"].astype(np.float64)), op, False, False)}

    constructs = ("steps", "scan " + op, "f32", "loop", "exchange")
    return Generated("steps", source, constructs, _launches(64, 1, 1), meaning)
