"""The IR's textual form, read back: `parse_kernel(print_kernel(k))` is the same IR as `k`.

Numbers of values and ops, places, unroll positions and bounds of variables are all in the text, so a kernel can be
kept, compared, edited by hand and used in tests as text. Only the source of the kernel file is not; pass it if wanted.
Text that is not kernel IR ends in `ParseError` with its line.
"""

from __future__ import annotations

from argus.ir import ops
from argus.ir.kernel import BLOCK_X, BLOCK_Y, BLOCK_Z, LANE, Kernel, Knob, KnobValue, ScalarArg, wave_variable
from argus.ir.ops import Access, Memory, Op, Shared, Tensor
from argus.ir.parse_ops import SIMPLE
from argus.ir.specified import specified
from argus.ir.tokens import ParseError, Tokens
from argus.ir.types import DTYPES, NOWHERE, DType, Span, Value
from argus.layout import expr as E
from argus.layout.expr import Expr, ExprError, var
from argus.spec import SpecError

MAX_NESTING = 64

__all__ = ["ParseError", "parse_kernel"]


def parse_kernel(text: str, source: str = "") -> Kernel:
    """The kernel that `text` describes."""
    return KernelParser(text).kernel(source)


class KernelParser:
    """Names known so far, and the walk over the tokens."""

    def __init__(self, text: str) -> None:
        self.tokens = Tokens(text)
        self.variables: dict[str, Expr] = {v.name: v for v in (LANE, BLOCK_X, BLOCK_Y, BLOCK_Z)}
        self.functions: dict[str, tuple[int | None, int | None]] = {}
        self.values: dict[int, Value] = {}
        self.memories: dict[str, Memory] = {}
        self.parsed: dict[str, Expr] = {}
        self.file = ""
        self.depth = 0

    # -- the header -------------------------------------------------------------------------------------------------

    def kernel(self, source: str) -> Kernel:
        t = self.tokens
        t.expect("kernel")
        name = t.string()
        t.expect("waves")
        waves = t.integer()
        if not 1 <= waves <= 16:
            raise ParseError(f"line {t.line}: a workgroup has 1 to 16 waves, not {waves}")
        t.expect("file")
        self.file = t.string()
        span = self.place("at")
        self.variables["wave"] = wave_variable(waves)
        tensors: list[Tensor] = []
        scalars: list[ScalarArg] = []
        shapes: list[Expr] = []
        knobs: list[Knob] = []
        settings: dict[str, KnobValue] = {}
        requires: list[Expr] = []
        grid: tuple[Expr, Expr, Expr] | None = None
        shared: list[Shared] = []
        policies: dict[str, int | str | bool] = {}
        example: dict[str, int] = {}
        computes: str | None = None
        computes_line = 0
        while not t.peek("{"):
            if t.accept("tensor"):
                tensors.append(self._tensor())
            elif t.accept("scalar"):
                label = t.string()
                value = self.define()
                positive = t.accept("positive")
                scalars.append(ScalarArg(label, value.dtype, value, self.place("at"), positive))
            elif t.accept("size"):
                shapes.append(self._bounded())
            elif t.accept("var"):
                self._bounded()
            elif t.accept("function"):
                self.functions[t.string()] = self._bounds()
            elif t.accept("knob"):
                knobs.append(self._knob())
            elif t.accept("setting"):
                label = t.string()
                settings[label] = t.scalar()
            elif t.accept("requires"):
                requires.append(self.expr())
            elif t.accept("grid"):
                x = self.expr()
                t.expect(",")
                y = self.expr()
                t.expect(",")
                grid = (x, y, self.expr())
            elif t.accept("shared"):
                shared.append(self._shared())
            elif t.accept("policy"):
                label = t.string()
                policies[label] = t.scalar()
            elif t.accept("example"):
                label = t.string()
                example[label] = t.integer()
            elif t.accept("computes"):
                computes_line = t.line
                computes = t.string()
            else:
                raise t.error("a declaration or `{`")
        if grid is None:
            raise t.error("a grid before the body")
        body = self.block()
        if not t.at_end():
            raise t.error("the end")
        kernel = Kernel(
            name=name,
            file=self.file,
            source=source,
            tensors=tuple(tensors),
            scalars=tuple(scalars),
            shapes=tuple(shapes),
            knobs=tuple(knobs),
            settings=settings,
            requires=tuple(requires),
            waves=waves,
            grid=grid,
            shared=tuple(shared),
            body=body,
            policies=policies,
            example=example,
            span=span,
        )
        if computes is not None:
            try:
                kernel.computes = specified(kernel, computes)
            except SpecError as error:
                raise ParseError(f"line {computes_line}: {error}") from None
        return kernel

    def _variable(self, name: str, low: int | None, high: int | None) -> Expr:
        try:
            made = var(name, low, high)
        except ExprError as error:
            raise ParseError(f"line {self.tokens.line}: {error}") from None
        self.variables[name] = made
        self.parsed.clear()
        return made

    def _bounded(self) -> Expr:
        name = self.tokens.take("expr")
        return self._variable(name, *self._bounds())

    def _bounds(self) -> tuple[int | None, int | None]:
        t = self.tokens
        low = t.integer() if t.next_is("number") else None
        t.expect("..")
        return low, t.integer() if t.next_is("number") else None

    def _tensor(self) -> Tensor:
        t = self.tokens
        name, dtype = t.string(), self.dtype(t.take("word"))
        mode = t.take("word")
        if mode not in ("in", "out", "inout", "unused"):
            raise t.error("in, out, inout or unused")
        t.expect("axes")
        axes: list[str] = []
        while t.next_is("string"):
            axes.append(t.string())
        t.expect("shape")
        shape = self.exprs()
        t.expect("strides")
        strides = self.exprs()
        made = Tensor(
            name,
            dtype,
            tuple(axes),
            shape,
            strides,
            mode in ("in", "inout"),
            mode in ("out", "inout"),
            self.place("at"),
        )
        self.memories[name] = made
        return made

    def _shared(self) -> Shared:
        t = self.tokens
        name, dtype = t.string(), self.dtype(t.take("word"))
        t.expect("bytes")
        size = t.integer()
        t.expect("base")
        base = t.integer()
        t.expect("layout")
        made = Shared(name, dtype, size, base, t.string(), self.place("at"))
        self.memories[name] = made
        return made

    def _knob(self) -> Knob:
        t = self.tokens
        name = t.string()
        t.expect("default")
        default = t.scalar()
        t.expect("legal")
        legal: list[KnobValue] = []
        while not t.peek("why"):
            legal.append(t.scalar())
        t.expect("why")
        return Knob(name, default, tuple(legal), t.string(), self.place("at"))

    # -- parts ------------------------------------------------------------------------------------------------------

    def dtype(self, name: str) -> DType:
        if name not in DTYPES:
            raise ParseError(f"line {self.tokens.line}: there is no element type {name}")
        return DTYPES[name]

    def expr(self) -> Expr:
        text = self.tokens.take("expr")
        if text not in self.parsed:
            try:
                self.parsed[text] = E.parse(text, self.variables, self.functions)
            except ExprError as error:
                raise ParseError(f"line {self.tokens.line}: {error}") from None
        return self.parsed[text]

    def exprs(self) -> tuple[Expr, ...]:
        t = self.tokens
        t.expect("[")
        made: list[Expr] = []
        while not t.accept("]"):
            made.append(self.expr())
            if not t.peek("]"):
                t.expect(",")
        return tuple(made)

    def define(self) -> Value:
        number, kind, count, name = self.tokens.definition()
        if number in self.values:
            raise ParseError(f"line {self.tokens.line}: %{number} is defined twice")
        made = Value(number, self.dtype(kind), count, name)
        self.values[number] = made
        return made

    def use(self) -> Value:
        number = self.tokens.use()
        if number not in self.values:
            raise ParseError(f"line {self.tokens.line}: %{number} is not defined before its use")
        return self.values[number]

    def uses(self) -> tuple[Value, ...]:
        t = self.tokens
        t.expect("(")
        made: list[Value] = []
        while not t.accept(")"):
            made.append(self.use())
            if not t.peek(")"):
                t.expect(",")
        return tuple(made)

    def definitions(self) -> tuple[Value, ...]:
        t = self.tokens
        t.expect("(")
        made: list[Value] = []
        while not t.accept(")"):
            made.append(self.define())
            if not t.peek(")"):
                t.expect(",")
        return tuple(made)

    def memory(self) -> Memory:
        name = self.tokens.string()
        if name not in self.memories:
            raise ParseError(f"line {self.tokens.line}: there is no tensor or LDS buffer {name!r}")
        return self.memories[name]

    def access(self) -> Access:
        t = self.tokens
        memory = self.memory()
        t.expect("at")
        address = self.expr()
        t.expect("coords")
        coords = self.exprs()
        t.expect("axis")
        axis = t.integer()
        t.expect("elements")
        count = t.integer()
        return Access(memory, address, count, coords, axis, self.expr() if t.accept("guard") else None)

    def place(self, word: str) -> Span:
        t = self.tokens
        if not t.accept(word):
            return NOWHERE
        file = t.string() if t.next_is("string") else self.file
        line = t.integer()
        t.expect(":")
        col = t.integer()
        end_line = -t.integer()  # "-17" is one token
        t.expect(":")
        return Span(file, line, col, end_line, t.integer())

    # -- ops --------------------------------------------------------------------------------------------------------

    def block(self) -> list[Op]:
        """`{ op … }`, or up to `yield`."""
        self.tokens.expect("{")
        body = self.ops_until("}")
        self.tokens.expect("}")
        return body

    def ops_until(self, *stops: str) -> list[Op]:
        self.depth += 1
        if self.depth > MAX_NESTING:
            raise ParseError(f"line {self.tokens.line}: blocks are nested more than {MAX_NESTING} deep")
        made: list[Op] = []
        while not any(self.tokens.peek(s) for s in stops):
            made.append(self.op())
        self.depth -= 1
        return made

    def op(self) -> Op:
        t = self.tokens
        if t.accept("for"):
            return self._for()
        if t.accept("if"):
            return self._if()
        if t.accept("schedule"):
            policy = self.pairs()
            t.expect("{")
            schedule = ops.Schedule(policy=dict(policy), body=[])
            self.end(schedule)
            schedule.body = self.ops_until("}")
            t.expect("}")
            return schedule
        results: list[tuple[int, str, int, str]] = []
        while t.next_is("value"):
            results.append(t.definition())
            if not t.accept(","):
                t.expect("=")
                break
        word = t.take("word")
        if word not in SIMPLE:
            raise ParseError(f"line {t.line}: there is no op {word}")
        made = SIMPLE[word](self, [Value(n, self.dtype(k), c, name) for n, k, c, name in results])
        for value in made.results:
            if value.id in self.values:
                raise ParseError(f"line {t.line}: %{value.id} is defined twice")
            self.values[value.id] = value
        self.end(made)
        return made

    def end(self, op: Op) -> None:
        """`; number @ place {unroll position}`"""
        t = self.tokens
        t.expect(";")
        op.id = t.integer()
        op.span = self.place("@")
        site: list[tuple[str, int]] = []
        if t.accept("{"):
            while not t.accept("}"):
                name = t.take("word")
                t.expect("=")
                site.append((name, t.integer()))
                if not t.peek("}"):
                    t.expect(",")
        op.site = tuple(site)

    def _for(self) -> Op:
        t = self.tokens
        variable = self.expr()
        t.expect("in")
        low = self.expr()
        t.expect("..")
        high = self.expr()
        t.expect("step")
        step = t.integer()
        t.expect("carry")
        t.expect("(")
        inits: list[Value] = []
        heads: list[Value] = []
        while not t.accept(")"):
            number, kind, count, name = t.definition()
            t.expect("=")
            inits.append(self.use())
            heads.append(Value(number, self.dtype(kind), count, name))
            if not t.peek(")"):
                t.expect(",")
        for head in heads:
            if head.id in self.values:
                raise ParseError(f"line {t.line}: %{head.id} is defined twice")
            self.values[head.id] = head
        t.expect("out")
        outs = self.definitions()
        t.expect("{")
        loop = ops.For(
            var=variable, lo=low, hi=high, step=step, inits=tuple(inits), args=tuple(heads), body=[], yields=(),
            outs=outs,
        )  # fmt: skip
        self.end(loop)
        loop.body = self.ops_until("yield")
        loop.yields = self._yield()
        return loop

    def _if(self) -> Op:
        t = self.tokens
        cond = self.expr()
        kind = t.take("word")
        t.expect("out")
        outs = self.definitions()
        t.expect("{")
        made = ops.If(
            cond=cond, uniform=kind == "uniform", then=[], orelse=[], then_yields=(), else_yields=(), outs=outs
        )
        self.end(made)
        made.then = self.ops_until("yield")
        made.then_yields = self._yield()
        t.expect("else")
        t.expect("{")
        made.orelse = self.ops_until("yield")
        made.else_yields = self._yield()
        return made

    def _yield(self) -> tuple[Value, ...]:
        self.tokens.expect("yield")
        values = self.uses()
        self.tokens.expect("}")
        return values

    def pairs(self) -> dict[str, int | str | bool]:
        t = self.tokens
        t.expect("{")
        made: dict[str, int | str | bool] = {}
        while not t.accept("}"):
            name = t.string()
            t.expect("=")
            made[name] = t.scalar()
            if not t.peek("}"):
                t.expect(",")
        return made
