"""Tell configuration screens which providers exist and which models an endpoint offers."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, TypeAlias

from attrs import field, frozen

from harness.llm.errors import LlmError
from harness.wire import as_tuple
from vendor_shims.cordis import AbortSignal


@frozen
class ConfigurableProvider:
    """Point from a provider to the settings section that configures it.

    `is_declared` is `None` for "no distinction" and true when only a configuration names it.
    """

    provider: str
    display_name: str
    settings_ns: str
    settings_path: tuple[str, ...] = field(default=(), converter=as_tuple)
    is_declared: bool | None = field(default=None, kw_only=True)


@frozen
class DiscoveryRequest:
    """Ask an endpoint for its models; the key serves this call only and is never kept."""

    provider: str | None = field(default=None, kw_only=True)
    base_url: str | None = field(default=None, kw_only=True)
    api: str | None = field(default=None, kw_only=True)
    api_key: str | None = field(default=None, kw_only=True, repr=False)
    signal: AbortSignal | None = field(default=None, kw_only=True)


@frozen
class DiscoveredModel:
    """Report one model of an endpoint with the facts it told."""

    id: str
    name: str | None = None
    context_window: int | None = None
    max_tokens: int | None = None


Discovery: TypeAlias = Callable[[DiscoveryRequest], Awaitable[Sequence[Mapping[str, Any]]]]


class ProviderDirectory:
    """Hold the declared providers and the model discoveries.

    Invariant: each provider and each settings namespace is declared once; a rejected list changes
    nothing.
    """

    def __init__(self, changed: Callable[[], None]) -> None:
        self._entries: dict[str, tuple[ConfigurableProvider, object]] = {}
        self._discoveries: dict[str, Discovery] = {}
        self.publish = changed

    def entries(self) -> tuple[ConfigurableProvider, ...]:
        """Return the providers in declaration order."""
        return tuple(entry for entry, _ in self._entries.values())

    def commit(self, entries: Sequence[ConfigurableProvider], owner: object) -> None:
        """Swap the owner's entries after checking them as a whole."""
        kept = {key: pair for key, pair in self._entries.items() if pair[1] is not owner}
        for entry in entries:
            names = (entry.provider, entry.display_name, entry.settings_ns, *entry.settings_path)
            if not all(names):
                raise LlmError(f"provider entry with an empty name: {entry!r}", "INVALID_DIRECTORY")
            if entry.provider in kept:
                raise LlmError(
                    f"the provider {entry.provider!r} is already declared", "DUPLICATE_DIRECTORY"
                )
            kept[entry.provider] = (entry, owner)
        self._entries = kept

    def add_discovery(self, settings_ns: str, discover: Discovery) -> None:
        """Register how the models of a settings namespace are found."""
        if not settings_ns:
            raise LlmError("model discovery needs a settings namespace", "INVALID_DISCOVERY")
        if settings_ns in self._discoveries:
            raise LlmError(
                f"model discovery of {settings_ns!r} is already registered", "DUPLICATE_DISCOVERY"
            )
        self._discoveries[settings_ns] = discover

    def remove_discovery(self, settings_ns: str) -> None:
        """Forget a discovery."""
        del self._discoveries[settings_ns]

    async def discover(
        self, settings_ns: str, request: DiscoveryRequest
    ) -> tuple[DiscoveredModel, ...]:
        """Ask the endpoint; entries without an id are skipped, of duplicates the first wins."""
        discover = self._discoveries.get(settings_ns)
        if discover is None:
            raise LlmError(f"nothing discovers models of {settings_ns!r}", "NO_DISCOVERY")
        if not (request.provider or request.base_url):
            raise LlmError("model discovery needs a provider or a base URL", "INVALID_DISCOVERY")
        found: dict[str, DiscoveredModel] = {}
        for entry in await discover(request):
            ident = entry.get("id")
            if isinstance(ident, str) and ident and ident not in found:
                found[ident] = DiscoveredModel(
                    ident, entry.get("name"), entry.get("contextWindow"), entry.get("maxTokens")
                )
        return tuple(found.values())


class DirectoryRegistration:
    """Let the declaring plugin change its entries; calling the handle withdraws them."""

    def __init__(self, directory: ProviderDirectory) -> None:
        self._directory = directory
        self._is_live = True
        self.undo: Callable[[], object] = self.end

    def replace(self, entries: Sequence[ConfigurableProvider]) -> None:
        """Swap all entries at once; an empty list is legal."""
        if not self._is_live:
            raise LlmError("the directory registration was disposed", "REGISTRATION_DISPOSED")
        self._directory.commit(entries, self)
        self._directory.publish()

    def end(self) -> None:
        """Withdraw the entries; the effect's disposer calls it once."""
        self._is_live = False
        self._directory.commit((), self)
        self._directory.publish()

    def __call__(self) -> None:
        """Dispose the registration; calling it again does nothing."""
        self.undo()
