"""A key stays where it was given: not in journal, recording, prompt, ledger, report, messages or logs, whoever says it.

The server of these tests is hostile: it puts the key it was sent into its text, its calls and its errors.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from argus.agent.free_edit.episode import episode
from argus.agent.free_edit.search import Journaled, JournaledTools
from argus.agent.journal import Journal
from argus.agent.providers import Daily, DayLedger, Provider, ProviderError, ReplyRecorder, Request
from argus.agent.providers.anthropic import Anthropic
from argus.agent.providers.openai import OpenAI
from argus.tasks.task import load_task
from tests.agent_episode.test_rounds import CANARY, PIECE, Bench, Stamp
from tests.agent_providers.server import serving

LEAK = PIECE.replace("changed", f"changed by {CANARY}")


def _anthropic(text: str, *calls: Mapping[str, Any]) -> bytes:
    parts = [{"type": "text", "text": text}, *({"type": "tool_use", **call} for call in calls)]
    return json.dumps({"content": parts, "usage": {"input_tokens": 5, "output_tokens": 3}}).encode()


def _openai(text: str, *calls: Mapping[str, Any]) -> bytes:
    uses = [
        {
            "id": call["id"],
            "type": "function",
            "function": {"name": call["name"], "arguments": json.dumps(call["input"])},
        }
        for call in calls
    ]
    message = {"content": text, **({"tool_calls": uses} if uses else {})}
    return json.dumps({"choices": [{"message": message}], "usage": {"prompt_tokens": 1}}).encode()


KINDS: dict[str, tuple[Callable[[str], Provider], Callable[..., bytes]]] = {
    "anthropic": (lambda url: Anthropic("m", url, CANARY), _anthropic),
    "openai": (lambda url: OpenAI("m", url, CANARY), _openai),
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_key_that_the_server_says_is_kept_nowhere(
    kind: str, tmp_path: Path, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    provider, body = KINDS[kind]
    caplog.set_level(logging.DEBUG)
    call = {"id": CANARY, "name": "check", "input": {"file": CANARY}}
    answers = (body(f"your key is {CANARY}", call), body(LEAK))
    bench = Bench()
    with serving(*((200, {}, answer) for answer in answers)) as server, Journal.write(tmp_path / "journal") as journal:
        run = journal.begin("gemm", {})
        counted = Daily(provider(server.url), DayLedger(tmp_path / "ledger"))
        asking = Journaled(ReplyRecorder(counted, tmp_path / "recording.jsonl"), run)
        tools = JournaledTools(bench, run)
        attempts = list(episode(load_task("gemm"), asking, Stamp(), rounds=1, seed=0, toolbox=tools))
        prompts = json.dumps([sent for _, _, sent in server.seen])
    assert attempts[1].judgement.verdict == "pass"
    assert "[redacted]" in attempts[1].source
    assert CANARY not in attempts[1].source + prompts + json.dumps([arguments for _, arguments, _ in bench.asked])
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert {"ledger", "recording.jsonl"} <= {path.name for path in files}
    assert [path for path in files if CANARY.encode() in path.read_bytes()] == []
    said = capfd.readouterr()
    assert CANARY not in caplog.text + said.out + said.err


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("status", [400, 401, 403, 404])
def test_an_error_that_quotes_the_key_is_told_without_it(kind: str, status: int) -> None:
    provider, _ = KINDS[kind]
    quoted = json.dumps({"error": {"message": f"bad key {CANARY}"}}).encode()
    with serving((status, {}, quoted)) as server, pytest.raises(ProviderError) as told:
        provider(server.url).ask(Request("lowering", "s", ()))
    assert CANARY not in str(told.value)
    assert told.value.code == "ARG-P103"
