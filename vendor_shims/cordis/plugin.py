"""The accepted plugin forms, read once into one recipe each."""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from .errors import InvalidPlugin
from .inject import InjectSpec, declared_by_class, normalise, signature_inject

if TYPE_CHECKING:
    from .context import Context
    from .fiber import Fiber

F = TypeVar("F", bound=Callable[..., Any])
_UNNAMED = {"apply", "<lambda>", ""}


class Plugin:
    """An optional base of class plugins: stores `ctx` and `config`.

    Subclasses may declare `inject`, `Config`, `Dep` attributes and a `start` method whose
    result is collected like a setup's.
    """

    def __init__(self, ctx: Context, config: Any = None) -> None:
        self.ctx = ctx
        self.config = config


class Runtime:
    """The record of one plugin callback: how to run it and which fibers do.

    Invariants: it is in the registry exactly while `fibers` is not empty.
    """

    __slots__ = (
        "Config",
        "_call",
        "_methods",
        "callback",
        "cancels_stale_load",
        "fibers",
        "inject",
        "name",
        "services",
    )

    def __init__(self, callback: Any, source: Any) -> None:
        self.callback = callback
        self.name = _name_of(source, callback)
        self.Config: Any = getattr(source, "Config", None)
        self.cancels_stale_load = getattr(source, "cancel_stale_load", True) is not False
        self.fibers: dict[Fiber, None] = {}
        self.services: dict[str, tuple[str, InjectSpec]] = {}
        if getattr(source, "inject", None) == "signature":
            self.services = signature_inject(callback)
            self.inject = dict(self.services.values())
        elif isinstance(source, type):
            self.inject = declared_by_class(source)
        else:
            self.inject = normalise(getattr(source, "inject", None))
        for name in getattr(source, "optional", None) or ():
            self.inject[name] = InjectSpec(required=False)
        self._call = _calling_form(callback)
        self._methods = _injected_methods(callback) if isinstance(callback, type) else []

    def start(self, ctx: Context, config: Any) -> Any:
        """Run the plugin's setup and return its effect result."""
        extra = {parameter: ctx.get(key) for parameter, (key, _) in self.services.items()}
        result = self._call(ctx, config, extra)
        if not isinstance(self.callback, type):
            return result
        for method in self._methods:
            ctx.inject(method.__inject__, types.MethodType(_with_caller(method), result))
        start = getattr(result, "start", None)
        return start() if callable(start) else None


def plugin(*, inject: Any = None, name: str | None = None, Config: Any = None) -> Callable[[F], F]:
    """Attach plugin metadata to a function; `inject="signature"` reads keyword-only services."""

    def mark(fn: F) -> F:
        target: Any = fn
        if inject is not None:
            target.inject = inject
        if name is not None:
            target.name = name
        if Config is not None:
            target.Config = Config
        return fn

    return mark


def executable(plugin: Any) -> Any:
    """Return the callback that identifies `plugin`, or raise `InvalidPlugin`."""
    if isinstance(plugin, types.ModuleType) or not callable(plugin):
        try:
            apply = getattr(plugin, "apply", None)
        except Exception:  # a raising property means the object has no usable `apply`
            apply = None
        if callable(apply):
            return apply
        raise InvalidPlugin(
            "expected a function, a class, or a module or object with a callable `apply`, got"
            f" {type(plugin).__name__}"
        )
    return plugin


def _name_of(source: Any, callback: Any) -> str | None:
    for candidate in (getattr(source, "name", None), getattr(source, "__name__", None)):
        if isinstance(candidate, str) and candidate not in _UNNAMED:
            return candidate.rpartition(".")[2] if source is not callback else candidate
    return None


def _calling_form(callback: Any) -> Callable[[Any, Any, dict[str, Any]], Any]:
    """Return how to call a plugin: with ctx and config, with ctx only, or by keyword."""
    takes = _parameters(callback)
    if takes.n_positional >= 2:
        return lambda ctx, config, extra: callback(ctx, config, **extra)
    names = takes.keyword_only

    def call(ctx: Any, config: Any, extra: dict[str, Any]) -> Any:
        keywords = dict(extra)
        if "config" in names:
            keywords["config"] = config
        if "ctx" in names:
            keywords["ctx"] = ctx
        return callback(ctx, **keywords) if takes.n_positional else callback(**keywords)

    return call


class _Parameters:
    __slots__ = ("keyword_only", "n_positional")

    def __init__(self, n_positional: int, keyword_only: set[str]) -> None:
        self.n_positional = n_positional
        self.keyword_only = keyword_only


def _parameters(callback: Any) -> _Parameters:
    code = getattr(callback, "__code__", None)
    if type(callback) is types.FunctionType and code is not None:
        if not hasattr(callback, "__wrapped__") and not code.co_flags & inspect.CO_VARARGS:
            keyword_only = code.co_varnames[
                code.co_argcount : code.co_argcount + code.co_kwonlyargcount
            ]
            return _Parameters(code.co_argcount, set(keyword_only))
    try:
        parameters = inspect.signature(callback).parameters.values()
    except (TypeError, ValueError):  # builtins without a signature get both arguments
        return _Parameters(2, set())
    positional = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    has_rest = any(p.kind is p.VAR_POSITIONAL for p in parameters)
    keyword_only = {p.name for p in parameters if p.kind is p.KEYWORD_ONLY}
    return _Parameters(2 if has_rest else len(positional), keyword_only)


def _injected_methods(cls: type) -> list[Any]:
    methods: dict[str, Any] = {}
    for base in reversed(cls.__mro__):
        for name, value in base.__dict__.items():
            if hasattr(value, "__inject__"):
                methods[name] = value
    return list(methods.values())


def _with_caller(method: Any) -> Any:
    """Give a method-level injection its own context: as `self.caller` of the child's context."""

    def apply(self: Any, ctx: Any) -> Any:
        from .service import Service

        bound = self.as_caller(ctx) if isinstance(self, Service) else self
        if not isinstance(self, Service):
            self.caller = ctx
        return method(bound)

    apply.__name__ = method.__name__
    return apply
