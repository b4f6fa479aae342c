"""Find the stored sessions below a root directory and read them.

Everything here is synchronous, runs in worker threads, and never writes. Directories and logs are
never reached through symbolic links below the root.
"""

import errno
import os
import stat
import threading
from collections.abc import Iterable, Iterator

from attrs import frozen

from harness.session import SessionHeader
from harness.session_persistence import (
    FormatStatus,
    RawStored,
    Revision,
    SessionFormatUnsupportedError,
    SessionPersistenceCorruptionError,
    SessionSnapshot,
    paused_collector,
)
from harness_plugins.session_persistence_jsonl.files import LogFiles, is_real_dir
from harness_plugins.session_persistence_jsonl.layout import (
    FLAT_SUFFIX,
    encode_segment,
    parse_generation,
    project_dir,
)
from harness_plugins.session_persistence_jsonl.scan import (
    LogScanner,
    Scan,
    read_header,
    refuse_version,
)

_BLOCK_BYTES = 1024 * 1024
_HEADER_BYTES = 8 * 1024
_MAX_HEADER_BYTES = 1024 * 1024
_READ_ATTEMPTS = 3


class ReadStopped(Exception):
    """Stop a read whose caller is gone; nobody sees it."""


@frozen(kw_only=True)
class SessionFolder:
    """Name the directory of one session."""

    path: str
    project: str
    segment: str


class Catalog:
    """Look up and read the sessions of one root."""

    def __init__(self, files: LogFiles, root: str, *, max_line_bytes: int) -> None:
        self._files = files
        self._root = root
        self._max_line_bytes = max_line_bytes

    def folder_for(self, header: SessionHeader) -> SessionFolder:
        """Return where a new session with this header goes; touches nothing."""
        project, segment = project_dir(header.cwd), encode_segment(header.id)
        path = os.path.join(self._root, project, segment)
        return SessionFolder(path=path, project=project, segment=segment)

    def find(self, session_id: str) -> SessionFolder | None:
        """Return the directory of a stored session, or None.

        Raises:
            SessionPersistenceCorruptionError: two project directories have the session.
            SessionFormatUnsupportedError: it is stored in the flat layout of old builds.
            NotADirectoryError: a link or a file stands where a directory belongs.
        """
        segment = encode_segment(session_id)
        found: list[SessionFolder] = []
        for project in sorted(self._names(self._root)):
            parent = os.path.join(self._root, project)
            if self.exists(os.path.join(parent, segment + FLAT_SUFFIX)):
                self._refuse_flat(os.path.join(parent, segment + FLAT_SUFFIX))
            path = os.path.join(parent, segment)
            if self.exists(path) and is_real_dir(self._files, parent):
                folder = SessionFolder(path=path, project=project, segment=segment)
                if is_real_dir(self._files, path) and self._generations(folder):
                    found.append(folder)
        self._refuse_twins(found)
        return found[0] if found else None

    def read(self, session_id: str, stop: threading.Event) -> RawStored | None:
        """Return the committed log of a session, or None when nothing is stored.

        A log that grows meanwhile gives the prefix that was there at first.
        """
        folder = self.find(session_id)
        if folder is None:
            return None
        path = self._current_log(folder)
        with paused_collector():
            scan, before = self._read_stable(path, stop)
        self._check_identity(scan.header, folder, path)
        return RawStored(
            header=scan.header,
            events=tuple(scan.events),
            revision=self.revision(before),
            torn=scan.torn,
        )

    def snapshot(self, session_id: str) -> SessionSnapshot | None:
        """Describe one stored session from its first line, or return None."""
        folder = self.find(session_id)
        return None if folder is None else self._describe(folder)

    def snapshots(self, stop: threading.Event) -> list[SessionSnapshot]:
        """Describe all stored sessions from their first lines."""
        found: list[SessionSnapshot] = []
        seen: dict[str, SessionFolder] = {}
        for folder in self._folders():
            if stop.is_set():
                raise ReadStopped
            snapshot = self._describe(folder)
            if snapshot is not None:
                self._refuse_twins([seen.setdefault(folder.segment, folder), folder])
                found.append(snapshot)
        return found

    def log_path(self, session_id: str) -> str | None:
        """Return the file of a stored session that this build reads, or None."""
        folder = self.find(session_id)
        return None if folder is None else self._current_log(folder)

    def read_bytes(self, path: str) -> bytes:
        """Return all bytes of a log file."""
        fd = self._open(path)
        try:
            size = self._files.fstat(fd).st_size
            return b"".join(self._blocks(fd, size, threading.Event()))
        finally:
            self._files.close(fd)

    def revision(self, state: os.stat_result) -> Revision:
        """Return the revision of a log file in this state."""
        return Revision(
            f"{self._root}:{state.st_dev}:{state.st_ino}:{state.st_size}"
            f":{state.st_mtime_ns}:{state.st_ctime_ns}"
        )

    def _read_stable(self, path: str, stop: threading.Event) -> tuple[Scan, os.stat_result]:
        """Scan a file; when a failed write was undone under our eyes, scan it again."""
        n_left = _READ_ATTEMPTS
        while True:
            n_left -= 1
            fd = self._open(path)
            try:
                before = self._files.fstat(fd)
                try:
                    return self._scan(path, self._blocks(fd, before.st_size, stop)), before
                except SessionPersistenceCorruptionError:
                    if n_left == 0 or not self._changed(fd, before):
                        raise
            finally:
                self._files.close(fd)

    def _scan(self, path: str, blocks: Iterable[bytes]) -> Scan:
        scanner = LogScanner(path, max_line_bytes=self._max_line_bytes)
        for block in blocks:
            scanner.feed(block)
        return scanner.finish()

    def _changed(self, fd: int, before: os.stat_result) -> bool:
        return self.revision(self._files.fstat(fd)) != self.revision(before)

    def _blocks(self, fd: int, size: int, stop: threading.Event) -> Iterator[bytes]:
        while size > 0:
            if stop.is_set():
                raise ReadStopped
            block = self._files.read(fd, min(size, _BLOCK_BYTES))
            if not block:
                return
            size -= len(block)
            yield block

    def _open(self, path: str) -> int:
        """Open a log for reading; anything but a regular file is refused, also without waiting."""
        try:
            fd = self._files.open_read(path)
        except OSError as error:
            if error.errno == errno.ELOOP:
                problem = "it is a symbolic link"
                raise SessionPersistenceCorruptionError(path, problem) from error
            raise
        if not stat.S_ISREG(self._files.fstat(fd).st_mode):
            self._files.close(fd)
            raise SessionPersistenceCorruptionError(path, "it is no regular file")
        return fd

    def _folders(self) -> Iterator[SessionFolder]:
        for project in sorted(self._names(self._root)):
            parent = os.path.join(self._root, project)
            if not stat.S_ISDIR(self._files.lstat(parent).st_mode):
                continue
            for segment in sorted(self._names(parent)):
                path = os.path.join(parent, segment)
                if segment.endswith(FLAT_SUFFIX) and not stat.S_ISDIR(
                    self._files.lstat(path).st_mode
                ):
                    self._refuse_flat(path)
                yield SessionFolder(path=path, project=project, segment=segment)

    def _describe(self, folder: SessionFolder) -> SessionSnapshot | None:
        """Return what the first line says, or None for a directory that is no session (yet)."""
        try:
            if not is_real_dir(self._files, folder.path) or not self._generations(folder):
                return None
            path = self._current_log(folder)
            fd = self._open(path)
            try:
                state = self._files.fstat(fd)
                header = read_header(self._first_line(fd, path), path)
            finally:
                self._files.close(fd)
        except (FileNotFoundError, NotADirectoryError):
            return None  # it vanished between two looks, or never was a session
        except SessionFormatUnsupportedError as error:
            return _unreadable(folder, "future" if error.newer else "historical", error)
        except SessionPersistenceCorruptionError as error:
            return _unreadable(folder, "damaged", error)
        self._check_identity(header, folder, path)
        return SessionSnapshot(
            id=header.id, header=header, revision=self.revision(state), size_bytes=state.st_size
        )

    def _first_line(self, fd: int, path: str) -> bytes:
        head = b""
        while b"\n" not in head:
            block = self._files.read(fd, _HEADER_BYTES)
            head += block
            if not block or len(head) > _MAX_HEADER_BYTES:
                problem = "the file is empty" if not head else "the header line is incomplete"
                raise SessionPersistenceCorruptionError(path, problem, line=1, offset=0)
        return head[: head.index(b"\n")]

    def _current_log(self, folder: SessionFolder) -> str:
        """Return the log of the format that this build reads; a newer one refuses the session."""
        newest = self._generations(folder)[-1]
        name, version = newest
        path = os.path.join(folder.path, name)
        refuse_version(version, path)
        if name.endswith(".zstd"):
            raise SessionFormatUnsupportedError(
                path, "it is compressed, this build reads plain logs"
            )
        return path

    def _generations(self, folder: SessionFolder) -> list[tuple[str, int]]:
        """Return the log files of a session, oldest format first."""
        parsed = [parse_generation(name) for name in self._files.list_dir(folder.path)]
        known = sorted((g.version, g.compressed, g.name) for g in parsed if g is not None)
        return [(name, version) for version, _compressed, name in known]

    def _check_identity(self, header: SessionHeader, folder: SessionFolder, path: str) -> None:
        """Refuse a header that cannot name the place where it was found."""
        if encode_segment(header.id) != folder.segment:
            raise SessionPersistenceCorruptionError(path, f"its header names {header.id!r}")
        if project_dir(header.cwd) == folder.project:
            return
        if header.cwd is not None and project_dir(os.path.realpath(header.cwd)) == folder.project:
            return
        raise SessionPersistenceCorruptionError(
            path, f"its header names the working directory {header.cwd!r}"
        )

    def _refuse_twins(self, folders: list[SessionFolder]) -> None:
        if len(folders) > 1 and folders[0] != folders[-1]:
            raise SessionPersistenceCorruptionError(
                folders[0].path, f"the same session is also stored in {folders[-1].path}"
            )

    def _refuse_flat(self, path: str) -> None:
        raise SessionFormatUnsupportedError(
            path, "it lies flat in its project directory, a layout that this build does not read"
        )

    def _names(self, path: str) -> list[str]:
        try:
            return self._files.list_dir(path)
        except FileNotFoundError:
            return []

    def exists(self, path: str) -> bool:
        """Return whether anything has this name."""
        try:
            self._files.lstat(path)
        except (FileNotFoundError, NotADirectoryError):
            return False
        return True


def _unreadable(folder: SessionFolder, status: FormatStatus, error: Exception) -> SessionSnapshot:
    return SessionSnapshot(
        id=folder.segment,
        header=None,
        revision=Revision(""),
        size_bytes=None,
        format_status=status,
        problem=str(error),
    )
