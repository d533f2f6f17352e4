"""The typed tree of a specification: what a `computes` line says, as data.

    C[m, n] = sum(A[m, k] * B[n, k], k) + where(m < n, b[n], 0)

    ResultSpec C over (m, n)
      Arithmetic +
        IndexReduction sum over k
          Arithmetic *
            TensorElement A (IndexName m, IndexName k)
            TensorElement B (IndexName n, IndexName k)
        ConditionalValue
          Relation <  (IndexName m, IndexName n)
          TensorElement b (IndexName n)
          NumberLiteral 0

A node is frozen and compares by content; its `span`, the place in the text, does not count. Every name is resolved when
the tree is made (`argus.spec.reader`): an index, a size, a scalar argument and a tensor are different nodes. The union
`SpecNode` is closed: who walks a tree matches all of it and ends in `assert_never`.

A node has one of three types. `whole`: an exact whole number (indices, sizes, elements of integer tensors and what
+ - * // % make of them). `real`: any other number. `truth`: a condition. Only `where` takes conditions; only whole
numbers are indices of tensors.

A reduction binds its index in its body. No index has the name of one around it: the reader renames it. What a function
means stands in `argus.spec.functions`; the tree has its name.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypeAlias, assert_never, get_args

from argus.spec.functions import FUNCTIONS

SpecType = Literal["whole", "real", "truth"]
ArithmeticOp = Literal["+", "-", "*", "/", "//", "%"]
RelationOp = Literal["<", "<=", ">", ">=", "==", "!="]
ConnectiveOp = Literal["and", "or"]
ReductionKind = Literal["sum", "prod", "max", "min", "argmax", "argmin"]

REDUCTION_KINDS: tuple[ReductionKind, ...] = get_args(ReductionKind)


@dataclass(frozen=True, slots=True)
class TextSpan:
    """A piece of the specification's text, in characters, end exclusive."""

    start: int
    end: int


NO_SPAN = TextSpan(0, 0)


@dataclass(frozen=True, slots=True)
class NumberLiteral:
    """A number as written: an int is whole, a float is real. It is finite and not negative."""

    value: int | float
    span: TextSpan = field(default=NO_SPAN, compare=False, repr=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class IndexName:
    """An index of the result or of a reduction around."""

    name: str
    span: TextSpan = field(default=NO_SPAN, compare=False, repr=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class SizeName:
    """A size of the launch."""

    name: str
    span: TextSpan = field(default=NO_SPAN, compare=False, repr=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class ScalarName:
    """A scalar argument of the kernel."""

    name: str
    whole: bool
    span: TextSpan = field(default=NO_SPAN, compare=False, repr=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class TensorElement:
    """An element of a tensor; outside of the tensor it is zero."""

    tensor: str
    indices: tuple[SpecNode, ...]
    whole: bool
    span: TextSpan = field(default=NO_SPAN, compare=False, repr=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class Negation:
    operand: SpecNode
    span: TextSpan = field(default=NO_SPAN, compare=False, repr=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class Arithmetic:
    op: ArithmeticOp
    left: SpecNode
    right: SpecNode
    span: TextSpan = field(default=NO_SPAN, compare=False, repr=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class FunctionCall:
    """An elementwise function (`argus.spec.functions`)."""

    name: str
    args: tuple[SpecNode, ...]
    span: TextSpan = field(default=NO_SPAN, compare=False, repr=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class IndexReduction:
    """Over all values of `index`, from 0 up to `extent`, or as far as the tensors run that have it as an index."""

    kind: ReductionKind
    body: SpecNode
    index: str
    extent: SpecNode | None = None
    span: TextSpan = field(default=NO_SPAN, compare=False, repr=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class ConditionalValue:
    """`where(condition, yes, no)`"""

    condition: SpecNode
    yes: SpecNode
    no: SpecNode
    span: TextSpan = field(default=NO_SPAN, compare=False, repr=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class Relation:
    """A comparison of two numbers."""

    op: RelationOp
    left: SpecNode
    right: SpecNode
    span: TextSpan = field(default=NO_SPAN, compare=False, repr=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class Connective:
    """Two conditions joined by `and` or `or`."""

    op: ConnectiveOp
    left: SpecNode
    right: SpecNode
    span: TextSpan = field(default=NO_SPAN, compare=False, repr=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class Complement:
    """`not condition`"""

    operand: SpecNode
    span: TextSpan = field(default=NO_SPAN, compare=False, repr=False, kw_only=True)


SpecNode: TypeAlias = (
    NumberLiteral
    | IndexName
    | SizeName
    | ScalarName
    | TensorElement
    | Negation
    | Arithmetic
    | FunctionCall
    | IndexReduction
    | ConditionalValue
    | Relation
    | Connective
    | Complement
)
"""Every kind of node there is."""


@dataclass(frozen=True, slots=True)
class ResultSpec:
    """What one result is: `result[indices] = expression`. `whole`: its elements are whole numbers."""

    result: str
    indices: tuple[str, ...]
    expression: SpecNode
    whole: bool = False
    span: TextSpan = field(default=NO_SPAN, compare=False, repr=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class Specification:
    """A whole `computes` line: its text as the author wrote it, and what it says of each result."""

    text: str = field(compare=False)
    results: tuple[ResultSpec, ...]

    def __str__(self) -> str:
        return self.text


def type_of(node: SpecNode) -> SpecType:
    """The type of a node that the reader has accepted."""
    match node:
        case NumberLiteral(value):
            return "whole" if isinstance(value, int) else "real"
        case IndexName() | SizeName():
            return "whole"
        case ScalarName(whole=whole) | TensorElement(whole=whole):
            return "whole" if whole else "real"
        case Negation(operand):
            return type_of(operand)
        case Arithmetic(op, left, right):
            return "real" if op == "/" else _joined(left, right)
        case FunctionCall(name, args):
            keeps = FUNCTIONS[name].keeps_whole and all(type_of(arg) == "whole" for arg in args)
            return "whole" if keeps else "real"
        case IndexReduction(kind, body):
            return "whole" if kind in ("argmax", "argmin") else type_of(body)
        case ConditionalValue(_, yes, no):
            return _joined(yes, no)
        case Relation() | Connective() | Complement():
            return "truth"
        case _:
            assert_never(node)


def _joined(x: SpecNode, y: SpecNode) -> SpecType:
    return "whole" if type_of(x) == type_of(y) == "whole" else "real"
