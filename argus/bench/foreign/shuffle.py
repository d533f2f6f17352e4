"""The order in which AITER's 8-bit kernels want weights.

    shuffled(w)        w[..., N, K] in blocks of 16 rows by 32 columns

Inside a block first the 16 bytes of columns 0-15 of every row, then those of columns 16-31: what 64 lanes load with
16 bytes each. The same as aiter/ops/shuffle.py `shuffle_weight(x, layout=(16, 16))` for elements of one byte.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

ROWS, COLUMNS, PIECE = 16, 32, 16


def shuffled(w: NDArray[Any]) -> NDArray[Any]:
    """The weights in the kernels' order, same shape."""
    *outer, n, k = w.shape
    blocks = w.reshape(-1, n // ROWS, ROWS, k // COLUMNS, COLUMNS // PIECE, PIECE)
    return np.ascontiguousarray(blocks.transpose(0, 1, 3, 4, 2, 5)).reshape(*outer, n, k)
