"""The tools of the workbench: what each is for, what it takes, and which command of `argus` does its work.

    TOOLS["check"].command(CheckCall(file="gemm.py"), "gemm.py")      ["check", "gemm.py"]

A tool is a verb of the command line, asked in a process of its own: a model reads what a person reads, and with
`format="json"` it gets the document of docs/json.md. `diff` alone is done here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from argus.agent.tools.calls import (
    AnyCall,
    CheckCall,
    DiffCall,
    DocsCall,
    KbCall,
    KernelCall,
    RegistersCall,
    RunCall,
    ShowCall,
    TimeCall,
)

WORDS = re.compile(r"[A-Za-z0-9_.-]+")
CODE = re.compile(r"(ARG-)?[A-Z]{1,2}[0-9]{3}$")


@dataclass(frozen=True, slots=True)
class Tool:
    """`call` is the type of its arguments, `seconds` is the processor time it may take; `command` makes the words for
    `argus`, None where the workbench does it itself."""

    name: str
    text: str
    call: type[AnyCall]
    command: Callable[[Any, str], list[str]] | None
    seconds: float


def _of_kernel(verb: list[str], given: KernelCall, file: str) -> list[str]:
    words = [*verb, file]
    words += ["--kernel", given.kernel] if given.kernel else []
    words += ["--set", _pairs(given.set)] if given.set else []
    words += ["--shape", _pairs(given.shape)] if given.shape else []
    return words + (["--json"] if given.format == "json" else [])


def _pairs(values: Mapping[str, object]) -> str:
    return ",".join(f"{name}={value}" for name, value in values.items())


def _check(given: CheckCall, file: str) -> list[str]:
    return _of_kernel(["check"], given, file) + (["--verbose"] if given.verbose else [])


def _show(given: ShowCall, file: str) -> list[str]:
    words = [*_of_kernel(["check"], given, file), "--show", str(given.line), "--thread", str(given.thread)]
    words += ["--at", _pairs(given.at)] if given.at else []
    return words + (["--block", ",".join(str(n) for n in given.block)] if given.block else [])


def _time(given: TimeCall, file: str) -> list[str]:
    words = _of_kernel(["time"], given, file) if given.quick else _of_kernel(["clock", "explain"], given, file)
    words += [] if given.quick else ["--top", str(given.top)]
    return words + (["--no-check"] if given.no_check else [])


def _run(given: RunCall, file: str) -> list[str]:
    words = [*_of_kernel(["run"], given, file), "--device", "checking", "--seed", str(given.seed)]
    return words + (["--no-check"] if given.no_check else [])


def _registers(given: RegistersCall, file: str) -> list[str]:
    return [*_of_kernel(["registers"], given, file), "--top", str(given.top)]


def _kb(given: KbCall, file: str) -> list[str]:
    json = ["--json"] if given.format == "json" else []
    family = ["--family", given.family] if given.family else []
    if given.entry is not None:
        return ["kb", "show", "--code", *family, *json, given.entry]
    words = WORDS.findall(given.words)
    if words:
        return ["kb", "search", *family, *json, "--", *words]
    return ["kb", "list", *family, *json, *(["--bottleneck", given.bottleneck] if given.bottleneck else [])]


def _docs(given: DocsCall, file: str) -> list[str]:
    json = ["--json"] if given.format == "json" else []
    words = WORDS.findall(given.words)
    if len(words) == 1 and CODE.match(words[0]) and given.page is None:
        return ["explain", *json, words[0]]
    page = ["--page", given.page] if given.page else []
    return ["docs", *page, *([f"--section={given.section}"] if given.section else []), *json, "--", *words]


TOOLS: Mapping[str, Tool] = {
    tool.name: tool
    for tool in (
        Tool(
            "check",
            "Prove the data flow of a kernel (races, stale data, operands that do not pair, bounds, values, what is "
            "left out), or get a counterexample with thread, element and line. The verdict is proved, refuted or "
            "unknown. Start here after every edit.",
            CheckCall,
            _check,
            300,
        ),
        Tool(
            "show",
            "What the checker knows of the values on one line of a kernel file: which element of which tensor each "
            "register of a thread holds, and who put it into LDS.",
            ShowCall,
            _show,
            120,
        ),
        Tool(
            "time",
            "How long a kernel takes on the simulated MI300X and why: bottleneck, unit shares, time by cause, "
            "what-ifs, hot lines, waits, LDS bank conflicts by buffer and line, counters.",
            TimeCall,
            _time,
            600,
        ),
        Tool(
            "run",
            "Execute a kernel on the simulated MI300X at small sizes, with all checks of the machine, and compare the "
            "results with its specification.",
            RunCall,
            _run,
            300,
        ),
        Tool(
            "registers",
            "Who holds the registers at the fullest point of a kernel: the live values by source line and name, what "
            "LLVM made of it, or why it does not fit (C130). Needs no proof.",
            RegistersCall,
            _registers,
            120,
        ),
        Tool(
            "kb",
            "Techniques that make kernels faster: prerequisites, invariants, ways to fail, and the code as a diff. "
            "Without arguments the list; `bottleneck` is what `time` calls it (latency, lds, hbm, matrix, barrier, …).",
            KbCall,
            _kb,
            60,
        ),
        Tool(
            "docs",
            "Search or read the reference of the language and of Argus. A single code such as AG301, C130 or M101 "
            "gives its page: cause and fix.",
            DocsCall,
            _docs,
            30,
        ),
        Tool("diff", "What changed between two files of the workspace, as a unified diff.", DiffCall, None, 10),
    )
}
