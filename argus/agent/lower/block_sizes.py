"""Sizes as constants of the file: `TILES_M = 2` becomes `TILES_M = 4`.

After `register_blocking`, every extent, layout and copy is written in these constants, so a new size is one edit. What
does not fit any more (LDS, registers, a swizzle for another row length) is said by the reader, the compiler or the
checker.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping

from argus.agent.lower.source import NotApplicableError, Source


def block_sizes(source: Source, params: Mapping[str, object]) -> None:
    """Set `TILES_…` and `WAVES_…` constants, named by role: first and second blocked axis, contracted axis."""
    roles = axes_of(source)
    changed = False
    for role, axis in roles.items():
        for what in ("tiles", "waves"):
            wanted = params.get(f"{what}_{role}")
            if wanted is None:
                continue
            given = source.constant(f"{what.upper()}_{axis}")
            if given is None:
                raise NotApplicableError(f"there is no constant {what.upper()}_{axis}")
            if source.value(given.value) != int(str(wanted)):
                given.value = ast.Constant(int(str(wanted)))
                changed = True
    if not changed:
        raise NotApplicableError("the sizes are these already")


def axes_of(source: Source) -> dict[str, str]:
    """row, col, k -> the size each blocks: those with WAVES in order of definition, then the one without."""
    tiles, waves = [], []
    for node in source.tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            name = node.targets[0].id
            if name.startswith("TILES_"):
                tiles.append(name.removeprefix("TILES_"))
            elif name.startswith("WAVES_"):
                waves.append(name.removeprefix("WAVES_"))
    contracted = [t for t in tiles if t not in waves]
    if len(waves) != 2 or len(contracted) != 1:
        raise NotApplicableError("the kernel is not blocked; `register_blocking` introduces the sizes")
    return {"row": waves[0], "col": waves[1], "k": contracted[0]}
