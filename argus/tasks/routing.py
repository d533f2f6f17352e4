"""Index tensors of a mixture of experts, drawn with the facts a routing has.

    routing = RoutingTensors(token="token", expert="expert", tokens="T", experts="E", rows=128)
    draw(routing, {"T": 200, "E": 3, "R": 512, "P": 4, ...}, shapes, "uniform", seed)  ->  {"token": …, "expert": …}

Tokens are grouped by the experts they go to, experts in any order; each expert's rows are padded to whole blocks of
`rows` with the token number T, which no token has; `expert` says whose rows a block holds. The sizes fix how many
blocks there are: every token goes to as many experts as fit, blocks that are left over hold padding. As the library's
host code does, blocks are dealt to the chiplets in runs of neighbours, so that workgroups of a chiplet share an expert.

Kinds: `uniform`, `skewed` (the n-th expert 1 / n^2 as likely), `one` (all to one expert).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from argus.gfx942.chip import XCDS

Kind = Literal["uniform", "skewed", "one"]
Indices = npt.NDArray[np.int32]
ATTEMPTS = 200
MOST = 8


@dataclass(frozen=True, slots=True)
class RoutingTensors:
    """Names of the two index tensors and of the sizes that count tokens and experts; rows of a block."""

    token: str
    expert: str
    tokens: str
    experts: str
    rows: int

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def draw(
    routing: RoutingTensors, sizes: Mapping[str, int], shapes: Mapping[str, tuple[int, ...]], kind: Kind, seed: int
) -> dict[str, Indices]:
    """Both tensors; `shapes` are those of the kernel's tensors at these sizes."""
    tokens, experts, rows = sizes[routing.tokens], sizes[routing.experts], routing.rows
    (blocks,) = shapes[routing.expert]
    each = max(1, min(MOST, experts, (blocks * rows - experts * rows // 2) // tokens))
    dice = np.random.default_rng(seed)
    chosen = np.zeros((tokens, each), np.int64)
    for _ in range(ATTEMPTS):
        chosen = _chosen(dice, tokens, experts, each, kind)
        if _blocks(chosen, experts, rows).sum() <= blocks:
            break
    else:
        chosen[:] = int(dice.integers(experts))
        each = min(each, blocks * rows // tokens)
        chosen = chosen[:, :each]
    return _sorted(routing, chosen, experts, blocks, dice)


def _chosen(dice: np.random.Generator, tokens: int, experts: int, each: int, kind: Kind) -> npt.NDArray[np.int64]:
    """The experts of every token, all different but for `one`."""
    if kind == "one":
        return np.full((tokens, each), int(dice.integers(experts)), np.int64)
    likely = np.ones(experts) if kind == "uniform" else 1.0 / np.arange(1, experts + 1) ** 2
    keys = np.log(likely) + dice.gumbel(size=(tokens, experts))
    return np.argsort(-keys, axis=1)[:, :each]


def _blocks(chosen: npt.NDArray[np.int64], experts: int, rows: int) -> npt.NDArray[np.int64]:
    counts: npt.NDArray[np.int64] = np.bincount(chosen.reshape(-1), minlength=experts)
    return -(-counts // rows)


def _sorted(
    routing: RoutingTensors, chosen: npt.NDArray[np.int64], experts: int, blocks: int, dice: np.random.Generator
) -> dict[str, Indices]:
    tokens, rows = len(chosen), routing.rows
    needed = _blocks(chosen, experts, rows)
    token = np.full((blocks, rows), tokens, np.int32)
    expert = dice.integers(0, experts, blocks).astype(np.int32)
    at = 0
    for number in dice.permutation(experts).tolist():
        own = np.flatnonzero((chosen == number).any(axis=1))
        own = np.repeat(own, (chosen[own] == number).sum(axis=1))
        count = int(needed[number])
        token[at : at + count].reshape(-1)[: len(own)] = own
        expert[at : at + count] = number
        at += count
    order = _dealt(blocks)
    return {routing.token: token[order].reshape(-1), routing.expert: expert[order]}


def _dealt(blocks: int) -> npt.NDArray[np.int64]:
    """The sorted block at each place: place p belongs to chiplet p % 8, whose blocks are neighbours."""
    place = np.arange(blocks)
    each, more = divmod(blocks, XCDS)
    chiplet = place % XCDS
    return chiplet * each + np.minimum(chiplet, more) + place // XCDS
