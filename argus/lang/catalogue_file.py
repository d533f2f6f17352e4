"""Mistakes in the file and its Python (AG1xx), in knobs and in the signature (AG2xx)."""

from __future__ import annotations

ROWS: tuple[tuple[str, str, str, str, str], ...] = (
    (
        "AG100",
        "cannot-read",
        "cannot read {path}: {reason}",
        "check the path",
        "The kernel file does not exist or cannot be opened.",
    ),
    (
        "AG101",
        "not-python",
        "this is not valid Python: {problem}",
        "correct the syntax; a kernel file is ordinary Python text",
        "A kernel file uses Python's syntax. The parser stopped at the marked place; the cause is often on "
        "the line before: a missing bracket, comma or colon.",
    ),
    (
        "AG102",
        "file-too-large",
        "the kernel file has more than {limit:,} bytes",
        "split the kernels over several files",
        "A kernel file is a few hundred lines. The limit keeps a mistaken path (a data file, a log) from being parsed.",
    ),
    (
        "AG103",
        "import-not-argus",
        "a kernel file cannot import `{module}`",
        "import from argus, argus.gfx942, a file of the library (from argus.kernels.rows import …) or a kernel file "
        "beside this one; compute constants in the file itself or pass them as knobs",
        "The tools read a kernel file from its syntax tree and never execute it, so no other module exists "
        "for it. The language is in `argus` and `argus.gfx942`; other kernel files, of the library or in the same "
        "folder, are read in the same way.",
    ),
    (
        "AG104",
        "unknown-import",
        "`{module}` has no name `{name}`",
        "see docs/language.md for the names a kernel file can import",
        "The imported name is not part of the language.",
    ),
    (
        "AG105",
        "statement-not-in-language",
        "{what} is not part of the kernel language",
        "kernels use assignments, for, if, with ag.schedule(…), functions and calls",
        "The language is the part of Python that describes a tile program. Classes, exceptions, `while`, "
        "`global`, `del` and the like have no meaning on the machine. Loops are `ag.range` (a loop in the "
        "machine code) or `range`/`ag.unroll` (copies of the body).",
    ),
    (
        "AG106",
        "unknown-name",
        "`{name}` is not defined here",
        "define it before use; sizes come from the axes of the tensor arguments",
        "The name is neither a local, an argument, a size symbol, a constant of the file nor a function of "
        "the language.",
    ),
    (
        "AG107",
        "private-attribute",
        "`{name}` cannot be reached from a kernel file",
        "use the public methods listed in docs/language.md",
        "Names that begin with an underscore belong to Python, not to the language.",
    ),
    (
        "AG108",
        "expression-not-in-language",
        "{what} is not part of the kernel language",
        "use a plain expression, a list comprehension or a function instead",
        "Only expressions whose meaning is clear for a tile program can be read.",
    ),
    (
        "AG109",
        "unknown-member",
        "{what} has no `{name}`",
        "it has: {known}",
        "Each kind of value has a fixed set of methods, listed in docs/language.md.",
    ),
    (
        "AG110",
        "unknown-function",
        "`{space}` has no `{name}`",
        "see docs/language.md for the functions of the language",
        "The function does not exist in the language.",
    ),
    (
        "AG111",
        "not-callable",
        "{what} cannot be called",
        "remove the parentheses, or use [ ] to choose an element",
        "Only functions of the file, functions of the language, element types and matrix instructions can be called.",
    ),
    (
        "AG112",
        "wrong-arguments",
        "`{function}`: {problem}",
        "see docs/language.md for its arguments",
        "The call does not fit the function: an argument is missing, unknown, or of another kind than it takes.",
    ),
    (
        "AG113",
        "too-much-to-read",
        "reading the kernel took more than {limit} steps",
        "use ag.range for loops that should stay loops; unroll only a few copies",
        "Static loops and comprehensions are carried out while reading, and unrolled code is made copy by "
        "copy. A kernel of a thousand instructions needs a few thousand steps; this one does not end in "
        "reasonable time.",
    ),
    (
        "AG114",
        "recursion",
        "`{name}` calls itself (or calls are nested deeper than {limit})",
        "write the repetition as a loop",
        "Functions are read in place, so a function that calls itself has no end.",
    ),
    (
        "AG115",
        "too-large",
        "{what} grows beyond {limit}",
        "check the arithmetic: numbers in kernels are sizes and addresses",
        "Numbers, lists, strings, layouts and index expressions are bounded so that reading a file always ends.",
    ),
    (
        "AG116",
        "no-kernel",
        "the file has no kernel",
        "mark a function with @ag.kernel(threads=…)",
        "A kernel is a function under `@ag.kernel(...)`.",
    ),
    (
        "AG117",
        "several-kernels",
        "the file has several kernels: {names}",
        "say which: --kernel NAME",
        "Commands work on one kernel at a time.",
    ),
    (
        "AG118",
        "kernel-not-found",
        "the file has no kernel `{name}`",
        "its kernels are: {known}",
        "The name after --kernel must be a function under `@ag.kernel(...)` in the file.",
    ),
    (
        "AG119",
        "python-builtin",
        "`{name}` does not exist in the kernel language",
        "kernels are read, not executed: nothing of Python's library is there",
        "Only a few static functions of Python can be used (range, len, min, max, abs, sum, enumerate, zip, "
        "dict, list, tuple, reversed, int, bool).",
    ),
    (
        "AG120",
        "nested-too-deep",
        "the program is nested more than {limit} levels deep",
        "name intermediate results, or use a loop",
        "Expressions and blocks inside each other are limited so that every file can be read.",
    ),
    (
        "AG121",
        "module-statement",
        "only imports, constants, functions and kernels stand outside a kernel",
        "move the statement into the kernel or compute the constant in one expression",
        "The top level of a kernel file declares: imports from argus, knobs, constants, layouts, helper "
        "functions and kernels.",
    ),
    (
        "AG122",
        "instruction-not-callable",
        "`{name}` is an instruction of the chip, but not a function of the language",
        "{form}",
        "Instructions that compute on the elements of tiles can be called by name. Others have a typed form in the "
        "language, or are the compiler's business; docs/language.md lists them with the reason.",
    ),
    (
        "AG123",
        "kernel-file-missing",
        "the library has no kernel file `{module}`",
        "see the files in argus/kernels",
        "`from argus.kernels.NAME import …` reads the file NAME.py of the library.",
    ),
    (
        "AG124",
        "imported-name-missing",
        "`{name}` {problem} `{module}`",
        "import a constant, layout, owner, knob or function of the top level of that file",
        "The imported file is read as data. Names of its top level can be imported; its kernels cannot, as a kernel is "
        "no function of another kernel.",
    ),
    (
        "AG125",
        "import-cycle",
        "`{module}` imports itself: {way}",
        "move what both files need into a third file",
        "A file is read before the file that imports it. Files that import each other have no first one.",
    ),
    (
        "AG126",
        "import-outside",
        "`{module}` is neither a file of the library nor a file beside this one",
        "put the file beside the kernel file and write `from NAME import …`",
        "A kernel file reads other files only from its own folder and from the library, so that everything a result "
        "rests on can be named and kept with it. Relative imports and links that lead out of the folder are refused.",
    ),
    (
        "AG127",
        "imports-too-large",
        "the imports up to `{module}` are more than {limit}",
        "import fewer or smaller files",
        "The files that a kernel imports, and the levels at which they import each other, are limited so that every "
        "kernel is read quickly.",
    ),
    (
        "AG201",
        "knob-value",
        "knob {name} cannot be {value}; its values are {legal}",
        "choose a listed value with --set {name}=…, or extend legal=(…) in the file",
        "A knob states every value it may take; layouts and checks are written for those.",
    ),
    (
        "AG202",
        "unknown-knob",
        "there is no knob {name}; the knobs are: {known}",
        "use the name on the left of `= ag.knob(…)`",
        "A setting names a knob that the file does not have.",
    ),
    (
        "AG203",
        "bad-knob",
        "{problem}",
        'BM = ag.knob(128, legal=(64, 128), why="rows of C per workgroup")',
        "A knob is a typed parameter of the file: a default, every legal value, and one sentence why it exists.",
    ),
    (
        "AG204",
        "bad-argument",
        "{problem}",
        'A: ag.In["M K", bf16] (tensor), scale: f32 (scalar), causal: ag.const[bool] = False (static)',
        "Each argument of a kernel has a type: ag.In, ag.Out or ag.InOut with axes and element type, an "
        "element type for a scalar, or ag.const for what is fixed when the kernel is compiled.",
    ),
    (
        "AG205",
        "bad-axes",
        '"{text}" does not describe a tensor: {problem}',
        'write the axes as words, slowest first: "M K", "B H S D=128"',
        "Axes are words separated by spaces. A word alone is a size that launches choose; `D=128` fixes it; "
        "`Kc=K` names an axis of size K. Axis names of one tensor differ.",
    ),
    (
        "AG206",
        "bad-requires",
        "`requires` is a string of conditions on sizes, not {text}",
        'requires="M % BM == 0 and K <= 65536"',
        "`requires` lists, joined by `and`, what must hold of the sizes of a launch. Proofs assume it and "
        "launches check it.",
    ),
    (
        "AG207",
        "bad-threads",
        "threads={threads}: a workgroup has 64 to 1024 threads, a multiple of 64",
        "threads=256",
        "A wave of gfx942 has 64 lanes; a workgroup is one to sixteen whole waves.",
    ),
    (
        "AG208",
        "bad-waves",
        "waves={shape} does not give the {wanted} waves of {threads} threads",
        "the product of waves=(…) is threads // 64",
        "`waves` arranges the waves of the workgroup in a grid so that `ag.wave()` gives their coordinates.",
    ),
    (
        "AG209",
        "impossible-requires",
        "no launch can satisfy {text}",
        "check the conditions in `requires` and the fixed axes",
        "The conditions contradict each other, or exclude every size that fits a buffer of 2^31 bytes.",
    ),
    (
        "AG210",
        "bad-example",
        "{problem}",
        "example=dict(M=256, N=256, K=128), sizes that satisfy `requires`",
        "`example` gives sizes for commands that are called without --shape.",
    ),
    (
        "AG212",
        "second-grid",
        "`ag.grid` is called a second time",
        "call it once, at the top of the kernel",
        "A kernel has one grid.",
    ),
    (
        "AG213",
        "grid-axes",
        "a grid has one to six axes, not {count}",
        "merge axes: ag.grid(B * H, M // BM)",
        "The launch grid has three axes; the reader folds further ones.",
    ),
    (
        "AG214",
        "name-clash",
        "`{name}` cannot be a size: it has another meaning",
        "rename the axis or the argument",
        "Sizes are names in the kernel, as arguments are; lane, wave, block_x, block_y and block_z are reserved.",
    ),
    (
        "AG215",
        "bad-strides",
        "{problem}",
        'ag.In["M K", bf16, "sM 1"]: one word per axis, each a number or a name',
        "The third part of a tensor's type gives the distance of neighbours along each axis, in elements. Without it a "
        "tensor is row-major. A tensor that is written must not overlap itself.",
    ),
    (
        "AG216",
        "no-grid",
        "`{kernel}` never says how many workgroups there are",
        "block = ag.grid(ag.cdiv({size}, 256)) says how many and gives this one's number; ag.grid(1) is a single one",
        "A kernel on tensors whose size is open states its grid: without `ag.grid` there would be one workgroup, "
        "whatever the size. Kernels on tensors of fixed size may leave it out.",
    ),
    (
        "AG222",
        "size-hides-number",
        "`{name}` is {meant} in the signature, but {number} in the file",
        "rename one of them, or take the number from the file by an f-string",
        "Sizes of the signature are names in the kernel. A size with the name of a knob or constant would hide it: "
        "layouts made from the number would not fit the tensor.",
    ),
)
