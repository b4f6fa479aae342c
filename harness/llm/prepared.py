"""Bind one call to the registration that was found when it was prepared."""

from collections.abc import AsyncIterator, Callable
from typing import TypeAlias

from harness.llm.adapter import PreparedAdapterCall
from harness.llm.call_config import GenerateOptions, LlmCallConfig
from harness.llm.chunks import StreamChunk
from harness.llm.errors import LlmError
from harness.llm.model_info import AdapterDefaults, LlmResolvedModelInfo
from harness.llm.routes import Route

Dispatch: TypeAlias = Callable[
    ["PreparedLlmCall", GenerateOptions, object], AsyncIterator[StreamChunk]
]


class PreparedLlmCall:
    """Hold a resolved call that may be dispatched once.

    `config` is the caller's choice plus the adapter's defaults; `adapter_defaults` names the fields
    the adapter filled. A hot swap of the adapter after this point does not redirect the call.
    """

    def __init__(
        self,
        config: LlmCallConfig,
        adapter_defaults: AdapterDefaults,
        *,
        route: Route,
        call: PreparedAdapterCall,
        dispatch: "Dispatch",
    ) -> None:
        self.config = config
        self.adapter_defaults = adapter_defaults
        self.retry_policy = route.retry_policy
        self.route = route
        self.call = call
        self._dispatch = dispatch
        self._is_used = False

    @property
    def model(self) -> LlmResolvedModelInfo:
        """Return the capability facts of the model."""
        return self.call.model

    def stream(
        self, options: GenerateOptions, *, target: object = None
    ) -> AsyncIterator[StreamChunk]:
        """Dispatch the call through `llm/stream`; `target` routes the event to scoped listeners.

        Raises:
            LlmError: `INVALID_PREPARED_CALL` at once, when the call was dispatched before or the
                options' config differs from `config`; the latter leaves the call unused.
        """
        if self._is_used:
            raise LlmError("a prepared call is dispatched once", "INVALID_PREPARED_CALL")
        if options.config != self.config:
            raise LlmError(
                f"the request says {options.config!r}, the call was prepared for {self.config!r}",
                "INVALID_PREPARED_CALL",
            )
        self._is_used = True
        return self._dispatch(self, options, target)
