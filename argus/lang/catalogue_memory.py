"""Mistakes with layouts, owners and memory (AG3xx)."""

from __future__ import annotations

ROWS: tuple[tuple[str, str, str, str, str], ...] = (
    (
        "AG301",
        "bad-layout",
        "this is not a layout: {problem}",
        'ag.Layout(row=(128, 128), chunk=(8, 16), e=(8, 2), k=("chunk", "e"))',
        "A layout gives each digit as (extent, stride in bytes) and may name groups of digits. Operations on "
        "layouts are defined where the digits fit; the message names those that do not.",
    ),
    (
        "AG302",
        "bad-owner",
        "this is not an owner: {problem}",
        'ag.Owner(p=4, t=256, e=8, row="p*32 + t//8", k="t%8*8 + e")',
        "An owner says which element each thread holds: whole numbers are inputs (the thread `t`, or `lane` "
        "and `wave`, and register digits), strings are coordinates computed from them.",
    ),
    (
        "AG303",
        "owner-threads",
        "the owner is for {owner} threads, the kernel has {kernel}",
        "make `t` of the owner equal to threads=…",
        "Every thread of the workgroup takes part in a load or store, so the owner must name what each of them holds.",
    ),
    (
        "AG304",
        "buffer-axes",
        "{problem}",
        'name the axes of layout and owner alike, or say it: buf.store(x, row="m", k=("n", 32))',
        "An LDS buffer is addressed by the axes of its layout. Axes of the tile with the same name are used; "
        'an argument row=32*i adds an offset, row="m" takes another axis of the tile.',
    ),
    (
        "AG305",
        "tensor-axes",
        "the tile's axes ({tile}) do not fit {tensor}[{axes}]: {problem}",
        "name the owner's axes as the tensor's, or give them in the order of its last axes",
        "Axes of a tile and of a tensor are matched by name (upper and lower case alike); if no name matches,"
        " the tile's axes are the tensor's last ones in order. A mixture would be a guess and is refused.",
    ),
    (
        "AG306",
        "width",
        "there is no access of {width} bytes",
        "use one of {legal}",
        "`width` is the number of bytes one lane moves in one instruction.",
    ),
    (
        "AG307",
        "width-not-contiguous",
        "`width={width}` moves {n} elements at once, but element {second} of a thread is not next to element {first}",
        "let the last register digit of the owner run along the contiguous axis, or use a smaller width",
        "One instruction moves bytes that lie next to each other. The elements a thread holds, in register "
        "order, must therefore be neighbours in memory, in runs of `width` bytes.",
    ),
    (
        "AG308",
        "width-does-not-divide",
        "`width={width}` does not divide {what}",
        "choose a width that does",
        "The elements a thread holds are moved in whole accesses.",
    ),
    (
        "AG309",
        "outside-buffer",
        "`{buffer}` is accessed at {axis} = {value}, but {axis} ends at {last}",
        "check the offsets, or make the layout larger",
        "Some thread reaches a coordinate that the layout of the buffer does not have.",
    ),
    (
        "AG310",
        "lds-full",
        "{size} bytes more of LDS make {total}; a workgroup has {limit}",
        "use smaller tiles, fewer slots, or keep a stage in registers",
        "A compute unit of gfx942 has 64 KiB of LDS, and a workgroup cannot have more.",
    ),
    (
        "AG311",
        "stored-type",
        "`{target}` holds {wanted}, the stored tile is {got}",
        "convert it: x.to({wanted})",
        "Stores never convert. An explicit conversion shows where precision is lost.",
    ),
    (
        "AG312",
        "stored-owner",
        "the tile is not held as the given owner says",
        "leave the owner out (the tile knows who holds it), or load it with that owner",
        "Where a tile's elements are in the registers was decided when it was made. Storing with another "
        "owner would scatter them to other places.",
    ),
    (
        "AG313",
        "store-to-input",
        "`{tensor}` is an input",
        "declare it ag.Out (or ag.InOut if it is also read)",
        "Inputs are only read.",
    ),
    (
        "AG314",
        "load-from-output",
        "`{tensor}` is an output; its first contents are undefined",
        "declare it ag.InOut",
        "Reading an output would read whatever was in memory before.",
    ),
    (
        "AG315",
        "too-many-indices",
        "`{tensor}` has {wanted} axes ({axes}), {given} indices are given",
        "give one index per axis; missing ones at the end are 0",
        "The index says where in the tensor the tile begins.",
    ),
    (
        "AG316",
        "misaligned",
        "an LDS access of {width} bytes needs an address divisible by {width}; thread {thread} has {rest} over",
        "move the offset to a multiple of the width, or use a smaller width",
        "gfx942 reads and writes LDS in naturally aligned pieces.",
    ),
    (
        "AG317",
        "guard-cuts-vector",
        'the guard "shape" cannot guard runs of {n} elements along {axis}: the end may cut one in half',
        "state in `requires` that {axis} % {n} == 0, or use a width of one element",
        "An access is done or not done as a whole. When the extent is not a multiple of the run, the last run"
        " would need to be half done.",
    ),
    (
        "AG318",
        "too-many-registers",
        "each thread would hold {held} elements; at most {limit} fit",
        "use smaller tiles or more threads",
        "A lane has 512 registers of 32 bits.",
    ),
    (
        "AG319",
        "tensor-index",
        "{got} cannot be an index of `{tensor}` (axis {axis})",
        "an index is a whole number or computed from block, wave, lane, loops and sizes; data becomes one by "
        "ag.as_index",
        "Addresses are index expressions, which the checker reasons about.",
    ),
    (
        "AG320",
        "element-size",
        "elements of the layout are {step} bytes apart, but {dtype} has {size} bytes",
        "use a layout whose smallest stride is the size of an element",
        "Neighbouring elements would overlap. Strides are in bytes; `layout.view(4)` reads the same bytes as "
        "elements of 4 bytes.",
    ),
    (
        "AG321",
        "elements-meet",
        "two elements of the buffer have the same address: {first} and {second}",
        "make strides large enough that digits do not overlap, and swizzle only with bits of other digits",
        "In a buffer every element needs a place of its own.",
    ),
)
