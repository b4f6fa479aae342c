"""Prove whether a process on a terminal is waiting for somebody to type.

Linux shows for each thread the system call that it is blocked in. A thread of the foreground
group that reads descriptor 0, or waits for it with select, poll or epoll, waits for input.
"""

from __future__ import annotations

import os
import platform
import struct
from collections.abc import Callable, Iterator

_SYSCALLS = {
    "x86_64": {
        0: "read",
        7: "poll",
        23: "select",
        232: "epoll",
        270: "select",
        271: "poll",
        281: "epoll",
        441: "epoll",
    },
    "aarch64": {22: "epoll", 63: "read", 72: "select", 73: "poll", 441: "epoll"},
}
_POLLIN = 0x1
_MAX_POLLED = 1_024


def waits_for_input(pids: list[int], terminal: str) -> bool | None:
    """Tell whether any of the processes is blocked reading `terminal` through descriptor 0.

    Returns:
        None when this system does not show it.
    """
    names = _SYSCALLS.get(platform.machine())
    if names is None or not os.path.exists("/proc/self/syscall"):
        return None
    try:
        return any(_is_blocked(pid, terminal, names) for pid in pids)
    except PermissionError:  # another user's process, or tracing is switched off
        return None


def _is_blocked(pid: int, terminal: str, names: dict[int, str]) -> bool:
    try:
        if os.readlink(f"/proc/{pid}/fd/0") != terminal:
            return False
        return any(_thread_waits(pid, words, names) for words in _blocked_calls(pid))
    except (FileNotFoundError, ProcessLookupError):  # ended meanwhile
        return False


def _blocked_calls(pid: int) -> Iterator[list[int]]:
    """Yield number and arguments of the call that each blocked thread is in."""
    for thread in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{thread}/syscall", encoding="ascii") as file:
            words = file.read().split()
        if len(words) > 6:  # running threads and those outside of a call show less
            yield [int(words[0]), *(int(word, 16) for word in words[1:7])]


def _thread_waits(pid: int, words: list[int], names: dict[int, str]) -> bool:
    check = _CHECKS.get(names.get(words[0], ""))
    return check is not None and check(pid, words[1:])


def _reads(_pid: int, arguments: list[int]) -> bool:
    return arguments[0] == 0


def _selects(pid: int, arguments: list[int]) -> bool:
    n_descriptors, read_set = arguments[0], arguments[1]
    return n_descriptors > 0 and read_set != 0 and bool(_memory(pid, read_set, 1)[0] & 1)


def _polls(pid: int, arguments: list[int]) -> bool:
    address, n_entries = arguments[0], min(arguments[1], _MAX_POLLED)
    entries = struct.iter_unpack("ihh", _memory(pid, address, n_entries * 8))
    return any(fd == 0 and events & _POLLIN for fd, events, _ in entries)


def _epolls(pid: int, arguments: list[int]) -> bool:
    with open(f"/proc/{pid}/fdinfo/{arguments[0]}", encoding="ascii") as file:
        watched = [line.split() for line in file if line.startswith("tfd:")]
    return any(words[1] == "0" and int(words[3], 16) & _POLLIN for words in watched)


_CHECKS: dict[str, Callable[[int, list[int]], bool]] = {
    "read": _reads,
    "select": _selects,
    "poll": _polls,
    "epoll": _epolls,
}


def _memory(pid: int, address: int, n_bytes: int) -> bytes:
    with open(f"/proc/{pid}/mem", "rb", buffering=0) as file:
        file.seek(address)
        return file.read(n_bytes)
