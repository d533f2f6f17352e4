"""From the text of a specification to its typed tree: names resolved, types checked, every mistake with its place.

    read_specification("y[i] = sum(x[i + k], k, 4)", arguments)

What comes out can be evaluated wherever its arrays fit in memory, and nobody after this has to ask whether a name is
there. The rules:

    a free index        is named once at the result and stands on the right side; it runs over the result's axis
    a reduction         sum(body, k) runs as far as the tensors that have k itself as an index, which must agree;
                        sum(body, k, 4) runs over 0 .. 3, whatever tensors say; elements outside of a tensor are zero
    max, min            of something and a name that is no size or scalar reduce over it; of two other values they are
                        maximum and minimum
    types               indices of tensors, // and % take whole numbers; `where`, and, or, not take conditions; all
                        else takes numbers

An index that a reduction names like one around it is another one, and is renamed in the tree.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Mapping
from difflib import get_close_matches
from typing import get_args

from argus.spec.arguments import SpecArguments, TensorArgument
from argus.spec.errors import SpecError
from argus.spec.extents import is_size
from argus.spec.functions import FUNCTIONS
from argus.spec.source import EXAMPLE, SpecSource
from argus.spec.tree import (
    REDUCTION_KINDS,
    Arithmetic,
    ArithmeticOp,
    Complement,
    ConditionalValue,
    Connective,
    FunctionCall,
    IndexName,
    IndexReduction,
    Negation,
    NumberLiteral,
    ReductionKind,
    Relation,
    RelationOp,
    ResultSpec,
    ScalarName,
    SizeName,
    Specification,
    SpecNode,
    TensorElement,
    type_of,
)
from argus.spec.walk import open_indices, plain_uses

MAX_DEPTH = 100
MAX_NODES = 2_000
LARGEST = 2**63
SIZE = "a size or an argument of the kernel"

_ARITHMETIC: dict[type[ast.operator], ArithmeticOp] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%",
}  # fmt: skip
_RELATIONS: dict[type[ast.cmpop], RelationOp] = {
    ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!=",
}  # fmt: skip
_PAIRS = {"max": "maximum", "min": "minimum"}
ALL_FUNCTIONS = (*REDUCTION_KINDS, "where", *FUNCTIONS)

Scope = Mapping[str, str]
"""The indices that may be named here, and what each is called in the tree."""


def read_specification(text: str, arguments: SpecArguments) -> Specification:
    """One assignment or several, separated by `;`. Raises `SpecError`."""
    source = SpecSource(text)
    if not source.statements:
        raise SpecError(f"it is empty; write {EXAMPLE}", "form")
    made: list[ResultSpec] = []
    for statement in source.statements:
        found = _TreeReader(source, arguments).result(statement)
        if any(found.result == other.result for other in made):
            raise source.error(f"the result {found.result} is stated twice", "index", statement)
        made.append(found)
    return Specification(text, tuple(made))


class _TreeReader:
    """One statement."""

    def __init__(self, source: SpecSource, arguments: SpecArguments) -> None:
        self._source, self._arguments = source, arguments
        self._nodes = 0
        self._used: set[str] = set()
        self._bound: set[str] = set()

    def result(self, statement: ast.stmt) -> ResultSpec:
        source = self._source
        if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
            raise source.error(f"it is not an assignment such as {EXAMPLE}", "form", statement)
        (target,) = statement.targets
        self._used = {node.id for node in ast.walk(statement) if isinstance(node, ast.Name)}
        name, items = self._subscript(target)
        tensor = self._tensor(name, len(items), target)
        indices = tuple(item.id for item in items if isinstance(item, ast.Name))
        if len(indices) != len(items):
            raise source.error(f"the indices of the result {name} are plain names", "form", target)
        if len(set(indices)) != len(indices):
            raise source.error(f"the result {name} names an index twice", "index", target)
        for index in indices:
            if self._is_number(index):
                raise source.error(f"the index `{index}` of the result is also {SIZE}", "index", target)
        if not tensor.written:
            raise source.error(f"the kernel's argument {name} is no output", "name", target)
        expression = self._number(statement.value, {index: index for index in indices}, 0)
        for index in indices:
            if index in self._bound and index not in open_indices(expression):
                message = f"the right side names `{index}` only as the index of a reduction, not that of the result"
                raise source.error(message, "index", target)
        return ResultSpec(name, indices, expression, tensor.whole, span=source.span(statement))

    # -- nodes of a type ---------------------------------------------------------------------------------------------

    def _number(self, node: ast.expr, scope: Scope, depth: int) -> SpecNode:
        made = self._node(node, scope, depth)
        if type_of(made) == "truth":
            message = f"`{self._source.words(node)}` is a condition where a number is wanted: where(…, 1, 0)"
            raise self._source.error(message, "type", node)
        return made

    def _whole(self, node: ast.expr, scope: Scope, depth: int, what: str) -> SpecNode:
        made = self._number(node, scope, depth)
        if type_of(made) != "whole":
            raise self._source.error(f"{what} is a whole number, unlike `{self._source.words(node)}`", "type", node)
        return made

    def _truth(self, node: ast.expr, scope: Scope, depth: int) -> SpecNode:
        made = self._node(node, scope, depth)
        if type_of(made) != "truth":
            message = f"`{self._source.words(node)}` is a number where a condition is wanted, such as k <= m"
            raise self._source.error(message, "type", node)
        return made

    # -- nodes -------------------------------------------------------------------------------------------------------

    def _node(self, node: ast.expr, scope: Scope, depth: int) -> SpecNode:
        source, span, inner = self._source, self._source.span(node), depth + 1
        self._nodes += 1
        self._within(depth, node)
        if self._nodes > MAX_NODES:
            raise source.error(f"it has more than {MAX_NODES:,} parts", "limit", node)
        match node:
            case ast.Constant(value=int() | float() as value) if not isinstance(value, bool):
                return self._literal(node, value)
            case ast.Name(id=name):
                return self._name(node, name, scope)
            case ast.Subscript():
                return self._element(node, scope, inner)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return Negation(self._number(operand, scope, inner), span=span)
            case ast.UnaryOp(op=ast.UAdd(), operand=operand):
                return self._number(operand, scope, inner)
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return Complement(self._truth(operand, scope, inner), span=span)
            case ast.BinOp(op=op) if type(op) in _ARITHMETIC:
                return self._arithmetic(node, _ARITHMETIC[type(op)], scope, inner)
            case ast.Compare():
                return self._relation(node, scope, inner)
            case ast.BoolOp(op=op, values=values):
                self._within(depth + len(values), node)
                made = self._truth(values[0], scope, inner)
                for part in values[1:]:
                    right = self._truth(part, scope, inner)
                    made = Connective("and" if isinstance(op, ast.And) else "or", made, right, span=span)
                return made
            case ast.Call(func=ast.Name(id=name), args=args, keywords=[]):
                return self._call(node, name, args, scope, inner)
            case _:
                raise source.error(f"index notation has no `{source.words(node)}`", "form", node)

    def _within(self, depth: int, node: ast.expr) -> None:
        if depth > MAX_DEPTH:
            raise self._source.error(f"it is nested more than {MAX_DEPTH} deep", "limit", node)

    def _literal(self, node: ast.expr, value: int | float) -> SpecNode:
        if not (math.isfinite(value) if isinstance(value, float) else value < LARGEST):
            raise self._source.error(f"the number {self._source.words(node)} is too large", "limit", node)
        return NumberLiteral(value, span=self._source.span(node))

    def _name(self, node: ast.expr, name: str, scope: Scope) -> SpecNode:
        span, given = self._source.span(node), self._arguments
        if name in scope:
            return IndexName(scope[name], span=span)
        if name in given.sizes:
            return SizeName(name, span=span)
        if name in given.scalars:
            return ScalarName(name, given.scalars[name], span=span)
        if name in given.tensors:
            raise self._source.error(f"`{name}` is a tensor; write its element, {name}[…]", "name", node)
        if name == "inf":
            return NumberLiteral(math.inf, span=span)
        message = f"`{name}` is no index of the result or of a reduction around it, and not {SIZE}"
        raise self._source.error(message, "name", node)

    def _arithmetic(self, node: ast.BinOp, op: ArithmeticOp, scope: Scope, depth: int) -> SpecNode:
        if op in ("//", "%"):
            left = self._whole(node.left, scope, depth, f"what stands before {op}")
            right = self._whole(node.right, scope, depth, f"what stands after {op}")
            if isinstance(right, NumberLiteral) and right.value == 0:
                raise self._source.error(f"`{self._source.words(node)}` divides by zero", "type", node)
        else:
            left, right = self._number(node.left, scope, depth), self._number(node.right, scope, depth)
        return Arithmetic(op, left, right, span=self._source.span(node))

    def _relation(self, node: ast.Compare, scope: Scope, depth: int) -> SpecNode:
        """`a < b`, and `a < b < c` as `a < b and b < c`."""
        span = self._source.span(node)
        self._within(depth + len(node.ops), node)
        sides = [self._number(side, scope, depth) for side in (node.left, *node.comparators)]
        made: SpecNode | None = None
        for number, op in enumerate(node.ops):
            if type(op) not in _RELATIONS:
                known = " ".join(get_args(RelationOp))
                raise self._source.error(f"`{self._source.words(node)}` compares otherwise than {known}", "form", node)
            part = Relation(_RELATIONS[type(op)], sides[number], sides[number + 1], span=span)
            made = part if made is None else Connective("and", made, part, span=span)
        assert made is not None
        return made

    # -- tensors -----------------------------------------------------------------------------------------------------

    def _subscript(self, node: ast.expr) -> tuple[str, list[ast.expr]]:
        if not (isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name)):
            message = f"`{self._source.words(node)}` is not a tensor with indices, such as A[m, k]"
            raise self._source.error(message, "form", node)
        items = list(node.slice.elts) if isinstance(node.slice, ast.Tuple) else [node.slice]
        return node.value.id, items

    def _tensor(self, name: str, given: int, node: ast.expr) -> TensorArgument:
        tensor = self._arguments.tensors.get(name)
        if tensor is None:
            raise self._source.error(f"`{name}` is not a tensor of the kernel", "name", node)
        if len(tensor.extents) != given:
            message = f"{name} has {len(tensor.extents)} axes but is given {given} indices"
            raise self._source.error(message, "name", node)
        return tensor

    def _element(self, node: ast.Subscript, scope: Scope, depth: int) -> SpecNode:
        name, items = self._subscript(node)
        tensor = self._tensor(name, len(items), node)
        if not tensor.read:
            message = f"the right side reads {name}, which the kernel only writes; write what {name} is instead"
            raise self._source.error(message, "name", node)
        indices = tuple(self._whole(item, scope, depth, f"an index of {name}") for item in items)
        return TensorElement(name, indices, tensor.whole, span=self._source.span(node))

    # -- functions ---------------------------------------------------------------------------------------------------

    def _call(self, node: ast.Call, name: str, args: list[ast.expr], scope: Scope, depth: int) -> SpecNode:
        source, span = self._source, self._source.span(node)
        kind = next((kind for kind in REDUCTION_KINDS if kind == name), None)
        if kind is not None and self._reduces(kind, args):
            return self._reduction(node, kind, args, scope, depth)
        if kind in _PAIRS and len(args) == 2:
            pair = tuple(self._number(arg, scope, depth) for arg in args)
            return FunctionCall(_PAIRS[kind], pair, span=span)
        if kind is not None:
            message = f"`{name}` takes what is reduced, the name of an index and, if no tensor says it, how far it runs"
            raise source.error(message, "name", node)
        if name == "where" and len(args) == 3:
            condition = self._truth(args[0], scope, depth)
            yes, no = (self._number(arg, scope, depth) for arg in args[1:])
            return ConditionalValue(condition, yes, no, span=span)
        row = FUNCTIONS.get(name)
        if row is not None and row.arity == len(args):
            return FunctionCall(name, tuple(self._number(arg, scope, depth) for arg in args), span=span)
        if row is not None or name == "where":
            arity = 3 if row is None else row.arity
            raise source.error(f"`{name}` takes {arity} arguments, not {len(args)}", "name", node)
        near = get_close_matches(name, ALL_FUNCTIONS, 1)
        hint = f"; did you mean `{near[0]}`?" if near else f"; there are {', '.join(ALL_FUNCTIONS)}"
        raise source.error(f"there is no function `{name}`{hint}", "name", node)

    def _reduces(self, kind: ReductionKind, args: list[ast.expr]) -> bool:
        if len(args) not in (2, 3) or not isinstance(args[1], ast.Name):
            return False
        return len(args) == 3 or kind not in _PAIRS or not self._is_number(args[1].id)

    def _reduction(
        self, node: ast.Call, kind: ReductionKind, args: list[ast.expr], scope: Scope, depth: int
    ) -> SpecNode:
        source, body, index = self._source, args[0], args[1]
        assert isinstance(index, ast.Name)
        if self._is_number(index.id):
            raise source.error(f"`{index.id}`, which is reduced over, is also {SIZE}", "index", index)
        name = self._fresh(index.id, scope)
        self._bound.add(index.id)
        inside = self._number(body, {**scope, index.id: name}, depth)
        if len(args) == 3:
            extent = self._extent(args[2], index.id, scope, depth)
            return IndexReduction(kind, inside, name, extent, span=source.span(node))
        runs = {self._arguments.tensors[e.tensor].extents[axis]: e.tensor for e, axis in plain_uses(inside, name)}
        if not runs:
            message = f"nothing says how far `{index.id}` runs; give a third argument, such as {kind}(…, {index.id}, 4)"
            raise source.error(message, "index", node)
        if len(runs) > 1:
            several = " and ".join(f"{extent} in {tensor}" for extent, tensor in runs.items())
            message = f"`{index.id}` runs over {several}; say how far with a third argument"
            raise source.error(message, "index", node)
        return IndexReduction(kind, inside, name, span=source.span(node))

    def _extent(self, node: ast.expr, index: str, scope: Scope, depth: int) -> SpecNode:
        extent = self._whole(node, scope, depth, f"how far {index} runs")
        if not is_size(extent):
            message = f"how far `{index}` runs is made of sizes and numbers, unlike `{self._source.words(node)}`"
            raise self._source.error(message, "index", node)
        if isinstance(extent, Negation) or (isinstance(extent, NumberLiteral) and extent.value < 1):
            raise self._source.error(f"`{index}` runs over nothing", "index", node)
        return extent

    def _is_number(self, name: str) -> bool:
        return name in self._arguments.sizes or name in self._arguments.scalars

    def _fresh(self, name: str, scope: Scope) -> str:
        if name not in scope:
            return name
        number = 1
        while f"{name}_{number}" in self._used or f"{name}_{number}" in scope.values():
            number += 1
        return f"{name}_{number}"
