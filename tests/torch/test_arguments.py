"""What callers hand over: DLPack producers, views of one tensor, and refusals with their codes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed; `make torch` runs these tests")

from argus import ops  # noqa: E402
from argus import torch as at  # noqa: E402
from argus.device.codes import CODES as DEVICE_CODES  # noqa: E402
from argus.device.guards import LaunchRefused  # noqa: E402
from argus.kernels.vadd import vadd  # noqa: E402
from argus.ops import NoKernel  # noqa: E402
from argus.ops.codes import CODES  # noqa: E402

BF16 = torch.bfloat16


class Producer:
    """A tensor of another library: DLPack is all it has."""

    def __init__(self, array: Any) -> None:
        self._array = array

    def __dlpack__(self, **asked: Any) -> Any:
        return self._array.__dlpack__(**asked)

    def __dlpack_device__(self) -> Any:
        return self._array.__dlpack_device__()


def readonly(array: Any) -> Any:
    array.flags.writeable = False
    return array


@pytest.mark.parametrize(
    "wrap", [Producer, readonly, np.array, torch.from_numpy], ids=["dlpack", "readonly", "numpy", "torch"]
)
def test_any_producer_is_taken_without_a_copy(wrap: Callable[[Any], Any]) -> None:
    x = np.random.default_rng(0).standard_normal((3, 96)).astype(np.float32)
    made = at.softmax(wrap(x))
    assert isinstance(made, torch.Tensor)
    np.testing.assert_array_equal(made.numpy(), ops.softmax(x))


@pytest.mark.parametrize("dtype", [ml_dtypes.bfloat16, np.float16, np.float32])
def test_types_of_arrays(dtype: Any) -> None:
    x = np.ones((3, 96), dtype)
    assert torch.equal(at.rowsum(x), torch.full((3,), 96.0))


def test_operands_that_are_only_read_may_be_views_of_one_tensor() -> None:
    x = torch.randn(5, 96)
    assert torch.equal(at.add(x, x), x + x)
    assert torch.equal(at.mul(x[:4], x[1:]), x[:4] * x[1:])
    with pytest.raises(LaunchRefused, match="output z overlaps x"):
        vadd(x.view(480), x.view(480), x.view(480), device="jit")


def unaligned() -> Any:
    """f32 at an odd address, which torch itself makes and reads."""
    raw = torch.zeros(4 * 96 + 4, dtype=torch.uint8)
    return torch.frombuffer(raw.numpy(), dtype=torch.float32, count=96, offset=1)


REFUSED: dict[str, tuple[Callable[[], Any], str, str]] = {
    "no array": (lambda: at.softmax([1.0, 2.0]), "ARG-D106", "x is a list"),
    "a type without kernel": (lambda: at.matmul(*[torch.ones(8, 64)] * 2), "ARG-O101", "no kernel for f32"),
    "whole numbers": (lambda: at.softmax(torch.ones(3, 8, dtype=torch.int64)), "ARG-O101", "no kernel for i64"),
    "complex numbers": (lambda: at.relu(torch.ones(3, dtype=torch.complex64)), "ARG-O101", "complex64"),
    "two types": (lambda: at.add(torch.ones(3), torch.ones(3, dtype=BF16)), "ARG-O101", "one shape and type"),
    "a strided tensor": (lambda: at.softmax(torch.ones(4, 8)[:, ::2]), "ARG-D104", "contiguous"),
    "a transposed tensor": (
        lambda: at.matmul(torch.ones(64, 8, dtype=BF16).T, torch.ones(8, 64, dtype=BF16)), "ARG-D104", "contiguous",
    ),
    "an array that runs backward": (lambda: at.relu(np.ones(8, np.float32)[::-1]), "ARG-D104", "runs backward"),
    "foreign byte order": (lambda: at.relu(np.ones(8, ">f4")), "ARG-D106", "DLPack"),
    "an odd address": (lambda: at.relu(unaligned()), "ARG-D104", "no multiple of the 4 bytes"),
    "two devices": (
        lambda: at.add(torch.ones(3), torch.ones(3, device="meta")), "ARG-D106", "x on cpu, y on meta",
    ),
    "no data for argus.ops": (lambda: ops.relu(torch.ones(3, device="meta")), "ARG-D106", "without data"),
    "a sparse tensor": (lambda: at.relu(torch.eye(3).to_sparse()), "ARG-D106", "no plain data"),
    "no such device": (lambda: at.relu(torch.ones(3), device="gpu"), "ARG-D108", "no device 'gpu'"),
    "an activation": (
        lambda: at.matmul(*[torch.ones(8, 64, dtype=BF16)] * 2, activation="tanh"), "ARG-O101", "no activation",
    ),
    "an axis too few": (lambda: at.matmul(*[torch.ones(8, dtype=BF16)] * 2), "ARG-O101", "matrices"),
    "a number": (lambda: at.softmax(torch.tensor(1.0)), "ARG-O101", "needs rows"),
    "starts that fall": (
        lambda: at.attention_lengths(*[torch.ones(4, 1, 64, dtype=BF16)] * 3, [0, 3, 2, 4], [0, 1, 2, 4]),
        "ARG-O101", "never falls",
    ),
    "a gradient": (lambda: ops.relu(torch.ones(3, requires_grad=True)), "ARG-O103", "requires a gradient"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_refused_with_a_code(name: str) -> None:
    attempt, code, words = REFUSED[name]
    with pytest.raises((LaunchRefused, NoKernel), match=words) as caught:
        attempt()
    assert caught.value.code == code
    assert code in {**DEVICE_CODES, **CODES}
