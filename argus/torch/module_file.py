"""A Python file with a module, as KernelBench writes them: a class, `get_init_inputs()` and `get_inputs()`.

    made = module_of(Path("19_ReLU.py"), "Model", dtype="bf16")         executes the file
    made.module, made.inputs

The file is Python and is executed: only a worker process does this, after a person said so (`--run-python`). With
`sizes`, whole numbers that the file names at its top level are replaced before module and inputs are made. With `meta`,
tensors have no data, so that the full sizes cost nothing.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import torch

from argus.plan.graph import PlanError

TYPES = {"f32": torch.float32, "bf16": torch.bfloat16, "f16": torch.float16, "f64": torch.float64}


@dataclass(frozen=True)
class MadeModule:
    """A module with inputs for one call; numbers among the inputs stay what they are."""

    module: torch.nn.Module
    inputs: tuple[Any, ...]

    @property
    def tensors(self) -> list[torch.Tensor]:
        return [x for x in self.inputs if isinstance(x, torch.Tensor)]

    def to(self, dtype: str) -> MadeModule:
        """Module and inputs in another floating type."""
        kind = TYPES[dtype]
        moved = [x.to(kind) if isinstance(x, torch.Tensor) and x.is_floating_point() else x for x in self.inputs]
        return MadeModule(self.module.to(kind), tuple(moved))


def module_of(
    path: Path,
    name: str,
    dtype: str = "f32",
    seed: int = 0,
    sizes: Callable[[str, int], int] | None = None,
    meta: bool = False,
) -> MadeModule:
    """Execute the file and make its module; raises `PlanError` (ARG-G106) with the cause."""
    try:
        torch.manual_seed(seed)
        with torch.device("meta") if meta else nullcontext():
            found = executed(path)
            if sizes is not None:
                resize(found, sizes)
            kind = getattr(found, name, None)
            if kind is None:
                raise PlanError("ARG-G106", f"{path.name} has no class {name}")
            module = kind(*found.get_init_inputs())
            made = MadeModule(module, tuple(found.get_inputs()))
        return made.to(dtype)
    except PlanError:
        raise
    except Exception as error:
        raise PlanError("ARG-G106", f"{path.name}: {type(error).__name__}: {error}") from error


def executed(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


def resize(module: ModuleType, sizes: Callable[[str, int], int]) -> None:
    """Replace whole numbers, and tuples of them, that stand at the top level."""
    for name, value in list(vars(module).items()):
        if name.startswith("_"):
            continue
        if type(value) is int:
            setattr(module, name, sizes(name, value))
        elif type(value) is tuple and value and all(type(item) is int for item in value):
            setattr(module, name, tuple(sizes(name, item) for item in value))
