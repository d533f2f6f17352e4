"""Writing LLVM IR as text: one `JitFunction` collects the lines of one function body.

    module = JitModule()
    f = module.function("twice", "i32", [("i32", "x")])
    f.ret("i32", f.add("i32", "%x", "%x"))
    str(module)      ->  define i32 @twice(i32 %x) { entry: %t0 = add i32 %x, %x ... }

Text instead of llvmlite's object layer because it is three times faster to make, and because the text is what the
cache is keyed on and what the compiling child process reads. Loops are counted loops whose phi is completed when
the loop closes; there is no other control flow sugar than `loop`, `when` and explicit labels. A value is its IR
spelling ("%t7", "42"); its type is given at every use, as in the language itself, so nothing here checks types:
the LLVM verifier does, in the child.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import count

INTRINSIC_PREFIX = "llvm."
STREAMING_NODE = "!0 = !{i32 1}"

Definers = dict[str, Callable[["JitModule"], None]]
"""Runtime functions by name: each entry writes one function into a module."""


class JitFunction:
    """One function under construction."""

    def __init__(self, module: JitModule, name: str, returns: str, params: Sequence[tuple[str, str]], attributes: str):
        self.module = module
        self.name = name
        self._head = f"@{name}({', '.join(f'{t} %{n}' for t, n in params)}) {attributes}"
        self._returns = returns
        self.lines: list[str] = []
        self._stack: list[str] = []
        self.label_now = "entry"
        self._names = count()

    def returns(self, type_: str) -> None:
        """Set the result type, for functions whose body decides it."""
        self._returns = type_

    def fresh(self) -> str:
        return f"%t{next(self._names)}"

    def emit(self, line: str) -> None:
        self.lines.append(line)

    def let(self, expression: str) -> str:
        """Bind an expression to a fresh name."""
        name = f"%t{next(self._names)}"
        self.lines.append(f"{name} = {expression}")
        return name

    def label(self, name: str) -> None:
        self.lines.append(f"{name}:")
        self.label_now = name

    def fresh_label(self, stem: str) -> str:
        return f"{stem}{next(self._names)}"

    def jump(self, label: str) -> None:
        self.emit(f"br label %{label}")

    def branch(self, condition: str, yes: str, no: str) -> None:
        self.emit(f"br i1 {condition}, label %{yes}, label %{no}")

    def ret(self, type_: str = "void", value: str = "") -> None:
        self.emit(f"ret {type_} {value}".rstrip())

    def binary(self, op: str, type_: str, a: str, b: str) -> str:
        return self.let(f"{op} {type_} {a}, {b}")

    def add(self, type_: str, a: str, b: str) -> str:
        return self.let(f"add {type_} {a}, {b}")

    def mul(self, type_: str, a: str, b: str) -> str:
        return self.let(f"mul {type_} {a}, {b}")

    def compare(self, predicate: str, type_: str, a: str, b: str) -> str:
        return self.let(f"icmp {predicate} {type_} {a}, {b}")

    def select(self, condition: str, type_: str, yes: str, no: str, condition_type: str = "i1") -> str:
        return self.let(f"select {condition_type} {condition}, {type_} {yes}, {type_} {no}")

    def cast(self, op: str, source: str, value: str, target: str) -> str:
        return self.let(f"{op} {source} {value} to {target}")

    def at(self, pointer: str, offset: str | int) -> str:
        """The address `offset` bytes after `pointer`."""
        if offset in (0, "0"):
            return pointer
        return self.let(f"getelementptr i8, ptr {pointer}, i64 {offset}")

    def index(self, type_: str, pointer: str, element: str | int) -> str:
        return self.let(f"getelementptr {type_}, ptr {pointer}, i64 {element}")

    def load(self, type_: str, pointer: str, align: int = 1) -> str:
        return self.let(f"load {type_}, ptr {pointer}, align {align}")

    def store(self, type_: str, value: str, pointer: str, align: int = 1) -> None:
        self.emit(f"store {type_} {value}, ptr {pointer}, align {align}")

    def stream(self, type_: str, value: str, pointer: str, align: int) -> None:
        """A store that bypasses the caches."""
        self.emit(f"store {type_} {value}, ptr {pointer}, align {align}, !nontemporal !0")

    def stack(self, type_: str, align: int = 64) -> str:
        """Stack space, reserved at the function's entry."""
        name = f"%t{next(self._names)}"
        self._stack.append(f"{name} = alloca {type_}, align {align}")
        return name

    def splat(self, element: str, width: int, value: str) -> str:
        vector = f"<{width} x {element}>"
        one = self.let(f"insertelement {vector} poison, {element} {value}, i32 0")
        return self.let(f"shufflevector {vector} {one}, {vector} poison, <{width} x i32> zeroinitializer")

    def shuffle(self, element: str, width: int, a: str, b: str, lanes: Sequence[int]) -> str:
        vector = f"<{width} x {element}>"
        mask = ", ".join("i32 poison" if lane < 0 else f"i32 {lane}" for lane in lanes)
        return self.let(f"shufflevector {vector} {a}, {vector} {b}, <{len(lanes)} x i32> <{mask}>")

    def call(self, returns: str, name: str, *arguments: tuple[str, str]) -> str:
        """Call by name; the declaration is added to the module. Arguments are (type, value)."""
        self.module.declare(name, returns, [type_ for type_, _ in arguments])
        text = f"call {returns} @{name}({', '.join(f'{t} {v}' for t, v in arguments)})"
        if returns == "void":
            self.emit(text)
            return ""
        return self.let(text)

    @contextmanager
    def loop(self, trips: int | str, step: int = 1) -> Iterator[str]:
        """A counted i64 loop of at least one trip; yields the index."""
        head, done = self.fresh_label("loop"), self.fresh_label("done")
        index, following = self.fresh(), self.fresh()
        before = self.label_now
        self.jump(head)
        self.label(head)
        hole = len(self.lines)
        self.emit("")
        yield index
        self.emit(f"{following} = add nuw nsw i64 {index}, {step}")
        again = self.let(f"icmp ult i64 {following}, {trips}")
        self.lines[hole] = f"{index} = phi i64 [0, %{before}], [{following}, %{self.label_now}]"
        self.branch(again, head, done)
        self.label(done)

    @contextmanager
    def when(self, condition: str) -> Iterator[None]:
        """Run the body if `condition`; stores are its only visible effect."""
        body, after = self.fresh_label("then"), self.fresh_label("fi")
        self.branch(condition, body, after)
        self.label(body)
        yield
        self.jump(after)
        self.label(after)

    def quickly(self) -> None:
        """Have it compiled quickly rather than well."""
        self._head += "noinline optnone "

    def __str__(self) -> str:
        return "\n".join([f"define {self._returns} {self._head}{{", "entry:", *self._stack, *self.lines, "}"])


class JitModule:
    """Functions, constants and the declarations they need."""

    def __init__(self) -> None:
        self.functions: dict[str, JitFunction] = {}
        self.constants: dict[str, str] = {}
        self.declarations: dict[str, str] = {}

    def function(self, name: str, returns: str, params: Sequence[tuple[str, str]], attributes: str = "") -> JitFunction:
        made = JitFunction(self, name, returns, params, attributes + " " if attributes else "")
        self.functions[name] = made
        return made

    def declare(self, name: str, returns: str, parameter_types: Sequence[str]) -> None:
        self.declarations[name] = f"declare {returns} @{name}({', '.join(parameter_types)})"

    def missing(self) -> list[str]:
        """Functions that are called but neither defined here nor built into LLVM."""
        return [n for n in self.declarations if n not in self.functions and not n.startswith(INTRINSIC_PREFIX)]

    def constant(self, name: str, type_: str, value: str, align: int = 64) -> str:
        self.constants[name] = f"@{name} = internal constant {type_} {value}, align {align}"
        return f"@{name}"

    def parts(self, count: int) -> list[str]:
        """The module as up to `count` modules of similar size that can be compiled apart and linked together."""
        shares: list[list[str]] = [[] for _ in range(count)]
        sizes = [0] * count
        for name, function in sorted(self.functions.items(), key=lambda item: -len(item[1].lines)):
            least = sizes.index(min(sizes))
            shares[least].append(name)
            sizes[least] += len(function.lines)
        return [self._text(share) for share in shares if share]

    def _text(self, names: Sequence[str]) -> str:
        here = set(names)
        bodies = [str(self.functions[name]) for name in names]
        declared = [text for name, text in self.declarations.items() if name not in here]
        return "\n".join([*self.constants.values(), *declared, *bodies, STREAMING_NODE, ""])

    def __str__(self) -> str:
        return self._text(list(self.functions))
