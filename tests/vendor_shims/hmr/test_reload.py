"""Replacing the code of running plugins."""

from __future__ import annotations

import builtins
import os
import py_compile
import sys

import pytest

from vendor_shims.cordis import FiberState


@pytest.mark.spec("01-M01")
async def test_an_edited_plugin_runs_with_its_new_code(p):
    p.plugin("a", 1)
    entry = await p.run("a", config={"x": 1})
    old = entry.fiber
    p.taken()
    p.plugin("a", 2)
    await p.edited("a.py")
    assert p.taken() == ["-a 1", "+a 2"]
    assert p.reloads == [["a.py"]]
    assert p.loader.resolve("a") is entry
    assert entry.fiber is not old
    assert old.state is FiberState.DISPOSED
    assert entry.fiber.state is FiberState.ACTIVE
    assert entry.fiber.entry is entry
    assert entry.fiber.raw_config == {"x": 1}
    assert entry.options["config"] == {"x": 1}
    assert "hmr: reload plugin at a.py" in p.k.logged("info")


@pytest.mark.spec("01-M02")
async def test_a_reverted_edit_brings_the_old_value_back(p):
    p.plugin("a", 1)
    await p.run("a")
    for value in (2, 1):
        p.plugin("a", value)
        await p.edited("a.py")
    assert p.taken() == ["+a 1", "-a 1", "+a 2", "-a 2", "+a 1"]


@pytest.mark.spec("01-M02")
async def test_a_burst_of_edits_reloads_once_with_the_last_value(bare):
    p = bare
    await p.start(debounce=50)
    p.plugin("a", 0)
    await p.run("a")
    for value in range(1, 6):
        p.plugin("a", value)
        p.hmr.file_changed(p.path("a.py"))
        await p.k.advance(0.01)
    await p.k.advance(0.05)
    assert p.taken() == ["+a 0", "-a 0", "+a 5"]
    assert len(p.reloads) == 1


async def test_an_edit_that_is_taken_back_in_time_reloads_nothing(p):
    p.plugin("a", 1)
    old = (await p.run("a")).fiber
    p.plugin("a", 2)
    p.hmr.file_changed(p.path("a.py"))
    p.plugin("a", 1)
    await p.edited("a.py")
    assert p.fiber("a") is old


@pytest.mark.spec("01-M03")
async def test_only_the_edited_plugin_is_touched(p):
    p.plugin("a", 1)
    p.plugin("b", 1)
    await p.run("a")
    b = (await p.run("b")).fiber
    p.plugin("a", 2)
    await p.edited("a.py")
    assert p.fiber("b") is b
    p.taken()
    p.plugin("a", 3)
    p.plugin("b", 3)
    await p.edited("a.py", "b.py")
    assert sorted(p.taken()) == ["+a 3", "+b 3", "-a 2", "-b 1"]
    assert p.reloads[-1] == ["a.py", "b.py"]


@pytest.mark.spec("01-M04")
async def test_a_changed_module_reloads_exactly_the_plugins_that_import_it(p):
    p.write("shared.py", "VALUE = 's'")
    p.write("helper.py", "from .shared import VALUE\nVALUE = VALUE + '1'")
    p.plugin("a", 1, before="from .helper import VALUE\nfrom .shared import VALUE as S\n")
    p.plugin("b", 1, before="from . import shared\n")
    await p.run("a")
    b = (await p.run("b")).fiber
    shared = sys.modules[p.loader.resolve("a").module.rpartition(".")[0] + ".shared"]
    p.taken()
    await p.edit("helper.py", "from .shared import VALUE\nVALUE = VALUE + '2'")
    assert p.taken() == ["-a 1", "+a 1"]
    assert p.fiber("b") is b
    assert sys.modules[p.loader.resolve("a").module].VALUE == "s2"
    assert sys.modules[shared.__name__] is shared
    await p.edit("shared.py", "VALUE = 't'")
    assert p.reloads[-1] == ["a.py", "b.py"]
    assert sys.modules[p.loader.resolve("a").module].VALUE == "t2"


@pytest.mark.spec("01-M05")
async def test_a_syntax_error_leaves_the_old_code_running(p):
    p.plugin("a", 1)
    old = (await p.run("a")).fiber
    await p.edit("a.py", "def apply(ctx):\n    return (\n")
    assert p.fiber("a") is old
    [error] = p.k.logged()
    assert f'File "{p.path("a.py")}", line 2' in error
    assert "return (" in error
    assert p.reloads == []
    p.plugin("a", 2)
    await p.edited("a.py")
    assert p.taken() == ["+a 1", "-a 1", "+a 2"]


async def test_two_files_wait_for_the_one_that_is_broken(p):
    p.write("one.py", "VALUE = 1")
    p.write("two.py", "VALUE = 1")
    p.plugin("a", 1, before="from .one import VALUE as A\nfrom .two import VALUE as B\n")
    await p.run("a")
    p.write("one.py", "VALUE = 2")
    p.write("two.py", "VALUE = ")
    await p.edited("one.py", "two.py")
    module = sys.modules[p.loader.resolve("a").module]
    assert (module.A, module.B) == (1, 1)
    p.write("two.py", "VALUE = 1")
    await p.edited("two.py")
    module = sys.modules[p.loader.resolve("a").module]
    assert (module.A, module.B) == (2, 1)


@pytest.mark.spec("01-M06")
async def test_a_setup_that_fails_brings_the_old_code_back(p):
    p.plugin("a", 1)
    p.plugin("b", 1)
    entry = await p.run("a")
    await p.run("b")
    before = dict(sys.modules)
    p.taken()
    p.write("a.py", "def apply(ctx):\n    raise ValueError('not today')\n")
    p.plugin("b", 2)
    await p.edited("a.py", "b.py")
    assert p.taken()[-1] in ("+a 1", "+b 2")
    assert entry.fiber.state is FiberState.ACTIVE
    assert sys.modules[entry.module] is before[entry.module]
    why = f"the code from before keeps running for {entry.module}: ValueError: not today"
    assert f"hmr: {why}" in p.k.logged()
    # What has nothing to do with the failing plugin gets its new code all the same.
    assert p.reloads == [["b.py"]]
    p.plugin("a", 3)
    await p.edited("a.py")
    assert p.taken() == ["-a 1", "+a 3"]


@pytest.mark.spec("01-M06", "01-M14")
async def test_plugins_that_share_a_changed_module_go_back_together(p):
    p.write("shared.py", "VALUE = 1\n")
    p.plugin("a", 1, before="from . import shared\n")
    p.plugin("b", 1, before="from . import shared\n")
    a, b = (await p.run("a")), (await p.run("b"))
    before = dict(sys.modules)
    p.taken()
    p.write("shared.py", "VALUE = 2\n")
    p.plugin("b", 2, before="from . import shared\n")
    p.write("a.py", "from . import shared\ndef apply(ctx):\n    raise ValueError('not today')\n")
    await p.edited("a.py", "b.py", "shared.py")
    assert sorted(p.taken()) == ["+a 1", "+b 1", "+b 2", "-a 1", "-b 1", "-b 2"]
    assert sys.modules == before
    assert p.reloads == []
    assert {a.fiber.state, b.fiber.state} == {FiberState.ACTIVE}


async def test_the_way_back_may_fail_too(p):
    once = """
        import builtins
        def apply(ctx):
            if hasattr(builtins, "hmr_ran"):
                raise ValueError("only once")
            builtins.hmr_ran = True
    """
    p.write("a.py", once)
    entry = await p.run("a")
    other = p.root.plugin(lambda ctx: None)
    await p.edit("a.py", "def apply(ctx):\n    raise ValueError('not today')\n")
    delattr(builtins, "hmr_ran")
    [line] = [line for line in p.k.logged() if line.startswith("hmr:")]
    assert line.endswith(
        ": ValueError: not today; and neither does the old code: ValueError: only once"
    )
    assert entry.fiber.state is FiberState.FAILED
    p.plugin("a", 2)
    await p.edited("a.py")
    assert entry.fiber.state is FiberState.ACTIVE
    await other.dispose()


async def test_a_fiber_mounted_by_code_goes_back_as_well(p):
    p.plugin("a", 1)
    entry = await p.run("a")
    p.root.plugin(entry.plugin, {"n": 1})
    await p.k.settle()
    p.taken()
    await p.edit("a.py", "def apply(ctx):\n    raise ValueError('not today')\n")
    assert p.taken() == ["-a 1", "-a 1", "+a 1", "+a 1"]
    [fiber] = [one for one in p.root.fiber.children() if one.raw_config == {"n": 1}]
    assert fiber.state is FiberState.ACTIVE


async def test_a_slow_import_is_told(p):
    p.plugin("a", 1)
    await p.run("a")
    p.plugin("a", 2, before="import time\ntime.sleep(0.26)\n")
    await p.edited("a.py")
    [line] = p.k.logged("warn")
    assert "importing dsh_local." in line


async def test_anything_that_an_import_raises_leaves_the_modules_as_they_were(p):
    p.plugin("a", 1)
    entry = await p.run("a")
    before = dict(sys.modules)
    await p.edit("a.py", "class Odd(BaseException): pass\nraise Odd\n")
    assert sys.modules == before
    assert entry.fiber.state is FiberState.ACTIVE
    p.plugin("a", 2)
    await p.edited("a.py")
    assert p.taken() == ["+a 1", "-a 1", "+a 2"]


async def test_a_module_that_became_a_folder_cannot_be_read(p):
    path = p.plugin("a", 1)
    old = (await p.run("a")).fiber
    os.unlink(path)
    os.mkdir(path)
    await p.edited("a.py")
    assert p.fiber("a") is old
    assert len(p.k.logged()) == 1


@pytest.mark.spec("01-M06")
async def test_a_failing_setup_may_be_left_as_it_is(bare):
    p = bare
    await p.start(rollback="import")
    p.plugin("a", 1)
    entry = await p.run("a")
    await p.edit("a.py", "def apply(ctx):\n    raise ValueError('not today')\n")
    assert entry.fiber.state is FiberState.FAILED
    p.plugin("a", 2)
    await p.edited("a.py")
    assert entry.fiber.state is FiberState.ACTIVE
    assert p.taken() == ["+a 1", "-a 1", "+a 2"]


async def test_a_plugin_that_never_ran_is_not_brought_back(p):
    p.write("a.py", "def apply(ctx):\n    raise ValueError('one')\n")
    await p.loader.load_rows([{"id": "a", "name": "./a.py"}])
    await p.edit("a.py", "def apply(ctx):\n    raise ValueError('two')\n")
    entry = p.loader.resolve("a")
    assert str(entry.fiber.error) == "two"
    p.plugin("a", 3)
    await p.edited("a.py")
    assert p.taken() == ["+a 3"]


@pytest.mark.spec("01-M07")
async def test_consumers_of_an_edited_service_get_an_object_of_the_new_class(p):
    service = """
        from vendor_shims.cordis import Service
        class Greeter(Service):
            key = "greeter"
            def greet(self):
                return "{value}"
    """
    p.write("service.py", service.replace("{value}", "hello"))
    p.write(
        "user.py",
        """
        inject = ["greeter"]
        def apply(ctx):
            ctx.emit("log", ctx.greeter.greet())
        """,
    )
    await p.loader.create({"id": "service", "name": "./service.py:Greeter"})
    user = (await p.run("user")).fiber
    await p.edit("service.py", service.replace("{value}", "goodbye"))
    await p.k.settle()
    assert p.taken() == ["hello", "goodbye"]
    assert p.fiber("user") is user


@pytest.mark.spec("01-M07")
async def test_an_edited_interface_reloads_who_implements_and_who_uses_it(p):
    p.write("interface.py", "class Port: number = 1\n")
    p.write(
        "provider.py",
        """
        from .interface import Port
        def apply(ctx):
            ctx.provide("port", Port())
        """,
    )
    p.write(
        "user.py",
        """
        from .interface import Port
        inject = ["port"]
        def apply(ctx):
            assert isinstance(ctx.port, Port)
            ctx.emit("log", ctx.port.number)
        """,
    )
    await p.run("user")
    await p.run("provider")
    await p.k.settle()
    await p.edit("interface.py", "class Port: number = 2\n")
    await p.k.settle()
    assert p.taken() == [1, 2]
    assert p.reloads == [["provider.py", "user.py"]]
    assert p.fiber("user").state is FiberState.ACTIVE


@pytest.mark.spec("01-M08")
async def test_listeners_are_those_of_the_new_code(p):
    p.write("a.py", "def apply(ctx):\n    ctx.on('old', lambda: ctx.emit('log', 'old'))\n")
    await p.run("a")
    await p.edit("a.py", "def apply(ctx):\n    ctx.on('new', lambda: ctx.emit('log', 'new'))\n")
    p.root.emit("old")
    p.root.emit("new")
    assert p.taken() == ["new"]


@pytest.mark.spec("01-M14")
async def test_old_modules_are_left_alone_and_names_that_went_are_gone(p):
    p.write("a.py", "GONE = 1\nclass A: pass\ndef apply(ctx): pass\n")
    entry = await p.run("a")
    old = sys.modules[entry.module]
    thing = old.A()
    await p.edit("a.py", "class A: pass\ndef apply(ctx): pass\n")
    new = sys.modules[entry.module]
    assert not hasattr(new, "GONE")
    assert old.GONE == 1
    assert isinstance(thing, old.A)
    assert not isinstance(thing, new.A)


@pytest.mark.spec("01-M14")
async def test_a_failed_import_leaves_the_modules_exactly_as_they_were(p):
    p.write("pack/__init__.py", "from .part import VALUE\ndef apply(ctx): pass\n")
    p.write("pack/part.py", "VALUE = 1")
    await p.loader.create({"id": "pack", "name": "./pack"})
    package = sys.modules[p.loader.resolve("pack").module]
    before, attributes = dict(sys.modules), dict(vars(package))
    p.write("pack/part.py", "from . import other\nraise SystemExit(1)\n")
    p.write("pack/other.py", "VALUE = 1")
    await p.edited("pack/part.py", "pack/other.py")
    assert sys.modules == before
    assert vars(package) == attributes
    assert "SystemExit: 1" in p.k.logged()[0]


async def test_an_interrupt_during_an_import_is_passed_on_after_everything_is_back(p):
    from vendor_shims.hmr import ImportGraph, ModuleSwap, Roots

    p.plugin("a", 1)
    entry = await p.run("a")
    before = dict(sys.modules)
    swap = ModuleSwap(ImportGraph(Roots([str(p.folder)])))
    swap.take_out([entry.module])
    p.write("a.py", "raise KeyboardInterrupt")
    with pytest.raises(KeyboardInterrupt):
        swap.fresh_import(entry.module)
    swap.undo()
    assert sys.modules == before


@pytest.mark.spec("01-M15")
async def test_an_edit_of_same_size_and_time_is_noticed(p):
    path = p.plugin("a", 1)
    stamp = os.stat(path)
    await p.run("a")
    p.plugin("a", 2)
    os.utime(path, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
    assert os.stat(path).st_size == stamp.st_size
    await p.edited("a.py")
    assert p.taken() == ["+a 1", "-a 1", "+a 2"]


@pytest.mark.spec("01-M15")
async def test_byte_code_of_an_older_source_is_not_believed(p):
    path = p.write("lib/part.py", "VALUE = 1")
    compile_cached = py_compile.compile(path, doraise=True)
    assert compile_cached is not None
    stamp = os.stat(path)
    p.write("lib/part.py", "VALUE = 2")
    os.utime(path, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
    p.write("a.py", "import part\ndef apply(ctx):\n    ctx.emit('log', part.VALUE)\n")
    await p.run("a")
    assert p.taken() == [2]


@pytest.mark.spec("01-M16")
async def test_an_edit_during_a_reload_leads_to_another_round(p):
    slow = """
        from anyio import Event
        gate = Event()
        async def apply(ctx):
            ctx.emit("log", "+a {value}")
            await gate.wait()
    """
    p.plugin("a", 1)
    p.plugin("b", 1)
    entry = await p.run("a")
    await p.run("b")
    p.taken()
    await p.edit("a.py", slow.replace("{value}", "2"))
    p.plugin("b", 2)
    await p.edited("b.py")
    assert p.taken() == ["-a 1", "+a 2"]
    sys.modules[entry.module].gate.set()
    await p.k.settle()
    assert p.taken() == ["-b 1", "+b 2"]
    assert p.reloads == [["a.py"], ["b.py"]]


async def test_a_setup_that_hangs_holds_reloads_up_only_for_a_while(p):
    p.plugin("a", 1)
    await p.run("a")
    await p.edit("a.py", "import anyio\nasync def apply(ctx):\n    await anyio.sleep_forever()\n")
    p.plugin("a", 2)
    await p.edited("a.py")
    assert p.taken() == ["+a 1", "-a 1"]
    await p.k.advance(10.0)
    assert p.taken() == ["+a 2"]
    assert "hmr: a still starting with new code after 10.0 s" in p.k.logged("warn")


async def test_every_fiber_of_a_plugin_is_replaced_and_children_once_with_their_parent(p):
    p.write(
        "a.py",
        """
        def apply(ctx, config):
            ctx.emit("log", f"+{config} 1")
            if config == "outer":
                ctx.plugin(apply, "inner")
        """,
    )
    await p.loader.create({"id": "x", "name": "./a.py", "config": "outer"})
    await p.loader.create({"id": "y", "name": "./a.py", "config": "other"})
    p.taken()
    text = (p.folder / "a.py").read_text().replace(" 1", " 2")
    await p.edit("a.py", text)
    assert sorted(p.taken()) == ["+inner 2", "+other 2", "+outer 2"]
    assert p.reloads == [["a.py"]]


async def test_a_plugin_that_code_mounted_is_replaced_where_it_stood(p):
    p.plugin("a", 1)
    entry = await p.run("a")
    other = p.root.extend(color="red").plugin(entry.plugin, {"n": 1})
    await p.k.settle()
    p.taken()
    p.plugin("a", 2)
    await p.edited("a.py")
    assert p.taken() == ["-a 1", "-a 1", "+a 2", "+a 2"]
    assert other.state is FiberState.DISPOSED
    [fiber] = [one for one in p.root.fiber.children() if one.raw_config == {"n": 1}]
    assert fiber.ctx.tags["color"] == "red"
    await fiber.dispose()


async def test_what_is_no_plugin_any_more_does_not_replace_one(p):
    p.write("a.py", "from vendor_shims.timer import TimerService as A\nA = lambda ctx: None\n")
    await p.loader.create({"id": "a", "name": "./a.py:A"})
    old = p.fiber("a")
    await p.edit("a.py", "A = 5\n")
    assert p.fiber("a") is not old
    assert p.fiber("a").state is FiberState.ACTIVE
    assert any("InvalidPlugin" in line for line in p.k.logged())
    await p.edit("a.py", "B = 5\n")
    assert any("no attribute A" in line for line in p.k.logged())


async def test_state_may_be_taken_over_by_the_new_module(p):
    text = """
        CACHE = {}
        def __hmr_accept__(old, new):
            new["CACHE"].update(old["CACHE"])
        def apply(ctx):
            ctx.emit("log", dict(CACHE))
    """
    p.write("a.py", text)
    entry = await p.run("a")
    sys.modules[entry.module].CACHE["kept"] = 1
    await p.edit("a.py", text.replace("{}", "dict()"))
    assert p.taken() == [{}, {"kept": 1}]
    await p.edit("a.py", text.replace("new[", "missing["))
    assert any("NameError" in line for line in p.k.logged())
    assert p.fiber("a").state is FiberState.ACTIVE


async def test_a_place_that_is_gone_gets_nothing(p):
    p.write(
        "outer.py",
        """
        from anyio import Event
        gate = Event()
        async def apply(ctx):
            return gate.wait
        """,
    )
    p.plugin("a", 1)
    entry = await p.run("a")
    outer = p.root.plugin(lambda ctx: lambda: None)
    await p.k.settle()
    inner = outer.ctx.plugin(entry.plugin, "inner")
    await p.k.settle()
    ends = []

    def end(fiber):
        if fiber is inner and fiber.uid is None and not ends:
            ends.append(outer.dispose())

    p.root.on("internal/plugin", end)
    p.taken()
    p.plugin("a", 2)
    await p.edited("a.py")
    assert p.taken().count("+a 2") == 1
