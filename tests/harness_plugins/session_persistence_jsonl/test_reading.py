"""Finding, listing and reading sessions, also in a directory that somebody played with."""

import os
import shutil
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import pytest

from harness.session import SessionStore
from harness.session_persistence import (
    PersistenceCoordinator,
    SessionAlreadyOwnedError,
    SessionFormatUnsupportedError,
    SessionPersistenceCorruptionError,
)
from harness.session_persistence.contract import a_header, a_log
from harness_plugins.session_persistence_jsonl import JsonlBackend, JsonlPersistence
from vendor_shims.cordis import Context

LOG = a_log(2)
UPSTREAM = Path(__file__).parents[4] / "shared" / "data" / "upstream-logs"
Make = Callable[..., JsonlBackend]


def grow(path: Path, data: bytes):
    with path.open("ab") as log:
        log.write(data)


async def store(backend: JsonlBackend, session_id: str = "session-a", **header: Any) -> Path:
    """Store a log and return its path."""
    made = a_header(session_id, **header)
    lease = await backend.acquire_lease(made)
    await backend.append_batch(lease, LOG)
    await lease.release()
    return Path(backend.locate(made).path)


@pytest.mark.spec("05-46")
async def test_a_session_in_two_project_directories_is_refused(make_backend: Make, root: Path):
    backend = make_backend()
    path = await store(backend)
    twin = root / "--other--" / "session-a"
    shutil.copytree(path.parent, twin)
    with pytest.raises(SessionPersistenceCorruptionError, match="also stored in") as caught:
        await backend.load_stored("session-a")
    assert "--other--" in str(caught.value)
    (twin / path.name).write_bytes(path.read_bytes().replace(b"/srv/project", b"/other"))
    with pytest.raises(SessionPersistenceCorruptionError, match="also stored in"):
        await backend.snapshots()


@pytest.mark.spec("05-47")
async def test_a_header_names_its_place(make_backend: Make, root: Path, tmp_path: Path):
    backend = make_backend()
    real, alias = tmp_path / "real", tmp_path / "alias"
    real.mkdir()
    alias.symlink_to(real)
    path = await store(backend, cwd=str(real))
    path.write_bytes(path.read_bytes().replace(str(real).encode(), str(alias).encode()))
    found = await backend.load_stored("session-a")
    assert found is not None
    assert found.header.cwd == str(alias)
    (snapshot,) = await backend.snapshots()
    assert snapshot.header == found.header
    for cwd in (b'"/elsewhere"', None):
        old = f'"cwd":"{alias}",'.encode()
        new = b"" if cwd is None else b'"cwd":' + cwd + b","
        content = path.read_bytes()
        path.write_bytes(content.replace(old, new))
        with pytest.raises(SessionPersistenceCorruptionError, match="working directory"):
            await backend.load_stored("session-a")
        with pytest.raises(SessionPersistenceCorruptionError, match="working directory"):
            await backend.snapshots()
        path.write_bytes(content)


async def test_a_header_with_another_id_is_refused(make_backend: Make):
    backend = make_backend()
    path = await store(backend)
    path.write_bytes(path.read_bytes().replace(b"session-a", b"session-b"))
    with pytest.raises(SessionPersistenceCorruptionError, match="'session-b'"):
        await backend.load_stored("session-a")
    with pytest.raises(SessionPersistenceCorruptionError, match="'session-b'"):
        await backend.snapshots()


@pytest.mark.parametrize("hostile", ["../../../x", "..", ".", "/etc/passwd", "a\0b", "\ud800", "é"])
async def test_no_id_leaves_the_root(make_backend: Make, root: Path, hostile: str):
    backend = make_backend()
    assert await backend.load_stored(hostile) is None
    path = await store(backend, hostile)
    assert path.parent.parent.parent == root
    found = await backend.load_stored(hostile)
    assert found is not None
    assert (found.header.id, list(found.events)) == (hostile, LOG)
    (snapshot,) = await backend.snapshots()
    assert snapshot.id == hostile


@pytest.mark.parametrize("what", ["session", "project", "log"])
async def test_links_below_the_root_are_not_followed(
    make_backend: Make, root: Path, tmp_path: Path, what: str
):
    backend = make_backend()
    path = await store(backend)
    moved = {"session": path.parent, "project": path.parent.parent, "log": path}[what]
    moved.rename(tmp_path / "elsewhere")
    moved.symlink_to(tmp_path / "elsewhere")
    kinds = (NotADirectoryError, SessionPersistenceCorruptionError)
    with pytest.raises(kinds, match="symbolic link"):
        await backend.load_stored("session-a")
    with pytest.raises((*kinds, OSError)):
        await store(backend)
    assert [s.format_status for s in await backend.snapshots()] in ([], ["damaged"])


async def test_a_root_that_is_a_link_is_fine(make_backend: Make, root: Path, tmp_path: Path):
    (tmp_path / "elsewhere").mkdir()
    root.symlink_to(tmp_path / "elsewhere")
    backend = make_backend()
    await store(backend)
    assert (await make_backend().load_stored("session-a")) is not None


async def test_strangers_in_the_directories_are_passed_over(make_backend: Make, root: Path):
    backend = make_backend()
    path = await store(backend)
    (root / "README").write_text("x")
    (path.parent.parent / "notes.txt").write_text("x")
    (path.parent.parent / "empty").mkdir()
    (path.parent / "attachment.png").write_bytes(b"x")
    (path.parent / "session.v1000.jsonl.bak").write_bytes(b"x")
    assert [s.id for s in await backend.snapshots()] == ["session-a"]
    assert await backend.snapshot("empty") is None
    assert await backend.load_stored("empty") is None


@pytest.mark.parametrize("kind", ["fifo", "directory"])
async def test_a_log_that_is_no_file_is_refused_without_waiting(make_backend: Make, kind: str):
    backend = make_backend()
    path = await store(backend)
    path.unlink()
    os.mkfifo(path) if kind == "fifo" else path.mkdir()
    with anyio.fail_after(10):
        with pytest.raises(SessionPersistenceCorruptionError, match="no regular file"):
            await backend.load_stored("session-a")
        (snapshot,) = await backend.snapshots()
    assert snapshot.format_status == "damaged"


async def test_a_flat_layout_is_refused_and_not_overlooked(make_backend: Make, root: Path):
    backend = make_backend()
    await store(backend, "session-b")
    flat = root / "--srv-project--" / "session-a.jsonl"
    flat.write_bytes(b"{}\n")
    for look in (lambda: backend.load_stored("session-a"), backend.snapshots):
        with pytest.raises(SessionFormatUnsupportedError, match="flat"):
            await look()


@pytest.mark.parametrize(
    ("name", "status", "text"),
    [
        ("session.v1001.jsonl", "future", "upgrade"),
        ("session.v1000.jsonl.zstd", "historical", "compressed"),
    ],
)
async def test_a_generation_that_this_build_cannot_read_hides_the_older_ones(
    make_backend: Make, name: str, status: str, text: str
):
    backend = make_backend()
    path = await store(backend)
    (path.parent / name).write_bytes(b"x")
    with pytest.raises(SessionFormatUnsupportedError, match=text):
        await backend.load_stored("session-a")
    (snapshot,) = await backend.snapshots()
    assert (snapshot.format_status, snapshot.header, snapshot.id) == (status, None, "session-a")
    assert snapshot.problem is not None
    assert text in snapshot.problem


@pytest.mark.skipif(not UPSTREAM.is_dir(), reason=f"no upstream logs in {UPSTREAM}")
async def test_upstream_logs_are_recognised_and_left_alone(make_backend: Make, root: Path):
    backend = make_backend()
    folders = sorted(UPSTREAM.iterdir())
    for folder in folders:
        shutil.copytree(folder, root / "--workspace-demo--" / folder.name)
    before = {path: path.read_bytes() for path in root.glob("*/*/*")}
    for folder in folders:
        with pytest.raises(SessionFormatUnsupportedError, match="no upgrade path"):
            await backend.load_stored(folder.name)
    assert {s.format_status for s in await backend.snapshots()} == {"historical"}
    assert {path: path.read_bytes() for path in root.glob("*/*/*")} == before


async def test_a_damaged_header_does_not_hide_the_other_sessions(make_backend: Make):
    backend = make_backend()
    await store(backend, "session-b")
    path = await store(backend)
    for content in (b"", b'{"type":"session"', b"x\n", b"x" * 2_000_000):
        path.write_bytes(content)
        snapshots = {s.id: s.format_status for s in await backend.snapshots()}
        assert snapshots == {"session-a": "damaged", "session-b": "current"}


@pytest.mark.spec("05-48")
async def test_listing_reads_headers_only_and_can_be_cancelled(
    make_backend: Make, fault_files: Any
):
    backend = make_backend()
    path = await store(backend)
    content = path.read_bytes() + b'{"x":"' + b"y" * 100_000
    for number in range(300):
        twin = path.parent.parent / f"session-{number}"
        twin.mkdir()
        (twin / path.name).write_bytes(content.replace(b"session-a", f"session-{number}".encode()))
    files = fault_files()
    assert len(await make_backend(files).snapshots()) == 301
    assert files.count("read") == 301
    files = fault_files()
    with anyio.move_on_after(0) as scope:
        await make_backend(files).snapshots()
    assert scope.cancelled_caught
    assert files.count("read") < 301


async def test_a_log_that_vanishes_while_it_is_listed_is_left_out(make_backend: Make, files: Any):
    backend = make_backend(files)
    await store(backend)
    files.fail("open_read", FileNotFoundError(2, "gone"))
    assert await backend.snapshots() == []
    files.fail("open_read", PermissionError(13, "no"))
    with pytest.raises(PermissionError):
        await backend.snapshots()


async def test_an_undone_write_does_not_look_like_damage(
    make_backend: Make, files: Any, monkeypatch: Any
):
    """A reader may meet the bytes of a failed batch just before they are cut off."""
    backend = make_backend(files)
    path = await store(backend)
    good = path.read_bytes()
    path.write_bytes(good + b"half a rec\n" + good.split(b"\n")[-2] + b"\n")
    real = files.read

    def read(fd: int, n_bytes: int) -> bytes:
        block = real(fd, n_bytes)
        path.write_bytes(good)
        return block

    files.read = read
    found = await backend.load_stored("session-a")
    assert found is not None
    assert (list(found.events), found.torn) == (LOG, None)


async def test_a_log_that_shrinks_under_a_reader_ends_where_it_ends(make_backend: Make, files: Any):
    backend = make_backend(files)
    path = await store(backend)
    lines = path.read_bytes().split(b"\n")
    real = files.read

    def read(fd: int, n_bytes: int) -> bytes:
        os.truncate(path, len(b"\n".join(lines[:4])) + 1)
        return real(fd, n_bytes)

    files.read = read
    found = await backend.load_stored("session-a")
    assert found is not None
    assert list(found.events) == LOG[:3]


async def test_damage_is_reported_with_line_and_offset_and_changes_nothing(make_backend: Make):
    backend = make_backend()
    path = await store(backend)
    lines = path.read_bytes().split(b"\n")
    lines[2] = b"\x00" * 10
    path.write_bytes(b"\n".join(lines))
    before = path.read_bytes()
    with pytest.raises(SessionPersistenceCorruptionError) as caught:
        await backend.load_stored("session-a")
    assert (caught.value.line, caught.value.offset) == (3, len(b"\n".join(lines[:2])) + 1)
    assert caught.value.path == str(path)
    assert path.read_bytes() == before


@pytest.mark.spec("05-60")
async def test_the_raw_text_is_the_stored_text(make_backend: Make):
    backend = make_backend()
    path = await store(backend)
    raw = await backend.read_raw("session-a")
    assert raw is not None
    assert (raw.file_name, raw.text) == (path.name, path.read_text())
    assert await backend.read_raw("nobody") is None


async def test_a_cancelled_read_stops_at_its_next_block(make_backend: Make, files: Any):
    path = await store(make_backend())
    grow(path, b"x" * 5_000_000)
    real, entered, go_on = files.read, threading.Event(), threading.Event()

    def read(fd: int, n_bytes: int) -> bytes:
        entered.set()
        assert go_on.wait(30)
        return real(fd, n_bytes)

    files.read = read
    backend = make_backend(files)
    async with anyio.create_task_group() as group:
        group.start_soon(backend.load_stored, "session-a")
        assert await anyio.to_thread.run_sync(entered.wait, 30)
        group.cancel_scope.cancel()
    go_on.set()
    with anyio.fail_after(30):
        while not files.count("close"):
            await anyio.sleep(0.001)
    assert files.count("read") == 1


async def test_a_session_that_cannot_be_read_is_not_opened_either(make_backend: Make, root: Path):
    path = await store(make_backend())
    async with Context() as context:
        context.plugin(SessionStore)
        context.plugin(JsonlPersistence, {"root": str(root)})
        await context.settle()
        persistence = context[PersistenceCoordinator]
        path.write_bytes(b"damaged\n")
        for look in (persistence.load, persistence.inspect, persistence.prepare_resume):
            with pytest.raises(SessionPersistenceCorruptionError, match="no JSON"):
                await look("session-a")
        path.write_bytes(b'{"type":"session","version":2000}\n')
        for access in ("read", "write"):
            with pytest.raises(SessionFormatUnsupportedError, match="upgrade"):
                await persistence.open("session-a", access)
        assert await persistence.list() == []
        assert path.read_bytes() == b'{"type":"session","version":2000}\n'


async def test_a_lock_without_a_readable_owner_still_holds(make_backend: Make, root: Path):
    backend = make_backend()
    lease = await backend.acquire_lease(a_header())
    (lock,) = root.glob("*/*/session.lock")
    lock.write_bytes(b"not json")
    assert await backend.is_leased(a_header())
    with pytest.raises(SessionAlreadyOwnedError, match="an unknown process"):
        await make_backend().acquire_lease(a_header())
    await lease.release()
    assert not await backend.is_leased(a_header())
    lock.unlink()
    assert not await backend.is_leased(a_header())


async def test_a_log_that_cannot_be_opened_is_the_systems_error(make_backend: Make, files: Any):
    backend = make_backend(files)
    await store(backend)
    files.fail("open_read", PermissionError(13, "Permission denied"))
    with pytest.raises(PermissionError):
        await backend.load_stored("session-a")
