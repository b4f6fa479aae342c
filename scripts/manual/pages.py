"""Say which file of the checkout becomes which page of the site."""

from __future__ import annotations

import os
from functools import cached_property
from pathlib import Path, PurePosixPath

import attrs

from house.tree import FLOORS, Tree

FILES = "files"
"""Folder of the site for files that are linked to and are no page."""

OUTSIDE = {"README.md": "project.md"}
"""Pages of documents that stand at the root."""


@attrs.define(slots=False)
class Pages:
    """Map files of the checkout to pages; names are relative and use slashes."""

    tree: Tree

    @cached_property
    def documents(self) -> dict[str, str]:
        """Map each document to its page; texts that a package ships for its own use are none."""
        names = [path.relative_to(self.tree.root).as_posix() for path in self.tree.documents()]
        floors = tuple(f"{folder}/" for folder in FLOORS.values())
        return {
            name: _page_of(name)
            for name in names
            if not name.startswith(floors) or name.endswith("/README.md")
        }

    @cached_property
    def examples(self) -> dict[str, str]:
        """Map each example to its page."""
        paths = sorted((self.tree.root / "examples").glob("*.py"))
        return {f"examples/{path.name}": f"examples/{path.stem}.md" for path in paths}

    @cached_property
    def packages(self) -> dict[str, str]:
        """Map the page of each package to its import name, lowest floor first."""
        return {
            page: page.removeprefix("packages/").removesuffix(".md")
            for page in self.documents.values()
            if page.startswith("packages/")
        }

    def address(self, target: str) -> str:
        """Return what a linked file or folder is in the site: a page, or a copy of the file."""
        if (page := self.documents.get(target) or self.examples.get(target)) is not None:
            return page
        if (page := self.documents.get(f"{target}/README.md")) is not None:
            return page
        if target == "examples":
            return "examples/README.md"
        return f"{FILES}/{target}"

    def relink(self, source: str, link: str) -> str:
        """Return a link of a document as the page of that document has to say it."""
        file, hash_mark, anchor = link.partition("#")
        if not file:
            return link
        target = os.path.normpath(PurePosixPath(source).parent / file)
        here = PurePosixPath(self.documents[source]).parent
        return os.path.relpath(self.address(target), here) + hash_mark + anchor


def _page_of(name: str) -> str:
    if name in OUTSIDE:
        return OUTSIDE[name]
    if name.startswith("docs/"):
        return name.removeprefix("docs/")
    path = Path(name)
    for floor, folder in FLOORS.items():
        if path.is_relative_to(folder) and path.name == "README.md":
            parts = path.parent.relative_to(folder).parts
            return f"packages/{'.'.join([floor, *parts])}.md"
    return name
