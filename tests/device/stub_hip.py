"""A stub of the HIP runtime: memory is bytes, launches run on the simulated machine, misuse is an assertion.

A pointer may lie inside an allocation, as that of a view does; the kernel then sees the bytes from there to its end, so
the machine reports whatever is touched beyond. While a stream is captured only a launch is allowed; it is kept, and
executed when the graph is launched.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

import numpy as np

from argus import machine
from argus.compile.export.hip_library import LibraryPlace


class StubHip:
    """A HIP runtime of numbers: memory is bytes, a launch is executed by the machine, misuse is an assertion."""

    def __init__(self, architectures: Sequence[str] = ("gfx90a:sramecc+:xnack-", "gfx942:sramecc+:xnack-")) -> None:
        self.architectures = list(architectures)
        self.memory: dict[int, bytearray] = {}
        self.modules: dict[int, bytes] = {}
        self.sizes: list[int] = []
        self.loaded_on: dict[int, int] = {}
        self.functions: dict[int, tuple[int, str]] = {}
        self.events: set[int] = set()
        self.recorded: list[int] = []
        self.device = 0
        self.launched: list[tuple[int, int]] = []
        self.log: list[str] = []
        self.captured: set[int] = set()
        self.streams: set[int] = set()
        self.graphs: dict[int, list[tuple[int, Sequence[int], Sequence[int], int, int, bytes]]] = {}
        self._recording: dict[int, list[tuple[int, Sequence[int], Sequence[int], int, int, bytes]]] = {}
        self._next = 0x1000

    def _new(self) -> int:
        self._next += 0x1000000
        return self._next

    def _not_captured(self) -> None:
        assert not self.captured, "a call that may not be made while a graph is captured"

    def library(self) -> LibraryPlace:
        return LibraryPlace("stub", "stub_hip.py")

    def runtime_version(self) -> int:
        return 60342133

    def device_name(self, device: int) -> str:
        return "AMD Instinct MI300X"

    def device_bytes(self, device: int) -> int:
        return 192 << 30

    def capturing(self, stream: int) -> bool:
        return stream in self.captured

    def device_count(self) -> int:
        return len(self.architectures)

    def architecture(self, device: int) -> str:
        return self.architectures[device]

    def current_device(self) -> int:
        return self.device

    def set_device(self, device: int) -> None:
        self.device = device
        self.log.append("set_device")

    def malloc(self, size: int) -> int:
        self._not_captured()
        pointer = self._new()
        self.sizes.append(size)
        self.memory[pointer] = bytearray(b"\xa5" * size)
        self.log.append("malloc")
        return pointer

    def free(self, pointer: int) -> None:
        self._not_captured()
        del self.memory[pointer]

    def copy_in(self, pointer: int, data: bytes) -> None:
        self._not_captured()
        assert len(data) <= len(self.memory[pointer])
        self.memory[pointer][: len(data)] = data

    def copy_out(self, pointer: int, size: int) -> bytes:
        self._not_captured()
        assert "synchronize" in self.log, "results were read before the stream was synchronised"
        return bytes(self.memory[pointer][:size])

    def module_load(self, image: bytes) -> int:
        self._not_captured()
        handle = self._new()
        self.modules[handle] = image
        self.loaded_on[handle] = self.device
        self.log.append("module_load")
        return handle

    def module_unload(self, module: int) -> None:
        self._not_captured()
        del self.modules[module]

    def module_function(self, module: int, name: str) -> int:
        handle = self._new()
        self.functions[handle] = (module, name)
        return handle

    def launch(
        self, function: int, grid: Sequence[int], block: Sequence[int], lds: int, stream: int, arguments: bytes
    ) -> None:
        assert "gfx942" in self.architectures[self.device], "the launch must go to a gfx942, not to the first device"
        if stream in self._recording:
            self._recording[stream].append((function, tuple(grid), tuple(block), lds, stream, arguments))
            return
        self.launched.append((self.device, stream))
        module, name = self.functions[function]
        assert self.loaded_on[module] == self.device, "the module belongs to another device"
        kernel = machine.load(self.modules[module]).kernel(name)
        visible = [a for a in kernel.info.args if not a.hidden]
        values: list[object] = []
        arrays: list[tuple[int, np.ndarray, np.ndarray]] = []
        for arg in visible:
            raw = arguments[arg.offset : arg.offset + arg.size]
            if arg.value_kind == "global_buffer":
                (pointer,) = struct.unpack("<Q", raw)
                base, offset = self._inside(pointer)
                array = np.frombuffer(bytes(self.memory[base][offset:]), np.uint8).copy()
                arrays.append((pointer, array.copy(), array))
                values.append(array)
            else:
                values.append(raw)
        kernel(tuple(grid), tuple(block), *values, lds=lds)
        for pointer, before, array in arrays:
            if (before != array).any():
                base, offset = self._inside(pointer)
                self.memory[base][offset:] = array.tobytes()
        self.log.append("launch")

    def _inside(self, pointer: int) -> tuple[int, int]:
        """The allocation a pointer lies in, and how far in."""
        for base, data in self.memory.items():
            if base <= pointer < base + len(data):
                return base, pointer - base
        raise AssertionError("a pointer to no allocation")

    def event_create(self) -> int:
        self._not_captured()
        event = self._new()
        self.events.add(event)
        return event

    def event_record(self, event: int, stream: int) -> None:
        assert event in self.events
        self.recorded.append(event)
        self.log.append("record")

    def event_milliseconds(self, start: int, stop: int) -> float:
        self._not_captured()
        assert self.recorded[-2:] == [start, stop]
        return 1.25

    def event_destroy(self, event: int) -> None:
        self.events.remove(event)

    def synchronize(self, stream: int) -> None:
        self._not_captured()
        self.log.append("synchronize")

    def stream_create(self) -> int:
        self._not_captured()
        stream = self._new()
        self.streams.add(stream)
        return stream

    def stream_destroy(self, stream: int) -> None:
        self._not_captured()
        self.streams.remove(stream)

    def capture_begin(self, stream: int) -> None:
        assert stream in self.streams, "only a stream of one's own is captured"
        self.captured.add(stream)
        self._recording[stream] = []

    def capture_end(self, stream: int) -> int:
        self.captured.remove(stream)
        graph = self._new()
        self.graphs[graph] = self._recording.pop(stream)
        return graph

    def graph_launch(self, graph: int, stream: int) -> None:
        self._not_captured()
        self.log.append("graph_launch")
        for call in self.graphs[graph]:
            self.launch(*call)

    def graph_destroy(self, graph: int) -> None:
        self._not_captured()
        del self.graphs[graph]
