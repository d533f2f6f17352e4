"""One small kernel for each kind of hazard, with the lines that are noted; the kernel is right for real numbers.

A row (m) belongs to a wave; N is at most 256. `HAZARDS` maps a kind to the body of its kernel and what is noted of it.
"""

from __future__ import annotations

from dataclasses import dataclass

HEAD = """import argus as ag
from argus import bf16, f16, f32, fp8, i32, inf, LOG2E

ROW = ag.Owner(lane=64, e=4, n="lane*4 + e")
FLAT = ag.Owner(t=256, i="t")
"""


@dataclass(frozen=True)
class HazardKernel:
    """`noted` are (kind, text of the line, part of the reason)."""

    text: str
    noted: tuple[tuple[str, str, str], ...]

    @property
    def source(self) -> str:
        return HEAD + self.text


def _flat(computes: str, body: str, types: str = "f32", out: str = "f32", more: str = "") -> str:
    lines = "\n".join(f"    {line}" for line in body.splitlines())
    return (
        f'\n\n@ag.kernel(threads=256, requires="N >= 1", computes="{computes}", example=dict(N=300))\n'
        f'def k(x: ag.In["N", {types}], y: ag.In["N", {types}], z: ag.Out["N", {out}]{more}):\n'
        f"    start = 256 * ag.grid(ag.cdiv(N, 256))\n"
        f"    a = x[start].load(FLAT, width={2 if types in ('f16', 'bf16') else 4})\n"
        f"    b = y[start].load(FLAT, width={2 if types in ('f16', 'bf16') else 4})\n{lines}\n"
    )


def _rows(computes: str, body: str, out: str = '"M"', kind: str = "f32") -> str:
    lines = "\n".join(f"    {line}" for line in body.splitlines())
    return (
        f'\n\n@ag.kernel(threads=64, requires="M >= 1 and N >= 1 and N <= 256", computes="{computes}", '
        f"example=dict(M=3, N=200))\n"
        f'def k(X: ag.In["M N", {kind}], Y: ag.Out[{out}, f32]):\n'
        f"    row = ag.grid(M)\n"
        f'    x = X[row].load(ROW, width={2 if kind in ("f16", "bf16") else 4}, guard="shape")\n{lines}\n'
    )


STORED = "z[start].store({}, width={})"
ONE = "Y[row].store({}, width=4, guard=ag.lane() == 0)"

HAZARDS: dict[str, HazardKernel] = {
    "narrowing": HazardKernel(
        _flat("z[i] = x[i] * y[i] + x[i]", "p = (a * b).to(bf16)\n" + STORED.format("p.to(f32) + a", 4)),
        (("narrowing", "p = (a * b).to(bf16)", "rounded to bf16"),),
    ),
    "exponential": HazardKernel(
        _rows(
            "Y[m] = sum(exp2(X[m, n]), n)",
            "e = ag.where(x.n < N, ag.exp2(x), 0.0)\n" + ONE.format('e.sum("n")'),
        ),
        (("exponential", 'Y[row].store(e.sum("n")', "no maximum was subtracted"),),
    ),
    "cancellation": HazardKernel(
        _rows(
            "Y[m] = sum(X[m, n] * X[m, n], n) / N - (sum(X[m, n], n) / N) * (sum(X[m, n], n) / N)",
            'mean = x.sum("n") / f32(N)\nsquares = (x * x).sum("n") / f32(N)\n'
            "variance = squares - mean * mean\n" + ONE.format("variance"),
        ),
        (("cancellation", "variance = squares - mean * mean", "may cancel"),),
    ),
    "sum16": HazardKernel(
        _rows("Y[m] = sum(X[m, n], n)", 'total = x.sum("n")\n' + ONE.format("total.to(f32)"), kind="bf16"),
        (("sum16", 'total = x.sum("n")', "kept in bf16"),),
    ),
    "overflow": HazardKernel(
        _flat("z[i] = x[i] * y[i]", STORED.format("(a.to(f32) * b.to(f32)).to(f16)", 2), "f16", "f16"),
        (("overflow", "z[start].store(", "f16 ends at 65504"),),
    ),
    "saturation": HazardKernel(
        _flat("z[i] = x[i] * y[i]", STORED.format("(a * b).to(fp8)", 1), "f32", "fp8"),
        (("saturation", "z[start].store(", "fp8 ends at 240"),),
    ),
    "test": HazardKernel(
        _flat(
            "z[i] = where(x[i] * y[i] > x[i], y[i], x[i])", "t = ag.where(a * b > a, b, a)\n" + STORED.format("t", 4)
        ),
        (("test", "t = ag.where(a * b > a, b, a)", "rounded numbers"),),
    ),
    "test of a floor": HazardKernel(
        _flat("z[i] = floor(x[i] * y[i])", "t = ag.floor(a * b)\n" + STORED.format("t", 4)),
        (("test", "t = ag.floor(a * b)", "over a jump"),),
    ),
    "division": HazardKernel(
        _flat("z[i] = x[i] / y[i]", "q = a / b\n" + STORED.format("q", 4)),
        (("division", "q = a / b", "near zero"),),
    ),
    "singular": HazardKernel(
        _flat("z[i] = rsqrt(x[i] * x[i]) * y[i]", "r = ag.rsqrt(a * a)\n" + STORED.format("r * b", 4)),
        (("singular", "r = ag.rsqrt(a * a)", "rsqrt of what may be near zero"),),
    ),
    "logarithm": HazardKernel(
        _flat("z[i] = log2(x[i]) * y[i]", "r = ag.log2(a)\n" + STORED.format("r * b", 4)),
        (("singular", "r = ag.log2(a)", "log2 of what may be near zero"),),
    ),
    "long_sum": HazardKernel(
        '\n\n@ag.kernel(threads=256, requires="N >= 1 and K >= 1", computes="z[i] = sum(x[k, i], k)", '
        "example=dict(N=300, K=9))\n"
        'def k(x: ag.In["K N", f32], z: ag.Out["N", f32]):\n'
        "    start = 256 * ag.grid(ag.cdiv(N, 256))\n"
        '    total = ag.zeros(ag.Owner(t=256, N="t"), f32)\n'
        "    for j in ag.range(K):\n"
        '        total = total + x[j, start].load(ag.Owner(t=256, N="t"), width=4, guard="shape")\n'
        '    z[start].store(total, width=4, guard="shape")\n',
        (("long_sum", "total = total + x[j, start]", "grows with the length"),),
    ),
    "integer": HazardKernel(
        '\n\n@ag.kernel(threads=256, requires="N >= 1", computes="z[i] = x[i] * y[i]", example=dict(N=300))\n'
        'def k(x: ag.In["N", i32], y: ag.In["N", f32], z: ag.Out["N", f32]):\n'
        "    start = 256 * ag.grid(ag.cdiv(N, 256))\n"
        "    a = x[start].load(FLAT, width=4).to(f32)\n"
        "    z[start].store(a * y[start].load(FLAT, width=4), width=4)\n",
        (("integer", "a = x[start].load(FLAT, width=4).to(f32)", "more digits than f32"),),
    ),
    "subnormal": HazardKernel(
        _rows(
            "Y[m] = sum(exp2(X[m, n] - max(X[m, j], j)) * X[m, n], n)",
            'top = ag.where(x.n < N, x, -inf).max("n")\n'
            "w = ag.exp2(ag.where(x.n < N, x, -inf) - top).to(f16)\n" + ONE.format('(w.to(f32) * x).sum("n")'),
        ),
        (
            ("narrowing", "w = ag.exp2(", "rounded to f16"),
            ("subnormal", "w = ag.exp2(", "become zero in f16"),
        ),
    ),
}
