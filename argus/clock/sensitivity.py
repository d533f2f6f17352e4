"""Would the winner still win if the clock were wrong? Other plausible clocks to repeat a comparison under.

Much of what the model assumes is not published, so a ranking counts only when it survives other plausible values:

    for parameters in perturbed(seed=0, count=20):
        time_prepared(work, recorded, element, parameters=parameters)

`argus.clock.paired` turns the ratios of two launches under these clocks into a verdict.

Each perturbed clock draws, from its seed, everything that is fitted or assumed. `WIDE` numbers, which nobody published
or on which sources disagree (latencies, the LDS ports, the L1 path, L2 and MALL, atomics, gaps between workgroups),
move by the factor stated there; `CLOSE` ones, measured or fitted (HBM bandwidth, every power, the power limit, launch
floors), by a normal factor of that relative width. Numbers of one group move together, as one error would move them.
The cost of a barrier is drawn from 4 to 64 clk, the order of equal waves is either, and in one of five clocks there is
no VALU work beside the matrix core.
"""

from __future__ import annotations

import math
import random
import re

from argus.clock.parameters import PARAMETERS, Parameters, Value

CLOCKS = 20


def perturbed(seed: int = 0, count: int = CLOCKS, base: Parameters = PARAMETERS) -> list[Parameters]:
    """`count` plausible clocks around `base`; the same seed gives the same ones."""
    return [_draw(random.Random(f"{seed}/{number}"), base) for number in range(count)]


WIDE: tuple[tuple[str, float, float], ...] = (
    (r"lds_.*latency.*", 0.5, 2.0),
    (r"lds_.*_port_.*", 0.7, 1.1),
    (r"l1_latency|hbm_latency_ns|smem_latency", 0.7, 1.5),
    (r"l2_latency", 0.8, 1.4),
    (r"mall_latency_ns", 0.8, 1.3),
    (r"l2_share", 0.8, 1.8),
    (r"mall_bandwidth", 0.85, 1.2),
    (r"mall_usable", 0.8, 1.05),
    (r"vmem_least_clocks", 0.5, 1.25),
    (r"vmem_lds_clocks", 0.7, 1.34),
    (r"vmem_dword_clocks", 0.5, 2.0),
    (r"vmem_line_clocks", 1.0, 2.0),
    (r"workgroup_turnaround", 0.5, 2.0),
    (r"atomic_ns", 0.7, 1.5),
    (r"dispatch_clocks", 0.5, 1.5),
    (r"branch_taken_clocks", 0.5, 2.0),
    (r"wave_launch_clocks", 1.0, 4.0),
)
"""Names (as a pattern), and the factors between which they are drawn, evenly in the exponent."""
CLOSE: tuple[tuple[str, float], ...] = (
    (r"hbm_bandwidth", 0.04),
    (r"mall_mixed|mall_written", 0.05),
    (r"hbm_load_factor|hbm_load_power", 0.3),
    (r"power_limit_burst", 0.1),
    (r"power_matrix_.*", 0.1),
    (r"power_valu", 0.15),
    (r"power_positive|power_sines", 0.15),
    (r"power_lds", 0.3),
    (r"power_vmem", 0.3),
    (r"power_base", 0.15),
    (r"power_memory|power_hbm", 0.15),
    (r"power_exponent", 0.05),
    (r"power_idle", 0.2),
    (r"launch_floor_.*", 0.3),
)
"""Names, and the standard deviation of the logarithm of their factor."""


def _draw(dice: random.Random, base: Parameters) -> Parameters:
    factors = [(pattern, low * (high / low) ** dice.random()) for pattern, low, high in WIDE]
    factors += [(pattern, math.exp(dice.gauss(0, width))) for pattern, width in CLOSE]
    changed: dict[str, Value] = {
        name: base[name] * factor for pattern, factor in factors for name in base.rows if re.fullmatch(pattern, name)
    }
    for name in WHOLE:
        changed[name] = max(1, round(float(changed[name])))
    changed["barrier_clocks"] = dice.choice((4, 8, 16, 32, 64))
    changed["internal_clocks"] = dice.choice((0, 4))
    changed["arbitration"] = dice.choice(("oldest", "rotating"))
    changed["matrix_coexec"] = 0 if dice.random() < 0.2 else 1
    return base.with_values(**changed)


WHOLE = (
    "vmem_least_clocks",
    "vmem_lds_clocks",
    "vmem_dword_clocks",
    "vmem_line_clocks",
    "branch_taken_clocks",
    "wave_launch_clocks",
)
"""Clocks the compute unit counts in whole numbers."""
