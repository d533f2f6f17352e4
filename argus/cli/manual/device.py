"""Codes of launches: what is refused before anything runs (D1xx), and what a HIP runtime or GPU lacks (D2xx)."""

from __future__ import annotations

from collections.abc import Mapping

from argus.cli.manual.entry import ManualEntry

DEVICE: Mapping[str, ManualEntry] = {
    "ARG-D101": ManualEntry(
        "An argument is missing, is one too many, or has another shape or element type than the kernel's signature "
        "gives it at these sizes.",
        "compare with the shape and type in the message; nothing is converted silently.",
    ),
    "ARG-D102": ManualEntry(
        "A size is missing, unknown, outside its range, or breaks a condition of `requires`. The proof assumes these "
        "conditions.",
        "choose a size that keeps the condition in the message, or a kernel (or knobs) that takes this one.",
    ),
    "ARG-D103": ManualEntry(
        "An offset, a number or a count of work-items does not fit 32 bits. With a tensor of 2 GiB or more: a "
        "workgroup reaches 2 GiB from where its own part of the tensor begins, or a number may leave 32 bits at these "
        "sizes.",
        "launch in parts, each with smaller tensors, or give every workgroup a part of less than 2 GiB.",
    ),
    "ARG-D104": ManualEntry(
        "The elements lie elsewhere than the kernel reads them: strides that differ from its own, strides that are no "
        "multiple of an element, or an address that is no multiple of an element, on a GPU of 16 bytes.",
        'pass a contiguous copy, or write the kernel with strides of its own (`ag.In["M N", f32, "ld 1"]`).',
    ),
    "ARG-D105": ManualEntry(
        "An output shares memory with another argument, or is read-only. Arguments that are only read may overlap.",
        "give every output memory of its own.",
    ),
    "ARG-D106": ManualEntry(
        "The argument is no array, does not say where it lies, or lies on another device than the launch: host memory "
        "or another GPU for `hip`, GPU memory for the simulated chip.",
        'move it first (`tensor.to("cuda:0")`, `tensor.cpu()`), or choose the device the tensors are on.',
    ),
    "ARG-D107": ManualEntry(
        "A scalar argument is missing, or is not positive where the kernel needs it to be, after rounding to its type.",
        "give the scalar by name, in the range the message names.",
    ),
    "ARG-D108": ManualEntry("`device` is none of the words there are.", "use `auto`, `checking`, `jit` or `hip`."),
    "ARG-D201": ManualEntry(
        "None of the places a HIP runtime could be at has one that loads. Tried are, in order: the library that is "
        "already loaded, torch's, ROCm's wheels, `ROCM_PATH`, `HIP_PATH`, the system's.",
        "install ROCm, set `ROCM_PATH`, or name the file with `ARGUS_HIP_LIBRARY`; `argus doctor` shows what there is. "
        "Without a GPU use `--device checking` or `jit`.",
    ),
    "ARG-D202": ManualEntry(
        "The HIP runtime works, but has no gfx942 (MI300A, MI300X, MI325X); code objects run on no other chip.",
        "run on such a machine; `HIP_VISIBLE_DEVICES` may hide it, and a container may lack `/dev/kfd`.",
    ),
    "ARG-D203": ManualEntry(
        "HIP answered a call with an error; its own words and number follow. Errors of an earlier asynchronous launch "
        "appear at the next call that looks.",
        "out of memory: smaller tensors. Else run the same launch with `--device checking`, which names bad accesses.",
    ),
    "ARG-D204": ManualEntry(
        "A graph records launches only. The first launch of a kernel loads its object, and numpy arrays are copied; "
        "neither may be done while a stream is captured.",
        "launch once before the capture, or call `HipDevice.prepare`; pass tensors that lie on the GPU.",
    ),
    "ARG-D205": ManualEntry(
        "The object states that it is for GPUs with, or without, retry of page faults (XNACK), and this process runs "
        "them the other way.",
        "set `HSA_XNACK` as the message says before the process starts, or compile the kernel anew.",
    ),
}
