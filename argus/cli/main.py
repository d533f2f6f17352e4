"""`argus VERB …`: reads the command line, then loads and runs the one verb that was asked for.

Exit: 0 good, 1 refuted or wrong, 2 not a valid program or command, 3 unknown. A mistake of the user ends in a sentence
on standard error, never in a traceback. A fault of Argus itself ends with code 70 and says so; `ARGUS_DEBUG=1` shows
its traceback. When nobody reads the output any more (`argus … | head`) a command stops with code 141, as other programs
do: a verdict that was not delivered, or not even reached, is not a good one.

The verbs' options are in `argus/cli/arguments`, which loads nothing else; what runs a verb is imported when it runs.
"""

from __future__ import annotations

import importlib
import os
import signal
import sys

from argus.cli.parser import build_parser
from argus.cli.usage import INVALID, CommandError

UNREAD = 128 + signal.SIGPIPE


def main(argv: list[str] | None = None) -> int:
    """Run one command and return its exit code."""
    words = sys.argv[1:] if argv is None else argv
    parser = build_parser()
    if not words:
        parser.print_help(sys.stderr)
        return INVALID
    try:
        args = parser.parse_args(words)
    except CommandError as error:
        return _ended("usage", str(error), "--json" in words, f"{error.command} --help")
    try:
        module, _, function = args.handler.partition(":")
        code = int(getattr(importlib.import_module(module), function)(args))
        sys.stdout.flush()
        return code
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return UNREAD
    except KeyboardInterrupt:
        return _ended("stopped", "stopped by the user", getattr(args, "json", False))
    except Exception as error:
        from argus.cli.failures import answered

        return answered(error, args)


def _ended(kind: str, message: str, as_json: bool, more: str = "") -> int:
    """A command that did not come to its work or was stopped; said without loading the rooms `failures` knows."""
    if as_json:
        from argus.cli.answers import ErrorAnswer, emit

        emit(
            ErrorAnswer, {"exit": INVALID, "kind": kind, "code": None, "message": message, "help": more, "detail": None}
        )
    else:
        print(f"error: {message}" + (f"\n  = help: {more}" if more else ""), file=sys.stderr)
    return INVALID


if __name__ == "__main__":
    sys.exit(main())
