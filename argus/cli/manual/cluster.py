"""Codes of work on many machines (`--ray`)."""

from __future__ import annotations

from collections.abc import Mapping

from argus.cli.manual.entry import ManualEntry

CLUSTER: Mapping[str, ManualEntry] = {
    "ARG-R101": ManualEntry(
        "Nothing listens there, what listens is no Ray, or no worker of the cluster answered in time. Nothing was "
        "begun: the cluster is asked before the journal is.",
        "`ray status` on the head node shows whether it is up and has a free CPU; `--ray local` needs no cluster.",
    ),
    "ARG-R102": ManualEntry(
        "Ray is no part of a plain installation, because only `--ray` needs it.",
        "pip install 'argus-kernels[ray]', or leave `--ray` out: the work is then done by processes of this machine.",
    ),
    "ARG-R103": ManualEntry(
        "A worker has other files of Argus, another Python, another version of a package that judgements rest on, or "
        "no Argus at all. Its evidence would be that of another program.",
        "install the same version on every machine of the cluster (the message names what differs) and start Ray there "
        "again.",
    ),
    "ARG-R104": ManualEntry(
        "Ray gave the work to another worker each time one died, three in all: it needs more memory than a worker has, "
        "or it takes the process down. In a run, that candidate is judged `error`, and the run goes on.",
        "look at the memory of the machines (`ray status`); judge the candidate alone, without `--ray`, to see why.",
    ),
    "ARG-R105": ManualEntry(
        "The head node or the connection to it is gone, or nothing was answered for an hour. What was judged before is "
        "in the journal.",
        "start the cluster again and resume: `argus optimize --resume --ray ADDRESS`; other verbs are started again.",
    ),
}
