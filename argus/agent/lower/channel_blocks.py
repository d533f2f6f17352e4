"""A turn of the loop over channels takes several slices of 16: a lane has 8 neighboring channels, for two instructions.

    for kt in ag.range(C // 8):                          for kt in ag.range(C // BLOCK_C):
        …                                                    …
        w = K[…, 8 * kt].load(WEIGHTS, width=8)                  for ks in range(SLICES):
        x = X[n, 8 * kt, …].load(PIXELS, …)         ->               w = K[…, BLOCK_C * kt + 16 * ks].load(…, width=16)
        acc = ag.mfma(x, w, acc)                                     x = X[n, BLOCK_C * kt + 16 * ks, …].load(…)
                                                                     for h in ag.unroll(2):
                                                                         acc = ag.mfma(x[h], w[h], acc)

The order of channels inside an instruction is permuted, which is right because both operands are permuted alike.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping

from argus.agent.lower.fragments import element_bytes, instruction
from argus.agent.lower.matrix import owner_definition
from argus.agent.lower.register_blocking import Replace, divisible
from argus.agent.lower.source import NotApplicableError, OneOf, Source, keyword, set_keyword
from argus.agent.lower.tap_products import tap_product
from argus.agent.lower.text import expression, statement


def channel_blocks(source: Source, params: Mapping[str, object]) -> None:
    """`slices` of 16-byte fragments per turn."""
    found = tap_product(source)
    tensors = source.tensors()
    loads = (found.pixels, found.weights)
    if any(load.place not in tensors or keyword(load.call, "tiles") is not None for load in loads):
        raise NotApplicableError("fragments do not come straight from tensors, one by one")
    definitions = [owner_definition(source, load.owner) for load in loads]
    if any(keyword(definition, "wide") is not None for definition in definitions):
        raise NotApplicableError("lanes have 16 bytes of channels already")
    rows, _, depth = instruction(source, definitions[1])[2]
    if source.value(found.step) != depth:
        raise NotApplicableError("a turn takes more than one instruction's channels already")
    held = rows * depth // 64
    wide = 16 // element_bytes(source, found.weights.place)
    for definition in definitions:
        set_keyword(definition, "wide", ast.Constant(wide))
    if tensors[found.weights.place].axes[-1] == found.size:
        set_keyword(found.weights.call, "width", ast.Constant(16))
    half, part = source.fresh("h"), source.fresh("ks")
    for load in loads:
        OneOf(load.name, half).visit(found.product.value)
    block = found.pixels.block
    at = block.index(found.product)
    halves = statement(f"for {half} in ag.unroll({wide // held}):\n    pass")
    slices = statement(f"for {part} in range(SLICES):\n    pass")
    if isinstance(halves, ast.For) and isinstance(slices, ast.For):
        halves.body = [found.product]
        block[at] = halves
        taps = found.innermost
        slices.body, taps.body = taps.body, [slices]
    extent = depth * wide // held
    where = f"BLOCK_{found.size} * {found.variable} + {extent} * {part}"
    Replace(found.variable, found.step, expression(where)).visit(found.loop)
    found.loop.iter = expression(f"ag.range({found.size} // BLOCK_{found.size})")
    source.define_first(f"SLICES = {int(str(params['slices']))}\nBLOCK_{found.size} = {extent} * SLICES")
    divisible(source, {found.size: f"BLOCK_{found.size}"})
