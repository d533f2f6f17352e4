"""Codes of the checker: what it says about itself."""

from __future__ import annotations

from collections.abc import Mapping

from argus.cli.manual.entry import ManualEntry

CHECKER: Mapping[str, ManualEntry] = {
    "ARG-K101": ManualEntry(
        "Everything about the kernel was proved, and then a small launch of it gave something else than its "
        "specification, or met a hazard. One of the two is a mistake of Argus, so nothing counts as proved: the "
        "verdict of `value` is `unknown`.",
        "report it with the saved folder the message names (the kernel's source and `launch.json` with sizes, kind of "
        "inputs and seed); `argus check` of the file in it shows the same again. `argus run FILE --force` shows what "
        "the object computes.",
    ),
}
