"""Mistakes with tiles and element types (AG4xx)."""

from __future__ import annotations

ROWS: tuple[tuple[str, str, str, str, str], ...] = (
    (
        "AG401",
        "mixed-types",
        "{what}: {left} and {right} do not mix",
        "convert one of them with .to(…)",
        "Elementwise operations take tiles of one element type; nothing is converted silently.",
    ),
    (
        "AG402",
        "shapes-do-not-meet",
        "these tiles do not meet: {left} and {right}",
        "combine tiles over the same axes, or one whose axes are a part of the other's and held by the same threads",
        "Tiles are combined by coordinate: each element of the larger must find, in the same thread, the "
        "element of the smaller with the same coordinates.",
    ),
    (
        "AG403",
        "index-out-of-range",
        "{problem} (it has {shape})",
        "count from 0",
        "The index chooses a part that does not exist.",
    ),
    (
        "AG404",
        "matrix-type",
        "{inst} takes {wanted} as its {which} operand, not {got}",
        "convert with .to({wanted}), or use the instruction for {got}",
        "A matrix instruction multiplies one element type.",
    ),
    (
        "AG405",
        "matrix-count",
        "{inst} takes {wanted} elements per lane as its {which} operand, not {got}",
        "index the fragment: frag[h] is one instruction's part of a wide read, acc[i, j] one accumulator of "
        "several tiles",
        "Each lane gives a matrix instruction a fixed number of elements. A fragment read with wide=8 holds "
        "two instructions' operands, chosen by the first index.",
    ),
    (
        "AG406",
        "matrix-mixed",
        "{problem}",
        "use one instruction's operand(), acc() for all three operands",
        "Operands and accumulators are laid out over the lanes as one instruction wants them.",
    ),
    (
        "AG407",
        "unknown-axis",
        "the tile has no axis or method `{name}` (axes: {axes})",
        "use one of its axes, or one of its methods: {methods}",
        "A tile's axes are those of the owner it was made with. `x.axis` gives the coordinates of its elements.",
    ),
    (
        "AG408",
        "number-does-not-fit",
        "{number} is not a value of {dtype}",
        "use a number of that type",
        "A number meets a tile in the tile's element type. fp8 and bf8 have no infinity: convert to f32, then mask.",
    ),
    (
        "AG409",
        "no-conversion",
        "{left} cannot become {right}",
        "use ag.where(mask, f32(1), f32(0)) for masks; bitcast keeps the number of bits",
        "Conversions exist between numbers, not between numbers and masks.",
    ),
    (
        "AG410",
        "not-data",
        "{what} cannot be used as a tile",
        "make it data first, e.g. f32(x), or choose elements with [ ]",
        "Elementwise operations take tiles, numbers, indices and coordinates.",
    ),
    (
        "AG411",
        "not-a-type",
        "`{function}`: `{argument}` is an element type, not {got}",
        "from argus import bf16, f32, …",
        "Element types are f64, f32, f16, bf16, fp8, bf8, i64, i32, i16, i8, u32, u16, u8.",
    ),
    (
        "AG412",
        "not-a-mask",
        "the condition is {dtype}, not a mask",
        "compare something: ag.where(x > 0, x, 0)",
        "`ag.where` chooses by a comparison.",
    ),
    (
        "AG413",
        "function-type",
        "`{fn}` is not defined on {dtype} (it takes {kinds})",
        "convert with .to(f32)",
        "Each elementwise function is defined on some kinds of element.",
    ),
    (
        "AG414",
        "index-not-static",
        "{name} is chosen by a whole number that is known when reading",
        "unroll the loop: for i in ag.unroll(n)",
        "Registers have fixed names in machine code; which one is meant cannot depend on the run.",
    ),
    (
        "AG415",
        "operands",
        "`{symbol}` has no meaning for {left} and {right}",
        "indices are whole numbers; data is in tiles",
        "The operator does not exist for these two kinds of value.",
    ),
    (
        "AG416",
        "and-or-on-tiles",
        "`{word}` does not combine tiles element by element",
        "use `{symbol}` and put the comparisons in parentheses: (a < b) & (c < d)",
        "Python's `and`, `or` and chained comparisons ask for one truth value; a tile has one per element.",
    ),
    (
        "AG417",
        "no-elements",
        "{what} has no elements to choose with [ ]",
        "index tensors, tiles, rings, lists and tuples",
        "Square brackets choose an element or a place.",
    ),
    (
        "AG418",
        "cannot-assign-into",
        "cannot assign into {what}",
        "assign to parts of tiles and lists; store into tensors and buffers with .store(…)",
        "Memory is written by `store`, whose width and owner are explicit.",
    ),
    (
        "AG419",
        "digit-order",
        "`order` names the digits {wanted}; the tile has {have}",
        "name each register digit once, the last one runs fastest",
        "The digits of a tile are the register inputs of its owner.",
    ),
    (
        "AG420",
        "uneven-reduction",
        "the elements to combine over {axes} are not the same number for every result, or not in reach of "
        "lane exchanges",
        "reduce a tile whose owner spreads the axis evenly over registers and power-of-two groups of lanes",
        "A reduction combines registers first and then lanes whose numbers differ in fixed bits.",
    ),
    (
        "AG421",
        "reduction-over-waves",
        "parts along {axes} are held by different waves",
        'reduce each wave\'s part (within="wave"), write the parts to LDS, ag.barrier(), and reduce again',
        "Waves exchange data only through memory.",
    ),
    (
        "AG422",
        "lane-out-of-range",
        "there is no lane `{source}` for every lane: lanes are 0..63",
        "keep it in range: (ag.lane() + 1) % 64, ag.lane() ^ 32, ag.max(ag.lane() - 1, 0)",
        "An exchange between lanes takes each lane's value from one of the 64 lanes of its wave.",
    ),
    (
        "AG423",
        "no-scan-order",
        "registers and lanes do not hold the elements along {axis} one after another",
        'scan a tile whose owner counts the axis by registers and lanes, such as n="p*256 + lane*4 + e"',
        "A scan goes through the registers of a lane, then through lanes, then through further registers: some bits of "
        "the lane number, in any order, must count the coordinates, and every row must be held completely.",
    ),
)
