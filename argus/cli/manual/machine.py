"""Codes of the simulated machine; each report names workgroup, wave, lane, instruction and address."""

from __future__ import annotations

from collections.abc import Mapping

from argus.cli.manual.entry import ManualEntry

MACHINE: Mapping[str, ManualEntry] = {
    "ARG-M101": ManualEntry(
        "Two waves touched the same bytes of LDS, or two waves or workgroups the same bytes of global memory, at least "
        "one of them wrote, and no barrier or atomic orders them. Both instructions are named.",
        "a barrier between the two, after the wait for the first; between workgroups an atomic or separate bytes.",
    ),
    "ARG-M102": ManualEntry(
        "A result of a memory instruction is used, or its register overwritten, before an `s_waitcnt` made sure of it; "
        "or a direct copy to LDS and an LDS instruction of one wave touch common bytes without a wait between.",
        "wait for the counter and count that the message names before the instruction.",
    ),
    "ARG-M103": ManualEntry(
        "Two dependent instructions follow each other more closely than the hardware allows without `s_nop`. As a "
        "note: LLVM keeps this distance, shipped AMD assembly does not.",
        "put `s_nop` or independent instructions between them, as many wait states as are missing.",
    ),
    "ARG-M104": ManualEntry(
        "A register or byte of LDS that nobody wrote decides a result, an address or a branch. If it came through LDS, "
        "the load that read it is the other side.",
        "write it first in every lane that uses it; look for a guard or a tile edge that leaves some lanes out.",
    ),
    "ARG-M105": ManualEntry(
        "An access leaves its allocation in global memory, the LDS of the workgroup, or the scratch of the wave.",
        "compare the address with the sizes of the launch: often a missing guard at an edge, an argument out of order, "
        "or a buffer that is too small.",
    ),
    "ARG-M106": ManualEntry(
        "Waves of one workgroup executed different numbers of barriers before they ended.",
        "take the barrier out of a branch or loop that not all waves take alike.",
    ),
    "ARG-M107": ManualEntry(
        "The launch executed more instructions than its limit without ending.",
        "look at the loop the report names: its counter or the size it compares with. `max_steps` of "
        "`machine.Options` raises the limit for a long kernel.",
    ),
    "ARG-M108": ManualEntry(
        "The launch or an instruction asks for more than there is: threads, LDS, or a register beyond those the "
        "object's descriptor allocates.",
        "a smaller block or less dynamic LDS; for a register, the object's metadata and its code do not fit together.",
    ),
    "ARG-M109": ManualEntry(
        "The machine knows the instruction but cannot execute this form of it, or this executor cannot.",
        'run with the other executor (`executor="checking"` or `"jit"`); docs/extending.md says how to add a form.',
    ),
    "ARG-M110": ManualEntry(
        "The bytes at the program counter are no gfx942 instruction, or execution left the kernel's code.",
        "check that the object is for gfx942 and that the jump named leads into its code.",
    ),
    "ARG-M111": ManualEntry(
        "Grid, block or arguments do not fit the kernel's descriptor: their number, size, type or order.",
        "compare with what the message says the kernel takes, which is the list in the object's metadata.",
    ),
    "ARG-M112": ManualEntry(
        "Lanes of one store write different values to the same address; which of them stays is not defined.",
        "let one lane write, or give each lane its own address.",
    ),
    "ARG-M113": ManualEntry(
        "The kernel executed `s_trap`: it found a condition of its own violated.",
        "look at the branch before the trap; compilers put it behind assertions and code that cannot be reached.",
    ),
    "ARG-M114": ManualEntry(
        "Of what one instruction stored to LDS a part is read and the rest never, while other data is read too often: "
        "an address is probably off by a little. A warning, since right kernels may do it (docs/machine.md).",
        "compare the addresses of the store and of the reader it names.",
    ),
}
