"""Check the documents of each package, and find the Python blocks that must run."""

from __future__ import annotations

import re
from collections.abc import Iterator
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


@attrs.frozen
class Block:
    """Hold one fenced Python block.

    `reason` says why the block does not run; None means that it runs. A block marked `continues`
    starts with the source of the block before it.
    """

    path: Path
    line: int
    source: str
    reason: str | None


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


def python_blocks(path: Path) -> list[Block]:
    """List the Python blocks of one document.

    The first word after the fence is the language. `no-run REASON` keeps a block from running;
    `continues` makes it go on from the block before it.

    Raises:
        ValueError: A fence is not closed, carries an unknown mark, or gives no reason.
    """
    blocks: list[Block] = []
    for line, info, body in _fences(path):
        source = body
        language, _, mark = info.partition(" ")
        if language not in {"python", "py"}:
            continue
        reason: str | None = None
        if mark.startswith("no-run"):
            reason = mark.removeprefix("no-run").strip(" :-")
            if not reason:
                raise ValueError(f"{path}:{line}: say why the block does not run")
        elif mark == "continues" and blocks:
            source = blocks[-1].source + body
        elif mark:
            raise ValueError(f"{path}:{line}: unknown mark {mark!r} after the language")
        blocks.append(Block(path, line, source, reason))
    return blocks


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
