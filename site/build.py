"""Builds the documentation site: the pages of the repository, and pages that are generated from the package.

``cargo xtask site`` runs ``python site/build.py --out FOLDER`` in an environment with the package and `requirements.txt`. Nothing is
loaded from the network, neither here nor by the pages. Exit status 1 where a link leads nowhere, or a page would load something.
"""

from __future__ import annotations

import argparse
import logging
import re
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

import names
import pages
import reference
from mkdocs.commands.build import build
from mkdocs.config import load_config
from mkdocs.exceptions import Abort

ROOT = Path(__file__).parents[1]

LOADED = re.compile(r"""<(?:script|img|iframe|link(?=[^>]*stylesheet))[^>]*?(?:src|href)=["']?(https?:)?//[^"'> ]+""")
"""What a browser would load from another host to show a page."""


def stage(folder: Path) -> list[Any]:
    """Puts all pages into a folder, with the paths of the repository, and returns their order."""
    pages.copy(ROOT, folder)
    api = reference.write(folder / "docs/api")
    (folder / "docs/reference/names.md").write_text(names.page(ROOT))
    return pages.order(folder, {"Python API": api})


def loading(site: Path) -> list[str]:
    """The pages that would load something from another host, with what that is."""
    found = ((page, LOADED.search(page.read_text())) for page in sorted(site.rglob("*.html")))
    return [f"{page.relative_to(site)}: {match.group()}" for page, match in found if match]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="the folder of the site, which is emptied first")
    out = parser.parse_args().out.resolve()
    logging.basicConfig(format="%(levelname)s %(message)s", level=logging.WARNING)
    shutil.rmtree(out, ignore_errors=True)
    with tempfile.TemporaryDirectory() as staged:
        nav = stage(Path(staged))
        config = load_config(str(ROOT / "site/mkdocs.yml"), docs_dir=staged, site_dir=str(out), nav=nav)
        try:
            build(config)
        except Abort as fault:
            print(f"the site does not build: {fault}", file=sys.stderr)
            return 1
    faults = loading(out)
    for found in faults:
        print(f"{found} would be loaded from the network", file=sys.stderr)
    print(f"{len(list(out.rglob('*.html')))} pages in {out}")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
