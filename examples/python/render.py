"""Writes the tutorial as one page, with what its cells print.

``python examples/python/render.py`` runs `tutorial.py` and writes `tutorial.html` beside it; with ``--check`` it only says
whether the page is that of the script, apart from addresses and times. The package has to be importable.
"""

from __future__ import annotations

import ast
import contextlib
import html
import io
import keyword
import pathlib
import re
import sys
import token
import tokenize
from typing import Any

HERE = pathlib.Path(__file__).parent
ROOT = HERE.parents[1]
SCRIPT = HERE / "tutorial.py"
PAGE = HERE / "tutorial.html"

HEAD = """\
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>{title}</title>
<style>
:root {{ color-scheme: light dark; }}
body {{ max-width: 60rem; margin: 2rem auto; padding: 0 1rem; font: 1rem/1.5 system-ui, sans-serif; }}
h1 {{ font-size: 1.5rem; }}
h2 {{ font-size: 1.1rem; margin-top: 2rem; }}
pre {{ padding: .7rem 1rem; overflow-x: auto; border-left: .2rem solid #8886; background: #8881; font-size: .9rem; }}
pre.output {{ border-color: #3a75; background: none; }}
.keyword {{ color: #a3b; }} .string {{ color: #384; }} .comment {{ color: #888; }} .number {{ color: #26c; }}
</style>
</head>
<body>
<h1>{title}</h1>
"""


def cells(source: str) -> list[tuple[str, int, str]]:
    """The heading of each cell, the line that its code starts at, and its code."""
    lines = source.splitlines()
    starts = [number for number, line in enumerate(lines) if line.startswith("# %%")]
    ends = [*starts[1:], len(lines)]
    found = []
    for start, end in zip(starts, ends, strict=True):
        first = start + 1
        while first < end and not lines[first]:
            first += 1
        found.append((lines[start].removeprefix("# %%").strip(), first + 1, "\n".join(lines[first:end]).rstrip()))
    return found


def run(code: str, first_line: int, names: dict[str, Any]) -> tuple[str, str]:
    """Runs a cell; what it prints, and the page's form of the expression that it ends with, if there is one."""
    tree = ast.increment_lineno(ast.parse(code), first_line - 1)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    printed = io.StringIO()
    shown = ""
    with contextlib.redirect_stdout(printed):
        exec(compile(tree, SCRIPT, "exec"), names)
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), SCRIPT, "eval"), names)
            if hasattr(value, "_repr_html_"):
                shown = value._repr_html_()
            elif value is not None:
                print(repr(value))
    return printed.getvalue(), shown


def coloured(code: str) -> str:
    """The code with its words marked by what they are."""
    lines = code.splitlines(keepends=True)
    parts: list[str] = []
    at = (1, 0)

    def up_to(end: tuple[int, int]) -> str:
        """The text between the place reached and another one."""
        if at[0] == end[0]:
            return lines[at[0] - 1][at[1] : end[1]] if at[0] <= len(lines) else ""
        between = lines[at[0] - 1][at[1] :] + "".join(lines[at[0] : end[0] - 1])
        return between + (lines[end[0] - 1][: end[1]] if end[0] <= len(lines) else "")

    kinds = {token.STRING: "string", token.COMMENT: "comment", token.NUMBER: "number"}
    for word in tokenize.generate_tokens(io.StringIO(code).readline):
        parts.append(html.escape(up_to(word.start), quote=False))
        at = word.start
        text = html.escape(up_to(word.end), quote=False)
        kind = "keyword" if keyword.iskeyword(word.string) else kinds.get(word.type)
        parts.append(f'<span class="{kind}">{text}</span>' if kind and text else text)
        at = word.end
    return "".join(parts).rstrip("\n")


def page() -> str:
    """The whole page; paths are those in the repository."""
    source = SCRIPT.read_text(encoding="utf-8")
    title = ast.get_docstring(ast.parse(source)) or SCRIPT.name
    names: dict[str, Any] = {"__name__": "__main__", "__file__": str(SCRIPT)}
    parts = [HEAD.format(title=html.escape(title))]
    for heading, first_line, code in cells(source):
        printed, shown = run(code, first_line, names)
        parts.append(f"<h2>{html.escape(heading, quote=False)}</h2>\n<pre><code>{coloured(code)}</code></pre>\n")
        if printed:
            parts.append(f'<pre class="output">{html.escape(printed.rstrip(), quote=False)}</pre>\n')
        if shown:
            parts.append(f"<div>{shown}</div>\n")
    return "".join([*parts, "</body>\n</html>\n"]).replace(f"{ROOT}/", "")


def lasting(text: str) -> str:
    """The page without what differs between runs: addresses and times."""
    text = re.sub(r"0x[0-9a-f]+", "0x", text)
    return re.sub(r"\b\d+(\.\d+)? ?(ns|µs|us|ms|s)\b", "time", text)


def main() -> int:
    made = page()
    if "--check" not in sys.argv[1:]:
        PAGE.write_text(made, encoding="utf-8")
        return 0
    if PAGE.is_file() and lasting(PAGE.read_text(encoding="utf-8")) == lasting(made):
        return 0
    print(f"{PAGE.relative_to(ROOT)} is not what the tutorial prints; run `python examples/python/render.py`")
    return 1


if __name__ == "__main__":
    sys.exit(main())
