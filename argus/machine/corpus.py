"""`argus machine corpus DIR`: how much of a folder of code objects the machine understands.

    $ argus machine corpus aiter/hsa/gfx942 --objdump
    objects             1432, 0 not loaded
    kernels             1432
    instructions        6724505, 0 words not decoded
    distinct encodings  123516, 0 instructions unlike llvm-objdump
    distinct opcodes    228, 0 without semantics

Every `.co`, `.hsaco` and `.o` file below DIR is loaded and its whole code section decoded, padding included; a word
that is no instruction is counted and skipped. With `--objdump` each instruction is also compared, size and text, with
`llvm-objdump`; branches to a label are compared by the label's address, unlinked objects (whose addresses are not fixed
yet) are only decoded. Without it nothing but Argus itself runs.
Coverage of opcodes is not a proof that a kernel computes the right thing; that is what the launch tests are for.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from argus.gfx942.decoder import DecodeError, decode
from argus.gfx942.disasm import text
from argus.gfx942.elf import ET_REL, parse_elf
from argus.gfx942.inst import Inst
from argus.machine.loader import CodeObject, LoadError, load_object
from argus.machine.semantics import implemented

SUFFIXES = (".co", ".hsaco", ".o")
OBJDUMPS = (*(f"llvm-objdump-{version}" for version in range(22, 17, -1)), "llvm-objdump")
OLDEST_LLVM = 18
"""The first LLVM release whose disassembler knows gfx942."""
_LINE = re.compile(r"\t(.*?)\s*// ([0-9A-F]+): ([0-9A-F ]+)")
_SHOWN = 20


@dataclass(slots=True)
class CorpusObject:
    """What was found in one file."""

    path: Path
    error: str = ""
    kernels: int = 0
    instructions: int = 0
    compared: bool = False
    undecoded: list[str] = field(default_factory=list)
    differing: list[str] = field(default_factory=list)
    opcodes: Counter[str] = field(default_factory=Counter)


@dataclass(slots=True)
class CorpusReport:
    """The sum over a folder. `missing` says in how many objects each opcode without semantics occurs."""

    objects: list[CorpusObject]
    encodings: int
    compared: bool
    missing: dict[str, int]

    @property
    def opcodes(self) -> Counter[str]:
        """How often every opcode occurs."""
        total: Counter[str] = Counter()
        for found in self.objects:
            total.update(found.opcodes)
        return total

    @property
    def clean(self) -> bool:
        """Whether everything was loaded, decoded, alike and has semantics."""
        return not self.missing and not any(o.error or o.undecoded or o.differing for o in self.objects)

    def to_json(self) -> dict[str, object]:
        """The report for programs."""
        return {
            "objects": len(self.objects),
            "not_loaded": {str(o.path): o.error for o in self.objects if o.error},
            "instructions": sum(o.instructions for o in self.objects),
            "not_decoded": {str(o.path): o.undecoded[:_SHOWN] for o in self.objects if o.undecoded},
            "distinct_encodings": self.encodings,
            "compared": self.compared,
            "differing": {str(o.path): o.differing[:_SHOWN] for o in self.objects if o.differing},
            "opcodes": dict(self.opcodes.most_common()),
            "missing": self.missing,
        }

    def text(self) -> str:
        """The report for people."""
        unloaded = [o for o in self.objects if o.error]
        undecoded = sum(len(o.undecoded) for o in self.objects)
        differing = sum(len(o.differing) for o in self.objects)
        unlike = f", {differing} instructions unlike llvm-objdump" if self.compared else ""
        alone = sum(not o.compared and not o.error for o in self.objects) if self.compared else 0
        unlike += f" ({alone} unlinked objects not compared)" if alone else ""
        lines = [
            f"objects             {len(self.objects)}, {len(unloaded)} not loaded",
            f"kernels             {sum(o.kernels for o in self.objects)}",
            f"instructions        {sum(o.instructions for o in self.objects)}, {undecoded} words not decoded",
            f"distinct encodings  {self.encodings}{unlike}",
            f"distinct opcodes    {len(self.opcodes)}, {len(self.missing)} without semantics",
        ]
        if self.missing:
            ready = sum(not set(o.opcodes) & set(self.missing) for o in self.objects if not o.error)
            lines.append(f"complete objects    {ready} of {len(self.objects)}")
            lines += [f"  no semantics: {op} (in {count} objects)" for op, count in list(self.missing.items())[:_SHOWN]]
        lines += [f"  {o.path}: {o.error}" for o in unloaded[:_SHOWN]]
        details = [f"  {o.path}: {line}" for o in self.objects for line in o.undecoded + o.differing]
        return "\n".join(lines + details[:_SHOWN])


def corpus(folder: Path, objdump: str | None = None) -> CorpusReport:
    """Examine every code object below `folder`; `objdump` is the llvm-objdump to compare with."""
    paths = sorted(path for path in folder.rglob("*") if path.suffix in SUFFIXES and path.is_file())
    texts: dict[tuple[int, ...], str] = {}
    objects = [_examine(path, objdump, texts) for path in paths]
    known = implemented()
    missing = Counter(op for found in objects for op in found.opcodes if op not in known)
    return CorpusReport(objects, len(texts), objdump is not None, dict(missing.most_common()))


def _examine(path: Path, objdump: str | None, texts: dict[tuple[int, ...], str]) -> CorpusObject:
    report = CorpusObject(path)
    try:
        loaded = load_object(path)
    except LoadError as why:
        report.error = str(why)
        return report
    report.kernels = len(loaded.kernels)
    instructions = _decode(loaded.text, report)
    report.instructions = len(instructions)
    report.opcodes.update(inst.op for inst in instructions)
    for inst in instructions:
        if inst.words not in texts:
            texts[inst.words] = text(inst) if objdump else ""
    elf = parse_elf(path.read_bytes())
    if objdump and elf.type != ET_REL:
        labels: dict[int, set[str]] = {}
        for symbol in elf.symbols:
            labels.setdefault(symbol.value, set()).add(symbol.name)
        _compare(_objdump_lines(path, objdump), loaded, instructions, labels, texts, report)
        report.compared = True
    return report


def _decode(code: bytes, report: CorpusObject) -> list[Inst]:
    found: list[Inst] = []
    pc = 0
    while pc < len(code):
        try:
            inst = decode(code, pc)
        except DecodeError as why:
            report.undecoded.append(str(why))
            pc += 4
            continue
        found.append(inst)
        pc += inst.size
    return found


def _compare(
    theirs: dict[int, tuple[str, int]],
    loaded: CodeObject,
    instructions: list[Inst],
    labels: dict[int, set[str]],
    texts: dict[tuple[int, ...], str],
    report: CorpusObject,
) -> None:
    ours = {inst.pc + loaded.text_address: inst for inst in instructions}
    for address in sorted(theirs.keys() | ours.keys()):
        inst, answer = ours.get(address), theirs.get(address)
        if inst is None or answer is None:
            mine = texts[inst.words] if inst else "nothing"
            report.differing.append(f"{address:#x}: {mine} here, {answer[0] if answer else 'nothing'} there")
            continue
        mine = texts[inst.words]
        if mine == answer[0] and inst.size == answer[1]:
            continue
        mnemonic, _, label = answer[0].rpartition(" ")
        target = None if inst.target is None else inst.target + loaded.text_address
        if target is None or not mine.startswith(mnemonic) or label not in labels.get(target, ()):
            report.differing.append(f"{address:#x}: {mine} here, {answer[0]} there")


def find_objdump() -> str | None:
    """The path of an llvm-objdump that knows gfx942, if one is installed."""
    for path in filter(None, map(shutil.which, OBJDUMPS)):
        said = subprocess.run([path, "--version"], capture_output=True, text=True, check=False).stdout
        version = re.search(r"LLVM version (\d+)", said)
        if version is not None and int(version[1]) >= OLDEST_LLVM:
            return path
    return None


def _objdump_lines(path: Path, objdump: str) -> dict[int, tuple[str, int]]:
    """Address to (text, size in bytes) as llvm-objdump sees the file."""
    command = [objdump, "-d", "--disassemble-zeroes", "--mcpu=gfx942", str(path)]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    found = {}
    for line in run.stdout.splitlines():
        match = _LINE.match(line)
        if match and not match[1].startswith(".long"):
            found[int(match[2], 16)] = match[1], 4 * len(match[3].split())
    return found
