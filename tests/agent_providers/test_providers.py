"""Every provider against a server or a program of its own kind, in good and bad weather."""

from __future__ import annotations

import fcntl
import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from argus.agent.providers import (
    Budgeted,
    Provider,
    ProviderError,
    ReplayProvider,
    ReplyRecorder,
    Request,
    Turn,
    choose,
    token_limit,
)
from argus.agent.providers.anthropic import Anthropic
from argus.agent.providers.command import Command
from argus.agent.providers.openai import OpenAI
from argus.agent.providers.transport import Transport, shown
from tests.agent_providers.server import anthropic_answer, openai_answer, serving

KEY = "sk-very-secret-0123456789"
ASKED = Request("lowering", "be brief", (Turn("user", "faster?"), Turn("assistant", "how"), Turn("user", "tiles")), 100)
Make = Callable[[str, Transport], Provider]


def openai(url: str, transport: Transport) -> Provider:
    return OpenAI("m", url, KEY, transport)


def anthropic(url: str, transport: Transport) -> Provider:
    return Anthropic("m", url, KEY, transport)


BOTH = pytest.mark.parametrize(
    ("make", "answer", "cut"),
    [(openai, openai_answer, "length"), (anthropic, anthropic_answer, "max_tokens")],
    ids=["openai", "anthropic"],
)


class Waits(list[float]):
    """Stands for sleep and keeps how long each wait would have been."""

    def transport(self, attempts: int = 4) -> Transport:
        return Transport(attempts=attempts, seconds=10, sleep=self.append)


@BOTH
def test_good_answer(make: Make, answer: Callable[..., bytes], cut: str) -> None:
    with serving((200, {}, answer("do it"))) as script:
        reply = make(script.url, Waits().transport()).ask(ASKED)
    assert reply.text == "do it"
    assert reply.tokens_in > 0
    assert reply.tokens_out > 0
    path, headers, body = script.seen[0]
    assert KEY in (headers.get("authorization", "") + headers.get("x-api-key", ""))
    said = [(m["role"], m["content"]) for m in body["messages"]]
    assert said[-3:] == [("user", "faster?"), ("assistant", "how"), ("user", "tiles")]
    assert "be brief" in json.dumps(body)
    assert body["max_tokens"] == 100
    assert path in {"/chat/completions", "/v1/messages"}


@BOTH
def test_rate_limit_then_answer(make: Make, answer: Callable[..., bytes], cut: str) -> None:
    waits = Waits()
    with serving((429, {"retry-after": "7"}, b"slow"), (529, {}, b"busy"), (200, {}, answer("ok"))) as script:
        assert make(script.url, waits.transport()).ask(ASKED).text == "ok"
    assert waits == [7.0, 2.0]


@BOTH
def test_rate_limit_for_ever(make: Make, answer: Callable[..., bytes], cut: str) -> None:
    waits = Waits()
    with serving((429, {"retry-after": "100000"}, b"slow")) as script, pytest.raises(ProviderError) as caught:
        make(script.url, waits.transport()).ask(ASKED)
    assert caught.value.code == "ARG-P104"
    assert len(script.seen) == 4
    assert max(waits) <= 60


@BOTH
def test_refusal_is_final_and_hides_the_key(make: Make, answer: Callable[..., bytes], cut: str) -> None:
    with serving((401, {}, f"bad key {KEY}".encode())) as script, pytest.raises(ProviderError) as caught:
        make(script.url, Waits().transport()).ask(ASKED)
    assert caught.value.code == "ARG-P103"
    assert len(script.seen) == 1
    assert KEY not in str(caught.value)
    assert "[redacted]" in str(caught.value)


@BOTH
def test_redirect_is_not_followed(make: Make, answer: Callable[..., bytes], cut: str) -> None:
    with serving((200, {}, answer("stolen"))) as other:  # noqa: SIM117
        with serving((307, {"location": other.url}, b"")) as script, pytest.raises(ProviderError) as caught:
            make(script.url, Waits().transport()).ask(ASKED)
    assert caught.value.code == "ARG-P103"
    assert not other.seen


@BOTH
def test_broken_connection_and_server_errors(make: Make, answer: Callable[..., bytes], cut: str) -> None:
    with serving((0, {}, b""), (500, {}, b"oops"), (200, {}, answer("ok"))) as script:
        assert make(script.url, Waits().transport()).ask(ASKED).text == "ok"
    with serving((503, {}, b"down")) as script, pytest.raises(ProviderError) as caught:
        make(script.url, Waits().transport()).ask(ASKED)
    assert caught.value.code == "ARG-P105"
    with pytest.raises(ProviderError) as caught:
        make("http://127.0.0.1:9", Waits().transport(2)).ask(ASKED)
    assert caught.value.code == "ARG-P110"


@BOTH
@pytest.mark.parametrize(
    "body", [b"not json", b"[]", b"{}", b'{"choices": [], "content": 3}', b"null", b'{"content": []}']
)
def test_what_is_no_answer(make: Make, answer: Callable[..., bytes], cut: str, body: bytes) -> None:
    with serving((200, {}, body)) as script, pytest.raises(ProviderError) as caught:
        make(script.url, Waits().transport()).ask(ASKED)
    assert caught.value.code == "ARG-P106"


@BOTH
def test_cut_off(make: Make, answer: Callable[..., bytes], cut: str) -> None:
    with serving((200, {}, answer("half a fi", cut))) as script:
        reply = make(script.url, Waits().transport()).ask(ASKED)
    assert (reply.text, reply.cut) == ("half a fi", True)
    assert reply.tokens_out > 0, "it has cost what it has cost"


def test_key_is_not_in_the_text_of_a_provider() -> None:
    url = "https://me:word-of-pass@host/v1?key=0123456789"
    text = repr(OpenAI("m", url, KEY)) + repr(Anthropic("m", url, KEY))
    for secret in (KEY, "word-of-pass", "0123456789"):
        assert secret not in text


@BOTH
def test_credentials_in_the_address_are_not_shown(make: Make, answer: Callable[..., bytes], cut: str) -> None:
    with serving((401, {}, b"not you, pass/word"), (200, {}, b"no json: pass%2Fword")) as script:
        url = script.url.replace("http://", "http://me:pass%2Fword@")
        for _ in range(2):
            with pytest.raises(ProviderError) as caught:
                make(url, Waits().transport()).ask(ASKED)
            assert "pass" not in str(caught.value).replace("[redacted]", "")
            assert script.url in str(caught.value)
    with pytest.raises(ProviderError) as caught:
        make("http://me:pass%2Fword@127.0.0.1:9", Waits().transport(1)).ask(ASKED)
    assert "word" not in str(caught.value)


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("https://me:pw@host:8/v1?key=a#b", "https://host:8/v1"),
        ("https://me:p/w@host/v1", "https://host/v1"),
        ("host/v1", "host/v1"),
    ],
)
def test_an_address_is_shown_as_scheme_host_and_path(url: str, said: str) -> None:
    assert shown(url) == said


@BOTH
def test_a_key_in_an_answer_is_hidden(make: Make, answer: Callable[..., bytes], cut: str) -> None:
    with serving((200, {}, answer(f"your key is {KEY}"))) as script:
        assert make(script.url, Waits().transport()).ask(ASKED).text == "your key is [redacted]"


def test_what_is_too_short_for_a_key_may_stand_in_an_answer() -> None:
    with serving((200, {}, openai_answer("x = 0  # EMPTY"))) as script:
        assert OpenAI("m", script.url, "EMPTY").ask(ASKED).text == "x = 0  # EMPTY"


def test_missing_key_and_unknown_provider_are_errors(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "ANTHROPIC_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    for name, code in (
        ("openai:x", "ARG-P102"),
        ("anthropic:x", "ARG-P102"),
        ("gemini:x", "ARG-P101"),
        ("openai", "ARG-P101"),
    ):
        with pytest.raises(ProviderError) as caught:
            choose(name)
        assert caught.value.code == code
    assert choose("builtin") is None


def test_own_server_needs_no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with serving((200, {}, openai_answer("hi"))) as script:
        monkeypatch.setenv("OPENAI_BASE_URL", script.url + "/")
        provider = choose("openai:local")
        assert provider is not None
        assert provider.ask(ASKED).text == "hi"
    assert "authorization" not in script.seen[0][1]


def test_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "model.py"
    program.write_text("import sys\nprint(sys.stdin.read().upper())")
    assert "TILES" in Command(f"{sys.executable} {program}").ask(ASKED).text
    monkeypatch.setenv("SOME_TOKEN", KEY)
    program.write_text("import os\nprint('it is', os.environ['SOME_TOKEN'])")
    assert Command(f"{sys.executable} {program}").ask(ASKED).text == "it is [redacted]\n"
    program.write_text("import os, sys\nsys.exit('no: ' + os.environ['SOME_TOKEN'])")
    with pytest.raises(ProviderError) as caught:
        Command(f"{sys.executable} {program}").ask(ASKED)
    assert caught.value.code == "ARG-P111"
    assert KEY not in str(caught.value)
    for line in ("/no/such/program", "'unbalanced", f"{sys.executable} -c pass"):
        with pytest.raises(ProviderError):
            Command(line).ask(ASKED)


def test_command_and_its_children_end_in_time(tmp_path: Path) -> None:
    program = tmp_path / "slow.py"
    program.write_text("import subprocess, sys\nsubprocess.run([sys.executable, '-c', 'import time; time.sleep(600)'])")
    with pytest.raises(ProviderError) as caught:
        Command(f"{sys.executable} {program}", seconds=0.5).ask(ASKED)
    assert caught.value.code == "ARG-P111"


def test_command_and_its_children_end_with_a_run_that_is_killed(tmp_path: Path) -> None:
    """A child of the command holds a lock; it can be had once the run is killed."""
    lock, ready = tmp_path / "lock", tmp_path / "ready"
    child, program = tmp_path / "child.py", tmp_path / "slow.py"
    child.write_text(
        "import fcntl, pathlib, time\n"
        f"lock = open({str(lock)!r}, 'w')\n"
        "fcntl.flock(lock, fcntl.LOCK_EX)\n"
        f"pathlib.Path({str(ready)!r}).touch()\n"
        "time.sleep(600)"
    )
    program.write_text(f"import subprocess, sys\nsubprocess.run([sys.executable, {str(child)!r}])")
    asker = (
        "from argus.agent.providers.command import Command\n"
        "from argus.agent.providers.message import Request\n"
        f"Command({f'{sys.executable} {program}'!r}).ask(Request('lowering', '', ()))"
    )
    with subprocess.Popen([sys.executable, "-c", asker]) as run:
        until = time.monotonic() + 30
        while not ready.exists() and time.monotonic() < until:
            time.sleep(0.02)
        run.kill()
    with lock.open("a") as held:
        while True:
            try:
                fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return
            except BlockingIOError:
                assert time.monotonic() < until, "the command goes on without its run"
                time.sleep(0.02)


def test_a_limit_needs_a_provider_that_counts() -> None:
    assert token_limit("openai:m", None) > 0
    assert token_limit("openai:m", 7) == 7
    assert token_limit("command:true", None) == token_limit("replay:f", None) == 0
    with pytest.raises(ProviderError, match="ARG-P112"):
        token_limit("command:true", 1000)
    said = json.dumps({"choices": [{"message": {"content": "x"}}]}).encode()
    with serving((200, {}, said)) as script:
        asking = openai(script.url, Waits().transport())
        assert Budgeted(asking, 9).ask(ASKED).text == "x"
        with pytest.raises(ProviderError, match="ARG-P112"):
            Budgeted(asking, 9, 1000).ask(ASKED)


def test_recording_replays_in_order_and_refuses_what_it_does_not_hold(tmp_path: Path) -> None:
    path = tmp_path / "episode.jsonl"
    with serving((200, {}, openai_answer("one")), (200, {}, openai_answer("two"))) as script:
        recorder = ReplyRecorder(openai(script.url, Waits().transport()), path)
        assert [recorder.ask(ASKED).text for _ in range(2)] == ["one", "two"]
    assert KEY not in path.read_text()
    replay = ReplayProvider(path)
    assert [replay.ask(ASKED).text for _ in range(2)] == ["one", "two"]
    for request in (ASKED, Request("planner", "other", (Turn("user", "x"),))):
        with pytest.raises(ProviderError) as caught:
            replay.ask(request)
        assert caught.value.code == "ARG-P109"
    path.write_text("{}\n")
    with pytest.raises(ProviderError):
        ReplayProvider(path)


def test_budget_stops_before_the_call() -> None:
    with serving((200, {}, openai_answer("x"))) as script:
        asking = Budgeted(openai(script.url, Waits().transport()), 2, 10_000)
        asking.ask(ASKED)
        asking.ask(ASKED)
        with pytest.raises(ProviderError) as caught:
            asking.ask(ASKED)
        assert caught.value.code == "ARG-P108"
        assert (len(script.seen), asking.tokens) == (2, 36)
        thrifty = Budgeted(openai(script.url, Waits().transport()), 9, 18)
        thrifty.ask(ASKED)
        with pytest.raises(ProviderError):
            thrifty.ask(ASKED)
