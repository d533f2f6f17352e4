"""One self-contained HTML page: style, scripts and data inside it, nothing from outside.

    page("a kernel", body, scripts=("tables.js",))

Everything that comes from a kernel, a journal or a model is escaped where it is put into the body. On top of that the
page carries a content security policy: no network at all, and of all scripts only those that lie in this folder, by
their hash. So a page opens from a file, can be mailed and archived, and what an escape forgot could not run.

Data for a script stand in a `<script type="application/json">`, with `<` written as `\\u003c`, so that no text in them
can end the element.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterable, Sequence
from html import escape
from importlib.resources import files


def page(title: str, body: str, scripts: Sequence[str] = ()) -> str:
    """The text of the page; `scripts` are names of files of this folder, run in that order after the body."""
    texts = [_resource(name) for name in scripts]
    allowed = " ".join(map(_source, texts)) or "'none'"
    policy = f"default-src 'none'; style-src 'unsafe-inline'; script-src {allowed}"
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{escape(policy)}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>\n{_resource('page.css')}</style>\n</head>\n"
        f"<body>\n{body}\n{''.join(f'<script>{text}</script>' for text in texts)}\n</body>\n</html>\n"
    )


def data_block(name: str, value: object) -> str:
    """Data for a script, found by its id."""
    text = json.dumps(value, separators=(",", ":")).replace("<", "\\u003c")
    return f'<script type="application/json" id="{escape(name)}">{text}</script>'


def section(title: str, *parts: str) -> str:
    return f"<section>\n<h2>{escape(title)}</h2>\n{''.join(parts)}\n</section>"


def tiles(shown: Iterable[tuple[str, str, str]]) -> str:
    """The figures one looks for first: (what, figure, remark), all plain text."""
    cells = "".join(
        f"<div><dt>{escape(what)}</dt><dd>{escape(figure)}</dd><dd class=label>{escape(remark)}</dd></div>"
        for what, figure, remark in shown
    )
    return f"<dl class=tiles>{cells}</dl>"


def bars(shares: Iterable[tuple[str, float]]) -> str:
    """Shares of one as bars with their figures."""
    rows = "".join(
        f"<tr><th scope=row>{escape(name)}</th><td class=number>{100 * share:.1f} %</td>"
        f'<td class=track><span class=bar style="width:{100 * max(0.0, min(share, 1.0)):.1f}%"></span></td></tr>'
        for name, share in shares
    )
    return f"<table class=bars>{rows}</table>"


def numbered(lines: Iterable[tuple[int, str, str]]) -> str:
    """Lines of a source with their numbers: (number, text, class); the indentation stays."""
    rows = (
        f'<span class="line {kind}"><span class=no>{number}</span>{escape(text)}</span>' for number, text, kind in lines
    )
    return f"<pre class=source>{chr(10).join(rows)}</pre>"


def _resource(name: str) -> str:
    return files("argus.report").joinpath(name).read_text(encoding="utf-8")


def _source(text: str) -> str:
    """The hash by which the policy allows a script."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
