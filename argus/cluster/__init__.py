"""Work on many machines: one small interface, answered in this process or by the workers of a Ray cluster.

    with pool_of("local", workers=2) as pool:                     or None, "auto", "ray://head:10001", "head:6379"
        for answer in answers(pool, "argus.agent.judge.remote:answer", questions):
            answer.value, answer.machine

What travels is the name of a function of Argus and JSON: sources, problems, seeds, options. No code, no pickled
objects of ours, no environment. Scheduling, retries and the end of dead workers are Ray's. See docs/many_machines.md.
"""

from argus.cluster.errors import CODES, ClusterError, KilledWorkError, WorkerDiedError
from argus.cluster.pool import HerePool, Pool, Waiting, WorkAnswer, answers, pool_of

__all__ = [
    "CODES",
    "ClusterError",
    "HerePool",
    "KilledWorkError",
    "Pool",
    "Waiting",
    "WorkAnswer",
    "WorkerDiedError",
    "answers",
    "pool_of",
]
