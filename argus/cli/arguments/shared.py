"""Options that several verbs take, with one meaning: the kernel file, the launch to be timed, the journal."""

from __future__ import annotations

import argparse
from typing import Any

from argus.cli.arguments.choices import CLOCK_MAX_MHZ, PROTOCOLS


def add_json(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="machine-readable output")


def add_kernel_arguments(parser: argparse.ArgumentParser) -> None:
    """FILE, --kernel, --set, --shape, --json."""
    parser.add_argument("file", help="kernel file (read from its syntax tree, never executed)")
    parser.add_argument("--kernel", help="which kernel of the file, if it has several")
    parser.add_argument("--set", action="append", default=[], metavar="KNOB=VALUE,…", help="choose values of knobs")
    parser.add_argument(
        "--shape",
        action="append",
        default=[],
        metavar="M=4096,…",
        help="sizes of the launch; proofs and code objects are for all sizes, so check, ir and compile only "
        "refuse sizes the kernel does not take",
    )
    add_json(parser)


def add_force(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--force", action="store_true", help="go on although the checker refuted or could not prove")


def add_no_check(parser: argparse.ArgumentParser) -> None:
    """--force and --no-check, for verbs that look at what a kernel does."""
    add_force(parser)
    parser.add_argument("--no-check", action="store_true", help="do not ask the checker; nothing is proved then")


def add_object_arguments(parser: argparse.ArgumentParser) -> None:
    """The launch of a code object."""
    parser.add_argument("--grid", help="objects: workgroups, for example 16,16")
    parser.add_argument("--block", help="objects: threads of a workgroup, for example 256")
    parser.add_argument("--arg", action="append", default=[], help="objects: one argument, in order")
    parser.add_argument("--lds", type=int, default=0, help="objects: bytes of dynamic LDS")


def add_time_arguments(parser: argparse.ArgumentParser) -> None:
    """What describes a launch to be timed; `time`, `compare` and `clock explain` use the same words."""
    add_kernel_arguments(parser)
    parser.add_argument("--seed", type=int, default=0, help="seed of the input data and of the sample")
    add_object_arguments(parser)
    parser.add_argument("--device-clock", type=float, default=CLOCK_MAX_MHZ, metavar="MHZ", help="stated clock")
    parser.add_argument("--warm", action="store_true", help="the tensors lie in the Infinity Cache as far as they fit")
    add_protocol(parser, "how the time would be taken: replayed in a graph, launched into a stream, alone with "
                 "cold caches")  # fmt: skip
    parser.add_argument("--without", metavar="MECHANISM", help="a mechanism of the clock switched off")
    add_no_check(parser)


def add_protocol(parser: argparse.ArgumentParser, text: str) -> None:
    parser.add_argument("--protocol", choices=PROTOCOLS, default="stream", help=text)


def add_journal(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--journal", metavar="DIR", help="where the journal is (default $ARGUS_JOURNAL, else ./argus-journal)"
    )


def add_cluster(parser: argparse.ArgumentParser, what: str) -> None:
    """Where `what` is done: processes of this machine, or the workers of a Ray cluster."""
    parser.add_argument("--workers", type=int, default=2, help="processes on this machine (default 2)")
    parser.add_argument(
        "--ray",
        metavar="ADDRESS",
        help=f"{what} on Ray: local (--workers workers here), auto, HOST:PORT or ray://HOST:PORT",
    )


def add_verb(verbs: Any, name: str, handler: str, text: str, epilog: str = "") -> argparse.ArgumentParser:
    """A verb whose work is the function `handler` ("module:function")."""
    parser: argparse.ArgumentParser = verbs.add_parser(
        name, help=text, description=text, formatter_class=argparse.RawDescriptionHelpFormatter, epilog=epilog
    )
    parser.set_defaults(handler=handler, parser=parser)
    return parser
