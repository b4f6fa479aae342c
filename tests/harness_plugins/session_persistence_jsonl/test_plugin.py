"""The plugin as an application mounts it: configuration, full disks, and poisoned files."""

import contextlib
import errno
import os
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import anyio
import pytest

from harness.session import Session, SessionStore
from harness.session_persistence import (
    PERSISTENCE_DEGRADED,
    PERSISTENCE_RECOVERED,
    PersistenceCoordinator,
    SessionHandle,
)
from harness.session_persistence.contract import a_header, run_turn
from harness_plugins.session_persistence_jsonl import JsonlConfig, JsonlPersistence
from vendor_shims.cordis import Context, FiberState, ValidationError


def full() -> OSError:
    return OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


class Stage:
    """A mounted plugin over files that can fail, and one live session."""

    def __init__(self, context: Context, session: Session, handle: SessionHandle | None):
        self.persistence = context[PersistenceCoordinator]
        self.sessions = context[SessionStore]
        self.session = session
        self.handle = handle
        self.told: list[Any] = []


@contextlib.asynccontextmanager
async def stage(root: Path, files: Any, **config: Any) -> AsyncGenerator[Stage]:
    class Persistence(JsonlPersistence):
        def __init__(self, ctx: Context, config: JsonlConfig):
            super().__init__(ctx, config, files=files)

    async with Context() as context:
        context.plugin(SessionStore)
        context.plugin(Persistence, {"root": str(root), **config})
        await context.settle()
        sessions = context[SessionStore]
        session = sessions.prepare("session-a", meta={"cwd": "/srv/project"})
        made = Stage(context, session, None)
        context.on(PERSISTENCE_DEGRADED, made.told.append)
        context.on(PERSISTENCE_RECOVERED, made.told.append)
        detach = sessions.enter(session)
        sessions.announce(session)
        yield made
        detach()


async def mount(config: Any) -> Any:
    async with Context() as context:
        context.plugin(SessionStore)
        fiber = context.plugin(JsonlPersistence, config)
        await context.settle()
        assert fiber.state is FiberState.FAILED
        return fiber.error


@pytest.mark.parametrize(
    "config",
    [
        {},
        {"root": ""},
        {"root": "x", "fsync": "sometimes"},
        {"root": "x", "writeBatchMaxDelayMs": 0},
        {"root": "x", "writeBatchMaxDelayMs": 2**31},
        {"root": "x", "compression": "zstd"},
    ],
)
async def test_a_wrong_configuration_fails_at_load(config: dict[str, Any]):
    assert isinstance(await mount(config), ValidationError)


async def test_a_root_that_is_a_file_fails_at_load(tmp_path: Path):
    (tmp_path / "file").write_text("x")
    error = await mount({"root": str(tmp_path / "file")})
    assert isinstance(error, NotADirectoryError)
    assert "no directory" in str(error)


async def test_a_window_of_the_configuration_is_in_seconds_inside():
    assert JsonlConfig(root="x", write_batch_max_delay_ms=50).write_batch_max_delay_s == 0.05


@pytest.mark.parametrize("call", ["write", "fsync", "link", "append", "mkdir"])
async def test_a_session_on_a_full_disk_is_degraded_and_recovers(root: Path, files: Any, call: str):
    async with stage(root, files, fsync="batch") as on:
        files.fail(call, full(), full())
        run_turn(on.session)
        with contextlib.suppress(OSError):
            await on.sessions.flush(on.session)
        with contextlib.suppress(OSError):
            await on.sessions.flush(on.session)
        await on.sessions.flush(on.session)
        assert [type(fact).__name__ for fact in on.told] == [
            "PersistenceDegraded",
            "PersistenceRecovered",
        ]
        assert (await on.persistence.load("session-a")).events == on.session.events


async def test_a_read_only_disk_is_told_to_whoever_flushes(root: Path, files: Any):
    async with stage(root, files) as on:
        files.fail("mkdir", OSError(errno.EROFS, os.strerror(errno.EROFS)))
        run_turn(on.session)
        with pytest.raises(OSError, match="Read-only"):
            await on.sessions.flush(on.session)
        await on.sessions.flush(on.session)


@pytest.mark.spec("05-37")
async def test_a_live_session_survives_a_write_that_could_not_be_undone(root: Path, files: Any):
    async with stage(root, files) as on:
        run_turn(on.session)
        await on.sessions.flush(on.session)
        files.max_write = 40
        files.fail("write", None, None, full())
        files.fail("truncate", full())
        run_turn(on.session)
        with pytest.raises(ExceptionGroup):
            await on.sessions.flush(on.session)
        files.max_write = None
        await on.sessions.flush(on.session)
        assert (await on.persistence.load("session-a")).events == on.session.events


@pytest.mark.spec("05-37")
async def test_a_handle_is_dead_after_a_write_that_could_not_be_undone(root: Path, files: Any):
    async with stage(root, files) as on:
        async with await on.persistence.create(a_header("session-b")) as handle:
            other = Session("session-b")
            run_turn(other)
            await handle.append(other.events[:4])
            files.max_write = 40
            files.fail("write", None, full())
            files.fail("truncate", full())
            with pytest.raises(ExceptionGroup):
                await handle.append(other.events[4:])
            files.max_write = None
            with pytest.raises(Exception, match="reopen"):
                await handle.append(other.events[4:])
        async with await on.persistence.open("session-b", "write") as handle:
            await handle.append(other.events[len(await handle.read()) :])
        assert (await on.persistence.load("session-b")).events == other.events


async def test_a_poisoned_log_that_lost_events_is_never_continued(root: Path, files: Any):
    async with stage(root, files) as on:
        run_turn(on.session)
        await on.sessions.flush(on.session)
        (path,) = root.glob("*/session-a/*.jsonl")
        files.fail("write", full())
        files.fail("truncate", full())
        run_turn(on.session)
        with pytest.raises(ExceptionGroup):
            await on.sessions.flush(on.session)
        os.truncate(path, 200)
        with pytest.raises(Exception, match="lost events"):
            await on.sessions.flush(on.session)
        assert path.stat().st_size == 200
        path.unlink()


@pytest.mark.spec("05-52")
async def test_the_checkpoint_policy_syncs_at_flush_and_close(root: Path, files: Any):
    async with stage(root, files, fsync="checkpoint") as on:
        on.session.append("turn/start", {"turn": 1, "trigger": {"kind": "message"}})
        await on.sessions.flush(on.session)
        before = files.count("fsync")
        on.session.append("turn/end", {"turn": 1, "reason": {"kind": "completed"}})
        with anyio.fail_after(30):
            while len(await on.persistence.read_from("session-a", 0)) < 2:
                await anyio.sleep(0.001)
        assert files.count("fsync") == before
        await on.sessions.flush(on.session)
        await on.sessions.flush(on.session)
        assert files.count("fsync") == before + 1


async def test_switching_syncs_off_is_warned_about(root: Path, files: Any):
    async with stage(root, files, fsync="never") as on:
        run_turn(on.session)
        await on.sessions.flush(on.session)
        assert files.count("fsync") == 0
