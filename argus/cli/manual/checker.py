"""Codes of the checker: what it says about itself."""

from __future__ import annotations

from collections.abc import Mapping

from argus.cli.manual.entry import ManualEntry

CHECKER: Mapping[str, ManualEntry] = {
    "ARG-K101": ManualEntry(
        "Everything about the kernel was proved, and then a small launch of it gave something else than its "
        "specification, or met a hazard. Proofs are about real numbers: where the kernel rounds more than its "
        "specification's types do (a conversion to a narrow type in the middle, rounding toward zero), that is the "
        "difference. Else one of the two is a mistake of Argus. Nothing counts as proved: the verdict of `value` is "
        "`unknown`.",
        "compute in wider types where the kernel rounds; if it does not round, report it with the saved folder the "
        "message names (the kernel's source and `launch.json` with sizes, kind of "
        "inputs and seed); `argus check` of the file in it shows the same again. `argus run FILE --force` shows what "
        "the object computes.",
    ),
}
