"""Broken programs: random edits of real kernels end in a kernel or in a coded diagnostic, never in anything else.

2,000 edits by default, from a fixed seed. `ARGUS_FUZZ=50000 pytest tests/lang/test_fuzz.py` runs more.
"""

from __future__ import annotations

import ast
import io
import os
import random
import re
import tokenize
from pathlib import Path

import pytest

from argus.ir.parser import parse_kernel
from argus.ir.printer import print_kernel
from argus.lang import ProgramError, read

HERE = Path(__file__).parent
SMALL = ["transpose", "rmsnorm", "softmax", "paged", "scan", "quantise", "depthwise", "routing", "rotary"]
SEEDS = [(HERE / "programs" / f"{n}.py").read_text() for n in SMALL]
SEEDS += [p.read_text() for p in sorted((HERE.parent / "errors").glob("AG*.py")) if not p.name.startswith("AG101")]
NAMED = """import argus as ag
from argus import bf16, f32, i32
ROW = ag.Owner(lane=64, e=4, n="lane*4 + e")
WORDS = ag.Owner(lane=64, e=8, n="lane*8 + e")

@ag.kernel(threads=64, requires="N % 8 == 0", policy=dict(waves_per_simd=2, agpr=True))
def named(X: ag.In["M N", f32, "sX 1"], Y: ag.Out["M N", f32, "sY 1"], b: ag.InOut["N", f32]):
    row = ag.grid(M)
    x = X[row].load(ROW, width=16)
    low = ag.v_med3_f32(x, -1.0, 1.0)
    left = ag.v_mov_b32_dpp(low, row_shr=1, bound_ctrl=True)
    total, carry = ag.v_add_co_u32(x.bitcast(i32), 7)
    halves = ag.v_cvt_pkrtz_f16_f32(low, left).bitcast(bf16).held_as(WORDS)
    packed = ag.v_cvt_pk_fp8_f32(low, left, ag.v_bfe_u32(total, 3, 8), word=1)
    Y[row].store(ag.v_pk_add_f32(low, ag.v_cndmask_b32(left, low, carry)), width=16)
    ag.s_sleep(2)
    b[ag.lane()].atomic_max(ag.v_readlane_b32(x, lane=3)[0].without())
    buffers = [ag.shared(ag.Layout(n=(256, 4)), f32) for _ in range(2)]
    buffers[1].store(ag.ds_swizzle_b32(x, pattern=1055), width=16)
"""
SEEDS += [NAMED] * 12
LARGE = [(HERE / "programs" / f"{n}.py").read_text() for n in ("attention", "moe", "splitk")]
NAME = re.compile(r"\b[A-Za-z]\w*\b")
CASES = int(os.environ.get("ARGUS_FUZZ", "2000"))

WORDS: list[str] = []
for line in (
    "0 1 -1 2 3 7 16 64 256 4096 0.5 1e30 '' 'n' 'row' None True False N M K t ag f32 bf16 i32 fp8 x y acc ROW",
    "ag.lane() ag.wave() ag.thread() ag.inf ag.range(N) ag.unroll(3) ag.zeros ag.barrier() ag.max ag.mfma ag.grid",
    "ag.Owner(t=256,i='t') ag.Layout(r=(4,4)) x.n x.max('n') x[0] [x] (x,x) {} lambda:0 range(3) len abs sum",
    "+ - * // % / ** & | ^ << >> < <= == != and or not in is if else for , ( ) [ ] : = . *= += @ return pass with as",
):
    WORDS += line.split()

VALUES = """
0 | 1 | -1 | 2 | 3 | 7 | 16 | 64 | 256 | 4096 | 10**30 | 0.5 | 1e30 | 1e-40 | '' | 'n' | 'row' | None | True | False
N | M | K | ag | f32 | bf16 | i32 | fp8 | x | acc | ROW | ag.lane() | ag.wave() | ag.thread() | ag.inf | -ag.inf
ag.range(N) | ag.range(3) | ag.unroll(3) | ag.zeros | ag.barrier() | ag.mfma | ag.check | ag.grid(2)
ag.Owner(t=256,i='t') | ag.Owner(lane=64,e=4,n='lane*4+e') | ag.Layout(r=(4,4)) | x.n
x.max('n') | x[0] | [x] | (x,x)
{} | (lambda:0) | (lambda a: a) | range(3) | len | abs(x) | sum([x,x]) | x.to(f32) | x.to(i32)
x > 0 | ag.lane() > 3 | N > 5 | x.n > N | f32(1) | i32(ag.lane()) | f32(x.n)
ag.as_index(x, 0, 5) | [i for i in range(3)]
(N if N > 3 else 2) | x if N > 3 else x | ag.where(x > 0, x, 0) | ag.stack([x, x], 'q') | x.from_lane(ag.lane() ^ 1)
x.without() | x.regs(0, 1) | x.bitcast(i32) | ag.ring(2, a=(ag.Layout(r=(4,4)), f32)) | ag.const[bool] | ag.In
ag.shared(ag.Layout(r=(4,4)), f32) | ag.schedule(mfma=1) | ag.In['N', f32] | dict(a=1) | ~x | -x | not x | x == x
x in [x] | x is None | 1 << 200 | N // 0 | N % N | 1 // N | ag.tag(x, a=1) | *x | x.load | x.store | ag.gfx942
""".replace("\n", "|").split("|")


def tokens(source: str) -> list[tuple[int, int]]:
    """Start and end offsets of the tokens."""
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    found = []
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        begin = starts[token.start[0] - 1] + token.start[1]
        end = starts[token.end[0] - 1] + token.end[1]
        if end > begin and token.string.strip():
            found.append((begin, end))
    return found


def expressions(source: str) -> list[tuple[int, int]]:
    """Start and end offsets of the expressions, statements' own included (sources are ASCII where it matters)."""
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.expr) and node.end_lineno is not None and node.end_col_offset is not None:
            found.append((starts[node.lineno - 1] + node.col_offset, starts[node.end_lineno - 1] + node.end_col_offset))
    return sorted(set(found))


def swapped(rng: random.Random, source: str) -> str:
    """One expression replaced by another: almost always valid Python, seldom a valid kernel."""
    try:
        places = expressions(source)
    except SyntaxError:
        return source
    if not places:
        return source
    begin, end = rng.choice(places)
    new = source[slice(*rng.choice(places))]
    if rng.random() < 0.5:
        new = rng.choice(VALUES).replace("x", rng.choice(NAME.findall(source)))
    return source[:begin] + new + source[end:]


def edited(rng: random.Random, source: str, places: list[tuple[int, int]]) -> str:
    kind = rng.randrange(7)
    begin, end = rng.choice(places)
    other = rng.choice(places)
    if kind == 0:
        return source[:begin] + source[end:]
    if kind == 1:
        return source[:begin] + rng.choice(WORDS) + source[end:]
    if kind == 2:
        return source[:begin] + rng.choice(WORDS) + " " + source[begin:]
    if kind == 3:
        return source[:begin] + source[slice(*other)] + source[end:]
    if kind == 4:
        (a, b), (c, d) = sorted([(begin, end), other])
        return source[:a] + source[c:d] + source[b:c] + source[a:b] + source[d:] if b <= c else source
    lines = source.splitlines(keepends=True)
    at = rng.randrange(len(lines))
    if kind == 5:
        return "".join(lines[:at] + lines[at + 1 :])
    to = rng.randrange(len(lines))
    return "".join([*lines[:to], lines[at], *lines[to:]])


def mutant(rng: random.Random, source: str, places: list[tuple[int, int]]) -> str:
    if rng.random() < 0.2:
        return edited(rng, source, places)
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        source = swapped(rng, source)
    return source


def attempt(source: str) -> str:
    """`kernel` or the code of the diagnostic."""
    try:
        kernel = read(source)
    except ProgramError as error:
        return error.diagnostic.to_json()["code"] if error.render() else "silent"
    if len(kernel.body) < 60:
        parse_kernel(print_kernel(kernel))
    return "kernel"


@pytest.mark.parametrize("part", range(4))
def test_random_edits(part: int) -> None:
    rng = random.Random(1000 + part)
    seeds = SEEDS if part < 3 else SEEDS + LARGE
    places = [tokens(s) for s in seeds]
    seen: dict[str, int] = {}
    for case in range(CASES // 4):
        which = rng.randrange(len(SMALL)) if rng.random() < 0.6 else rng.randrange(len(seeds))
        source = mutant(rng, seeds[which], places[which])
        try:
            outcome = attempt(source)
        except Exception as error:
            raise AssertionError(f"case {case}: {type(error).__name__}: {error}\n{source}") from error
        seen[outcome] = seen.get(outcome, 0) + 1
    assert seen.get("kernel", 0) > 0
    assert len(seen) > 15
    assert "silent" not in seen
