"""From what the judge found wrong to a changed source: rule and place of a counterexample decide the fix.

| found | fix |
|---|---|
| `race_free`, `fresh` at an access | a barrier before the accesses of that kind that stand together there |
| `bank_free` of a buffer | the next layout: other bits, padding; then without the assertion, which is about speed |
| `in_bounds` at an access | the access is guarded by the tensor's shape |
| more LDS than there is | padded rows swizzled instead; half the k of a step |
| registers do not fit | with LDS the epilogue tile by tile, else half the k of a step; then half a wave's longer side |
| registers do not fit a row | two waves share it |
| a shape is not served | half the block of that size; a ragged grid if that does not divide it either |

A repair is a proposal like any other: it is judged, and may be wrong. It works from the verdict alone.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass

from argus.agent.judge import Judgement, Violation
from argus.agent.lower import NotApplicableError, lower
from argus.agent.lower.block_sizes import axes_of
from argus.agent.lower.lds_layouts import padded
from argus.agent.lower.pipeline import kind
from argus.agent.lower.source import Source, set_keyword
from argus.agent.lower.text import statement

LAYOUTS = (
    {"kind": "reads", "amount": 3},
    {"kind": "xor", "amount": 3},
    {"kind": "cross", "amount": 3},
    {"kind": "xor", "amount": 2},
    {"kind": "pad", "amount": 16},
)
REGISTERS = ("C130", "C301")
LDS_CODES = re.compile(r"LDS")
NOT_SERVED = re.compile(r"requires .*?\b([A-Z]\w*) = (\d+)")


@dataclass(frozen=True, slots=True)
class Repair:
    """A changed source and what it answers."""

    source: str
    rule: str
    why: str


def repairs(source: str, judgement: Judgement) -> list[Repair]:
    """Changed sources that answer the first violations of a judgement, the most fitting first."""
    found: list[Repair] = []
    seen: set[str] = set()
    for violation in sorted(judgement.violations, key=lambda v: v.line):
        for text, why in _answers(source, judgement.stage, violation):
            if text not in seen and text != source:
                seen.add(text)
                found.append(Repair(text, violation.rule, why))
    return found


def _answers(source: str, stage: str, violation: Violation) -> list[tuple[str, str]]:
    try:
        if violation.rule in ("race_free", "fresh") and violation.line:
            return [
                (_barrier(source, violation.line), f"{violation.rule} at line {violation.line}: a barrier before it")
            ]
        if violation.rule == "bank_free":
            return _layouts(source)
        if violation.rule == "in_bounds" and violation.line:
            return [(_guard(source, violation.line), f"in_bounds at line {violation.line}: guarded by the shape")]
        if violation.rule in REGISTERS:
            return _fewer_registers(source)
        if stage in ("read", "compile") and LDS_CODES.search(violation.message):
            return _less_lds(source)
        if stage == "contract":
            return _smaller_block(source, violation.message)
    except NotApplicableError:
        return []
    return []


def _barrier(text: str, line: int) -> str:
    source = Source(text)
    for block in source.blocks():
        for at, node in enumerate(block):
            if node.lineno <= line <= (node.end_lineno or node.lineno) and not isinstance(node, ast.For | ast.With):
                what = kind(source, node)
                while at > 0 and kind(source, block[at - 1]) == what:
                    at -= 1
                block.insert(at, statement("ag.barrier()"))
                return source.text()
    raise NotApplicableError(f"no statement at line {line}")


def _guard(text: str, line: int) -> str:
    source = Source(text)
    tensors = source.tensors()
    for access in (*source.loads(), *source.accesses("store")):
        node = access.statement
        if node.lineno <= line <= (node.end_lineno or node.lineno) and access.place in tensors:
            set_keyword(access.call, "guard", ast.Constant("shape"))
            return source.text()
    raise NotApplicableError(f"no access to global memory at line {line}")


def _layouts(text: str) -> list[tuple[str, str]]:
    found = []
    for params in LAYOUTS:
        try:
            name = "lds-padding" if params["kind"] == "pad" else "lds-swizzle"
            found.append((lower(text, name, params), f"bank_free: layout {params['kind']} {params['amount']}"))
        except NotApplicableError:
            continue
    kept = "\n".join(line for line in text.split("\n") if "ag.check.bank_free(" not in line)
    return [(kept, "bank_free: left to the clock"), *found] if "cross" in _kinds(text) or not found else found


def _kinds(text: str) -> set[str]:
    """Which kinds of layouts the file has."""
    return {"cross" if " ^ " in line else "xor" for line in text.split("\n") if "chunk=" in line}


def _sizes(text: str) -> dict[str, tuple[int, int]]:
    source = Source(text)
    found = {}
    for role, axis in axes_of(source).items():
        tiles, waves = (source.constant(f"{what}_{axis}") for what in ("TILES", "WAVES"))
        found[role] = (
            1 if tiles is None else source.value(tiles.value) or 1,
            1 if waves is None else source.value(waves.value) or 1,
        )
    return found


def _less_lds(text: str) -> list[tuple[str, str]]:
    found = []
    if padded(Source(text)):
        for params in LAYOUTS:
            if params["kind"] != "pad":
                found.append((lower(text, "lds-swizzle", params), "LDS is too small: swizzled instead of padded"))
    return [*found, _shorter_step(text)]


def _fewer_registers(text: str) -> list[tuple[str, str]]:
    """Fragments of a whole step are held at once unless they go through LDS, where the epilogue is what is left."""
    found = []
    for answer in (_in_pieces if "ag.shared(" in text else _shorter_step, _smaller_wave, _more_waves):
        try:
            found.append(answer(text))
        except NotApplicableError:
            continue
    return found


def _in_pieces(text: str) -> tuple[str, str]:
    return lower(text, "epilogue-pieces", {}), "registers do not fit: the epilogue tile by tile"


def _smaller_wave(text: str) -> tuple[str, str]:
    sizes = _sizes(text)
    longer = "row" if sizes["row"][0] >= sizes["col"][0] else "col"
    half = sizes[longer][0] // 2
    if not half:
        raise NotApplicableError("a wave has one tile")
    return lower(text, "block-sizes", {f"tiles_{longer}": half}), f"registers do not fit: {half} tiles along {longer}"


def _more_waves(text: str) -> tuple[str, str]:
    return lower(text, "waves-per-row", {"waves": 2}), "registers do not fit: two waves share a row"


def _shorter_step(text: str) -> tuple[str, str]:
    half = _sizes(text)["k"][0] // 2
    if not half:
        raise NotApplicableError("a step has one slice")
    return lower(text, "block-sizes", {"tiles_k": half}), f"too much at once: {half} slices of k per step"


def _smaller_block(text: str, message: str) -> list[tuple[str, str]]:
    found = NOT_SERVED.search(message)
    if found is None:
        return []
    size = found.group(1)
    roles = {axis: role for role, axis in axes_of(Source(text)).items()}
    if size not in roles:
        return []
    role = roles[size]
    tiles, waves = _sizes(text)[role]
    changes = [{f"waves_{role}": waves // 2}] if waves > 1 else []
    changes += [{f"tiles_{role}": tiles // 2}] if tiles > 1 else []
    smaller = [(lower(text, "block-sizes", change), f"{size} is not divided: {change}") for change in changes]
    block = Source(text).value(ast.Name(f"BLOCK_{size}"))
    if role == "k" or block is None or int(found.group(2)) % max(1, block // 2) == 0:
        return smaller
    try:
        ragged = lower(text, "range-guards", {"axes": "grid"})
    except NotApplicableError:
        return smaller
    return [(ragged, f"{size} is not divided: a ragged grid"), *smaller]
