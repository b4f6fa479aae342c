"""Serve `ctx.llm`: adapter routes, model facts, and streams."""

from collections.abc import AsyncIterator, Callable, Sequence

from attrs import evolve

from harness.llm.adapter import LlmAdapter
from harness.llm.call_config import GenerateOptions, LlmCallConfig
from harness.llm.chunks import Finish, StreamChunk
from harness.llm.directory import (
    ConfigurableProvider,
    DirectoryRegistration,
    DiscoveredModel,
    Discovery,
    DiscoveryRequest,
    ProviderDirectory,
)
from harness.llm.errors import LlmError
from harness.llm.events import ADAPTERS_UPDATED, STREAM
from harness.llm.failure import normalize_llm_failure
from harness.llm.finish import FinishReason
from harness.llm.model_info import (
    LlmModelInfo,
    LlmProviderInfo,
    LlmResolvedModelInfo,
    apply_model_defaults,
    check_catalog,
    check_model_info,
)
from harness.llm.prepared import PreparedLlmCall
from harness.llm.projection import project_messages
from harness.llm.retry_policy import RetryPolicy
from harness.llm.routes import AdapterRegistration, RouteTable
from vendor_shims.cordis import AbortSignal, Context, Service


class LlmService(Service):
    """Register adapters by provider route and stream answers through them.

    Registrations belong to the calling plugin and end with it.
    """

    key = "llm"

    def __init__(self, ctx: Context) -> None:
        self._routes = RouteTable(self._publish)
        self._directory = ProviderDirectory(self._publish)
        super().__init__(ctx)

    def register_adapter(
        self, providers: Sequence[str], adapter: LlmAdapter
    ) -> AdapterRegistration:
        """Serve `providers` with `adapter` until the calling plugin ends.

        Raises:
            LlmError: `INVALID_ADAPTER` for an empty list, an empty name or a contradicting
                `provider_info`; `DUPLICATE_ADAPTER` for a route that is taken. Nothing is
                registered then.
        """
        if not providers:
            raise LlmError("an adapter registration needs at least one route", "INVALID_ADAPTER")
        registration = AdapterRegistration(self._routes, adapter)
        routes = self._routes.capture(providers, registration)

        def register() -> Callable[[], None]:
            self._routes.commit(routes, registration)
            return registration.end

        registration.undo = self.caller.effect(register, "ctx.llm.register_adapter()")
        self._publish()
        return registration

    def register_configurable_providers(
        self, entries: Sequence[ConfigurableProvider]
    ) -> DirectoryRegistration:
        """Declare providers to configuration screens until the calling plugin ends."""
        if not entries:
            raise LlmError("a provider directory needs at least one entry", "INVALID_DIRECTORY")
        registration = DirectoryRegistration(self._directory)

        def register() -> Callable[[], None]:
            self._directory.commit(entries, registration)
            return registration.end

        registration.undo = self.caller.effect(
            register, "ctx.llm.register_configurable_providers()"
        )
        self._publish()
        return registration

    def register_model_discovery(self, settings_ns: str, discover: Discovery) -> None:
        """Say how the models behind a settings section are found, until the calling plugin ends."""

        def register() -> Callable[[], None]:
            self._directory.add_discovery(settings_ns, discover)
            return lambda: self._directory.remove_discovery(settings_ns)

        self.caller.effect(register, "ctx.llm.register_model_discovery()")

    def list_providers(self) -> tuple[LlmProviderInfo, ...]:
        """Return the routes in registration order."""
        return self._routes.infos()

    def list_configurable_providers(self) -> tuple[ConfigurableProvider, ...]:
        """Return the declared providers in declaration order."""
        return self._directory.entries()

    def provider_retry_policy(self, provider: str) -> RetryPolicy:
        """Return the policy captured with the route, or raise `NO_ADAPTER`."""
        return self._routes.get(provider).retry_policy

    async def list_models(self, provider: str) -> tuple[LlmModelInfo, ...]:
        """Return the advisory catalogue of a route; a malformed one raises `INVALID_CATALOG`."""
        return check_catalog(
            await self._routes.get(provider).adapter.list_models(provider), provider
        )

    async def discover_models(
        self, settings_ns: str, request: DiscoveryRequest
    ) -> tuple[DiscoveredModel, ...]:
        """Ask an endpoint which models it offers."""
        return await self._directory.discover(settings_ns, request)

    async def resolve_model_info(
        self, provider: str, model: str, signal: AbortSignal | None = None
    ) -> LlmResolvedModelInfo:
        """Return the checked facts of a model; contradictions raise `INVALID_MODEL_*`."""
        info = await self._routes.get(provider).adapter.resolve_model(provider, model, signal)
        check_model_info(info, provider, model)
        return info

    async def resolve_call_config(
        self, config: LlmCallConfig, signal: AbortSignal | None = None
    ) -> LlmCallConfig:
        """Fill the adapter's defaults in; the same object comes back when nothing was open."""
        info = await self.resolve_model_info(config.provider, config.model, signal)
        return apply_model_defaults(config, info)[0]

    async def prepare_call(
        self, config: LlmCallConfig, signal: AbortSignal | None = None
    ) -> PreparedLlmCall:
        """Resolve a call and bind it to the adapter that owns the route now.

        Raises:
            LlmError: `NO_ADAPTER`, `INVALID_MODEL_*`, `UNSUPPORTED_REASONING_EFFORT`, or what the
                adapter raises; nothing was sent then.
        """
        route = self._routes.get(config.provider)
        call = await route.adapter.prepare_call(config.provider, config.model, signal)
        check_model_info(call.model, config.provider, config.model)
        resolved, defaulted = apply_model_defaults(config, call.model)
        return PreparedLlmCall(
            resolved, defaulted, route=route, call=call, dispatch=self._dispatch_prepared
        )

    def stream(
        self, options: GenerateOptions, *, target: object = None
    ) -> AsyncIterator[StreamChunk]:
        """Stream an answer through `llm/stream` and the adapter of `options.provider`.

        Whatever selection, preparation or the adapter raises becomes one terminal `Finish`. What a
        listener raises, cancellation, and errors of clean-up stay exceptions. Close the iterator
        (`contextlib.aclosing`) when leaving early.
        """
        return self.ctx.waterfall(
            STREAM, options, inner=lambda request: self._core(request, None), target=target
        )

    def _dispatch_prepared(
        self, prepared: PreparedLlmCall, options: GenerateOptions, target: object
    ) -> AsyncIterator[StreamChunk]:
        return self.ctx.waterfall(
            STREAM, options, inner=lambda request: self._core(request, prepared), target=target
        )

    async def _core(
        self, options: GenerateOptions, prepared: PreparedLlmCall | None
    ) -> AsyncIterator[StreamChunk]:
        """Run the adapter; convert its exceptions, but not those thrown in by the consumer."""
        chunks: AsyncIterator[StreamChunk] | None = None
        is_delivering = False
        try:
            if prepared is None:
                prepared = await self.prepare_call(options.config, options.signal)
            chunks = prepared.call.stream(self._project(options, prepared))
            async for chunk in chunks:
                is_delivering = True
                yield chunk
                is_delivering = False
        except Exception as error:
            if is_delivering:
                raise
            yield Finish(_failure_reason(error, options.signal))
        finally:
            close = getattr(chunks, "aclose", None)
            if close is not None:
                await close()

    def _project(self, options: GenerateOptions, prepared: PreparedLlmCall) -> GenerateOptions:
        adapter = prepared.route.adapter
        messages = project_messages(
            options.messages,
            is_text_only=prepared.model.is_text_only,
            keeps_replay=lambda provider: self._routes.owner_of(provider) is adapter,
        )
        if messages is options.messages and options.config == prepared.config:
            return options
        return evolve(options, config=prepared.config, messages=messages)

    def _publish(self) -> None:
        try:
            self.ctx.emit(ADAPTERS_UPDATED)
        except ExceptionGroup as group:
            self._report(group.exceptions)
        except Exception as error:  # noqa: BLE001 - listeners may raise anything; it is logged
            self._report((error,))

    def _report(self, errors: Sequence[Exception]) -> None:
        broken: Exception | None = None
        for error in errors:
            if getattr(error, "code", None) == "INVARIANT":
                broken = broken or error
            else:
                self.ctx.logger.warning("a listener of llm/adapters-updated failed: %s", error)
        if broken is not None:
            raise broken


def _failure_reason(error: Exception, signal: AbortSignal | None) -> FinishReason:
    failure = normalize_llm_failure(error)
    if failure.code == "ABORTED" or (signal is not None and signal.aborted):
        return FinishReason.aborted(failure)
    return FinishReason.error(failure)
