"""Modules that nobody has seen: random compositions of KernelBench's operators, with random ranks, sizes and strides.

    python -m bench.random_modules --count 30 --seed 1 --out DIR          writes DIR/level2/1_….py …
    argus bench kernelbench DIR --run-python --dtype f32 --no-time        judges them as tasks

A module is a chain of two to six steps over matrices, sequences, signals, images or volumes. Every step is drawn from
the operators that the 200 tasks use, with parameters that the shape at hand allows; a step that torch itself refuses
is drawn again. Sizes are literals, so that a module is judged at the sizes it has. Some inputs are not contiguous.
Everything follows from the seed.
"""

from __future__ import annotations

import argparse
import random
import textwrap
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import torch

LARGEST = 1 << 17
"""Elements of any value in a module: what the simulated machine executes in seconds."""
SIZES = (1, 2, 3, 5, 7, 8, 16, 17, 24, 31, 32, 33, 48, 63, 64, 65, 96, 100, 128, 130, 200, 256)
MAPS = (
    "torch.relu(x)", "torch.sigmoid(x)", "torch.tanh(x)", "F.gelu(x)", "F.silu(x)", "F.leaky_relu(x, 0.1)", "F.elu(x)",
    "F.selu(x)", "F.mish(x)", "F.softplus(x)", "F.hardswish(x)", "F.hardsigmoid(x)", "F.hardtanh(x)", "F.softsign(x)",
    "torch.clamp(x, -0.5, 0.75)", "torch.clamp(x, min=0.1)", "torch.abs(x)", "x * 1.5", "x - 0.25", "x / 3.0", "x * x",
    "torch.min(x, torch.tensor(0.5))", "x * torch.sigmoid(x)",
)  # fmt: skip


@dataclass
class Module:
    """A module as text: lines of `__init__`, lines of `forward`, and the shape of its input."""

    shape: tuple[int, ...]
    given: str
    init: list[str] = field(default_factory=list)
    forward: list[str] = field(default_factory=list)

    def named(self, text: str) -> str:
        """A member made by `text`; its name."""
        name = f"part{len(self.init)}"
        self.init.append(f"self.{name} = {text}")
        return f"self.{name}"

    def source(self) -> str:
        made, run = (textwrap.indent("\n".join(lines), " " * 8) for lines in (self.init, self.forward))
        return TEXT.format(init=made, forward=run, given=self.given)


TEXT = """import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def __init__(self):
        super().__init__()
{init}

    def forward(self, x):
{forward}
        return x


def get_inputs():
    return [{given}]


def get_init_inputs():
    return []
"""
Step = Callable[[random.Random, Module, tuple[int, ...]], str | None]
"""A line of `forward` for a value of a shape, or None where the shape does not allow the step."""


def mapped(draw: random.Random, module: Module, shape: tuple[int, ...]) -> str:
    return f"x = {draw.choice(MAPS)}"


def with_parameter(draw: random.Random, module: Module, shape: tuple[int, ...]) -> str:
    """Adds or multiplies a parameter that is broadcast along some axes."""
    kept = tuple(extent if draw.random() < 0.5 else 1 for extent in shape[1:])
    name = module.named(f"nn.Parameter(torch.randn({kept}))" if kept else "nn.Parameter(torch.randn(()))")
    return f"x = x {draw.choice('+*-')} {name}"


def residual(draw: random.Random, module: Module, shape: tuple[int, ...]) -> str:
    return f"x = x + {draw.choice(MAPS)}"


def linear(draw: random.Random, module: Module, shape: tuple[int, ...]) -> str | None:
    if len(shape) > 3:
        return None
    name = module.named(f"nn.Linear({shape[-1]}, {draw.choice(SIZES[4:])}, bias={draw.random() < 0.7})")
    return f"x = {name}(x)"


def product(draw: random.Random, module: Module, shape: tuple[int, ...]) -> str | None:
    """A product with a parameter, the value on either side, the parameter either way."""
    if len(shape) != 2:
        return None
    extent = draw.choice(SIZES[4:])
    match draw.randrange(3):
        case 0:
            return f"x = torch.matmul(x, {module.named(f'nn.Parameter(torch.randn({shape[1]}, {extent}))')})"
        case 1:
            return f"x = torch.matmul(x, {module.named(f'nn.Parameter(torch.randn({extent}, {shape[1]}))')}.T)"
        case _:
            return f"x = torch.matmul({module.named(f'nn.Parameter(torch.randn({extent}, {shape[0]}))')}, x)"


def squared(draw: random.Random, module: Module, shape: tuple[int, ...]) -> str | None:
    """A batch of matrices with its own transpose."""
    return "x = torch.bmm(x, x.transpose(1, 2))" if len(shape) == 3 else None


def convolution(draw: random.Random, module: Module, shape: tuple[int, ...]) -> str | None:
    rank = len(shape) - 2
    if rank not in (1, 2, 3):
        return None
    groups = draw.choice([g for g in (1, 1, 1, 2, 4, shape[1]) if shape[1] % g == 0])
    outputs = groups * draw.choice((1, 2, 4, 8, 12))
    window = tuple(draw.choice((1, 2, 3, 5)) for _ in range(rank))
    if draw.random() < 0.6:
        window = (draw.choice((1, 3, 3, 5)),) * rank
    stride = draw.choice((1, 1, 1, 2, 3))
    words = f"stride={stride}, padding={draw.choice((0, 0, 1, 2))}"
    kind, dilation = "Conv", draw.choice((1, 1, 1, 2))
    if draw.random() < 0.3:
        kind, more = "ConvTranspose", draw.choice((0, 0, 1))
        if more >= max(stride, dilation):
            return None  # torch refuses it on a device, but not where tensors have no data
        words += f", output_padding={more}"
    words += f", dilation={dilation}, groups={groups}, bias={draw.random() < 0.7}"
    return f"x = {module.named(f'nn.{kind}{rank}d({shape[1]}, {outputs}, {window}, {words})')}(x)"


def pooled(draw: random.Random, module: Module, shape: tuple[int, ...]) -> str | None:
    rank = len(shape) - 2
    if rank not in (1, 2, 3):
        return None
    window = draw.choice((2, 3, 4))
    words = f"{window}, stride={draw.choice((1, 2, window))}, padding={draw.choice((0, window // 2))}"
    kind = draw.choice(("Max", "Avg"))
    return f"x = {module.named(f'nn.{kind}Pool{rank}d({words})')}(x)"


def normalized(draw: random.Random, module: Module, shape: tuple[int, ...]) -> str | None:
    rank, channels = len(shape) - 2, shape[1]
    made = [f"nn.LayerNorm({list(shape[draw.randrange(1, len(shape)) :])})"]
    made += [f"nn.GroupNorm({g}, {channels})" for g in (1, 2, 4, 8) if channels % g == 0]
    made += [f"nn.BatchNorm{max(rank, 1)}d({channels}){'.eval()' if draw.random() < 0.5 else ''}"] if rank != 1 else []
    made += [f"nn.InstanceNorm{rank}d({channels})"] if rank in (2, 3) else []
    return f"x = {module.named(draw.choice(made))}(x)"


def along(draw: random.Random, module: Module, shape: tuple[int, ...]) -> str:
    """Softmax, a norm or a scan along an axis."""
    axis = draw.randrange(1, len(shape))
    forms = (
        "torch.softmax(x, dim={})", "F.log_softmax(x, dim={})", "F.normalize(x, dim={})", "torch.cumsum(x, dim={})",
        "x / (x.abs().sum(dim={}, keepdim=True) + 1)", "x - x.mean(dim={}, keepdim=True)",
        "x * torch.rsqrt((x * x).mean(dim={}, keepdim=True) + 1e-5)",
    )  # fmt: skip
    return f"x = {draw.choice(forms).format(axis)}"


def reduced(draw: random.Random, module: Module, shape: tuple[int, ...]) -> str | None:
    if len(shape) < 3 and draw.random() < 0.7:
        return None
    axis, kept = draw.randrange(1, len(shape)), draw.random() < 0.5
    forms = ("x.sum(dim={}, keepdim={})", "x.mean(dim={}, keepdim={})", "torch.logsumexp(x, dim={}, keepdim={})",
             "torch.max(x, dim={}, keepdim={})[0]", "torch.min(x, dim={}, keepdim={})[0]")  # fmt: skip
    return f"x = {draw.choice(forms).format(axis, kept)}"


def reshaped(draw: random.Random, module: Module, shape: tuple[int, ...]) -> str | None:
    if len(shape) < 3:
        return "x = x.t()" if draw.random() < 0.5 else None
    a, b = sorted(draw.sample(range(1, len(shape)), 2))
    return draw.choice((f"x = x.transpose({a}, {b})", "x = x.flatten(1)", "x = x.flatten(2)"))


STEPS: tuple[tuple[Step, int], ...] = (
    (mapped, 5),
    (with_parameter, 3),
    (residual, 1),
    (linear, 4),
    (product, 2),
    (squared, 1),
    (convolution, 6),
    (pooled, 3),
    (normalized, 3),
    (along, 3),
    (reduced, 2),
    (reshaped, 1),
)
"""How often which."""


def made_input(draw: random.Random) -> tuple[tuple[int, ...], str]:
    """A shape, and the text that makes a tensor of it: contiguous, transposed or a part of a larger one."""
    rank = draw.choice((2, 2, 3, 4, 4, 4, 5))
    small = [size for size in SIZES if size <= {2: 256, 3: 65, 4: 33, 5: 16}[rank]]
    while True:
        shape = (draw.choice((1, 2, 3, 4)), *(draw.choice(small[2:]) for _ in range(rank - 1)))
        if rank == 2:
            shape = (draw.choice(small[3:]), shape[1])
        if torch.Size(shape).numel() <= LARGEST:
            break
    plain = ", ".join(map(str, shape))
    match draw.randrange(4):
        case 0:
            swapped = (*shape[:-2], shape[-1], shape[-2])
            return shape, f"torch.randn({', '.join(map(str, swapped))}).transpose(-1, -2)"
        case 1:
            return shape, f"torch.randn({', '.join(map(str, (*shape[:-1], shape[-1] + 3)))})[..., 2:-1]"
        case _:
            return shape, f"torch.randn({plain})"


def module(seed: int, number: int) -> Module:
    """The module with this number."""
    draw = random.Random(f"{seed} {number}")
    shape, given = made_input(draw)
    made, steps = Module(shape, given), draw.randint(2, 6)
    while len(made.forward) < steps:
        (step,) = draw.choices([step for step, _ in STEPS], [weight for _, weight in STEPS])
        before = len(made.init)
        line = step(draw, made, shape)
        found = None if line is None else after(made, line)
        if line is None or found is None:
            del made.init[before:]
            continue
        made.forward.append(line)
        shape = found
        if len(shape) < 2:
            break
    return made


def after(made: Module, line: str) -> tuple[int, ...] | None:
    """The shape after one more line; None where torch refuses it or it has too many elements."""
    trial = Module(made.shape, made.given, made.init, [*made.forward, line])
    names: dict[str, type[torch.nn.Module]] = {}
    exec(trial.source(), names)  # our own text
    try:
        with torch.device("meta"), torch.no_grad():
            found = names["Model"]()(torch.empty(made.shape))
    except (RuntimeError, ValueError, IndexError):
        return None
    return tuple(found.shape) if 0 < found.numel() <= LARGEST else None


def main() -> None:
    words = argparse.ArgumentParser(prog="python -m bench.random_modules")
    words.add_argument("--count", type=int, default=30)
    words.add_argument("--seed", type=int, required=True)
    words.add_argument("--out", type=Path, required=True)
    given = words.parse_args()
    folder = given.out / "level2"
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(1, given.count + 1):
        (folder / f"{number}_Random_{given.seed}.py").write_text(module(given.seed, number).source())


if __name__ == "__main__":
    main()
