"""Statistics of a row's columns as far as a wave has them: what `gemm_f32_rows` and `matmul_rows` share.

    added(tiles, ACC, n0, N, lambda x: x * x)      the sum of squares over all columns of a list of tiles
    stated(result, 64)["squares"]                  the same in index notation, for tile t of 64 columns

The tiles of the list stand beside each other from column n0 on; columns from N on do not count. `result` gives column
`n` of the product in index notation. There is no kernel here.
"""

import argus as ag
from argus import f32, inf


def started(owner, value):
    """One number for each row."""
    return ag.full(owner.per("m"), f32, value)


def added(tiles, owner, wide, n0, N, make):
    """The sum over the columns of tiles, `wide` columns each, of what `make` gives of each."""
    total = started(owner, 0.0)
    for j in range(len(tiles)):
        total = total + ag.where(n0 + wide * j + tiles[j].n < N, make(tiles[j]), 0.0).sum("n")
    return total


def highest(tiles, owner, wide, n0, N):
    """The maximum over the columns of tiles."""
    top = started(owner, -inf)
    for j in range(len(tiles)):
        top = ag.max(top, ag.where(n0 + wide * j + tiles[j].n < N, tiles[j], -inf).max("n"))
    return top


def among(n, span, value, other):
    """`value` where column `n` belongs to tile t."""
    return f"where({n} >= {span} * t and {n} < {span} * t + {span}, {value}, {other})"


def stated(result, span):
    """Every statistic in index notation; tile t has count[t] columns, which `deviations` divides by."""
    x = result("n")
    total = f"sum({among('j', span, result('j'), 0)}, j)"
    top = f"max({among('j', span, result('j'), '-inf')}, j)"
    off = f"({x} - {total} / count[t])"
    return {
        "sum": total,
        "squares": f"sum({among('n', span, f'{x} * {x}', 0)}, n)",
        "deviations": f"sum({among('n', span, f'{off} * {off}', 0)}, n)",
        "max": top,
        "weights": f"sum({among('n', span, f'exp({x} - {top})', 0)}, n)",
    }
