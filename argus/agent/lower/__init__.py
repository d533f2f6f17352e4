"""Typed transformations of kernel source, one per technique of the knowledge base that the language can say.

    new = lower(text, "staging", {"barriers": "both"})

A transformation looks for its place in the syntax tree, changes it, inserts the assertions its entry names, and prints
the file again. It raises `NotApplicableError` where it has no place, and never asks whether the result is right: that
is the judge's question. None of them contains a kernel.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from argus.agent.lower.accumulation_registers import accumulation_registers
from argus.agent.lower.block_sizes import block_sizes
from argus.agent.lower.causal_order import causal_order
from argus.agent.lower.causal_pairs import causal_pairs
from argus.agent.lower.causal_skip import causal_skip
from argus.agent.lower.channel_blocks import channel_blocks
from argus.agent.lower.chip_filling_tiles import chip_filling_tiles
from argus.agent.lower.chiplet_order import chiplet_order
from argus.agent.lower.chiplet_rows import chiplet_rows
from argus.agent.lower.chiplet_tiles import chiplet_tiles
from argus.agent.lower.diagonal_mask import diagonal_mask
from argus.agent.lower.direct_to_lds import direct_to_lds
from argus.agent.lower.epilogue_pieces import epilogue_pieces
from argus.agent.lower.expert_blocks import expert_blocks
from argus.agent.lower.expert_ring import expert_ring
from argus.agent.lower.fetch_order import fetch_order
from argus.agent.lower.finite_rounding import finite_rounding
from argus.agent.lower.fragment_prefetch import fragment_prefetch
from argus.agent.lower.full_rows import full_rows
from argus.agent.lower.fused_scale import fused_scale
from argus.agent.lower.fused_stages import fused_stages
from argus.agent.lower.gathered_rows import gathered_rows
from argus.agent.lower.grouped_order import grouped_order
from argus.agent.lower.halo_prefetch import halo_prefetch
from argus.agent.lower.halo_staging import halo_staging
from argus.agent.lower.instruction_scheduling import instruction_scheduling
from argus.agent.lower.just_in_time_fragments import just_in_time_fragments
from argus.agent.lower.key_tiles import key_tiles
from argus.agent.lower.late_sums import late_sums
from argus.agent.lower.lazy_rescale import lazy_rescale
from argus.agent.lower.lds_padding import lds_padding
from argus.agent.lower.lds_ring import lds_ring
from argus.agent.lower.lds_staging import lds_staging
from argus.agent.lower.lds_swizzle import lds_swizzle
from argus.agent.lower.loop_unrolling import loop_unrolling
from argus.agent.lower.matrix_shape import matrix_shape
from argus.agent.lower.occupancy import occupancy
from argus.agent.lower.online_softmax import online_softmax
from argus.agent.lower.packed_arithmetic import packed_arithmetic
from argus.agent.lower.persistent_groups import persistent_groups
from argus.agent.lower.pixel_blocks import pixel_blocks
from argus.agent.lower.query_waves import query_waves
from argus.agent.lower.ragged import restored, straightened
from argus.agent.lower.range_guards import range_guards
from argus.agent.lower.reciprocal import reciprocal
from argus.agent.lower.register_blocking import register_blocking
from argus.agent.lower.result_rows import result_rows
from argus.agent.lower.result_vectors import result_vectors
from argus.agent.lower.row_resident import row_resident
from argus.agent.lower.row_vectors import row_vectors
from argus.agent.lower.rows_per_workgroup import rows_per_workgroup
from argus.agent.lower.score_pipeline import score_pipeline
from argus.agent.lower.shared_rows import shared_rows
from argus.agent.lower.single_fragments import single_fragments
from argus.agent.lower.softmax_schedule import softmax_schedule
from argus.agent.lower.software_pipelining import software_pipelining
from argus.agent.lower.source import NotApplicableError, Source
from argus.agent.lower.split_k import split_k
from argus.agent.lower.stagger_k import stagger_k
from argus.agent.lower.tap_pieces import tap_pieces
from argus.agent.lower.tap_pipeline import tap_pipeline
from argus.agent.lower.transpose_on_staging import transpose_on_staging
from argus.agent.lower.vector_stores import vector_stores
from argus.agent.lower.wave_groups import wave_groups
from argus.agent.lower.wave_priority import wave_priority
from argus.agent.lower.waves_per_row import waves_per_row
from argus.agent.lower.wide_fragments import wide_fragments
from argus.agent.lower.wide_scales import wide_scales
from argus.agent.lower.wide_values import wide_values

Lowering = Callable[[Source, Mapping[str, object]], None]

_TECHNIQUES: tuple[Lowering, ...] = (
    accumulation_registers,
    block_sizes,
    causal_order,
    causal_pairs,
    causal_skip,
    channel_blocks,
    chip_filling_tiles,
    chiplet_order,
    chiplet_rows,
    chiplet_tiles,
    diagonal_mask,
    direct_to_lds,
    epilogue_pieces,
    expert_blocks,
    expert_ring,
    fetch_order,
    finite_rounding,
    fragment_prefetch,
    full_rows,
    fused_scale,
    fused_stages,
    gathered_rows,
    grouped_order,
    halo_prefetch,
    halo_staging,
    instruction_scheduling,
    just_in_time_fragments,
    key_tiles,
    late_sums,
    lazy_rescale,
    lds_padding,
    lds_ring,
    lds_staging,
    lds_swizzle,
    loop_unrolling,
    matrix_shape,
    occupancy,
    online_softmax,
    packed_arithmetic,
    persistent_groups,
    pixel_blocks,
    query_waves,
    range_guards,
    reciprocal,
    register_blocking,
    result_rows,
    result_vectors,
    row_resident,
    row_vectors,
    rows_per_workgroup,
    score_pipeline,
    shared_rows,
    single_fragments,
    softmax_schedule,
    software_pipelining,
    split_k,
    stagger_k,
    tap_pieces,
    tap_pipeline,
    transpose_on_staging,
    vector_stores,
    wave_groups,
    wave_priority,
    waves_per_row,
    wide_fragments,
    wide_scales,
    wide_values,
)
LOWERINGS: Mapping[str, Lowering] = {each.__name__.replace("_", "-"): each for each in _TECHNIQUES}
"""By the name of the technique: the entry of the knowledge base, the function and the file have it too."""


def lower(text: str, name: str, params: Mapping[str, object]) -> str:
    """The file after a transformation."""
    source = Source(text)
    ragged = straightened(source) if name != "range-guards" else None
    LOWERINGS[name](source, params)
    if ragged is not None:
        restored(source, ragged)
    return source.text()


__all__ = ["LOWERINGS", "NotApplicableError", "lower"]
