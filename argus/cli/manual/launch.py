"""Codes of launches and operations: what callers hand over, and what is asked of it."""

from __future__ import annotations

from collections.abc import Mapping

from argus.cli.manual.entry import ManualEntry

LAUNCH: Mapping[str, ManualEntry] = {
    "ARG-L101": ManualEntry(
        "The sizes of the launch are outside the kernel's `requires` or ranges, or an array is so large that 32-bit "
        "offsets do not reach its end. Everything proved about the kernel assumes them.",
        "the message names the condition and the values; choose other sizes, other knobs, or split the work.",
    ),
    "ARG-L102": ManualEntry(
        "An array has another number of axes or other extents than the kernel's argument at these sizes, or two arrays "
        "show different values of one size.",
        "compare with the shape that the message names.",
    ),
    "ARG-L103": ManualEntry(
        "The element type of an array is not that of the kernel's argument. Nothing is converted in silence.",
        "convert it yourself (`x.to(torch.bfloat16)`), or read the kernel with another element type.",
    ),
    "ARG-L104": ManualEntry(
        "The array's elements do not lie in memory as the kernel reads them: a strided, transposed or backward view.",
        "pass a contiguous copy (`x.contiguous()`, `numpy.ascontiguousarray`); for matrix products there are "
        "`a_by_k` and `b_by_k` instead.",
    ),
    "ARG-L105": ManualEntry(
        "The first element is at an address that is no multiple of the element's size. Kernels access memory at "
        "multiples of the element (docs/semantics.md, alignment).",
        "pass a copy, whose memory is aligned.",
    ),
    "ARG-L106": ManualEntry(
        "The kernel would write to an array that is read-only, or that shares memory with another argument. Arguments "
        "that are only read may share memory.",
        "give the output memory of its own.",
    ),
    "ARG-L107": ManualEntry(
        "The argument is no array, has no plain data (sparse, or a tensor of torch that only has a shape), or lies on "
        "another device than the launch or the other operands. Or there is no device of that name.",
        "pass a numpy array, a tensor of torch, or to `argus.torch` anything that speaks DLPack; move all of them to "
        "one device.",
    ),
    "ARG-L108": ManualEntry(
        "An array, a scalar or a size of the kernel is not given, or one is given that it does not have.",
        "the message says how the kernel is called.",
    ),
    "ARG-L109": ManualEntry(
        "No kernel of the library computes this: an element type, a shape, an option, or operands that do not fit "
        "together. Nothing else computes it instead.",
        "the message names the nearest thing there is; docs/kernels.md lists what the kernels do.",
    ),
    "ARG-L110": ManualEntry(
        "`backward` reached an operation of which no kernel computes the gradient (attention, fp8, a maximum, a second "
        "derivative of a normalisation, a kernel file without `gradient=`). A gradient is never lost in silence.",
        "call it under `torch.no_grad()` or on detached operands; for a kernel file, pass `gradient=` "
        "(docs/pytorch.md).",
    ),
    "ARG-L111": ManualEntry(
        "`argus.ops` was given a tensor that requires a gradient while torch records them. Its results have no "
        "history, so the gradient would be lost.",
        "use the function of the same name in `argus.torch`, or `torch.no_grad()`.",
    ),
    "ARG-L112": ManualEntry(
        "The device that executed the launch reports a fault: a race, a missing wait, an access out of bounds.",
        "a proved kernel has none; report it, with the report of the machine that the message holds.",
    ),
}
