"""Keep a test process on the machine: only loopback addresses may be reached."""

from __future__ import annotations

import ipaddress
import os
import socket
import sys

_LOCAL_NAMES = {"", "localhost", "ip6-localhost"}
_NEVER = ".invalid"


class NetworkRefusedError(RuntimeError):
    """Say which address a test tried to reach; no `OSError`, so that nothing takes it for one."""


def install() -> None:
    """Refuse each connection and look-up that leaves the machine, until the process ends."""
    sys.addaudithook(_on_event)


def _on_event(event: str, arguments: tuple[object, ...]) -> None:
    if not event.startswith("socket."):
        return
    if event == "socket.getaddrinfo":
        _check_host(arguments[0])
    elif event in {"socket.connect", "socket.sendto"}:
        address = arguments[1]
        if isinstance(address, tuple) and address:
            _check_host(address[0])  # pyright: ignore[reportUnknownArgumentType] - checked next


def _check_host(host: object) -> None:
    if host is None:
        return
    name = host.decode() if isinstance(host, bytes) else str(host)
    if name in _LOCAL_NAMES:
        return
    if name.endswith(_NEVER):
        # RFC 6761: such a name never resolves, so the answer is given without asking anybody.
        raise socket.gaierror(socket.EAI_NONAME, os.strerror(2))
    try:
        if ipaddress.ip_address(name.partition("%")[0]).is_loopback:
            return
    except ValueError:
        pass  # a name, not an address
    raise NetworkRefusedError(f"a test tried to reach {name!r}; only loopback is allowed")
