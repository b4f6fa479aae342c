"""Find the key of one request."""

from collections.abc import Awaitable, Callable, Mapping
from inspect import isawaitable
from typing import Any, TypeAlias

from harness.llm import assert_usable_api_key
from harness_plugins.llm_deepseek.config import DeepSeekConfig
from vendor_shims.cordis import Context

KeySource: TypeAlias = Callable[[DeepSeekConfig], Awaitable[str | None]]


def key_source(ctx: Context, environ: Mapping[str, str]) -> KeySource:
    """Return the look-up of a key: configuration, the credential service, the environment.

    It runs for each request, so a stored or rotated key is used at once. In the dialect `openai`
    no key at all is fine; elsewhere the look-up raises `MISSING_CREDENTIAL`.
    """

    async def find(config: DeepSeekConfig) -> str | None:
        reference = config.api_key_env
        if config.api_key is not None:
            return assert_usable_api_key(config.api_key.reveal(), "apiKey")
        value = await _stored(ctx, reference) or environ.get(reference)
        if config.dialect == "openai" and not (value or "").strip():
            return None
        return assert_usable_api_key(value, reference)

    return find


async def _stored(ctx: Context, reference: str) -> str | None:
    service: Any = ctx.get("credentials")
    if service is None:
        return None
    found = service.resolve(reference)
    if isawaitable(found):
        found = await found
    return None if found is None else found.value
