"""What ends a command: which exceptions are mistakes of the user, and what is said about each.

    failure_of(error)  ->  CommandFailure(exit=2, kind="journal", message="…", code="ARG-J102")

People read it on standard error, programs (`--json`) as an answer on standard output. This file knows the errors of
every room, so it is loaded only when a command has failed.
"""

from __future__ import annotations

import argparse
import os
import sys
import traceback
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from argus.agent.journal import JournalError
from argus.agent.policy import PolicyError
from argus.agent.providers import ProviderError
from argus.agent.tools import ToolError
from argus.cli.answers import ErrorAnswer, emit
from argus.cli.answers.errors import FailureKind
from argus.cli.extras import extra_of
from argus.cli.gate import STOPPED, RefusedError
from argus.cli.usage import INTERNAL, INVALID, WRONG, UsageError, WrongResult
from argus.cluster import ClusterError
from argus.device.guards import LaunchRefused
from argus.device.hip_calls import HipError
from argus.ir.compile_error import CompileError
from argus.lang.errors import ProgramError
from argus.machine import LaunchError as MachineLaunchError
from argus.machine import LoadError, MachineError
from argus.ops.choice import NoKernel
from argus.pipeline import Unproved
from argus.plan.graph import PlanError
from argus.spec import SpecError
from argus.tasks.task import TaskError

INPUT_ERRORS = (
    MachineLaunchError, LoadError, SpecError, ProviderError, TaskError, PolicyError, NoKernel, PlanError, ToolError,
    Unproved,
)  # fmt: skip
"""Mistakes in what a command was given, beyond its own words."""


@dataclass(frozen=True, slots=True)
class CommandFailure:
    """`text` is what people read; the rest is the answer of `--json`."""

    exit: int
    kind: FailureKind
    message: str
    text: str
    code: str | None = None
    help: str = ""
    detail: Mapping[str, Any] | None = None


def answered(error: Exception, args: argparse.Namespace) -> int:
    """Say what went wrong and return the exit code."""
    failure = failure_of(error)
    if failure.kind == "internal" and os.environ.get("ARGUS_DEBUG"):
        traceback.print_exception(error)
    if getattr(args, "json", False):
        detail = None if failure.detail is None else dict(failure.detail)
        named = {"exit": failure.exit, "kind": failure.kind, "code": failure.code, "help": failure.help}
        emit(ErrorAnswer, {**named, "message": failure.message, "detail": detail})
        return failure.exit
    if failure.kind == "extra":
        args.parser.print_help(sys.stderr)
    print(failure.text, file=sys.stderr)
    return failure.exit


def failure_of(error: Exception) -> CommandFailure:
    """An exception as what is said about it."""
    told = str(error)
    line = f"error: {told}"
    match error:
        case ProgramError():
            said = error.diagnostic
            return CommandFailure(INVALID, "program", said.message, error.render(), said.code, said.fix, said.to_json())
        case RefusedError():
            message = f"{error.report.kernel.name} is {error.report.status}; {STOPPED}"
            return CommandFailure(error.code, "refused", message, told, detail=error.report.to_json())
        case UsageError():
            return CommandFailure(INVALID, "usage", told, line)
        case WrongResult():
            return CommandFailure(WRONG, "machine", told, told)
        case CompileError():
            return CommandFailure(INVALID, "compile", error.message, line, error.code, detail=error.to_json())
        case JournalError():
            return CommandFailure(INVALID, "journal", told, line, error.code)
        case ClusterError():
            more = f"argus explain {error.code}"
            text = f"error[{error.code}]: {error.message}\n  = help: {more}"
            return CommandFailure(INVALID, "cluster", error.message, text, error.code, more)
        case ModuleNotFoundError() if (extra := extra_of(error.name)) is not None:
            return CommandFailure(INVALID, "extra", extra, f"\nerror: {extra}")
        case OSError():
            message = _of_system(error)
            return CommandFailure(INVALID, "system", message, f"error: {message}")
        case LaunchRefused() | HipError():
            more = f"argus explain {error.code}"
            return CommandFailure(INVALID, "input", told, f"{line}\n  = help: {more}", error.code, more)
        case _ if isinstance(error, INPUT_ERRORS):
            return CommandFailure(INVALID, "input", told, line, _code_of(error))
        case MachineError():
            report = error.report
            return CommandFailure(WRONG, "machine", report.message, told, report.code, detail=report.to_json())
    message = f"{type(error).__name__}: {error}"
    text = f"internal error in argus: {message} (ARGUS_DEBUG=1 shows more)"
    return CommandFailure(INTERNAL, "internal", message, text)


def _code_of(error: Exception) -> str | None:
    code = getattr(error, "code", None)
    return code if isinstance(code, str) else None


def _of_system(error: OSError) -> str:
    """An error of the system in words: the file first, then the reason."""
    if error.filename is None or error.strerror is None:
        return str(error)
    return f"{error.filename}: {error.strerror[:1].lower()}{error.strerror[1:]}"
