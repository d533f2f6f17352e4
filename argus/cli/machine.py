"""`argus machine corpus DIR`: how much of a folder of code objects the machine can decode and execute."""

from __future__ import annotations

import argparse

from argus.machine import corpus


def handle(args: argparse.Namespace) -> int:
    return corpus.main(args)
