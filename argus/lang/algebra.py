"""Layouts, owners and matrix instructions as a kernel file uses them: the same classes, called with checked arguments.

`ag.Layout(...)` in a kernel file makes an `argus.layout` layout. Sizes are bounded before anything is enumerated, and
what the layout algebra refuses becomes a diagnostic at the call.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from argus.gfx942.fragments import Fragment, Matrix
from argus.lang.arithmetic import describe
from argus.layout.error import LayoutError
from argus.layout.expr import ExprError
from argus.layout.layout import Layout
from argus.layout.owner import Owner

if TYPE_CHECKING:
    from argus.lang.expressions import Expressions

MAX_POINTS = 1 << 20
Method = Callable[..., object]

LAYOUT_METHODS = (
    "xor",
    "pad",
    "permute",
    "view",
    "slice",
    "compose",
    "divide",
    "product",
    "complement",
    "inverse",
    "merge",
    "split",
)


def make_layout(interp: Expressions, /, **digits: object) -> object:
    points = 1
    specs: dict[str, Any] = dict(digits)
    for name, digit in specs.items():
        if isinstance(digit, tuple) and len(digit) == 2 and all(isinstance(d, int) for d in digit):
            points *= max(1, digit[0])
        elif not (isinstance(digit, tuple) and all(isinstance(d, str) for d in digit)):
            raise interp.ctx.error(
                "AG301",
                problem=f'`{name}` is (extent, stride in bytes), or the digits it is made of such as ("chunk", "e")',
            )
    if points > MAX_POINTS:
        raise interp.ctx.error("AG115", what="a layout", limit=f"{MAX_POINTS:,} elements")
    return guarded(interp, "AG301", lambda: Layout(**specs))


def make_owner(interp: Expressions, /, **parts: object) -> object:
    points = 1
    given: dict[str, Any] = dict(parts)
    for name, part in given.items():
        if isinstance(part, int) and not isinstance(part, bool):
            points *= max(1, part)
        elif not isinstance(part, str):
            raise interp.ctx.error("AG302", problem=f"`{name}` is an extent (a whole number) or a formula (a string)")
    if points > MAX_POINTS:
        raise interp.ctx.error("AG115", what="an owner", limit=f"{MAX_POINTS:,} elements")
    owner = guarded(interp, "AG302", lambda: Owner(**given))
    assert isinstance(owner, Owner)
    threads = [n for n in ("t", "lane", "wave") if n in owner.inputs]
    if "t" in threads and len(threads) > 1:
        raise interp.ctx.error("AG302", problem="an owner counts threads as `t`, or as `lane` and `wave`, not both")
    if not threads:
        raise interp.ctx.error("AG302", problem="no input is the thread: call it `t` (or `lane`, `wave`)")
    negative = [a for a in owner.outputs if int(owner.table(a).min()) < 0]
    if negative:
        raise interp.ctx.error("AG302", problem=f"the coordinate {negative[0]} becomes negative")
    return owner


def guarded(interp: Expressions, code: str, build: Callable[[], object]) -> object:
    """A layout operation whose refusal is the author's mistake."""
    try:
        return build()
    except (LayoutError, ExprError) as error:
        raise interp.ctx.error(code, problem=str(error)) from None
    except (TypeError, ValueError, AttributeError, LookupError, ArithmeticError) as error:
        raise interp.ctx.error(code, problem=f"these arguments do not describe one ({error})") from None


def _layout_method(name: str) -> Method:
    def call(interp: Expressions, layout: Layout, /, *args: object, **keywords: object) -> object:
        for value in (*args, *keywords.values()):
            if not isinstance(value, (int, str, tuple, dict, Layout, Owner)):
                raise interp.ctx.error(
                    "AG301", problem=f"`{name}` takes numbers, strings, layouts and owners, not {describe(value)}"
                )
        return guarded(interp, "AG301", lambda: getattr(layout, name)(*args, **keywords))

    call.__name__ = name
    return call


def _fragment_per(interp: Expressions, fragment: Fragment, *axes: str) -> object:
    return guarded(interp, "AG302", lambda: fragment.per(*axes))


def _operand(interp: Expressions, inst: Matrix, wide: int = 0, row: str = "row", k: str = "k") -> object:
    _words(interp, "operand", row, k)
    if not isinstance(wide, int) or not 0 <= wide <= 64:
        raise interp.ctx.error("AG302", problem="`wide` is a whole number of elements")
    return guarded(interp, "AG302", lambda: inst.operand(wide, row, k))


def _acc(interp: Expressions, inst: Matrix, row: str = "row", col: str = "col") -> object:
    _words(interp, "acc", row, col)
    return guarded(interp, "AG302", lambda: inst.acc(row, col))


def _words(interp: Expressions, function: str, *names: Any) -> None:
    for name in names:
        if not isinstance(name, str) or not name.isidentifier() or name in ("lane", "wave", "t", "e", "h", "r"):
            raise interp.ctx.error(
                "AG302", problem=f"`{function}` names axes by words other than lane, wave, t, e, h, r; not {name!r}"
            )


def _shape(interp: Expressions, owner: Owner) -> object:
    return guarded(interp, "AG302", owner.shape)


CONSTRUCTORS: dict[str, Method] = {"Layout": make_layout, "Owner": make_owner}
LAYOUT: dict[str, Method] = {name: _layout_method(name) for name in LAYOUT_METHODS}
OWNER: dict[str, Method] = {"shape": _shape}
FRAGMENT: dict[str, Method] = {"per": _fragment_per}
MATRIX: dict[str, Method] = {"operand": _operand, "acc": _acc}
