"""The site has a page for each document, its links hold, and it loads nothing from elsewhere."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from house.documents import anchors, links
from house.tree import ROOT, Tree
from manual.assemble import assemble
from manual.dialect import translate
from manual.offline import remote_loads
from manual.pages import Pages

Build = Callable[[dict[str, str]], Tree]

FILES = {
    "README.md": "# Top\n\nSee [docs](docs/index.md), [MIT](LICENSE), [all](examples).\n",
    "LICENSE": "free\n",
    "docs/index.md": (
        "# Start\n\n[a](../harness/a/README.md#two-words) [r](../README.md) [n](notes)\n"
    ),
    "docs/notes/README.md": "# Notes\n",
    "examples/one.py": '"""Show one thing.\n\nMore.\n"""\n\nprint("```")\n',
    "harness/__init__.py": "",
    "harness/a/README.md": (
        "# a\n\nDoes\na thing.\n\n## Two words\n\n[code](../../examples/one.py)\n"
    ),
    "plugins/harness_plugins/p/README.md": "# p\n\nRuns [a](../../../harness/a/README.md).\n",
    "plugins/harness_plugins/p/prompt.md": "You are.\n",
    "changelog.d/README.md": "# Changes\n",
}


def test_each_document_and_example_is_a_page(tree_of: Build, tmp_path: Path) -> None:
    tree = tree_of(FILES)
    folder = tmp_path / "build" / "out"
    (folder / "old").mkdir(parents=True)
    assert assemble(tree, folder) == [
        "changelog.d/README.md",
        "examples/README.md",
        "examples/one.md",
        "index.md",
        "notes/README.md",
        "packages/README.md",
        "packages/harness.a.md",
        "packages/harness_plugins.p.md",
        "project.md",
    ]
    assert not (folder / "old").exists()
    read = {name: (folder / name).read_text() for name in ("project.md", "index.md")}
    assert "[docs](index.md), [MIT](files/LICENSE), [all](examples/README.md)" in read["project.md"]
    assert (
        "[a](packages/harness.a.md#two-words) [r](project.md) [n](notes/README.md)"
        in read["index.md"]
    )
    assert (folder / "files" / "LICENSE").read_text() == "free\n"
    assert (
        "- [`harness.a`](harness.a.md): Does a thing."
        in (folder / "packages/README.md").read_text()
    )
    assert (
        "- [`examples/one.py`](one.md): Show one thing."
        in (folder / "examples/README.md").read_text()
    )
    assert '````python\n"""Show one' in (folder / "examples/one.md").read_text()


def test_the_pages_of_this_checkout_link_to_each_other(tmp_path: Path) -> None:
    names = assemble(Tree(), tmp_path / "out")
    broken = [
        f"{name}: {link}"
        for name in names
        for _, link in links(tmp_path / "out" / name)
        if not _leads(tmp_path / "out" / name, link)
    ]
    assert broken == []


def _leads(page: Path, link: str) -> bool:
    file, _, anchor = link.partition("#")
    there = page.parent / file if file else page
    return there.is_file() and (not anchor or anchor in anchors(there))


def test_the_navigation_names_pages(tmp_path: Path) -> None:
    text = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    listed = re.findall(r"(\S+\.md)$", text[text.index("\nnav:") :], flags=re.MULTILINE)
    pages = set(Pages(Tree()).documents.values()) | {"packages/README.md", "examples/README.md"}
    assert len(listed) > 15
    assert set(listed) - pages == set()


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("text\n- a\n- b\n", "text\n\n- a\n- b\n"),
        ("- a\n  more\n- b\n", "- a\n  more\n- b\n"),
        ("text:\n1. a\n", "text:\n\n1. a\n"),
        ("```python continues\n- x\n```\n", "```python\n- x\n```\n"),
        ("```yaml file: a/b.yml\nx\n```\n", '```yaml title="a/b.yml"\nx\n```\n'),
        ("````text output\n```sh no-run: x\n````\n", "````text\n```sh no-run: x\n````\n"),
        (
            "[a](b.md) `[c](d.md)` [e](https://f.example)",
            "[a](B.MD) `[c](d.md)` [e](https://f.example)",
        ),
        ("[`a`](b.md#c)", "[`a`](B.MD#C)"),
    ],
)
def test_what_a_code_host_draws_is_put_as_the_generator_reads_it(written: str, meant: str) -> None:
    assert translate(written, str.upper) == meant


def test_what_a_page_would_load_from_elsewhere_is_found(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "a.html").write_text(
        '<link rel="stylesheet" href="https://fonts.example/x.css">'
        '<link rel="canonical" href="https://our.example/"><script src="../own.js"></script>'
        '<script src="//cdn.example/m.js"></script><a href="https://linked.example">x</a>'
        '<img src="data:image/png;base64,x"><img src="http://pictures.example/p.png">',
        encoding="utf-8",
    )
    assert remote_loads(tmp_path) == [
        "sub/a.html: https://fonts.example/x.css",
        "sub/a.html: //cdn.example/m.js",
        "sub/a.html: http://pictures.example/p.png",
    ]
