"""Names with a dot: the attributes and methods each kind of value has. What is not listed here does not exist.

ag.exp2, ag.check.conform          the language's own names
A.load, sA.store, tile.to          methods, called as `Builtin`s bound to their value
s.Sk                               the coordinate of every element of a tile along an axis
MMA.operand, LDS.xor               layouts, owners and matrix instructions
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from argus.gfx942.fragments import Fragment, Matrix
from argus.gfx942.mfma import ALIASES
from argus.gfx942.target import Target
from argus.ir import ops
from argus.ir.ops import Op, Tensor
from argus.ir.types import DType
from argus.lang import algebra, arithmetic, builtins, checks, compute, instructions, tile_methods, transfers
from argus.lang import arguments as want
from argus.lang.context import ReadContext
from argus.lang.suggestions import other_form, suggestion
from argus.lang.values import (
    Annotation,
    Builtin,
    Coordinates,
    NamedPolicy,
    Namespace,
    Ring,
    SharedTile,
    Slot,
    TensorView,
    Tile,
)
from argus.layout.expr import Expr, const
from argus.layout.layout import Layout
from argus.layout.owner import Owner

if TYPE_CHECKING:
    from argus.lang.expressions import Expressions

Method = Callable[..., object]

ARGUS = Namespace("argus")
GFX942 = Namespace("argus.gfx942")
CHECK = Namespace("ag.check")


def member(ctx: ReadContext, owner: object, name: str) -> object:
    """`owner.name`"""
    if isinstance(owner, Namespace):
        return namespace_member(ctx, owner, name)
    methods = _methods(owner)
    if name in methods:
        return Builtin(name, methods[name], (owner,))
    if isinstance(owner, Tile):
        if name in owner.dist.axes:
            return Coordinates(owner.dist, tuple(owner.dist.coords(i)[name] for i in range(owner.count)))
        if name == "dtype":
            return owner.dtype
        raise ctx.error("AG407", name=name, axes=", ".join(owner.dist.axes) or "none", methods=", ".join(methods))
    if isinstance(owner, Slot) and name in owner.members:
        return owner.members[name]
    if isinstance(owner, Ring) and owner.depth == 1 and name in owner.members:
        return owner.members[name]
    if isinstance(owner, Tensor) and name == "dtype":
        return owner.dtype
    if isinstance(owner, DType) and name in ("bits", "bytes", "name"):
        return getattr(owner, name)
    known = [*methods, *(owner.members if isinstance(owner, Slot) else ())]
    raise ctx.error("AG109", what=arithmetic.describe(owner), name=name, known=", ".join(known) or "no members")


def namespace_member(ctx: ReadContext, space: Namespace, name: str) -> object:
    found = lookup(space.name, name, ctx.target)
    if found is None:
        form = other_form(name)
        if form and space.name != "ag.check":
            raise ctx.error("AG122", name=name, form=form)
        note = suggestion(name, names_of(space.name))
        raise ctx.error("AG110", *([note] if note else []), space=space.name, name=name)
    return found


def names_of(space: str) -> list[str]:
    if space == "ag.check":
        return list(checks.RULES)
    if space == "argus.gfx942":
        return [*ALIASES, *instructions.NAMES]
    own = (*builtins.FUNCTIONS, *builtins.CONSTANTS, *algebra.CONSTRUCTORS, *transfers.FUNCTIONS)
    return [*own, "check", "tag", "knob", "kernel", *ALIASES, *instructions.NAMES]


def lookup(space: str, name: str, target: Target) -> object | None:
    """A name of the language, or None."""
    if space == "argus":
        if name in builtins.FUNCTIONS:
            return Builtin(f"ag.{name}", builtins.FUNCTIONS[name])
        if name in builtins.CONSTANTS:
            return builtins.CONSTANTS[name]
        if name in algebra.CONSTRUCTORS:
            return Builtin(f"ag.{name}", algebra.CONSTRUCTORS[name])
        if name in transfers.FUNCTIONS:
            return Builtin(f"ag.{name}", transfers.FUNCTIONS[name])
        if name == "check":
            return CHECK
        if name == "tag":
            return Builtin("ag.tag", checks.tag)
        if name == "gfx942":
            return GFX942
        return target.matrix(name) or instructions.instruction(name, target)
    if space == "argus.gfx942":
        return target.matrix(name) or instructions.instruction(name, target)
    if space == "ag.check" and name in checks.RULES:
        return Builtin(f"ag.check.{name}", partial(checks.check, rule=name))
    return None


def _methods(owner: object) -> dict[str, Method]:
    for kind, table in _TABLES:
        if isinstance(owner, kind):
            return table
    return {}


_TABLES: tuple[tuple[type | tuple[type, ...], dict[str, Method]], ...] = (
    (Tile, tile_methods.TILE),
    ((Tensor, TensorView), transfers.GLOBAL),
    (SharedTile, transfers.SHARED),
    (Layout, algebra.LAYOUT),
    (Owner, algebra.OWNER),
    (Fragment, algebra.FRAGMENT),
    (Matrix, algebra.MATRIX),
)


def as_matrix_call(value: object) -> Builtin | None:
    """`MMA(a, b, acc)`"""
    if not isinstance(value, Matrix):
        return None

    def call(interp: Expressions, a: object, b: object, c: object) -> object:
        ctx = interp.ctx
        parts = [want.tile(ctx, value.name, n, t) for n, t in (("a", a), ("b", b), ("c", c))]
        return compute.multiply(interp, value, parts[0], parts[1], parts[2])

    return Builtin(value.name, call)


def view(ctx: ReadContext, owner: Tensor | TensorView, index: tuple[object, ...]) -> TensorView:
    """`A[i, j]`: the tensor seen from there; missing trailing indices are 0."""
    tensor = owner if isinstance(owner, Tensor) else owner.tensor
    origin = [const(0)] * len(tensor.axes) if isinstance(owner, Tensor) else list(owner.origin)
    if len(index) > len(tensor.axes):
        raise ctx.error(
            "AG315", tensor=tensor.name, axes=" ".join(tensor.axes), given=len(index), wanted=len(tensor.axes)
        )
    for i, e in enumerate(index):
        if not isinstance(e, (int, Expr)) or isinstance(e, bool):
            raise ctx.error("AG319", tensor=tensor.name, axis=tensor.axes[i], got=arithmetic.describe(e))
        origin[i] = ctx.bounded(origin[i] + e)
    return TensorView(tensor, tuple(origin))


def slot(ctx: ReadContext, ring: Ring, index: object) -> Slot:
    """`ring[j]`: slot j mod depth."""
    position = want.index(ctx, "a ring", "the slot", index) % ring.depth
    made = {name: SharedTile(m.buffer, m.layout, position * ring.strides[name]) for name, m in ring.members.items()}
    return Slot(made)


def annotate(ctx: ReadContext, annotation: Annotation, index: object) -> Annotation:
    """`ag.In["M K", bf16]`, `ag.In["M K", bf16, "sM 1"]`, `ag.const[bool]`"""
    if annotation.kind == "const":
        name = index if isinstance(index, str) else getattr(index, "name", "")
        if name not in ("bool", "int"):
            raise ctx.error("AG204", problem="`ag.const` takes bool or int")
        return Annotation("const", static=str(name))
    match index:
        case (str() as axes, DType() as dtype):
            return Annotation(annotation.kind, axes, dtype)
        case (str() as axes, DType() as dtype, str() as strides) if strides.split():
            return Annotation(annotation.kind, axes, dtype, strides=strides)
    raise ctx.error(
        "AG204",
        problem='a tensor is written ag.In["M K", bf16]: axes in one string, the element type, and perhaps strides',
    )


def schedule(ctx: ReadContext, policy: NamedPolicy, block: list[Op]) -> None:
    ctx.b.append(ops.Schedule(policy=dict(policy.params), body=block))
