"""The kernel descriptor of an object: where the code begins, what a workgroup is given, how floats are rounded.

    group_segment_fixed_size    the kernel's LDS
    entry                       the kernel's first instruction
    float mode                  nearest even, subnormals kept, NaN clamped to 0

A launch follows the descriptor, whatever code stands beside it, so each of these is the one value that the kernel and
the metadata of the object allow; others are C304. Registers are held against instructions (`known_instructions`),
inputs of a wave against their uses (`inputs`).
"""

from __future__ import annotations

from argus.compile.decoded import Decoded
from argus.compile.object.inputs import descriptor_of, entry_of
from argus.ir.compile_error import CompileError
from argus.ir.kernel import Kernel
from argus.machine.descriptor import FloatMode

FLOATS = FloatMode(
    round_f32=0,
    round_f16_f64=0,
    denorm_f32=3,
    denorm_f16_f64=3,
    dx10_clamp=True,
    ieee=False,
    fp16_overflow=False,
)


def refuse_other_descriptors(kernel: Kernel, code_object: bytes, code: Decoded) -> None:
    """Raises CompileError C304 where the descriptor is not that of the kernel."""
    found = descriptor_of(code_object, kernel.name)
    begins, symbol = entry_of(code_object, kernel.name)
    rows: tuple[tuple[str, object, object], ...] = (
        ("bytes of LDS", found.group_segment_fixed_size, kernel.lds_bytes),
        ("private bytes", found.private_segment_fixed_size, code.metadata.get(".private_segment_fixed_size")),
        ("bytes of arguments", found.kernarg_size, code.metadata.get(".kernarg_segment_size")),
        ("first instruction", begins, symbol),
        ("float mode", found.float_mode, FLOATS),
        ("lanes of a wave", 32 if found.wavefront_size32 else 64, 64),
        ("dynamic stack", found.dynamic_stack, False),
        ("split workgroup", found.tg_split, False),
    )
    for what, have, want in rows:
        if have != want:
            raise CompileError("C304", f"{what} of the kernel descriptor: {have}, not {want}", kernel.span)
