"""The Argus language for editors and type checkers, written by `python -m argus.cli.editor_stub`."""

import builtins
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, ClassVar, Generic, TypeVar, TypeVarTuple, Unpack

_T = TypeVar("_T")
_Axes = TypeVarTuple("_Axes")
Value = Any
__version__: str
inf: float
LOG2E: float

def knob(default: _T, *, legal: Sequence[_T] = ..., why: str = ...) -> _T:
    """A typed parameter of a kernel file: its default, its legal values, why it is there."""

def kernel(
    *,
    threads: int,
    waves: int | tuple[int, ...] = ...,
    requires: str = ...,
    computes: str = ...,
    example: Mapping[str, int] = ...,
    policy: Any = ...,
) -> Callable[[Callable[..., Any]], KernelHandle]:
    """Marks a function as a kernel: its threads, what launches must satisfy, what it computes."""

class Coordinates:
    """The coordinate of every element of a tile along one axis."""

    def __getattr__(self, name: str) -> Any: ...
    def __add__(self, other: Any) -> Any: ...
    def __radd__(self, other: Any) -> Any: ...
    def __sub__(self, other: Any) -> Any: ...
    def __rsub__(self, other: Any) -> Any: ...
    def __mul__(self, other: Any) -> Any: ...
    def __rmul__(self, other: Any) -> Any: ...
    def __truediv__(self, other: Any) -> Any: ...
    def __rtruediv__(self, other: Any) -> Any: ...
    def __floordiv__(self, other: Any) -> Any: ...
    def __rfloordiv__(self, other: Any) -> Any: ...
    def __mod__(self, other: Any) -> Any: ...
    def __rmod__(self, other: Any) -> Any: ...
    def __pow__(self, other: Any) -> Any: ...
    def __rpow__(self, other: Any) -> Any: ...
    def __and__(self, other: Any) -> Any: ...
    def __rand__(self, other: Any) -> Any: ...
    def __or__(self, other: Any) -> Any: ...
    def __ror__(self, other: Any) -> Any: ...
    def __xor__(self, other: Any) -> Any: ...
    def __rxor__(self, other: Any) -> Any: ...
    def __lshift__(self, other: Any) -> Any: ...
    def __rlshift__(self, other: Any) -> Any: ...
    def __rshift__(self, other: Any) -> Any: ...
    def __rrshift__(self, other: Any) -> Any: ...
    def __lt__(self, other: Any) -> Any: ...
    def __le__(self, other: Any) -> Any: ...
    def __gt__(self, other: Any) -> Any: ...
    def __ge__(self, other: Any) -> Any: ...
    def __neg__(self) -> Any: ...
    def __invert__(self) -> Any: ...

class Layout:
    """A map from named coordinates to byte addresses."""

    def __init__(self, **axes: Any) -> None:
        """__init__"""
    @property
    def axes(self) -> Any: ...
    @property
    def digits(self) -> Any: ...
    @property
    def size(self) -> Any: ...
    @property
    def itemsize(self) -> Any: ...
    @property
    def size_bytes(self) -> Any: ...
    def address(self, **coordinates: Any) -> Any:
        """The byte address, from axes (`k`) or from their digits (`chunk`, `e`)."""
    def coordinates(self, address: Any) -> Any:
        """The point at an address: the inverse of `address`, for layouts in which no two points meet."""
    def table(self) -> Any:
        """The address of every point, indexed by the axes in order."""
    def compose(self, inner: Any) -> Layout:
        """x -> self(inner(x)); `inner` yields linear indices, or coordinates by name when it is an owner."""
    def inverse(self) -> Layout:
        """address (in elements) -> linear index."""
    def complement(self, size: int, unit: int = ...) -> Layout:
        """The addresses below `size` that this layout leaves, as a layout `rest`."""
    def divide(self, tile: Layout) -> Layout:
        """Axes of `tile` and `rest`: positions inside a tile, and which tile."""
    def product(self, other: Layout, unit: int = ...) -> Layout:
        """A copy of this layout for every point of `other`."""
    def xor(self, **swizzles: Any) -> Layout:
        """digit="bits of other digits": the digit is exclusive-ored with them."""
    def pad(self, **free: int) -> Layout:
        """digit=bytes: so many bytes stay free after every step of the digit."""
    def permute(self, *names: str) -> Layout:
        """The same axes in another order."""
    def view(self, to: int, of: Any = ...) -> Layout:
        """The same bytes as elements of `to` bytes (instead of `of`, by default the smallest step)."""
    def slice(self, **where: Any) -> Layout:
        """axis=value fixes an axis, axis=(start, stop) restricts it."""
    def merge(self, **together: Any) -> Layout:
        """name=("slow", "fast"): several axes become one."""
    def split(self, **parts: Any) -> Layout:
        """axis={"slow": extent, "fast": extent}: one axis becomes several."""
    def replicate(self, **copies: Any) -> Layout:
        """name=count: a further axis on which the address does not depend."""
    def shift(self, by: Any) -> Layout:
        """The same layout `by` bytes further."""
    def collision(self) -> Any:
        """Two points with one address, or None."""
    def injective(self) -> Any:
        """No two points have the same address."""
    def onto(self, size: Any = ..., unit: Any = ...) -> Any:
        """Every element address below `size` (default: all up to the last) belongs to a point."""
    def equal(self, other: Layout) -> Any:
        """Both layouts give every point the same address."""
    def difference(self, other: Layout) -> Any:
        """A point at which two layouts over the same axes differ, or None."""
    def bank_conflict(self, owner: Owner, width: int, phases: Any, thread: str = ..., element: str = ...) -> Any:
        """Worst bank conflict when the threads of `owner` access this layout `width` bytes at a time."""
    def widest(self, owner: Owner, element: str = ..., alignment: int = ...) -> int:
        """Most bytes one instruction can move along `element` for every thread of `owner`."""
    def lines(self, owner: Owner, width: int, thread: str = ..., element: str = ..., line: int = ...) -> int:
        """Most distinct cache lines that one wave access touches."""

class Owner:
    """A finite map from named inputs to named coordinates."""

    def __init__(self, **parts: Any) -> None:
        """__init__"""
    @property
    def size(self) -> Any: ...
    def at(self, **points: Any) -> Any:
        """Coordinates at a point; inputs that are not given stay variables."""
    def table(self, output: str) -> Any:
        """Values of one coordinate at every point, indexed by the inputs in order."""
    def shape(self) -> Any:
        """Extents of the smallest box from 0 that holds every coordinate."""
    def collision(self) -> Any:
        """Two points that hold the same element, or None."""
    def injective(self) -> Any:
        """No element is held twice."""
    def onto(self, **extents: int) -> Any:
        """Every element of the box is held by someone, and nobody holds anything outside."""
    def inverse(self) -> Owner:
        """Element -> holder.  Needs an owner that holds every element of its box exactly once."""

class Fragment:
    """An owner that forms the operand or the accumulator of a matrix instruction."""

    @property
    def inputs(self) -> Any: ...
    @property
    def outputs(self) -> Any: ...
    def per(self, *axes: str) -> Owner:
        """The same lanes with only these coordinates: one value per row, column, ... of the fragment."""

class Matrix:
    """A matrix instruction under its author's name."""

    def operand(self, wide: int = ..., row: str = ..., k: str = ...) -> Fragment:
        """Who holds A[row, k] (or B[k, row], which is held alike) when each lane has `wide` consecutive k."""
    def acc(self, row: str = ..., col: str = ...) -> Fragment:
        """Who holds D[row, col], the accumulators."""

class KernelHandle:
    """A kernel by file and name."""

    def read(self, **settings: Any) -> Any:
        """The kernel with the given knob settings, read from its file."""
    def __call__(self, *args: Any, device: str = ..., **named: Any) -> Any:
        """Prove, compile and launch on arrays; `argus.ops.call` says how arguments are given."""

class Tile:
    """Registers with coordinates: which thread holds which element. `tile.n`: coordinates along axis n."""

    def __init__(self, value: Any = ..., /) -> None: ...
    dtype: type[Tile]
    def __getitem__(self, index: Any) -> Tile: ...
    def __setitem__(self, index: Any, value: Tile) -> None: ...
    def __getattr__(self, axis: str) -> Any: ...
    def __add__(self, other: Any) -> Tile: ...
    def __radd__(self, other: Any) -> Tile: ...
    def __sub__(self, other: Any) -> Tile: ...
    def __rsub__(self, other: Any) -> Tile: ...
    def __mul__(self, other: Any) -> Tile: ...
    def __rmul__(self, other: Any) -> Tile: ...
    def __truediv__(self, other: Any) -> Tile: ...
    def __rtruediv__(self, other: Any) -> Tile: ...
    def __floordiv__(self, other: Any) -> Tile: ...
    def __rfloordiv__(self, other: Any) -> Tile: ...
    def __mod__(self, other: Any) -> Tile: ...
    def __rmod__(self, other: Any) -> Tile: ...
    def __pow__(self, other: Any) -> Tile: ...
    def __rpow__(self, other: Any) -> Tile: ...
    def __and__(self, other: Any) -> Tile: ...
    def __rand__(self, other: Any) -> Tile: ...
    def __or__(self, other: Any) -> Tile: ...
    def __ror__(self, other: Any) -> Tile: ...
    def __xor__(self, other: Any) -> Tile: ...
    def __rxor__(self, other: Any) -> Tile: ...
    def __lshift__(self, other: Any) -> Tile: ...
    def __rlshift__(self, other: Any) -> Tile: ...
    def __rshift__(self, other: Any) -> Tile: ...
    def __rrshift__(self, other: Any) -> Tile: ...
    def __lt__(self, other: Any) -> Tile: ...
    def __le__(self, other: Any) -> Tile: ...
    def __gt__(self, other: Any) -> Tile: ...
    def __ge__(self, other: Any) -> Tile: ...
    def __neg__(self) -> Tile: ...
    def __invert__(self) -> Tile: ...
    def to(self, dtype: type[Tile], rounding: str = ..., saturate: builtins.bool = ..., finite: builtins.bool = ...) -> Tile:
        """The same values in another type."""
    def bitcast(self, dtype: type[Tile]) -> Tile:
        """The same bits in another type."""
    def regs(self, start: int, count: int) -> Tile:
        """A run of registers."""
    def order(self, *names: str) -> Tile:
        """The same elements with the register digits in another order."""
    def without(self, *names: str) -> Tile:
        """The tile without some axes (all, if none is named)."""
    def held_as(self, owner: Owner | Fragment, tiles: Mapping[str, int] | None = ...) -> Tile:
        """The same registers with the coordinates of another owner."""
    def from_lane(self, source: Any) -> Tile:
        """What another lane of the wave holds."""
    def sum(self, *axes: str, within: str = ...) -> Tile:
        """The sum over the named axes."""
    def prod(self, *axes: str, within: str = ...) -> Tile:
        """The product over the named axes."""
    def max(self, *axes: str, within: str = ...) -> Any:
        """The largest over the named axes."""
    def min(self, *axes: str, within: str = ...) -> Any:
        """The smallest over the named axes."""
    def cumsum(self, axis: str, exclusive: builtins.bool = ..., reverse: builtins.bool = ..., within: str = ...) -> Tile:
        """Every element with the sum of all before it along an axis."""
    def cumprod(self, axis: str, exclusive: builtins.bool = ..., reverse: builtins.bool = ..., within: str = ...) -> Tile:
        """Every element with the product of all before it along an axis."""
    def cummax(self, axis: str, exclusive: builtins.bool = ..., reverse: builtins.bool = ..., within: str = ...) -> Tile:
        """The greatest of every element and all before it along an axis."""
    def cummin(self, axis: str, exclusive: builtins.bool = ..., reverse: builtins.bool = ..., within: str = ...) -> Tile:
        """The least of every element and all before it along an axis."""
    def first(self, axis: str, within: str = ...) -> Tile:
        """The element at the first coordinate of an axis, in every lane."""
    def last(self, axis: str, within: str = ...) -> Tile:
        """The element at the last coordinate of an axis, in every lane."""

class f64(Tile):
    """64 bits; as an annotation a scalar argument, as a function a conversion."""

    bits: ClassVar[int]
    bytes: ClassVar[int]
class f32(Tile):
    """32 bits; as an annotation a scalar argument, as a function a conversion."""

    bits: ClassVar[int]
    bytes: ClassVar[int]
class f16(Tile):
    """16 bits; as an annotation a scalar argument, as a function a conversion."""

    bits: ClassVar[int]
    bytes: ClassVar[int]
class bf16(Tile):
    """16 bits; as an annotation a scalar argument, as a function a conversion."""

    bits: ClassVar[int]
    bytes: ClassVar[int]
class fp8(Tile):
    """8 bits; as an annotation a scalar argument, as a function a conversion."""

    bits: ClassVar[int]
    bytes: ClassVar[int]
class bf8(Tile):
    """8 bits; as an annotation a scalar argument, as a function a conversion."""

    bits: ClassVar[int]
    bytes: ClassVar[int]
class i64(Tile):
    """64 bits; as an annotation a scalar argument, as a function a conversion."""

    bits: ClassVar[int]
    bytes: ClassVar[int]
class i32(Tile):
    """32 bits; as an annotation a scalar argument, as a function a conversion."""

    bits: ClassVar[int]
    bytes: ClassVar[int]
class i16(Tile):
    """16 bits; as an annotation a scalar argument, as a function a conversion."""

    bits: ClassVar[int]
    bytes: ClassVar[int]
class i8(Tile):
    """8 bits; as an annotation a scalar argument, as a function a conversion."""

    bits: ClassVar[int]
    bytes: ClassVar[int]
class u32(Tile):
    """32 bits; as an annotation a scalar argument, as a function a conversion."""

    bits: ClassVar[int]
    bytes: ClassVar[int]
class u16(Tile):
    """16 bits; as an annotation a scalar argument, as a function a conversion."""

    bits: ClassVar[int]
    bytes: ClassVar[int]
class u8(Tile):
    """8 bits; as an annotation a scalar argument, as a function a conversion."""

    bits: ClassVar[int]
    bytes: ClassVar[int]
class bool(Tile):
    """1 bits; as an annotation a scalar argument, as a function a conversion."""

    bits: ClassVar[int]
    bytes: ClassVar[int]

class TensorView:
    """A tensor seen from an element on: `A[row, k]`."""

    dtype: type[Tile]
    def __getitem__(self, index: Any) -> TensorView: ...
    def load(self, owner: Owner | Fragment, *, width: int, tiles: Mapping[str, int] | None = ..., guard: Any = ...) -> Tile:
        """Load what the owner says each thread holds; `width` is the bytes of one access."""
    def store(self, value: Value, owner: Owner | Fragment | None = ..., *, width: int, guard: Any = ...) -> None:
        """Store a tile; `width` is the bytes of one access."""
    def copy(self, into: SharedTile, owner: Owner | Fragment, *, width: int, tiles: Mapping[str, int] | None = ..., guard: Any = ..., **offsets: Any) -> None:
        """Global memory straight to LDS."""
    def atomic_add(self, value: Value, owner: Owner | Fragment | None = ..., *, width: int | None = ..., guard: Any = ...) -> None:
        """Add to memory, element by element, atomically."""
    def atomic_max(self, value: Value, owner: Owner | Fragment | None = ..., *, width: int | None = ..., guard: Any = ...) -> None:
        """Maximum with memory, atomically."""
    def atomic_min(self, value: Value, owner: Owner | Fragment | None = ..., *, width: int | None = ..., guard: Any = ...) -> None:
        """Minimum with memory, atomically."""

class In(TensorView, Generic[Unpack[_Axes]]):
    """A tensor argument that is read: `ag.In["M K", bf16]` names its axes and type."""

class Out(TensorView, Generic[Unpack[_Axes]]):
    """A tensor argument that is written: `ag.Out["M K", bf16]` names its axes and type."""

class InOut(TensorView, Generic[Unpack[_Axes]]):
    """A tensor argument that is read and written: `ag.InOut["M K", bf16]` names its axes and type."""

const = _T | Any
"""A static argument: `causal: ag.const[bool] = False`."""

class SharedTile:
    """A buffer in LDS."""

    def load(self, owner: Owner | Fragment, *, width: int, tiles: Mapping[str, int] | None = ..., guard: Any = ..., **offsets: Any) -> Tile:
        """Load what the owner says each thread holds; `width` is the bytes of one access."""
    def store(self, value: Value, owner: Owner | Fragment | None = ..., *, width: int, guard: Any = ..., **offsets: Any) -> None:
        """Store a tile; `width` is the bytes of one access."""
    def view(self, layout: Layout) -> SharedTile:
        """The same bytes addressed through another layout."""

class Ring:
    """Stages of LDS buffers."""

    def __getitem__(self, stage: Any) -> Any: ...
    def __getattr__(self, name: str) -> Any: ...

def grid(*extents: int, order: Any = ...) -> Any:
    """Says how many workgroups there are, and gives the number of this one along each extent."""

def wave() -> Any:
    """The number of this wave in its workgroup, one for each entry of `waves`."""

def lane() -> int:
    """The number of this lane in its wave, 0 to 63."""

def thread() -> int:
    """The number of this thread in its workgroup."""

def row_major() -> Any:
    """Workgroups in the order of their numbers."""

def grouped(rows: int) -> Any:
    """Workgroups in bands of so many rows, which share what they load in the L2."""

def xcd(count: int = ..., group: int = ...) -> Any:
    """Neighbouring workgroups on one of so many chiplets."""

def shared(layout: Layout, dtype: type[Tile], name: str | None = ...) -> SharedTile:
    """A buffer in LDS with a layout."""

def ring(depth: int, **members: tuple[Layout, type[Tile]]) -> Ring:
    """Several stages of LDS buffers; `ring[i]` is stage i modulo the depth."""

def zeros(owner: Owner | Fragment, dtype: type[Tile], tiles: Mapping[str, int] | None = ..., at: Any = ...) -> Tile:
    """A tile of zeros held as the owner says."""

def full(owner: Owner | Fragment, dtype: type[Tile], value: Value, tiles: Mapping[str, int] | None = ..., at: Any = ...) -> Tile:
    """A tile of one value held as the owner says."""

def range(*bounds: int, step: int = ...) -> Iterable[int]:
    """A loop of the machine: `for i in ag.range(n)`."""

def unroll(*counts: int) -> Iterable[Any]:
    """A loop that is written out: `for i, j in ag.unroll(2, 4)`."""

def barrier(bare: builtins.bool = ...) -> None:
    """All waves of the workgroup arrive before any goes on."""

def wait(vm: int | None = ..., lgkm: int | None = ...) -> None:
    """Waits until so many memory operations are left under way."""

def setprio(priority: int) -> None:
    """Priority of this wave at its SIMD, 0 to 3."""

def mfma(a: Any, b: Any, c: Any) -> Tile:
    """One matrix instruction: a @ b + c."""

def where(condition: Any, x: Any, y: Any) -> Tile:
    """Elementwise choice."""

def stack(parts: Sequence[Tile], name: str) -> Tile:
    """Tiles of one kind as one tile with a further, slowest digit."""

def cdiv(x: Any, y: Any) -> int:
    """Division rounded up."""

def schedule(order: Any = ..., **ratios: int) -> Any:
    """How the instructions of a loop are mixed."""

def opposite() -> Any:
    """The second half of the waves runs one barrier behind the first."""

def fma(x: Any, y: Any, z: Any) -> Tile:
    """x * y + z, rounded once."""

def abs(x: Any) -> Any:
    """Elementwise abs."""

def max(x: Any, y: Any) -> Any:
    """Elementwise max."""

def min(x: Any, y: Any) -> Any:
    """Elementwise min."""

def floor(x: Any) -> Tile:
    """Elementwise floor."""

def exp2(x: Any) -> Tile:
    """Elementwise exp2."""

def log2(x: Any) -> Tile:
    """Elementwise log2."""

def rcp(x: Any) -> Tile:
    """Elementwise rcp."""

def rsqrt(x: Any) -> Tile:
    """Elementwise rsqrt."""

def sqrt(x: Any) -> Tile:
    """Elementwise sqrt."""

def exp(x: Any) -> Tile:
    """Elementwise exp."""

def log(x: Any) -> Tile:
    """Elementwise log."""

def tanh(x: Any) -> Tile:
    """Elementwise tanh."""

def erf(x: Any) -> Tile:
    """Elementwise erf."""

def sigmoid(x: Any) -> Tile:
    """Elementwise sigmoid."""

def pow(x: Any, y: Any) -> Tile:
    """Elementwise pow."""

def as_index(value: Value, low: int, high: int, name: str = ...) -> int:
    """The integer a thread holds as an index; the bounds are obligations of the launch."""

def tag(*parts: Any, **named: Any) -> Any:
    """Names what a value holds, for `ag.check`."""

class check:
    """What must hold at this place; `argus explain RULE` says more."""

    @staticmethod
    def conform(*what: Any, **named: Any) -> None: ...
    @staticmethod
    def race_free(*what: Any, **named: Any) -> None: ...
    @staticmethod
    def bank_free(*what: Any, **named: Any) -> None: ...
    @staticmethod
    def fresh(*what: Any, **named: Any) -> None: ...
    @staticmethod
    def in_bounds(*what: Any, **named: Any) -> None: ...
    @staticmethod
    def covers(*what: Any, **named: Any) -> None: ...
    @staticmethod
    def reduced(*what: Any, **named: Any) -> None: ...
    @staticmethod
    def vector(*what: Any, **named: Any) -> None: ...
    @staticmethod
    def coalesced(*what: Any, **named: Any) -> None: ...
    @staticmethod
    def aligned(*what: Any, **named: Any) -> None: ...
    @staticmethod
    def same(*what: Any, **named: Any) -> None: ...
    @staticmethod
    def distinct(*what: Any, **named: Any) -> None: ...
    @staticmethod
    def invariant(*what: Any, **named: Any) -> None: ...

from argus.gfx942 import mfma_32x32x1_2b_f32 as mfma_32x32x1_2b_f32
from argus.gfx942 import mfma_16x16x1_4b_f32 as mfma_16x16x1_4b_f32
from argus.gfx942 import mfma_4x4x1_16b_f32 as mfma_4x4x1_16b_f32
from argus.gfx942 import mfma_32x32x2_f32 as mfma_32x32x2_f32
from argus.gfx942 import mfma_16x16x4_f32 as mfma_16x16x4_f32
from argus.gfx942 import mfma_32x32x4_xf32 as mfma_32x32x4_xf32
from argus.gfx942 import mfma_16x16x8_xf32 as mfma_16x16x8_xf32
from argus.gfx942 import mfma_32x32x4_2b_f16 as mfma_32x32x4_2b_f16
from argus.gfx942 import mfma_16x16x4_4b_f16 as mfma_16x16x4_4b_f16
from argus.gfx942 import mfma_4x4x4_16b_f16 as mfma_4x4x4_16b_f16
from argus.gfx942 import mfma_32x32x8_f16 as mfma_32x32x8_f16
from argus.gfx942 import mfma_16x16x16_f16 as mfma_16x16x16_f16
from argus.gfx942 import mfma_32x32x4_2b_bf16 as mfma_32x32x4_2b_bf16
from argus.gfx942 import mfma_16x16x4_4b_bf16 as mfma_16x16x4_4b_bf16
from argus.gfx942 import mfma_4x4x4_16b_bf16 as mfma_4x4x4_16b_bf16
from argus.gfx942 import mfma_32x32x8_bf16 as mfma_32x32x8_bf16
from argus.gfx942 import mfma_16x16x16_bf16 as mfma_16x16x16_bf16
from argus.gfx942 import mfma_32x32x4_2b_i8 as mfma_32x32x4_2b_i8
from argus.gfx942 import mfma_16x16x4_4b_i8 as mfma_16x16x4_4b_i8
from argus.gfx942 import mfma_4x4x4_16b_i8 as mfma_4x4x4_16b_i8
from argus.gfx942 import mfma_32x32x16_i8 as mfma_32x32x16_i8
from argus.gfx942 import mfma_16x16x32_i8 as mfma_16x16x32_i8
from argus.gfx942 import mfma_32x32x16_bf8_bf8 as mfma_32x32x16_bf8_bf8
from argus.gfx942 import mfma_16x16x32_bf8_bf8 as mfma_16x16x32_bf8_bf8
from argus.gfx942 import mfma_32x32x16_bf8_fp8 as mfma_32x32x16_bf8_fp8
from argus.gfx942 import mfma_16x16x32_bf8_fp8 as mfma_16x16x32_bf8_fp8
from argus.gfx942 import mfma_32x32x16_fp8_bf8 as mfma_32x32x16_fp8_bf8
from argus.gfx942 import mfma_16x16x32_fp8_bf8 as mfma_16x16x32_fp8_bf8
from argus.gfx942 import mfma_32x32x16_fp8_fp8 as mfma_32x32x16_fp8_fp8
from argus.gfx942 import mfma_16x16x32_fp8_fp8 as mfma_16x16x32_fp8_fp8
from argus.gfx942 import mfma_16x16x4_f64 as mfma_16x16x4_f64
from argus.gfx942 import mfma_4x4x4_4b_f64 as mfma_4x4x4_4b_f64
from argus.gfx942 import v_add_co_u32 as v_add_co_u32
from argus.gfx942 import v_sub_co_u32 as v_sub_co_u32
from argus.gfx942 import v_subrev_co_u32 as v_subrev_co_u32
from argus.gfx942 import v_addc_co_u32 as v_addc_co_u32
from argus.gfx942 import v_subb_co_u32 as v_subb_co_u32
from argus.gfx942 import v_subbrev_co_u32 as v_subbrev_co_u32
from argus.gfx942 import v_mad_u64_u32 as v_mad_u64_u32
from argus.gfx942 import v_mad_i64_i32 as v_mad_i64_i32
from argus.gfx942 import v_mov_b32 as v_mov_b32
from argus.gfx942 import v_cndmask_b32 as v_cndmask_b32
from argus.gfx942 import v_add_u32 as v_add_u32
from argus.gfx942 import v_add_i32 as v_add_i32
from argus.gfx942 import v_sub_u32 as v_sub_u32
from argus.gfx942 import v_sub_i32 as v_sub_i32
from argus.gfx942 import v_subrev_u32 as v_subrev_u32
from argus.gfx942 import v_add3_u32 as v_add3_u32
from argus.gfx942 import v_lshl_add_u32 as v_lshl_add_u32
from argus.gfx942 import v_add_lshl_u32 as v_add_lshl_u32
from argus.gfx942 import v_xad_u32 as v_xad_u32
from argus.gfx942 import v_lshl_add_u64 as v_lshl_add_u64
from argus.gfx942 import v_mul_lo_u32 as v_mul_lo_u32
from argus.gfx942 import v_mul_hi_u32 as v_mul_hi_u32
from argus.gfx942 import v_mul_hi_i32 as v_mul_hi_i32
from argus.gfx942 import v_mul_i32_i24 as v_mul_i32_i24
from argus.gfx942 import v_mul_hi_i32_i24 as v_mul_hi_i32_i24
from argus.gfx942 import v_mad_i32_i24 as v_mad_i32_i24
from argus.gfx942 import v_mul_u32_u24 as v_mul_u32_u24
from argus.gfx942 import v_mul_hi_u32_u24 as v_mul_hi_u32_u24
from argus.gfx942 import v_mad_u32_u24 as v_mad_u32_u24
from argus.gfx942 import v_min_u32 as v_min_u32
from argus.gfx942 import v_max_u32 as v_max_u32
from argus.gfx942 import v_min3_u32 as v_min3_u32
from argus.gfx942 import v_max3_u32 as v_max3_u32
from argus.gfx942 import v_med3_u32 as v_med3_u32
from argus.gfx942 import v_min_i32 as v_min_i32
from argus.gfx942 import v_max_i32 as v_max_i32
from argus.gfx942 import v_min3_i32 as v_min3_i32
from argus.gfx942 import v_max3_i32 as v_max3_i32
from argus.gfx942 import v_med3_i32 as v_med3_i32
from argus.gfx942 import v_min_u16 as v_min_u16
from argus.gfx942 import v_max_u16 as v_max_u16
from argus.gfx942 import v_min3_u16 as v_min3_u16
from argus.gfx942 import v_max3_u16 as v_max3_u16
from argus.gfx942 import v_med3_u16 as v_med3_u16
from argus.gfx942 import v_min_i16 as v_min_i16
from argus.gfx942 import v_max_i16 as v_max_i16
from argus.gfx942 import v_min3_i16 as v_min3_i16
from argus.gfx942 import v_max3_i16 as v_max3_i16
from argus.gfx942 import v_med3_i16 as v_med3_i16
from argus.gfx942 import v_and_b32 as v_and_b32
from argus.gfx942 import v_or_b32 as v_or_b32
from argus.gfx942 import v_xor_b32 as v_xor_b32
from argus.gfx942 import v_xnor_b32 as v_xnor_b32
from argus.gfx942 import v_not_b32 as v_not_b32
from argus.gfx942 import v_and_or_b32 as v_and_or_b32
from argus.gfx942 import v_or3_b32 as v_or3_b32
from argus.gfx942 import v_lshl_or_b32 as v_lshl_or_b32
from argus.gfx942 import v_bfi_b32 as v_bfi_b32
from argus.gfx942 import v_bfrev_b32 as v_bfrev_b32
from argus.gfx942 import v_perm_b32 as v_perm_b32
from argus.gfx942 import v_lshlrev_b32 as v_lshlrev_b32
from argus.gfx942 import v_lshrrev_b32 as v_lshrrev_b32
from argus.gfx942 import v_ashrrev_i32 as v_ashrrev_i32
from argus.gfx942 import v_lshlrev_b64 as v_lshlrev_b64
from argus.gfx942 import v_lshrrev_b64 as v_lshrrev_b64
from argus.gfx942 import v_ashrrev_i64 as v_ashrrev_i64
from argus.gfx942 import v_alignbit_b32 as v_alignbit_b32
from argus.gfx942 import v_alignbyte_b32 as v_alignbyte_b32
from argus.gfx942 import v_bfe_u32 as v_bfe_u32
from argus.gfx942 import v_bfe_i32 as v_bfe_i32
from argus.gfx942 import v_bfm_b32 as v_bfm_b32
from argus.gfx942 import v_bcnt_u32_b32 as v_bcnt_u32_b32
from argus.gfx942 import v_ffbh_u32 as v_ffbh_u32
from argus.gfx942 import v_ffbh_i32 as v_ffbh_i32
from argus.gfx942 import v_ffbl_b32 as v_ffbl_b32
from argus.gfx942 import v_mbcnt_lo_u32_b32 as v_mbcnt_lo_u32_b32
from argus.gfx942 import v_mbcnt_hi_u32_b32 as v_mbcnt_hi_u32_b32
from argus.gfx942 import v_sad_u8 as v_sad_u8
from argus.gfx942 import v_msad_u8 as v_msad_u8
from argus.gfx942 import v_sad_hi_u8 as v_sad_hi_u8
from argus.gfx942 import v_sad_u16 as v_sad_u16
from argus.gfx942 import v_sad_u32 as v_sad_u32
from argus.gfx942 import v_lerp_u8 as v_lerp_u8
from argus.gfx942 import v_dot2_i32_i16 as v_dot2_i32_i16
from argus.gfx942 import v_dot2c_i32_i16 as v_dot2c_i32_i16
from argus.gfx942 import v_dot2_u32_u16 as v_dot2_u32_u16
from argus.gfx942 import v_dot4_i32_i8 as v_dot4_i32_i8
from argus.gfx942 import v_dot4c_i32_i8 as v_dot4c_i32_i8
from argus.gfx942 import v_dot4_u32_u8 as v_dot4_u32_u8
from argus.gfx942 import v_dot8_i32_i4 as v_dot8_i32_i4
from argus.gfx942 import v_dot8c_i32_i4 as v_dot8c_i32_i4
from argus.gfx942 import v_dot8_u32_u4 as v_dot8_u32_u4
from argus.gfx942 import v_pk_mul_lo_u16 as v_pk_mul_lo_u16
from argus.gfx942 import v_mul_lo_u16 as v_mul_lo_u16
from argus.gfx942 import v_pk_lshlrev_b16 as v_pk_lshlrev_b16
from argus.gfx942 import v_lshlrev_b16 as v_lshlrev_b16
from argus.gfx942 import v_pk_lshrrev_b16 as v_pk_lshrrev_b16
from argus.gfx942 import v_lshrrev_b16 as v_lshrrev_b16
from argus.gfx942 import v_pk_ashrrev_i16 as v_pk_ashrrev_i16
from argus.gfx942 import v_ashrrev_i16 as v_ashrrev_i16
from argus.gfx942 import v_pk_mad_u16 as v_pk_mad_u16
from argus.gfx942 import v_mad_u16 as v_mad_u16
from argus.gfx942 import v_pk_mad_i16 as v_pk_mad_i16
from argus.gfx942 import v_mad_i16 as v_mad_i16
from argus.gfx942 import v_pk_add_u16 as v_pk_add_u16
from argus.gfx942 import v_add_u16 as v_add_u16
from argus.gfx942 import v_pk_sub_u16 as v_pk_sub_u16
from argus.gfx942 import v_sub_u16 as v_sub_u16
from argus.gfx942 import v_pk_add_i16 as v_pk_add_i16
from argus.gfx942 import v_add_i16 as v_add_i16
from argus.gfx942 import v_pk_sub_i16 as v_pk_sub_i16
from argus.gfx942 import v_sub_i16 as v_sub_i16
from argus.gfx942 import v_pk_min_u16 as v_pk_min_u16
from argus.gfx942 import v_pk_max_u16 as v_pk_max_u16
from argus.gfx942 import v_pk_min_i16 as v_pk_min_i16
from argus.gfx942 import v_pk_max_i16 as v_pk_max_i16
from argus.gfx942 import v_subrev_u16 as v_subrev_u16
from argus.gfx942 import v_mad_legacy_u16 as v_mad_legacy_u16
from argus.gfx942 import v_mad_legacy_i16 as v_mad_legacy_i16
from argus.gfx942 import v_mad_u32_u16 as v_mad_u32_u16
from argus.gfx942 import v_mad_i32_i16 as v_mad_i32_i16
from argus.gfx942 import v_add_f32 as v_add_f32
from argus.gfx942 import v_sub_f32 as v_sub_f32
from argus.gfx942 import v_subrev_f32 as v_subrev_f32
from argus.gfx942 import v_mul_f32 as v_mul_f32
from argus.gfx942 import v_min_f32 as v_min_f32
from argus.gfx942 import v_max_f32 as v_max_f32
from argus.gfx942 import v_min3_f32 as v_min3_f32
from argus.gfx942 import v_max3_f32 as v_max3_f32
from argus.gfx942 import v_med3_f32 as v_med3_f32
from argus.gfx942 import v_fma_f32 as v_fma_f32
from argus.gfx942 import v_floor_f32 as v_floor_f32
from argus.gfx942 import v_ceil_f32 as v_ceil_f32
from argus.gfx942 import v_trunc_f32 as v_trunc_f32
from argus.gfx942 import v_rndne_f32 as v_rndne_f32
from argus.gfx942 import v_fract_f32 as v_fract_f32
from argus.gfx942 import v_add_f16 as v_add_f16
from argus.gfx942 import v_sub_f16 as v_sub_f16
from argus.gfx942 import v_subrev_f16 as v_subrev_f16
from argus.gfx942 import v_mul_f16 as v_mul_f16
from argus.gfx942 import v_min_f16 as v_min_f16
from argus.gfx942 import v_max_f16 as v_max_f16
from argus.gfx942 import v_min3_f16 as v_min3_f16
from argus.gfx942 import v_max3_f16 as v_max3_f16
from argus.gfx942 import v_med3_f16 as v_med3_f16
from argus.gfx942 import v_fma_f16 as v_fma_f16
from argus.gfx942 import v_floor_f16 as v_floor_f16
from argus.gfx942 import v_ceil_f16 as v_ceil_f16
from argus.gfx942 import v_trunc_f16 as v_trunc_f16
from argus.gfx942 import v_rndne_f16 as v_rndne_f16
from argus.gfx942 import v_fract_f16 as v_fract_f16
from argus.gfx942 import v_mul_legacy_f32 as v_mul_legacy_f32
from argus.gfx942 import v_fmac_f32 as v_fmac_f32
from argus.gfx942 import v_mad_f16 as v_mad_f16
from argus.gfx942 import v_mad_legacy_f16 as v_mad_legacy_f16
from argus.gfx942 import v_mac_f16 as v_mac_f16
from argus.gfx942 import v_fma_legacy_f16 as v_fma_legacy_f16
from argus.gfx942 import v_add_f64 as v_add_f64
from argus.gfx942 import v_mul_f64 as v_mul_f64
from argus.gfx942 import v_min_f64 as v_min_f64
from argus.gfx942 import v_max_f64 as v_max_f64
from argus.gfx942 import v_fma_f64 as v_fma_f64
from argus.gfx942 import v_fmac_f64 as v_fmac_f64
from argus.gfx942 import v_floor_f64 as v_floor_f64
from argus.gfx942 import v_ceil_f64 as v_ceil_f64
from argus.gfx942 import v_trunc_f64 as v_trunc_f64
from argus.gfx942 import v_rndne_f64 as v_rndne_f64
from argus.gfx942 import v_fract_f64 as v_fract_f64
from argus.gfx942 import v_pk_add_f32 as v_pk_add_f32
from argus.gfx942 import v_pk_mul_f32 as v_pk_mul_f32
from argus.gfx942 import v_pk_fma_f32 as v_pk_fma_f32
from argus.gfx942 import v_pk_add_f16 as v_pk_add_f16
from argus.gfx942 import v_pk_mul_f16 as v_pk_mul_f16
from argus.gfx942 import v_pk_fma_f16 as v_pk_fma_f16
from argus.gfx942 import v_pk_min_f16 as v_pk_min_f16
from argus.gfx942 import v_pk_max_f16 as v_pk_max_f16
from argus.gfx942 import v_pk_fmac_f16 as v_pk_fmac_f16
from argus.gfx942 import v_fma_mix_f32 as v_fma_mix_f32
from argus.gfx942 import v_fma_mixlo_f16 as v_fma_mixlo_f16
from argus.gfx942 import v_dot2_f32_f16 as v_dot2_f32_f16
from argus.gfx942 import v_dot2c_f32_f16 as v_dot2c_f32_f16
from argus.gfx942 import v_exp_f32 as v_exp_f32
from argus.gfx942 import v_exp_f16 as v_exp_f16
from argus.gfx942 import v_log_f32 as v_log_f32
from argus.gfx942 import v_log_f16 as v_log_f16
from argus.gfx942 import v_rcp_f32 as v_rcp_f32
from argus.gfx942 import v_rcp_f16 as v_rcp_f16
from argus.gfx942 import v_rsq_f32 as v_rsq_f32
from argus.gfx942 import v_rsq_f16 as v_rsq_f16
from argus.gfx942 import v_sqrt_f32 as v_sqrt_f32
from argus.gfx942 import v_sqrt_f16 as v_sqrt_f16
from argus.gfx942 import v_sin_f32 as v_sin_f32
from argus.gfx942 import v_sin_f16 as v_sin_f16
from argus.gfx942 import v_cos_f32 as v_cos_f32
from argus.gfx942 import v_cos_f16 as v_cos_f16
from argus.gfx942 import v_exp_legacy_f32 as v_exp_legacy_f32
from argus.gfx942 import v_log_legacy_f32 as v_log_legacy_f32
from argus.gfx942 import v_rcp_iflag_f32 as v_rcp_iflag_f32
from argus.gfx942 import v_rcp_f64 as v_rcp_f64
from argus.gfx942 import v_rsq_f64 as v_rsq_f64
from argus.gfx942 import v_sqrt_f64 as v_sqrt_f64
from argus.gfx942 import v_ldexp_f32 as v_ldexp_f32
from argus.gfx942 import v_ldexp_f64 as v_ldexp_f64
from argus.gfx942 import v_ldexp_f16 as v_ldexp_f16
from argus.gfx942 import v_frexp_mant_f32 as v_frexp_mant_f32
from argus.gfx942 import v_frexp_exp_i32_f32 as v_frexp_exp_i32_f32
from argus.gfx942 import v_frexp_mant_f64 as v_frexp_mant_f64
from argus.gfx942 import v_frexp_exp_i32_f64 as v_frexp_exp_i32_f64
from argus.gfx942 import v_frexp_mant_f16 as v_frexp_mant_f16
from argus.gfx942 import v_frexp_exp_i16_f16 as v_frexp_exp_i16_f16
from argus.gfx942 import v_cmp_f_f32 as v_cmp_f_f32
from argus.gfx942 import v_cmp_lt_f32 as v_cmp_lt_f32
from argus.gfx942 import v_cmp_eq_f32 as v_cmp_eq_f32
from argus.gfx942 import v_cmp_le_f32 as v_cmp_le_f32
from argus.gfx942 import v_cmp_gt_f32 as v_cmp_gt_f32
from argus.gfx942 import v_cmp_lg_f32 as v_cmp_lg_f32
from argus.gfx942 import v_cmp_ge_f32 as v_cmp_ge_f32
from argus.gfx942 import v_cmp_o_f32 as v_cmp_o_f32
from argus.gfx942 import v_cmp_u_f32 as v_cmp_u_f32
from argus.gfx942 import v_cmp_nge_f32 as v_cmp_nge_f32
from argus.gfx942 import v_cmp_nlg_f32 as v_cmp_nlg_f32
from argus.gfx942 import v_cmp_ngt_f32 as v_cmp_ngt_f32
from argus.gfx942 import v_cmp_nle_f32 as v_cmp_nle_f32
from argus.gfx942 import v_cmp_neq_f32 as v_cmp_neq_f32
from argus.gfx942 import v_cmp_nlt_f32 as v_cmp_nlt_f32
from argus.gfx942 import v_cmp_tru_f32 as v_cmp_tru_f32
from argus.gfx942 import v_cmp_class_f32 as v_cmp_class_f32
from argus.gfx942 import v_cmp_f_f16 as v_cmp_f_f16
from argus.gfx942 import v_cmp_lt_f16 as v_cmp_lt_f16
from argus.gfx942 import v_cmp_eq_f16 as v_cmp_eq_f16
from argus.gfx942 import v_cmp_le_f16 as v_cmp_le_f16
from argus.gfx942 import v_cmp_gt_f16 as v_cmp_gt_f16
from argus.gfx942 import v_cmp_lg_f16 as v_cmp_lg_f16
from argus.gfx942 import v_cmp_ge_f16 as v_cmp_ge_f16
from argus.gfx942 import v_cmp_o_f16 as v_cmp_o_f16
from argus.gfx942 import v_cmp_u_f16 as v_cmp_u_f16
from argus.gfx942 import v_cmp_nge_f16 as v_cmp_nge_f16
from argus.gfx942 import v_cmp_nlg_f16 as v_cmp_nlg_f16
from argus.gfx942 import v_cmp_ngt_f16 as v_cmp_ngt_f16
from argus.gfx942 import v_cmp_nle_f16 as v_cmp_nle_f16
from argus.gfx942 import v_cmp_neq_f16 as v_cmp_neq_f16
from argus.gfx942 import v_cmp_nlt_f16 as v_cmp_nlt_f16
from argus.gfx942 import v_cmp_tru_f16 as v_cmp_tru_f16
from argus.gfx942 import v_cmp_class_f16 as v_cmp_class_f16
from argus.gfx942 import v_cmp_f_f64 as v_cmp_f_f64
from argus.gfx942 import v_cmp_lt_f64 as v_cmp_lt_f64
from argus.gfx942 import v_cmp_eq_f64 as v_cmp_eq_f64
from argus.gfx942 import v_cmp_le_f64 as v_cmp_le_f64
from argus.gfx942 import v_cmp_gt_f64 as v_cmp_gt_f64
from argus.gfx942 import v_cmp_lg_f64 as v_cmp_lg_f64
from argus.gfx942 import v_cmp_ge_f64 as v_cmp_ge_f64
from argus.gfx942 import v_cmp_o_f64 as v_cmp_o_f64
from argus.gfx942 import v_cmp_u_f64 as v_cmp_u_f64
from argus.gfx942 import v_cmp_nge_f64 as v_cmp_nge_f64
from argus.gfx942 import v_cmp_nlg_f64 as v_cmp_nlg_f64
from argus.gfx942 import v_cmp_ngt_f64 as v_cmp_ngt_f64
from argus.gfx942 import v_cmp_nle_f64 as v_cmp_nle_f64
from argus.gfx942 import v_cmp_neq_f64 as v_cmp_neq_f64
from argus.gfx942 import v_cmp_nlt_f64 as v_cmp_nlt_f64
from argus.gfx942 import v_cmp_tru_f64 as v_cmp_tru_f64
from argus.gfx942 import v_cmp_class_f64 as v_cmp_class_f64
from argus.gfx942 import v_cmp_lt_u32 as v_cmp_lt_u32
from argus.gfx942 import v_cmp_le_u32 as v_cmp_le_u32
from argus.gfx942 import v_cmp_gt_u32 as v_cmp_gt_u32
from argus.gfx942 import v_cmp_ge_u32 as v_cmp_ge_u32
from argus.gfx942 import v_cmp_eq_u32 as v_cmp_eq_u32
from argus.gfx942 import v_cmp_ne_u32 as v_cmp_ne_u32
from argus.gfx942 import v_cmp_f_u32 as v_cmp_f_u32
from argus.gfx942 import v_cmp_t_u32 as v_cmp_t_u32
from argus.gfx942 import v_cmp_lt_i32 as v_cmp_lt_i32
from argus.gfx942 import v_cmp_le_i32 as v_cmp_le_i32
from argus.gfx942 import v_cmp_gt_i32 as v_cmp_gt_i32
from argus.gfx942 import v_cmp_ge_i32 as v_cmp_ge_i32
from argus.gfx942 import v_cmp_eq_i32 as v_cmp_eq_i32
from argus.gfx942 import v_cmp_ne_i32 as v_cmp_ne_i32
from argus.gfx942 import v_cmp_f_i32 as v_cmp_f_i32
from argus.gfx942 import v_cmp_t_i32 as v_cmp_t_i32
from argus.gfx942 import v_cmp_lt_u64 as v_cmp_lt_u64
from argus.gfx942 import v_cmp_le_u64 as v_cmp_le_u64
from argus.gfx942 import v_cmp_gt_u64 as v_cmp_gt_u64
from argus.gfx942 import v_cmp_ge_u64 as v_cmp_ge_u64
from argus.gfx942 import v_cmp_eq_u64 as v_cmp_eq_u64
from argus.gfx942 import v_cmp_ne_u64 as v_cmp_ne_u64
from argus.gfx942 import v_cmp_f_u64 as v_cmp_f_u64
from argus.gfx942 import v_cmp_t_u64 as v_cmp_t_u64
from argus.gfx942 import v_cmp_lt_i64 as v_cmp_lt_i64
from argus.gfx942 import v_cmp_le_i64 as v_cmp_le_i64
from argus.gfx942 import v_cmp_gt_i64 as v_cmp_gt_i64
from argus.gfx942 import v_cmp_ge_i64 as v_cmp_ge_i64
from argus.gfx942 import v_cmp_eq_i64 as v_cmp_eq_i64
from argus.gfx942 import v_cmp_ne_i64 as v_cmp_ne_i64
from argus.gfx942 import v_cmp_f_i64 as v_cmp_f_i64
from argus.gfx942 import v_cmp_t_i64 as v_cmp_t_i64
from argus.gfx942 import v_cmp_lt_u16 as v_cmp_lt_u16
from argus.gfx942 import v_cmp_le_u16 as v_cmp_le_u16
from argus.gfx942 import v_cmp_gt_u16 as v_cmp_gt_u16
from argus.gfx942 import v_cmp_ge_u16 as v_cmp_ge_u16
from argus.gfx942 import v_cmp_eq_u16 as v_cmp_eq_u16
from argus.gfx942 import v_cmp_ne_u16 as v_cmp_ne_u16
from argus.gfx942 import v_cmp_f_u16 as v_cmp_f_u16
from argus.gfx942 import v_cmp_t_u16 as v_cmp_t_u16
from argus.gfx942 import v_cmp_lt_i16 as v_cmp_lt_i16
from argus.gfx942 import v_cmp_le_i16 as v_cmp_le_i16
from argus.gfx942 import v_cmp_gt_i16 as v_cmp_gt_i16
from argus.gfx942 import v_cmp_ge_i16 as v_cmp_ge_i16
from argus.gfx942 import v_cmp_eq_i16 as v_cmp_eq_i16
from argus.gfx942 import v_cmp_ne_i16 as v_cmp_ne_i16
from argus.gfx942 import v_cmp_f_i16 as v_cmp_f_i16
from argus.gfx942 import v_cmp_t_i16 as v_cmp_t_i16
from argus.gfx942 import v_cvt_f32_u32 as v_cvt_f32_u32
from argus.gfx942 import v_cvt_u32_f32 as v_cvt_u32_f32
from argus.gfx942 import v_cvt_f64_u32 as v_cvt_f64_u32
from argus.gfx942 import v_cvt_u32_f64 as v_cvt_u32_f64
from argus.gfx942 import v_cvt_f16_u16 as v_cvt_f16_u16
from argus.gfx942 import v_cvt_u16_f16 as v_cvt_u16_f16
from argus.gfx942 import v_cvt_f32_i32 as v_cvt_f32_i32
from argus.gfx942 import v_cvt_i32_f32 as v_cvt_i32_f32
from argus.gfx942 import v_cvt_f64_i32 as v_cvt_f64_i32
from argus.gfx942 import v_cvt_i32_f64 as v_cvt_i32_f64
from argus.gfx942 import v_cvt_f16_i16 as v_cvt_f16_i16
from argus.gfx942 import v_cvt_i16_f16 as v_cvt_i16_f16
from argus.gfx942 import v_cvt_flr_i32_f32 as v_cvt_flr_i32_f32
from argus.gfx942 import v_cvt_rpi_i32_f32 as v_cvt_rpi_i32_f32
from argus.gfx942 import v_cvt_f32_ubyte0 as v_cvt_f32_ubyte0
from argus.gfx942 import v_cvt_f32_ubyte1 as v_cvt_f32_ubyte1
from argus.gfx942 import v_cvt_f32_ubyte2 as v_cvt_f32_ubyte2
from argus.gfx942 import v_cvt_f32_ubyte3 as v_cvt_f32_ubyte3
from argus.gfx942 import v_cvt_off_f32_i4 as v_cvt_off_f32_i4
from argus.gfx942 import v_cvt_pk_u16_u32 as v_cvt_pk_u16_u32
from argus.gfx942 import v_cvt_pk_i16_i32 as v_cvt_pk_i16_i32
from argus.gfx942 import v_sat_pk_u8_i16 as v_sat_pk_u8_i16
from argus.gfx942 import v_cvt_f16_f32 as v_cvt_f16_f32
from argus.gfx942 import v_cvt_f32_f16 as v_cvt_f32_f16
from argus.gfx942 import v_cvt_f32_f64 as v_cvt_f32_f64
from argus.gfx942 import v_cvt_f64_f32 as v_cvt_f64_f32
from argus.gfx942 import v_cvt_pkrtz_f16_f32 as v_cvt_pkrtz_f16_f32
from argus.gfx942 import v_pack_b32_f16 as v_pack_b32_f16
from argus.gfx942 import v_cvt_pknorm_i16_f32 as v_cvt_pknorm_i16_f32
from argus.gfx942 import v_cvt_pknorm_u16_f32 as v_cvt_pknorm_u16_f32
from argus.gfx942 import v_cvt_f32_fp8 as v_cvt_f32_fp8
from argus.gfx942 import v_cvt_pk_f32_fp8 as v_cvt_pk_f32_fp8
from argus.gfx942 import v_cvt_pk_fp8_f32 as v_cvt_pk_fp8_f32
from argus.gfx942 import v_cvt_sr_fp8_f32 as v_cvt_sr_fp8_f32
from argus.gfx942 import v_cvt_f32_bf8 as v_cvt_f32_bf8
from argus.gfx942 import v_cvt_pk_f32_bf8 as v_cvt_pk_f32_bf8
from argus.gfx942 import v_cvt_pk_bf8_f32 as v_cvt_pk_bf8_f32
from argus.gfx942 import v_cvt_sr_bf8_f32 as v_cvt_sr_bf8_f32
from argus.gfx942 import v_mov_b32_dpp as v_mov_b32_dpp
from argus.gfx942 import ds_swizzle_b32 as ds_swizzle_b32
from argus.gfx942 import v_readlane_b32 as v_readlane_b32
from argus.gfx942 import v_readfirstlane_b32 as v_readfirstlane_b32
from argus.gfx942 import v_writelane_b32 as v_writelane_b32
from argus.gfx942 import ds_bpermute_b32 as ds_bpermute_b32
from argus.gfx942 import ds_permute_b32 as ds_permute_b32
from argus.gfx942 import s_sleep as s_sleep
from argus.gfx942 import s_nop as s_nop
