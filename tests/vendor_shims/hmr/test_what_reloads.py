"""What a changed file leads to besides new code: nothing, an announcement, or a restart."""

from __future__ import annotations

import os
import sys

import pytest

from vendor_shims.cordis import FiberState


@pytest.mark.spec("01-M10")
async def test_an_unrelated_file_is_announced_and_nothing_else(p):
    p.plugin("a", 1)
    old = (await p.run("a")).fiber
    await p.edit("notes.txt", "hello")
    assert p.changes == ["notes.txt"]
    assert p.fiber("a") is old
    assert p.exits == []
    assert p.reloads == []


@pytest.mark.spec("01-M10")
async def test_a_module_that_no_plugin_needs_asks_for_a_restart(bare):
    p = bare
    p.write("lib/engine.py", "VALUE = 1")
    import importlib

    engine = importlib.import_module("engine")
    await p.start()
    p.plugin("a", 1)
    old = (await p.run("a")).fiber
    await p.edit("lib/engine.py", "VALUE = 2")
    assert p.exits == [None]
    assert p.fiber("a") is old
    assert sys.modules["engine"] is engine
    assert any("engine.py changed: only a restart" in line for line in p.k.logged("warn"))


@pytest.mark.spec("01-M10")
async def test_the_framework_does_not_replace_itself(bare):
    import vendor_shims.timer as framework

    p = bare
    folder = os.path.dirname(framework.__file__)
    await p.start(base=folder)
    path = os.path.join(folder, "service.py")
    module = sys.modules["vendor_shims.timer.service"]
    p.hmr.graph.learn(module, None)  # as if its file had another content
    p.hmr.file_changed(path)
    await p.k.advance(0.02)
    assert p.exits == [None]
    assert sys.modules["vendor_shims.timer.service"] is module


@pytest.mark.spec("01-M18")
@pytest.mark.parametrize(
    "reason",
    [
        "__hmr_decline__ = True",
        "import atexit\natexit.register(print, end='')",
        "from atexit import register",
    ],
)
async def test_a_module_that_declines_asks_for_a_restart(p, reason):
    p.write("state.py", f"{reason}\nVALUE = 1\n")
    p.plugin("a", 1, before="from .state import VALUE\n")
    old = (await p.run("a")).fiber
    await p.edit("state.py", f"{reason}\nVALUE = 2\n")
    assert p.exits == [None]
    assert p.fiber("a") is old


@pytest.mark.spec("01-M18")
async def test_a_module_between_that_declines_asks_for_a_restart_too(p):
    p.write("deep.py", "VALUE = 1\n")
    p.write("state.py", "from .deep import VALUE\n__hmr_decline__ = True\n")
    p.plugin("a", 1, before="from .state import VALUE\n")
    p.plugin("b", 1)
    old = (await p.run("a")).fiber
    await p.run("b")
    p.write("deep.py", "VALUE = 2\n")
    p.plugin("b", 2)
    await p.edited("deep.py", "b.py")
    assert p.exits == [None]
    assert p.fiber("a") is old
    assert p.reloads == [["b.py"]]


@pytest.mark.spec("01-M11")
async def test_imports_of_a_file(p):
    p.write("other.py", "")
    p.write("helper.py", "from . import other\n")
    p.plugin("a", 1, before="from .helper import other\nimport json\n")
    package = (await p.run("a")).module.rpartition(".")[0]
    assert p.hmr.imports(p.path("a.py")) == [f"{package}.helper"]
    assert p.hmr.imports(p.path("helper.py")) == [f"{package}.other"]
    assert p.hmr.imports(p.path("other.py")) == []
    assert p.hmr.imports(p.path("unknown.py")) == []


@pytest.mark.spec("01-M13")
async def test_a_base_that_is_a_link_means_the_folder_behind_it(bare, tmp_path_factory):
    p = bare
    link = tmp_path_factory.mktemp("links") / "project"
    link.symlink_to(p.folder)
    p.root = p.root.extend(base_dir=str(link))
    await p.start(base=str(link))
    p.plugin("a", 1)
    p.write("lib/part.py", "VALUE = 1")
    sys.path.insert(0, str(link / "lib"))
    try:
        p.plugin("a", 1, before="import part\n")
        await p.run("a")
        p.plugin("a", 2, before="import part\n")
        await p.edited("a.py")
        p.write("lib/part.py", "VALUE = 2")
        p.hmr.file_changed(str(link / "lib" / "part.py"))
        await p.k.advance(0.02)
    finally:
        sys.path.remove(str(link / "lib"))
    assert p.taken() == ["+a 1", "-a 1", "+a 2", "-a 2", "+a 2"]


async def test_a_row_that_could_not_be_imported_starts_once_it_can(p):
    p.write("a.py", "import \n")
    await p.loader.load_rows([{"id": "a", "name": "./a.py"}, {"id": "b", "name": "./b.py"}])
    assert p.loader.resolve("a").fiber is None
    p.plugin("b", 1)
    await p.edited("b.py")
    assert p.taken() == ["+b 1"]
    assert p.k.logged() == []
    await p.edit("a.py", "import this_is_not_there\n")
    error, _ = p.k.logged()
    assert "this_is_not_there" in error
    p.plugin("a", 1)
    await p.edited("a.py")
    assert p.taken() == ["+a 1"]


async def test_a_disabled_plugin_runs_its_new_code_when_it_is_enabled(p):
    p.write("helper.py", "VALUE = 1\n")
    p.write("a.py", "from .helper import VALUE\ndef apply(ctx):\n    ctx.emit('log', VALUE)\n")
    await p.run("a")
    await p.loader.update("a", {"disabled": True})
    await p.edit("helper.py", "VALUE = 2\n")
    assert p.changes == ["helper.py"]
    assert p.exits == []
    await p.loader.update("a", {"disabled": None})
    assert p.taken() == [1, 2]


async def test_a_deleted_module_keeps_running(p):
    path = p.plugin("a", 1)
    old = (await p.run("a")).fiber
    os.unlink(path)
    await p.edited("a.py")
    assert p.changes == ["a.py"]
    assert p.fiber("a") is old
    p.plugin("a", 2)
    await p.edited("a.py")
    assert p.taken() == ["+a 1", "-a 1", "+a 2"]


async def test_an_atomic_replacement_counts_as_a_change(p):
    p.plugin("a", 1)
    await p.run("a")
    new = p.plugin("new", 2)
    os.replace(new, p.path("a.py"))
    await p.edited("new.py", "a.py")
    assert p.taken() == ["+a 1", "-a 1", "+new 2"]


@pytest.mark.parametrize(
    "name",
    [
        "node_modules/x.py",
        "a/node_modules/b/x.py",
        ".git/x",
        "a/.hidden",
        "cache/x.py",
        "data/x",
        "a/__pycache__/x",
        "x.pyc",
        "a.py~",
        "#a.py#",
        ".#a.py",
        "a.py.swp",
        "4913",
        "a.py___jb_tmp___",
        ".goutputstream-X1",
    ],
)
async def test_what_is_ignored(p, name):
    await p.edit(name, "")
    assert p.changes == []


@pytest.mark.parametrize("name", ["a/cache/x.py", "cachet/x", "a/data.py", "x"])
async def test_what_is_not_ignored(p, name):
    await p.edit(name, "")
    assert p.changes == [os.path.basename(name)]


async def test_own_globs_replace_the_given_ones(bare):
    p = bare
    await p.start(ignored=["**/*.[lt]og", "tmp?/**", "build/", "./out", "[!a]z"])
    for name in ("a/x.log", "x.tog", "tmp1/x", "build/x", "out/x", "bz"):
        await p.edit(name, "")
    assert p.changes == []
    for name in ("x.lag", "tmp/x", "sub/build", "az", "cache/y"):
        await p.edit(name, "")
    assert p.changes == ["x.lag", "x", "build", "az", "y"]


async def test_a_file_outside_the_roots_is_nobodys_business(p, tmp_path_factory):
    other = tmp_path_factory.mktemp("other") / "x.py"
    other.write_text("")
    p.hmr.file_changed(str(other))
    assert p.changes == []


async def test_plugins_given_as_objects_are_left_alone(p):
    p.loader.resolver.register("given", lambda ctx: None)
    await p.loader.create({"id": "given", "name": "given"})
    p.plugin("a", 1)
    await p.run("a")
    p.plugin("a", 2)
    await p.edited("a.py")
    assert p.fiber("given").state is FiberState.ACTIVE
    assert p.reloads == [["a.py"]]
