"""Which assertions could be stated of a kernel, and about which line each of them is.

    proposals(text)
        ProposedCheck("conform", 'ag.check.conform(ag.mfma, "K")', line=24, why="both operands of a product …")
        ProposedCheck("fresh",   'ag.check.fresh(sA, K="64*kt")',  line=41, why="what is read was written for …")

They are read off the syntax tree: axes that two inputs share are contracted by the products, outputs are covered,
buffers are raced for, accumulators sum a whole axis. Nothing here asks whether they hold: `selection` keeps those that
the checker proves of the kernel at hand. All of them stand at the end of the kernel, where line numbers before them
stay and strings may still speak of loop variables.

What it cannot see: names that are made in functions, and buffers of rings by slot.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from argus.agent.lower.source import NotApplicableError, Source, SourceTensor, is_ag

MOST = 24
WHY = {
    "conform": "both operands of a product must hold the same {what}",
    "covers": "every element of {what} is stored, once",
    "in_bounds": "no access leaves {what}",
    "race_free": "no wave reads {what} while another writes it",
    "bank_free": "accesses of {what} meet no bank twice",
    "fresh": "what is read from {what} was written for this turn",
    "reduced": "{what} sums the whole axis, each part once",
    "aligned": "{what} belong to the same rows",
}


@dataclass(frozen=True, slots=True)
class ProposedCheck:
    """`text` is the statement, `line` the place in the file where it can go wrong."""

    rule: str
    text: str
    line: int
    why: str


def proposals(text: str) -> list[ProposedCheck]:
    """Every assertion that has a place in the file; none where it is no file of one kernel."""
    try:
        source = Source(text)
    except NotApplicableError:
        return []
    stated = {line.strip() for line in text.splitlines()}
    found: dict[str, ProposedCheck] = {}
    for check in (*_products(source), *_tensors(source), *_buffers(source), *_sums(source), *_quotients(source)):
        if check.text not in stated:
            found.setdefault(check.text, check)
    return list(found.values())[:MOST]


def _made(rule: str, what: str, arguments: str, node: ast.AST) -> ProposedCheck:
    line = int(getattr(node, "lineno", 0))
    return ProposedCheck(rule, f"ag.check.{rule}({arguments})", line, WHY[rule].format(what=what))


def _axes(tensor: SourceTensor) -> list[str]:
    return [axis.partition("=")[0] for axis in tensor.axes]


def contracted(source: Source) -> list[str]:
    """Axes that at least two inputs have: what products and sums run over, among others."""
    inputs = [set(_axes(tensor)) for tensor in source.tensors().values() if tensor.kind != "Out"]
    counted = [axis for tensor in source.tensors().values() for axis in _axes(tensor)]
    return [axis for axis in dict.fromkeys(counted) if sum(axis in axes for axes in inputs) >= 2]


def _products(source: Source) -> Iterator[ProposedCheck]:
    products = [node for node in ast.walk(source.function) if is_ag(node, "mfma")]
    for axis in contracted(source) if products else []:
        yield _made("conform", axis, f'ag.mfma, "{axis}"', products[0])


def _tensors(source: Source) -> Iterator[ProposedCheck]:
    for access in source.accesses("store"):
        tensor = source.tensors().get(access.place)
        if tensor is not None and tensor.kind != "In":
            yield _made("covers", access.place, access.place, access.call)
    for access in (*source.loads(), *source.accesses("store")):
        if access.place in source.tensors():
            yield _made("in_bounds", access.place, access.place, access.call)


def buffers(source: Source) -> list[str]:
    """Names of LDS buffers of the kernel."""
    found: list[str] = []
    for node in ast.walk(source.function):
        if not isinstance(node, ast.Assign) or len(node.targets) != 1:
            continue
        target, value = node.targets[0], node.value
        names = target.elts if isinstance(target, ast.Tuple) else [target]
        values = value.elts if isinstance(value, ast.Tuple) else [value]
        for name, made in zip(names, values, strict=False):
            if isinstance(name, ast.Name) and is_ag(made, "shared"):
                found.append(name.id)
    return found


def _buffers(source: Source) -> Iterator[ProposedCheck]:
    known = buffers(source)
    first = {access.place: access.call for access in reversed((*source.loads(), *source.accesses("store")))}
    for buffer in known:
        at = first.get(buffer, source.function)
        yield _made("race_free", buffer, buffer, at)
        yield _made("bank_free", buffer, buffer, at)
    fetched = {access.name: access for access in source.loads() if access.place in source.tensors() and access.name}
    for access in source.accesses("store"):
        stored = access.call.args[0] if access.call.args else None
        if access.place not in known or not isinstance(stored, ast.Name) or stored.id not in fetched:
            continue
        load = fetched[stored.id]
        axes = _axes(source.tensors()[load.place])
        for axis, index in zip(axes, load.index, strict=False):
            if _moves(source, index):
                yield _made("fresh", access.place, f'{access.place}, {axis}="{ast.unparse(index)}"', access.call)


def _moves(source: Source, index: ast.expr) -> bool:
    """Whether an index speaks of a loop variable."""
    loops = [node for node in ast.walk(source.function) if isinstance(node, ast.For) and is_ag(node.iter, "range")]
    names = {node.id for loop in loops for node in ast.walk(loop.target) if isinstance(node, ast.Name)}
    return any(isinstance(node, ast.Name) and node.id in names for node in ast.walk(index))


def accumulators(source: Source) -> dict[str, ast.Assign]:
    """Names that begin as zeros in the kernel's own block and are added to in a loop."""
    zeros: dict[str, ast.Assign] = {}
    for node in source.body:
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and is_ag(node.value, "zeros"):
            target = node.targets[0]
            if isinstance(target, ast.Name):
                zeros[target.id] = node
    written = {
        name
        for loop in source.body
        if isinstance(loop, ast.For)
        for node in ast.walk(loop)
        if isinstance(node, ast.Assign)
        for name in (_written(target) for target in node.targets)
    }
    return {name: node for name, node in zeros.items() if name in written}


def _written(target: ast.expr) -> str:
    inner = target.value if isinstance(target, ast.Subscript) else target
    return inner.id if isinstance(inner, ast.Name) else ""


def _sums(source: Source) -> Iterator[ProposedCheck]:
    """Of one product: where products feed others, what an accumulator sums is no plain axis."""
    outer = {axis for tensor in source.tensors().values() if tensor.kind != "In" for axis in _axes(tensor)}
    products = {
        _written(target)
        for node in ast.walk(source.function)
        if isinstance(node, ast.Assign) and is_ag(node.value, "mfma")
        for target in node.targets
    }
    if len(products) != 1:
        return
    for name, node in accumulators(source).items():
        for axis in contracted(source):
            if axis not in outer:
                yield _made("reduced", name, f"{name}, {axis}=(0, {axis})", node)


def _quotients(source: Source) -> Iterator[ProposedCheck]:
    """Two accumulators that meet: what is divided and its divisor."""
    known = accumulators(source)
    for node in ast.walk(source.function):
        if isinstance(node, ast.BinOp) and isinstance(node.left, ast.Name) and isinstance(node.right, ast.Name):
            names = (node.left.id, node.right.id)
            if set(names) <= set(known) and isinstance(node.op, ast.Div | ast.Mult):
                for axis in dict.fromkeys(a for tensor in source.tensors().values() for a in _axes(tensor)):
                    yield _made("aligned", " and ".join(names), f'{names[0]}, {names[1]}, "{axis}"', node)
