"""The rules as rows: what holds, and who says so.

`source` names a document, a repository or a measurement, with its date; a rule without one is *assumed*, and says what
would settle it. `behaviors` lists the alternatives where more than one is possible: a proof holds under each.
"""

from __future__ import annotations

from dataclasses import dataclass

ISA = "AMD CDNA3 instruction set reference guide, chapters 4, 9 and 11"
EMULATOR = "ROCm/rocm-systems pull request 10928 (2026-08-28), after measurements on gfx950"
LLVM_WAITS = "LLVM SIInsertWaitcnts.cpp (LLVM 22, 2026): counters other than scalar memory retire in order"


@dataclass(frozen=True, slots=True)
class SemanticRule:
    """One rule: `where` says who implements or checks it."""

    name: str
    says: str
    source: str
    where: str
    behaviors: tuple[str, ...] = ()

    @property
    def assumed(self) -> bool:
        return self.source.startswith("assumed")


RULES: tuple[SemanticRule, ...] = (
    SemanticRule(
        "elements",
        "A global access touches exactly those of its elements that lie in the tensor's bytes. Elements outside read "
        "as zero and are not written. No byte outside of a tensor is written; what is read past its end lies in its "
        "last dword and reaches no result.",
        "this language: what its users mean",
        "compile/tails, ir/interp, check/rules/in_bounds",
    ),
    SemanticRule(
        "range-granule",
        "The range check of a buffer decides dwords, atomics as a whole. Whether a dword that the buffer holds only in "
        "part is in range is open.",
        f"{ISA} (offset against num_records); {EMULATOR}",
        "gfx942/memory, compile/tails, machine",
        ("a dword is in range if it ends in the buffer", "a dword is in range if it starts in the buffer"),
    ),
    SemanticRule(
        "scalar-offset",
        "Whether the scalar offset of a buffer instruction counts in its range check is open; it is used only where "
        "nothing can be out of range.",
        f"LLVM AMDGPUUsage (2025-04); {EMULATOR}",
        "compile/address; both on the machine by `soffset_in_range`",
        ("it counts", "it does not count"),
    ),
    SemanticRule(
        "alignment",
        "Global accesses may stand at any multiple of their element, LDS accesses only at a multiple of their width.",
        "Linux amdkfd sets unaligned access mode; LLVM feature unaligned-access-mode for HSA (2026)",
        "compile/memory (C104)",
    ),
    SemanticRule(
        "copy-footprint",
        "A direct copy to LDS writes four bytes for every active lane, at its base + 4 * lane, also where it moves one "
        "or two. Bytes past the element are unspecified. Lanes out of range write zeros.",
        f"LLVM AMDGPU M0 and LDS addressing of buffer loads (2026); zeros: {EMULATOR}; unspecified bytes: assumed",
        "check/transfer/memory_accesses, check/rules, ir/interp, machine",
    ),
    SemanticRule(
        "wrap",
        "Index arithmetic has 32 bits and wraps. Sums, products and bit operations may wrap on the way; what is "
        "compared, divided, shifted right, chosen from, counted to or used as data must fit, in addresses too.",
        f"{ISA}: 32-bit integer operations; LLVM IR without nsw",
        "ir/semantics/arithmetic, check/rules/fits, ir/interp (hazard `wraps`)",
    ),
    SemanticRule(
        "integer-data",
        "Arithmetic on integer data wraps in its element type. A result of an integer type is the specified whole "
        "number modulo 2**bits of the type.",
        f"{ISA}: integer operations; LLVM IR without nsw; numpy and PyTorch arrays do the same",
        "check/terms/integer_terms, check/transfer/conversions, spec/values (`stored`), ir/interp, spec/compare",
    ),
    SemanticRule(
        "conversion",
        "A change of element type rounds once: to nearest even, or toward zero, which is for f32, f16, bf16 and "
        "integers. To a float type, numbers beyond its largest become infinite (NaN in fp8 and bf8), toward zero the "
        "largest; with `saturate` they become the largest, infinities too, unless all finite numbers of the source lie "
        "within. NaN stays NaN. To an integer type, floats are cut off at 32 bits (64 for i64), NaN is 0, and what is "
        "narrower takes the low bits; with `saturate` what is beyond its ends becomes the end.",
        f"{ISA}: conversions; this compiler: one rounding from f64 and wide integers",
        "ir/conversions, ir/interp/numbers, compile/convert, check/transfer/conversions",
    ),
    SemanticRule(
        "shift-amount",
        "A shift of data takes the amount modulo 32, of 64-bit elements modulo 64, whatever its sign. Elements of 8 "
        "and 16 bits are widened to 32 bits by the sign of their type, shifted, and cut to their type again. A shift "
        "to the right copies the sign of signed types. In index arithmetic amounts are 0 to 31.",
        f"{ISA}: the low five bits count, six of 64-bit shifts; in LLVM IR larger amounts are poison, so they are "
        "masked",
        "ir/maps/primitives, compile/arithmetic, compile/index, check/transfer/shift_amounts; indices: "
        "ir/semantics/arithmetic, check/rules/fits",
    ),
    SemanticRule(
        "comparison",
        "A comparison means what it says as written; the compiler moves terms across it only where neither side wraps.",
        "this compiler",
        "compile/index",
    ),
    SemanticRule(
        "remaining-size",
        "The part of an address that a workgroup or a loop shares is the base of its buffer, computed in 64 bits, and "
        "so is what remains of the tensor behind it: past the end nothing, and never more than 2**31 bytes. Where the "
        "rest may be negative there is no base; or, if the guard compares the coordinate of every such axis with 0, "
        "the base is that of the other axes. A launch whose last workgroup or turn may have a base beyond 2**62 is "
        "refused.",
        "this compiler; base of a buffer resource: 48 bits (ISA, table of resource words)",
        "compile/address",
    ),
    SemanticRule(
        "reach",
        "A lane's own offset stays from -2**31 to below 2**32, where modulo 2**32 it cannot come back into the tensor. "
        "In a tensor of 2**31 bytes and more what a lane touches ends within 2**31 bytes of its base, and numbers fit "
        "32 bits by the bounds that the sizes of the launch give; launches at which this is not so are refused.",
        f"{ISA}: 32-bit offset; {EMULATOR}: offset and immediate are added modulo 2**32",
        "ir/semantics/addresses: shown, or checked at the launch; compile/large_tensors",
    ),
    SemanticRule(
        "grid",
        "A grid's extent times the threads of a workgroup is below 2**32: launches refuse others. Block numbers fit.",
        "HSA runtime specification 1.2 (AQL kernel dispatch packet: grid sizes are 32-bit counts of work-items)",
        "ir/semantics/grids: checked at the launch, a fact of every proof",
    ),
    SemanticRule(
        "arms",
        "The arms of a branch that splits a wave have no order: an access of one and an access of the other to the "
        "same byte, one of them a write, is a race. Consecutive branches are ordered.",
        "LLVM StructurizeCFG orders arms as it likes (observed 2026-11: else first); order of consecutive branches: "
        "fences of this compiler, checked on the object",
        "check/transfer/ordering, ir/interp, compile/control",
        ("then first", "else first"),
    ),
    SemanticRule(
        "issued",
        "An access is issued if some wave executes its instruction. Global accesses are, whatever their guard says: "
        "guarded lanes go out of range. Guarded LDS accesses, guarded or pairwise bf16 atomics, and accesses in a "
        "branch may be skipped by a wave of which no lane takes part. A load that nobody uses is not in the code.",
        "this compiler: `argus.ir.passes.liveness`, `argus.compile.memory`; skipping: LLVM execz branches",
        "declared by the op; insert_waits, check, ir/interp",
        ("skipped", "issued with no lane active"),
    ),
    SemanticRule(
        "all-lanes",
        "What takes values of other lanes (exchanges, reductions and scans over lanes, matrix instructions) stands "
        "where all lanes of a wave are active: registers of masked lanes are not defined.",
        ISA,
        "refused by argus.lang and ir/verify",
    ),
    SemanticRule(
        "counted-wait",
        "A wait for at most n outstanding accesses retires every access of its counter with n or more surely issued "
        "after it. More instructions than ops only make it stronger. The largest number of a counter is no wait, and "
        "cannot be written.",
        LLVM_WAITS,
        "check/transfer/ordering, ir/interp, compile/recheck",
    ),
    SemanticRule(
        "register-wait",
        "An op that reads a register finds it filled. Where the code waits for arithmetic is open, as it may pass "
        "barriers: this wait orders no access, not even the load it is for. What one wave has read or copied before "
        "another goes on needs a barrier that waits, a wait of the author's, or a surely issued access that reads "
        "the register: accesses keep their place.",
        "this compiler and LLVM's scheduler (observed 2026-11: two sums joined behind a bare barrier)",
        "ir/passes/insert_waits, check/transfer/ordering, ir/interp",
        ("the wait stands where the op does", "it stands behind the next barrier"),
    ),
    SemanticRule(
        "barrier",
        "A barrier orders what has retired before it in one wave before what comes after it in another. It orders "
        "nothing that is outstanding.",
        f"{ISA}: s_barrier does not wait for counters",
        "check/rules/race_free, ir/interp, machine checks",
    ),
    SemanticRule(
        "out-of-range-atomic",
        "An atomic outside of its buffer does nothing.",
        "assumed for gfx942: triton-lang/triton pull request 9855 (2026-03-26) reports an aperture violation on gfx950 "
        "for buffers of more than 2**31 bytes; buffers here are not larger",
        "compile/memory, machine",
    ),
    SemanticRule(
        "matrix-chain",
        "Different matrix instructions that share an accumulator keep the wait states of a partial overlap.",
        "llvm/llvm-project pull request 218363 (open, 2026-08-24; gfx950 measured); for gfx942 assumed",
        "gfx942/hazards",
        ("the accumulator is forwarded between different instructions", "it is forwarded only within one"),
    ),
)  # fmt: skip
