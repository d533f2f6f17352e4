"""Which kernel of the library computes an operation at given sizes, and with which knobs.

    choose_matmul(4096, 4096, 4096, "bf16")   -> Choice("matmul", "matmul", {"BM": 256, "BN": 256, ...})
    choose_rows("softmax", 1000, "f32")       -> Choice("softmax", "softmax", {"WAVES": 2, "CHUNKS": 2, ...})

The choice is data: `argus/kernels/matmul.json` and `rows.json`; `argus bench gemm --search --write` finds the rows of
the first on the clock. What is not in a table is decided by a stated rule. Matrix products: every candidate has an
estimate (`argus.ops.product_time`), and the least gives tile, waves and pipeline; a row of these very sizes needs none.
Element type, layouts, access width and the mask of K's tail follow from the operands, the order of tiles over the XCDs
from their number (`argus.ops.chiplets`). Rows: the first row of the table whose registers hold a row of the operand,
else the kernel that walks rows; a row that fills them exactly needs no masks (EXACT).

What no kernel computes ends in `NoKernel`, which names the reason and the nearest thing there is.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from argus.ir.kernel import KnobValue
from argus.ir.semantics import MOST_BYTES
from argus.ops.chiplets import map_of
from argus.ops.product_choice import BANDED, Form, fastest

KERNELS = Path(__file__).parents[1] / "kernels"
MATMUL_TYPES = ("bf16", "f16")
PRODUCT_TYPES = (*MATMUL_TYPES, "fp8")
"""fp8 without scales is A @ B.T with the result in bf16; the chip does it like a two-byte product of half the k."""
ROW_TYPES = ("bf16", "f16", "f32")
ACTIVATIONS = ("none", "relu", "silu", "gelu")
ROW_FAMILIES = ("softmax", "rmsnorm", "layernorm", "rowreduce")
DIRECT = ("matmul_direct", "split_direct")
"""Kernels of `matmul_direct.py`, which load and store with a width of their own each."""
SPLIT = ("split", "split_direct")
"""Kernels that leave parts of the sums, which another launch adds up."""
K_STEP = 64
BYTES = {"bf16": 2, "f16": 2, "f32": 4}
FEW_FRAGMENTS = 6
"""Fragments of two k-steps that fit the registers when elements are loaded one by one."""
MOST_DEPTH = 5
"""k-steps that the deepest pipeline has on their way."""
NEAR = 1 << 20
"""Rows and k below which nothing is out of a workgroup's reach in tensors below 2 GiB."""
TURNED = range(64, 257)
"""Rows of a tile that threads can turn, of an operand that is stored by k."""
LIMIT = 2**31


WALKED = 4
"""Steps of one wave over a row, above which several waves walk it."""


class NoKernel(ValueError):
    """No kernel of the library does this; the message says what is nearest."""

    code = "ARG-O101"


@dataclass(frozen=True, slots=True)
class Choice:
    """A kernel of a file in `argus/kernels` with its knobs; `then`: the kernel that finishes what it leaves."""

    file: str
    kernel: str
    knobs: Mapping[str, KnobValue]
    then: Choice | None = None

    @property
    def path(self) -> Path:
        return KERNELS / f"{self.file}.py"

    def text(self) -> str:
        knobs = " ".join(f"{name}={value}" for name, value in self.knobs.items())
        return f"{self.kernel} {knobs}" + (f", then {self.then.text()}" if self.then else "")


@cache
def table(name: str) -> Mapping[str, Any]:
    """A table of choices, as searched on the clock."""
    loaded: Mapping[str, Any] = json.loads((KERNELS / f"{name}.json").read_text(encoding="utf-8"))
    return loaded


def choose_matmul(
    m: int,
    n: int,
    k: int,
    dtype: str,
    *,
    a_by_k: bool = False,
    b_by_k: bool = False,
    bias: bool = False,
    activation: str = "none",
    able: Callable[[Mapping[str, Any]], bool] | None = None,
) -> Choice:
    """The kernel for C[m, n] = op(A) @ op(B); `a_by_k`: A is stored as [K, M], `b_by_k`: B as [K, N].

    able   which rows of the table may be taken, if not all that can do what is asked
    """
    known_matmul(dtype, activation)
    for name, size in (("M", m), ("N", n), ("K", k)):
        if size < 1:
            raise NoKernel(f"matmul needs {name} >= 1, not {size}")
    half = dtype == "fp8"
    if half and (a_by_k or b_by_k or k % 2 or k > LIMIT // 2):
        raise NoKernel("matmul of fp8 takes A [M, K] and B [N, K] with an even K up to 2^30; nearest is such a copy")
    alike = k // 2 if half else k
    by_rows = not (a_by_k or b_by_k)
    plain = by_rows and not bias and activation == "none"
    form: Form = "plain" if plain else "rows" if by_rows else "turned"
    near = max(m, n, alike) < NEAR and 2 * max(m * alike, n * alike, m * n) < LIMIT

    def suits(row: Mapping[str, Any]) -> bool:
        if form not in row["forms"] or not _even_groups(row["knobs"], m, n) or (able is not None and not able(row)):
            return False
        return (near and row["kernel"] not in SPLIT) or not _beyond(row, m, n, alike, a_by_k, b_by_k)

    row = fastest(m, n, alike, suits, form if able is None else None)
    if row is None:
        why = _beyond(table("matmul")["candidates"][-1], m, n, alike, a_by_k, b_by_k) or "no candidate takes this form"
        raise NoKernel(f"no kernel reaches M = {m}, N = {n}, K = {k}: {why}; split the product along M, N or K")
    return matmul_with(row, m, n, k, dtype, a_by_k=a_by_k, b_by_k=b_by_k, bias=bias, activation=activation)


def product_type(dtype: str) -> str:
    """The element type of C and of a bias."""
    return "bf16" if dtype == "fp8" else dtype


def known_matmul(dtype: str, activation: str) -> None:
    """Refuse element types and activations that no matrix product has."""
    known_type("matmul", dtype, PRODUCT_TYPES)
    if activation not in ACTIVATIONS:
        raise NoKernel(f"there is no activation {activation!r}; there are {', '.join(ACTIVATIONS)}")


def reachable(sizes: Mapping[str, int], instead: str) -> None:
    """Refuse operands and results whose bytes do not fit the 32-bit offsets of a kernel; `instead`: what is nearest."""
    for name, count in sizes.items():
        if count >= LIMIT:
            raise NoKernel(f"{name} has {count} bytes, kernels reach {LIMIT - 1}; {instead}")


def _beyond(row: Mapping[str, Any], m: int, n: int, k: int, a_by_k: bool, b_by_k: bool) -> str:
    """What of a product a row's kernel does not reach; empty if it reaches everything. Tensors may have 2 GiB and more:
    a workgroup reaches 2 GiB from where its own rows begin, or, stored by k, the k-steps it has on their way. The parts
    of a split product are added up by a kernel that reaches 2 GiB."""
    knobs = row["knobs"]
    ahead = K_STEP * (2 * int(knobs.get("DEPTH", MOST_DEPTH)) + 1)
    spans = {
        "the rows of A in a tile have": 2 * int(knobs["BM"]) * k,
        "the rows of B in a tile have": 2 * int(knobs["BN"]) * k,
        "the rows of C in a tile have": 2 * int(knobs["BM"]) * n,
        "the k-steps of A on their way have": 2 * (ahead if a_by_k else K_STEP) * m,
        "the k-steps of B on their way have": 2 * (ahead if b_by_k else K_STEP) * n,
        "the parts of a split product have": 4 * int(knobs["SPLITS"]) * m * n if row["kernel"] in SPLIT else 0,
    }
    most = 2 * max(m * k, n * k, m * n)
    if most >= MOST_BYTES:
        return f"a tensor has {most} bytes, {MOST_BYTES - 1} are reached"
    return next((f"{what} {count} bytes, 2 GiB are reached" for what, count in spans.items() if count >= LIMIT), "")


def matmul_with(
    row: Mapping[str, Any],
    m: int,
    n: int,
    k: int,
    dtype: str,
    *,
    a_by_k: bool = False,
    b_by_k: bool = False,
    bias: bool = False,
    activation: str = "none",
    narrow: bool = True,
) -> Choice:
    """A row of the table made to fit these sizes and operands; `narrow`: kernels with a width of their own for stores
    may be taken, else all accesses are as narrow as the stores."""
    kernel = str(row["kernel"])
    size = 1 if dtype == "fp8" else 2
    width, store = size * math.gcd(16 // size, m if a_by_k else k, n if b_by_k else k), 2 * math.gcd(4, n)
    tail = k % (2 * K_STEP // size) != 0
    knobs: dict[str, KnobValue] = {"DTYPE": dtype, **row["knobs"], "WIDTH": width, "KTAIL": tail}
    if store < min(8, width):
        own = kernel in DIRECT or (narrow and kernel in ("matmul", "matmul_tiles"))
        knobs |= {"STORE": store} if own else {"WIDTH": store}
    if kernel in DIRECT and width == BYTES["bf16"]:  # a register for every element on its way
        knobs["DEPTH"] = min(int(knobs["DEPTH"]), 2 if _fragments(knobs) <= FEW_FRAGMENTS else 1)
    if knobs.get("XM") == "auto":
        knobs |= map_of(m, n, int(knobs["BM"]), int(knobs["BN"]), BANDED.get(kernel, 0))
    elif not _even(knobs, m, n):
        knobs["XM"] = 0
    if kernel == "matmul_direct":
        return Choice("matmul_direct", kernel, knobs)
    if kernel == "split_direct":
        return Choice(
            "matmul_direct", kernel, knobs, finishing(product_type(dtype), knobs["SPLITS"], n, bias, activation)
        )
    knobs |= {"A_T": a_by_k, "B_T": b_by_k}
    if kernel == "split":
        return Choice("matmul", "split", knobs, finishing(product_type(dtype), knobs["SPLITS"], n, bias, activation))
    if kernel == "matmul_tiles":
        if bias or activation != "none":
            return Choice(kernel, "linear_tiles", {**knobs, "ACT": activation})
        return Choice(kernel, kernel, knobs)
    file, suffix = ("matmul_narrow", "_narrow") if "STORE" in knobs else ("matmul", "")
    if bias or activation != "none":
        return Choice(file, f"linear{suffix}", {**knobs, "ACT": activation})
    return Choice(file, f"matmul{suffix}", knobs)


def _fragments(knobs: Mapping[str, KnobValue]) -> int:
    """Fragments of A and B that a wave of a direct product loads per k-step."""
    return int(knobs["BM"]) // int(knobs["WM"]) // 16 + int(knobs["BN"]) // int(knobs["WN"]) // 16


def finishing(dtype: str, splits: KnobValue, n: int, bias: bool, activation: str) -> Choice:
    """The kernel that adds up the parts of a split product with n columns."""
    width = 2 * math.gcd(8, n)
    knobs = {"DTYPE": dtype, "SPLITS": splits, "BIAS": bias, "ACT": activation, "WIDTH": width}
    return Choice("elementwise", "combine", knobs)


def able_at(row: Mapping[str, Any], m: int, n: int, k: int) -> bool:
    """Whether a row's kernel takes these sizes, in the plain layout."""
    return _even_groups(row["knobs"], m, n) and not _beyond(row, m, n, k, False, False)


def forms_of(row: Mapping[str, Any]) -> list[Form]:
    """The forms of products that a row's kernel has; a tile that threads cannot turn has its operands by rows."""
    forms: list[Form] = ["plain"]
    if row["kernel"] != "matmul_direct":
        forms.append("rows")
    if row["kernel"] not in DIRECT and all(int(row["knobs"][side]) in TURNED for side in ("BM", "BN")):
        forms.append("turned")
    return forms


def _even_groups(knobs: Mapping[str, Any], m: int, n: int) -> bool:
    """Whether groups of rows of tiles, if there are any, have an even XCD map."""
    return knobs.get("GROUP", 1) == 1 or _even(knobs, m, n)


def _even(knobs: Mapping[str, KnobValue], m: int, n: int) -> bool:
    """Whether the XCD map gives every workgroup a tile."""
    along = int(knobs.get("XM", 0))
    if not along:
        return True
    rows, columns = -(-m // int(knobs["BM"])), -(-n // int(knobs["BN"]))
    return rows % (along * int(knobs.get("GROUP", 1))) == 0 and columns % (8 // along) == 0


def choose_rows(family: str, n: int, dtype: str, operation: str = "", m: int = 1) -> Choice:
    """The kernel for m rows of n elements."""
    known_type(family, dtype, ROW_TYPES)
    if n < 1:
        raise NoKernel(f"{family} needs rows of at least one element, not {n}")
    size = BYTES[dtype]
    most = (LIMIT - 1) // (n * size)
    reachable({"x": m * n * size}, f"nearest is {most} rows of {n} at a time" if most else "rows are shorter")
    entries: Sequence[Mapping[str, int]] = table("rows")["rows"]
    width = size * math.gcd(16 // size, n)
    entry = next((e for e in entries if n <= _held(e, size)), None)
    chosen = table("rows")["long"] if entry is None else entry
    knobs: dict[str, KnobValue] = {"DTYPE": dtype, "WAVES": chosen["WAVES"], "CHUNKS": chosen["CHUNKS"], "WIDTH": width}
    if entry is not None and n == _held(entry, size):
        knobs["EXACT"] = True
    if family == "rowreduce":
        knobs["OP"] = operation
    return Choice(family, family if entry is not None else f"{family}_long", knobs)


def _held(entry: Mapping[str, int], size: int) -> int:
    """Elements of a row that the registers of an entry hold."""
    return 64 * entry["WAVES"] * entry["CHUNKS"] * 16 // size


def choose_walk(file: str, kernel: str, m: int, n: int, dtype: str) -> Choice:
    """A kernel that walks m rows of n elements, however long they are: a wave to a short row, several to a long one."""
    known_type(kernel, dtype, ROW_TYPES)
    size = BYTES[dtype]
    reachable({"x": 4 * m * n}, "take fewer rows at a time")
    shortest: Mapping[str, int] = table("rows")["rows"][0]
    row = shortest if n <= WALKED * _held(shortest, size) else table("rows")["long"]
    width = size * math.gcd(16 // size, n)
    return Choice(file, kernel, {"DTYPE": dtype, "WAVES": row["WAVES"], "CHUNKS": row["CHUNKS"], "WIDTH": width})


def choose_columns(m: int, n: int, dtype: str) -> Choice:
    """The kernel for the sums of n columns over m rows; a lane holds four columns."""
    known_type("columnsum", dtype, ROW_TYPES)
    size = BYTES[dtype]
    reachable({"x": m * n * size}, "take fewer rows at a time")
    return Choice("reduce_axis", "reduce_axis", {"DTYPE": dtype, "OP": "sum", "WIDTH": size * math.gcd(4, n)})


def choose_elementwise(kernel: str, operation: str, n: int, dtype: str) -> Choice:
    """The kernel for n elements seen flat; `kernel` is binary, unary or activation_backward."""
    known_type(operation, dtype, ROW_TYPES)
    if n < 1:
        raise NoKernel(f"{operation} needs at least one element")
    size = BYTES[dtype]
    reachable({"x": n * size}, f"nearest is {(LIMIT - 1) // size} elements at a time")
    name = "OP" if kernel == "binary" else "ACT"
    width = size * math.gcd(16 // size, n)
    chunks = table("rows")["elementwise"]["CHUNKS"]
    file = "elementwise" if kernel in ("binary", "unary") else kernel
    return Choice(file, kernel, {"DTYPE": dtype, name: operation, "WIDTH": width, "CHUNKS": chunks})


def choose_transpose(m: int, n: int, dtype: str) -> Choice:
    """The kernel for Y[n, m] = X[m, n]."""
    known_type("transpose", dtype, ROW_TYPES)
    size = BYTES[dtype]
    reachable({"x": m * n * size}, f"nearest is {(LIMIT - 1) // (n * size)} of the {m} rows at a time")
    return Choice("transpose", "transpose", {"DTYPE": dtype, "WIDTH": size * math.gcd(16 // size, m, n)})


def known_type(family: str, dtype: str, types: Sequence[str]) -> None:
    """Refuse element types that the kernels of a family do not have."""
    if dtype not in types:
        nearest = "f32" if dtype in ("f64", "float64") and "f32" in types else types[0]
        raise NoKernel(f"{family} has no kernel for {dtype}; there are {', '.join(types)}, nearest is {nearest}")
