"""One round of asking a model: it calls tools, then answers with an edit.

    asking = EditRound(provider, talk, tools, calls)
    reply = asking.answer()                                    tools are done on the way
    text = new_source(reply, asking.submitted, source, …)      or a ProviderError that the model can be told

Calls are bounded. Those beyond are refused, and the model is told so, a few times; then what it wrote is its answer.
What the edit may not do: take an assertion away (ARG-P122), or, where the library is hidden, import it (ARG-P123).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from argus.agent.free_edit.conversation import Conversation
from argus.agent.free_edit.edit import apply
from argus.agent.free_edit.round_tools import RoundTools
from argus.agent.invariants import ProposedCheck, removed
from argus.agent.invariants.library_imports import imports_library
from argus.agent.providers import Provider, ProviderError, Reply
from argus.agent.providers.text_tools import calls_in

EDIT_CODES = ("ARG-P107", "ARG-P120", "ARG-P121", "ARG-P122", "ARG-P123")
"""What a model is told and may try again."""
CALLS = 12
FREE_EDITS = 3
TOLD_BEYOND = 3
"""How often in a round a model is told that a call is beyond those it has."""


@dataclass
class EditRound:
    """`left` calls may still be made; `told` counts answers that called when none was left."""

    provider: Provider
    talk: Conversation
    tools: RoundTools | None
    left: int = CALLS
    told: int = 0

    @property
    def submitted(self) -> str | None:
        return None if self.tools is None else self.tools.submitted

    def answer(self) -> Reply:
        """Ask until an answer is no call of a tool, or a draft is handed in."""
        while True:
            tools = self.tools if self.left > 0 else None
            reply = self.provider.ask(self.talk.request(() if tools is None else self.talk.arm.offered()))
            if tools is not None and reply.calls and not reply.cut:
                self._use(tools, reply)
                if tools.submitted is None:
                    continue
            elif self.tools is not None and self._beyond(self.tools, reply):
                continue
            return reply

    def _beyond(self, tools: RoundTools, reply: Reply) -> bool:
        """Whether an answer is a call though none is left: the model is told, and asked again."""
        calls = reply.calls or calls_in(reply.text)
        if self.left > 0 or reply.cut or not calls or self.told >= TOLD_BEYOND:
            return False
        self.told += 1
        self.talk.called(replace(reply, calls=calls), tuple(tools.refused(use) for use in calls), 0)
        return True

    def _use(self, tools: RoundTools, reply: Reply) -> None:
        """Do the calls of an answer, as many as are left; the others are refused."""
        returns = []
        for use in reply.calls:
            if tools.submitted is not None or self.left <= 0:
                returns.append(tools.refused(use))
                continue
            self.left -= 1
            returns.append(tools.called(use))
        if tools.submitted is None:
            self.talk.called(reply, tuple(returns), self.left)


def new_source(
    reply: Reply,
    submitted: str | None,
    source: str,
    stated: Iterable[ProposedCheck] = (),
    beside: Mapping[str, str] | None = None,
    library: bool = True,
) -> str:
    """The file after an answer; `stated` assertions stay."""
    if submitted is None and reply.cut:
        raise ProviderError("ARG-P107", "the answer was cut off at its limit; give only the pieces that change")
    edited = submitted if submitted is not None else apply(reply.text, source)
    gone = removed(edited, [check.text for check in stated], beside)
    if gone:
        raise ProviderError("ARG-P122", f"the edit removes the assertion {gone[0]}; it must stay as it stands")
    if not library and imports_library(edited):
        raise ProviderError("ARG-P123", "the edit imports kernels of the library, which are not part of this task")
    return edited


def reason(reply: str) -> str:
    """What a model says first."""
    return reply.split("\n\n", 1)[0][:400]
