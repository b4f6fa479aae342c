"""Members of services that configuration may read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from types import CoroutineType, FunctionType
from typing import Any, TypeVar, cast

from .expression import Value
from .flaw import Flaw

M = TypeVar("M")

_MARK = "__config_readable__"


def config_readable(member: M) -> M:
    """Mark a method or property of a service as safe for expressions to call or read.

    It holds for overriding members of derived classes too. The member must answer at once and
    change nothing, since it runs whenever a row that names it starts.

    Raises:
        TypeError: it is neither a method nor a property, or is asynchronous.
    """
    function = _function_of(member)
    if function is None:
        raise TypeError(f"@config_readable marks methods and properties, not {member!r}")
    if _is_asynchronous(function):
        raise TypeError(f"{function.__qualname__} is asynchronous, so configuration cannot read it")
    function.__dict__[_MARK] = True
    return member


def read_member(holder: object, name: str, arguments: Sequence[Any] | None = None) -> Value:
    """Return a marked property, or what a marked method returns for the `arguments`.

    Raises:
        Flaw: the member is not marked, is the other kind, is asynchronous or raised.
    """
    definitions = [cls.__dict__[name] for cls in type(holder).__mro__ if name in cls.__dict__]
    functions = [_function_of(definition) for definition in definitions]
    if not any(function and _MARK in function.__dict__ for function in functions):
        raise Flaw(
            f"{name} of {_described(holder)} is not for configuration;"
            " its class has to mark it with @config_readable"
        )
    is_method = not isinstance(definitions[0], property | cached_property)
    if is_method and arguments is None:
        raise Flaw(f"{name} is a method; write {name}()")
    if not is_method and arguments is not None:
        raise Flaw(f"{name} is a value, not a method; leave out the brackets")
    try:
        member = getattr(holder, name)
        result = member(*arguments) if arguments is not None else member
    except Exception as error:
        raise Flaw(f"reading {name} failed: {type(error).__name__}: {error}") from error
    if isinstance(result, CoroutineType):
        cast("CoroutineType[Any, Any, Any]", result).close()
        raise Flaw(f"{name} is asynchronous, so configuration cannot read it")
    return result


def _described(holder: object) -> str:
    if isinstance(holder, str | int | float | list | tuple | Mapping | None):
        return f"a value of type {type(cast('object', holder)).__name__}"
    return type(holder).__name__


def _function_of(member: object) -> FunctionType | None:
    """Return the function behind a method or property, or None for anything else."""
    if isinstance(member, property):
        member = member.fget
    elif isinstance(member, cached_property):
        member = cast("cached_property[Any]", member).func
    elif isinstance(member, staticmethod | classmethod):
        member = cast("staticmethod[..., Any]", member).__func__
    return member if isinstance(member, FunctionType) else None


def _is_asynchronous(function: FunctionType) -> bool:
    from inspect import isasyncgenfunction, iscoroutinefunction

    return iscoroutinefunction(function) or isasyncgenfunction(function)
