"""The model's workbench: tools over kernel files, each a verb of the command line in a process of its own.

    with Workbench(WorkspaceFolder(Path("."))) as bench:
        print(bench.call("check", {"file": "gemm.py"}).text)

`argus mcp` serves them to coding agents, `argus optimize --provider` to the model that edits. docs/workbench.md.
"""

from argus.agent.tools.errors import CODES, ToolError
from argus.agent.tools.process import Cancellation
from argus.agent.tools.table import TOOLS, Tool
from argus.agent.tools.workbench import ToolResult, Workbench
from argus.agent.tools.workspace import KernelTexts, WorkspaceFolder

__all__ = [
    "CODES",
    "TOOLS",
    "Cancellation",
    "KernelTexts",
    "Tool",
    "ToolError",
    "ToolResult",
    "Workbench",
    "WorkspaceFolder",
]
