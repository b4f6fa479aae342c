"""Keep which adapter owns which provider route."""

from collections.abc import Callable, Sequence

from attrs import frozen

from harness.llm.adapter import LlmAdapter
from harness.llm.errors import LlmError
from harness.llm.model_info import LlmProviderInfo
from harness.llm.retry_policy import RetryPolicy


@frozen(eq=False)
class Route:
    """Bind a provider id to an adapter, with the facts captured at registration."""

    info: LlmProviderInfo
    retry_policy: RetryPolicy
    adapter: LlmAdapter
    owner: "AdapterRegistration"


class RouteTable:
    """Hold the routes in registration order.

    Invariants: a route has one owner; a rejected change leaves the table as it was; `changed` runs
    after each commit and never in between.
    """

    def __init__(self, changed: Callable[[], None]) -> None:
        self._routes: dict[str, Route] = {}
        self._changed = changed

    def get(self, provider: str) -> Route:
        """Return the route, or raise `NO_ADAPTER`."""
        route = self._routes.get(provider)
        if route is None:
            known = ", ".join(self._routes) or "none"
            raise LlmError(
                f"no adapter serves the provider {provider!r}; registered: {known}", "NO_ADAPTER"
            )
        return route

    def owner_of(self, provider: object) -> LlmAdapter | None:
        """Return the adapter instance that owns a route now."""
        route = self._routes.get(provider) if isinstance(provider, str) else None
        return None if route is None else route.adapter

    def infos(self) -> tuple[LlmProviderInfo, ...]:
        """Return the routes' names in registration order."""
        return tuple(route.info for route in self._routes.values())

    def capture(self, providers: Sequence[str], owner: "AdapterRegistration") -> dict[str, Route]:
        """Check a list of routes as a whole; routes that `owner` holds count as free."""
        captured: dict[str, Route] = {}
        for provider in providers:
            if not provider:
                raise LlmError("a provider route needs a non-empty name", "INVALID_ADAPTER")
            held = self._routes.get(provider)
            if provider in captured or (held is not None and held.owner is not owner):
                raise LlmError(
                    f"the provider route {provider!r} is already registered", "DUPLICATE_ADAPTER"
                )
            adapter = owner.adapter
            info = adapter.provider_info(provider)
            if info.id != provider or not _is_name(info.name):
                raise LlmError(
                    f"adapter describes the route {provider!r} as {info!r}", "INVALID_ADAPTER"
                )
            policy = adapter.provider_retry_policy(provider)
            captured[provider] = Route(info, policy, adapter, owner)
        return captured

    def commit(self, routes: dict[str, Route], owner: "AdapterRegistration") -> None:
        """Swap the owner's routes for `routes`, in the place of its first one."""
        table: dict[str, Route] = {}
        for provider, route in self._routes.items():
            if route.owner is owner:
                table.update(routes)
            else:
                table[provider] = route
        table.update(routes)
        self._routes = table

    def publish(self) -> None:
        """Tell listeners that a commit happened."""
        self._changed()


def _is_name(value: object) -> bool:
    return isinstance(value, str) and value != ""


class AdapterRegistration:
    """Let the registering plugin change or end its routes; calling the handle ends them.

    Invariant: after disposal it owns no route and `replace` raises `REGISTRATION_DISPOSED`.
    """

    def __init__(self, table: RouteTable, adapter: LlmAdapter) -> None:
        self.adapter = adapter
        self._table = table
        self._is_live = True
        self.undo: Callable[[], object] = self.end

    def replace(self, providers: Sequence[str]) -> None:
        """Swap all routes at once and capture their facts again; an empty list is legal."""
        if not self._is_live:
            raise LlmError("the adapter registration was disposed", "REGISTRATION_DISPOSED")
        self._table.commit(self._table.capture(providers, self), self)
        self._table.publish()

    def end(self) -> None:
        """Withdraw the routes; the effect's disposer calls it once."""
        self._is_live = False
        self._table.commit({}, self)
        self._table.publish()

    def __call__(self) -> None:
        """Dispose the registration; calling it again does nothing."""
        self.undo()
