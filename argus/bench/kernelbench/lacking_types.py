"""Operations that torch lacks in a type on the CPU, made in f32 (average pooling of volumes in bf16 is one).

with InF32WhereLacking():
    module(x)                 as torch has it; what it has no kernel for is computed in f32, and its result rounded
"""

from __future__ import annotations

from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves, tree_map_only


class InF32WhereLacking(TorchDispatchMode):
    """Operations without a kernel for their type run in f32."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        try:
            return func(*args, **kwargs)
        except NotImplementedError:
            narrow = {x.dtype for x in tree_leaves((args, kwargs)) if isinstance(x, torch.Tensor)} - {torch.float32}
            if len(narrow) != 1:
                raise
            [kind] = narrow
            wide = tree_map_only(torch.Tensor, lambda x: x.float() if x.dtype == kind else x, (args, kwargs))
            made = func(*wide[0], **wide[1])
            return tree_map_only(torch.Tensor, lambda x: x.to(kind) if x.dtype == torch.float32 else x, made)
