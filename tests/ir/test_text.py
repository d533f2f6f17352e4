"""The textual form: what is printed parses back to the same IR, field by field; wrong text ends in ParseError."""

from __future__ import annotations

import dataclasses
import random
from pathlib import Path

import pytest

from argus.ir import ops
from argus.ir.kernel import Kernel
from argus.ir.parser import ParseError, parse_kernel
from argus.ir.printer import print_kernel
from argus.ir.types import Value
from argus.ir.verify import IrError, verify
from argus.lang import read
from tests.ir import samples

ROOT = Path(__file__).parents[2]
KERNELS = {
    "sample_vadd": samples.vadd,
    "sample_gemm": samples.gemm,
    "vadd": lambda: read(ROOT / "argus/kernels/vadd.py"),
    "gemm": lambda: read(ROOT / "argus/kernels/gemm.py"),
}


def same(a: object, b: object, path: str = "kernel") -> None:
    """Fail at the first field in which two pieces of IR differ. Values are compared by number, type and name."""
    if isinstance(a, Value):
        assert isinstance(b, Value), path
        assert (a.id, a.type, a.name) == (b.id, b.type, b.name), path
    elif dataclasses.is_dataclass(a):
        assert type(a) is type(b), path
        for field in dataclasses.fields(a):
            if field.name != "source":
                same(getattr(a, field.name), getattr(b, field.name), f"{path}.{field.name}")
    elif isinstance(a, (list, tuple)):
        assert isinstance(b, (list, tuple)), path
        assert len(a) == len(b), path
        for i, (x, y) in enumerate(zip(a, b, strict=True)):
            same(x, y, f"{path}[{i}]")
    elif isinstance(a, dict):
        assert a == b, path
    else:
        assert a == b or (a != a and b != b), path
        assert type(a) is type(b), path


@pytest.mark.parametrize("name", KERNELS)
def test_round_trip(name: str) -> None:
    kernel = KERNELS[name]()
    text = print_kernel(kernel)
    back = parse_kernel(text)
    same(kernel, back)
    verify(back)
    assert print_kernel(back) == text


def test_damaged_text_is_refused_or_read() -> None:
    """A thousand random edits: a kernel or ParseError, nothing else."""
    text = print_kernel(samples.vadd())
    rng = random.Random(5)
    refused = 0
    for _ in range(1000):
        at = rng.randrange(len(text))
        cut = text[:at] + rng.choice(["", "x", "0", "`", '"', "%9", "{", ")", " ; "]) + text[at + rng.randrange(4) :]
        try:
            parse_kernel(cut)
        except ParseError:
            refused += 1
    assert refused > 500


def broken(change: str) -> Kernel:
    """The GEMM sample with one structural fault."""
    kernel = samples.gemm()
    loop = next(op for op in kernel.body if isinstance(op, ops.For))
    match change:
        case "use before definition":
            loop.body.insert(0, loop.body.pop())
        case "value out of its block":
            check = next(op for op in kernel.body if isinstance(op, ops.Check))
            check.targets = (loop.body[0].results[0],)
        case "loop arity":
            loop.yields = loop.yields[:-1]
        case "carried type":
            first = loop.body[0].results[0]
            loop.yields = (first, *loop.yields[1:])
        case "unknown variable":
            kernel.shapes = kernel.shapes[:2]
        case "operand count":
            mfma = next(op for op in loop.body if isinstance(op, ops.Mfma))
            mfma.a = loop.body[0].results[0]
        case "register index":
            registers = next(op for op in loop.body if isinstance(op, ops.Registers))
            registers.pick = ((0, 99), *registers.pick[1:])
        case "op number":
            loop.body[0].id = loop.body[1].id
        case "LDS overlap":
            kernel.shared = (kernel.shared[0], dataclasses.replace(kernel.shared[1], base=100))
        case "element type":
            convert = next(op for op in kernel.body if isinstance(op, ops.Convert))
            kernel.body[-3] = ops.Map(fn="add", args=(convert.value, convert.result), result=convert.result, id=9999)
    return kernel


@pytest.mark.parametrize(
    "change",
    [
        "use before definition",
        "value out of its block",
        "loop arity",
        "carried type",
        "unknown variable",
        "operand count",
        "register index",
        "op number",
        "LDS overlap",
        "element type",
    ],
)
def test_verifier_refuses(change: str) -> None:
    verify(samples.gemm())
    with pytest.raises(IrError):
        verify(broken(change))
