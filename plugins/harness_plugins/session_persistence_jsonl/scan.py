"""Read the bytes of a log into events, telling a torn end from damage.

Only what never formed a committed record may be dropped: the bytes after the last line end, and
bad lines at the very end of the file. A bad line with a good record after it is damage inside the
history, which is reported and left alone.
"""

from typing import Any, cast

from attrs import frozen

from harness.session import SESSION_FORMAT_VERSION, SessionEvent, SessionHeader, header_from_json
from harness.session_persistence import (
    MalformedRecordError,
    SessionFormatUnsupportedError,
    SessionPersistenceCorruptionError,
    TornTail,
    decode_storage_record,
    require_known_type,
)
from harness.wire import JsonDecodeError, loads

DEFAULT_MAX_LINE_BYTES = 256 * 1024 * 1024
_RETIRED_KEYS = ("sandboxMode", "approvalPolicy")


@frozen(kw_only=True)
class Scan:
    """Hold what a log file says: its header, its committed events, and what to cut."""

    header: SessionHeader
    events: list[SessionEvent]
    committed_bytes: int
    torn: TornTail | None


@frozen(kw_only=True)
class _Issue:
    """The first line that could not be taken, and where it stands."""

    problem: str
    line: int
    offset: int


class LogScanner:
    """Take blocks of a log file in order and build its events.

    Invariants: `_offset` is the first byte of the line that `_rest` begins; the events are dense
    from 0; after an issue nothing is added to them.
    """

    def __init__(self, path: str, *, max_line_bytes: int = DEFAULT_MAX_LINE_BYTES) -> None:
        self._path = path
        self._max_line_bytes = max_line_bytes
        self._header: SessionHeader | None = None
        self._events: list[SessionEvent] = []
        self._rest: list[bytes] = []
        self._n_rest = 0
        self._line = 1
        self._offset = 0
        self._issue: _Issue | None = None

    def feed(self, block: bytes) -> None:
        """Take the next bytes of the file, cut anywhere.

        Raises:
            SessionPersistenceCorruptionError: a record follows a line that could not be taken.
            SessionFormatUnsupportedError: a newer format, or an event type of no known plugin.
        """
        first, *others = block.split(b"\n")
        self._keep(first)
        for other in others:
            self._take(b"".join(self._rest), self._n_rest)
            self._rest, self._n_rest = [], 0
            self._keep(other)

    def finish(self) -> Scan:
        """Return what was read, after the last block."""
        if self._header is None:
            problem = "the header line is incomplete" if self._n_rest else "the file is empty"
            raise SessionPersistenceCorruptionError(self._path, problem, line=1, offset=0)
        size = self._offset + self._n_rest
        committed = self._offset if self._issue is None else self._issue.offset
        torn = TornTail(position=committed, n_bytes=size - committed) if size > committed else None
        return Scan(header=self._header, events=self._events, committed_bytes=committed, torn=torn)

    def _keep(self, part: bytes) -> None:
        """Hold a part of an unfinished line, or only its length once it is too long to be one."""
        self._n_rest += len(part)
        if self._n_rest <= self._max_line_bytes:
            self._rest.append(part)
        else:
            self._rest.clear()

    def _take(self, line: bytes, n_bytes: int) -> None:
        if self._header is None:
            self._header = read_header(line, self._path)
        else:
            self._take_record(line, n_bytes)
        self._offset += n_bytes + 1
        self._line += 1

    def _take_record(self, line: bytes, n_bytes: int) -> None:
        if n_bytes > self._max_line_bytes:
            self._reject(f"the line has {n_bytes} bytes, more than {self._max_line_bytes}")
            return
        try:
            events = decode_storage_record(loads(line))
        except JsonDecodeError as error:
            self._reject(f"no JSON: {error}")
            return
        except MalformedRecordError as error:
            self._reject(str(error))
            return
        if self._issue is not None:
            found = self._issue
            raise SessionPersistenceCorruptionError(
                self._path,
                f"{found.problem}, and a record follows in line {self._line}",
                line=found.line,
                offset=found.offset,
            )
        if events[0].seq != len(self._events):
            self._reject(f"seq {events[0].seq} stands where {len(self._events)} belongs")
            return
        require_known_type(events[0], self._path)
        self._events.extend(events)

    def _reject(self, problem: str) -> None:
        if self._issue is None:
            self._issue = _Issue(problem=problem, line=self._line, offset=self._offset)


def read_header(line: bytes, path: str) -> SessionHeader:
    """Decode the first line of a log.

    Raises:
        SessionFormatUnsupportedError: another format version, whatever else the line holds.
        SessionPersistenceCorruptionError: no header of the native format.
    """
    try:
        value = loads(line)
    except JsonDecodeError as error:
        raise _bad_header(path, f"the header is no JSON: {error}") from error
    if not isinstance(value, dict):
        raise _bad_header(path, "the first line is no session header")
    fields = cast("dict[str, Any]", value)
    if fields.get("type") != "session":
        raise _bad_header(path, "the first line is no session header")
    _gate_version(fields.get("version"), path)
    for key in _RETIRED_KEYS:
        if key in fields:
            raise SessionFormatUnsupportedError(path, f"its header has the retired key {key!r}")
    del fields["type"]
    try:
        return header_from_json(fields)
    except (ValueError, TypeError) as error:
        raise _bad_header(path, f"bad header: {error}") from error


def _gate_version(version: object, path: str) -> None:
    if type(version) is not int or version < 0:
        raise _bad_header(path, f"the format version is {version!r}")
    refuse_version(version, path)


def refuse_version(version: int, path: str) -> None:
    """Raise unless this build reads the format `version`.

    Raises:
        SessionFormatUnsupportedError: says whether to upgrade or that there is no way.
    """
    if version > SESSION_FORMAT_VERSION:
        raise SessionFormatUnsupportedError(
            path,
            f"format {version} was written by a newer harness, this build reads"
            f" {SESSION_FORMAT_VERSION}; upgrade the harness",
            newer=True,
        )
    if version < SESSION_FORMAT_VERSION:
        raise SessionFormatUnsupportedError(
            path,
            f"format {version} is not {SESSION_FORMAT_VERSION},"
            " and this build has no upgrade path from it",
        )


def _bad_header(path: str, problem: str) -> SessionPersistenceCorruptionError:
    return SessionPersistenceCorruptionError(path, problem, line=1, offset=0)
