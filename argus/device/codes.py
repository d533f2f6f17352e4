"""Codes of launches: D1xx the launch is refused before anything runs, D2xx this machine's HIP runtime or GPU.

    LaunchRefused("C overlaps A", "ARG-D105").code  ->  "ARG-D105"

Titles stand here, causes and fixes in `argus/cli/manual/device.py`; `argus explain D105` prints both.
"""

from __future__ import annotations

from collections.abc import Mapping

CODES: Mapping[str, str] = {
    "ARG-D101": "the arguments are not those of the kernel",
    "ARG-D102": "a size the kernel does not take",
    "ARG-D103": "too large for 32-bit offsets",
    "ARG-D104": "another order in memory than the kernel's",
    "ARG-D105": "an output that overlaps or cannot be written",
    "ARG-D106": "no array, or one on another device",
    "ARG-D107": "a scalar is missing or not allowed",
    "ARG-D108": "no such device",
    "ARG-D201": "no HIP runtime",
    "ARG-D202": "no gfx942",
    "ARG-D203": "a HIP call failed",
    "ARG-D204": "not possible while a graph is captured",
    "ARG-D205": "an object for another XNACK mode",
}
