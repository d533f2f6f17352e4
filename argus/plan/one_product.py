"""The graph of one matrix product: what `argus tune --product` plans.

one_product(1024, 8192, 8192, "bf16").text()
"""

from __future__ import annotations

from argus.plan.graph import Graph, Node


def one_product(m: int, n: int, k: int, dtype: str, *, a_by_k: bool = False, b_by_k: bool = False) -> Graph:
    """C[m, n] = A @ B; `a_by_k`: A is stored as [K, M], `b_by_k`: B as [K, N], else as [N, K]."""
    nodes = [Node("a", "input", shape=(k, m) if a_by_k else (m, k), dtype=dtype)]
    nodes += [Node("b", "input", shape=(k, n) if b_by_k else (n, k), dtype=dtype)]
    turned = {"dims": (1, 0)}
    left, right = ("at" if a_by_k else "a"), ("b" if b_by_k else "bt")
    nodes += [Node("at", "permute", ("a",), turned, (m, k), dtype)] if a_by_k else []
    nodes += [] if b_by_k else [Node("bt", "permute", ("b",), turned, (k, n), dtype)]
    nodes += [Node("c", "matmul", (left, right), {}, (m, n), dtype)]
    return Graph({node.name: node for node in nodes}, ("a", "b"), (), ("c",))
