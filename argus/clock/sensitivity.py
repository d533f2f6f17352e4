"""Would the winner still win if the clock were wrong? The same comparison under perturbed clocks.

Much of what the model assumes is not published, so a ranking counts only when it survives other plausible values:

    result = compare(candidates, seed=0)        # {"ours": f, "triton": g}; f(parameters) -> time
    result.wins                                 -> {"ours": 0.95, "triton": 0.05}
    result.spread["ours"]                       -> (shortest, longest) time over the perturbed clocks

Each perturbed clock draws, from its seed: LDS and vector memory latencies by a factor of 0.5 to 2 (evenly in the
exponent), the LDS port rate by 0.7 to 1.1, the cost of a barrier from 4 to 64 clk, L2 and MALL latency and bandwidth by
plus or minus 30 %, the order of equal waves, and in one of five cases no VALU work beside the matrix core.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from argus.clock.parameters import PARAMETERS, Parameters, Value

CLOCKS = 20


@dataclass(frozen=True, slots=True)
class Comparison:
    """Shares of the perturbed clocks each candidate wins (ties are split), its times, and the unperturbed times."""

    wins: Mapping[str, float]
    nominal: Mapping[str, float]
    spread: Mapping[str, tuple[float, float]]
    clocks: int


def perturbed(seed: int = 0, count: int = CLOCKS, base: Parameters = PARAMETERS) -> list[Parameters]:
    """`count` plausible clocks around `base`; the same seed gives the same ones."""
    return [_draw(random.Random(f"{seed}/{number}"), base) for number in range(count)]


def _draw(dice: random.Random, base: Parameters) -> Parameters:
    lds, vmem = 2 ** dice.uniform(-1, 1), 2 ** dice.uniform(-1, 1)
    port = dice.uniform(0.7, 1.1)
    changed: dict[str, Value] = {}
    for name in base.rows:
        if name.startswith("lds_") and "latency" in name:
            changed[name] = base[name] * lds
        elif name.startswith("lds_") and "port" in name:
            changed[name] = base[name] * port
    changed["l1_latency"] = base["l1_latency"] * vmem
    changed["hbm_latency_ns"] = base["hbm_latency_ns"] * vmem
    for name in ("l2_latency", "mall_latency_ns", "l2_share", "mall_bandwidth"):
        changed[name] = base[name] * dice.uniform(0.7, 1.3)
    changed["barrier_clocks"] = dice.choice((4, 8, 16, 32, 64))
    changed["arbitration"] = dice.choice(("oldest", "rotating"))
    changed["matrix_coexec"] = 0 if dice.random() < 0.2 else 1
    return base.with_values(**changed)


def compare(
    candidates: Mapping[str, Callable[[Parameters], float]],
    *,
    seed: int = 0,
    count: int = CLOCKS,
    base: Parameters = PARAMETERS,
) -> Comparison:
    """Times every candidate under every perturbed clock."""
    if not candidates:
        raise ValueError("a comparison needs at least one candidate")
    wins = dict.fromkeys(candidates, 0.0)
    times: dict[str, list[float]] = {name: [] for name in candidates}
    for clock in perturbed(seed, count, base):
        found = {name: time(clock) for name, time in candidates.items()}
        best = [name for name, time in found.items() if time == min(found.values())]
        for name in best:
            wins[name] += 1 / (len(best) * count)
        for name, time in found.items():
            times[name].append(time)
    return Comparison(
        wins=wins,
        nominal={name: time(base) for name, time in candidates.items()},
        spread={name: (min(found), max(found)) for name, found in times.items()},
        clocks=count,
    )
