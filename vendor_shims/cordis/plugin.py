"""The accepted plugin forms, read once into one recipe each."""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar, cast

from .errors import InvalidPlugin
from .inject import InjectSpec, declared, declared_by_class, signature_inject

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
        "_keyword_only",
        "_methods",
        "_n_positional",
        "callback",
        "cancels_stale_load",
        "fibers",
        "inject",
        "name",
        "provides",
        "services",
    )

    def __init__(self, callback: Any, source: Any) -> None:
        self.callback = callback
        self.name = _name_of(source)
        self.Config: Any = getattr(source, "Config", None)
        self.cancels_stale_load = getattr(source, "cancel_stale_load", True) is not False
        self.provides = _provided_by(source)
        self.fibers: dict[Fiber, None] = {}
        self.services: dict[str, tuple[str, InjectSpec]] = {}
        if getattr(source, "inject", None) == "signature":
            self.services = signature_inject(callback)
            self.inject = dict(self.services.values())
        elif isinstance(source, type):
            self.inject = declared_by_class(source)
        else:
            self.inject = declared(
                getattr(source, "inject", None), getattr(source, "optional", None)
            )
        self._n_positional, self._keyword_only = _parameters(callback)
        self._methods = _injected_methods(callback) if isinstance(callback, type) else ()

    @property
    def takes_config(self) -> bool:
        """Whether the plugin sees the configuration that it is mounted with."""
        sees = self._n_positional >= 2 or "config" in self._keyword_only
        return sees or self.Config is not None

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

    def _call(self, ctx: Context, config: Any, services: dict[str, Any]) -> Any:
        """Call the plugin with ctx and config, with ctx only, or by keyword."""
        if self._n_positional >= 2:
            return self.callback(ctx, config, **services)
        if "config" in self._keyword_only:
            services["config"] = config
        if "ctx" in self._keyword_only:
            services["ctx"] = ctx
        return self.callback(ctx, **services) if self._n_positional else self.callback(**services)


def plugin(
    *,
    inject: Any = None,
    name: str | None = None,
    Config: Any = None,  # noqa: N803 - the name of the attribute that it sets
) -> Callable[[F], F]:
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


def takes_config(plugin: Any) -> bool:
    """Return whether `plugin` would see a configuration, or raise `InvalidPlugin`."""
    return Runtime(executable(plugin), plugin).takes_config


def _name_of(source: Any) -> str | None:
    given = getattr(source, "name", None)
    if isinstance(given, str) and given not in _UNNAMED:
        return given
    own = getattr(source, "__name__", "").rpartition(".")[2]
    return None if own in _UNNAMED else own


def _provided_by(source: Any) -> tuple[str, ...]:
    """Return the names that a plugin says it provides: `provide`, or the key of a service."""
    for names in (getattr(source, "provide", None), getattr(source, "key", None)):
        if isinstance(names, str) and names:
            return (names,)
        if isinstance(names, list | tuple | set | frozenset):
            return tuple(cast("list[str]", names))
    return ()


def _parameters(callback: Any) -> tuple[int, tuple[str, ...]]:
    """Return how many positional arguments a plugin takes, and its keyword-only names."""
    if type(callback) is types.FunctionType and not hasattr(callback, "__wrapped__"):
        code = callback.__code__
        if not code.co_flags & inspect.CO_VARARGS:
            n_positional, n_keywords = code.co_argcount, code.co_kwonlyargcount
            return n_positional, code.co_varnames[n_positional : n_positional + n_keywords]
    try:
        parameters = inspect.signature(callback).parameters.values()
    except (TypeError, ValueError):  # builtins without a signature get both arguments
        return 2, ()
    positional = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    has_rest = any(p.kind is p.VAR_POSITIONAL for p in parameters)
    keyword_only = tuple(p.name for p in parameters if p.kind is p.KEYWORD_ONLY)
    return 2 if has_rest else len(positional), keyword_only


def _injected_methods(cls: type) -> tuple[Any, ...]:
    methods: dict[str, Any] = {}
    for base in reversed(cls.__mro__):
        for name, value in base.__dict__.items():
            if hasattr(value, "__inject__"):
                methods[name] = value
            else:
                methods.pop(name, None)
    return tuple(methods.values())


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
