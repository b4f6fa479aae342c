"""Speak chat-completions to one endpoint."""

import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import Any

from harness.http import HttpError, HttpRequest, HttpService, HttpStream
from harness.llm import (
    GenerateOptions,
    LlmAdapter,
    LlmError,
    LlmModelInfo,
    LlmProviderInfo,
    LlmResolvedModelInfo,
    RetryPolicy,
    StreamChunk,
)
from harness_plugins.llm_deepseek.catalog import list_catalog, model_facts
from harness_plugins.llm_deepseek.config import DeepSeekConfig
from harness_plugins.llm_deepseek.credentials import KeySource
from harness_plugins.llm_deepseek.endpoint import (
    base_url,
    fetch_model_ids,
    request_headers,
    timeouts,
)
from harness_plugins.llm_deepseek.http_errors import MAX_ERROR_BODY_BYTES, response_error
from harness_plugins.llm_deepseek.serialize import request_body
from harness_plugins.llm_deepseek.sse import PayloadReader, blame, drain
from harness_plugins.llm_deepseek.thinking import thinking_fields
from harness_plugins.llm_deepseek.translate import ChunkTranslator
from vendor_shims.cordis import AbortSignal

EXTRA_KEY = "llm-deepseek"


class DeepSeekAdapter(LlmAdapter):
    """Serve one endpoint with one configuration; every failure is raised, none is in-band.

    Provider stop reasons such as `content_filter` and an empty answer are the exception: they end
    the stream with an error finish, because the provider said so inside it.
    """

    def __init__(
        self,
        config: DeepSeekConfig,
        http: HttpService,
        *,
        find_key: KeySource,
        environ: Mapping[str, str],
        warn: Callable[[str], None],
        wall_s: Callable[[], float] = time.time,
    ) -> None:
        self._config = config
        self._http = http
        self._find_key = find_key
        self._environ = environ
        self._report = warn
        self._has_warned = False
        self._last_facts: LlmResolvedModelInfo | None = None
        self._wall_s = wall_s

    def provider_info(self, provider: str) -> LlmProviderInfo:
        """Name the route as configured."""
        return LlmProviderInfo(provider, self._config.name)

    def provider_retry_policy(self, provider: str) -> RetryPolicy:  # noqa: ARG002 - one for all
        """Return the configured policy."""
        return self._config.resolved_retry_policy

    async def list_models(self, provider: str) -> Sequence[LlmModelInfo]:
        """List the configured models; a compatible server without any is asked for its own."""
        config = self._config
        if config.models is not None or config.dialect == "deepseek":
            return list_catalog(config, provider)
        url = base_url(config, self._environ)
        headers = request_headers(config, await self._find_key(config))
        try:
            ids = await fetch_model_ids(
                self._http.client(), url, headers, timeouts(config), now_s=self._wall_s()
            )
        except HttpError as error:
            raise blame(error, None, url) from error
        return tuple(LlmModelInfo(provider, ident, ident) for ident in dict.fromkeys(ids))

    async def resolve_model(
        self,
        provider: str,
        model: str,
        signal: AbortSignal | None = None,  # noqa: ARG002 - nothing is awaited
    ) -> LlmResolvedModelInfo:
        """Return the facts of a model; any id can be used."""
        return self._facts(provider, model)

    async def stream(self, options: GenerateOptions) -> AsyncIterator[StreamChunk]:
        """Do one exchange; what fails in it is blamed here, what the consumer throws in is not."""
        url = base_url(self._config, self._environ)
        reader, translator = PayloadReader(), ChunkTranslator(self._warn_once)
        is_delivering = False
        try:
            request = await self._request(options, url)
            client = self._http.client(options.session_id or "")
            async with client.stream(request, signal=options.signal) as response:
                if not response.is_success:
                    raise await self._refusal(response)
                async for piece in response:
                    for payload in reader.feed(piece):
                        for chunk in translator.push(payload):
                            is_delivering = True
                            yield chunk
                            is_delivering = False
                    if reader.is_done:
                        break
                if not reader.is_done:
                    raise reader.cut()
                await drain(response)
            for chunk in translator.finish():
                is_delivering = True
                yield chunk
                is_delivering = False
        except Exception as error:
            blamed = error if is_delivering else blame(error, options.signal, url)
            if blamed is error:
                raise
            raise blamed from error

    def _facts(self, provider: str, model: str) -> LlmResolvedModelInfo:
        """Return the facts of a model; as no configuration changes, the last ones are kept."""
        known = self._last_facts
        if known is None or (known.provider, known.id) != (provider, model):
            known = self._last_facts = model_facts(self._config, provider, model)
        return known

    async def _request(self, options: GenerateOptions, url: str) -> HttpRequest:
        config = self._config
        features: Mapping[str, Any] = options.extra.get(EXTRA_KEY) or {}
        body = request_body(options, thinking_fields(config, options), features=features)
        headers = request_headers(config, await self._find_key(config), options)
        beta = "/beta" if features.get("prefix") is True else ""
        return HttpRequest(
            "POST", f"{url}{beta}/chat/completions", headers, body, timeouts=timeouts(config)
        )

    async def _refusal(self, response: HttpStream) -> LlmError:
        body = bytearray()
        try:
            async for piece in response:
                body += piece
                if len(body) >= MAX_ERROR_BODY_BYTES:
                    break
        except HttpError as error:
            self._report(f"the body of an error response broke off: {error}")
        head = bytes(body[:MAX_ERROR_BODY_BYTES])
        return response_error(response.status, response.headers, head, now_s=self._wall_s())

    def _warn_once(self, message: str) -> None:
        if not self._has_warned:
            self._has_warned = True
            self._report(message)
