"""Read the checkout as a tree of parsed Python files, floor by floor."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

import attrs

ROOT = Path(__file__).resolve().parents[2]

FLOORS = {
    "vendor_shims": "vendor_shims",
    "harness": "harness",
    "harness_plugins": "plugins/harness_plugins",
}
"""Import name of each floor and its folder, lowest first."""


FOR_TESTS = {"testing", "contract"}
"""Names of the parts of a package that plugin authors use in their own tests."""


@attrs.frozen
class Finding:
    """State one broken rule at one place."""

    path: str
    line: int
    message: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.message}"


@attrs.frozen
class SourceFile:
    """Hold one Python file: where it is, what it is imported as, and its text.

    `module` is the dotted import name (`harness.session.log`; a package has no `.__init__`), or
    empty for a file that is not part of a floor (tests, examples, scripts).
    """

    path: Path
    name: str
    module: str
    text: str

    @property
    def tree(self) -> ast.Module:
        """Parse the text, once per distinct text."""
        return _parse(self.text, self.name)

    @property
    def lines(self) -> list[str]:
        """Split the text at line feeds only."""
        return self.text.split("\n")

    @property
    def is_init(self) -> bool:
        """Tell whether this file is the root of a package."""
        return self.path.name == "__init__.py"

    @property
    def package(self) -> str:
        """Name the package the file belongs to: the first two parts of its import name."""
        return package_of(self.module)

    def at(self, line: int, message: str) -> Finding:
        """Make a finding about a line of this file."""
        return Finding(path=self.name, line=line, message=message)


@attrs.frozen
class Tree:
    """Offer the files of one checkout; tests build small ones elsewhere."""

    root: Path = ROOT

    def sources(self) -> list[SourceFile]:
        """List the files of the three floors, in order of their import names."""
        found: list[SourceFile] = []
        for floor, folder in FLOORS.items():
            base = self.root / folder
            for path in _python_files(base):
                relative = path.relative_to(base).with_suffix("")
                parts = [floor, *relative.parts]
                if parts[-1] == "__init__":
                    parts.pop()
                found.append(self._read(path, ".".join(parts)))
        return found

    def others(self, *folders: str) -> list[SourceFile]:
        """List the Python files below folders that are no floor, such as `tests`."""
        return [
            self._read(path, "") for folder in folders for path in _python_files(self.root / folder)
        ]

    def documents(self) -> list[Path]:
        """List the README files and guides, in order."""
        found = [path for path in (self.root / "README.md",) if path.is_file()]
        for folder in ("docs", "changelog.d", "examples", "benchmarks", *FLOORS.values()):
            found += sorted((self.root / folder).rglob("*.md"))
        return found

    def public_roots(self) -> dict[str, SourceFile]:
        """Map each importable package root to its file.

        A root is a floor itself, a package or module directly below one, or a part for tests: the
        root beside such a part cannot re-export it, because importing it needs pytest.
        """
        roots: dict[str, SourceFile] = {}
        for file in self.sources():
            parts = file.module.split(".")
            private = any(part.startswith("_") for part in parts)
            for_tests = len(parts) == 3 and parts[2] in FOR_TESTS
            if not private and (len(parts) <= 2 or for_tests):
                roots[file.module] = file
        return roots

    def _read(self, path: Path, module: str) -> SourceFile:
        return SourceFile(
            path=path,
            name=path.relative_to(self.root).as_posix(),
            module=module,
            text=path.read_text(encoding="utf-8"),
        )


def is_for_tests(module: str) -> bool:
    """Tell whether a module is shipped for tests, such as `harness.testing` or `a.b.contract`."""
    return not FOR_TESTS.isdisjoint(module.split("."))


def package_of(module: str) -> str:
    """Reduce a dotted module name to the package that owns it."""
    return ".".join(module.split(".")[:2])


def docstring_of(node: ast.AST) -> str:
    """Give the docstring of a module, class or function, or an empty text."""
    if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
        return ast.get_docstring(node) or ""
    return ""


def _python_files(base: Path) -> list[Path]:
    return sorted(
        path
        for path in base.rglob("*.py")
        if not any(part.startswith(".") for part in path.relative_to(base).parts)
    )


@cache
def _parse(text: str, name: str) -> ast.Module:
    return ast.parse(text, filename=name)
