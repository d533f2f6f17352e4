"""ATen's convolutions and pooling as nodes of a graph (`aten`). What no template has is refused.

The bias of a convolution is a map after it; adaptive pooling to one element is a mean.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from argus.torch.export import Conversion

Converter = Callable[..., str]


def convolution(
    at: Conversion, x: Any, weight: Any, bias: Any, stride: Sequence[int], padding: Sequence[int],
    dilation: Sequence[int], transposed: bool, output_padding: Sequence[int], groups: int,
) -> str:  # fmt: skip
    """The bias is a map after it."""
    window: dict[str, Any] = {"stride": tuple(stride), "padding": tuple(padding), "dilation": tuple(dilation)}
    made = at.add(
        "conv_transpose" if transposed else "convolution",
        (at.name_of(x), at.name_of(weight)),
        None,
        **window,
        groups=groups,
    )
    if bias is None:
        return made
    features = at.shape[1]
    along = at.add("view", (at.name_of(bias),), (features,) + (1,) * (len(at.shape) - 2))
    return at.add("add", (made, along))


def pool(kind: str, rank: int) -> Converter:
    def each(value: Any, default: Any = None) -> tuple[int, ...]:
        found = value if value not in (None, [], ()) else default
        listed = [found] if isinstance(found, int) else list(found)
        return tuple(listed * rank if len(listed) == 1 else listed)

    def convert(
        at: Conversion, x: Any, window: Any, stride: Any = None, padding: Any = 0, *rest: Any, **named: Any
    ) -> str:
        dilation = each(rest[0]) if kind == "max" and rest else (1,) * rank
        ceiling = (rest[1] if len(rest) > 1 else False) if kind == "max" else (rest[0] if rest else False)
        if kind == "mean" and len(rest) > 1 and (not rest[1] or (len(rest) > 2 and rest[2] is not None)):
            raise at.refused("average pooling that does not count the padding, or divides by a number: not yet")
        if ceiling or named:
            raise at.refused("pooling with ceil_mode has no template; nearest is without")
        attributes: dict[str, Any] = {
            "kind": kind,
            "window": each(window),
            "stride": each(stride, window),
            "padding": each(padding),
            "dilation": dilation,
        }
        return at.add("pool", (at.name_of(x),), **attributes)

    return convert


def adaptive_mean(at: Conversion, x: Any, sizes: Sequence[int]) -> str:
    if any(size != 1 for size in sizes):
        raise at.refused(f"adaptive pooling to {list(sizes)}: not yet; nearest is to 1")
    rank = len(at.node_of(x).shape)
    return at.add("reduce", (at.name_of(x),), kind="mean", dims=tuple(range(rank - len(sizes), rank)), keepdim=True)
