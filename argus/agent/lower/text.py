"""Kernel source as a syntax tree and back, so that what a transformation leaves reads like what a person wrote.

    tree = parse(text)          # comments on their own line become statements '# …' of the tree
    text = unparse(tree)        # …and come back as comments; long calls are broken one argument per line

Python's own printer drops comments and blank lines and never breaks a line. Here a comment that stands on its own line
is carried as a string statement, so it moves with its block; blank lines stand around top-level definitions; a line
over 110 columns is broken inside its outermost call. Comments at the end of a line of code are moved above it; where
there are none, as in every file `unparse` wrote, line numbers of tree and text agree.
"""

from __future__ import annotations

import ast
import io
import tokenize

WIDEST = 110
MARK = "# "


def parse(text: str) -> ast.Module:
    """The tree of a kernel file, comments included."""
    return ast.parse(_comments_as_strings(text))


def statements(text: str) -> list[ast.stmt]:
    """Statements written as text, to be put into a tree."""
    return parse(text).body


def statement(text: str) -> ast.stmt:
    """One statement written as text."""
    return statements(text)[0]


def expression(text: str) -> ast.expr:
    """An expression written as text."""
    return ast.parse(text, mode="eval").body


def is_comment(node: ast.stmt) -> bool:
    """Whether a statement is a carried comment."""
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
        and node.value.value.startswith(MARK)
    )


def unparse(tree: ast.Module) -> str:
    """The text of a tree: comments back in place, double quotes, broken lines, blank lines between definitions."""
    parts: list[str] = []
    before: ast.stmt | None = None
    for node in tree.body:
        alone = ast.fix_missing_locations(ast.Module([node], []))
        whole = _is_docstring(node) and before is None
        printed = ast.unparse(alone if whole or not _is_docstring(node) else node).split("\n")
        lines = printed if whole else [piece for line in printed for piece in _line(_quotes(line))]
        gap = _gap(before, node)
        parts.extend([""] * gap if parts else [])
        parts.extend(lines)
        before = node
    return "\n".join(parts) + "\n"


def _is_docstring(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and not is_comment(node)


def _gap(before: ast.stmt | None, node: ast.stmt) -> int:
    if isinstance(node, ast.FunctionDef) and (before is None or not is_comment(before)):
        return 2
    if isinstance(before, ast.FunctionDef):
        return 2
    imports = (ast.Import, ast.ImportFrom)
    if isinstance(before, ast.Expr) and not is_comment(before):
        return 1
    if isinstance(before, imports) and not isinstance(node, imports):
        return 1
    return 1 if is_comment(node) and before is not None and not is_comment(before) else 0


def _comments_as_strings(text: str) -> str:
    if "#" not in text:
        return text
    lines = text.split("\n")
    starts: dict[int, str] = {}
    depth = 0
    first_of_line: tokenize.TokenInfo | None = None
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.OP:
            depth += (token.string in "([{") - (token.string in ")]}")
        if token.type in (tokenize.NEWLINE, tokenize.NL) and depth == 0:
            first_of_line = None
        elif token.type == tokenize.COMMENT:
            row, column = token.start
            lines[row - 1] = lines[row - 1][:column].rstrip()
            if depth == 0:
                at = row if first_of_line is None else first_of_line.start[0]
                starts[at] = token.string
        elif token.type not in (tokenize.INDENT, tokenize.DEDENT, tokenize.NL) and first_of_line is None:
            first_of_line = token
    out: list[str] = []
    for number, line in enumerate(lines, 1):
        comment, indent = starts.get(number), _indent_at(lines, number)
        if comment is not None and indent is not None:
            text = f"{indent}{MARK + comment.lstrip('#').strip()!r}"
            out.extend([text, line] if line.strip() else [text])
        else:
            out.append(line)
    return "\n".join(out)


def _indent_at(lines: list[str], number: int) -> str | None:
    """The indentation of the first code line from here on; None where no statement can stand (before `else`)."""
    for line in lines[number - 1 :]:
        code = line.strip()
        if code:
            if code.split(":")[0].split(" ")[0] in ("else", "elif"):
                return None
            return line[: len(line) - len(line.lstrip())]
    return ""


def _quotes(line: str) -> str:
    stripped = line.strip()
    if stripped.startswith(f'"""{MARK}') and stripped.endswith('"""'):
        return line[: len(line) - len(line.lstrip())] + stripped[3:-3]
    if len(stripped) > 3 and stripped[1:3] == MARK and stripped[0] == stripped[-1] and stripped[0] in "'\"":
        return line[: len(line) - len(line.lstrip())] + str(ast.literal_eval(stripped))
    try:
        tokens = list(tokenize.generate_tokens(io.StringIO(stripped).readline))
    except (tokenize.TokenError, SyntaxError, IndentationError):
        return line
    for token in tokens:
        if token.type == tokenize.STRING and '"' not in token.string and "\\" not in token.string:
            body = token.string
            if body.endswith("'") and not body.endswith("'''"):
                head = body.index("'")
                line = line.replace(body, f'{body[:head]}"{body[head + 1 : -1]}"', 1)
    return line


def _line(line: str) -> list[str]:
    """A line, broken at the arguments of the outermost bracket that closes at its end when it is too long."""
    if len(line) <= WIDEST or line.lstrip().startswith(MARK):
        return [line]
    tail = ":" if line.endswith(":") else ""
    text = line[: len(line) - len(tail)]
    if not text.endswith((")", "]")):
        return [line]
    opening = _matching(text)
    if opening is None:
        return [line]
    indent = line[: len(line) - len(line.lstrip())]
    inside = text[opening + 1 : -1]
    arguments = _split(inside)
    comma = "," if len(arguments) > 1 or inside.rstrip().endswith(",") else ""
    inner = [piece for a in arguments for piece in _line(f"{indent}    {a}{comma}")]
    return [text[: opening + 1], *inner, f"{indent}{text[-1]}{tail}"]


def _matching(text: str) -> int | None:
    """Where the bracket that the last character closes was opened."""
    stack: list[int] = []
    quote = ""
    for position, character in enumerate(text):
        if quote:
            quote = "" if character == quote else quote
        elif character in "'\"":
            quote = character
        elif character in "([{":
            stack.append(position)
        elif character in ")]}":
            if not stack:
                return None
            opened = stack.pop()
            if position == len(text) - 1:
                return opened
    return None


def _split(text: str) -> list[str]:
    """The top-level comma-separated parts of an argument list."""
    parts, depth, quote, start = [], 0, "", 0
    for position, character in enumerate(text):
        if quote:
            quote = "" if character == quote else quote
        elif character in "'\"":
            quote = character
        elif character in "([{":
            depth += 1
        elif character in ")]}":
            depth -= 1
        elif character == "," and depth == 0:
            parts.append(text[start:position].strip())
            start = position + 1
    parts.append(text[start:].strip())
    return [part for part in parts if part]
