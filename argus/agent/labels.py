"""How times are called: simulated by the clock, or measured on a device. A time never stands without its word."""

from __future__ import annotations

from argus.clock import LABEL


def word(device: object) -> str:
    """The word beside a time; `device` is that of the task or of the run's configuration."""
    return "measured" if device == "hip" else "simulated"


def heading(device: object) -> str:
    """The line above a run's times."""
    return "measured on this machine's HIP device (gfx942)" if device == "hip" else LABEL
