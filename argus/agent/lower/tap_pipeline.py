"""Taps as one sequence of steps: weights are fetched some steps before they are used, fragments of pixels one before.

    for r in range(3):                                   order = [(r, s, ks) for r in range(3) for s in … for ks in …]
        for s in range(3):                               work = [(*step, i) for step in order for i in range(FRAGMENTS)]
            for ks in range(SLICES):                     ahead = [weights(…) for step in order[0:2]]
                w = K[…].load(…)                         coming = pixels(…)
                for i in range(FRAGMENTS):         ->    for t in range(len(order)):
                    x = halo.load(…)                         w = ahead[0]
                    acc[i] = ag.mfma(x, w, acc[i])           ahead = ahead[1:] + [weights of order[t + 2]]
                                                             for i in range(FRAGMENTS):
                                                                 x = coming
                                                                 coming = pixels of the next step or fragment
                                                                 acc[i] = ag.mfma(x, w, acc[i])

The first weights are fetched before the turn's barriers, so that they come while waves wait for the halo.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping

from argus.agent.lower.source import NotApplicableError, Source
from argus.agent.lower.tap_products import TapProduct, tap_product
from argus.agent.lower.text import statements


def tap_pipeline(source: Source, params: Mapping[str, object]) -> None:
    """Weights `weights` steps ahead, fragments one."""
    found = tap_product(source)
    nest = _nest(found)
    if found.pixels.place in source.tensors():
        raise NotApplicableError("pixels come from global memory; `halo_staging` comes first")
    *steps, each = nest
    if found.weights.block is not steps[-1].body or found.pixels.block is not each.body:
        raise NotApplicableError("weights are not loaded once for all fragments")
    if [n for n in steps[-1].body if n is not each] != [found.weights.statement]:
        raise NotApplicableError("a step does more than to load weights and multiply")
    if any(len(loop.body) != 1 for loop in steps[:-1]):
        raise NotApplicableError("the loops over taps are not nested in each other")
    early = int(str(params["weights"]))
    fresh = {name: source.fresh(name) for name in ("order", "work", "ahead", "coming", "weights", "pixels", "t", "at")}
    taps = ", ".join(ast.unparse(loop.target) for loop in steps)
    over = " ".join(f"for {ast.unparse(loop.target)} in {ast.unparse(loop.iter)}" for loop in steps)
    turn, count = ast.unparse(each.target), ast.unparse(each.iter)
    fragments = count.removeprefix("range(").removesuffix(")")
    text = (
        f"{fresh['order']} = [({taps}) {over}]\n"
        f"{fresh['work']} = [(*step, {turn}) for step in {fresh['order']} for {turn} in {count}]\n"
        f"{fresh['weights']} = lambda {taps}: {ast.unparse(found.weights.call)}\n"
        f"{fresh['pixels']} = lambda {taps}, {turn}: {ast.unparse(found.pixels.call)}\n"
        f"{fresh['ahead']} = [{fresh['weights']}({taps}) for {taps} in {fresh['order']}[0:{early}]]\n"
    )
    body = (
        f"{fresh['coming']} = {fresh['pixels']}(*{fresh['work']}[0])\n"
        f"for {fresh['t']} in range(len({fresh['order']})):\n"
        f"    {found.weights.name} = {fresh['ahead']}[0]\n"
        f"    {fresh['ahead']} = {fresh['ahead']}[1:] + [{fresh['weights']}({taps}) for {taps} in "
        f"{fresh['order']}[{fresh['t']} + {early}:{fresh['t']} + {early + 1}]]\n"
        f"    for {turn} in {count}:\n"
        f"        {found.pixels.name} = {fresh['coming']}\n"
        f"        {fresh['at']} = {fresh['t']} * {fragments} + {turn} + 1\n"
        f"        {fresh['coming']} = {fresh['pixels']}(*{fresh['work']}[{fresh['at']}]) "
        f"if {fresh['at']} < len({fresh['work']}) else {found.pixels.name}\n"
    )
    made = statements(body)
    loop = made[-1]
    inner = loop.body[-1] if isinstance(loop, ast.For) else None
    if isinstance(inner, ast.For):
        inner.body += [node for node in each.body if node is not found.pixels.statement]
    at = found.loop.body.index(nest[0])
    found.loop.body[at : at + 1] = made
    found.loop.body[:0] = statements(text)


def _nest(found: TapProduct) -> list[ast.For]:
    """The loops from the outermost over taps to the one over fragments."""
    around = [loop for loop in found.nest if loop.body is found.pixels.block]
    if not around or found.nest[0] not in found.loop.body:
        raise NotApplicableError("no loop over fragments of pixels; `pixel_blocks` comes first")
    return list(found.nest[: found.nest.index(around[0]) + 1])
