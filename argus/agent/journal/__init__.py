"""What every optimisation did: append-only events and the texts they speak of. See `store.py`."""

from argus.agent.journal.errors import CODES, JournalError
from argus.agent.journal.store import Journal, JournalEvent, Run, RunInfo

__all__ = ["CODES", "Journal", "JournalError", "JournalEvent", "Run", "RunInfo"]
