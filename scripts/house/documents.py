"""Check the documents of each package, and find the blocks that must run and the links."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import attrs

from house.tree import Finding, Tree, is_for_tests

MAX_README_LINES = 80

FORBIDDEN = {
    r"/work/|/root/|/tmp/team|site-packages/": "a path of one machine",
    r"\b(?:the integrator|the brief|(?:bash|fs|llm|tools|base|house|shims) engineer)\b": (
        "how the work was divided is no part of the result"
    ),
    r"\b(?:TODO|FIXME|XXX)\b(?! *\(?#\d)": "work left over carries an issue number",
    r"\b(?:blazing|seamless(?:ly)?|cutting-edge|world-class)\b": "praise instead of a fact",
    r"\b(?:as an AI|chat transcript|in this conversation)\b": "a voice from outside the project",
}
"""What no document and no source says: a pattern, and why."""

_FENCE = re.compile(r"^(?P<indent> *)(?P<ticks>`{3,}|~{3,})(?P<info>.*)$")


LANGUAGES = {"python": "python", "py": "python", "sh": "sh", "bash": "sh"}
"""What a fence may say, and what runs the block."""

_LINK = re.compile(r"(?<!!)\[(?:[^\[\]`]|`[^`]*`)*\]\((?P<target>[^()\s]+)\)")
_CODE = re.compile(r"(`+)(?:(?!\1).)*\1")
_HEADING = re.compile(r"#{1,6} +(?P<text>.*)")


@attrs.frozen
class Block:
    """Hold one fenced block that is a program.

    `reason` says why the block does not run; None means that it runs. A block marked `continues`
    starts with the source of the block before it. `files` are those that the document has a reader
    save before, by name. `output` is what standard output must end with, or None.
    """

    path: Path
    line: int
    language: str
    source: str
    reason: str | None
    files: Mapping[str, str] = attrs.field(factory=dict[str, str])
    output: str | None = None


def check_readmes(tree: Tree) -> list[Finding]:
    """Check that each package has a short README beside its root."""
    findings: list[Finding] = []
    for file in tree.public_roots().values():
        if not file.is_init or is_for_tests(file.module) or "." not in file.module:
            continue
        readme = file.path.with_name("README.md")
        if not readme.is_file():
            findings.append(file.at(1, f"{file.module} has no README.md"))
            continue
        n_lines = len(readme.read_text(encoding="utf-8").split("\n"))
        if n_lines > MAX_README_LINES + 1:
            name = readme.relative_to(tree.root).as_posix()
            findings.append(Finding(name, 1, f"{n_lines} lines; at most {MAX_README_LINES}"))
    return findings


def check_words(tree: Tree) -> list[Finding]:
    """Check documents and sources for words that belong to no reader of them."""
    texts = [(path, path.read_text(encoding="utf-8")) for path in tree.documents()]
    texts += [(file.path, file.text) for file in [*tree.sources(), *tree.others("examples")]]
    findings: list[Finding] = []
    for path, text in texts:
        for index, line in enumerate(text.split("\n")):
            for pattern, why in FORBIDDEN.items():
                if found := re.search(pattern, line):
                    name = path.relative_to(tree.root).as_posix()
                    findings.append(Finding(name, index + 1, f"{found.group()!r}: {why}"))
    return findings


def check_links(tree: Tree) -> list[Finding]:
    """Check that each relative link of a document leads to a file, and to a heading in it."""
    findings: list[Finding] = []
    for path in tree.documents():
        name = path.relative_to(tree.root).as_posix()
        for line, target in links(path):
            file, _, anchor = target.partition("#")
            there = (path.parent / file).resolve() if file else path
            if not there.exists():
                findings.append(Finding(name, line, f"{target!r} leads to no file"))
            elif anchor and there.suffix == ".md" and anchor not in anchors(there):
                findings.append(Finding(name, line, f"{target!r} leads to no heading"))
    return findings


def links(path: Path) -> list[tuple[int, str]]:
    """List the relative links of a document with their lines; code holds none."""
    found: list[tuple[int, str]] = []
    for number, line in _prose(path):
        shown = _CODE.sub(lambda code: "`" + "x" * (len(code[0]) - 2) + "`", line)
        for link in _LINK.finditer(shown):
            target = link["target"]
            if not re.match(r"[a-z]+:", target):
                found.append((number, target))
    return found


def anchors(path: Path) -> set[str]:
    """List the anchors that viewers give to the headings of a document."""
    found: set[str] = set()
    for _, line in _prose(path):
        if heading := _HEADING.fullmatch(line):
            plain = re.sub(r"[^\w\- ]", "", heading["text"].lower())
            base = plain.strip().replace(" ", "-")
            number = 0
            while (anchor := f"{base}-{number}" if number else base) in found:
                number += 1
            found.add(anchor)
    return found


def runnable_blocks(path: Path) -> list[Block]:
    """List the Python and shell blocks of one document.

    The first word after the fence is the language, the rest is a mark:

    - `no-run REASON` keeps a block from running.
    - `continues` makes it go on from the block of the same language before it.
    - `file: NAME`, on a block of any language, is a file that later blocks find.
    - `output`, on a block `text`, is the end of what the block before it prints.

    Raises:
        ValueError: A fence is not closed, a mark is unknown, gives no reason or has nothing to
            refer to, or a file is used by no block.
    """
    blocks: list[Block] = []
    files: dict[str, str] = {}
    unused: dict[str, int] = {}
    for line, info, body in _fences(path):
        language, _, mark = info.partition(" ")
        place = f"{path}:{line}"
        if mark.startswith("file:"):
            name = mark.removeprefix("file:").strip()
            files, unused[name] = files | {name: body}, line
        elif language == "text" and mark == "output":
            if not blocks or blocks[-1].reason is not None or blocks[-1].output is not None:
                raise ValueError(f"{place}: there is no block whose output this is")
            blocks[-1] = attrs.evolve(blocks[-1], output=body)
        elif language in LANGUAGES:
            block = Block(path, line, LANGUAGES[language], body, None, files)
            blocks.append(_marked(block, mark, blocks))
            unused = unused if blocks[-1].reason else {}
    for name, line in unused.items():
        raise ValueError(f"{path}:{line}: no block after it runs with {name!r}")
    return blocks


def _marked(block: Block, mark: str, before: list[Block]) -> Block:
    """Apply what stands behind the language of a block."""
    place = f"{block.path}:{block.line}"
    if not mark:
        return block
    if mark.startswith("no-run"):
        reason = mark.removeprefix("no-run").strip(" :-")
        if not reason:
            raise ValueError(f"{place}: say why the block does not run")
        return attrs.evolve(block, reason=reason)
    same = [other for other in before if other.language == block.language]
    if mark == "continues" and same:
        return attrs.evolve(block, source=same[-1].source + block.source)
    raise ValueError(f"{place}: unknown mark {mark!r} after the language")


def _prose(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the lines outside of fenced blocks with their numbers."""
    opened: re.Match[str] | None = None
    for index, line in enumerate(path.read_text(encoding="utf-8").split("\n")):
        fence = _FENCE.match(line)
        if opened is None and fence is None:
            yield index + 1, line
        elif opened is None:
            opened = fence
        elif fence and fence["ticks"].startswith(opened["ticks"]) and not fence["info"].strip():
            opened = None


def _fences(path: Path) -> Iterator[tuple[int, str, str]]:
    """Yield start line, info text and body of each fenced block."""
    opened: re.Match[str] | None = None
    start = 0
    body: list[str] = []
    for index, line in enumerate(path.read_text(encoding="utf-8").split("\n")):
        fence = _FENCE.match(line)
        if opened is None:
            if fence:
                opened, start, body = fence, index + 1, []
        elif fence and fence["ticks"].startswith(opened["ticks"]) and not fence["info"].strip():
            yield start, opened["info"].strip(), "".join(f"{part}\n" for part in body)
            opened = None
        else:
            body.append(line.removeprefix(opened["indent"]))
    if opened is not None:
        raise ValueError(f"{path}:{start}: the block is not closed")
