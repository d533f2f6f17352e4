"""One task judged: its plan at full size, the proofs of its kernels, results at reduced sizes and of sampled workgroups
at full size, and its simulated time.

    judged(TaskFile(1, 19, "ReLU", path), "f32")      {"status": "solved", "launches": 1, "error": 0.0, ...}

Solved is a task whose plan at full size exists, whose kernels are all proved (0 unknown), also those of the reduced
sizes, and whose results at all reduced sizes are right: as far from the module in float64 on the CPU as KernelBench
itself allows (1e-4 in f32, 1e-2 in bf16, absolute and relative), or within four times what torch's own kernels in that
type are away from it. At full size, sampled workgroups of every launch must compute what the launch states
(`full_size`); a launch that cannot be sampled leaves the task `unsampled`, with the reasons in `not_sampled`.
Everything else has a status, a code and a reason. Beside that stand how many of KernelBench's five seeds it accepts at
the first reduced sizes, and whether the result is the same for every input. `rests` has the digests of the plans that
were looked at (`plan_digest`): at full size, and at reduced sizes.

This executes the task's file and needs torch; only the worker process imports it.
"""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from argus.bench.kernelbench.full_size import at_full_size
from argus.bench.kernelbench.lacking_types import InF32WhereLacking
from argus.bench.kernelbench.plan_digest import joined, module_digest, plan_digest
from argus.bench.kernelbench.reduced import ENOUGH, VARIANTS, Sizes, structured
from argus.bench.kernelbench.task_files import TaskFile, Timing
from argus.bench.kernelbench.timing import Protocol, simulated
from argus.ops.choice import NoKernel
from argus.pipeline import Unproved, program_of, report_of
from argus.plan.graph import Graph, PlanError
from argus.plan.plan import Plan
from argus.plan.planner import planned
from argus.torch.compiled import CompiledModule
from argus.torch.export import ExportedGraph, graph_of
from argus.torch.module_file import MadeModule, module_of

CLASS = "Model"
TOLERANCE = {"f32": 1e-4, "bf16": 1e-2}
OF_TORCH = 4.0
SEEDS = 5
LARGEST = 1 << 24
"""Elements of all inputs of a reduced case; above that the case is not run."""

FIRST = [choices[0] for choices in VARIANTS.values()]

FAMILIES = (
    ("transposed", ("conv_transpose",)),
    ("convolution", ("convolution",)),
    ("product", ("matmul",)),
    ("normalization", ("layer_norm", "group_norm", "batch_norm")),
    ("pooling", ("pool",)),
    ("softmax", ("softmax", "log_softmax")),
    ("scan", ("scan",)),
    ("reduction", ("reduce", "argreduce", "cross_entropy")),
)
"""The first of these that a graph has gives the family; what has none is a map."""


def judged(task: TaskFile, dtype: str, timed: Timing = True, protocol: Protocol = "graph") -> dict[str, Any]:
    """The record of one task."""
    started = time.process_time()
    record: dict[str, Any] = {"level": task.level, "task": task.number, "name": task.name, "dtype": dtype}
    try:
        record |= plans_alone(task, dtype) if timed == "plan" else _judged(task, dtype, timed, protocol)
    except PlanError as error:
        record |= {"status": "refused", "code": error.code, "reason": str(error).removeprefix(f"{error.code}: ")}
    except NoKernel as error:
        record |= {"status": "refused", "code": error.code, "reason": str(error)}
    except Unproved as error:
        record |= {"status": "unproved", "code": "ARG-G107", "reason": str(error).splitlines()[0]}
    record["cpu_seconds"] = round(time.process_time() - started, 1)
    return record


def _judged(task: TaskFile, dtype: str, timed: Timing, protocol: Protocol) -> dict[str, Any]:
    graph = full_graph(task, dtype)
    found: dict[str, Any] = {"family": family_of(graph)}
    plan = planned(graph)
    found |= {"launches": len(plan.launches), "rests": {"plan": plan_digest(plan)}}
    if timed == "only":
        return {**found, **simulated(plan, protocol, proved=False), "status": "timed", "code": "", "reason": ""}
    found |= proofs(plan)
    if found["unknown"]:
        return {**found, "status": "unproved", "code": "ARG-G107", "reason": "a kernel of the plan is not proved"}
    cases = list(_cases(task, dtype))
    if not cases:
        return {**found, "status": "refused", "code": "ARG-G106", "reason": "no reduced sizes could be run"}
    found["rests"]["reduced"] = joined(dict.fromkeys(case.digest for case in cases))
    found["cases"] = len(cases)
    found["error"] = max(case.error for case in cases)
    found["seeds"] = f"{sum(case.seeds for case in cases)} of {SEEDS}"
    found["constant"] = is_constant(cases)
    wrong = [case for case in cases if not case.error <= case.allowed]
    if wrong:
        case = wrong[0]
        reason = f"at {case.name} the result is {case.error:.3g} away, {case.allowed:.3g} is allowed"
        return {**found, "status": "wrong", "code": "ARG-G108", "reason": reason}
    sampled = at_full_size(plan)
    found["full_size"] = sampled.to_json()
    if sampled.wrong:
        return {**found, "status": "wrong", "code": "ARG-G108", "reason": f"at full size, {sampled.wrong[0]}"}
    if timed:
        found |= simulated(plan, protocol)
    if sampled.not_sampled:
        found["not_sampled"] = sampled.not_sampled
        return {**found, "status": "unsampled", "code": "", "reason": sampled.not_sampled[0]}
    return {**found, "status": "solved", "code": "", "reason": ""}


def plans_alone(task: TaskFile, dtype: str) -> dict[str, Any]:
    """The digests of all plans of a task; nothing is proved, run or timed."""
    plan = plan_digest(planned(full_graph(task, dtype)))
    reduced = [module_digest(each.exported, planned(each.exported.graph)) for each in reduced_modules(task, dtype)]
    rests = {"plan": plan, "reduced": joined(dict.fromkeys(reduced))}
    return {"status": "planned", "code": "", "reason": "", "rests": rests}


def full_graph(task: TaskFile, dtype: str) -> Graph:
    """The graph of the task's module at its own sizes; executes the task's file."""
    full = module_of(task.path, CLASS, dtype, meta=True)
    return graph_of(full.module, full.inputs).graph


def family_of(graph: Graph) -> str:
    ops = {node.op for node in graph.nodes.values()}
    return next((family for family, names in FAMILIES if ops & set(names)), "map")


def proofs(plan: Plan) -> dict[str, int]:
    """How many kernels of the plan are proved, and how many not."""
    keys = {launch.key: launch for launch in plan.launches}
    reports = [report_of(program_of(launch.path, launch.knobs, launch.kernel)) for launch in keys.values()]
    proved = sum(report.proved for report in reports)
    return {"kernels": len(keys), "proved": proved, "unknown": len(keys) - proved}


@dataclass(frozen=True, slots=True)
class ReducedCase:
    """Sizes and inputs; the plan's error, what is allowed, what is wanted, and how many seeds KernelBench accepts."""

    name: str
    sizes: str
    error: float
    allowed: float
    wanted: list[npt.NDArray[Any]]
    digest: str
    seeds: int = 0


def is_constant(cases: Sequence[ReducedCase]) -> bool:
    """Whether results at the same sizes are the same for all inputs."""
    pairs = [(a, b) for a in cases for b in cases if a.sizes == b.sizes and a is not b]
    return bool(pairs) and all(np.array_equal(x, y) for a, b in pairs for x, y in zip(a.wanted, b.wanted, strict=True))


@dataclass(frozen=True, slots=True)
class ReducedModule:
    """A task's module at reduced sizes, and its graph."""

    variant: str
    sizes: Sizes
    made: MadeModule
    exported: ExportedGraph


def reduced_modules(task: TaskFile, dtype: str) -> Iterator[ReducedModule]:
    """The module at every variant of sizes that it allows."""
    for variant, choices in VARIANTS.items():
        possible = ((sizes, found) for sizes in choices if (found := _made(task, sizes)) is not None)
        chosen, made = next(possible, (choices[0], None))
        if made is not None:
            made = made.to(dtype)
            yield ReducedModule(variant, chosen, made, graph_of(copy.deepcopy(made.module), made.inputs))


def _cases(task: TaskFile, dtype: str) -> Iterator[ReducedCase]:
    """Every reduced case; sizes that the module does not allow are left out."""
    seeds = SEEDS
    for each in reduced_modules(task, dtype):
        made, variant = each.made, each.variant
        compiled = CompiledModule(each.exported)
        digest = module_digest(each.exported, compiled.plan)
        for kind in ("drawn", "structured"):
            here = made if kind == "drawn" else _structured(made, dtype)
            error, allowed, wanted = compared(compiled, here, dtype)
            accepted = 0
            if seeds:
                accepted, seeds = five_seeds(compiled, task, each.sizes, made.module, dtype), 0
            yield ReducedCase(f"{variant} sizes, {kind} inputs", variant, error, allowed, wanted, digest, accepted)


def five_seeds(compiled: CompiledModule, task: TaskFile, sizes: Sizes, module: torch.nn.Module, dtype: str) -> int:
    """KernelBench's own test, at reduced sizes: of so many seeds, how often the plan is close to eager PyTorch."""
    close = 0
    for seed in range(SEEDS):
        inputs = module_of(task.path, CLASS, dtype, seed=100 + seed, sizes=sizes).inputs
        with torch.no_grad():
            wanted = eager(MadeModule(copy.deepcopy(module), inputs))
            restore(compiled, module)
        found = seeded(compiled, [x for x in inputs if isinstance(x, torch.Tensor)])
        limit = TOLERANCE[dtype]
        close += all(
            x.shape == y.shape and np.allclose(x, y, atol=limit, rtol=limit) for x, y in zip(found, wanted, strict=True)
        )
    return close


def _made(task: TaskFile, sizes: Sizes) -> MadeModule | None:
    """The module at reduced sizes, if it runs there and these are small enough."""
    try:
        light = module_of(task.path, CLASS, "f32", sizes=sizes, meta=True)
        if sum(x.numel() for x in light.tensors) > (ENOUGH if sizes in FIRST else LARGEST):
            return None
        made = module_of(task.path, CLASS, "f32", seed=1, sizes=sizes)
        with torch.no_grad():
            copy.deepcopy(made.module)(*made.inputs)
    except (PlanError, RuntimeError, ValueError, AssertionError, IndexError):
        return None
    return made


def _structured(made: MadeModule, dtype: str) -> MadeModule:
    inputs = [
        torch.from_numpy(structured(x.double().numpy(), 7 + number)).to(x.dtype)
        if isinstance(x, torch.Tensor) and x.is_floating_point()
        else x
        for number, x in enumerate(made.inputs)
    ]
    return MadeModule(made.module, tuple(inputs))


def compared(compiled: CompiledModule, made: MadeModule, dtype: str) -> tuple[float, float, list[npt.NDArray[Any]]]:
    """The largest error of the plan and what is allowed, both as |difference| / (1 + |wanted|); what is wanted."""
    with torch.no_grad():
        own_module = copy.deepcopy(made.module)
        of_torch = eager(MadeModule(own_module, made.inputs)) + _updated(compiled, own_module)
        exact = MadeModule(copy.deepcopy(made.module), made.inputs).to("f64")
        wanted = seeded(exact.module, exact.inputs) + _updated(compiled, exact.module)
        restore(compiled, made.module)
    found = seeded(compiled, made.tensors)
    found += [compiled.exported.state[name].double().numpy() for name in compiled.exported.updates.values()]
    error = max(_away(x, y) for x, y in zip(found, wanted, strict=True))
    own = max(_away(x, y) for x, y in zip(of_torch, wanted, strict=True))
    return error, max(TOLERANCE[dtype], OF_TORCH * own), wanted


def eager(made: MadeModule) -> list[npt.NDArray[Any]]:
    """What torch itself makes on the CPU. An operation that it lacks in a type there (average pooling of volumes in
    bf16) is made in f32, and its result rounded."""
    with InF32WhereLacking():
        return seeded(made.module, made.inputs)


def seeded(run: Callable[..., Any], inputs: Sequence[Any]) -> list[npt.NDArray[Any]]:
    """The outputs of a call with masks of dropout that every such call draws alike."""
    torch.manual_seed(11)
    return _outputs(run(*inputs))


def _updated(compiled: CompiledModule, module: torch.nn.Module) -> list[npt.NDArray[Any]]:
    """What the module has now in the buffers that the plan updates."""
    buffers = {name.replace(".", "_"): buffer for name, buffer in module.named_buffers()}
    return [buffers[name].double().numpy() for name in compiled.exported.updates.values()]


def restore(compiled: CompiledModule, module: torch.nn.Module) -> None:
    """Give the plan's buffers the module's values back."""
    for name, buffer in module.named_buffers():
        if name.replace(".", "_") in compiled.exported.updates.values():
            compiled.exported.state[name.replace(".", "_")].copy_(buffer)


def _outputs(value: Any) -> list[npt.NDArray[Any]]:
    listed = value if isinstance(value, (tuple, list)) else [value]
    return [x.double().numpy() if x.is_floating_point() else x.numpy() for x in listed]


def _away(found: npt.NDArray[Any], wanted: npt.NDArray[Any]) -> float:
    """Infinite where a shape, a whole number, a NaN or an infinity differs."""
    if wanted.dtype.kind != "f":
        return 0.0 if found.dtype == wanted.dtype and np.array_equal(found, wanted) else float("inf")
    finite = np.isfinite(wanted)
    if found.shape != wanted.shape or not np.array_equal(found[~finite], wanted[~finite], equal_nan=True):
        return float("inf")
    if not np.isfinite(found[finite]).all():
        return float("inf")
    return float((np.abs(found - wanted)[finite] / (1 + np.abs(wanted[finite]))).max(initial=0.0))
