"""Batches are there entirely or not at all, whatever the file system does."""

import errno
import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from harness.session_persistence import (
    EventTooLargeError,
    SessionAlreadyExistsError,
    SessionOwnershipLostError,
)
from harness.session_persistence.contract import a_header, a_log
from harness_plugins.session_persistence_jsonl import JsonlBackend

LOG = a_log(2)
HEADER = a_header()
Make = Callable[..., JsonlBackend]


def full(code: int = errno.ENOSPC) -> OSError:
    return OSError(code, os.strerror(code))


def log_path(root: Path) -> Path:
    return root / "--srv-project--" / "session-a" / "session.v1000.jsonl"


def grow(path: Path, data: bytes):
    with path.open("ab") as log:
        log.write(data)


async def stored(make_backend: Make) -> list[Any]:
    found = await make_backend().load_stored("session-a")
    return [] if found is None else list(found.events)


@pytest.mark.spec("05-33")
async def test_materialising_leaves_one_file_with_header_and_batch(make_backend: Make, root: Path):
    backend = make_backend()
    lease = await backend.acquire_lease(HEADER)
    await backend.append_batch(lease, LOG)
    path = log_path(root)
    assert path.read_bytes().split(b"\n")[0] == (
        b'{"type":"session","version":1000,"id":"session-a","createdAt":1000,'
        b'"cwd":"/srv/project","delegationDepth":0}'
    )
    assert await stored(make_backend) == LOG
    assert sorted(p.name for p in path.parent.iterdir()) == ["session.lock", "session.v1000.jsonl"]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE((path.parent / "session.lock").stat().st_mode) == 0o600
    for folder in (path.parent, path.parent.parent, root):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert backend.locate(HEADER).path == str(path)
    await lease.release()
    await lease.release()
    await backend.close()


@pytest.mark.spec("05-34")
async def test_a_leftover_temporary_file_is_ignored_and_removed(make_backend: Make, root: Path):
    folder = log_path(root).parent
    folder.mkdir(parents=True)
    leftover = folder / ".0123456789ab.tmp"
    leftover.write_bytes(b'{"type":"session"')
    backend = make_backend()
    assert await backend.load_stored("session-a") is None
    assert await backend.snapshots() == []
    lease = await backend.acquire_lease(HEADER)
    await backend.append_batch(lease, LOG)
    assert not leftover.exists()
    assert await stored(make_backend) == LOG
    await lease.release()


@pytest.mark.spec("05-35")
@pytest.mark.parametrize("links", [True, False])
async def test_an_existing_log_is_never_overwritten(
    make_backend: Make, root: Path, files: Any, links: bool
):
    backend = make_backend(files)
    lease = await backend.acquire_lease(HEADER)
    log_path(root).write_bytes(b"somebody else's")
    if not links:
        files.fail("link", full(errno.EPERM))
    with pytest.raises(SessionAlreadyExistsError):
        await backend.append_batch(lease, LOG)
    assert log_path(root).read_bytes() == b"somebody else's"
    assert len(list(log_path(root).parent.iterdir())) == 2
    await lease.release()


async def test_a_file_system_without_links_works_too(make_backend: Make, files: Any):
    files.fail("link", full(errno.ENOTSUP))
    backend = make_backend(files)
    lease = await backend.acquire_lease(HEADER)
    await backend.append_batch(lease, LOG[:5])
    await backend.append_batch(lease, LOG[5:])
    assert await stored(make_backend) == LOG
    await lease.release()


@pytest.mark.parametrize(
    ("call", "code"),
    [("append", errno.EROFS), ("write", errno.ENOSPC), ("fsync", errno.EIO), ("link", errno.EIO)],
)
async def test_a_session_that_cannot_be_created_does_not_exist(
    make_backend: Make, root: Path, files: Any, call: str, code: int
):
    backend = make_backend(files)
    lease = await backend.acquire_lease(HEADER)
    files.fail(call, full(code))
    with pytest.raises(OSError, match=os.strerror(code)) as caught:
        await backend.append_batch(lease, LOG)
    if call in ("write", "fsync"):  # which know only a descriptor
        assert caught.value.filename == str(log_path(root))
    assert [p.name for p in log_path(root).parent.iterdir()] == ["session.lock"]
    await backend.append_batch(lease, LOG)
    assert await stored(make_backend) == LOG
    await lease.release()


@pytest.mark.parametrize("undone", [True, False])
async def test_a_name_that_may_not_survive_is_taken_back(
    make_backend: Make, root: Path, files: Any, undone: bool
):
    backend = make_backend(files)
    lease = await backend.acquire_lease(HEADER)
    files.fail("sync_directory", full(errno.EIO))
    if not undone:
        files.fail("unlink", None, full(errno.EIO))
    with pytest.raises(OSError, match="Input/output"):
        await backend.append_batch(lease, LOG)
    assert log_path(root).exists() is not undone
    assert lease.usable is undone
    await lease.release()
    again = await backend.acquire_lease(HEADER)
    if undone:
        await backend.append_batch(again, LOG)
    assert await stored(make_backend) == LOG
    await again.release()


@pytest.mark.spec("05-36")
async def test_short_writes_are_continued(make_backend: Make, files: Any):
    files.max_write = 7
    backend = make_backend(files)
    lease = await backend.acquire_lease(HEADER)
    await backend.append_batch(lease, LOG[:5])
    await backend.append_batch(lease, LOG[5:])
    assert await stored(make_backend) == LOG
    await lease.release()


@pytest.mark.spec("05-36")
@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO, errno.EROFS, errno.EDQUOT])
async def test_a_write_that_fails_half_way_is_undone(
    make_backend: Make, root: Path, files: Any, code: int
):
    backend = make_backend(files)
    lease = await backend.acquire_lease(HEADER)
    await backend.append_batch(lease, LOG[:5])
    before = log_path(root).read_bytes()
    files.max_write = 9
    for fault in ("write", "fsync"):
        files.fail(fault, *([None] * 2 if fault == "write" else []), full(code))
        with pytest.raises(OSError, match=os.strerror(code)) as caught:
            await backend.append_batch(lease, LOG[5:])
        assert caught.value.filename == str(log_path(root))
        assert log_path(root).read_bytes() == before
        assert lease.usable
    await backend.append_batch(lease, LOG[5:])
    assert await stored(make_backend) == LOG
    await lease.release()


async def test_a_file_system_that_takes_nothing_is_an_error(make_backend: Make, files: Any):
    backend = make_backend(files)
    lease = await backend.acquire_lease(HEADER)
    await backend.append_batch(lease, LOG[:5])
    files.max_write = 0
    with pytest.raises(OSError, match="took no bytes"):
        await backend.append_batch(lease, LOG[5:])
    await lease.release()


@pytest.mark.spec("05-37")
async def test_a_write_that_cannot_be_undone_poisons_the_lease(make_backend: Make, files: Any):
    backend = make_backend(files)
    lease = await backend.acquire_lease(HEADER)
    await backend.append_batch(lease, LOG[:5])
    files.max_write = 9
    files.fail("write", None, full())
    files.fail("truncate", full(errno.EIO))
    with pytest.raises(ExceptionGroup) as caught:
        await backend.append_batch(lease, LOG[5:])
    codes = [error.errno for error in caught.value.exceptions if isinstance(error, OSError)]
    assert codes == [errno.ENOSPC, errno.EIO]
    assert not lease.usable
    with pytest.raises(SessionOwnershipLostError, match="unknown state"):
        await backend.append_batch(lease, LOG[5:])
    await lease.release()
    files.max_write = None
    again = await backend.acquire_lease(HEADER)
    found = await backend.load_stored("session-a")
    assert found is not None
    assert found.torn is not None
    await backend.commit_repair(again, found.torn, LOG[5:])
    assert await stored(make_backend) == LOG
    await again.release()


@pytest.mark.spec("05-49")
@pytest.mark.parametrize("how", ["replaced", "removed", "grown"])
async def test_a_log_that_somebody_else_touched_is_not_written(
    make_backend: Make, root: Path, how: str
):
    backend = make_backend()
    lease = await backend.acquire_lease(HEADER)
    await backend.append_batch(lease, LOG[:5])
    path = log_path(root)
    content = path.read_bytes()
    if how == "grown":
        grow(path, b"x")
        content += b"x"
    else:
        path.unlink()
    if how == "replaced":
        path.write_bytes(content)
    with pytest.raises(SessionOwnershipLostError):
        await backend.append_batch(lease, LOG[5:])
    if how != "removed":
        assert path.read_bytes() == content
    await lease.release()


async def test_a_log_that_vanished_before_its_first_append_is_not_made_again(
    make_backend: Make, root: Path
):
    backend = make_backend()
    lease = await backend.acquire_lease(HEADER)
    await backend.append_batch(lease, [])
    log_path(root).unlink()
    with pytest.raises(SessionOwnershipLostError, match="gone"):
        await backend.append_batch(lease, LOG)
    assert not log_path(root).exists()
    await lease.release()
    with pytest.raises(SessionOwnershipLostError, match="released"):
        await backend.append_batch(lease, LOG)


async def test_a_repair_that_cannot_cut_poisons_the_lease(
    make_backend: Make, root: Path, files: Any
):
    backend = make_backend(files)
    lease = await backend.acquire_lease(HEADER)
    await backend.append_batch(lease, LOG)
    await lease.release()
    grow(log_path(root), b"torn")
    lease = await backend.acquire_lease(HEADER)
    found = await backend.load_stored("session-a")
    assert found is not None
    files.fail("truncate", full(errno.EIO))
    with pytest.raises(OSError, match="Input/output") as caught:
        await backend.commit_repair(lease, found.torn, [])
    assert caught.value.filename == str(log_path(root))
    assert not lease.usable
    await lease.release()


async def test_a_sync_that_fails_names_the_log(make_backend: Make, root: Path, files: Any):
    backend = make_backend(files, fsync="checkpoint")
    lease = await backend.acquire_lease(HEADER)
    await backend.append_batch(lease, LOG[:5])
    await backend.append_batch(lease, LOG[5:])
    files.fail("fsync", full(errno.EIO))
    with pytest.raises(OSError, match="Input/output") as caught:
        await backend.sync(lease)
    assert caught.value.filename == str(log_path(root))
    await backend.sync(lease)
    assert await stored(make_backend) == LOG
    await lease.release()


@pytest.mark.spec("05-52")
@pytest.mark.parametrize(
    ("policy", "per_batch", "per_flush"), [("batch", 1, 0), ("checkpoint", 0, 1), ("never", 0, 0)]
)
async def test_syncs_are_as_the_policy_says(
    make_backend: Make, files: Any, policy: str, per_batch: int, per_flush: int
):
    backend = make_backend(files, fsync=policy)
    lease = await backend.acquire_lease(HEADER)
    await backend.append_batch(lease, LOG[:2])
    assert files.count("fsync") == (policy != "never")
    at_start = files.count("fsync")
    for at in range(2, 8):
        await backend.append_batch(lease, LOG[at : at + 1])
    assert files.count("fsync") - at_start == 6 * per_batch
    await backend.sync(lease)
    await backend.sync(lease)
    assert files.count("fsync") - at_start == 6 * per_batch + per_flush
    await lease.release()


@pytest.mark.spec("05-43")
async def test_packing_can_be_switched_off(make_backend: Make, root: Path):
    for pack in (True, False):
        backend = make_backend(pack_chunks=pack)
        lease = await backend.acquire_lease(HEADER)
        await backend.append_batch(lease, LOG[:11] if pack else LOG[11:])
        await lease.release()
    text = log_path(root).read_text()
    assert (text.count("text-chunks"), text.count("assistant/chunk")) == (1, 4)
    assert await stored(make_backend) == LOG


async def test_a_record_that_no_reader_would_take_is_refused(make_backend: Make):
    backend = make_backend(max_line_bytes=1024)
    lease = await backend.acquire_lease(HEADER)
    await backend.append_batch(lease, LOG[:3])
    data = LOG[3].data | {"turn": 1}
    huge = LOG[3]._replace(type="todo/write", data=type(LOG[3].data)(data, x="y" * 2000))
    with pytest.raises(EventTooLargeError, match=r"'todo/write' takes 2\d\d\d bytes"):
        await backend.append_batch(lease, [huge])
    assert await stored(make_backend) == LOG[:3]
    await lease.release()


@pytest.mark.spec("05-51")
async def test_a_fork_of_the_process_must_not_write(make_backend: Make, root: Path):
    backend = make_backend()
    lease = await backend.acquire_lease(HEADER)
    await backend.append_batch(lease, LOG[:5])
    before = log_path(root).read_bytes()
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:  # the forked process may only use what needs no event loop
        try:
            lease.log.append(b"x\n")  # pyright: ignore[reportAttributeAccessIssue]
        except SessionOwnershipLostError as error:
            os.write(writer, str(error).encode())
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    assert b"forked process" in os.read(reader, 1000)
    os.close(reader)
    os.close(writer)
    assert log_path(root).read_bytes() == before
    await lease.release()


@pytest.mark.spec("05-50")
async def test_a_lock_file_that_was_replaced_forfeits_the_claim(make_backend: Make, root: Path):
    ours, theirs = make_backend(), make_backend()
    lease = await ours.acquire_lease(HEADER)
    await ours.append_batch(lease, LOG[:5])
    lock = log_path(root).parent / "session.lock"
    lock.unlink()
    taken = await theirs.acquire_lease(HEADER)
    await theirs.append_batch(taken, LOG[5:])
    with pytest.raises(SessionOwnershipLostError):
        await ours.append_batch(lease, LOG[5:])
    assert await stored(make_backend) == LOG
    await lease.release()
    await taken.release()
