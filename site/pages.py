"""The pages of the repository as pages of the site."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

LINK = re.compile(r"(?<!!)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^)\s#]+)(#[^)\s]*)?\)")
"""A link of Markdown: its text, its target without and with the anchor."""

FENCE = re.compile(r"(^```.*?^```)", re.MULTILINE | re.DOTALL)
"""A block of code, which has no links."""

LANGUAGE = re.compile(r"^```(\w+),\S+", re.MULTILINE)
"""The first line of a block of code that says more than its language, for tests."""

SECTIONS = {
    "Tutorials": ["docs/tutorial"],
    "How to": ["docs/how-to"],
    "Reference": ["docs/reference"],
    "Python API": ["docs/api"],
    "Coming from": ["docs/from"],
    "Design": ["ARCHITECTURE.md", "docs/design"],
    "Project": ["CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "docs/style.md", "docs/glossary.md", "docs/statements.md"],
}
"""The tabs of the site, with the pages and folders of each."""


def copy(root: Path, folder: Path) -> None:
    """Copies the pages, and the files that they link to, with their paths. Folders that are linked to get a page that lists theirs."""
    sources = [*sorted(root.glob("*.md")), *sorted((root / "docs").rglob("*.md"))]
    for source in sources:
        target = folder / source.relative_to(root)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(with_links(source, root, folder))
    for listed in [path for path in (folder / "docs").iterdir() if path.is_dir()]:
        (listed / "index.md").write_text(contents(listed))


def with_links(source: Path, root: Path, folder: Path) -> str:
    """The text of a page, in which links to folders lead to the pages that list them, and blocks of code say their language alone.

    Other files that it links to are copied.
    """

    def changed(link: re.Match[str]) -> str:
        text, target, anchor = link.group(1), link.group(2), link.group(3) or ""
        path = (source.parent / target).resolve()
        if ":" in target or not path.is_relative_to(root):
            return link.group()
        if path.is_dir():
            return f"[{text}]({target.rstrip('/')}/index.md{anchor})"
        if path.is_file() and path.suffix != ".md":
            place = folder / path.relative_to(root)
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, place)
        return link.group()

    parts = FENCE.split(source.read_text())
    return "".join(LANGUAGE.sub(r"```\1", part) if part.startswith("```") else LINK.sub(changed, part) for part in parts)


def title(page: Path) -> str:
    """The first heading of a page, without marks."""
    match = re.search(r"^# (.+)$", page.read_text(), re.MULTILINE)
    return match.group(1).replace("`", "") if match else page.stem


def contents(folder: Path) -> str:
    """A page with links to those of a folder."""
    listed = [f"- [{title(page)}]({page.name})" for page in sorted(folder.glob("*.md"))]
    return "\n".join([f"# {folder.name.replace('-', ' ').capitalize()}", "", *listed]) + "\n"


def order(folder: Path, known: dict[str, list[Any]]) -> list[Any]:
    """The tabs of the site with their pages, by title; `known` has tabs whose order is known."""

    def entries(place: str) -> list[dict[str, str]]:
        path = folder / place
        found = sorted(path.glob("*.md")) if path.is_dir() else [path]
        return [{title(page): str(page.relative_to(folder))} for page in found]

    tabs = [{tab: known.get(tab) or [entry for place in places for entry in entries(place)]} for tab, places in SECTIONS.items()]
    return [{"Home": ["README.md", {"Where to read what": "docs/README.md"}]}, *tabs]
