"""Codes of the journal of optimisations."""

from __future__ import annotations

from collections.abc import Mapping

from argus.cli.manual.entry import ManualEntry

JOURNAL: Mapping[str, ManualEntry] = {
    "ARG-J101": ManualEntry(
        "One process at a time writes a journal, and another `argus optimize` holds this one.",
        "wait for it, or give another folder with `--journal DIR`; reading is always possible.",
    ),
    "ARG-J102": ManualEntry(
        "The folder holds no journal, a damaged one, or one that another version of Argus wrote.",
        "name the folder the run was made with: `--journal DIR`, or `ARGUS_JOURNAL`, else `./argus-journal`.",
    ),
    "ARG-J103": ManualEntry(
        "The journal has no run of that name, several whose names begin so, or none at all.",
        "`argus history` lists the runs of the journal; a beginning of a name is enough if no other run has it.",
    ),
    "ARG-J104": ManualEntry(
        "A resumed run takes the same decisions again until it is where it ended. Here one came out differently: Argus "
        "or the task file has changed since the run was begun.",
        "begin a new run; judgements of unchanged candidates are taken from the journal.",
    ),
    "ARG-J105": ManualEntry(
        "A source or answer the journal refers to is missing from its `blobs` folder, or is no longer what was stored.",
        "restore the folder from a copy; other runs of the journal are not concerned.",
    ),
    "ARG-J106": ManualEntry(
        "The run has no candidate of that name, or several begin with it.",
        "`argus history RUN` lists them; give more of the name.",
    ),
}
