"""`python -m argus.cli.editor_stub`: writes the language as types, for editors and mypy.

argus/__init__.pyi           what `import argus as ag` offers
argus/gfx942/__init__.pyi    instructions: `from argus.gfx942 import mfma_32x32x8_bf16 as MMA`

    A[bm * BM, k].load(COPY, width=16)      completion after the dot, the signature of load, its meaning on hover

Names, parameters and defaults come from the table of the language (`argus.lang.members`): what is added there is in the
stub after the next run, and `tests/lang/test_editor_stub.py` fails until then. What the table does not know stands
here: the type of a parameter by its name, the type of a result, one sentence for every name.

The stub knows less than the reader of kernel files. It cannot know sizes (`M` is a name of the signature's text) nor
the axes of a tile; those are `Any`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from functools import partial

from argus.gfx942.fragments import Fragment, Matrix
from argus.gfx942.mfma import ALIASES
from argus.ir.types import DTYPES
from argus.lang import algebra, builtins, checks, instructions, members, transfers
from argus.lang.values import SharedTile, TensorView, Tile
from argus.layout.layout import Layout
from argus.layout.owner import Owner
from argus.provenance import PACKAGE
from argus.surface import KernelHandle

PARAMETERS = {
    "owner": "Owner | Fragment", "dtype": "type[Tile]", "layout": "Layout", "width": "int", "guard": "Any",
    "tiles": "Mapping[str, int] | None", "value": "Value", "rounding": "str", "saturate": "builtins.bool",
    "finite": "builtins.bool", "within": "str", "order": "Any", "name": "str", "names": "str", "axes": "str",
    "into": "SharedTile", "offsets": "Any", "start": "int", "count": "int", "source": "Any", "extents": "int",
    "rows": "int", "group": "int", "depth": "int", "members": "tuple[Layout, type[Tile]]", "bounds": "int",
    "step": "int", "counts": "int", "bare": "builtins.bool", "vm": "int | None", "lgkm": "int | None",
    "priority": "int", "a": "Any",
    "b": "Any", "c": "Any", "condition": "Any", "x": "Any", "y": "Any", "z": "Any", "parts": "Sequence[Tile]",
    "axis": "str", "exclusive": "builtins.bool", "reverse": "builtins.bool",
    "ratios": "int", "low": "int", "high": "int", "at": "Any",
}  # fmt: skip
"""Type of a parameter by its name."""
RESULTS = {
    "grid": "Any", "wave": "Any", "lane": "int", "thread": "int", "row_major": "Any", "grouped": "Any", "xcd": "Any",
    "shared": "SharedTile", "ring": "Ring", "range": "Iterable[int]", "unroll": "Iterable[Any]", "cdiv": "int",
    "schedule": "Any", "opposite": "Any", "as_index": "int", "barrier": "None", "wait": "None", "setprio": "None",
    "max": "Any", "min": "Any", "abs": "Any", "where": "Tile", "view": "SharedTile", "store": "None", "copy": "None",
    "atomic_add": "None", "atomic_max": "None", "atomic_min": "None",
}  # fmt: skip
"""Type of a result by the function's name; others give a tile."""
MEANINGS = {
    "grid": "Says how many workgroups there are, and gives the number of this one along each extent.",
    "wave": "The number of this wave in its workgroup, one for each entry of `waves`.",
    "lane": "The number of this lane in its wave, 0 to 63.",
    "thread": "The number of this thread in its workgroup.",
    "row_major": "Workgroups in the order of their numbers.",
    "grouped": "Workgroups in bands of so many rows, which share what they load in the L2.",
    "xcd": "Neighbouring workgroups on one of so many chiplets.",
    "shared": "A buffer in LDS with a layout.",
    "ring": "Several stages of LDS buffers; `ring[i]` is stage i modulo the depth.",
    "zeros": "A tile of zeros held as the owner says.",
    "full": "A tile of one value held as the owner says.",
    "range": "A loop of the machine: `for i in ag.range(n)`.",
    "unroll": "A loop that is written out: `for i, j in ag.unroll(2, 4)`.",
    "barrier": "All waves of the workgroup arrive before any goes on.",
    "wait": "Waits until so many memory operations are left under way.",
    "setprio": "Priority of this wave at its SIMD, 0 to 3.",
    "mfma": "One matrix instruction: a @ b + c.",
    "where": "Elementwise choice.",
    "stack": "Tiles of one kind as one tile with a further, slowest digit.",
    "cdiv": "Division rounded up.",
    "schedule": "How the instructions of a loop are mixed.",
    "opposite": "The second half of the waves runs one barrier behind the first.",
    "fma": "x * y + z, rounded once.",
    "as_index": "The integer a thread holds as an index; the bounds are obligations of the launch.",
    "to": "The same values in another type.",
    "bitcast": "The same bits in another type.",
    "regs": "A run of registers.",
    "order": "The same elements with the register digits in another order.",
    "without": "The tile without some axes (all, if none is named).",
    "held_as": "The same registers with the coordinates of another owner.",
    "from_lane": "What another lane of the wave holds.",
    "sum": "The sum over the named axes.",
    "prod": "The product over the named axes.",
    "cumsum": "Every element with the sum of all before it along an axis.",
    "cumprod": "Every element with the product of all before it along an axis.",
    "cummax": "The greatest of every element and all before it along an axis.",
    "cummin": "The least of every element and all before it along an axis.",
    "first": "The element at the first coordinate of an axis, in every lane.",
    "last": "The element at the last coordinate of an axis, in every lane.",
    "load": "Load what the owner says each thread holds; `width` is the bytes of one access.",
    "store": "Store a tile; `width` is the bytes of one access.",
    "copy": "Global memory straight to LDS.",
    "atomic_add": "Add to memory, element by element, atomically.",
    "atomic_max": "Maximum with memory, atomically.",
    "atomic_min": "Minimum with memory, atomically.",
    "view": "The same bytes addressed through another layout.",
}
"""One sentence by name; a name without one is an elementwise function."""
REDUCTIONS = {"max": "The largest over the named axes.", "min": "The smallest over the named axes."}
HEAD = '''"""The Argus language for editors and type checkers, written by `python -m argus.cli.editor_stub`."""

import builtins
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, ClassVar, Generic, TypeVar, TypeVarTuple, Unpack

_T = TypeVar("_T")
_Axes = TypeVarTuple("_Axes")
Value = Any
__version__: str
inf: float
LOG2E: float

def knob(default: _T, *, legal: Sequence[_T] = ..., why: str = ...) -> _T:
    """A typed parameter of a kernel file: its default, its legal values, why it is there."""

def kernel(
    *,
    threads: int,
    waves: int | tuple[int, ...] = ...,
    requires: str = ...,
    computes: str = ...,
    example: Mapping[str, int] = ...,
    policy: Any = ...,
) -> Callable[[Callable[..., Any]], KernelHandle]:
    """Marks a function as a kernel: its threads, what launches must satisfy, what it computes."""

class Coordinates:
    """The coordinate of every element of a tile along one axis."""

    def __getattr__(self, name: str) -> Any: ...
'''
PLAIN = {"int", "str", "float", "None", "Layout", "Owner", "Fragment", "Matrix", "KernelHandle"}
STARS = {"VAR_POSITIONAL": "*", "VAR_KEYWORD": "**"}
BUILT = (Layout, Owner)
"""Classes that kernel files construct."""
OPERATORS = (
    "add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "and", "or", "xor", "lshift", "rshift",
)  # fmt: skip
COMPARISONS = ("lt", "le", "gt", "ge")


def stub() -> str:
    """The text of argus/__init__.pyi."""
    parts = [HEAD.rstrip("\n"), *_operators("Any"), "", *_classes(), *_tile(), "", *_dtypes(), "", *_places(), ""]
    functions = {**builtins.FUNCTIONS, **transfers.FUNCTIONS}
    for name, function in functions.items():
        parts += [*_function(name, function, 1, MEANINGS.get(name, f"Elementwise {name}.")), ""]
    parts += ["def tag(*parts: Any, **named: Any) -> Any:", '    """Names what a value holds, for `ag.check`."""', ""]
    parts += ["class check:", '    """What must hold at this place; `argus explain RULE` says more."""', ""]
    for rule in checks.RULES:
        parts += ["    @staticmethod", f"    def {rule}(*what: Any, **named: Any) -> None: ..."]
    parts += ["", *(f"from argus.gfx942 import {name} as {name}" for name in (*ALIASES, *instructions.NAMES))]
    return "\n".join(parts) + "\n"


def instruction_stub() -> str:
    """The text of argus/gfx942/__init__.pyi."""
    head = ['"""Instructions of gfx942 that kernels may call, written by `python -m argus.cli.editor_stub`."""', ""]
    head += ["from typing import Any", "", "from argus import Matrix", ""]
    calls = [f"def {name}(*operands: Any, **options: Any) -> Any: ..." for name in instructions.NAMES]
    return "\n".join([*head, *(f"{name}: Matrix" for name in ALIASES), "", *calls]) + "\n"


def texts() -> dict[str, str]:
    """File of the package -> text."""
    return {"__init__.pyi": stub(), "gfx942/__init__.pyi": instruction_stub()}


def _tile() -> Iterator[str]:
    yield "class Tile:"
    yield '    """Registers with coordinates: which thread holds which element. `tile.n`: coordinates along axis n."""'
    yield ""
    yield "    def __init__(self, value: Any = ..., /) -> None: ..."
    yield "    dtype: type[Tile]"
    yield "    def __getitem__(self, index: Any) -> Tile: ..."
    yield "    def __setitem__(self, index: Any, value: Tile) -> None: ..."
    yield "    def __getattr__(self, axis: str) -> Any: ..."
    yield from _operators("Tile")
    yield from _methods(Tile)


def _operators(result: str) -> Iterator[str]:
    for name in OPERATORS:
        yield f"    def __{name}__(self, other: Any) -> {result}: ..."
        yield f"    def __r{name}__(self, other: Any) -> {result}: ..."
    for name in COMPARISONS:
        yield f"    def __{name}__(self, other: Any) -> {result}: ..."
    yield f"    def __neg__(self) -> {result}: ..."
    yield f"    def __invert__(self) -> {result}: ..."


def _classes() -> Iterator[str]:
    """The real classes behind layouts, owners, matrix instructions and kernels, without what they import."""
    for kind in (Layout, Owner, Fragment, Matrix, KernelHandle):
        yield f"class {kind.__name__}:"
        yield f'    """{(inspect.getdoc(kind) or "").splitlines()[0]}"""'
        yield ""
        for name, method in vars(kind).items():
            if isinstance(method, property):
                yield "    @property"
                yield f"    def {name}(self) -> Any: ..."
            elif inspect.isfunction(method) and (not name.startswith("_") or name == "__call__" or kind in BUILT):
                yield from _method_of(name, method)
        yield ""


def _method_of(name: str, method: Callable[..., object]) -> Iterator[str]:
    if name.startswith("_") and name not in ("__init__", "__call__"):
        return
    words = []
    for p in inspect.signature(method).parameters.values():
        star = STARS.get(p.kind.name, "")
        default = "" if p.default is inspect.Parameter.empty else " = ..."
        words.append("self" if p.name == "self" else f"{star}{p.name}: {_plain(str(p.annotation))}{default}")
    result = _plain(str(inspect.signature(method).return_annotation))
    yield f"    def {name}({', '.join(words)}) -> {result}:"
    yield f'        """{(method.__doc__ or name).splitlines()[0]}"""'


def _plain(annotation: str) -> str:
    """An annotation that needs no import, or Any."""
    return annotation if annotation in PLAIN else "Any"


def _dtypes() -> Iterator[str]:
    for name, dtype in DTYPES.items():
        yield f"class {name}(Tile):"
        yield f'    """{dtype.bits} bits; as an annotation a scalar argument, as a function a conversion."""'
        yield ""
        yield "    bits: ClassVar[int]"
        yield "    bytes: ClassVar[int]"


def _places() -> Iterator[str]:
    yield "class TensorView:"
    yield '    """A tensor seen from an element on: `A[row, k]`."""'
    yield ""
    yield "    dtype: type[Tile]"
    yield "    def __getitem__(self, index: Any) -> TensorView: ..."
    yield from _methods(TensorView)
    for name, text in (("In", "read"), ("Out", "written"), ("InOut", "read and written")):
        yield ""
        yield f"class {name}(TensorView, Generic[Unpack[_Axes]]):"
        yield f'    """A tensor argument that is {text}: `ag.{name}["M K", bf16]` names its axes and type."""'
    yield ""
    yield "const = _T | Any"
    yield '"""A static argument: `causal: ag.const[bool] = False`."""'
    yield ""
    yield "class SharedTile:"
    yield '    """A buffer in LDS."""'
    yield ""
    yield from _methods(SharedTile)
    yield ""
    yield "class Ring:"
    yield '    """Stages of LDS buffers."""'
    yield ""
    yield "    def __getitem__(self, stage: Any) -> Any: ..."
    yield "    def __getattr__(self, name: str) -> Any: ..."


def _methods(kind: type) -> Iterator[str]:
    for kinds, table in members._TABLES:
        if kind is kinds or (isinstance(kinds, tuple) and kind in kinds):
            for name, method in table.items():
                meaning = REDUCTIONS.get(name, MEANINGS.get(name, ""))
                yield from (f"    {line}" for line in _function(name, method, 2, meaning, "self, "))


def _function(name: str, function: Callable[..., object], skip: int, meaning: str, head: str = "") -> Iterator[str]:
    """A declaration; the first `skip` parameters are the reader's own."""
    called = function.func if isinstance(function, partial) else function
    given = list(inspect.signature(called).parameters.values())[skip:]
    words: list[str] = []
    starred = any(p.kind is inspect.Parameter.VAR_POSITIONAL for p in given)
    for p in given:
        kind = PARAMETERS.get(p.name, "Any")
        if p.kind is inspect.Parameter.VAR_POSITIONAL:
            words.append(f"*{p.name}: {kind}")
        elif p.kind is inspect.Parameter.VAR_KEYWORD:
            words.append(f"**{p.name}: {kind}")
        else:
            if p.kind is inspect.Parameter.KEYWORD_ONLY and not starred and "*" not in words:
                words.append("*")
            optional = "" if p.default is inspect.Parameter.empty else " = ..."
            none = " | None" if p.default is None and kind != "Any" and "None" not in kind else ""
            words.append(f"{p.name}: {kind}{none}{optional}")
    yield f"def {name}({head}{', '.join(words)}) -> {RESULTS.get(name, 'Tile')}:"
    yield f'    """{meaning}"""'


def covered() -> set[str]:
    """Names of the language the stub has to have."""
    return {*members.names_of("argus"), *algebra.CONSTRUCTORS, *builtins.CONSTANTS}


if __name__ == "__main__":
    for file, text in texts().items():
        (PACKAGE / file).write_text(text, encoding="utf-8")
