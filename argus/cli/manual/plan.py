"""Codes of plans: a PyTorch module as launches of templates (`argus plan`, `argus.torch.compile`)."""

from __future__ import annotations

from collections.abc import Mapping

from argus.cli.manual.entry import ManualEntry

PLAN: Mapping[str, ManualEntry] = {
    "ARG-G101": ManualEntry(
        "The module uses an operator that no template of the library computes. The message names the operator, the "
        "node of the graph and the line of the module. Nothing is handed back to torch, and nothing has run.",
        "write it with the operators that docs/kernelbench.md lists; the message names the nearest one, if there is.",
    ),
    "ARG-G102": ManualEntry(
        "A value of the module has an element type that its template does not have.",
        "convert the module: the message names the nearest type.",
    ),
    "ARG-G103": ManualEntry(
        "A value has no elements, or a launch would reach 2 GiB of an array and no axis of it can be cut.",
        "use sizes from 1 element to 2 GiB per array, or split the batch.",
    ),
    "ARG-G104": ManualEntry(
        "The operator has a template, but not for these shapes, strides or options: a window, a broadcast, a batch.",
        "the message names the nearest form there is.",
    ),
    "ARG-G105": ManualEntry(
        "A plan is made for one set of shapes and element types; it was given another, or an input is missing.",
        "make a plan for these inputs.",
    ),
    "ARG-G106": ManualEntry(
        "The Python file of the module could not be executed in the worker process, it has no such class, or "
        "torch.export refuses the module.",
        "run the file by itself first; it needs a class (Model), `get_inputs()` and `get_init_inputs()`.",
    ),
    "ARG-G107": ManualEntry(
        "`argus bench kernelbench`: a kernel that the plan launches is refuted, or something of it is unknown. It is "
        "not launched, and the task is not solved.",
        "`argus check` with the knobs of the plan says what is not proved.",
    ),
    "ARG-G108": ManualEntry(
        "`argus bench kernelbench`: at some reduced sizes the plan's result is further from the module in float64 than "
        "is allowed, or at full size a workgroup of a launch writes something else than the launch states. Kernels are "
        "proved, so the plan, a specification or the front end is wrong, or rounding is.",
        "`argus plan` shows every launch with what it computes.",
    ),
    "ARG-G109": ManualEntry(
        "`argus bench kernelbench`: the task ended in an exception that nobody expects, or its process died.",
        "report it, with the message.",
    ),
}
