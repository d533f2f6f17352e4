"""Kernels that walk along rows: the loops over a row in steps of the lanes, and the owner they load with.

    for i in ag.range(N // 64):
        x = X[row, 64 * i].load(PART, width=2).to(f32)          `walks` finds the loop, `row_owner` PART
        top = ag.max(top, x)

A loop may load, accumulate by `+`, `ag.max`, `ag.min`, or store.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from argus.agent.lower.source import (
    NotApplicableError,
    Source,
    is_ag,
)

ROW_LOOP = "no loop walks along a row in steps of the lanes"


@dataclass(frozen=True, slots=True)
class Walk:
    """A loop over a row: `for variable in ag.range(size // step)`."""

    loop: ast.For
    variable: str
    size: str
    step: ast.expr


def walks(source: Source) -> list[Walk]:
    """The loops of the kernel's body over a size in steps, without matrix instructions."""
    found = []
    for node in source.body:
        if (
            isinstance(node, ast.For)
            and is_ag(node.iter, "range")
            and isinstance(node.iter, ast.Call)
            and isinstance(node.target, ast.Name)
            and len(node.iter.args) == 1
            and isinstance(node.iter.args[0], ast.BinOp)
            and isinstance(node.iter.args[0].op, ast.FloorDiv)
            and isinstance(node.iter.args[0].left, ast.Name)
            and not any(is_ag(n, "mfma") for n in ast.walk(node))
        ):
            extent = node.iter.args[0]
            if isinstance(extent.left, ast.Name):
                found.append(Walk(node, node.target.id, extent.left.id, extent.right))
    if not found:
        raise NotApplicableError(ROW_LOOP)
    return found


def row_owner(source: Source) -> tuple[str, ast.Call, str, str]:
    """Name, definition, thread input (`lane` or `t`) and axis of the owner that walks along rows."""
    for found in axis_owners(source):
        return found
    raise NotApplicableError("no owner of one axis by lane or thread")


def axis_owners(source: Source) -> Iterator[tuple[str, ast.Call, str, str]]:
    """Every owner of one axis by lane or thread that loads from a tensor, in the order of the loads."""
    tensors = source.tensors()
    for load in source.loads():
        if load.place in tensors and isinstance(load.owner, ast.Name):
            given = source.constant(load.owner.id)
            if given is not None and is_ag(given.value, "Owner") and isinstance(given.value, ast.Call):
                inputs = [k.arg for k in given.value.keywords if not _is_formula(k.value)]
                axes = [k.arg for k in given.value.keywords if _is_formula(k.value)]
                if inputs and inputs[0] in ("lane", "t") and len(axes) == 1 and axes[0] is not None:
                    yield load.owner.id, given.value, str(inputs[0]), axes[0]


def _is_formula(node: ast.expr) -> bool:
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))
