"""All operator templates, in the order of docs/operators.md."""

from __future__ import annotations

from bench.templates.attention import ATTENTION
from bench.templates.convolutions import CONVOLUTIONS
from bench.templates.fused_reductions import FUSED_REDUCTIONS
from bench.templates.maps import MAPS
from bench.templates.norms import NORMS
from bench.templates.places import PLACES
from bench.templates.products import PRODUCTS
from bench.templates.reductions import REDUCTIONS
from bench.templates.row_statistics import ROW_STATISTICS
from bench.templates.scans import SCANS
from bench.templates.template import Template
from bench.templates.windows import WINDOWS

TEMPLATES: tuple[Template, ...] = (
    *MAPS, *REDUCTIONS, *FUSED_REDUCTIONS, *SCANS, *PLACES, *NORMS, *PRODUCTS, *ROW_STATISTICS, *ATTENTION, *WINDOWS,
    *CONVOLUTIONS
)  # fmt: skip
