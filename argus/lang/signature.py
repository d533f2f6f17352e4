"""The kernel's signature: tensors with named symbolic axes, scalars, static arguments, and the conditions on sizes.

    @ag.kernel(threads=256, waves=(2, 2), requires="M % BM == 0 and K % BK == 0")
    def gemm(A: ag.In["M K", bf16], C: ag.Out["M N", bf16], alpha: f32, causal: ag.const[bool] = False):

A word in the axes is a size symbol (`M`), `D=128` an axis of fixed extent, `Kc=K` an axis named Kc of size K. Tensors
are row-major and contiguous unless strides are given (`argus.lang.strides`). `requires` is a string of Python
conditions over sizes and knobs, and `scale > 0` for a scalar. Besides being kept (a launch checks it) it narrows what
the reader knows: `M % 8 == 0` makes 8 the smallest M, `M <= 65536` the largest. Sizes are at least 1, and small enough
that no tensor reaches 2^31 bytes, the range of a buffer offset.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, field, replace
from math import gcd
from typing import Protocol

from argus.ir.kernel import WAVE, Knob, ScalarArg
from argus.ir.ops import Tensor
from argus.ir.specified import spec_arguments
from argus.ir.types import DType, Span
from argus.lang import arithmetic, strides, tiles
from argus.lang.computes import read_computes
from argus.lang.context import RESERVED, ReadContext
from argus.lang.statements import Interpreter
from argus.lang.values import Annotation, NameScope
from argus.layout import expr as E
from argus.layout.expr import Expr, const, var
from argus.spec.tree import Specification

MAX_BUFFER = 2**31 - 1
MAX_THREADS = 1024
POLICIES: dict[str, tuple[int | str, ...]] = {
    "waves_per_simd": tuple(range(1, 9)),
    "agpr": (False, True, "operands"),
    "waits": ("explicit",),
}
"""Policies of the compiler: waves to make room for on a SIMD, what AGPRs hold, waits left to the author."""


STATED_ELSEWHERE = {
    "unroll": "copies of a loop's body are written as `for i in ag.unroll(n)`",
    "store_width": "every store says its own `width=`",
    "schedule": "the order of a block is `with ag.schedule(…):`",
}
"""Settings other compilers have, which a kernel here states where they act."""


class KnobHolder(Protocol):
    def define_knob(self, knob: Knob) -> None: ...


@dataclass(slots=True)
class Signature:
    """Arguments as read; sizes are provisional until `requires` has been taken into account."""

    tensors: list[Tensor] = field(default_factory=list)
    scalars: list[ScalarArg] = field(default_factory=list)
    shapes: list[Expr] = field(default_factory=list)
    names: dict[str, object] = field(default_factory=dict)
    drafts: list[tuple[str, Annotation, list[tuple[str, str | int]], Span]] = field(default_factory=list)
    strides: dict[str, list[strides.Word]] = field(default_factory=dict)


@dataclass(slots=True)
class Decorator:
    requires: list[Expr]
    example: dict[str, int]
    computes: Specification | None
    policies: dict[str, int | str | bool]


def read_signature(ctx: ReadContext, interp: Interpreter, node: ast.FunctionDef, knobs: KnobHolder) -> Signature:
    """Tensors (as drafts), scalars and static arguments."""
    made = Signature()
    spec = node.args
    if spec.vararg or spec.kwarg or spec.kwonlyargs or spec.posonlyargs:
        raise ctx.error("AG204", node, problem="a kernel's arguments are plain names, each with its type")
    defaults: dict[str, ast.expr] = dict(
        zip(reversed([a.arg for a in spec.args]), reversed(spec.defaults), strict=False)
    )
    for arg in spec.args:
        if arg.annotation is None:
            raise ctx.error("AG204", arg, problem=f"`{arg.arg}` has no type")
        if arg.arg in made.names:
            raise ctx.error("AG204", arg, problem=f"`{arg.arg}` is there twice")
        annotation = interp.evaluate(arg.annotation)
        span = ctx.span_of(arg)
        made.names[arg.arg] = None
        if isinstance(annotation, DType):
            value = ctx.b.value(annotation, 1, arg.arg)
            ctx.data_level[value] = "block"
            made.scalars.append(ScalarArg(arg.arg, annotation, value, span))
            made.names[arg.arg] = tiles.scalar(value)
        elif isinstance(annotation, Annotation) and annotation.kind == "const" and annotation.static:
            if arg.arg not in defaults:
                raise ctx.error(
                    "AG204", arg, problem=f"`{arg.arg}` is a static argument and needs a default, such as = False"
                )
            default = interp.evaluate(defaults[arg.arg])
            if not isinstance(default, int):
                raise ctx.error("AG204", arg, problem=f"the default of `{arg.arg}` is a number or True/False")
            legal: tuple[int, ...] = (False, True) if annotation.static == "bool" else (default,)
            knobs.define_knob(Knob(arg.arg, default, legal, "static argument", span))
            made.names[arg.arg] = interp.scope.names[arg.arg]
        elif isinstance(annotation, Annotation) and annotation.dtype is not None:
            axes = _axes(ctx, arg, annotation.axes)
            made.drafts.append((arg.arg, annotation, axes, span))
            made.strides[arg.arg] = strides.words(ctx, arg, annotation.strides, len(axes))
        else:
            raise ctx.error(
                "AG204",
                arg,
                problem=f'`{arg.arg}` is neither a tensor (ag.In["M K", bf16]), a scalar (f32) nor ag.const[bool]',
            )
    _provisional(ctx, interp, made)
    return made


def _axes(ctx: ReadContext, arg: ast.arg, text: str) -> list[tuple[str, str | int]]:
    """[(axis, size symbol or extent)]"""
    made: list[tuple[str, str | int]] = []
    for word in text.split():
        axis, equals, size = word.partition("=")
        if not axis.isidentifier() or (equals and not (size.isidentifier() or size.isdecimal())):
            raise ctx.error("AG205", arg, text=text, problem=f"`{word}` is not an axis")
        if size.isdecimal() and not 1 <= int(size) <= MAX_BUFFER:
            raise ctx.error("AG205", arg, text=text, problem=f"{size} is not a size")
        if any(axis.lower() == a.lower() for a, _ in made):
            raise ctx.error("AG205", arg, text=text, problem=f"`{axis}` is there twice")
        made.append((axis, axis if not equals else int(size) if size.isdecimal() else size))
    if not made:
        raise ctx.error("AG205", arg, text=text, problem="there is no axis")
    return made


def _provisional(ctx: ReadContext, interp: Interpreter, made: Signature) -> None:
    symbols: dict[str, Expr] = {}
    for name, annotation, axes, span in made.drafts:
        assert annotation.dtype is not None
        for _, size in axes:
            if isinstance(size, str) and size not in symbols:
                if size in made.names or size in RESERVED:
                    raise ctx.error("AG214", span, name=size)
                symbols[size] = var(size, 1, MAX_BUFFER)
        made.names[name] = None
    fixed = {axis: size for _, _, axes, _ in made.drafts for axis, size in axes if isinstance(size, int)}
    _unhidden(ctx, interp, made)
    for axis, extent in fixed.items():
        if axis not in symbols and axis not in made.names:
            made.names[axis] = extent
    for name, _, _, span in made.drafts:
        for word in made.strides[name]:
            if isinstance(word, str) and word not in symbols and word not in fixed:
                if word in made.names or word in RESERVED:
                    raise ctx.error("AG214", span, name=word)
                symbols[word] = var(word, 1, MAX_BUFFER)
    made.shapes = list(symbols.values())
    for symbol in made.shapes:
        made.names[symbol.name] = symbol
        ctx.names.add(symbol.name)


def _unhidden(ctx: ReadContext, interp: Interpreter, made: Signature) -> None:
    """A size may have the name of a number of the file only if it is that number."""
    for _, _, axes, span in made.drafts:
        for axis, size in axes:
            name = axis if isinstance(size, int) else size
            number = interp.scope.names.get(name)
            if isinstance(number, int) and number != size and name not in made.names:
                meant = size if isinstance(size, int) else "a size of the launch"
                raise ctx.error("AG222", span, name=name, meant=meant, number=number)


def read_decorator(ctx: ReadContext, interp: Interpreter, call: ast.Call, signature: Signature) -> Decorator:
    """Threads, waves, conditions, example sizes, specification and policies; makes the tensors final."""
    if call.args:
        raise ctx.error("AG112", call, function="ag.kernel", problem="its arguments are written with their names")
    given: dict[str, object] = {}
    for keyword in call.keywords:
        if keyword.arg not in ("threads", "waves", "requires", "computes", "example", "policy"):
            raise ctx.error("AG112", keyword.value, function="ag.kernel", problem=f"it has no argument `{keyword.arg}`")
        with ctx.at(keyword.value):
            given[keyword.arg] = interp.evaluate(keyword.value)
    places = {k.arg: k.value for k in call.keywords}
    _threads(ctx, call, given, places)
    text = given.get("requires", "")
    if not isinstance(text, str):
        raise ctx.error("AG206", places["requires"], text=arithmetic.describe(text))
    conditions = _conditions(ctx, interp, places.get("requires", call), text, signature)
    requires = _finalise(ctx, call, signature, conditions)
    computes = given.get("computes")
    if computes is not None and not isinstance(computes, str):
        raise ctx.error(
            "AG112",
            places["computes"],
            function="ag.kernel",
            problem="`computes` is one line of index notation in a string",
        )
    specification = None
    if isinstance(computes, str):
        specification = read_computes(
            ctx, places["computes"], computes, spec_arguments(signature.tensors, signature.scalars, signature.shapes)
        )
    example = _example(ctx, places.get("example", call), given.get("example"), signature, requires)
    policies = _policies(ctx, places.get("policy", call), given.get("policy"))
    return Decorator(requires, example, specification, policies)


def _threads(ctx: ReadContext, call: ast.Call, given: dict[str, object], places: dict[str | None, ast.expr]) -> None:
    threads = given.get("threads")
    if (
        not isinstance(threads, int)
        or isinstance(threads, bool)
        or threads % WAVE
        or not WAVE <= threads <= MAX_THREADS
    ):
        where = places.get("threads", call)
        raise ctx.error("AG207", where, threads=threads if isinstance(threads, int) else arithmetic.describe(threads))
    ctx.threads = threads
    waves = given.get("waves", (threads // WAVE,))
    shape = waves if isinstance(waves, tuple) else (waves,)
    total = 1
    for n in shape:
        if not isinstance(n, int) or isinstance(n, bool) or n < 1:
            raise ctx.error("AG208", places["waves"], shape=str(waves), wanted=threads // WAVE, threads=threads)
        total *= n
    if total != threads // WAVE:
        raise ctx.error(
            "AG208", places["waves"], shape=" × ".join(map(str, shape)), wanted=threads // WAVE, threads=threads
        )
    ctx.wave_shape = tuple(n for n in shape if isinstance(n, int))


def _conditions(ctx: ReadContext, interp: Interpreter, place: ast.AST, text: str, signature: Signature) -> list[Expr]:
    if not text.strip():
        return []
    try:
        tree = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise ctx.error("AG206", place, text=text) from None
    span = ctx.span_of(place)
    for part in ast.walk(tree):
        if isinstance(part, ast.expr):
            part.lineno, part.col_offset, part.end_lineno, part.end_col_offset = (
                span.line, span.col, span.end_line, span.end_col,
            )  # fmt: skip
    reader = Interpreter(ctx, NameScope(interp.scope, dict(signature.names)))
    parts = tree.values if isinstance(tree, ast.BoolOp) and isinstance(tree.op, ast.And) else [tree]
    made: list[Expr] = []
    for part in parts:
        if _is_positive(part, signature):
            continue
        value = reader.evaluate(part)
        if isinstance(value, bool):
            if not value:
                raise ctx.error("AG209", place, text=ast.unparse(part))
            continue
        if not isinstance(value, Expr) or not value.boolean:
            raise ctx.error("AG206", place, text=ast.unparse(part))
        made += value.args if value.op == "land" else [value]
    return made


def _is_positive(part: ast.expr, signature: Signature) -> bool:
    """`scale > 0` for a scalar argument: noted there."""
    match part:
        case ast.Compare(left=ast.Name(id=name), ops=[ast.Gt()], comparators=[ast.Constant(value=0)]):
            for n, scalar in enumerate(signature.scalars):
                if scalar.name == name:
                    signature.scalars[n] = replace(scalar, positive=True)
                    return True
    return False


def _finalise(ctx: ReadContext, call: ast.Call, signature: Signature, conditions: list[Expr]) -> list[Expr]:
    """Replace provisional sizes by symbols with the bounds that follow from the conditions and the address range."""
    low = dict.fromkeys(signature.shapes, 1)
    high = dict.fromkeys(signature.shapes, MAX_BUFFER)
    step = dict.fromkeys(signature.shapes, 1)
    for c in conditions:
        _narrow(c, low, high, step)
    for s in signature.shapes:
        low[s] = -(-low[s] // step[s]) * step[s]
    for _, annotation, axes, _ in signature.drafts:
        assert annotation.dtype is not None
        sizes = [
            size if isinstance(size, int) else next(s for s in signature.shapes if s.name == size) for _, size in axes
        ]
        for i, size in enumerate(sizes):
            others = annotation.dtype.bytes
            for j, o in enumerate(sizes):
                if j != i:
                    others *= o if isinstance(o, int) else low[o]
            if isinstance(size, Expr):
                high[size] = min(high[size], MAX_BUFFER // others)
    final: dict[Expr, Expr] = {}
    for s in signature.shapes:
        high[s] = high[s] // step[s] * step[s]
        if low[s] > high[s]:
            raise ctx.error("AG209", call, text=f"{low[s]} <= {s.name} <= {high[s]}")
        final[s] = var(s.name, low[s], high[s])
        ctx.multiples[final[s]] = step[s]
    signature.shapes = list(final.values())
    for s in final.values():
        signature.names[s.name] = s
    disjoint: list[Expr] = []
    for name, annotation, axes, span in signature.drafts:
        assert annotation.dtype is not None
        shape = tuple(
            const(size) if isinstance(size, int) else next(s for s in signature.shapes if s.name == size)
            for _, size in axes
        )
        known = {
            n: const(v) if isinstance(v, int) else v for n, v in signature.names.items() if isinstance(v, int | Expr)
        }
        steps = strides.resolved(signature.strides[name], known, shape)
        read, written = annotation.kind in ("in", "inout"), annotation.kind in ("out", "inout")
        if written and signature.strides[name]:
            disjoint += strides.no_overlap(ctx, span, shape, steps)
        tensor = Tensor(name, annotation.dtype, tuple(a for a, _ in axes), shape, steps, read, written, span)
        signature.tensors.append(tensor)
        signature.names[name] = ctx.tensors[name] = tensor
    kept = [c.subst(dict(final)) for c in conditions]
    return [c for c in (*kept, *disjoint) if c.op != "const"]


def _narrow(c: Expr, low: dict[Expr, int], high: dict[Expr, int], step: dict[Expr, int]) -> None:
    if c.op not in ("le", "lt", "eq"):
        return
    left, right = c.args
    if c.op == "eq" and right.op == "const" and left.op == "mod" and left.args[1].op == "const" and right.value == 0:
        symbol, n = left.args[0], left.args[1].value
        if symbol in step and n > 0:
            step[symbol] = step[symbol] * n // gcd(step[symbol], n)
        return
    if left in low and right.op == "const":
        high[left] = min(high[left], right.value - (c.op == "lt"))
        if c.op == "eq":
            low[left] = max(low[left], right.value)
    elif right in low and left.op == "const":
        low[right] = max(low[right], left.value + (c.op == "lt"))
        if c.op == "eq":
            high[right] = min(high[right], left.value)


def _example(
    ctx: ReadContext, place: ast.AST, given: object, signature: Signature, requires: list[Expr]
) -> dict[str, int]:
    if given is None:
        return {}
    names = {s.name: s for s in signature.shapes}
    if not isinstance(given, dict) or not all(type(v) is int and k in names for k, v in given.items()):
        raise ctx.error(
            "AG210", place, problem=f"`example` gives a number for each size: {', '.join(names) or 'there are none'}"
        )
    missing = [n for n in names if n not in given]
    if missing:
        raise ctx.error("AG210", place, problem=f"`example` does not say {missing[0]}")
    for name, s in names.items():
        low, high = s.bounds()
        if low is None or high is None or not low <= given[name] <= high:
            raise ctx.error(
                "AG210", place, problem=f"{name} = {given[name]} is outside {low}..{high}, which the conditions allow"
            )
    for c in requires:
        if not E.evaluate(c, given):
            raise ctx.error(
                "AG210", place, problem=f"{', '.join(f'{k} = {v}' for k, v in given.items())} does not satisfy {c}"
            )
    return dict(given)


def _policies(ctx: ReadContext, place: ast.AST, given: object) -> dict[str, int | str | bool]:
    if given is None:
        return {}
    if not isinstance(given, dict):
        raise ctx.error("AG112", place, function="ag.kernel", problem="`policy` is dict(name=value, …)")
    made: dict[str, int | str | bool] = {}
    for name, value in given.items():
        if name not in POLICIES:
            note = [STATED_ELSEWHERE[name]] if name in STATED_ELSEWHERE else []
            problem = f"there is no compiler policy `{name}`"
            raise ctx.error("AG608", place, *note, problem=problem, known=", ".join(POLICIES))
        legal = POLICIES[name]
        if not any(value == v and type(value) is type(v) for v in legal):
            problem = f"the policy `{name}` cannot be {value!r}"
            raise ctx.error("AG608", place, problem=problem, known=", ".join(repr(v) for v in legal))
        made[name] = value
    return made
