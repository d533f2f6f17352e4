"""Typed transformations of kernel source, one per technique of the knowledge base that the language can say.

    new = lower(text, "staging", {"barriers": "both"})

A transformation looks for its place in the syntax tree, changes it, inserts the assertions its entry names, and prints
the file again. It raises `NotApplicableError` where it has no place, and never asks whether the result is right: that
is the judge's question. None of them contains a kernel.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from argus.agent.lower.attention import causal_order, causal_skip, key_tiles, query_waves
from argus.agent.lower.banks import swizzle
from argus.agent.lower.blocking import blocking
from argus.agent.lower.chiplets import chiplet_tiles
from argus.agent.lower.direct import direct_to_lds
from argus.agent.lower.epilogue import epilogue
from argus.agent.lower.experts import expert_blocks, gathered_rows
from argus.agent.lower.experts_ahead import chiplet_rows, expert_ring, wide_scales
from argus.agent.lower.fragments import matrix_shape, swap_operands, wide_fragments
from argus.agent.lower.lazy import lazy_rescale
from argus.agent.lower.online import online_rows
from argus.agent.lower.overlap import softmax_schedule
from argus.agent.lower.packed import packed_arithmetic
from argus.agent.lower.pairs import causal_pairs
from argus.agent.lower.passes import fused_stages
from argus.agent.lower.persistent import persistent
from argus.agent.lower.phases import wave_groups
from argus.agent.lower.pipeline import software_pipeline
from argus.agent.lower.placement import accumulators, grid_order, waves_per_simd
from argus.agent.lower.ragged import range_guards
from argus.agent.lower.ring import lds_ring
from argus.agent.lower.row_waves import row_waves
from argus.agent.lower.rows import reciprocal, row_block, row_resident, row_vector
from argus.agent.lower.schedule import fetch_order, interleave, priority
from argus.agent.lower.sizes import resize
from argus.agent.lower.skew import score_pipeline
from argus.agent.lower.softmax import diagonal_mask, finite_weights, fused_scale
from argus.agent.lower.source import NotApplicableError, Source
from argus.agent.lower.split import split_k
from argus.agent.lower.stagger import stagger_k
from argus.agent.lower.staging import staging
from argus.agent.lower.unrolling import unroll
from argus.agent.lower.values import single_reads, wide_values

Lowering = Callable[[Source, Mapping[str, object]], None]

LOWERINGS: Mapping[str, Lowering] = {
    "accumulators": accumulators,
    "blocking": blocking,
    "causal_order": causal_order,
    "causal_skip": causal_skip,
    "chiplet_rows": chiplet_rows,
    "chiplet_tiles": chiplet_tiles,
    "diagonal_mask": diagonal_mask,
    "direct_to_lds": direct_to_lds,
    "epilogue": epilogue,
    "expert_blocks": expert_blocks,
    "expert_ring": expert_ring,
    "fetch_order": fetch_order,
    "finite_weights": finite_weights,
    "fused_scale": fused_scale,
    "fused_stages": fused_stages,
    "gathered_rows": gathered_rows,
    "grid_order": grid_order,
    "interleave": interleave,
    "key_tiles": key_tiles,
    "lazy_rescale": lazy_rescale,
    "lds_ring": lds_ring,
    "matrix_shape": matrix_shape,
    "online_rows": online_rows,
    "packed_arithmetic": packed_arithmetic,
    "causal_pairs": causal_pairs,
    "persistent": persistent,
    "priority": priority,
    "query_waves": query_waves,
    "range_guards": range_guards,
    "reciprocal": reciprocal,
    "resize": resize,
    "row_block": row_block,
    "row_resident": row_resident,
    "row_vector": row_vector,
    "row_waves": row_waves,
    "score_pipeline": score_pipeline,
    "single_reads": single_reads,
    "softmax_schedule": softmax_schedule,
    "software_pipeline": software_pipeline,
    "split_k": split_k,
    "stagger_k": stagger_k,
    "staging": staging,
    "swap_operands": swap_operands,
    "swizzle": swizzle,
    "unroll": unroll,
    "wave_groups": wave_groups,
    "waves_per_simd": waves_per_simd,
    "wide_fragments": wide_fragments,
    "wide_scales": wide_scales,
    "wide_values": wide_values,
}


def lower(text: str, name: str, params: Mapping[str, object]) -> str:
    """The file after a transformation."""
    source = Source(text)
    LOWERINGS[name](source, params)
    return source.text()


__all__ = ["LOWERINGS", "NotApplicableError", "lower"]
