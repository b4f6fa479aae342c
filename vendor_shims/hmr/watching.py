"""Being told which files changed: by the system where `watchfiles` is there, else by looking."""

from __future__ import annotations

import os
import threading
from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

import anyio
from anyio.to_thread import run_sync

from vendor_shims.cordis import Clock
from vendor_shims.hmr.errors import WatchFailed
from vendor_shims.hmr.roots import Roots

if TYPE_CHECKING:
    from watchfiles._rust_notify import RustNotify

EXTRA = "hmr"
POLL_S = 1.0
_GATHER_MS = 50
_STEP_MS = 10
"""How long a series of changes is gathered at most, and the pause that ends it."""

Watch: TypeAlias = AsyncIterable[set[str]]
"""Sets of canonical paths that came, changed or went."""
Signature: TypeAlias = tuple[int, ...]
"""What tells two states of a file apart: time of content and of attributes, size, number."""


def signature(path: str) -> Signature | None:
    """Return the state of a file; `None` when there is none."""
    try:
        found = os.stat(path)
    except (OSError, ValueError):
        return None
    return (found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino)


def open_watch(
    roots: Roots, clock: Clock, *, polling: bool, tell: Callable[[str], object]
) -> Watch:
    """Begin to watch, and return what changes from now on.

    Args:
        roots: what to watch.
        clock: the time source of polling.
        polling: look once a second even where the system could tell.
        tell: gets one line when watching is worse than it could be.

    Raises:
        WatchFailed: a folder is missing or cannot be watched.
    """
    for folder in roots.folders:
        if not os.path.isdir(folder):
            raise WatchFailed(f"cannot watch {folder!r}: it is no folder; correct `root` or `base`")
    if polling:
        return look(roots, clock)
    try:
        # Its documentation names this class for use without the wrapper around it, which would
        # tell about a failing start only after the first change.
        from watchfiles._rust_notify import RustNotify
    except ImportError:
        tell(
            f"watchfiles is not installed, so that files are looked at every {POLL_S:g} s;"
            f" install dsh-harness[{EXTRA}]"
        )
        return look(roots, clock)
    try:
        notify = RustNotify(
            watch_paths=list(roots.folders),
            debug=False,
            force_polling=False,
            poll_delay_ms=0,
            recursive=True,
            ignore_permission_denied=True,
        )
    except (OSError, RuntimeError) as error:
        raise WatchFailed(f"cannot watch {', '.join(roots.folders)}: {error}") from error
    return _told(notify)


def look(roots: Roots, clock: Clock) -> Watch:
    """Return what changes from now on, found by comparing all files with a second ago."""
    return _differences(roots, clock, _signatures(roots.files()))


async def _told(notify: RustNotify) -> AsyncIterator[set[str]]:
    """Return changes as the system reports them; the thread that waits ends with the iteration."""
    limiter = anyio.CapacityLimiter(1)  # a thread that is always taken must not be a shared one
    stopped = threading.Event()
    try:
        while True:
            wait = partial(notify.watch, _GATHER_MS, _STEP_MS, 0, stopped)
            found = await run_sync(wait, limiter=limiter)
            yield {_canonical(path) for _, path in (found if isinstance(found, set) else ())}
    finally:
        stopped.set()


async def _differences(
    roots: Roots, clock: Clock, known: dict[str, Signature]
) -> AsyncIterator[set[str]]:
    while True:
        await clock.sleep(POLL_S)
        now = await run_sync(_signatures, roots.files())
        yield {path for path in {*now, *known} if now.get(path) != known.get(path)}
        known = now


def _signatures(paths: Iterable[str]) -> dict[str, Signature]:
    found = ((path, signature(path)) for path in paths)
    return {path: one for path, one in found if one is not None}


def _canonical(path: str) -> str:
    """Return a path with its folder's links resolved; the file itself may be a link, or gone."""
    folder, name = os.path.split(path)
    return os.path.join(os.path.realpath(folder), name)
