"""Reading and providing services: the part of a context that deals with the service store."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar, cast, overload

from .accessors import define_accessor, define_mixin
from .errors import CordisError
from .inject import key_of
from .realm import Binding, Check, Realm
from .service import Service

if TYPE_CHECKING:
    from .context import Context
    from .effect import Effect
    from .fiber import Fiber
    from .tree import Tree

S = TypeVar("S", bound=Service)
T = TypeVar("T")


class ServiceAccess:
    """Look services up, provide them, and declare computed attributes."""

    fiber: Fiber
    _tree: Tree
    _members: ClassVar[frozenset[str]]

    if TYPE_CHECKING:

        def realm(self, name: str) -> Realm:
            """Return the realm of a name; defined by `Context`."""
            ...

    @property
    def _me(self) -> Context:
        return cast("Context", self)

    @overload
    def get(self, name: type[S], default: None = None, *, strict: bool = True) -> S | None: ...
    @overload
    def get(self, name: type[S], default: T, *, strict: bool = True) -> S | T: ...
    @overload
    def get(self, name: str, default: Any = None, *, strict: bool = True) -> Any: ...
    def get(self, name: str | type[Any], default: Any = None, *, strict: bool = True) -> Any:
        """Return the service bound to `name` in this context's realm, or `default`.

        Never looks at inject declarations and never raises for a missing service.

        Args:
            name: the ctx key, or a service class that has one.
            default: what to return when there is none.
            strict: also require that the provider is active.
        """
        binding = self.realm(name if isinstance(name, str) else key_of(name)).binding
        if binding is None or (strict and not binding.provider.is_active):
            return default
        return binding.value_for(self._me)

    def require(self, name: str) -> Any:
        """Return what `ctx.<name>` is, under the same rules and with the same errors."""
        return getattr(self, name)

    def __getitem__(self, service: type[S]) -> S:
        return cast("S", self.require(key_of(service)))

    def __contains__(self, name: str) -> bool:
        tree = self._tree
        return name in tree.declared or name in tree.accessors or name in self.member_names()

    def __iter__(self) -> Iterator[str]:
        raise TypeError("a context is not iterable; use `name in ctx`, ctx.tags or ctx.root.tree()")

    @classmethod
    def member_names(cls) -> frozenset[str]:
        """Return the names of the context's own methods, properties and attributes."""
        members = cls.__dict__.get("_members")
        if members is None:
            members = frozenset(name for name in dir(cls) if not name.startswith("_"))
            members |= {"fiber", "parent"}
            cls._members = members
        return members

    def provide(self, name: str, value: Any = None, *, check: Check | None = None) -> Binding:
        """Bind `value` to `name` in this context's realm for the life of the fiber.

        Returns:
            The disposer: calling it withdraws the binding once dependents have left.

        Raises:
            ServiceConflict: the realm already has a provider.
            ValueError: the name cannot be a service name.
            InactiveEffect: the fiber takes no registrations now.
        """
        self._tree.require_own_loop()
        self.fiber.require_accepting()
        self.require_free_name(name)
        binding = Binding(self.fiber, self.realm(name), value, check)
        binding.bind()
        self.fiber.table[binding] = None
        if self.fiber.is_active:
            self._tree.notify(binding.realm)
            self._tree.drain()
        return binding

    def require_free_name(self, name: str) -> None:
        """Raise unless `name` can become a service or accessor of the tree."""
        if not name.isidentifier() or name.startswith("_"):
            raise ValueError(f"{name!r} cannot be a service name: use an identifier without _")
        if name in self._tree.accessors:
            raise CordisError(f'property "{name}" is already declared as accessor')
        if name in self.member_names():
            raise CordisError(f'property "{name}" is already declared as a member of Context')

    def set(self, name: str, value: Any) -> None:
        """Change the value of a service that this context's fiber provides, in place.

        Raises:
            AttributeError: nobody provides it, or another fiber does.
        """
        binding = self.realm(name).binding
        if binding is None:
            raise AttributeError(f'cannot set property "{name}" without provide')
        if binding.provider is not self.fiber:
            raise AttributeError(f'cannot set property "{name}" in multiple fibers')
        binding.replace(value)

    def notify(self, name: str) -> None:
        """Look again at every fiber that declared `name`, for instance after a check changed."""
        self._tree.require_own_loop()
        self._tree.notify(self.realm(name))
        self._tree.drain()

    def accessor(
        self,
        name: str,
        get: Callable[[Any], Any],
        set: Callable[[Any, Any], None] | None = None,
    ) -> Effect:
        """Declare a computed attribute of all contexts for the life of the fiber."""
        return define_accessor(self._me, name, get, set)

    def mixin(self, source: Any, names: list[str] | Mapping[str, str]) -> Effect:
        """Forward attributes of contexts to members of a service (or object) `source`."""
        return define_mixin(self._me, source, names)
