"""`argus init --agents`: what it writes is there, is true, and leads to commands that exist."""

from __future__ import annotations

import json
import re
from pathlib import Path

from argus.agent.tools import TOOLS
from argus.cli.docs import all_sections
from argus.cli.init import AGENT_FILES, CARD, FILES, write
from argus.cli.parser import build_parser


def test_the_files_of_a_coding_agent(tmp_path: Path) -> None:
    folder = tmp_path / "demo"
    written = {path.relative_to(folder).as_posix() for path in write(folder, agents=True)}
    assert written == {name.replace("NAME", "demo") for name in (*FILES.values(), *AGENT_FILES.values(), CARD)}
    text = (folder / "AGENTS.md").read_text()
    assert "NAME" not in text
    assert set(re.findall(r"\| `(\w+)` \|$", text, re.MULTILINE)) == set(TOOLS) - {"diff"}
    server = json.loads((folder / ".mcp.json").read_text())["mcpServers"]["argus"]
    build_parser().parse_args(server["args"])


def test_commands_in_the_files_exist(tmp_path: Path) -> None:
    folder = tmp_path / "demo"
    write(folder, agents=True)
    pages = {section.page for section in all_sections()}
    for name in ("AGENTS.md", "llms.txt", "skills/argus-kernels/SKILL.md"):
        text = (folder / name).read_text()
        for line in re.findall(r"`argus ([^`]+)`", text):
            if "…" not in line:
                build_parser().parse_args(line.replace("LINE", "3").split())
        assert set(re.findall(r"--page (\w+)", text)) <= pages


def test_without_the_word_nothing_of_it_is_written(tmp_path: Path) -> None:
    assert len(write(tmp_path / "demo")) == len(FILES)
