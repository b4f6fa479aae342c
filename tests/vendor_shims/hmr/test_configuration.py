"""Configuration files that change: those of includes below the roots, and single ones elsewhere."""

from __future__ import annotations

from typing import Any

import anyio
import pytest

from vendor_shims.cordis import FiberState, InactiveEffect
from vendor_shims.hmr import DuplicateConfigPath, Hmr

ROWS = """
- id: a
  name: ./a.py
- id: b
  name: ./b.py
"""


async def included(p) -> None:
    p.plugin("a", 1)
    p.plugin("b", 1)
    p.write("rows.yml", ROWS)
    row = {"id": "main", "name": "cordis:include", "config": {"path": "rows.yml"}}
    await p.loader.create(row)
    assert sorted(p.taken()) == ["+a 1", "+b 1"]


@pytest.mark.spec("01-M09")
async def test_an_edited_file_of_rows_is_read_again(p):
    await included(p)
    await p.edit("rows.yml", ROWS.replace("./b.py", "./b.py\n  disabled: true"))
    await p.k.settle()
    assert p.taken() == ["-b 1"]
    assert p.loader.resolve("main:b").fiber is None
    assert p.changes == []


@pytest.mark.spec("01-M09")
async def test_a_file_of_rows_that_is_wrong_is_announced_and_changes_nothing(p):
    await included(p)
    seen = []

    def observer(path, error):
        seen.append(path)
        raise RuntimeError("an observer that fails")

    p.root.on("hmr/config-update-failed", observer)
    for n in (1, 2):
        await p.edit("rows.yml", "- name: [")
        await p.k.settle()
        assert len(seen) == n
        await p.edit("rows.yml", "- name: ]")
        await p.k.settle()
        seen.pop()
    path, error = p.failures[0]
    assert path == p.path("rows.yml")
    assert "rows.yml" in str(error)
    assert p.taken() == []
    assert f"hmr: config reload at {path} failed" in p.k.logged()
    await p.edit("rows.yml", "[]")
    await p.k.settle()
    assert sorted(p.taken()) == ["-a 1", "-b 1"]


async def test_plugins_in_a_file_of_rows_are_reloaded(p):
    await included(p)
    entry = p.loader.resolve("main:a")
    p.plugin("a", 2)
    await p.edited("a.py")
    assert p.taken() == ["-a 1", "+a 2"]
    assert p.loader.resolve("main:a") is entry


async def test_a_file_of_rows_may_take_hot_reload_out(p):
    p.write("rows.yml", "- {id: timer, name: vendor_shims.timer:TimerService}")
    await p.loader.remove("hmr")
    [timer] = [one for one in p.root.fiber.children() if one.name == "TimerService"]
    await timer.dispose()
    row = {"id": "main", "name": "cordis:include", "config": {"path": "rows.yml"}}
    await p.loader.create(row)
    await p.loader.create(
        {"id": "hmr", "name": "cordis:hmr", "config": {"polling": True, "debounce": 10}}
    )
    await p.edit("rows.yml", "[]")
    await p.k.settle()
    assert p.fiber("hmr").state is FiberState.PENDING
    assert p.k.logged("warn") == []


async def test_a_refresh_that_waits_is_called_off_by_the_end_of_hot_reload(p):
    await included(p)
    tree = p.loader.resolve("main").subtree
    async with tree.turn():
        p.hmr.file_changed(p.write("rows.yml", "[]"))
        await p.k.settle()
        await p.loader.remove("hmr")
    await p.k.settle()
    assert p.taken() == []


async def test_a_refresh_for_an_include_that_went_does_nothing(p):
    await included(p)
    tree = p.loader.resolve("main").subtree
    async with tree.turn():
        p.hmr.file_changed(p.write("rows.yml", "- name: ]"))
        await p.k.settle()
        await p.loader.remove("main")
    await p.k.settle()
    assert p.failures == []


class Counted:
    """A refresh that can be held up, and knows how many of it ran at once."""

    def __init__(self) -> None:
        self.calls = 0
        self.running = 0
        self.most = 0
        self.gate = anyio.Event()
        self.gate.set()

    async def __call__(self) -> None:
        self.calls += 1
        self.running += 1
        self.most = max(self.most, self.running)
        await self.gate.wait()
        self.running -= 1


@pytest.fixture
def away(tmp_path_factory) -> Any:
    return tmp_path_factory.mktemp("away")


@pytest.mark.spec("01-M12")
async def test_a_registered_file_is_watched_from_before_its_folder_exists(p, away):
    path = away / "deep" / "er" / "c.yml"
    refresh = Counted()
    disposer = await p.hmr.register_config(str(path), refresh)
    await p.k.advance(0.3)
    assert refresh.calls == 0
    path.parent.mkdir(parents=True)
    path.write_text("1")
    await p.k.advance(0.3)
    assert refresh.calls == 1
    path.write_text("2")
    await p.k.advance(0.3)
    assert refresh.calls == 2
    await p.k.advance(1.0)
    path.unlink()
    await p.k.advance(0.3)
    assert refresh.calls == 3
    await disposer()
    path.write_text("3")
    await p.k.advance(1.0)
    assert refresh.calls == 3


@pytest.mark.spec("01-M12")
async def test_a_registered_file_that_exists_is_refreshed_at_once(p, away):
    path = away / "c.yml"
    path.write_text("1")
    refresh = Counted()
    await p.hmr.register_config(str(path), refresh)
    await p.k.settle()
    assert refresh.calls == 1


@pytest.mark.spec("01-M12")
async def test_a_file_is_registered_once_whatever_its_spelling(p, away):
    (away / "c.yml").write_text("1")
    (away / "link").symlink_to(away)
    disposer = await p.hmr.register_config(str(away / "c.yml"), Counted())
    with pytest.raises(DuplicateConfigPath, match="config path already registered"):
        await p.hmr.register_config(str(away / "link" / "c.yml"), Counted())
    await disposer()
    await p.hmr.register_config(str(away / "link" / "c.yml"), Counted())


@pytest.mark.spec("01-M12")
async def test_refreshes_never_overlap_and_are_awaited_by_the_disposer(p, away):
    path = away / "c.yml"
    path.write_text("1")
    refresh = Counted()
    refresh.gate = anyio.Event()
    disposer = await p.hmr.register_config(str(path), refresh)
    await p.k.settle()
    for text in ("22", "333", "4444"):
        path.write_text(text)
        await p.k.advance(0.3)
    assert (refresh.calls, refresh.most) == (1, 1)
    refresh.gate.set()
    await p.k.settle()
    assert (refresh.calls, refresh.most) == (2, 1)
    refresh.gate = anyio.Event()
    path.write_text("55555")
    await p.k.advance(0.3)
    path.write_text("666666")
    await p.k.advance(0.3)
    ended = []

    async def end():
        await disposer()
        ended.append(refresh.running)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(end)
        await p.k.settle()
        assert ended == []
        refresh.gate.set()
    assert ended == [0]
    assert refresh.calls == 3


@pytest.mark.spec("01-M12")
async def test_a_registration_ends_with_the_plugin_that_made_it(p, away):
    refresh = Counted()

    async def plugin(ctx):
        await ctx.hmr.register_config(str(away / "c.yml"), refresh)

    fiber = p.root.inject(["hmr"], plugin)
    await fiber
    await fiber.dispose()
    (away / "c.yml").write_text("1")
    await p.k.advance(0.3)
    assert refresh.calls == 0


@pytest.mark.spec("01-M12")
async def test_registering_needs_hot_reload_to_run(p, away):
    hmr = p.hmr
    await p.loader.remove("hmr")
    with pytest.raises(InactiveEffect):
        await hmr.register_config(str(away / "c.yml"), Counted())


async def test_a_failing_refresh_is_announced_and_the_next_one_runs(p, away):
    path = away / "c.yml"
    path.write_text("1")
    calls = []

    async def refresh():
        calls.append(1)
        raise OSError("no good")

    await p.hmr.register_config(str(path), refresh)
    await p.k.settle()
    path.write_text("22")
    p.hmr.file_changed(str(path))
    await p.k.settle()
    assert len(calls) == 2
    assert [(path, str(error)) for path, error in p.failures] == [(str(path), "no good")] * 2


async def test_a_refresh_may_end_its_own_registration_and_hot_reload(p, away):
    path = away / "c.yml"
    kept: dict[str, Any] = {}

    async def refresh():
        await kept["disposer"]()
        await p.loader.remove("hmr")
        kept["ended"] = True

    kept["disposer"] = await p.hmr.register_config(str(path), refresh)
    path.write_text("1")
    await p.k.advance(0.3)
    assert kept["ended"]
    assert p.root.get(Hmr) is None


async def test_the_end_of_hot_reload_waits_for_a_refresh(p, away):
    path = away / "c.yml"
    path.write_text("1")
    refresh = Counted()
    refresh.gate = anyio.Event()
    await p.hmr.register_config(str(path), refresh)
    await p.k.settle()
    end = p.fiber("hmr").dispose()
    await p.k.settle()
    assert not end.is_open
    refresh.gate.set()
    await end
    assert refresh.running == 0


async def test_a_closing_tree_starts_no_refresh(bare, away):
    p = bare
    await p.start()
    path = away / "c.yml"
    refresh = Counted()
    hmr = p.hmr
    await hmr.register_config(str(path), refresh)

    def last(ctx):
        def end():
            path.write_text("1")
            hmr.file_changed(str(path))

        return end

    p.root.plugin(last)
    await p.k.settle()
    await p.k.root.close()
    assert refresh.calls == 0


async def test_row_that_was_refused_is_taken_when_its_code_comes(p):
    await included(p)
    await p.edit("rows.yml", ROWS + "- name: ./late.py\n")
    await p.k.settle()
    assert len(p.failures) == 1
    p.plugin("late", 1)
    await p.edited("late.py")
    await p.k.settle()
    assert p.taken() == ["+late 1"]
    await p.edit("rows.yml", ROWS + "- name: ./a.py:more\n")
    await p.k.settle()
    assert (len(p.failures), p.taken()) == (2, [])
    p.write("a.py", 'def apply(ctx): pass\n\ndef more(ctx): ctx.emit("log", "more")\n')
    await p.edited("a.py")
    await p.k.settle()
    assert "more" in p.taken()
    assert len(p.failures) == 2
