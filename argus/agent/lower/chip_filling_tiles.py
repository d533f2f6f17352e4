"""A block of C of stated rows and columns, in 16x16x16 instructions: as many blocks as there are compute units.

    TILES_M = 4; WAVE_M = 32 * TILES_M      ->      TILES_M = 8; WAVE_M = 16 * TILES_M         rows = 256
    TILES_N = 4; WAVE_N = 32 * TILES_N              TILES_N = 7; WAVE_N = 16 * TILES_N         cols = 224

Edges in steps of 16 rows for every wave reach what steps of 32 do not (224 of two waves).
"""

from __future__ import annotations

import ast
from collections.abc import Mapping

from argus.agent.lower.block_sizes import axes_of, block_sizes
from argus.agent.lower.fragments import fragment_loads, instruction
from argus.agent.lower.matrix import owner_definition
from argus.agent.lower.matrix_shape import matrix_shape
from argus.agent.lower.source import NotApplicableError, Source, keyword

SHAPE = (16, 16, 16)


def chip_filling_tiles(source: Source, params: Mapping[str, object]) -> None:
    """Blocks of `rows` x `cols`, whatever the number of waves is."""
    loads = fragment_loads(source)
    if not loads:
        raise NotApplicableError("there is no matrix instruction")
    roles = axes_of(source)
    tiles: dict[str, object] = {}
    for role, wanted in (("row", int(str(params["rows"]))), ("col", int(str(params["cols"])))):
        given = source.constant(f"WAVES_{roles[role]}")
        waves = source.value(given.value) if given is not None else None
        if not waves or wanted % (SHAPE[0] * waves):
            raise NotApplicableError(f"{wanted} is no multiple of {SHAPE[0]} for each of {waves} waves")
        tiles[f"tiles_{role}"] = wanted // (SHAPE[0] * waves)
    if instruction(source, owner_definition(source, loads[0].owner))[2] != SHAPE:
        if any(isinstance(keyword(load.call, "k"), ast.Constant) for load in loads):
            raise NotApplicableError("slices of k are cut for the other instruction")
        matrix_shape(source, {"shape": "x".join(map(str, SHAPE))})
    block_sizes(source, tiles)
