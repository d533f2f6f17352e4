"""A round with tools: calls are done, bounded and quoted; only what is handed in is judged."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from argus.agent.free_edit.episode import Attempt, episode
from argus.agent.free_edit.round import CALLS, FREE_EDITS, TOLD_BEYOND
from argus.agent.free_edit.round_tools import OFFERED
from argus.agent.free_edit.search import Journaled, JournaledTools
from argus.agent.journal import Journal
from argus.agent.judge import Judgement, Violation
from argus.agent.judging import Judges
from argus.agent.providers import ProviderError, Reply, ReplyRecorder, Request, ToolUse
from argus.agent.providers.anthropic import Anthropic
from argus.agent.providers.command import Command
from argus.agent.providers.openai import OpenAI
from argus.agent.providers.text_tools import calls_in, rendered
from argus.agent.tools import KernelTexts, ToolResult
from argus.tasks.task import Task, load_task
from tests.agent_providers.server import serving

CANARY = "canary-key-0123456789"
PIECE = "<<<<<<< SEARCH\n    threads=64,\n=======\n    threads=64,  # changed\n>>>>>>> REPLACE"


@pytest.fixture(scope="module")
def task() -> Task:
    return load_task("gemm")


class Bench:
    """A workbench that notes what it is asked; with `said`, that is its answer."""

    def __init__(self, said: str = "proved") -> None:
        self.said = said
        self.asked: list[tuple[str, dict[str, Any], dict[str, str]]] = []

    def __call__(self, files: KernelTexts, name: str, arguments: Mapping[str, Any]) -> ToolResult:
        self.asked.append((name, dict(arguments), dict(files.texts)))
        return ToolResult(0, self.said)


class Stamp(Judges):
    """Judges by the words of a source; the times fall."""

    def __init__(self) -> None:
        self.judged: list[str] = []

    def judge(self, sources: Sequence[str], task: Task, *, seed: int) -> list[Judgement]:
        self.judged += sources
        if "too many" in sources[0]:
            return [Judgement("error", "compile", (Violation("C130", "registers", status="error"),))]
        return [Judgement("pass", "time", times={"M=1": 100.0 / len(self.judged)}, evidence="e") for _ in sources]


class Script:
    """Answers in order, the last one for ever."""

    name = "script"

    def __init__(self, *replies: Reply) -> None:
        self.replies = list(replies)
        self.seen: list[Request] = []

    def ask(self, request: Request) -> Reply:
        self.seen.append(request)
        return self.replies[min(len(self.seen), len(self.replies)) - 1]


def use(name: str, **arguments: object) -> Reply:
    return Reply("", "m", calls=(ToolUse(f"id-{name}", name, arguments),))


def played(
    task: Task, script: Script, bench: Bench, rounds: int = 1, judges: Stamp | None = None
) -> tuple[list[Attempt], Stamp]:
    judges = judges or Stamp()
    return list(episode(task, script, judges, rounds=rounds, seed=0, toolbox=bench)), judges


def looked(bench: Bench) -> list[tuple[str, dict[str, Any], dict[str, str]]]:
    """What a model asked for; the episode itself looks for hot lines."""
    return [asked for asked in bench.asked if asked[0] != "time"]


def test_a_draft_is_written_checked_and_handed_in(task: Task) -> None:
    bench = Bench()
    script = Script(
        use("write", file="draft.py", edit=PIECE), use("check", file="draft.py"), use("submit", file="draft.py")
    )
    attempts, judges = played(task, script, bench)
    assert [a.judgement.verdict for a in attempts] == ["pass", "pass"]
    assert judges.judged == [task.source, task.source.replace("threads=64,", "threads=64,  # changed")]
    ((name, arguments, files),) = looked(bench)
    assert (name, arguments) == ("check", {"file": "draft.py"})
    assert files["draft.py"] == judges.judged[1]
    assert files["kernel.py"] == files["best.py"] == task.source
    assert [tool.name for tool in script.seen[0].tools] == [tool.name for tool in OFFERED]
    assert [given.text for turn in script.seen[2].turns for given in turn.returns][1] == "proved"


def test_calls_are_bounded(task: Task) -> None:
    """Who only ever calls gets its calls, is then offered none, and ends the round with what is no edit."""
    bench, script = Bench(), Script(use("check", file="kernel.py"))
    attempts, judges = played(task, script, bench)
    assert len(looked(bench)) == CALLS
    assert attempts[1].judgement.stage == "edit"
    assert len(script.seen) == CALLS + TOLD_BEYOND + FREE_EDITS + 1
    assert len(judges.judged) == 1
    assert not script.seen[CALLS].tools


CALLED_BY_TEXT = '```tool\n{"tool": "check", "arguments": {"file": "kernel.py"}}\n```'


@pytest.mark.parametrize("beyond", [use("check", file="kernel.py"), Reply(CALLED_BY_TEXT, "m")])
def test_a_call_beyond_the_last_is_told_and_is_no_edit(task: Task, beyond: Reply) -> None:
    """By tool use of a protocol, or by text, where a block is only read as a call because it was one before."""
    bench = Bench()
    script = Script(*[use("check", file="kernel.py")] * CALLS, beyond, Reply(PIECE, "m"))
    attempts, judges = played(task, script, bench)
    assert len(looked(bench)) == CALLS
    (given,) = script.seen[-1].turns[-1].returns
    assert (given.failed, given.text.split(":")[0]) == (True, "ARG-W108")
    assert [turn for turn in script.seen[-1].turns if "did not count" in turn.text] == []
    assert attempts[1].judgement.verdict == "pass"
    assert len(judges.judged) == 2


def test_many_calls_of_one_answer_are_cut(task: Task) -> None:
    many = Reply("", "m", calls=tuple(ToolUse(f"{n}", "check", {"file": "kernel.py"}) for n in range(CALLS + 5)))
    bench = Bench()
    script = Script(many, Reply(PIECE, "m"))
    played(task, script, bench)
    assert len(looked(bench)) == CALLS
    returns = script.seen[1].turns[-1].returns
    assert [given.failed for given in returns] == [False] * CALLS + [True] * 5
    assert "ARG-W108" in returns[-1].text


@pytest.mark.parametrize(
    ("call", "code"),
    [
        (use("write", file="kernel.py", edit=PIECE), "ARG-W102"),
        (use("write", file="best.py", edit=PIECE), "ARG-W102"),
        (use("write", file="../x.py", edit=PIECE), "ARG-W102"),
        (use("write", file="draft.py"), "ARG-W102"),
        (use("write", file="draft.py", edit="no edit"), "ARG-P120"),
        (use("write", file="draft.py", edit=PIECE, base="none.py"), "ARG-W104"),
        (use("submit", file="draft.py"), "ARG-W104"),
        (use("submit"), "ARG-W104"),
        (Reply("", "m", calls=(ToolUse("1", "check", None),)), "ARG-W102"),
    ],
)
def test_a_call_that_cannot_be_done_says_why(task: Task, call: Reply, code: str) -> None:
    script = Script(call, Reply(PIECE, "m"))
    attempts, _ = played(task, script, Bench())
    (given,) = script.seen[1].turns[-1].returns
    assert given.failed
    assert given.text.startswith(code)
    assert attempts[1].judgement.verdict == "pass"


def test_too_many_registers_do_not_count_a_few_times(task: Task) -> None:
    large = Reply(PIECE.replace("changed", "too many"), "m")
    script = Script(large, Reply("```python\n# too many\n@ag.kernel\n```", "m"))
    attempts, judges = played(task, script, Bench())
    assert len(judges.judged) == 1 + FREE_EDITS + 1
    assert attempts[1].judgement.stage == "compile"
    assert "did not count" in script.seen[1].turns[-1].text


def test_commands_call_tools_by_text(task: Task, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A real process: asked first, it calls a tool; asked again, it answers. Its keys go nowhere."""
    monkeypatch.setenv("SOME_API_KEY", CANARY)
    script = tmp_path / "model.py"
    call = '```tool\n{"tool": "check", "arguments": {"file": "kernel.py"}}\n```'
    script.write_text(
        "import os, sys\n"
        "question = sys.stdin.read()\n"
        f"open({str(tmp_path / 'seen')!r}, 'a').write(question)\n"
        f"print({PIECE!r} if '> proved' in question else {call!r})\n"
        "print(os.environ['SOME_API_KEY'])\n"
    )
    recording = tmp_path / "recording.jsonl"
    bench = Bench()
    with Journal.write(tmp_path / "journal") as journal:
        run = journal.begin("gemm", {})
        asking = Journaled(ReplyRecorder(Command(f"{sys.executable} {script}"), recording), run)
        tools = JournaledTools(bench, run)
        attempts = list(episode(task, asking, Stamp(), rounds=1, seed=0, toolbox=tools))
    assert [a.judgement.verdict for a in attempts] == ["pass", "pass"]
    assert [name for name, _, _ in looked(bench)] == ["check"]
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert len(files) > 3
    assert not [path for path in files if CANARY.encode() in path.read_bytes()]


def test_a_resumed_run_asks_and_runs_nothing_again(task: Task, tmp_path: Path) -> None:
    replies = (use("check", file="kernel.py"), Reply(PIECE, "m", 3, 4))

    def once(script: Script, bench: Bench) -> list[Attempt]:
        with Journal.write(tmp_path / "journal") as journal:
            run = journal.resume() if journal.runs() else journal.begin("gemm", {})
            judged = episode(
                task, Journaled(script, run), Stamp(), rounds=1, seed=0, toolbox=JournaledTools(bench, run)
            )
            return list(judged)

    first = once(Script(*replies), Bench())
    script, bench = Script(Reply("nothing", "m")), Bench()
    assert once(script, bench) == first
    assert not script.seen
    assert not bench.asked


@pytest.fixture
def anthropic() -> Callable[[str], Anthropic]:
    return lambda url: Anthropic("m", url, CANARY)


def _anthropic(*parts: Mapping[str, Any]) -> bytes:
    used = {"input_tokens": 5, "output_tokens": 3}
    return json.dumps({"content": list(parts), "stop_reason": "tool_use", "usage": used}).encode()


def _openai(*uses: Mapping[str, Any]) -> bytes:
    message = {"role": "assistant", "content": None, "tool_calls": list(uses)}
    used = {"prompt_tokens": 11, "completion_tokens": 7}
    return json.dumps({"choices": [{"message": message, "finish_reason": "tool_calls"}], "usage": used}).encode()


def test_tool_use_of_anthropics_protocol(task: Task) -> None:
    call = {"type": "tool_use", "id": "t1", "name": "check", "input": {"file": "kernel.py"}}
    leak = {"type": "tool_use", "id": "t2", "name": "check", "input": {"file": CANARY}}
    answers = (_anthropic(call, leak), _anthropic({"type": "text", "text": PIECE}))
    bench = Bench()
    with serving(*((200, {}, body) for body in answers)) as server:
        model = Anthropic("m", server.url, CANARY)
        attempts = list(episode(task, model, Stamp(), rounds=1, seed=0, toolbox=bench))
    assert attempts[1].judgement.verdict == "pass"
    first, second = (body for _, _, body in server.seen)
    assert {tool["name"] for tool in first["tools"]} == {tool.name for tool in OFFERED}
    assert first["tools"][0]["input_schema"]["type"] == "object"
    assert second["messages"][-2]["content"][0] == call
    good, bad = second["messages"][-1]["content"]
    assert (good["type"], good["tool_use_id"], good["is_error"]) == ("tool_result", "t1", False)
    assert "> proved" in good["content"]
    assert (bad["tool_use_id"], bad["is_error"]) == ("t2", True)
    assert CANARY not in json.dumps([first, second])
    assert [name for name, _, _ in looked(bench)] == ["check"]


def test_tool_use_of_openais_protocol(task: Task) -> None:
    call = {"id": "t1", "type": "function", "function": {"name": "check", "arguments": '{"file": "kernel.py"}'}}
    broken = {"id": "t2", "type": "function", "function": {"name": "check", "arguments": "{not json"}}
    final = json.dumps(
        {"choices": [{"message": {"content": PIECE}, "finish_reason": "stop"}], "usage": {"prompt_tokens": 1}}
    ).encode()
    bench = Bench()
    with serving((200, {}, _openai(call, broken)), (200, {}, final)) as server:
        model = OpenAI("m", server.url, CANARY)
        attempts = list(episode(task, model, Stamp(), rounds=1, seed=0, toolbox=bench))
    assert attempts[1].judgement.verdict == "pass"
    first, second = (body for _, _, body in server.seen)
    assert {tool["function"]["name"] for tool in first["tools"]} == {tool.name for tool in OFFERED}
    assistant, good, bad = second["messages"][-3:]
    assert assistant["tool_calls"][0]["id"] == "t1"
    assert (good["role"], good["tool_call_id"]) == ("tool", "t1")
    assert "ARG-W102" in bad["content"]


@pytest.mark.parametrize(
    "body",
    [
        _openai({"id": "t", "type": "function"}),
        _openai({"type": "function", "function": {"name": "check"}}),
        b'{"choices": [{"message": {"tool_calls": 3}}]}',
        b'{"choices": [{"message": "text"}]}',
    ],
)
def test_calls_that_are_none_are_an_error_of_the_provider(task: Task, body: bytes) -> None:
    with serving((200, {}, body)) as server, pytest.raises(ProviderError, match="ARG-P106"):
        OpenAI("m", server.url, CANARY).ask(Request("lowering", "s", ()))


def test_calls_in_a_text() -> None:
    text = '```tool\n{"tool": "check", "arguments": {"file": "a.py"}}\n```\n```tool\nnot json\n```\n```tool\n[1]\n```'
    assert [(u.name, u.arguments) for u in calls_in(text)] == [("check", {"file": "a.py"}), ("", {}), ("", {})]


def _requests() -> Iterator[Request]:
    yield Request("lowering", "system", ())
    yield Request("lowering", "system", (), tools=OFFERED)


def test_a_command_is_told_of_tools_only_where_there_are_some() -> None:
    without, with_tools = (rendered(request) for request in _requests())
    assert "```tool" not in without
    assert all(f"`{tool.name}`" in with_tools for tool in OFFERED)
