"""No test leaves the machine: the guard in the root conftest is really on."""

from __future__ import annotations

import socket

import pytest

from house.network_guard import NetworkRefusedError


@pytest.mark.parametrize("host", ["192.0.2.1", "2001:db8::1", "0.0.0.1"])
def test_connecting_elsewhere_is_refused(host: str) -> None:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as client, pytest.raises(NetworkRefusedError, match=host):
        client.connect((host, 9))


@pytest.mark.parametrize("host", ["example.com", b"example.com"])
def test_looking_up_a_name_is_refused(host: str | bytes) -> None:
    with pytest.raises(NetworkRefusedError, match=r"example\.com"):
        socket.getaddrinfo(host, 443)


def test_sending_elsewhere_is_refused() -> None:
    with (
        socket.socket(type=socket.SOCK_DGRAM) as client,
        pytest.raises(NetworkRefusedError, match=r"192\.0\.2\.1"),
    ):
        client.sendto(b"x", ("192.0.2.1", 9))


def test_a_name_that_never_exists_fails_as_it_does_for_users() -> None:
    with pytest.raises(socket.gaierror):
        socket.getaddrinfo("server.invalid", 443)


def test_loopback_is_open() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        with socket.create_connection(("localhost", port)) as client:
            assert client.getpeername()[1] == port
