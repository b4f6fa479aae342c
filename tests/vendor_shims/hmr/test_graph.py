"""Which module imports which, as source texts, observation and declarations say."""

from __future__ import annotations

import importlib
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest

from vendor_shims.hmr import ImportGraph, Roots


class Library:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.graph = ImportGraph(Roots([str(folder)]))

    def write(self, name: str, text: str = "") -> None:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text))

    def imported(self, name: str) -> set[str]:
        return set(self.graph.edges().imported[name])


@pytest.fixture
def lib(tmp_path: Path) -> Iterator[Library]:
    library = Library(tmp_path / "lib")
    library.graph.install()
    yield library
    library.graph.uninstall()
    library.graph.uninstall()


def test_all_forms_of_imports_are_read(lib):
    for name in ("one", "two", "three", "four", "five", "six"):
        lib.write(f"{name}.py")
    lib.write("pack/__init__.py", "OWN = 1")
    lib.write("pack/sub.py")
    lib.write("pack/deep/__init__.py")
    lib.write("pack/deep/leaf.py", "from .. import OWN\nfrom .. import sub\nfrom . import *\n")
    lib.write(
        "main.py",
        """
        import one
        import two as second
        from three import *
        import pack.deep.leaf
        import pack.sub as s
        from typing import TYPE_CHECKING
        import typing as t
        if TYPE_CHECKING:
            import five
        if t.TYPE_CHECKING:
            import five
        else:
            import four
        def later():
            import six
        """,
    )
    importlib.import_module("main").later()
    importlib.import_module("five")
    assert lib.imported("main") == {
        "one",
        "two",
        "three",
        "four",
        "six",
        "pack",
        "pack.deep",
        "pack.deep.leaf",
        "pack.sub",
    }
    assert lib.imported("pack.deep.leaf") == {"pack", "pack.sub", "pack.deep"}
    assert lib.imported("pack") == set()


def test_a_part_of_a_package_is_no_use_of_the_package(lib):
    lib.write("pack/__init__.py", "from .part import part\nfrom .whole import whole\n")
    lib.write("pack/part.py", "part = 1")
    lib.write("pack/whole.py", "whole = 1")
    lib.write("pack/other.py", "")
    lib.write("main.py", "from pack import other\nfrom pack import part\n")
    importlib.import_module("main")
    # `part` is the number that the package has under that name, `other` is the module.
    assert lib.imported("main") == {"pack.other", "pack"}


def test_imports_by_name_are_observed(lib):
    lib.write("pack/__init__.py")
    lib.write("pack/found.py")
    lib.write("alone.py")
    lib.write(
        "main.py",
        """
        import importlib
        def load(name):
            return importlib.import_module(name)
        """,
    )
    main = importlib.import_module("main")
    main.load("pack.found")
    main.load("alone")
    with pytest.raises(ImportError):
        main.load("missing_module")
    assert lib.imported("main") == {"pack.found", "alone"}


def test_a_relative_import_that_leads_nowhere_is_no_edge(lib):
    lib.write("main.py", "try:\n    from ..above import x\nexcept ImportError:\n    x = None\n")
    importlib.import_module("main")
    assert lib.imported("main") == set()


def test_declared_dependencies_count(lib):
    lib.write("pack/__init__.py", "__hmr_dependencies__ = ['alone', '.part', 7, '...above']\n")
    lib.write("pack/part.py")
    lib.write("alone.py")
    lib.write("typed.py", "__hmr_dependencies__: list[str] = ['alone']\n")
    lib.write("strange.py", "__hmr_dependencies__ = print\nfrom . import x if 0 else None\n")
    for name in ("pack", "pack.part", "alone", "typed"):
        importlib.import_module(name)
    assert lib.imported("pack") == {"pack.part", "alone"}
    assert lib.imported("typed") == {"alone"}


def test_closures_and_importers_follow_circles_once(lib):
    lib.write("a.py", "import b\n")
    lib.write("b.py", "import c\n")
    lib.write("c.py", "import a\nimport d\n")
    lib.write("d.py")
    importlib.import_module("a")
    edges = lib.graph.edges()
    assert edges.closure("a") == {"a", "b", "c", "d"}
    assert edges.closure("a", stop={"c"}) == {"a", "b"}
    assert edges.reaching(["d"]) == {"a", "b", "c", "d"}
    assert edges.reaching(["a"]) == {"a", "b", "c"}


def test_modules_loaded_before_are_read_from_their_files(tmp_path):
    lib = Library(tmp_path / "lib")
    lib.write("one.py")
    lib.write("two.py", "import one\n")
    importlib.import_module("two")
    lib.write("broken.py")
    importlib.import_module("broken")
    lib.write("broken.py", "def (")
    list(lib.graph.read_ahead())
    (tmp_path / "lib" / "two.py").unlink()
    assert lib.imported("two") == {"one"}
    assert lib.imported("broken") == set()
    assert lib.graph.source("broken") is None
    assert not lib.graph.declines("broken")
    assert list(lib.graph.read_ahead()) == []


def test_only_a_module_whose_import_registers_for_the_exit_declines(lib):
    lib.write("one.py", "import atexit\ndef later():\n    atexit.register(print)\n")
    lib.write("two.py", "def later():\n    from atexit import register\n")
    lib.write(
        "three.py", "import atexit\n@atexit.register\ndef at_end(): pass\natexit.unregister(at_end)"
    )
    for name in ("one", "two", "three"):
        importlib.import_module(name)
    assert [name for name in ("one", "two", "three") if lib.graph.declines(name)] == ["three"]


def test_a_compiled_module_declines(lib):
    lib.write("native.py")
    module = importlib.import_module("native")
    (lib.folder / "native.so").write_bytes(b"\x7fELF")
    assert module.__spec__ is not None
    module.__spec__.origin = str(lib.folder / "native.so")
    assert lib.graph.declines("native")


def test_a_new_package_keeps_the_parts_that_are_not_imported_again(lib):
    from vendor_shims.hmr import ModuleSwap

    lib.write("pack/__init__.py", "VALUE = 1\n")
    lib.write("pack/part.py")
    lib.write("pack/deep/__init__.py")
    part = importlib.import_module("pack.part")
    importlib.import_module("pack.deep")
    swap = ModuleSwap(lib.graph)
    swap.take_out(["pack", "never.loaded"])
    lib.write("pack/__init__.py", "VALUE = 2\n")
    pack, _ = swap.fresh_import("pack")
    assert pack.VALUE == 2
    assert pack.part is part
    assert sys.modules["pack.part"] is part


def test_a_module_that_is_taken_out_is_no_attribute_of_its_package(lib):
    from vendor_shims.hmr import ModuleSwap

    lib.write("pack/__init__.py")
    lib.write("pack/part.py")
    part = importlib.import_module("pack.part")
    pack = sys.modules["pack"]
    swap = ModuleSwap(lib.graph)
    swap.take_out(["pack.part"])
    assert not hasattr(pack, "part")
    assert swap.fresh_import("pack.part")[0] is pack.part
    swap.undo()
    assert pack.part is part
    assert sys.modules["pack.part"] is part


def test_roots_in_each_other_list_a_file_once(tmp_path):
    (tmp_path / "in" / "cache").mkdir(parents=True)
    (tmp_path / "in" / "a.py").write_text("")
    (tmp_path / "in" / "cache" / "b.py").write_text("")
    (tmp_path / "c.py").write_text("")
    roots = Roots([str(tmp_path), str(tmp_path / "in"), str(tmp_path)], ["in/cache"])
    found = sorted(path[len(str(tmp_path)) :] for path in roots.files())
    assert found == ["/c.py", "/in/a.py", "/in/cache/b.py"]
    assert roots.has(str(tmp_path / "in" / "a.py"))
    assert not Roots([str(tmp_path)], ["in"]).has(str(tmp_path / "in" / "a.py"))
    assert not roots.has(f"{tmp_path}-other/a.py")
