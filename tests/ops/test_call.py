"""A kernel imported from its file and called on arrays."""

from __future__ import annotations

import numpy as np
import pytest

from argus.device.guards import LaunchRefused
from argus.kernels.vadd import vadd


def test_a_kernel_is_called_like_a_function() -> None:
    x, y = np.arange(3000, dtype=np.float32), np.full(3000, 0.5, np.float32)
    for knobs in ({}, {"PER_THREAD": 2}):
        z = np.zeros(3000, np.float32)
        outcome = vadd(x, y, z, device="jit", **knobs)
        assert np.array_equal(z, x + y)
        assert "simulated" in outcome.device


def test_wrong_arguments_are_refused() -> None:
    x, z = np.zeros(3000, np.float32), np.zeros(2000, np.float32)
    with pytest.raises(LaunchRefused, match="N is 3000 in one array and 2000 in z"):
        vadd(x, x, z, device="jit")
    with pytest.raises(LaunchRefused, match="takes 3 arguments"):
        vadd(x, x, device="jit")
    with pytest.raises(LaunchRefused, match="axes"):
        vadd(x, x, x.reshape(30, 100), device="jit")
    odd = [np.zeros(3001, np.float32) for _ in range(3)]
    with pytest.raises(LaunchRefused, match="N = 3001"):
        vadd(*odd, device="jit")
