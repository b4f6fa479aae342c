"""Store each session as one append-only JSONL file."""

import asyncio
import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from harness.session import SessionEvent, SessionHeader, header_to_json
from harness.session_persistence import (
    ArtifactLocation,
    Lease,
    RawArtifact,
    RawStored,
    Revision,
    SessionSnapshot,
    TornTail,
    encode_lines,
)
from harness.wire import dumps
from harness_plugins.session_persistence_jsonl.catalog import Catalog
from harness_plugins.session_persistence_jsonl.config import JsonlConfig
from harness_plugins.session_persistence_jsonl.files import OS_LOG_FILES, LogFiles, make_dirs
from harness_plugins.session_persistence_jsonl.layout import log_name
from harness_plugins.session_persistence_jsonl.lease import FileLease, is_locked
from harness_plugins.session_persistence_jsonl.log_file import LogFile

T = TypeVar("T")


class JsonlLease:
    """Hold the lock of a session and the log that it allows to write.

    Invariants: `exists` is True once the log has its header on disk.
    """

    def __init__(self, lock: FileLease, log: LogFile, header: SessionHeader, *, exists: bool):
        self.lock = lock
        self.log = log
        self.header = header
        self.exists = exists

    @property
    def usable(self) -> bool:
        """Say whether writes may go on; False once the state on disk became unknown."""
        return self.log.usable

    async def release(self) -> None:
        """Close the log and give the lock back; the second call does nothing."""
        # Closing descriptors does not wait for the device, so it needs no thread.
        try:
            self.log.close()
        finally:
            self.lock.release()


class JsonlBackend:
    """Implement `PersistenceBackend` on files; all system calls run in worker threads.

    The coordinator never cancels a write. A read whose caller is cancelled is left behind and stops
    at its next block.
    """

    name = "jsonl"

    def __init__(self, config: JsonlConfig, *, files: LogFiles = OS_LOG_FILES) -> None:
        self._config = config
        self._files = files
        self._root = os.path.realpath(config.root)
        self._catalog = Catalog(self._files, self._root, max_line_bytes=config.max_line_bytes)
        self._threads: ThreadPoolExecutor | None = None

    def check_root(self) -> None:
        """Raise `NotADirectoryError` when something else than a directory has the root's name."""
        if os.path.lexists(self._root) and not os.path.isdir(self._root):
            raise NotADirectoryError(f"the session root {self._root} is no directory")

    def locate(self, header: SessionHeader) -> ArtifactLocation:
        """Return the file of a session with this header; touches nothing."""
        path = os.path.join(self._catalog.folder_for(header).path, log_name(header.version))
        return ArtifactLocation(kind=self.name, path=path)

    async def load_stored(self, session_id: str) -> RawStored | None:
        """Return the committed log and its torn tail, or None."""
        return await self._read(lambda stop: self._catalog.read(session_id, stop))

    async def snapshot(self, session_id: str) -> SessionSnapshot | None:
        """Describe one stored session, or return None."""
        return await self._run(lambda: self._catalog.snapshot(session_id))

    async def snapshots(self) -> list[SessionSnapshot]:
        """Describe all stored sessions."""
        return await self._read(self._catalog.snapshots)

    async def acquire_lease(self, header: SessionHeader) -> Lease:
        """Claim a session, making its directory when it has none."""
        return await self._run(lambda: self._acquire(header))

    async def is_leased(self, header: SessionHeader) -> bool:
        """Say whether any process holds the lock of a session."""
        return await self._run(lambda: self._probe(header))

    async def append_batch(self, lease: Lease, events: Sequence[SessionEvent]) -> None:
        """Append a batch, or create the log with its header and the batch."""
        await self._run(lambda: self._append(_own(lease), events))

    async def commit_repair(
        self, lease: Lease, torn: TornTail | None, closers: Sequence[SessionEvent]
    ) -> Revision:
        """Cut the torn tail and append the closers."""
        return await self._run(lambda: self._repair(_own(lease), torn, closers))

    async def sync(self, lease: Lease) -> None:
        """Force appended batches to the device under the `checkpoint` policy."""
        if self._config.fsync == "checkpoint":
            await self._run(_own(lease).log.sync)

    async def read_raw(self, session_id: str) -> RawArtifact | None:
        """Return the text of a log as it is stored, undecodable bytes replaced."""
        return await self._run(lambda: self._read_raw(session_id))

    async def close(self) -> None:
        """Let the worker threads end; every descriptor belongs to a lease."""
        threads, self._threads = self._threads, None
        if threads is not None:
            threads.shutdown(wait=False)

    def _acquire(self, header: SessionHeader) -> JsonlLease:
        folder = self._catalog.find(header.id) or self._catalog.folder_for(header)
        make_dirs(self._files, folder.path)
        lock = FileLease(folder.path, header.id)
        try:
            path = os.path.join(folder.path, log_name(header.version))
            log = LogFile(self._files, path, header.id, lock, self._config.fsync)
            exists = self._catalog.exists(path)
            if exists:
                log.adopt()
            return JsonlLease(lock, log, header, exists=exists)
        except BaseException:
            lock.release()
            raise

    def _append(self, lease: JsonlLease, events: Sequence[SessionEvent]) -> None:
        data = self._encode(events)
        if lease.exists:
            if data:
                lease.log.append(data)
        else:
            header = dumps({"type": "session", **header_to_json(lease.header)})
            lease.log.materialize(header + b"\n" + data)
            lease.exists = True

    def _repair(
        self, lease: JsonlLease, torn: TornTail | None, closers: Sequence[SessionEvent]
    ) -> Revision:
        lease.log.repair(None if torn is None else torn.position, self._encode(closers))
        return self._catalog.revision(lease.log.state())

    def _encode(self, events: Sequence[SessionEvent]) -> bytes:
        return encode_lines(
            events,
            pack_chunks=self._config.pack_chunks,
            max_line_bytes=self._config.max_line_bytes,
        )

    def _probe(self, header: SessionHeader) -> bool:
        folder = self._catalog.find(header.id) or self._catalog.folder_for(header)
        return is_locked(folder.path)

    def _read_raw(self, session_id: str) -> RawArtifact | None:
        path = self._catalog.log_path(session_id)
        if path is None:
            return None
        text = self._catalog.read_bytes(path).decode(errors="replace")
        return RawArtifact(file_name=os.path.basename(path), text=text)

    async def _read(self, work: Callable[[threading.Event], T]) -> T:
        stop = threading.Event()
        try:
            return await self._run(lambda: work(stop))
        except BaseException:
            stop.set()
            raise

    async def _run(self, work: Callable[[], T]) -> T:
        if self._threads is None:
            self._threads = ThreadPoolExecutor(self._config.max_threads, "session-jsonl")
        return await asyncio.get_running_loop().run_in_executor(self._threads, work)


def _own(lease: Lease) -> JsonlLease:
    assert isinstance(lease, JsonlLease), "a lease goes back to the backend that gave it"
    return lease
