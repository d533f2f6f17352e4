"""Code objects on a GPU: loaded once per device and digest, with where each argument goes.

    loaded = modules_of(calls).kernel(device, code, "gemm", stream)
    calls.launch(loaded.handle, grid, block, 0, stream, loaded.packed(values))

Loading copies the object to the GPU and takes long; a launch must not. An entry stays for the life of the process, as
in every runtime that compiles kernels, so a graph that was captured with it stays valid. Loading while a stream is
being captured is refused: HIP may do work then that must not be in a graph.

What an object may run on stands in its ELF flags. An MI300X reports `gfx942:sramecc+:xnack-`, or `xnack+` where page
faults are retried (`HSA_XNACK=1`); a feature that the object leaves open ("any") fits both, one it states must be equal
(LLVM's user guide for AMDGPU, target IDs). HIP says only "no kernel image"; the message here says which.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, lru_cache

import numpy as np

from argus import machine
from argus.device.hip_calls import HipCalls, HipError
from argus.machine.loader import KernelInfo

KEPT_DIGESTS = 4096


@dataclass(frozen=True, slots=True)
class KernelOnGpu:
    """A kernel on a device: HIP's handle, and offset and size of each explicit argument."""

    handle: int
    places: tuple[tuple[int, int], ...]

    def packed(self, values: Sequence[np.generic]) -> bytes:
        """The explicit arguments at the offsets the object's metadata gives; the runtime adds hidden ones itself."""
        data = bytearray(max((offset + size for offset, size in self.places), default=0))
        for (offset, size), value in zip(self.places, values, strict=True):
            data[offset : offset + size] = value.tobytes()
        return bytes(data)


def loaded_kernel(calls: HipCalls, module: int, code: bytes, name: str) -> KernelOnGpu:
    """The kernel `name` of a module that was loaded from `code`."""
    return KernelOnGpu(calls.module_function(module, name), _places(machine.load(code).kernel(name).info))


def _places(info: KernelInfo) -> tuple[tuple[int, int], ...]:
    return tuple((arg.offset, arg.size) for arg in info.args if not arg.hidden)


class ModuleCache:
    """The modules of one HIP runtime, by device and digest of their code."""

    def __init__(self, calls: HipCalls) -> None:
        self._calls = calls
        self._modules: dict[tuple[int, str], int] = {}
        self._kernels: dict[tuple[int, str, str], KernelOnGpu] = {}
        self._lock = threading.Lock()

    def kernel(self, device: int, code: bytes, name: str, stream: int) -> KernelOnGpu:
        """The kernel on `device`, which is current; loaded if it is not there yet."""
        key = device, digest(code), name
        found = self._kernels.get(key)
        if found is None:
            with self._lock:
                found = self._kernels.get(key) or self._load(*key, code, stream)
        return found

    def _load(self, device: int, key: str, name: str, code: bytes, stream: int) -> KernelOnGpu:
        if self._calls.capturing(stream):
            told = f"{name} is not on GPU {device} yet and cannot be loaded while a graph is captured"
            raise HipError(f"{told}; launch it once before, or call HipDevice.prepare", "ARG-D204")
        if (device, key) not in self._modules:
            refuse_other_mode(code, name, self._calls.architecture(device))
            self._modules[device, key] = self._calls.module_load(code)
        made = loaded_kernel(self._calls, self._modules[device, key], code, name)
        return self._kernels.setdefault((device, key, name), made)


@lru_cache(maxsize=KEPT_DIGESTS)
def digest(code: bytes) -> str:
    """SHA-256 of an object; computed once per `bytes`, which remember their hash."""
    return hashlib.sha256(code).hexdigest()


def refuse_other_mode(code: bytes, name: str, architecture: str) -> None:
    """An object that states `xnack+` or `xnack-` runs in that mode only."""
    states = {word[:-1]: word[-1] for word in architecture.split(":")[1:]}
    stated = machine.load(code).code.isa.xnack
    have = {"+": "on", "-": "off"}.get(states.get("xnack", ""))
    if have is not None and stated in ("on", "off") and stated != have:
        told = f"{name} was compiled for xnack {stated}, the GPU runs with xnack {have} ({architecture})"
        raise HipError(f"{told}; set HSA_XNACK={int(stated == 'on')} before the process starts", "ARG-D205")


@cache
def modules_of(calls: HipCalls) -> ModuleCache:
    """The one cache of a HIP runtime, whoever asks."""
    return ModuleCache(calls)
