"""What a plugin needs: inject declarations in all spellings, and typed `Dep` descriptors."""

from __future__ import annotations

import inspect as _inspect
import typing
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar, cast, overload

from .errors import ServiceInactive
from .service import Service

if TYPE_CHECKING:
    from .context import Context

S = TypeVar("S")
F = TypeVar("F", bound=Callable[..., Any])


class InjectSpec(NamedTuple):
    """How one name is wanted.

    Attributes:
        config: an intercept layer for that service, or `None`.
        required: whether the plugin waits for it.
        reactive: whether a change of an optional one restarts the plugin; when not, the
            service is read as it is at that moment.
    """

    config: Any = None
    required: bool = True
    reactive: bool = True

    @property
    def is_followed(self) -> bool:
        """Whether the plugin loads against the service and reloads when it changes."""
        return self.required or self.reactive


class Inject:
    """A declaration with required and optional names; optional ones never gate the plugin."""

    __slots__ = ("specs",)

    def __init__(
        self,
        required: Iterable[str] | Mapping[str, Any] = (),
        optional: Iterable[str] | Mapping[str, Any] = (),
        *,
        reactive: bool = True,
    ) -> None:
        self.specs = declared(required, optional, reactive=reactive)


class Dep(Generic[S]):
    """A typed dependency of a class plugin: declares the name and reads the service.

        class Loop(Plugin):
            llm = Dep(Llm)
            metrics = Dep(Metrics, optional=True)

    Reading it before the plugin is loaded raises `ServiceInactive`.
    """

    __slots__ = ("attribute", "name", "spec")

    @overload
    def __new__(cls, service: type[S], *, config: Any = ...) -> Dep[S]: ...
    @overload
    def __new__(cls, service: type[S], *, optional: bool, config: Any = ...) -> Dep[S | None]: ...
    @overload
    def __new__(cls, service: str, *, optional: bool = ..., config: Any = ...) -> Dep[Any]: ...
    def __new__(cls, *_: Any, **__: Any) -> Any:
        """Make the descriptor; `optional=True` makes reads possibly `None`."""
        return super().__new__(cls)

    def __init__(
        self, service: type[Any] | str, *, optional: bool = False, config: Any = None
    ) -> None:
        self.name = service if isinstance(service, str) else key_of(service)
        self.spec = InjectSpec(config, required=not optional)
        self.attribute = self.name

    def __set_name__(self, owner: type, attribute: str) -> None:
        self.attribute = attribute
        deps = owner.__dict__.get("__deps__")
        if deps is None:
            deps = {}
            setattr(owner, "__deps__", deps)  # noqa: B010 - the class declares no such attribute
        deps[self.name] = self.spec

    @overload
    def __get__(self, instance: None, owner: type) -> Dep[S]: ...
    @overload
    def __get__(self, instance: object, owner: type) -> S: ...
    def __get__(self, instance: Any, owner: type) -> Any:
        if instance is None:
            return self
        ctx: Context = instance.ctx
        try:
            return ctx.__dict__[self.name]
        except KeyError:
            binding = ctx.fiber.view.get(ctx.realm(self.name))
        if binding is not None:
            return binding.value_for(ctx)
        if not self.spec.required and ctx.fiber.is_loaded:
            return None
        raise ServiceInactive(
            f"dependency {self.attribute!r} of {owner.__name__} is not available:"
            f" fiber {ctx.fiber.name} is {ctx.fiber.state.name}",
            name=self.name,
            fiber=ctx.fiber,
        )


def key_of(service: type[Any]) -> str:
    """Return the ctx key of a service class."""
    key = getattr(service, "key", "")
    if not isinstance(key, str) or not key:
        raise TypeError(f"{service!r} is not a service class: it has no `key`")
    return key


def normalise(declaration: Any) -> dict[str, InjectSpec]:
    """Return an inject declaration of any accepted spelling in its normal form."""
    if declaration is None or hasattr(cast("object", type(declaration)), "__get__"):
        return {}  # a method that happens to have the name declares nothing
    if isinstance(declaration, Inject):
        return dict(declaration.specs)
    if isinstance(declaration, str):
        raise TypeError(f"inject takes a list or mapping of names, not the string {declaration!r}")
    specs: dict[str, InjectSpec] = {}
    pairs: Iterable[tuple[Any, Any]]
    if isinstance(declaration, Mapping):
        pairs = cast("Mapping[Any, Any]", declaration).items()
    else:
        pairs = ((name, None) for name in cast("Iterable[Any]", declaration))
    for raw, config in pairs:
        name = raw if isinstance(raw, str) else key_of(raw)
        spec = config if isinstance(config, InjectSpec) else InjectSpec(config)
        if name.endswith("?"):
            name, spec = name[:-1], spec._replace(required=False)
        if name in specs and specs[name].required != spec.required:
            raise ValueError(f"{name!r} is declared both required and optional")
        specs[name] = spec
    return specs


def declared(inject: Any, optional: Any = None, *, reactive: bool = True) -> dict[str, InjectSpec]:
    """Return an inject declaration with the names of a separate optional one added."""
    specs = normalise(inject)
    for name, spec in normalise(optional).items():
        if name in specs:
            raise ValueError(f"{name!r} is declared both required and optional")
        specs[name] = InjectSpec(spec.config, required=False, reactive=reactive)
    return specs


def declared_by_class(cls: type) -> dict[str, InjectSpec]:
    """Return a class plugin's inject, merged over its bases' unless `inject_inherit` is False."""
    own = declared(cls.__dict__.get("inject"), cls.__dict__.get("optional"))
    own.update(cls.__dict__.get("__deps__", {}))
    if cls.__dict__.get("inject_inherit", True) is False:
        return own
    merged: dict[str, InjectSpec] = {}
    for base in reversed(cls.__bases__):
        if base is not object:
            merged.update(declared_by_class(base))
    merged.update(own)
    return merged


def inject(*names: str | type[Any]) -> Callable[[F], F]:
    """Call a class plugin's method in a child that needs `names`; its result is an effect."""

    def mark(method: F) -> F:
        setattr(method, "__inject__", normalise(names))  # noqa: B010 - not declared on functions
        return method

    return mark


def signature_inject(fn: Callable[..., Any]) -> dict[str, tuple[str, InjectSpec]]:
    """Return `{parameter: (key, spec)}` for keyword-only parameters typed as services."""
    hints = typing.get_type_hints(fn)
    wanted: dict[str, tuple[str, InjectSpec]] = {}
    for parameter in _inspect.signature(fn).parameters.values():
        if parameter.kind is not parameter.KEYWORD_ONLY or parameter.name in ("ctx", "config"):
            continue
        hint = hints.get(parameter.name)
        choices = [one for one in typing.get_args(hint) or (hint,) if one is not type(None)]
        service = choices[0] if choices else None
        if not (isinstance(service, type) and issubclass(service, Service)):
            raise TypeError(
                f"parameter {parameter.name!r} of {fn.__qualname__} must be annotated with a"
                " service class to be injected"
            )
        is_optional = type(None) in typing.get_args(hint)
        wanted[parameter.name] = (key_of(service), InjectSpec(required=not is_optional))
    return wanted
