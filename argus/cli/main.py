"""`argus VERB …`: one file per verb. Exit: 0 good, 1 refuted or wrong, 2 not a valid program or command, 3 unknown.

A mistake of the user ends in a sentence on standard error, never in a traceback. A fault of Argus itself ends with code
70 and says so; `ARGUS_DEBUG=1` shows its traceback. When nobody reads the output any more (`argus … | head`) a command
stops with code 141, as other programs do: a verdict that was not delivered, or not even reached, is not a good one.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import traceback
from types import ModuleType

from argus.agent.journal import JournalError
from argus.agent.policy import PolicyError
from argus.agent.providers import ProviderError
from argus.cli import (
    bench,
    check,
    clock,
    compare,
    compile,
    explain,
    history,
    ir,
    kb,
    layout,
    machine,
    optimize,
    report,
    run,
    time,
)
from argus.cli.gate import RefusedError
from argus.cli.options import INVALID, WRONG, UsageError
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

INTERNAL = 70
UNREAD = 128 + signal.SIGPIPE
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
    OSError,
)
VERBS: tuple[ModuleType, ...] = (
    check,
    ir,
    compile,
    run,
    time,
    compare,
    bench,
    clock,
    layout,
    explain,
    machine,
    history,
    report,
    optimize,
    kb,
)


def build_parser() -> argparse.ArgumentParser:
    """The whole command line."""
    parser = argparse.ArgumentParser(
        prog="argus",
        description="Tile kernels for AMD MI300X: check, compile, run and time them, without a GPU.",
        epilog="exit codes: 0 good, 1 refuted or wrong, 2 not a valid program or command, 3 unknown, 70 a fault of "
        "Argus itself",
    )
    verbs = parser.add_subparsers(dest="verb", metavar="VERB", required=True)
    for module in VERBS:
        module.register(verbs)
    return parser


def main(argv: list[str] | None = None) -> int:
    """Run one command and return its exit code."""
    args = build_parser().parse_args(argv)
    try:
        code = int(args.handler(args))
        sys.stdout.flush()
        return code
    except ProgramError as error:
        print(error.render(json=getattr(args, "json", False)), file=sys.stderr)
    except RefusedError as error:
        print(error, file=sys.stderr)
        return error.code
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return UNREAD
    except USER_ERRORS as error:
        print(f"error: {error}", file=sys.stderr)
    except MachineError as error:
        print(error, file=sys.stderr)
        return WRONG
    except KeyboardInterrupt:
        print("stopped", file=sys.stderr)
        return INVALID
    except Exception as error:
        if os.environ.get("ARGUS_DEBUG"):
            traceback.print_exc()
        print(f"internal error in argus: {type(error).__name__}: {error} (ARGUS_DEBUG=1 shows more)", file=sys.stderr)
        return INTERNAL
    return INVALID


if __name__ == "__main__":
    sys.exit(main())
