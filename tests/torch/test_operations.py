"""Every operation as a custom op of torch: the numbers of arrays, the checks of torch, shapes without data."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed; `make torch` runs these tests")

from argus import ops  # noqa: E402
from argus import torch as at  # noqa: E402
from argus.torch.dlpack import tensor  # noqa: E402
from tests.ops.test_empty import CASES as EMPTY  # noqa: E402
from tests.torch.cases import CASES  # noqa: E402


def taken(array: Any) -> Any:
    """A tensor of its own memory."""
    return tensor(np.array(array), "array")


def several(made: Any) -> tuple[Any, ...]:
    return made if isinstance(made, tuple) else (made,)


def bits(made: Any) -> bytes:
    """What a tensor or an array holds, whatever its type."""
    if isinstance(made, np.ndarray):
        return made.tobytes()
    return bytes(made.detach().contiguous().view(torch.uint8).numpy().tobytes())


def test_every_operation_is_here() -> None:
    """What `argus.ops` has and is no type or choice is a custom op, has a case here, and is public under its name."""
    operations = {name for name in ops.__all__ if name[0].islower() and not name.startswith("choose_")}
    assert operations == set(CASES)
    assert operations <= set(at.__all__)
    assert all(hasattr(torch.ops.argus, name) for name in operations)


@pytest.mark.parametrize("name", CASES)
def test_tensors_give_tensors_of_the_same_numbers(name: str) -> None:
    args, named = CASES[name](taken)
    arrays, _ = CASES[name](np.array)
    made, wanted = getattr(at, name)(*args, **named), getattr(ops, name)(*arrays, **named)
    for got, want in zip(several(made), several(wanted), strict=True):
        assert isinstance(got, torch.Tensor)
        assert bits(got) == bits(want)


@pytest.fixture
def fp8_is_compared_by_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    """opcheck compares operands before and after with allclose, which torch 2.13 has not for fp8 on the host."""
    allclose = torch.allclose

    def compared(x: Any, y: Any, **how: Any) -> bool:
        return bits(x) == bits(y) if x.dtype == torch.float8_e4m3fnuz else allclose(x, y, **how)

    monkeypatch.setattr(torch, "allclose", compared)


@pytest.mark.usefixtures("fp8_is_compared_by_bits")
@pytest.mark.parametrize("name", CASES)
def test_opcheck(name: str) -> None:
    """torch's own checks of schema, autograd registration, fake tensors and AOT dispatch with dynamic shapes."""
    args, named = CASES[name](taken)
    assert set(torch.library.opcheck(getattr(torch.ops.argus, name), args, named).values()) == {"SUCCESS"}


@pytest.mark.parametrize("name", CASES)
def test_meta_tensors_give_shapes(name: str) -> None:
    args, named = CASES[name](taken)
    made = getattr(at, name)(*args, **named)
    empty = [arg.to("meta") if isinstance(arg, torch.Tensor) and arg.dtype.is_floating_point else arg for arg in args]
    for got, want in zip(several(getattr(at, name)(*empty, **named)), several(made), strict=True):
        assert got.device.type == "meta"
        assert (got.shape, got.dtype, got.stride()) == (want.shape, want.dtype, want.stride())


@pytest.mark.parametrize("name", EMPTY)
def test_nothing_in(name: str) -> None:
    """Operands without elements, as tensors through `argus.ops`."""
    operation, wanted = EMPTY[name]
    for got, want in zip(several(operation(taken)), wanted, strict=True):
        np.testing.assert_array_equal(got.to(torch.float64).numpy(), want)
