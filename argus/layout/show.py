"""Layouts and owners as a table of text and as a picture (SVG).

    print(table(Layout(row=(4, 16), e=(4, 4)).xor(e="row[0:2]")))

        row\\e   0   1   2   3
            0   0   4   8  12
            1  20  16  28  24        the exclusive or exchanges neighbours within the row
            2  40  44  32  36
            3  60  56  52  48

A layout's cells are byte addresses, coloured by LDS bank in the picture; an owner's cells are the holders of each
element, coloured by lane.  Rows are the first axis, columns all others together.  Large layouts are cut, and the
cut is stated.

Pure functions: text in, text out; nothing is written here.
"""

from __future__ import annotations

from dataclasses import dataclass
from html import escape

import numpy as np

from argus.layout.layout import Layout
from argus.layout.owner import Owner

BANKS = 32
BANK_BYTES = 4
LANES = 64
TABLE_CELLS = (32, 16)
PICTURE_CELLS = (64, 64)


@dataclass(frozen=True)
class Grid:
    """A rectangular excerpt: title, captions of rows and columns, text and colour class of each cell (below 0: white).
    `marked` cells (row, column) are framed."""

    title: str
    corner: str
    rows: list[str]
    columns: list[str]
    text: list[list[str]]
    shade: list[list[int]]
    note: str
    marked: frozenset[tuple[int, int]] = frozenset()


def table(what: Layout | Owner, rows: int = TABLE_CELLS[0], columns: int = TABLE_CELLS[1]) -> str:
    """The layout as aligned text; parts left out are stated in the last line."""
    grid = _grid(what, rows, columns)
    widths = [max(len(caption), *(len(row[i]) for row in grid.text)) for i, caption in enumerate(grid.columns)]
    left = max(len(grid.corner), *(len(caption) for caption in grid.rows))
    lines = [grid.title, "", f"{grid.corner:>{left}}" + _spaced(grid.columns, widths)]
    lines += [f"{c:>{left}}" + _spaced(row, widths) for c, row in zip(grid.rows, grid.text, strict=True)]
    if grid.note:
        lines += ["", grid.note]
    return "\n".join(lines)


def _spaced(cells: list[str], widths: list[int]) -> str:
    return "".join(f"  {cell:>{width}}" for cell, width in zip(cells, widths, strict=True))


def svg(what: Layout | Owner, rows: int = PICTURE_CELLS[0], columns: int = PICTURE_CELLS[1]) -> str:
    """The layout as an SVG document; cells of one bank (or one lane) share a colour."""
    return draw(_grid(what, rows, columns))


def draw(grid: Grid) -> str:
    """The grid as an SVG document."""
    longest = max((len(cell) for row in grid.text for cell in row), default=1)
    width, height, left, top = max(26, 7 * longest + 8), 20, 90, 64
    parts = [
        f'<text x="8" y="20" class="t">{escape(grid.title)}</text>',
        f'<text x="8" y="{top - 8}" class="c">{escape(grid.corner)}</text>',
    ]
    for j, caption in enumerate(grid.columns):
        x = left + j * width + width // 2
        parts.append(f'<text x="{x}" y="{top - 8}" class="c" text-anchor="middle">{escape(caption)}</text>')
    for i, caption in enumerate(grid.rows):
        y = top + i * height
        parts.append(f'<text x="{left - 8}" y="{y + 14}" class="c" text-anchor="end">{escape(caption)}</text>')
        for j, cell in enumerate(grid.text[i]):
            x = left + j * width
            frame = ' class="m"' if (i, j) in grid.marked else ""
            parts.append(
                f'<rect x="{x}" y="{y}" width="{width}" height="{height}" fill="{_colour(grid.shade[i][j])}"{frame}/>'
                f'<text x="{x + width // 2}" y="{y + 14}" text-anchor="middle">{escape(cell)}</text>'
            )
    total_width = left + len(grid.columns) * width + 16
    total_height = top + len(grid.rows) * height + 32
    if grid.note:
        parts.append(f'<text x="8" y="{total_height - 10}" class="c">{escape(grid.note)}</text>')
    style = (
        "text{font:11px ui-monospace,Menlo,Consolas,monospace;fill:#111}"
        ".t{font-size:13px;font-weight:600}.c{fill:#555}rect{stroke:#fff;stroke-width:1}rect.m{stroke:#c00;stroke-width:3}"
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{total_width}" height="{total_height}" '
        f'viewBox="0 0 {total_width} {total_height}"><style>{style}</style>'
        f'<rect width="100%" height="100%" fill="#fff"/>{"".join(parts)}</svg>\n'
    )


def _colour(shade: int) -> str:
    """32 or 64 colours of similar brightness: hue from the shade, lightness alternating so that neighbours differ."""
    if shade < 0:
        return "#fafafa"
    return f"hsl({shade * 360 // BANKS % 360} 70% {78 if shade % 2 else 86}%)"


def _grid(what: Layout | Owner, rows: int, columns: int) -> Grid:
    return _layout_grid(what, rows, columns) if isinstance(what, Layout) else _owner_grid(what, rows, columns)


def _cut(total_rows: int, total_columns: int, rows: int, columns: int) -> str:
    if total_rows <= rows and total_columns <= columns:
        return ""
    return (
        f"shown: {min(rows, total_rows)} of {total_rows} rows, {min(columns, total_columns)} of {total_columns} columns"
    )


def _captions(names: list[str], extents: list[int], count: int) -> list[str]:
    if len(names) <= 1:
        return [str(i) for i in range(count)]
    return [",".join(str(int(x)) for x in np.unravel_index(i, extents)) for i in range(count)]


def _layout_grid(layout: Layout, rows: int, columns: int) -> Grid:
    addresses = layout.table()
    names, extents = list(layout.axes), list(addresses.shape)
    flat = addresses.reshape(extents[0] if extents else 1, -1)
    shown = flat[:rows, :columns]
    corner = f"{names[0] if names else ''}\\{','.join(names[1:])}"
    notes = [_cut(*flat.shape, rows, columns)]
    collision = layout.collision()
    notes.append("injective" if collision is None else f"points {collision[0]} and {collision[1]} share an address")
    return Grid(
        title=repr(layout),
        corner=corner,
        rows=[str(i) for i in range(shown.shape[0])],
        columns=_captions(names[1:], extents[1:], shown.shape[1]),
        text=[[str(int(a)) for a in row] for row in shown],
        shade=[[int(a) // BANK_BYTES % BANKS for a in row] for row in shown],
        note="; ".join(note for note in notes if note),
    )


def _owner_grid(owner: Owner, rows: int, columns: int) -> Grid:
    shape = owner.shape()
    names, extents = list(shape), list(shape.values())
    cells: dict[tuple[int, int], list[str]] = {}
    shades: dict[tuple[int, int], int] = {}
    tables = [owner.table(name).reshape(-1) for name in names]
    inputs = list(owner.inputs.values())
    thread = next((n for n in ("lane", "t", "thread") if n in owner.inputs), next(iter(owner.inputs)))
    flat = np.ravel_multi_index(tuple(np.maximum(t, 0) for t in tables[1:]), extents[1:]) if len(names) > 1 else None
    for point in range(owner.size):
        row = int(tables[0][point])
        column = int(flat[point]) if flat is not None else 0
        if not (0 <= row < rows and column < columns):
            continue
        at = [int(x) for x in np.unravel_index(point, inputs)]
        cells.setdefault((row, column), []).append(".".join(map(str, at)))
        shades.setdefault((row, column), at[list(owner.inputs).index(thread)] % LANES)
    height, width = extents[0], int(np.prod(extents[1:], dtype=object)) if len(extents) > 1 else 1
    row_count, column_count = min(rows, height), min(columns, width)
    held_by = ".".join(owner.inputs)
    twice = owner.collision()
    notes = [
        f"cells: {held_by}",
        _cut(height, width, rows, columns),
        "" if twice is None else f"{twice[0]} and {twice[1]} hold the same element",
    ]
    return Grid(
        title=repr(owner),
        corner=f"{names[0]}\\{','.join(names[1:])}",
        rows=[str(i) for i in range(row_count)],
        columns=_captions(names[1:], extents[1:], column_count),
        text=[["/".join(cells.get((i, j), ["-"])) for j in range(column_count)] for i in range(row_count)],
        shade=[[shades.get((i, j), 0) for j in range(column_count)] for i in range(row_count)],
        note="; ".join(note for note in notes if note),
    )
