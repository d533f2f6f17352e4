"""`argus machine corpus DIR`: how much of a folder of code objects the machine can decode and execute."""

from __future__ import annotations

from typing import Any

from argus.machine import corpus


def register(verbs: Any) -> None:
    parser = verbs.add_parser("machine", help="the simulated gfx942: coverage of a folder of code objects")
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    corpus_parser = actions.add_parser("corpus", help="decode every object below DIR and report coverage")
    corpus.add_arguments(corpus_parser)
    corpus_parser.set_defaults(handler=corpus.main)
