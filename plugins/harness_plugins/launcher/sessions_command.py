"""Carry out `dsh sessions`: list what is stored, show one session."""

import asyncio
import os

from harness.launch import Home, resolve_home
from harness.session import event_to_json, header_to_json
from harness.session_persistence import SessionPersistence
from harness.wire import dumps
from harness_plugins.launcher.boot import boot_storage
from harness_plugins.launcher.command_line import CommandLine
from harness_plugins.launcher.descriptors import (
    STDOUT,
    complain_on_stderr,
    is_terminal,
    write_all,
)
from harness_plugins.launcher.errors import UsageError
from harness_plugins.launcher.log_output import write_log
from harness_plugins.launcher.options import Options
from harness_plugins.launcher.run_plan import working_directory
from harness_plugins.launcher.session_rows import read_row, state_of, table
from harness_plugins.launcher.shown_text import columns
from harness_plugins.launcher.stored import find_session
from harness_plugins.launcher.transcript import transcript
from vendor_shims.cordis import Context

_WIDE = 10_000


def sessions_command(line: CommandLine) -> int:
    """Print what was asked for and return the exit code; nothing stored is changed.

    Raises:
        CommandError: no such session, or the words do not fit.
        SessionPersistenceError: the session is damaged.
    """
    wanted = _wanted(line)
    home = resolve_home(line.options.home, os.environ)
    write_all(STDOUT, asyncio.run(_read(home, wanted, line)))
    return 0


def _wanted(line: CommandLine) -> str | None:
    """Return the id to show, or None for the list."""
    if line.scope == "sessions show":
        if len(line.words) != 1:
            raise UsageError("dsh sessions show needs one session id")
        return line.words[0]
    if line.words:
        raise UsageError(f"dsh sessions list takes no word, found {line.words[0]!r}")
    return None


async def _read(home: Home, wanted: str | None, line: CommandLine) -> bytes:
    root, options = Context(), line.options
    try:
        write_log(root, line.launch, os.environ)
        await boot_storage(root, home)
        persistence = root[SessionPersistence]
        if wanted is None:
            return await _list(persistence, options)
        return await _show(persistence, wanted, options)
    finally:
        await root.close()


async def _list(persistence: SessionPersistence, options: Options) -> bytes:
    cwd = None if options.all else working_directory(options.cwd)
    found = [
        snapshot
        for snapshot in await persistence.list_snapshots()
        if cwd is None or (snapshot.header is not None and snapshot.header.cwd == cwd)
    ]
    newest = found[: -options.limit - 1 : -1]
    rows = [await read_row(persistence, snapshot) for snapshot in newest]
    if options.json:
        return dumps({"sessions": [row.to_json() for row in rows]}) + b"\n"
    if not rows:
        where = "anywhere" if cwd is None else f"in {cwd}; --all shows every directory"
        complain_on_stderr(f"no sessions {where}\n")
    width = columns() if is_terminal(STDOUT) else _WIDE
    return table(rows, with_cwd=options.all, width=width).encode()


async def _show(persistence: SessionPersistence, wanted: str, options: Options) -> bytes:
    header = await find_session(persistence, wanted)
    if options.raw:
        lines = (await persistence.read_raw(header.id)).text.rstrip("\n").split("\n")
        kept = lines if options.tail is None else lines[-options.tail :]
        return ("\n".join(kept) + "\n").encode()
    stored = await persistence.inspect(header.id)
    events = stored.events if options.tail is None else stored.events[-options.tail :]
    if options.json:
        document = {
            "header": header_to_json(header),
            "state": state_of(stored),
            "events": [event_to_json(event) for event in events],
        }
        return dumps(document) + b"\n"
    head = f"{header.id}  {state_of(stored)}  {header.cwd or '-'}\n\n"
    return (head + transcript(events)).encode("utf-8", "replace")
