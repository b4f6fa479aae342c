"""Stand-ins for services that a plugin under test needs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple, cast

from vendor_shims.cordis import Context, Service


class FakeCall(NamedTuple):
    """One call of a fake service's method, in the order of the calls."""

    method: str
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    caller: Context


class FakeService(Service):
    """The base of what `fake_service` makes; `calls` of the class records every call."""

    calls: ClassVar[list[FakeCall]]

    def __init__(self, ctx: Context, config: object = None) -> None:
        super().__init__(ctx)
        self.config = config


def fake_service(key: str, **members: Any) -> type[FakeService]:
    """Return a plugin that provides a service `key` with the given members.

    Args:
        key: the ctx key.
        members: a callable becomes a method that is called without `self` and recorded in
            `calls`; anything else becomes an attribute.
    """
    calls: list[FakeCall] = []
    body: dict[str, Any] = {"key": key, "calls": calls, "name": f"fake-{key}"}
    for name, member in members.items():
        body[name] = _recorded(name, member, calls) if callable(member) else member
    return cast("type[FakeService]", type(f"Fake_{key}", (FakeService,), body))


def _recorded(name: str, fn: Callable[..., Any], calls: list[FakeCall]) -> Callable[..., Any]:
    def method(self: FakeService, *args: Any, **kwargs: Any) -> object:
        calls.append(FakeCall(name, args, kwargs, self.caller))
        return fn(*args, **kwargs)

    method.__name__ = name
    return method
