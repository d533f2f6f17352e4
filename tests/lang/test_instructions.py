"""Every callable instruction, from the kernel text to two executions: the IR interpreter and the simulated machine.

Kernels are written as text, a dozen instructions each, and read by the language. The interpreter takes its meaning from
`argus.gfx942.calling`, the machine executes the compiled object by its own table: the two definitions were written
apart, and a difference in any of them is a failure here. Operands are special values and random ones.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from argus import machine
from argus.compile import compile_kernel
from argus.compile.decoded import decode
from argus.gfx942.calling import entry, names, not_callable, reference
from argus.gfx942.calls import CALLS, Call
from argus.gfx942.instructions import specs
from argus.ir.interp import run
from argus.ir.kernel import Kernel
from argus.ir.passes.schedule import scheduled
from argus.lang import ProgramError, read
from tests.compile.harness import EXACT, NUMPY

COUNT = 2
SPECIAL: dict[str, list[float]] = {
    "f32": [
        0, -0.0, 1, -1, 0.5, -0.5, 1.5, 2.5, np.inf, -np.inf, np.nan, 1e-40, -1e-40, 3.4e38, -3.4e38, 1e-38, 65504,
        65520, 7e4, 240, 248, 256, 57344, 61440, 65536, 255.5, 300, 1e10, -1e10, 3e9, -3e9, 2**31, 0.25, 0.75,
        1.17549435e-38, 6e-8, -6e-8, 0.99999994,
    ],
    "f16": [0, -0.0, 1, -1, 0.5, -0.5, 1.5, 2.5, np.inf, -np.inf, np.nan, 6e-8, -6e-8, 65504, -65504, 6.1e-5, 255],
    "f64": [0, -0.0, 1, -1, 0.5, -0.5, 1.5, np.inf, -np.inf, np.nan, 1e-310, 1e308, -1e308, 3e9, -3e9, 5e9, 5e-324],
    "i32": [0, 1, -1, 2**31 - 1, -(2**31), 0x0504, 0x0C0D0E0F, 7, 8, 31, 32, 255, 128, 127, 32767, 32768, 65535, 65536],
    "i16": [0, 1, -1, 32767, -32768, 7, 8, 15, 16, 255, 256, -256],
    "i8": [0, 1, -1, 127, -128],
    "u8": [0, 1, 128, 255],
    "u16": [0, 1, 32768, 65535],
    "i64": [0, 1, -1, 2**63 - 1, -(2**63), 2**32, 2**31, -(2**31), 7],
}  # fmt: skip
OPTIONS: dict[str, list[str]] = {
    "v_mov_b32_dpp": [
        "quad_perm=[1, 0, 3, 2]", "row_shl=3", "row_shr=1, bound_ctrl=True", "row_ror=5", "row_mirror=True",
        "row_half_mirror=True", "row_newbcast=7", "row_shr=1, row_mask=5, bank_mask=9", "wave_shl=True",
        "wave_rol=True", "wave_shr=True", "wave_ror=True", "row_bcast15=True", "row_bcast31=True, row_mask=12",
    ],
    "ds_swizzle_b32": ["pattern=0x041F", "pattern=0x801B", "pattern=0x0010"],
    "v_readlane_b32": ["lane=5", "lane=63"],
    "v_writelane_b32": ["lane=0", "lane=40"],
}  # fmt: skip
WIDE = {"u32": "i32", "u16": "i16", "u64": "i64", "bool": "i32"}
CALLABLE = [name for name in names() if CALLS[name].results]


def element(word: str, position: int) -> str:
    """The tensor an operand is loaded from: every type an operand may have is used somewhere."""
    word = word.removesuffix("x2")
    if word == "b32":
        return ("f32", "i32")[position % 2]
    if word == "mix":
        return ("f32", "f16", "f32")[position]
    return WIDE.get(word, word)


def settings(row: Call) -> list[str]:
    """All values of small options; the chosen ones of the rest."""
    if row.name in OPTIONS:
        return OPTIONS[row.name]
    choices = [[f"{o.name}={v}" for v in range(o.low, o.high + 1)] for o in row.options]
    return [", ".join(chosen) for chosen in itertools.product(*choices)]


def data(kind: str, rng: np.random.Generator) -> np.ndarray:
    dtype = NUMPY[kind]
    size = 64 * COUNT
    special = np.array(SPECIAL[kind] if kind[0] == "f" else [int(x) for x in SPECIAL[kind]], dtype=dtype)
    if kind[0] == "f":
        numbers = (rng.standard_normal(size) * np.exp2(rng.integers(-12, 12, size))).astype(dtype)
    else:
        limits = np.iinfo(dtype)
        numbers = rng.integers(limits.min, limits.max, size, dtype=dtype, endpoint=True)
    return np.where(rng.random(size) < 0.5, rng.choice(special, size), numbers)


def text_of(batch: list[tuple[Call, str]]) -> str:
    """A kernel that calls each instruction on tensors of its own and stores what it gives."""
    inputs: list[str] = []
    outputs: list[str] = []
    body: list[str] = []
    for number, (row, setting) in enumerate(batch):
        operands = []
        for n, word in enumerate(row.operands):
            kind, name = element(word, n), f"x{number}_{n}"
            inputs.append(f"i_{name}: ag.In['N={64 * COUNT}', ag.{kind}]")
            body.append(f"    {name} = i_{name}.load(PART, width={NUMPY[kind].itemsize})")
            operands.append(f"{name} < 0" if word == "bool" else name)
        results = [f"r{number}_{k}" for k in range(len(row.results))]
        call = ", ".join([*operands, *([setting] if setting else [])])
        body.append(f"    {', '.join(results)} = ag.{row.name}({call})")
        for result, word in zip(results, row.results, strict=True):
            kind = result_kind(row, word)
            value = f"ag.where({result}, ag.i32(1), ag.i32(0))" if word == "bool" else result
            outputs.append(f"o_{result}: ag.Out['N={64 * COUNT}', ag.{kind}]")
            body.append(f"    o_{result}.store({value}, width={NUMPY[kind].itemsize})")
    head = [
        "import argus as ag",
        f"PART = ag.Owner(lane=64, e={COUNT}, N='lane*{COUNT} + e')",
        "@ag.kernel(threads=64)",
    ]
    lines = [*head, f"def k({', '.join([*inputs, *outputs])}):", "    ag.grid(1)", *body]
    return "\n".join(lines) + "\n"


def result_kind(row: Call, word: str) -> str:
    if word == "b32":
        return element("b32", row.operands.index("b32"))
    bits = word.removesuffix("x2")[1:]
    alike = any(w[0] in "iu" and w.removesuffix("x2")[1:] == bits for w in row.operands)
    return element(word, 0) if alike or word in ("bool", "u64") else word.removesuffix("x2")


def batches(size: int = 12) -> Iterator[list[str]]:
    ordered = sorted(CALLABLE, key=lambda name: (CALLS[name].args, name))
    for start in range(0, len(ordered), size):
        yield ordered[start : start + size]


def execute(kernel: Kernel, seed: int) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray], bytes]:
    rng = np.random.default_rng(seed)
    given = {t.name: data(t.dtype.name, rng) for t in kernel.tensors if t.read}
    made = {t.name: np.zeros(64 * COUNT, NUMPY[t.dtype.name]) for t in kernel.tensors if t.written}
    expected = run(kernel, given, {}).arrays
    compiled = compile_kernel(scheduled(kernel))
    arguments = [given.get(t.name, made.get(t.name)) for t in kernel.tensors]
    options = machine.Options(checks=EXACT, max_steps=2_000_000)
    result = machine.load(compiled.object).kernel("k")((1, 1, 1), (64, 1, 1), *arguments, options=options)
    assert not result.reports, result.reports[0]
    return expected, made, compiled.object


def agree(row: Call, found: np.ndarray, expected: np.ndarray) -> np.ndarray:
    """Bit for bit, NaN like NaN; transcendental instructions to one unit in the last place, and 0 like -0."""
    bits = f"u{found.itemsize}"
    same = found.view(bits) == expected.view(bits)
    if found.dtype.kind == "f":
        same |= np.isnan(found) & np.isnan(expected)
        if row.inexact:
            with np.errstate(all="ignore"):
                wide_found, wide_expected = found.astype(np.float64), expected.astype(np.float64)
                same |= np.abs(wide_found - wide_expected) <= np.spacing(np.abs(expected)).astype(np.float64)
    return same


@pytest.mark.parametrize("batch", list(batches()), ids=lambda batch: batch[0])
def test_interpreter_and_machine_agree(batch: list[str]) -> None:
    calls = [(CALLS[name], setting) for name in batch for setting in settings(CALLS[name])]
    kernel = read(text_of(calls))
    expected, found, _ = execute(kernel, len(batch))
    for number, (row, setting) in enumerate(calls):
        for k in range(len(row.results)):
            name = f"o_r{number}_{k}"
            same = agree(row, found[name], expected[name])
            assert same.all(), (
                f"{row.name}({setting}) differs in {np.count_nonzero(~same)} places: "
                f"machine {found[name][~same][0]}, interpreter {expected[name][~same][0]}"
            )


def test_every_opcode_of_the_chip_is_callable_or_has_a_reason() -> None:
    refused = {op for ops in not_callable().values() for op in ops}
    assert set(specs()) <= set(CALLS) | refused
    assert not refused & set(CALLS)
    assert "" not in not_callable()
    assert set(CALLS) - set(specs()) == {"v_mov_b32_dpp"}


NOT_LITERAL = 64
"""At most so many callable instructions become another one of the same value (`v_sub` for `v_subrev`, …)."""


def test_most_calls_become_the_instruction_of_the_name() -> None:
    """Read off the object: which of the named instructions LLVM selected."""
    missing: list[str] = []
    for batch in batches(24):
        calls = [(CALLS[name], settings(CALLS[name])[0]) for name in batch]
        kernel = read(text_of(calls))
        present = {inst.op for inst in decode(compile_kernel(scheduled(kernel)).object, "k").insts}
        missing += [name for name in batch if name.removesuffix("_dpp") not in present]
    assert len(missing) <= NOT_LITERAL, missing


def refused(line: str) -> ProgramError:
    text = (
        "import argus as ag\nONE = ag.Owner(lane=64, n='lane')\n@ag.kernel(threads=64)\n"
        f"def k(x: ag.In['N=64', ag.f32], y: ag.Out['N=64', ag.f32]):\n    ag.grid(1)\n    v = x.load(ONE, width=4)\n"
        f"    {line}\n"
    )
    with pytest.raises(ProgramError) as caught:
        read(text)
    return caught.value


@pytest.mark.parametrize(
    ("line", "code", "words"),
    [
        ("ag.v_med3_f23(v, v, v)", "AG110", "v_med3_f32"),
        ("ag.v_med3_f32(v, v)", "AG112", "3 operands"),
        ("ag.v_bfe_u32(v, 1, 2)", "AG401", "i32 or u32"),
        ("ag.v_readlane_b32(v, lane=64)", "AG112", "outside 0..63"),
        ("ag.v_readlane_b32(v)", "AG112", "it needs `lane`"),
        ("ag.v_max_f32(v, v, clamp=1)", "AG112", "no argument `clamp`"),
        ("ag.v_pk_add_f32(v, v)", "AG112", "pairs"),
        ("ag.v_mov_b32_dpp(v)", "AG112", "row_shr"),
        ("ag.v_mov_b32_dpp(v, quad_perm=[1, 2])", "AG112", "four lanes"),
        ("ag.s_sleep(200)", "AG112", "outside 0..127"),
        ("ag.v_cndmask_b32(v, v, 1)", "AG412", ""),
        ("ag.s_branch()", "AG122", "`for`, `if`"),
        ("ag.v_smfmac_f32_16x16x32_f16(v, v, v)", "AG122", "sparse"),
    ],
)
def test_wrong_calls_are_explained(line: str, code: str, words: str) -> None:
    found = refused(line)
    assert found.code == code
    assert words in found.render()


def test_signatures_print() -> None:
    row = entry("v_add_co_u32")
    assert row is not None
    assert row.signature == "u32, bool = u32, u32"
    assert entry("s_endpgm") is None


def test_reference_is_in_step() -> None:
    """`python -m argus.gfx942.calling` prints the tables of docs/language.md."""
    page = (Path(__file__).parents[2] / "docs" / "language.md").read_text()
    assert reference() in page


@pytest.mark.parametrize("kind", ["i16", "u16", "i8", "u8"])
@pytest.mark.parametrize("into", ["i32", "f32"])
def test_narrow_loads_keep_their_place_before_a_conversion(kind: str, into: str) -> None:
    width = NUMPY[kind].itemsize
    text = (
        "import argus as ag\nP = ag.Owner(lane=64, e=2, n='lane*2 + e')\n@ag.kernel(threads=64)\n"
        f"def k(x: ag.In['N=128', ag.{kind}], z: ag.In['N=128', ag.{into}], y: ag.Out['N=128', ag.{into}]):\n"
        f"    ag.grid(1)\n    a = x.load(P, width={width})\n    c = z.load(P, width=4)\n"
        f"    y.store(a.to(ag.{into}) + c, width=4)\n"
    )
    expected, found, _ = execute(read(text), 1)
    np.testing.assert_array_equal(found["y"], expected["y"])
