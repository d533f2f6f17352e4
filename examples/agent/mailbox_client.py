"""The workbench of an episode, for whoever answers its questions. Run it in the folder of the episode, as `tool.py`:

    python3 tool.py question                         the whole question: task, language, tools, current kernel
    python3 tool.py check draft.py                   is the draft right?
    python3 tool.py time draft.py [M=4096 N=4096]    how fast is it? (without sizes: those that are timed)
    python3 tool.py run draft.py                     execute it at small sizes
    python3 tool.py registers draft.py               who holds registers (where the question lists this tool)
    python3 tool.py show draft.py line=12            what a line's registers hold (where it is listed)
    python3 tool.py docs swizzle bank conflict       search the reference; `docs page=language section=Owners`
    python3 tool.py kb                               techniques; `kb lds-staging` shows one
    python3 tool.py submit draft.py "what and why"   hand a draft in: it is judged and counts
    python3 tool.py wait                             go on waiting, if a call took too long
    python3 tool.py stop                             end the episode

Drafts are files of this folder. Every call but `question`, `wait` and `stop` takes one or two of the calls of a round.
A call returns when the answer is there, at the latest after nine minutes: then `wait`.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
LONGEST = 540.0
PAUSE = 0.5
KERNEL_TOOLS = ("check", "time", "run", "registers", "show")
WORDS = ("set", "kernel", "block", "at")
OVER = "over.md"


def newest() -> int:
    """The number of the newest question, 0 for none."""
    return max((int(path.stem[-3:]) for path in HERE.glob("question-*.md")), default=0)


def question(number: int) -> str:
    return (HERE / f"question-{number:03}.md").read_text(encoding="utf-8")


def last_turn(text: str) -> str:
    """What was said last."""
    return text.rpartition("\n[user]\n")[2]


def waited(before: int, whole: bool = False) -> str:
    """The next question's last turn, or the `whole` of it, or how the episode ended."""
    end = time.monotonic() + LONGEST
    while time.monotonic() < end:
        if newest() > before:
            return question(newest()) if whole else last_turn(question(newest()))
        if (HERE / OVER).exists():
            return (HERE / OVER).read_text(encoding="utf-8")
        time.sleep(PAUSE)
    return "no answer yet: python3 tool.py wait"


def answer(text: str) -> str:
    """Answer the newest question and wait for what comes of it."""
    number = newest()
    path = HERE / f"answer-{number:03}.md"
    if not number or path.exists():
        return "nobody asks at the moment: python3 tool.py wait"
    beside = HERE / f".{path.name}"
    beside.write_text(text, encoding="utf-8")
    beside.replace(path)
    return waited(number)


def block(tool: str, arguments: dict[str, object]) -> str:
    return f"```tool\n{json.dumps({'tool': tool, 'arguments': arguments})}\n```\n"


def value(text: str) -> object:
    try:
        return json.loads(text)
    except ValueError:
        return text


def parsed(words: list[str]) -> tuple[list[str], dict[str, object]]:
    """Plain words, and NAME=VALUE pairs."""
    plain = [word for word in words if "=" not in word]
    pairs = dict(word.split("=", 1) for word in words if "=" in word)
    return plain, {name: value(text) for name, text in pairs.items()}


def kernel_call(tool: str, words: list[str]) -> str:
    plain, pairs = parsed(words)
    if len(plain) != 1:
        return f"usage: tool.py {tool} FILE [NAME=VALUE …]"
    file = HERE / Path(plain[0]).name
    sizes = {name: size for name, size in pairs.items() if name[:1].isupper()}
    rest = {name: given for name, given in pairs.items() if name not in sizes}
    if "quick" in rest:
        rest["quick"] = bool(rest["quick"])
    arguments = {"file": file.name, **({"shape": sizes} if sizes else {}), **rest}
    if file.name in ("kernel.py", "best.py"):
        return answer(block(tool, arguments))
    fenced = f"```python\n{file.read_text(encoding='utf-8').rstrip()}\n```"
    return answer(block("write", {"file": file.name, "edit": fenced}) + "\n" + block(tool, arguments))


def reference_call(tool: str, words: list[str]) -> str:
    plain, pairs = parsed(words)
    if tool == "kb" and len(plain) == 1:
        return answer(block("kb", {"entry": plain[0], **pairs}))
    return answer(block(tool, {**({"words": " ".join(plain)} if plain else {}), **pairs}))


def submit(words: list[str]) -> str:
    if not words:
        return "usage: tool.py submit FILE [REASON]"
    text = (HERE / Path(words[0]).name).read_text(encoding="utf-8").rstrip()
    why = " ".join(words[1:]) or "A new version."
    return answer(f"{why}\n\n```python\n{text}\n```\n")


def main(words: list[str]) -> int:
    verb, rest = (words[0], words[1:]) if words else ("", [])
    if verb == "question":
        said = waited(0, whole=True)
    elif verb == "wait":
        number = newest()
        said = waited(number) if (HERE / f"answer-{number:03}.md").exists() else last_turn(question(number))
    elif verb == "stop":
        (HERE / "stop").touch()
        said = "the episode ends"
    elif verb in KERNEL_TOOLS:
        said = kernel_call(verb, rest)
    elif verb in ("docs", "kb", "diff"):
        said = reference_call(verb, rest)
    elif verb == "submit":
        said = submit(rest)
    else:
        said = __doc__
    print(said)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
