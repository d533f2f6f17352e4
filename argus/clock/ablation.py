"""The clock with one mechanism switched off: for a single timing, and for all rows with everything else fitted again.

    without("power per format")                    -> Parameters: all formats draw what bf16 draws
    argus time FILE --without "L2 bandwidth"       one launch
    argus clock ablate ROWS…                       what each mechanism is worth on published times

A mechanism is a number of the model whose other value takes it away. Those that act on a launch's profile (roofs,
power, floors) are tried on rows without simulating anew; the others (`SIMULATED`) act inside the compute
unit or on the sample, and only `argus time --without` shows them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType

from argus.clock.calibration import Row
from argus.clock.parameters import PARAMETERS, Parameters
from argus.clock.protocol import PROTOCOLS
from argus.clock.validation import REFIT_GENERATIONS, REFIT_SPREAD, Judged, fit, judge

NO_LIMIT = 1e9
_OTHER_FORMATS = ("power_matrix_f16", "power_matrix_fp8", "power_matrix_i8")

MECHANISMS: Mapping[str, Mapping[str, float | str]] = MappingProxyType(
    {
        "power": {"power_limit": NO_LIMIT, "power_limit_burst": NO_LIMIT},
        "power per format": dict.fromkeys(
            ("power_matrix_f16", "power_matrix_fp8", "power_matrix_i8"), "power_matrix_bf16"
        ),
        "power by data": {"power_positive": 1.0, "power_sines": 1.0},
        "power averaged over gaps": {"power_gaps": 0.0},
        "power of the L1 path": {"power_vmem": 0.0},
        "power of LDS": {"power_lds": 0.0},
        "power of memory": {"power_memory": 0.0, "power_hbm": 0.0},
        "launch floor": {f"launch_floor_{protocol}": 0.0 for protocol in PROTOCOLS},
        "launch floor by protocol": {
            f"launch_floor_{protocol}": "launch_floor_stream" for protocol in ("graph", "event", "cold")
        },
        "L2 bandwidth": {"l2_share": NO_LIMIT},
        "Infinity Cache bandwidth": {"mall_bandwidth": NO_LIMIT},
        "Infinity Cache bandwidth by mix": {"mall_mixed": 1.0, "mall_written": 1.0},
        "HBM bandwidth": {"hbm_bandwidth": NO_LIMIT},
        "atomics on one address": {"atomic_ns": 0.0},
        "handing out workgroups": {"dispatch_clocks": 0.0},
        "Infinity Cache replacement": {"mall_replacement": 0.0},
        "L2 shared by lines": {"l2_by_lines": 0.0},
        "work by XCD": {"work_by_xcd": 0.0},
        "latency under load": {"hbm_load_factor": 0.0},
        "least clocks of an access": dict.fromkeys(("vmem_least_clocks", "vmem_lds_clocks", "vmem_dword_clocks"), 4.0),
        "shorter loads straight into LDS": {"vmem_lds_clocks": "vmem_least_clocks"},
        "shorter loads of 4 bytes": {"vmem_dword_clocks": "vmem_least_clocks"},
        "gap between workgroups": {"workgroup_turnaround": 0.0},
        "VALU beside the matrix core": {"matrix_coexec": 0.0},
    }
)
"""What is changed to take a mechanism away: a value, or the name of the number it then equals."""

SIMULATED = (
    "Infinity Cache replacement",
    "L2 shared by lines",
    "work by XCD",
    "latency under load",
    "least clocks of an access",
    "shorter loads straight into LDS",
    "shorter loads of 4 bytes",
    "gap between workgroups",
    "VALU beside the matrix core",
)


def without(mechanism: str, base: Parameters = PARAMETERS) -> Parameters:
    """The clock without a mechanism; KeyError names those there are."""
    if mechanism not in MECHANISMS:
        raise KeyError(f"the clock has no mechanism {mechanism!r}; it has {', '.join(MECHANISMS)}")
    changed = MECHANISMS[mechanism]
    return base.with_values(
        **{name: base[value] if isinstance(value, str) else value for name, value in changed.items()}
    )


def ablated(rows: Iterable[Row], base: Parameters = PARAMETERS) -> dict[str, list[Judged]]:
    """For every mechanism that acts on profiles: the validate rows judged without it, the rest fitted again."""
    known = list(rows)
    found = {"nothing": judge(known, base)}
    for mechanism in (name for name in MECHANISMS if name not in SIMULATED):
        held = tuple(MECHANISMS[mechanism])
        fitted = fit(
            known,
            without(mechanism, base),
            held=held,
            generations=REFIT_GENERATIONS,
            seeds=(0,),
            spread=REFIT_SPREAD,
        )
        found[mechanism] = judge(known, fitted)
    return found
