"""The part of the HIP runtime that a launch needs, as a table of typed calls over ctypes.

`HipCalls` is the interface; `load()` binds it to the `libamdhip64` that `hip_library` finds. Tests bind it to a stub
that checks the sequence of calls and runs the kernel on the simulated machine. Every call raises `HipError` with HIP's
own words when it fails.

The device-properties structure has changed between ROCm releases, so it is read as bytes and searched for the
architecture's name (`gfx942:sramecc+:xnack-`), which every release stores as text.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Sequence
from functools import cache
from typing import Any, Protocol

from argus.compile.export.hip_library import OWN, SYSTEM, LibraryPlace, places

PROPERTIES_BYTES = 16384
NAME_BYTES = 256
_PARAM_POINTER, _PARAM_SIZE, _PARAM_END = 1, 2, 3
_CAPTURE_OF_THIS_THREAD = 1


class HipError(RuntimeError):
    """A HIP call failed, or there is no usable HIP runtime or device; `code` is one of `CODES`."""

    def __init__(self, message: str, code: str = "ARG-D203") -> None:
        super().__init__(message)
        self.code = code


class HipCalls(Protocol):
    """What a launch asks of HIP. Handles and device pointers are plain integers."""

    def __hash__(self) -> int: ...
    def library(self) -> LibraryPlace: ...
    def runtime_version(self) -> int: ...
    def device_count(self) -> int: ...
    def architecture(self, device: int) -> str: ...
    def device_name(self, device: int) -> str: ...
    def device_bytes(self, device: int) -> int: ...
    def current_device(self) -> int: ...
    def set_device(self, device: int) -> None: ...
    def malloc(self, size: int) -> int: ...
    def free(self, pointer: int) -> None: ...
    def copy_in(self, pointer: int, data: bytes) -> None: ...
    def copy_out(self, pointer: int, size: int) -> bytes: ...
    def module_load(self, image: bytes) -> int: ...
    def module_unload(self, module: int) -> None: ...
    def module_function(self, module: int, name: str) -> int: ...
    def launch(
        self,
        function: int,
        grid: Sequence[int],
        block: Sequence[int],
        lds: int,
        stream: int,
        arguments: bytes,
    ) -> None: ...
    def event_create(self) -> int: ...
    def event_record(self, event: int, stream: int) -> None: ...
    def event_milliseconds(self, start: int, stop: int) -> float: ...
    def event_destroy(self, event: int) -> None: ...
    def synchronize(self, stream: int) -> None: ...
    def capturing(self, stream: int) -> bool: ...
    def stream_create(self) -> int: ...
    def stream_destroy(self, stream: int) -> None: ...
    def capture_begin(self, stream: int) -> None: ...
    def capture_end(self, stream: int) -> int: ...
    def graph_launch(self, graph: int, stream: int) -> None: ...
    def graph_destroy(self, graph: int) -> None: ...


def load() -> HipCalls:
    """The HIP runtime of this machine; `HipError` if there is none."""
    tried: list[str] = []
    for place in places():
        try:
            return _bound(place)
        except OSError as error:
            why = "" if place.how == SYSTEM else f" ({place.how}: {str(error).rpartition(': ')[2]})"
            tried.append(f"{place.file}{why}")
    raise HipError(f"no HIP runtime: tried {', '.join(tried)}; {OWN} names another file", "ARG-D201")


@cache
def _bound(place: LibraryPlace) -> _Library:
    """One table per library and process: what is loaded through it is shared."""
    return _Library(ctypes.CDLL(place.file), place)


class _Library:
    """`HipCalls` on the real library."""

    def __init__(self, library: ctypes.CDLL, place: LibraryPlace) -> None:
        self._library, self._place = library, place
        self._library.hipGetErrorString.restype = ctypes.c_char_p
        self._call("hipInit", ctypes.c_uint(0))

    def library(self) -> LibraryPlace:
        return self._place

    def runtime_version(self) -> int:
        version = ctypes.c_int()
        self._call("hipRuntimeGetVersion", ctypes.byref(version))
        return version.value

    def _call(self, name: str, *args: Any) -> None:
        code = getattr(self._library, name)(*args)
        if code:
            text = self._library.hipGetErrorString(ctypes.c_int(code))
            raise HipError(f"{name}: {text.decode(errors='replace') if text else 'error'} ({code})")

    def _handle(self, name: str, *args: Any) -> int:
        handle = ctypes.c_void_p()
        self._call(name, ctypes.byref(handle), *args)
        return handle.value or 0

    def device_count(self) -> int:
        count = ctypes.c_int()
        self._call("hipGetDeviceCount", ctypes.byref(count))
        return count.value

    def architecture(self, device: int) -> str:
        buffer = ctypes.create_string_buffer(PROPERTIES_BYTES)
        name = "hipGetDevicePropertiesR0600"
        if not hasattr(self._library, name):
            name = "hipGetDeviceProperties"
        self._call(name, buffer, ctypes.c_int(device))
        found = re.search(rb"gfx[0-9a-f]+(:[a-z]+[+-])*", buffer.raw)
        return found.group().decode() if found else ""

    def device_name(self, device: int) -> str:
        buffer = ctypes.create_string_buffer(NAME_BYTES)
        self._call("hipDeviceGetName", buffer, ctypes.c_int(NAME_BYTES), ctypes.c_int(device))
        return buffer.value.decode(errors="replace")

    def device_bytes(self, device: int) -> int:
        size = ctypes.c_size_t()
        self._call("hipDeviceTotalMem", ctypes.byref(size), ctypes.c_int(device))
        return size.value

    def current_device(self) -> int:
        device = ctypes.c_int()
        self._call("hipGetDevice", ctypes.byref(device))
        return device.value

    def set_device(self, device: int) -> None:
        self._call("hipSetDevice", ctypes.c_int(device))

    def malloc(self, size: int) -> int:
        return self._handle("hipMalloc", ctypes.c_size_t(size))

    def free(self, pointer: int) -> None:
        self._call("hipFree", ctypes.c_void_p(pointer))

    def copy_in(self, pointer: int, data: bytes) -> None:
        self._call("hipMemcpyHtoD", ctypes.c_void_p(pointer), data, ctypes.c_size_t(len(data)))

    def copy_out(self, pointer: int, size: int) -> bytes:
        buffer = ctypes.create_string_buffer(size)
        self._call("hipMemcpyDtoH", buffer, ctypes.c_void_p(pointer), ctypes.c_size_t(size))
        return buffer.raw

    def module_load(self, image: bytes) -> int:
        return self._handle("hipModuleLoadData", image)

    def module_unload(self, module: int) -> None:
        self._call("hipModuleUnload", ctypes.c_void_p(module))

    def module_function(self, module: int, name: str) -> int:
        return self._handle("hipModuleGetFunction", ctypes.c_void_p(module), name.encode())

    def launch(
        self,
        function: int,
        grid: Sequence[int],
        block: Sequence[int],
        lds: int,
        stream: int,
        arguments: bytes,
    ) -> None:
        buffer = ctypes.create_string_buffer(arguments, len(arguments))
        size = ctypes.c_size_t(len(arguments))
        extra = (ctypes.c_void_p * 5)(
            _PARAM_POINTER,
            ctypes.cast(buffer, ctypes.c_void_p),
            _PARAM_SIZE,
            ctypes.cast(ctypes.byref(size), ctypes.c_void_p),
            _PARAM_END,
        )
        numbers = [ctypes.c_uint(n) for n in (*grid, *block, lds)]
        self._call("hipModuleLaunchKernel", ctypes.c_void_p(function), *numbers, ctypes.c_void_p(stream), None, extra)

    def event_create(self) -> int:
        return self._handle("hipEventCreate")

    def event_record(self, event: int, stream: int) -> None:
        self._call("hipEventRecord", ctypes.c_void_p(event), ctypes.c_void_p(stream))

    def event_milliseconds(self, start: int, stop: int) -> float:
        elapsed = ctypes.c_float()
        self._call("hipEventSynchronize", ctypes.c_void_p(stop))
        self._call("hipEventElapsedTime", ctypes.byref(elapsed), ctypes.c_void_p(start), ctypes.c_void_p(stop))
        return elapsed.value

    def event_destroy(self, event: int) -> None:
        self._call("hipEventDestroy", ctypes.c_void_p(event))

    def synchronize(self, stream: int) -> None:
        self._call("hipStreamSynchronize", ctypes.c_void_p(stream))

    def capturing(self, stream: int) -> bool:
        """Whether what is put on the stream now becomes part of a graph."""
        status = ctypes.c_int()
        self._call("hipStreamIsCapturing", ctypes.c_void_p(stream), ctypes.byref(status))
        return status.value != 0

    def stream_create(self) -> int:
        return self._handle("hipStreamCreate")

    def stream_destroy(self, stream: int) -> None:
        self._call("hipStreamDestroy", ctypes.c_void_p(stream))

    def capture_begin(self, stream: int) -> None:
        self._call("hipStreamBeginCapture", ctypes.c_void_p(stream), ctypes.c_int(_CAPTURE_OF_THIS_THREAD))

    def capture_end(self, stream: int) -> int:
        """The captured launches as a graph that can be launched."""
        captured = ctypes.c_void_p()
        self._call("hipStreamEndCapture", ctypes.c_void_p(stream), ctypes.byref(captured))
        try:
            return self._handle("hipGraphInstantiate", captured, None, None, ctypes.c_size_t(0))
        finally:
            self._call("hipGraphDestroy", captured)

    def graph_launch(self, graph: int, stream: int) -> None:
        self._call("hipGraphLaunch", ctypes.c_void_p(graph), ctypes.c_void_p(stream))

    def graph_destroy(self, graph: int) -> None:
        self._call("hipGraphExecDestroy", ctypes.c_void_p(graph))
