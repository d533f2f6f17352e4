"""What ends a command: which exceptions are mistakes of the user, and what is said about each.

This file knows the errors of every room, so it is loaded only when a command has failed.
"""

from __future__ import annotations

import argparse
import os
import sys
import traceback

from argus.agent.journal import JournalError
from argus.agent.policy import PolicyError
from argus.agent.providers import ProviderError
from argus.cli.extras import extra_of
from argus.cli.gate import RefusedError
from argus.cli.usage import INTERNAL, INVALID, WRONG, UsageError
from argus.device.guards import LaunchRefused
from argus.device.hip_calls import HipError
from argus.ir.compile_error import CompileError
from argus.lang.errors import ProgramError
from argus.machine import LaunchError as MachineLaunchError
from argus.machine import LoadError, MachineError
from argus.ops.choice import NoKernel
from argus.pipeline import Unproved
from argus.spec import SpecError
from argus.tasks.task import TaskError

USER_ERRORS = (
    UsageError,
    LaunchRefused,
    MachineLaunchError,
    LoadError,
    SpecError,
    CompileError,
    HipError,
    JournalError,
    ProviderError,
    TaskError,
    PolicyError,
    NoKernel,
    Unproved,
)


def answered(error: Exception, args: argparse.Namespace) -> int:
    """Say what went wrong and return the exit code."""
    match error:
        case ProgramError():
            print(error.render(json=getattr(args, "json", False)), file=sys.stderr)
        case RefusedError():
            print(error, file=sys.stderr)
            return error.code
        case OSError():
            print(f"error: {_of_system(error)}", file=sys.stderr)
        case ModuleNotFoundError() if extra_of(error.name) is not None:
            args.parser.print_help(sys.stderr)
            print(f"\nerror: {extra_of(error.name)}", file=sys.stderr)
        case MachineError() if not isinstance(error, USER_ERRORS):
            print(error, file=sys.stderr)
            return WRONG
        case _ if isinstance(error, USER_ERRORS):
            print(f"error: {error}", file=sys.stderr)
        case _:
            return _fault(error)
    return INVALID


def _of_system(error: OSError) -> str:
    """An error of the system in words: the file first, then the reason."""
    if error.filename is None or error.strerror is None:
        return str(error)
    return f"{error.filename}: {error.strerror[:1].lower()}{error.strerror[1:]}"


def _fault(error: Exception) -> int:
    if os.environ.get("ARGUS_DEBUG"):
        traceback.print_exc()
    print(f"internal error in argus: {type(error).__name__}: {error} (ARGUS_DEBUG=1 shows more)", file=sys.stderr)
    return INTERNAL
