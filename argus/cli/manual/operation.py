"""Codes of operations on arrays and tensors: `argus.ops` and `argus.torch`."""

from __future__ import annotations

from collections.abc import Mapping

from argus.cli.manual.entry import ManualEntry

OPERATION: Mapping[str, ManualEntry] = {
    "ARG-O101": ManualEntry(
        "No kernel of the library computes this: an element type, a shape, an option, or operands that do not fit "
        "together. Nothing else computes it instead.",
        "the message names the nearest thing there is; docs/kernels.md lists what the kernels do.",
    ),
    "ARG-O102": ManualEntry(
        "`backward` reached an operation of which no kernel computes the gradient (attention, fp8, a maximum, a second "
        "derivative of a normalisation, a kernel file without `gradient=`). A gradient is never lost in silence.",
        "call it under `torch.no_grad()` or on detached operands; for a kernel file, pass `gradient=` "
        "(docs/pytorch.md).",
    ),
    "ARG-O103": ManualEntry(
        "`argus.ops` was given a tensor that requires a gradient while torch records them. Its results have no "
        "history, so the gradient would be lost.",
        "use the function of the same name in `argus.torch`, or `torch.no_grad()`.",
    ),
    "ARG-O104": ManualEntry(
        "The device that executed the launch reports a fault: a race, a missing wait, an access out of bounds.",
        "a proved kernel has none; report it, with the report of the machine that the message holds.",
    ),
}
