"""Where a memory instruction of the object goes, held against where its op says: equal, or why not.

A buffer instruction adds a base (48 bits of the resource), a scalar offset, a register and an immediate, and compares
the register and the immediate with the size in the resource. For the op's byte address A, tensor T of `size` bytes and
guard g this is shown, for every active thread:

    base = pointer of T + B          for a part B of A that is uniform and not negative: nothing, the terms in block
                                     variables, or these and the terms in loop variables; in 64 bits, or in 32 where B
                                     is at most the size and T has fewer than 2**31 bytes at every launch
    B + register + immediate + scalar offset = A     modulo 2**32, where g holds
    size in the resource = what is left of T's size behind B, never below 0 and never above 2**31
    where g does not hold the resource is empty or the register is at least 2**31
    the scalar offset is 0, or A is in bounds wherever g holds
    B has every part of A that may be in it; parts with loop variables only where A is not known to be in bounds. Of a
    tensor that cannot be large, B may have less where A is in bounds or near by its own bounds
    A - B is not negative; or B is 0; or A is the sum over the axes of T, B has all of A's terms that may be in it but
    none of those axes that may be negative on their own, g compares each of their coordinates with 0, and the immediate
    is 0 (`base_terms`)

Then an access inside T goes to its byte, and everything else is out of range for the hardware (semantics: `elements`,
`reach`). An LDS instruction adds a register and an immediate; they must be the address in the workgroup's allocation.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from argus.compile.facts import Facts
from argus.compile.object.base_terms import BaseTerms, base_terms, never_negative
from argus.compile.object.index_words import IndexWords
from argus.compile.object.inputs import pointer
from argus.compile.object.intended import AccessPart
from argus.compile.object.results import SCALAR
from argus.compile.object.slices import Slices
from argus.compile.object.solver import AccessSolver
from argus.compile.object.witness import NOTHING
from argus.gfx942.inst import M0, Inst, InstOperand
from argus.gfx942.memory import BUFFER_WORD3
from argus.ir import ops
from argus.ir.semantics import DWORD, MAX_BYTES, BufferParts, extent_bytes, may_be_large
from argus.layout import expr as E
from argus.layout.expr import Expr
from argus.machine.semantics.mem import MEMORY
from argus.machine.symbolic.bit_fields import only
from argus.machine.symbolic.evaluation import Evaluation, Unassigned
from argus.machine.symbolic.sums import Rows, WordSum

OUT_OF_RANGE = 1 << 31


@dataclass(frozen=True, slots=True)
class AddressMismatch:
    """Something that could not be shown: `what`, and a word that would have to be zero where it has one."""

    what: str
    excess: WordSum | None = None


@dataclass
class Comparison:
    """One instruction of the object and the part of an op that it is to carry out."""

    slices: Slices
    index: IndexWords
    facts: Facts
    loops: frozenset[str]
    uniform: frozenset[str]
    part: AccessPart
    op: ops.Op
    n: int
    active: WordSum

    reached: WordSum
    """Where the instruction is executed."""
    solver: AccessSolver
    asking: bool = False
    """What is not equal in normal form is asked of the solver."""

    @property
    def inst(self) -> Inst:
        return self.slices.code.insts[self.n]

    @cached_property
    def guard(self) -> WordSum:
        return self.index.word(self.part.guard)

    @cached_property
    def immediate(self) -> int:
        value = self.inst.mods.get("offset", 0)
        return value if isinstance(value, int) else 0

    def _zero(self, x: WordSum, where: WordSum, what: str) -> AddressMismatch | None:
        """x is 0 wherever `where` holds."""
        space = self.slices.space
        excess = space.mul(space.resized(where, x.width), x)
        return AddressMismatch(what, excess) if excess.terms and not self._never(where, x) else None

    def _never(self, *words: WordSum) -> bool:
        return self.asking and self.solver.never(*words)

    def _register(self, operand: InstOperand) -> WordSum:
        return self.slices.source(operand, "u32", self.n)

    def mismatch(self) -> AddressMismatch | None:
        """What is not shown equal, or None: by normal forms, then (`asking`) with the solver."""
        found = self._compared()
        if found is not None and found.excess is not None:
            self.asking = True
            found = self._compared()
        return found

    def _compared(self) -> AddressMismatch | None:
        name = self.inst.op
        if name.startswith("ds_"):
            return self.lds()
        if name.startswith("buffer_"):
            found = self.buffer()
            return self.direct(self.copy) if found is None and self.copy is not None else found
        return self.pointed()

    # -- LDS ----------------------------------------------------------------------------------------------------------

    def lds(self) -> AddressMismatch | None:
        """An instruction ds_*."""
        memory = self.part.access.memory
        assert isinstance(memory, ops.Shared)
        entry = MEMORY[self.inst.op]
        operands = self.inst.operands
        register = self._register(operands[self._address_at])
        offsets = [self.immediate]
        if entry.elements > 1:
            offsets = [int(self.inst.mods.get(name, 0)) * entry.stride for name in ("offset0", "offset1")]  # type: ignore[arg-type]
            if offsets[1] != offsets[0] + entry.size:
                return AddressMismatch("the two elements of the instruction are not neighbors")
        if entry.size * entry.elements != self.part.width:
            return AddressMismatch(f"it moves {entry.size * entry.elements} bytes, the kernel {self.part.width}")
        wanted = self.part.address + memory.base - offsets[0]
        if offsets[0] and (wanted.lo is None or wanted.lo < 0):
            return AddressMismatch("the register may be negative, and the immediate added to it")
        space = self.slices.space
        differs = space.sub(register, self.index.word(wanted))
        return self._zero(differs, self.active, "its LDS address")

    @property
    def copy(self) -> ops.CopyToLds | None:
        """The op, if it is a direct copy to LDS."""
        return self.op if isinstance(self.op, ops.CopyToLds) else None

    def direct(self, op: ops.CopyToLds) -> AddressMismatch | None:
        """Where a direct copy lands: M0 and the immediate."""
        space = self.slices.space
        wanted = op.lds_base + op.into.base - self.immediate
        register = self.slices.word(SCALAR + M0, self.n)
        if wanted.lo is None or wanted.lo < 0 or wanted.hi is None or wanted.hi > 0xFFFF:
            wanted_word = self.index.word(wanted)
            if space.unsigned(wanted_word)[1] > 0xFFFF:
                return AddressMismatch("the LDS address of the copy may not fit M0")
        return self._zero(space.sub(register, self.index.word(wanted)), self.active, "its LDS address (M0)")

    # -- pointers -----------------------------------------------------------------------------------------------------

    def pointed(self) -> AddressMismatch | None:
        """global_*: a 64-bit address, or a 32-bit offset to a scalar pair."""
        space, entry = self.slices.space, MEMORY[self.inst.op]
        operands = list(self.inst.operands)
        if entry.kind == "load" or self.inst.mods.get("sc0"):
            operands.pop(0)
        if entry.size != self.part.width:
            return AddressMismatch(f"it moves {entry.size} bytes, the kernel {self.part.width}")
        vaddr, saddr = operands[0], operands[-1]
        if saddr.kind == "s":
            whole = space.add(self.slices.source(saddr, "u64", self.n), space.zext(self._register(vaddr)))
        else:
            whole = self.slices.source(vaddr, "u64", self.n)
        whole = space.add(whole, space.const(self.immediate, 64))
        tensor = self.part.access.memory
        wanted = space.add(pointer(space, tensor.name), space.zext(self.index.word(self.part.address)))
        return self._zero(space.sub(whole, wanted), self.active, "its address")

    # -- buffers ------------------------------------------------------------------------------------------------------

    def buffer(self) -> AddressMismatch | None:
        """buffer_*: see the head of this module."""
        entry = MEMORY[self.inst.op]
        if entry.size != self.part.width:
            return AddressMismatch(f"it moves {entry.size} bytes, the kernel {self.part.width}")
        if self.inst.mods.get("idxen"):
            return AddressMismatch("an index register is not followed")
        offset, words, moved = self._fields
        where = self.slices.space.mul(self.active, self.guard)
        return self._format(words) or self._excluded(offset, words[2]) or self._based(words, moved, offset, where)

    @cached_property
    def _fields(self) -> tuple[WordSum, list[WordSum], WordSum]:
        """(register and immediate, words of the resource, scalar offset)."""
        entry, space = MEMORY[self.inst.op], self.slices.space
        operands = list(self.inst.operands)
        if not (entry.kind == "load" and (entry.to_lds or self.inst.mods.get("lds"))):
            operands.pop(0)
        vaddr, resource, soffset = operands[:3]
        register = self._register(vaddr) if self.inst.mods.get("offen") else space.zero
        words = [self.slices.word(SCALAR + resource.value + k, self.n) for k in range(4)]
        return space.add(register, space.const(self.immediate)), words, self._register(soffset)

    @cached_property
    def _distance(self) -> WordSum:
        """From the tensor's pointer to the base in the resource."""
        space, (_, words, _) = self.slices.space, self._fields
        return space.sub(space.pair(words[0], _above(words[1])), pointer(space, self.part.access.memory.name))

    def _format(self, words: list[WordSum]) -> AddressMismatch | None:
        space = self.slices.space
        return self._zero(
            space.sub(words[3], space.const(BUFFER_WORD3)), self.active, "the format word of its resource"
        ) or self._zero(space.field(words[1], 16, 16), self.active, "the stride of its resource")

    def _excluded(self, offset: WordSum, records: WordSum) -> AddressMismatch | None:
        """Where the guard does not hold nothing is in range."""
        space, out = self.slices.space, self._out
        inside = space.sub(offset, space.const(OUT_OF_RANGE + self.immediate))
        empty, beyond = space.mul(out, records), space.mul(out, inside)
        if not empty.terms or not beyond.terms or self._never(out, records, inside, *self._bounded):
            return None
        return AddressMismatch("lanes that the guard excludes", beyond)

    @cached_property
    def _out(self) -> WordSum:
        """Where the guard does not hold; nowhere, where that depends on data."""
        space = self.slices.space
        return space.zero if self.part.data else space.mul(self.active, space.lnot(self.guard))

    @cached_property
    def _terms(self) -> BaseTerms:
        return base_terms(self.part, self.uniform, self.loops)

    def _bases(self) -> list[tuple[Expr, Expr]]:
        """(part in the base, part in the scalar offset) as they may be."""
        block, moving, zero = self._terms.block, self._terms.moving, E.const(0)
        found = [(zero, zero), (block, zero), (block + moving, zero), (block, moving), (zero, moving)]
        return list(dict.fromkeys(found))

    def _near(self, base: Expr, inside: bool) -> bool:
        """The register is no further from this base than is known of it: the kernel's own offset, which stays in reach,
        or in a tensor that cannot be large an element of it."""
        terms, tensor = self._terms, self.part.access.memory
        assert isinstance(tensor, ops.Tensor)
        if base is terms.all or (not terms.by_axes and not never_negative(self.part.address - terms.all)):
            return True
        if may_be_large(tensor):
            return inside and base is terms.block
        return inside or BufferParts(base, self.part.address - base).plain

    @cached_property
    def _bounded(self) -> list[WordSum]:
        """What is known of bases: they do not go past the tensor."""
        space, tensor = self.slices.space, self.part.access.memory
        assert isinstance(tensor, ops.Tensor)
        whole = space.zext(self.index.word(extent_bytes(tensor)))
        return [
            space.lnot(space.slt(whole, self.index.wide(base)))
            for base, _ in self._bases()
            if base is not E.const(0) and self.facts.at_most(base, extent_bytes(tensor))
        ]

    def _based(self, words: list[WordSum], moved: WordSum, offset: WordSum, where: WordSum) -> AddressMismatch | None:
        space, tensor = self.slices.space, self.part.access.memory
        assert isinstance(tensor, ops.Tensor)
        inside = self.part.whole and self.facts.in_bounds(self.part.access)
        worst: AddressMismatch | None = None
        for base, step, small in self._candidates(moved, where, inside):
            rest = self.part.address - base - step
            guarded = self._terms.by_axes and base is self._terms.all and not self.immediate
            if not (never_negative(rest) or base + step is E.const(0) or inside or guarded):
                worst = AddressMismatch("the register may be negative, and a base added to it")
                continue
            if not self._near(base, inside):
                worst = AddressMismatch("more of its address is in the register than is known to stay in reach")
                continue
            found = self._zero(space.sub(offset, self.index.word(rest)), where, "its address")
            found = found or self._sized(words[2], base, where, self._distance, small)
            if found is None:
                return None
            worst = found
        return worst or AddressMismatch(
            f"the base or the scalar offset of its resource for `{tensor.name}`", self._distance
        )

    def _candidates(self, moved: WordSum, where: WordSum, inside: bool) -> list[tuple[Expr, Expr, bool]]:
        """(part in the base, part in the scalar offset, whether 32 bits hold the base) as base and scalar offset are;
        the solver is asked only where no normal forms are equal."""
        tensor = self.part.access.memory
        assert isinstance(tensor, ops.Tensor)
        asking, self.asking = self.asking, False
        for self.asking in (False, True) if asking else (False,):
            found: list[tuple[Expr, Expr, bool]] = []
            for base, step in self._bases():
                small = base is E.const(0) or (
                    not may_be_large(tensor) and (inside or self.facts.at_most(base, extent_bytes(tensor)))
                )
                if (step is E.const(0) or inside) and self._is_base(base, step, small, moved, where):
                    found.append((base, step, small))
            if found:
                break
        self.asking = asking
        return found

    def _is_base(self, base: Expr, step: Expr, small: bool, moved: WordSum, where: WordSum) -> bool:
        space, word = self.slices.space, self.index.word(base)
        if self._zero(space.sub(moved, self.index.word(step)), where, "its scalar offset"):
            return False
        if self._equal(self._distance, self.index.wide(base), where):
            return True
        return small and self._equal(self._distance, space.zext(word), where)

    def _equal(self, a: WordSum, b: WordSum, where: WordSum) -> bool:
        return a is b or self._never(where, self.slices.space.sub(a, b))

    def _sized(
        self, records: WordSum, base: Expr, where: WordSum, distance: WordSum, small: bool
    ) -> AddressMismatch | None:
        space, size, tensor = self.slices.space, self.part.size, self.part.access.memory
        assert size is not None
        assert isinstance(tensor, ops.Tensor)
        if may_be_large(tensor):
            return self._size_is(records, self._clamped(base, distance), where)
        whole = self.index.word(size)
        if base is E.const(0):
            return self._size_is(records, whole, where)
        left = space.sub(whole, self.index.word(base))
        if small and self._size_is(records, space.maximum(left, space.zero), where) is None:
            return None
        wide = space.sub(space.zext(whole), distance)
        some = space.lnot(space.slt(wide, space.const(1, 64)))
        return self._size_is(records, space.select(some, space.trunc(wide), space.zero), where)

    def _clamped(self, base: Expr, distance: WordSum) -> WordSum:
        """What is left of a tensor that may be large, in 64 bits, from 0 to 2**31."""
        space, left = self.slices.space, self._whole
        if base is not E.const(0):
            left = space.sub(left, distance)
        more = space.slt(space.const(0, 64), space.ashr(left, space.const(MAX_BYTES.bit_length() - 1)))
        kept = space.select(more, space.const(OUT_OF_RANGE), space.trunc(left))
        if base is E.const(0):
            return kept
        return space.select(space.slt(space.const(0, 64), left), kept, space.zero)

    @cached_property
    def _whole(self) -> WordSum:
        """The tensor's size in 64 bits, in whole dwords where the part has it so."""
        space, tensor = self.slices.space, self.part.access.memory
        assert isinstance(tensor, ops.Tensor)
        exact = self.index.wide(extent_bytes(tensor))
        match self.part.dwords:
            case "exact":
                return exact
            case "up":
                return space.and_(space.add(exact, space.const(DWORD - 1, 64)), space.const(-DWORD, 64))
            case "down":
                return space.and_(exact, space.const(-DWORD, 64))

    def _size_is(self, records: WordSum, wanted: WordSum, where: WordSum) -> AddressMismatch | None:
        """The size in the resource: as wanted, or 0 where the guard does not hold; so never more than 2**31."""
        space = self.slices.space
        differs = space.sub(records, wanted)
        out = self._out
        if space.mul(out, records).terms and space.mul(out, differs).terms and not self._never(out, records, differs):
            return AddressMismatch("the size in its resource where the guard does not hold", differs)
        return self._zero(differs, where, "the size in its resource")

    # -- as numbers ---------------------------------------------------------------------------------------------------

    @property
    def words(self) -> list[WordSum]:
        """All formulas that what happens depends on."""
        found = [self.reached, self.active, self.guard, self.index.word(self.part.address)]
        name = self.inst.op
        if name.startswith("buffer_"):
            offset, words, moved = self._fields
            found += [offset, *words, moved, self._distance, self._whole]
            found.append(self.index.wide(self.part.address))
        elif name.startswith("ds_"):
            found.append(self._register(self.inst.operands[self._address_at]))
        if self.copy is not None:
            found += [self.slices.word(SCALAR + M0, self.n), self.index.word(self.copy.lds_base)]
        return found

    @property
    def _address_at(self) -> int:
        entry = MEMORY[self.inst.op]
        return 1 if entry.kind == "load" or entry.returns else 0

    def both(self, values: Evaluation) -> tuple[np.ndarray, np.ndarray]:
        """(object, kernel): per thread the first byte touched and how many units are, or NOTHING."""
        if self.inst.op.startswith("ds_"):
            return self._both_lds(values)
        if not self.inst.op.startswith("buffer_"):
            raise Unassigned(self.inst.op)
        offset, words, moved = self._fields
        unit = min(self.part.width, 4)
        count = self.part.width // unit
        at = values.rows(offset).astype(np.int64)
        room = (values.rows(words[2]).astype(np.int64) - at) // unit
        where = (values.rows(self._distance) + values.rows(offset) + values.rows(moved)).view(np.int64)
        have = _touched(where, np.clip(room, 0, count), values.rows(self.reached))
        address = values.rows(self.index.wide(self.part.address)).view(np.int64)
        size = values.rows(self._whole).view(np.int64)
        left = np.where(address >= 0, np.clip((size - address) // unit, 0, count), 0)
        want = _touched(address, left, values.rows(self.active) * values.rows(self.guard))
        if self.copy is not None:
            base = self.copy.into.base
            landing = values.rows(self.slices.word(SCALAR + M0, self.n)) + np.uint64(self.immediate)
            wanted = values.rows(self.index.word(self.copy.lds_base)) + np.uint64(base)
            have = np.column_stack([have, landing.view(np.int64)])
            want = np.column_stack([want, wanted.view(np.int64)])
        return have, want

    def _both_lds(self, values: Evaluation) -> tuple[np.ndarray, np.ndarray]:
        memory = self.part.access.memory
        assert isinstance(memory, ops.Shared)
        entry = MEMORY[self.inst.op]
        immediate = self.immediate
        if entry.elements > 1:
            immediate = int(self.inst.mods.get("offset0", 0)) * entry.stride  # type: ignore[arg-type]
        at = values.rows(self._register(self.inst.operands[self._address_at])) + np.uint64(immediate)
        width = np.full(len(at), entry.size * entry.elements)
        have = _touched(at.view(np.int64), width, values.rows(self.reached))
        wanted = values.rows(self.index.word(self.part.address)) + np.uint64(memory.base) & np.uint64(0xFFFFFFFF)
        return have, _touched(wanted.view(np.int64), np.full(len(at), self.part.width), values.rows(self.active))


def _touched(at: np.ndarray, count: np.ndarray, active: Rows) -> np.ndarray:
    some = (active != 0) & (count > 0)
    return np.column_stack([np.where(some, at, NOTHING), np.where(some, count, 0)])


def _above(high: WordSum) -> WordSum:
    """The upper half of an address whose word was masked to 16 bits."""
    single = only(high)
    if single is not None and single.op == "field" and single.args[1:] == (0, 16):
        inner = single.args[0]
        assert isinstance(inner, WordSum)
        return inner
    return high
