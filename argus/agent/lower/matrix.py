"""What a kernel multiplies: its contraction loops, found from the matrix instructions backwards.

    for kt in ag.range(K // 8):
        a = A[32 * bm, 8 * kt].load(FRAG, width=8)          FragmentOperand(tensor A, row axis -> bm, k axis -> kt)
        b = B[32 * bn, 8 * kt].load(FRAG, width=8)
        acc = ag.mfma(a, b, acc)                            Contraction(loop over kt, operands a and b, accumulator acc)

The two operands are whatever loads the arguments of `ag.mfma` name; which index of a tensor is the row and which the
contracted one follows from the owner's axes. Nothing depends on names, on the order of operands, or on what happens to
the accumulator afterwards.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass

from argus.agent.lower.source import NotApplicableError, Source, SourceAccess, SourceTensor, is_ag, keyword, names


@dataclass(frozen=True, slots=True)
class FragmentOperand:
    """A fragment of a matrix instruction: its load and the owner's two axes."""

    load: SourceAccess
    row: str
    k: str


@dataclass(frozen=True, slots=True)
class Contraction:
    """A loop whose body multiplies. `outer` is the list of statements the loop stands in."""

    loop: ast.For
    outer: list[ast.stmt]
    variable: str
    mfma: ast.Call
    operands: tuple[FragmentOperand, FragmentOperand]
    accumulator: str


def owner_definition(source: Source, owner: ast.expr) -> ast.Call:
    """The call that makes an owner: looked up if it has a name."""
    if isinstance(owner, ast.Name):
        given = source.constant(owner.id)
        if given is None:
            raise NotApplicableError(f"the owner {owner.id} is not defined at the top of the file")
        owner = given.value
    if not isinstance(owner, ast.Call):
        raise NotApplicableError(f"{ast.unparse(owner)} is no owner")
    return owner


def is_operand_owner(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Attribute) and call.func.attr == "operand"


def is_accumulator_owner(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Attribute) and call.func.attr == "acc"


def axis_name(call: ast.Call, name: str) -> str:
    """The name an owner gives to its axis `row`, `col` or `k`."""
    given = keyword(call, name)
    return str(given.value) if isinstance(given, ast.Constant) else name


def tensor_axis(tensor: SourceTensor, axes: tuple[str, ...], axis: str) -> int:
    """The tensor index an axis of the owner runs along: by name if all names match, else the last ones in order."""
    own = [a.split("=")[0].lower() for a in tensor.axes]
    if all(a.lower() in own for a in axes):
        return own.index(axis.lower())
    return len(tensor.axes) - len(axes) + axes.index(axis)


def contractions(source: Source) -> list[Contraction]:
    """The loops over a size whose body holds a matrix instruction with operands loaded in that body."""
    found: list[Contraction] = []
    for outer in source.blocks():
        for statement in outer:
            if isinstance(statement, ast.For) and is_ag(statement.iter, "range") and _is_simple(statement):
                contraction = _contraction(source, statement, outer)
                if contraction is not None:
                    found.append(contraction)
    return found


def the_contraction(source: Source) -> Contraction:
    found = contractions(source)
    if len(found) != 1:
        raise NotApplicableError(f"found {len(found)} loops that multiply what they load; this technique needs one")
    return found[0]


def _is_simple(loop: ast.For) -> bool:
    return isinstance(loop.target, ast.Name) and not any(
        isinstance(n, ast.For) and is_ag(n.iter, "range") for s in loop.body for n in ast.walk(s)
    )


def _contraction(source: Source, loop: ast.For, outer: list[ast.stmt]) -> Contraction | None:
    calls = [n for s in loop.body for n in ast.walk(s) if is_ag(n, "mfma") and isinstance(n, ast.Call)]
    if len(calls) != 1 or len(calls[0].args) != 3 or not isinstance(loop.target, ast.Name):
        return None
    here = [load for load in source.loads() if load.block is loop.body and load.name]
    operands: list[FragmentOperand] = []
    for argument in calls[0].args[:2]:
        used = names(argument)
        load = next((load for load in here if load.name in used), None)
        if load is None:
            return None
        definition = owner_definition(source, load.owner)
        if not is_operand_owner(definition):
            return None
        operands.append(FragmentOperand(load, axis_name(definition, "row"), axis_name(definition, "k")))
    accumulators = [n for n in names(calls[0].args[2]) if n not in {o.load.name for o in operands}]
    counters = _counters(loop)
    accumulators = [a for a in accumulators if a not in counters]
    if len(accumulators) != 1:
        return None
    first, second = operands
    return Contraction(loop, outer, loop.target.id, calls[0], (first, second), accumulators[0])


def _counters(loop: ast.For) -> set[str]:
    return {
        n.id
        for s in loop.body
        for f in ast.walk(s)
        if isinstance(f, ast.For)
        for n in ast.walk(f.target)
        if isinstance(n, ast.Name)
    } | set(names(loop.target))
