"""`argus VERB …`: one file per verb. Exit: 0 good, 1 refuted or wrong, 2 not a valid program or command, 3 unknown.

A mistake of the user ends in a sentence on standard error, never in a traceback. A fault of Argus itself ends with code
70 and says so; `ARGUS_DEBUG=1` shows its traceback.
"""

from __future__ import annotations

import argparse
import os
import sys
import traceback
from types import ModuleType

from argus.cli import check, compile, explain, ir, layout, machine, run, time
from argus.cli.options import INVALID, UsageError
from argus.compile.errors import CompileError
from argus.device.guards import LaunchError
from argus.lang.errors import ProgramError
from argus.machine.errors import MachineError
from argus.tasks.spec import SpecError

INTERNAL = 70
VERBS: tuple[ModuleType, ...] = (check, ir, compile, run, time, layout, explain, machine)


def build_parser() -> argparse.ArgumentParser:
    """The whole command line."""
    parser = argparse.ArgumentParser(
        prog="argus",
        description="Tile kernels for AMD MI300X: check, compile, run and time them, without a GPU.",
        epilog="exit codes: 0 good, 1 refuted or wrong, 2 not a valid program or command, 3 unknown",
    )
    verbs = parser.add_subparsers(dest="verb", metavar="VERB", required=True)
    for module in VERBS:
        module.register(verbs)
    return parser


def main(argv: list[str] | None = None) -> int:
    """Run one command and return its exit code."""
    args = build_parser().parse_args(argv)
    try:
        return int(args.handler(args))
    except ProgramError as error:
        print(error.render(json=getattr(args, "json", False)), file=sys.stderr)
    except (UsageError, LaunchError, SpecError, CompileError, MachineError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
    except BrokenPipeError:
        return INVALID
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
