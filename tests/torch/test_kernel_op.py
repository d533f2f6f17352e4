"""Any kernel file as a custom op."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed; `make torch` runs these tests")

from argus import torch as at  # noqa: E402
from argus.device.guards import LaunchRefused  # noqa: E402
from argus.kernels.vadd import vadd as handle  # noqa: E402
from argus.lang import ProgramError  # noqa: E402
from argus.pipeline import Unproved  # noqa: E402

KERNELS = Path(__file__).parents[2] / "argus/kernels"
VADD = KERNELS / "vadd.py"

ACCUMULATE = """
import argus as ag
from argus import f32

PART = ag.Owner(t=256, i="t")


@ag.kernel(threads=256, requires="N >= 1", example=dict(N=1000))
def accumulate(x: ag.In["N", f32], total: ag.InOut["N", f32], factor: f32):
    start = 256 * ag.grid(ag.cdiv(N, 256))
    total[start].atomic_add(factor * x[start].load(PART, width=4))
"""

SPREAD = """
import argus as ag
from argus import f32

PART = ag.Owner(t=256, n="t")


@ag.kernel(threads=256, requires="N >= 1 and R >= 1", computes="y[r, n] = x[n]", example=dict(R=3, N=300))
def spread(x: ag.In["N", f32], y: ag.Out["R N", f32]):
    r, b = ag.grid(R, ag.cdiv(N, 256))
    y[r, 256 * b].store(x[256 * b].load(PART, width=4, guard="shape"), width=4, guard="shape")
"""


def registered(function: Any) -> Any:
    """The op behind the function, as torch knows it."""
    (name,) = (name for name in dir(torch.ops.argus) if name.startswith(f"{function.__name__}_"))
    return getattr(torch.ops.argus, name)


def test_a_kernel_is_an_op() -> None:
    x, y = torch.randn(3000), torch.randn(3000)
    add = at.op(VADD, PER_THREAD=2)
    assert torch.equal(add(x, y), x + y)
    assert add is at.op(VADD, "vadd", PER_THREAD=2)
    assert add is at.op(handle, PER_THREAD=2)
    assert add is not at.op(VADD)
    assert add(x.to("meta"), y.to("meta")).shape == (3000,)


def test_opcheck_and_compile() -> None:
    moments = at.op(KERNELS / "moments.py", "moments", DTYPE="f32")
    x = torch.randn(6, 200)
    assert set(torch.library.opcheck(registered(moments), (x,)).values()) == {"SUCCESS"}
    compiled = torch.compile(lambda x: moments(x)[1] / 200, fullgraph=True, dynamic=True, backend="aot_eager")
    for rows in (6, 3):
        torch.testing.assert_close(compiled(x[:rows]), x[:rows].var(-1, correction=0))


def test_a_gradient_of_ones_own() -> None:
    add = at.op(VADD, gradient=lambda inputs, given: (given[0], None))
    x, y = torch.randn(1000, requires_grad=True), torch.randn(1000)
    add(x, y).backward(torch.full((1000,), 3.0))
    assert torch.equal(x.grad, torch.full((1000,), 3.0))
    with pytest.raises(at.NoGradient, match="by y"):
        add(x, y.requires_grad_()).sum().backward()
    with pytest.raises(at.NoGradient, match="ARG-O102: vadd"):
        at.op(VADD)(x, y).sum().backward()


def test_what_is_read_and_written_is_copied(tmp_path: Path) -> None:
    (tmp_path / "accumulate.py").write_text(ACCUMULATE)
    accumulate = at.op(tmp_path / "accumulate.py")
    x, total = torch.randn(1000), torch.ones(1000)
    made = accumulate(x, total, 2.0)
    assert torch.equal(made, 1 + 2 * x)
    assert torch.equal(total, torch.ones(1000))
    assert set(torch.library.opcheck(registered(accumulate), (x, total, 2.0)).values()) == {"SUCCESS"}


def test_sizes_that_no_input_shows_are_named(tmp_path: Path) -> None:
    (tmp_path / "spread.py").write_text(SPREAD)
    spread = at.op(tmp_path / "spread.py")
    x = torch.randn(500)
    assert torch.equal(spread(x, R=3), x.expand(3, 500))
    assert spread(x.to("meta"), R=7).shape == (7, 500)
    with pytest.raises(LaunchRefused, match=r"the op spread is called as spread\(x, R=…\)"):
        spread(x)
    assert set(torch.library.opcheck(registered(spread), (x, 3)).values()) == {"SUCCESS"}


def test_what_is_no_kernel_or_not_proved_is_no_op(tmp_path: Path) -> None:
    with pytest.raises(ProgramError, match="AG100"):
        at.op(tmp_path / "nothere.py")
    broken = tmp_path / "broken.py"
    broken.write_text(VADD.read_text().replace("y[start]", "y[start + 1]"))
    with pytest.raises(Unproved, match="refuted"):
        at.op(broken)
