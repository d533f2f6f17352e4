"""`--ray ADDRESS`: the workers of a cluster for a verb, or none.

    with cluster(args) as pool:          None without --ray: the verb does its work as it always did
        …

The cluster is there, and known to be the same Argus, before the verb begins anything.
"""

from __future__ import annotations

import argparse
from contextlib import AbstractContextManager, nullcontext

from argus.cli.usage import UsageError
from argus.cluster import Pool, pool_of


def cluster(args: argparse.Namespace) -> AbstractContextManager[Pool | None]:
    """The pool that `--ray` names."""
    if args.workers < 1:
        raise UsageError(f"--workers takes at least 1, not {args.workers}")
    return nullcontext() if args.ray is None else pool_of(args.ray, args.workers)
