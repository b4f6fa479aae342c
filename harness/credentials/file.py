"""Read and write the credentials file, whose format other programs share.

`{version: 1, refs: {NAME: secret}, records: {scope/id: {type, ...}}}`; an older layout, a flat
mapping of names to secrets, is read as well and rewritten by the first change.
"""

import os
import stat
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final, cast

import attrs
from anyio.to_thread import run_sync

from harness.credentials.errors import CredentialsFormatError, CredentialsModeError
from harness.credentials.names import check_reference, check_secret, is_record_key, is_reference
from harness.durable_files import atomic_write, file_lock
from harness.yaml_edit import YamlDocument, YamlError, decode_document
from vendor_shims.cordis import Clock
from vendor_shims.schema import Secret

VERSION: Final = 1
_LOCK_WAIT_S = 30.0
_MAX_BYTES = 1_000_000
_KEYS = ("version", "refs", "records")
_RECORD_TYPES = ("api-key", "grant")


@attrs.frozen
class StoredCredentials:
    """What a credentials file holds: secrets by name, and the type of each record by key."""

    refs: Mapping[str, Secret[str]] = attrs.field(factory=dict[str, Secret[str]])
    records: Mapping[str, str] = attrs.field(factory=dict[str, str])


class CredentialsFile:
    """The credentials file of one home; every call reads it anew, so a change is seen at once."""

    def __init__(self, path: Path, *, clock: Clock | None = None) -> None:
        """Name the file, which need not exist; the clock times the wait for its lock."""
        self.path: Path = path
        self._clock = clock

    def read(self) -> StoredCredentials:
        """Return what is stored; nothing when there is no file.

        Raises:
            CredentialsModeError: others can read the file, or it belongs to somebody else.
            CredentialsFormatError: it does not have the format.
            OSError: it cannot be read.
        """
        document = self._document()
        if document is None:
            return StoredCredentials()
        return _contents(document)

    async def set(self, name: str, value: str) -> None:
        """Store a secret under a name, in the place of an older one; the rest stays as it is.

        Raises:
            InvalidCredentialError: the name or the value is refused.
            LockTimeoutError: another process keeps the file locked.
            CredentialsError, OSError: as `read`, or it cannot be written.
        """
        check_reference(name)
        secret = check_secret(value, name)
        await self._change(lambda document: document.with_value(("refs", name), secret))

    async def unset(self, name: str) -> bool:
        """Forget a secret; return whether there was one.

        Raises:
            LockTimeoutError, CredentialsError, OSError: as `set`.
        """
        if name not in self.read().refs:
            return False
        await self._change(lambda document: document.without(("refs", name)))
        return True

    async def _change(self, change: Callable[[YamlDocument], YamlDocument]) -> None:
        path = self._target()
        async with file_lock(path, _LOCK_WAIT_S, clock=self._clock):
            document = self._document() or YamlDocument.parse("", str(self.path))
            _contents(document)
            try:
                changed = change(_current(document))
            except YamlError as error:
                raise CredentialsFormatError(str(error)) from error
            data = changed.text.encode()
            await run_sync(lambda: atomic_write(path, data, mode=0o600))

    def _target(self) -> Path:
        """Return the file itself where a link stands for it; its directory exists afterwards."""
        path = Path(os.path.realpath(self.path))
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        return path

    def _document(self) -> YamlDocument | None:
        try:
            fd = os.open(self.path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
        except FileNotFoundError:
            return None
        try:
            self._check_owner(os.fstat(fd))
        except BaseException:
            os.close(fd)
            raise
        with open(fd, "rb") as file:
            data = file.read(_MAX_BYTES + 1)
        try:
            return decode_document(data, str(self.path))
        except YamlError as error:
            raise CredentialsFormatError(str(error)) from error

    def _check_owner(self, status: os.stat_result) -> None:
        """Refuse a file that somebody else could have written or can read."""
        if not stat.S_ISREG(status.st_mode):
            raise CredentialsModeError(f"{self.path} is no regular file")
        if os.name == "nt":  # pragma: no cover - there are no such bits
            return
        if status.st_uid not in (os.geteuid(), 0):
            raise CredentialsModeError(f"{self.path} belongs to another user")
        if status.st_mode & 0o077:
            mode = stat.S_IMODE(status.st_mode)
            raise CredentialsModeError(
                f"{self.path} has mode {mode:04o}, so others may read it;"
                f" run: chmod 600 {self.path}"
            )


def _contents(document: YamlDocument) -> StoredCredentials:
    """Return what a document says, after checking all of it."""
    if _is_flat(document):
        return StoredCredentials({name: Secret(value) for name, value in document.value.items()})
    for key in document.value:
        if key not in _KEYS:
            raise _fault(document, (key,), f"unknown key; expected {', '.join(_KEYS)}")
    if document.value and document.value.get("version") != VERSION:
        raise _fault(document, ("version",), f"expected version: {VERSION}")
    refs = _section(document, "refs")
    for name, value in refs.items():
        if not is_reference(name):
            raise _fault(document, ("refs", name), "a name expects letters, digits and _")
        if not isinstance(value, str) or not value.strip():
            raise _fault(document, ("refs", name), "a secret expects a text; put it in quotes")
    records = _section(document, "records")
    for key, record in records.items():
        kind = cast("dict[str, Any]", record).get("type") if isinstance(record, dict) else None
        if not is_record_key(key) or kind not in _RECORD_TYPES:
            expected = " or ".join(_RECORD_TYPES)
            raise _fault(document, ("records", key), f"expected scope/id: {{type: {expected}, …}}")
    kinds = {key: str(record["type"]) for key, record in records.items()}
    return StoredCredentials({name: Secret(value) for name, value in refs.items()}, kinds)


def _section(document: YamlDocument, key: str) -> dict[str, Any]:
    section = document.value.get(key)
    if section is None:
        return {}
    if not isinstance(section, dict):
        raise _fault(document, (key,), "expected a mapping")
    return cast("dict[str, Any]", section)


def _is_flat(document: YamlDocument) -> bool:
    """Return whether a document has the older layout."""
    values = document.value
    return (
        bool(values)
        and "version" not in values
        and all(is_reference(name) for name in values)
        and all(isinstance(value, str) and value.strip() for value in values.values())
    )


def _current(document: YamlDocument) -> YamlDocument:
    """Return the document in the current layout, with its comments."""
    if not document.value:
        return document.with_value(("version",), VERSION)
    if not _is_flat(document):
        return document
    lines = document.text.rstrip().split("\n")
    text = "\n".join(("version: 1", "refs:", *(f"  {line}".rstrip(" ") for line in lines))) + "\n"
    wanted = {"version": VERSION, "refs": dict(document.value)}
    try:
        moved = YamlDocument.parse(text, document.file)
        if moved.value == wanted:
            return moved
    except YamlError:
        pass  # written in a way that cannot be indented: its values are kept, its comments are not
    moved = YamlDocument.parse("", document.file).with_value(("version",), VERSION)
    return moved.with_value(("refs",), dict(document.value))


def _fault(document: YamlDocument, path: tuple[str, ...], problem: str) -> CredentialsFormatError:
    line = document.line(path)
    place = f"{document.file}:{line}" if line else document.file
    name = f"{'.'.join(path)}: " if document.line(path) else ""
    return CredentialsFormatError(f"{place}: {name}{problem}")
