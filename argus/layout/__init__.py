"""Index expressions and layouts: where data lives, as exact mathematics.

    from argus.layout import Layout, Owner, expr as E

    LDS  = Layout(row=(256, 128), chunk=(8, 16), e=(8, 2), k=("chunk", "e")).xor(chunk="row[0:3]")
    COPY = Owner(p=8, t=256, e=8, row="p*32 + t//8", k="t%8*8 + e")
    LDS.compose(COPY)                  # the address each thread writes, again a layout

expr.py holds the expressions, layout.py and owner.py the two values an author writes; the other files have one idea
each.  This room imports nothing of Argus outside itself.
"""

from __future__ import annotations

from argus.layout.error import LayoutError
from argus.layout.expr import Expr, ExprError
from argus.layout.layout import Layout
from argus.layout.owner import Owner

__all__ = ["Expr", "ExprError", "Layout", "LayoutError", "Owner"]
