"""Real watchers over real files, on the real clock where the system is asked."""

from __future__ import annotations

import os
import resource
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import anyio
import pytest

from vendor_shims.cordis import Context
from vendor_shims.hmr import Hmr, WatchFailed
from vendor_shims.loader import Loader, LoaderConfig
from vendor_shims.timer import TimerService


class Live:
    """A tree on the real clock whose hot reload is told by the system."""

    def __init__(self, root: Context, folder: Path) -> None:
        self.root = root
        self.folder = folder
        self.changes: list[str] = []
        self.log: list[Any] = []
        root.on("hmr/change", lambda path: self.changes.append(os.path.basename(path)))
        root.on("log", self.log.append)

    def write(self, name: str, value: object) -> None:
        """Replace a plugin file the way careful editors do."""
        path = self.folder / name
        path.with_name(f"{name}~").write_text(f"def apply(ctx):\n    ctx.emit('log', {value!r})\n")
        path.with_name(f"{name}~").replace(path)

    async def until(self, condition: Callable[[], object]) -> None:
        while not condition():
            await anyio.sleep(0.005)


@pytest.fixture
async def live(tmp_path: Path) -> AsyncIterator[Live]:
    async with Context() as root:
        here = root.extend(base_dir=str(tmp_path))
        made = Live(here, tmp_path)
        here.plugin(Loader, LoaderConfig(env={}))
        here.plugin(TimerService)
        await root.settle()
        yield made


def lines(root: Context) -> list[str]:
    return [str(record.args) for record in root.logger.buffer.records() if record.type == "warn"]


async def test_the_system_tells_about_edits(live):
    live.write("a.py", 1)
    loader = live.root.get(Loader)
    await loader.create({"id": "hmr", "name": "cordis:hmr", "config": {"debounce": 1}})
    await loader.create({"id": "a", "name": "./a.py"})
    for value in (2, 3):
        live.write("a.py", value)
        await live.until(lambda value=value: live.log[-1] == value)
    (live.folder / "sub").mkdir()
    await live.until(lambda: "sub" in live.changes)
    (live.folder / "sub" / "new.txt").write_text("")
    await live.until(lambda: "new.txt" in live.changes)
    (live.folder / "sub" / "new.txt").unlink()
    await live.until(lambda: live.changes.count("new.txt") >= 2)
    assert "a.py~" not in live.changes
    assert live.log == [1, 2, 3]


async def test_files_are_looked_at_when_nobody_tells(live, monkeypatch):
    monkeypatch.setitem(sys.modules, "watchfiles", None)
    monkeypatch.setitem(sys.modules, "watchfiles._rust_notify", None)
    live.write("a.py", 1)
    loader = live.root.get(Loader)
    await loader.create({"id": "hmr", "name": "cordis:hmr", "config": {"debounce": 1}})
    await loader.create({"id": "a", "name": "./a.py"})
    [line] = lines(live.root)
    assert "watchfiles is not installed" in line
    assert "dsh-harness[hmr]" in line
    live.write("a.py", 2)
    await live.until(lambda: live.log == [1, 2])
    os.unlink(live.folder / "a.py")
    await live.until(lambda: live.changes == ["a.py"])


class BrokenWatch:
    """A watch that tells one thing and is lost then."""

    def __init__(self, path: str) -> None:
        self.path = path

    async def __aiter__(self) -> AsyncIterator[set[str]]:
        yield {self.path}
        raise OSError("the connection to the folder was lost")


async def test_a_watch_that_breaks_is_replaced_by_looking(live):
    live.write("a.py", 1)
    loader = live.root.get(Loader)
    await loader.create({"id": "hmr", "name": "cordis:hmr", "config": {"debounce": 1}})
    await loader.create({"id": "a", "name": "./a.py"})
    hmr = live.root.get(Hmr)
    follower = live.root.spawn(hmr.follow(BrokenWatch(str(live.folder / "told.txt"))))
    await live.until(lambda: lines(live.root))
    assert live.changes == ["told.txt"]
    assert "the connection to the folder was lost" in lines(live.root)[0]
    live.write("a.py", 2)
    await live.until(lambda: live.log == [1, 2])
    follower.cancel()


async def test_a_watch_may_end(live):
    loader = live.root.get(Loader)
    await loader.create({"id": "hmr", "name": "cordis:hmr"})

    async def watch() -> AsyncIterator[set[str]]:
        yield {str(live.folder / "told.txt")}

    await live.root.get(Hmr).follow(watch())
    assert live.changes == ["told.txt"]


async def test_a_system_that_has_no_watch_left_fails_the_start(live):
    loader = live.root.get(Loader)
    await loader.create({"id": "hmr", "name": "cordis:hmr"})
    await loader.remove("hmr")  # everything is imported now
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (3, before[1]))  # standard streams have those
        with pytest.raises(Exception, match="cannot watch") as caught:
            await loader.create({"id": "hmr", "name": "cordis:hmr"})
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
    assert isinstance(caught.value.__cause__, WatchFailed)
