"""What a convolution over channels multiplies: the loop over channels, the taps inside it, and both fragments.

    for kt in ag.range(C // 8):
        for r in range(3):                                                            `nest`: the loops written out
            for s in range(3):
                w = K[32 * bo, r, s, 8 * kt].load(WEIGHTS, width=8)                   `weights`: has r and s as indices
                x = X[n, 8 * kt, p + r - 1, 32 * bq + s - 1].load(PIXELS, …)          `pixels`: r and s further
                acc = ag.mfma(w, x, acc)

The taps are the counters that are whole indices of the weights. Pixels may come from an LDS buffer, and the order of
the two operands is not looked at.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass

from argus.agent.lower.matrix import is_operand_owner, owner_definition
from argus.agent.lower.source import NotApplicableError, Source, SourceAccess, is_ag, names
from argus.agent.lower.tap_loops import static_range

NO_PRODUCT = "no loop over channels that multiplies pixels by weights, tap by tap"


@dataclass(frozen=True, slots=True)
class TapProduct:
    """`loop` over `size // step` stands in `outer`; `nest` are the loops around the matrix instruction, outermost
    first, `taps` the counters of the window, `product` the statement of the instruction."""

    loop: ast.For
    outer: list[ast.stmt]
    variable: str
    size: str
    step: ast.expr
    nest: tuple[ast.For, ...]
    taps: tuple[str, ...]
    pixels: SourceAccess
    weights: SourceAccess
    product: ast.Assign
    accumulator: str

    def counts(self, source: Source) -> dict[str, int]:
        """Counters of the nest and how many values each takes."""
        found = [static_range(source, loop) for loop in self.nest]
        return dict(pair for pair in found if pair is not None)

    @property
    def innermost(self) -> ast.For:
        """The innermost loop over taps."""
        return [loop for loop in self.nest if names(loop.target) & set(self.taps)][-1]


def tap_product(source: Source) -> TapProduct:
    """The one product over taps of a kernel."""
    for outer in source.blocks():
        for node in outer:
            if isinstance(node, ast.For) and is_ag(node.iter, "range") and isinstance(node.target, ast.Name):
                found = _product(source, node, outer)
                if found is not None:
                    return found
    raise NotApplicableError(NO_PRODUCT)


def _product(source: Source, loop: ast.For, outer: list[ast.stmt]) -> TapProduct | None:
    extent = loop.iter.args[0] if isinstance(loop.iter, ast.Call) and len(loop.iter.args) == 1 else None
    if not (
        isinstance(extent, ast.BinOp)
        and isinstance(extent.op, ast.FloorDiv)
        and isinstance(extent.left, ast.Name)
        and isinstance(loop.target, ast.Name)
    ):
        return None
    nest, product = _nest(source, loop)
    if product is None or not isinstance(product.value, ast.Call) or len(product.value.args) != 3:
        return None
    inside = {id(node) for node in ast.walk(loop)}
    loads = {load.name: load for load in source.loads() if load.name and id(load.statement) in inside}
    operands = [loads[name] for argument in product.value.args[:2] for name in sorted(names(argument)) if name in loads]
    counters = {name for inner in nest for name in names(inner.target)}
    alone = {load.name: _alone(load, counters) for load in operands}
    weights = [load for load in operands if alone[load.name]]
    pixels = [load for load in operands if not alone[load.name]]
    target = product.targets[0]
    accumulator = target.value if isinstance(target, ast.Subscript) else target
    if len(weights) != 1 or len(pixels) != 1 or not isinstance(accumulator, ast.Name):
        return None
    if not all(is_operand_owner(owner_definition(source, load.owner)) for load in operands):
        return None
    return TapProduct(
        loop,
        outer,
        loop.target.id,
        extent.left.id,
        extent.right,
        tuple(nest),
        alone[weights[0].name],
        pixels[0],
        weights[0],
        product,
        accumulator.id,
    )


def _nest(source: Source, loop: ast.For) -> tuple[list[ast.For], ast.Assign | None]:
    """The loops written out between a loop and its one matrix instruction, and the instruction's statement."""
    calls = [node for node in ast.walk(loop) if is_ag(node, "mfma")]
    found: list[ast.For] = []
    at: ast.For = loop
    while len(calls) == 1:
        inner = next((node for node in at.body if any(each is calls[0] for each in ast.walk(node))), None)
        if isinstance(inner, ast.Assign) and inner.value is calls[0]:
            return found, inner
        written_out = isinstance(inner, ast.For) and (static_range(source, inner) or is_ag(inner.iter, "unroll"))
        if not isinstance(inner, ast.For) or not written_out:
            break
        found.append(inner)
        at = inner
    return found, None


def _alone(load: SourceAccess, counters: set[str]) -> tuple[str, ...]:
    """Counters that are whole indices of a load."""
    return tuple(index.id for index in load.index if isinstance(index, ast.Name) and index.id in counters)
