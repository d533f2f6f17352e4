"""`--ray ADDRESS`: who does the work of a verb.

    with cluster(args) as pool: …       None without --ray: the verb has processes of its own for it
    with workplace(args) as pool: …     this process without --ray

The cluster is there, and known to be the same Argus, before the verb begins anything.
"""

from __future__ import annotations

import argparse
from contextlib import AbstractContextManager, nullcontext

from argus.cli.usage import UsageError
from argus.cluster import Pool, pool_of


def workplace(args: argparse.Namespace) -> Pool:
    """The pool that `--ray` names, or this process."""
    if args.workers < 1:
        raise UsageError(f"--workers takes at least 1, not {args.workers}")
    return pool_of(args.ray, args.workers)


def cluster(args: argparse.Namespace) -> AbstractContextManager[Pool | None]:
    """The pool that `--ray` names, or none."""
    pool = workplace(args)
    return pool if args.ray is not None else nullcontext()
