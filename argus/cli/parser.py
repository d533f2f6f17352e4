"""The parser of the command line: answers a misspelt verb or option with the nearest one there is.

    $ argus chekc gemm.py
    error: there is no verb 'chekc'; did you mean check?
      = help: argus --help
    $ argus check gemm.py --jsno
    error: unrecognized arguments: --jsno; did you mean --json?
      = help: argus check --help

A mistake raises `CommandError` instead of ending the process, so that `main` answers it as it answers every other
error, with `--json` as JSON. Help and version still end the process, as everywhere.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence
from typing import Any, NoReturn

from argus import __version__
from argus.cli.arguments import optimizing, proving, running
from argus.cli.usage import CommandError

EXIT_CODES = (
    "exit codes: 0 good, 1 refuted or wrong, 2 not a valid program or command, 3 unknown, 70 a fault of Argus itself"
)
START = "start here: argus init demo; argus VERB --help says more about each"


class ArgusParser(argparse.ArgumentParser):
    """One parser of the tree; its verbs and actions are of this class too."""

    def error(self, message: str) -> NoReturn:
        raise CommandError(message, self.prog)

    def parse_args(  # type: ignore[override]
        self, args: Sequence[str] | None = None, namespace: argparse.Namespace | None = None
    ) -> argparse.Namespace:
        found, rest = self.parse_known_args(args, namespace)
        if rest:
            parser = getattr(found, "parser", self)
            parser.error(f"unrecognized arguments: {' '.join(rest)}{near(rest[0], parser.options())}")
        return found

    def options(self) -> list[str]:
        """The options it takes, as they are written."""
        return [text for action in self._actions for text in action.option_strings]

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is None or value in action.choices:
            return
        known = [str(choice) for choice in action.choices]
        if isinstance(action, argparse._SubParsersAction):
            kind = "verb" if action.dest == "verb" else "action"
            told = near(str(value), known) or f"; there are {', '.join(known)}"
            self.error(f"there is no {kind} {value!r}{told}")
        told = f"{value!r} is none of {', '.join(known)}{near(str(value), known)}"
        raise argparse.ArgumentError(action, told)


def near(given: str, known: Iterable[str]) -> str:
    """`; did you mean …?`, or nothing where no word is near."""
    from difflib import get_close_matches

    found = get_close_matches(given.partition("=")[0], list(known), n=1, cutoff=0.6)
    return f"; did you mean {found[0]}?" if found else ""


def build_parser() -> ArgusParser:
    """The whole command line."""
    parser = ArgusParser(
        prog="argus",
        description="Tile kernels for AMD MI300X: check, compile, run and time them, without a GPU.",
        epilog=f"{START}\n{EXIT_CODES}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"argus {__version__}")
    verbs = parser.add_subparsers(dest="verb", metavar="VERB", required=True)
    for group in (proving, running, optimizing):
        group.register(verbs)
    return parser
