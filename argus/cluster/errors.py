"""What goes wrong with a cluster: R1xx. Titles stand here, causes and fixes in `argus/cli/manual/cluster.py`."""

from __future__ import annotations

from collections.abc import Mapping

CODES: Mapping[str, str] = {
    "ARG-R101": "no Ray cluster at this address",
    "ARG-R102": "the package ray is not installed",
    "ARG-R103": "another Argus on the cluster",
    "ARG-R104": "a worker died again and again on the same work",
    "ARG-R105": "the cluster was lost in the middle of work",
}


class ClusterError(Exception):
    """`code` is a key of CODES."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(code, message)
        self.code = code
        self.message = message

    def __str__(self) -> str:
        return f"{self.code}: {self.message}"


class WorkerDiedError(ClusterError):
    """One piece of work ends every worker that takes it; other work is not concerned."""

    def __init__(self, message: str) -> None:
        super().__init__("ARG-R104", message)

    def __reduce__(self) -> tuple[type[WorkerDiedError], tuple[str]]:
        return WorkerDiedError, (self.message,)


class KilledWorkError(Exception):
    """Raised on a worker whose helper process was killed from outside: the work is to be done again."""
