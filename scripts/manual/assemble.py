"""Write the source of the site: one page per document, per package and per example."""

from __future__ import annotations

import ast
import shutil
from pathlib import Path

from catalogue.markdown import block, first_line, page
from house.documents import links
from house.tree import FLOORS, Tree
from manual.dialect import translate
from manual.pages import FILES, Pages


def assemble(tree: Tree, folder: Path) -> list[str]:
    """Write all pages into an emptied folder and return their names, sorted."""
    pages = Pages(tree)
    texts = {
        name: translate(_read(tree, source), lambda link, source=source: pages.relink(source, link))
        for source, name in pages.documents.items()
    }
    texts |= {name: _example(tree, source) for source, name in pages.examples.items()}
    texts.setdefault("examples/README.md", _examples(tree, pages))
    texts["packages/README.md"] = _packages(pages, texts)
    shutil.rmtree(folder, ignore_errors=True)
    for name, text in texts.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    _copy_files(tree, pages, folder)
    return sorted(texts)


def _read(tree: Tree, name: str) -> str:
    return (tree.root / name).read_text(encoding="utf-8")


def _example(tree: Tree, source: str) -> str:
    text = _read(tree, source)
    doc = ast.get_docstring(ast.parse(text)) or ""
    return page(f"`{source}`", doc, block("python", text))


def _examples(tree: Tree, pages: Pages) -> str:
    listed = [
        f"- [`{source}`]({Path(name).name}): "
        + first_line(ast.get_docstring(ast.parse(_read(tree, source))) or "")
        for source, name in pages.examples.items()
    ]
    return page("Examples", "Programs to start from; each runs in the tests.", "\n".join(listed))


def _packages(pages: Pages, texts: dict[str, str]) -> str:
    """List the packages by floor, each with the first sentence of its page."""
    parts: list[str] = []
    for floor in FLOORS:
        own = {p: name for p, name in pages.packages.items() if name.partition(".")[0] == floor}
        lines = [f"- [`{name}`]({Path(p).name}): {_lead(texts[p])}" for p, name in own.items()]
        parts += [f"## {floor}", "\n".join(lines)]
    return page("Packages", "One page per package, its README, lowest floor first.", *parts)


def _lead(text: str) -> str:
    """Return the first paragraph after the title on one line."""
    paragraphs = [part for part in text.split("\n\n") if part and not part.startswith("#")]
    return " ".join(paragraphs[0].split()) if paragraphs else ""


def _copy_files(tree: Tree, pages: Pages, folder: Path) -> None:
    """Copy what documents link to and what is no page."""
    for source in pages.documents:
        path = tree.root / source
        for _, link in links(path):
            target = (path.parent / link.partition("#")[0]).resolve()
            name = target.relative_to(tree.root.resolve()).as_posix()
            if target.is_file() and pages.address(name).startswith(f"{FILES}/"):
                copy = folder / FILES / name
                copy.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(target, copy)
