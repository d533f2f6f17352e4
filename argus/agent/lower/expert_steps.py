"""Steps of k in the loop of a kernel of experts: `for kb in ag.range(K // 128)` has size K and steps of 128."""

from __future__ import annotations

import ast

from argus.agent.lower.source import NotApplicableError


def loop_steps(loop: ast.For) -> tuple[str, int]:
    """K and 128 from `ag.range(K // 128)`."""
    match loop.iter:
        case ast.Call(args=[ast.BinOp(left=ast.Name(id=size), op=ast.FloorDiv(), right=ast.Constant(value=int(each)))]):
            return size, each
    raise NotApplicableError("the loop does not run over a size divided by a number")
