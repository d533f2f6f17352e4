"""Codes of the compiler: C1xx the kernel asks too much, C2xx LLVM, C3xx the audit of the object, C4xx object files."""

from __future__ import annotations

from collections.abc import Mapping

from argus.cli.manual.entry import ManualEntry

OURS = "This is a fault of Argus, not of the kernel: report it with the kernel file and the settings."

COMPILER: Mapping[str, ManualEntry] = {
    "C101": ManualEntry(
        "The operation has no machine code for the element type it is used on, for example an exchange between lanes "
        "of a mask, or a fraction used as an index.",
        "convert the value first, or use an operation that exists for its type.",
    ),
    "C102": ManualEntry(
        "An address, a guard or a loop bound cannot be computed: a constant beyond 32 bits, a loop that counts down, "
        "or data that was never turned into an index.",
        "keep constants within 32 bits, count loops upwards, and make an index of data with `ag.as_index`.",
    ),
    "C103": ManualEntry(
        "gfx942 has no memory instruction of this kind: a direct copy to LDS with another width than 1, 2 or 4 bytes "
        "per lane or an address that differs between lanes, an atomic on a type without atomics, a store of a tile "
        "into another number of elements.",
        "use one of the forms the message names; docs/language.md lists copies and atomics.",
    ),
    "C104": ManualEntry(
        "A vector access of LDS starts at an address that is not a multiple of its width for some lane.",
        "align rows and offsets of the layout to the width (pad in multiples of it), or use a smaller `width`.",
    ),
    "C110": ManualEntry(
        "The kernel's LDS buffers together are larger than the 65536 bytes a workgroup can have.",
        "smaller tiles or fewer slots of a ring; buffers that are not used at the same time can be one.",
    ),
    "C120": ManualEntry(
        "The kernel names an instruction that gfx942 does not have, or gives it operands of another size, or names one "
        "that cannot be called directly.",
        "compare name and operand sizes with the table of instructions in docs/language.md.",
    ),
    "C130": ManualEntry(
        "The values a wave holds at once do not fit its registers: 512 with one wave on a SIMD, of which 256 are "
        "ordinary ones, and a share of that with more waves. The notes count accumulators, fragments and the rest.",
        "a smaller tile per wave, fewer fragments in flight, or fewer waves per SIMD; the message says what fits.",
    ),
    "C140": ManualEntry(
        "A lane exchange computes a partner outside of lanes 0 to 63.",
        "keep the partner within the wave, for example by `%` or `^` with a power of two below 64.",
    ),
    "C150": ManualEntry(
        "A policy of the kernel or a class of `ag.schedule` is not known to the compiler, or its value is not.",
        "use one of the names and values in the message.",
    ),
    "C201": ManualEntry(
        "LLVM does not accept what Argus handed to it; the lines under the message are LLVM's.",
        OURS,
    ),
    "C202": ManualEntry(
        "The process in which LLVM runs died, of a fault inside LLVM or for want of memory; its last lines follow.",
        "look whether memory ran out; a smaller kernel (less unrolling) often gets around a fault of LLVM.",
    ),
    "C203": ManualEntry(
        "LLVM was still at work when its time was over, as happens with very long straight code.",
        "unroll less, so that the loop body is shorter.",
    ),
    "C301": ManualEntry(
        "LLVM found no room for some values and keeps them in memory; such a kernel would be slow, so it is refused.",
        "as for C130: a smaller tile, fewer values in flight, fewer waves per SIMD.",
    ),
    "C302": ManualEntry(
        "The audit matches every memory, matrix and barrier instruction of the object to an operation of the kernel; "
        "here one is missing, one is too many, or one was moved past a loop or branch.",
        f"{OURS} The proof does not hold for this object, so none is written.",
    ),
    "C303": ManualEntry(
        "Inside a loop accumulators are moved between the two register files more often than the plan allows.",
        "fewer accumulators or fragments alive in the loop; the policy `agpr` chooses the other file.",
    ),
    "C304": ManualEntry(
        "The finished object takes more registers than the plan gave it, or another amount of LDS than the kernel has.",
        "for registers as for C130. For LDS: " + OURS,
    ),
    "C305": ManualEntry(
        "A wait that the kernel needs before a barrier, or states itself, is weaker or missing in the object.",
        OURS,
    ),
    "C306": ManualEntry(
        "Some pairs of dependent instructions must stand a number of wait states apart on gfx942. Argus asks for the "
        "missing ones and compiles again; in this object a pair is still too close.",
        "another order around the line named (`ag.schedule`, or a statement moved) separates the pair. " + OURS,
    ),
    "C307": ManualEntry(
        "On some path through the object a register is used before the wait for the load that fills it.",
        "with `waits='explicit'` add the wait to the kernel. Without it: " + OURS,
    ),
    "C308": ManualEntry(
        "The rules about races and barriers were proved for the kernel and asked again about the decoded object; there "
        "one of them does not hold.",
        OURS,
    ),
    "C309": ManualEntry(
        "The decoded object was held against the kernel, instruction by instruction: where each is executed, in which "
        "order, and which bytes it touches, for every thread and every size. One of them is another; the note names a "
        "launch and a thread that show it.",
        OURS,
    ),
    "C310": ManualEntry(
        "Compiled kernels consist of a closed list of instructions: arithmetic, lane exchange, matrix instructions, "
        "accesses, the branches that are followed, barriers and waits. The object holds another one, which nothing "
        "that reads objects understands.",
        OURS,
    ),
    "C401": ManualEntry(
        "The file is no gfx942 code object, is damaged, or has no such kernel.",
        "name a `.hsaco` or `.co` for gfx942, and a kernel it holds (`--kernel`).",
    ),
    "C402": ManualEntry(
        "The object refers to symbols or data that only a full linker could supply: another function, writable data, a "
        "relocation for a dynamic loader.",
        OURS,
    ),
}
