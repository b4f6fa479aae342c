"""A file that is changed in the background, whole or not at all."""

from __future__ import annotations

import asyncio
import errno
import os
from codecs import BOM_UTF8
from collections.abc import Callable
from contextlib import suppress
from typing import Final, TypeAlias

from vendor_shims.cordis import Context

from .document import MAX_BYTES, read_text
from .errors import ConfigFileError

N_ATTEMPTS: Final = 10
RETRY_S: Final = 0.05
"""How long the first retry waits; each further one waits that much longer."""

Edit: TypeAlias = Callable[[str | None], str | None]
"""Gets the text of the file, None when it does not exist, and returns what it should be."""

Written: TypeAlias = Callable[[str | None, str | None], object]
"""Gets the text that the file had and the one it has, when the change is done."""


class PatchFile:
    """Writes a file soon after it was asked to, with whatever was asked for last.

    Invariants: at most one write runs; the file has either its old or its new content at any
    moment; what was asked for before the fiber ends is written before it has ended.
    """

    def __init__(self, ctx: Context, path: str) -> None:
        self.path = path
        self._ctx = ctx
        self._wanted: tuple[Edit, Written] | None = None
        self._turn = asyncio.Lock()
        ctx.effect(lambda: self.flush, f"write {os.path.basename(path)}")

    def schedule(self, edit: Edit, written: Written) -> None:
        """Change the file in the next turn of the event loop, instead of what waits for that.

        Args:
            edit: makes the new text; it may raise `ConfigFileError`, which is logged.
            written: called when the file has the new text.
        """
        is_waiting = self._wanted is not None
        self._wanted = (edit, written)
        if not is_waiting:
            self._ctx.kernel.next_turn(self._begin)

    async def flush(self) -> None:
        """Write now what was asked for, and wait until it is written or has failed."""
        async with self._turn:
            while self._wanted is not None:
                (edit, written), self._wanted = self._wanted, None
                texts = await self._write(edit)
                if texts is not None:
                    written(*texts)

    def _begin(self) -> None:
        if self._wanted is not None and self._ctx.fiber.accepts:
            self._ctx.spawn(self.flush, name=f"write {self.path}", shield=True)

    async def _write(self, edit: Edit) -> tuple[str | None, str | None] | None:
        """Write and return old and new text; None when that failed, which is logged."""
        attempt = 1
        while True:
            try:
                before = _current(self.path)
                text = edit(before)
                if text is not None and text != before:
                    await asyncio.to_thread(replace_file, self.path, text)
            except ConfigFileError as error:
                if attempt == N_ATTEMPTS or not _is_passing(error):
                    self._ctx.logger.error("changes are not saved: %s", error)
                    return None
                await self._ctx.kernel.clock.sleep(RETRY_S * attempt)
                attempt += 1
            else:
                return before, text


def replace_file(path: str, text: str) -> None:
    """Give a file a new content at once; a link stays, and so do permissions and byte-order mark.

    Raises:
        ConfigFileError: it is read-only, or cannot be written; or could not be read again.
    """
    content = text.encode()
    if len(content) > MAX_BYTES:
        raise ConfigFileError("write", f"it would have more than {MAX_BYTES} bytes", file=path)
    real = os.path.realpath(path)
    draft = f"{real}.tmp"
    try:
        mode, mark = _form_of(real)
        if mode is not None and not mode & 0o222:
            raise ConfigFileError("write", "it is read-only", file=path)
        os.makedirs(os.path.dirname(real), exist_ok=True)
        with open(draft, "wb") as file:
            if mode is not None:
                os.chmod(draft, mode)
            file.write(mark + content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(draft, real)
    except OSError as error:
        with suppress(OSError):
            os.unlink(draft)
        raise ConfigFileError("write", error.strerror or str(error), file=path) from error


def _form_of(path: str) -> tuple[int | None, bytes]:
    """Return the permissions of a file, None when there is none, and its byte-order mark."""
    try:
        mode = os.stat(path).st_mode & 0o7777
        with open(path, "rb") as file:
            mark = file.read(len(BOM_UTF8))
    except FileNotFoundError:
        return None, b""
    return mode, mark if mark == BOM_UTF8 else b""


def _current(path: str) -> str | None:
    try:
        return read_text(path)
    except ConfigFileError as error:
        if error.is_missing:
            return None
        raise


def _is_passing(error: ConfigFileError) -> bool:
    """Return whether a failure may be over in a moment, such as another program's open file."""
    cause = error.__cause__
    return isinstance(cause, PermissionError) or (
        isinstance(cause, OSError) and cause.errno == errno.EBUSY
    )
