"""The manual of the codes that are not about the kernel language: compiler, checker, machine, launches, journal, …

    >>> print(page("M101"))
    # ARG-M101: race (report of the machine)
    …

A family's titles stand where its errors are raised (`CODES`); here stands why each of them happens and what to do about
it, one table per family. `argus explain` prints an entry; docs/errors is written from the same tables
(`python -m tests.errors.programs`). Codes of the language (AG…) have a catalogue of their own, `argus.lang.catalogue`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from argus.agent.journal import CODES as JOURNAL_CODES
from argus.agent.providers import CODES as PROVIDER_CODES
from argus.agent.tools import CODES as WORKBENCH_CODES
from argus.check.executed.after_proof import CODES as CHECKER_CODES
from argus.cli.manual.checker import CHECKER
from argus.cli.manual.cluster import CLUSTER
from argus.cli.manual.compiler import COMPILER
from argus.cli.manual.device import DEVICE
from argus.cli.manual.entry import ManualEntry
from argus.cli.manual.journal import JOURNAL
from argus.cli.manual.machine import MACHINE
from argus.cli.manual.operation import OPERATION
from argus.cli.manual.plan import PLAN
from argus.cli.manual.provider import PROVIDER
from argus.cli.manual.workbench import WORKBENCH
from argus.cluster import CODES as CLUSTER_CODES
from argus.device.codes import CODES as DEVICE_CODES
from argus.ir.compile_error import CODES as COMPILE_CODES
from argus.machine.errors import CODES as MACHINE_CODES
from argus.ops.codes import CODES as OPERATION_CODES
from argus.plan.codes import CODES as PLAN_CODES


@dataclass(frozen=True, slots=True)
class Family:
    """`what` a code of the family is, the `name` of its page, titles and entries by code."""

    what: str
    name: str
    titles: Mapping[str, str]
    entries: Mapping[str, ManualEntry]


FAMILIES = (
    Family("compile error", "compiler", COMPILE_CODES, COMPILER),
    Family("error of the checker", "checker", CHECKER_CODES, CHECKER),
    Family("report of the machine", "machine", MACHINE_CODES, MACHINE),
    Family("error of a launch", "device", DEVICE_CODES, DEVICE),
    Family("error of an operation", "operation", OPERATION_CODES, OPERATION),
    Family("error of a plan", "plan", PLAN_CODES, PLAN),
    Family("error of a model provider", "provider", PROVIDER_CODES, PROVIDER),
    Family("error of the workbench", "workbench", WORKBENCH_CODES, WORKBENCH),
    Family("error of the journal", "journal", JOURNAL_CODES, JOURNAL),
    Family("error of a cluster", "cluster", CLUSTER_CODES, CLUSTER),
)


def page(code: str) -> str | None:
    """The page of a code, or None; `M101` stands for `ARG-M101`."""
    for family in FAMILIES:
        for known in (code, f"ARG-{code}"):
            if known in family.entries:
                entry = family.entries[known]
                return f"# {known}: {family.titles[known]} ({family.what})\n\n{entry.cause}\n\nFix: {entry.fix}\n"
    return None
