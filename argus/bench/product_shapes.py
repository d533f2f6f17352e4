"""Sizes of matrix products drawn by a seed, on which a dispatcher is fitted or judged.

    drawn(7, 60)      -> [(113, 4096, 640), (9152, 1264, 2056), ...]

M is log-uniform from 1 to 16384, N and K from 256 to 16384, all but small M multiples of 8, 16 or 64, as rows of
tensors mostly are. Products beyond `MOST` multiply-adds are drawn again: the clock takes long for them.
"""

from __future__ import annotations

import math
import random

from argus.ops.product_choice import LARGEST, LEAST

Shape = tuple[int, int, int]
MOST = 1e12
MULTIPLES = (8, 16, 64)


def drawn(seed: int, count: int) -> list[Shape]:
    """`count` different sizes (M, N, K)."""
    dice = random.Random(seed)
    found: dict[Shape, None] = {}
    while len(found) < count:
        shape = (_size(dice, 1), _size(dice, LEAST), _size(dice, LEAST))
        if math.prod(shape) <= MOST:
            found[shape] = None
    return list(found)


def _size(dice: random.Random, least: int) -> int:
    size = math.exp(dice.uniform(math.log(least), math.log(LARGEST)))
    multiple = dice.choice(MULTIPLES)
    return max(1, round(size)) if size < multiple else round(size / multiple) * multiple
