"""Find and signal the processes of a tree, on Linux exactly and elsewhere by group.

A tree is known by three marks: its process group, its session, and a token in the environment
that every descendant inherits. The token also finds children that made a session of their own.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Protocol

import attrs

TOKEN_NAME = "DSH_PROCESS_TREE"  # noqa: S105 - a mark, no secret
"""Environment variable with the tokens of all trees that a process is in, outermost first."""

# Fields of /proc/<pid>/stat, counted from the one after the command name.
_STATE, _GROUP, _SESSION, _STARTED, _MEMORY = 0, 2, 3, 19, 20
_EXEC_S = 0.001


@attrs.frozen
class TreeId:
    """Name a tree: its leader's pid and start time (in clock ticks, 0 if unknown), its token."""

    leader: int
    started: int
    token: str


class ProcessTable(Protocol):
    """Look at the running processes of this machine."""

    def identify(self, leader: int, token: str) -> TreeId:
        """Return the name of the tree that a child just started leads."""
        ...

    def members(self, tree: TreeId) -> list[int]:
        """Return the pids of the tree that still run; zombies do not count."""
        ...

    def send(self, tree: TreeId, number: int) -> None:
        """Send a signal to every member. The leader must not have been reaped."""
        ...


class LinuxTable:
    """Read `/proc`, and signal through descriptors that no recycled pid can take over."""

    def identify(self, leader: int, token: str) -> TreeId:
        """Return the name of the tree that a child just started leads."""
        fields = self._stat(leader)
        return TreeId(leader, int(fields[_STARTED]) if fields else 0, token)

    def members(self, tree: TreeId) -> list[int]:
        """Return the pids of the tree that still run; zombies do not count."""
        answers = {pid: self._belongs(pid, tree) for pid in self._pids()}
        unsure = [pid for pid, answer in answers.items() if answer is None]
        if unsure:
            # Looked at in the moment of becoming another program, which is over by now.
            time.sleep(_EXEC_S)
            answers |= {pid: self._belongs(pid, tree) for pid in unsure}
        return [pid for pid, answer in answers.items() if answer]

    def send(self, tree: TreeId, number: int) -> None:
        """Send a signal to the group at once, then to members outside of it."""
        _send_to_group(tree.leader, number)
        for pid in self.members(tree):
            if group_of(pid) != tree.leader:
                self._send_to_member(pid, tree, number)

    def _pids(self) -> Iterator[int]:
        return (int(name) for name in os.listdir("/proc") if name.isdigit())

    def _belongs(self, pid: int, tree: TreeId) -> bool | None:
        """Tell whether a process is a member; None when its environment cannot be seen now."""
        fields = self._stat(pid)
        if not fields or fields[_STATE] in b"ZX":
            return False
        if tree.leader in (int(fields[_GROUP]), int(fields[_SESSION])):
            return True
        if int(fields[_STARTED]) < tree.started:  # nothing older than the leader can be its child
            return False
        environ = _read(f"/proc/{pid}/environ")
        if environ is None:
            return False
        if not environ and fields[_MEMORY] != b"0":
            return None
        return tree.token.encode() in environ and _carries(environ, tree.token)

    def _stat(self, pid: int) -> list[bytes]:
        # The command name is in parentheses and may hold anything, so split after the last one.
        return (_read(f"/proc/{pid}/stat") or b"").rpartition(b")")[2].split()

    def _send_to_member(self, pid: int, tree: TreeId, number: int) -> None:
        try:
            fd = os.pidfd_open(pid)
        except OSError:  # ended meanwhile, or a kernel without pidfd
            return
        try:
            # Checked again with the descriptor open: from here the pid cannot change hands.
            if self._belongs(pid, tree):
                signal.pidfd_send_signal(fd, number)
        except OSError:  # ended meanwhile, or runs as another user
            return
        finally:
            os.close(fd)


class GroupTable:
    """Ask `ps` for the members of the group; sessions made by descendants stay unseen."""

    def identify(self, leader: int, token: str) -> TreeId:
        """Return the name of the tree that a child just started leads."""
        return TreeId(leader, 0, token)

    def members(self, tree: TreeId) -> list[int]:
        """Return the pids of the group that still run; zombies do not count."""
        listing = subprocess.run(
            ["ps", "-A", "-o", "pid=,pgid=,stat="], capture_output=True, check=False
        )
        return list(_parse_ps(listing.stdout, tree.leader))

    def send(self, tree: TreeId, number: int) -> None:
        """Send a signal to the group."""
        _send_to_group(tree.leader, number)


def system_table() -> ProcessTable:
    """Return the best table that this machine supports."""
    has_proc = os.path.exists("/proc/self/stat") and hasattr(os, "pidfd_open")
    return LinuxTable() if has_proc else GroupTable()


def signal_name(number: int) -> str:
    """Return `SIGKILL` for 9, and `SIG35` for a number without a name."""
    try:
        return signal.Signals(number).name
    except ValueError:  # a real-time signal
        return f"SIG{number}"


def _parse_ps(listing: bytes, group: int) -> Iterator[int]:
    words: Iterable[bytes] = listing.split()
    for pid, pgid, state in zip(*[iter(words)] * 3, strict=False):
        if int(pgid) == group and not state.startswith(b"Z"):
            yield int(pid)


def _send_to_group(group: int, number: int) -> None:
    with suppress(ProcessLookupError, PermissionError):  # empty, or only other users' processes
        os.killpg(group, number)


def group_of(pid: int) -> int:
    """Return the process group of a process, -1 when it has ended."""
    try:
        return os.getpgid(pid)
    except OSError:  # ended meanwhile
        return -1


def _read(path: str) -> bytes | None:
    """Return what a file of a process holds; None when the process ended or is not ours."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        return b"".join(iter(lambda: os.read(fd, 65_536), b""))
    except OSError:
        return None
    finally:
        os.close(fd)


def _carries(environ: bytes, token: str) -> bool:
    prefix = f"{TOKEN_NAME}=".encode()
    return any(
        token.encode() in entry.removeprefix(prefix).split(b",")
        for entry in environ.split(b"\0")
        if entry.startswith(prefix)
    )
