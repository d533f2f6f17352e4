"""What every optimisation did: append-only events and the texts they speak of. See `store.py`."""

from argus.agent.journal.errors import CODES, JournalError
from argus.agent.journal.store import Event, Journal, Run, RunInfo

__all__ = ["CODES", "Event", "Journal", "JournalError", "Run", "RunInfo"]
