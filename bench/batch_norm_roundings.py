"""Which roundings make batch norm after a product differ from eager PyTorch in bf16, and from float64.

    python -m bench.batch_norm_roundings

A linear layer, a factor for every column and batch norm in training, all in bf16, with inputs between 0 and 1 as
KernelBench draws them: columns have means of up to four standard deviations, so that a value rounded to bf16 is
off by up to four times as much after it is normalized. Counted are elements outside of KernelBench's tolerance (1e-2,
absolute and relative), for five seeds, of

    eager                 torch on the CPU: rounds the product, the scaled product, and in batch norm the statistics
    statistics in bf16    one rounding before batch norm, statistics rounded
    statistics in f32     one rounding before batch norm, statistics not rounded: what a plan computes
    as eager on a GPU     the product and the scaled product rounded, statistics not
"""

from __future__ import annotations

import copy
from collections.abc import Callable

import torch

ROWS, FEATURES, SEEDS = 64, 64, 5
LIMIT = 1e-2


def rounded(x: torch.Tensor) -> torch.Tensor:
    return x.bfloat16().float()


def normalized(x: torch.Tensor, eps: float, statistic: Callable[[torch.Tensor], torch.Tensor]) -> torch.Tensor:
    """Batch norm with weights of one, its statistics through a function."""
    mean = statistic(x.mean(0))
    variance = statistic(((x - mean) ** 2).mean(0))
    return (x - mean) * statistic(torch.rsqrt(variance + eps))


def outside(found: torch.Tensor, wanted: torch.Tensor) -> int:
    off = (found.double() - wanted.double()).abs()
    return int((off > LIMIT + LIMIT * wanted.double().abs()).sum())


def main() -> None:
    torch.manual_seed(1)
    linear = torch.nn.Linear(FEATURES, FEATURES).bfloat16()
    scale = torch.randn(FEATURES).bfloat16()
    norm = torch.nn.BatchNorm1d(FEATURES).bfloat16()
    counts: dict[str, list[tuple[int, int]]] = {}
    for seed in range(SEEDS):
        torch.manual_seed(100 + seed)
        x = torch.rand(ROWS, FEATURES).bfloat16()
        with torch.no_grad():
            eager = copy.deepcopy(norm)(linear(x) * scale)
            full = (x.double() @ linear.weight.double().T + linear.bias.double()) * scale.double()
            exact = normalized(full, norm.eps, lambda y: y)
            product = x.float() @ linear.weight.float().T + linear.bias.float()
            once, twice = rounded(product * scale.float()), rounded(rounded(product) * scale.float())
            made = {
                "eager": eager,
                "statistics in bf16": rounded(normalized(once, norm.eps, rounded)),
                "statistics in f32": rounded(normalized(once, norm.eps, lambda y: y)),
                "as eager on a GPU": rounded(normalized(twice, norm.eps, lambda y: y)),
            }
        for name, values in made.items():
            counts.setdefault(name, []).append((outside(values, exact), outside(values, eager)))
    print(f"elements of {ROWS * FEATURES} outside of {LIMIT}, for each of {SEEDS} seeds")
    print(f"{'':20} {'of float64':30} of eager")
    for name, found in counts.items():
        print(f"{name:20} {', '.join(str(a) for a, _ in found):30} {', '.join(str(b) for _, b in found)}")


if __name__ == "__main__":
    main()
