"""Workers of a Ray cluster: a thin adaptor. Ray schedules, tries again and buries; here stand limits and words.

    with RayPool("local", workers=2) as pool:
        pool.ask("argus.agent.judge.remote:answer", question).result()

| address | cluster |
|---|---|
| `local` | a Ray of our own on this machine with `workers` workers, ended with the pool |
| `auto` | the cluster this machine belongs to (`ray start`), or `$RAY_ADDRESS` |
| `head:6379` | that cluster; this machine must belong to it |
| `ray://head:10001` | that cluster, from outside, through Ray Client |

A piece of work is a Ray task for one CPU. A task whose worker dies is tried again by Ray, on another worker or machine,
`RETRIES` times; then it fails with ARG-R104. A worker is asked once before any work is: a cluster without Argus, or
with another one, is refused at once. The first answer is waited for, too, so connecting is bounded in time.
"""

from __future__ import annotations

import logging
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType, TracebackType
from typing import Any, NoReturn, Self

from argus.cluster.environment import without_secrets
from argus.cluster.errors import ClusterError, KilledWorkError, WorkerDiedError
from argus.cluster.pool import WorkAnswer
from argus.cluster.work import answered, asked

RETRIES = 2
MEMORY = 3 << 30  # what a worker and its judge may need; Ray starts no more of them than fit a machine
STORE = 80 << 20  # Ray's object store; answers are smaller than what goes there
PROBE = 5.0
CONNECT = 30.0
FIRST_ANSWER = 180.0
PATIENCE = 3600.0
AHEAD = 8
QUIET = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
    "RAY_task_oom_retries": str(RETRIES),
    "RAY_worker_niceness": "0",
}
"""Settings of Ray for what we start: nothing is reported to its makers, no endless retries, and workers do not stand
behind every other process of the machine."""
MISSING = "`--ray` needs the package ray, which is not installed: pip install 'argus-kernels[ray]'"
HELLO = "argus.cluster.work:presence"


class RayPool:
    """The workers at one address."""

    def __init__(self, address: str, workers: int) -> None:
        try:
            import ray
        except ModuleNotFoundError as error:
            raise ClusterError("ARG-R102", MISSING) from error
        self.address = address
        self._ray: Any = ray
        self._folder: str | None = None
        self._begun = False
        try:
            self._connect(workers)
            self._task = ray.remote(num_cpus=1, memory=MEMORY, max_retries=RETRIES, retry_exceptions=[KilledWorkError])(
                worker
            )
            self.workers = max(1, int(ray.cluster_resources().get("CPU", 0)))
            self._first()
        except BaseException:
            self.close()
            raise

    @property
    def ahead(self) -> int:
        return AHEAD * self.workers

    def ask(self, work: str, item: Any) -> RayAnswer:
        return RayAnswer(self, self._task.remote(asked(work, item)))

    def close(self) -> None:
        """Leave the cluster, which ends our work there; end a local one."""
        if self._begun:
            self._ray.shutdown()
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _connect(self, workers: int) -> None:
        quiet = {"logging_level": logging.ERROR, "log_to_driver": False}
        logging.getLogger("ray").setLevel(logging.ERROR)
        if self.address == "local":
            self._folder = tempfile.mkdtemp(prefix="argus-ray-", dir=_short_folder())
            self._begun = True
            with without_secrets(QUIET):
                self._ray.init(
                    address="local",
                    num_cpus=workers,
                    num_gpus=0,
                    include_dashboard=False,
                    object_store_memory=STORE,
                    _memory=workers * MEMORY,
                    _temp_dir=self._folder,
                    **quiet,
                )
            return
        _probe(self.address)
        self._begun = True
        try:
            with without_secrets(QUIET), _limited(CONNECT):
                self._ray.init(address=self.address, **quiet)
        except (ConnectionError, TimeoutError, ValueError) as error:
            raise ClusterError("ARG-R101", f"--ray {self.address}: {_line(error)}") from error
        except RuntimeError as error:
            code = "ARG-R103" if "ersion" in str(error) else "ARG-R101"
            raise ClusterError(code, f"--ray {self.address}: {_line(error)}") from error

    def _first(self) -> None:
        try:
            self.ask(HELLO, None).result(FIRST_ANSWER)
        except TimeoutError as error:
            free = f"{self.workers} CPUs in all, one and {MEMORY >> 30} GB of memory needed"
            message = f"--ray {self.address}: no worker answered within {FIRST_ANSWER:g} s ({free})"
            raise ClusterError("ARG-R101", message) from error


@dataclass(frozen=True, slots=True)
class RayAnswer:
    """A task of Ray that is under way."""

    pool: RayPool
    ref: Any

    def result(self, seconds: float | None = None) -> WorkAnswer:
        """Waits; TimeoutError only where `seconds` are given, else ClusterError for whatever goes wrong with Ray."""
        from ray import exceptions as wrong

        try:
            return WorkAnswer.of(self.pool._ray.get(self.ref, timeout=PATIENCE if seconds is None else seconds))
        except wrong.GetTimeoutError as error:
            if seconds is not None:
                raise TimeoutError(f"no answer within {seconds:g} s") from error
            raise ClusterError("ARG-R105", f"no answer within {PATIENCE:g} s") from error
        except wrong.RayTaskError as error:
            _raise_cause(error)
        except (wrong.WorkerCrashedError, wrong.NodeDiedError, wrong.OutOfMemoryError) as error:
            raise WorkerDiedError(_died(_line(error))) from error
        except (wrong.RayError, ConnectionError) as error:
            raise ClusterError("ARG-R105", f"--ray {self.pool.address}: {_line(error)}") from error


def worker(question: str) -> str:
    """What a task of Ray runs, on some machine; Ray names its process after it."""
    import ray

    return answered(question, ray.get_runtime_context().get_node_id())


def _raise_cause(error: Any) -> NoReturn:
    """What the work itself raised, as if it had been done here."""
    cause = error.cause
    match cause:
        case KilledWorkError():
            raise WorkerDiedError(_died(str(cause))) from error
        case ModuleNotFoundError():
            raise ClusterError("ARG-R103", f"a worker cannot load what is asked of it: {cause}") from error
        case Exception():
            raise cause from error
    raise ClusterError("ARG-R105", _line(error)) from error


def _died(how: str) -> str:
    return f"{RETRIES + 1} workers in a row died of this work: {how}"


def _probe(address: str) -> None:
    """Ends soon where no Ray answers; connecting takes minutes to notice and cannot be interrupted."""
    if address != "auto":
        host, _, port = address.removeprefix("ray://").rpartition(":")
        if not host or not port.isdigit():
            message = f"--ray takes local, auto, ray://HOST:PORT or HOST:PORT, not {address!r}"
            raise ClusterError("ARG-R101", message)
        try:
            socket.create_connection((host, int(port)), PROBE).close()
        except (OSError, OverflowError) as error:
            raise ClusterError("ARG-R101", f"--ray {address}: {error}") from error
    if not address.startswith("ray://"):
        _status(address)


def _status(address: str) -> None:
    """`ray status`: whether a Ray of the same version answers."""
    command = [sys.executable, "-m", "ray.scripts.scripts", "status"]
    command += [] if address == "auto" else ["--address", address]
    try:
        ended = subprocess.run(command, capture_output=True, text=True, timeout=CONNECT, check=False)
    except subprocess.TimeoutExpired as error:
        raise ClusterError("ARG-R101", f"--ray {address}: no Ray answered within {CONNECT:g} s") from error
    if ended.returncode:
        said = [line.strip() for line in ended.stderr.splitlines() if line.strip()]
        code = "ARG-R103" if "ersion mismatch" in ended.stderr else "ARG-R101"
        raise ClusterError(code, f"--ray {address}: {said[-1] if said else 'ray status failed'}")


@contextmanager
def _limited(seconds: float) -> Iterator[None]:
    """TimeoutError after so many seconds; only the main thread can be interrupted."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def late(number: int, frame: FrameType | None) -> NoReturn:
        raise TimeoutError(f"what listens there did not answer as Ray within {seconds:g} s")

    before = signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _short_folder() -> str:
    """Where Ray may keep its sockets: the system allows their paths 107 bytes."""
    folder = tempfile.gettempdir()
    return folder if len(os.fsencode(folder)) <= 24 else "/tmp"


def _line(error: BaseException) -> str:
    """The first line of what an error says."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[0] if lines else type(error).__name__
