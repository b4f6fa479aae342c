"""Make the request of a step: the draft, the records that explain it, the frozen options."""

from typing import TYPE_CHECKING, Any, NamedTuple

from harness.agent import REQUEST, RequestDraft, RequestPending
from harness.llm import (
    GenerateOptions,
    LlmCallConfig,
    LlmError,
    PreparedLlmCall,
    mark_agent_loop_request,
)
from harness.session import (
    REQUEST_CONTEXT,
    REQUEST_HEADER,
    REQUEST_OVERRIDE,
    RequestContext,
    canonical_header,
    header_equals,
)
from harness.system_prompt import PromptAssembly, render_prompt
from harness.wire import FrozenDict, freeze_json
from harness_plugins.agent_loop.asking import ask
from harness_plugins.agent_loop.errors import NoModelError

if TYPE_CHECKING:
    from harness_plugins.agent_loop.agent import ReactLoopAgent
    from harness_plugins.agent_loop.signal import TurnSignal


class StepRequest(NamedTuple):
    """A request that is ready to be sent; `prepared` is `None` when no adapter has its route."""

    options: GenerateOptions
    prepared: PreparedLlmCall | None


class RequestMaker:
    """Make the requests of one agent, and log header and context whenever they change.

    Invariants: `seq` is where the log stood when the last request was made; `_config` is the
    choice of the last logged request, without what an adapter filled in;
    `_seen` holds the inputs of the last logged header, so that an unchanged request is recognised
    without building its header again.
    """

    def __init__(self, agent: "ReactLoopAgent") -> None:
        """Serve `agent`."""
        self._agent = agent
        self.seq = agent.session.first_live_seq
        self._config: LlmCallConfig | None = None
        self._has_sent = False
        self._seen: tuple[Any, ...] = ()

    async def make(
        self, assembly: PromptAssembly, *, turn: int, step: int, attempt: int, signal: "TurnSignal"
    ) -> StepRequest:
        """Ask the listeners of `agent/request`, log what changed, and freeze the request.

        Raises:
            NoModelError: nobody chose a provider and a model.
            TurnCancelled: the turn was stopped.
        """
        agent = self._agent
        derived = tuple(agent.session.derive_messages())
        self.seq = agent.session.seq
        draft = RequestDraft(
            config=self._config or self._first_config(),
            system=render_prompt(assembly),
            tools=assembly.tools,
            messages=derived,
            signal=signal,
            attempt=attempt,
        )
        made = draft
        draft = await ask(
            agent,
            REQUEST,
            lambda: RequestPending(
                agent=agent, turn=turn, step=step, attempt=attempt, signal=signal, draft=made
            ),
            made,
            signal=signal,
            kinds=(RequestDraft,),
        )
        if not draft.config.provider or not draft.config.model:
            raise NoModelError(
                f"agent {agent.id} has no provider and model; set them in its options, or supply"
                " both in an agent/request listener"
            )
        prepared = await self._prepare(draft.config, signal)
        config = draft.config if prepared is None else prepared.config
        self._log_header(draft, config, prepared)
        self._log_context(config, prepared)
        self._config = draft.config
        messages = draft.messages
        if messages is not derived and tuple(messages) != derived:
            data = {
                "turn": turn,
                "step": step,
                "attempt": attempt,
                "messages": [message.to_json() for message in messages],
            }
            agent.session.append(REQUEST_OVERRIDE, freeze_json(data), ignorable=True)
        options = GenerateOptions(
            config,
            tuple(messages),
            system=draft.system or None,
            tools=draft.tools,
            signal=signal,
            session_id=agent.id,
        )
        mark_agent_loop_request(options)
        return StepRequest(options, prepared)

    async def _prepare(self, config: LlmCallConfig, signal: "TurnSignal") -> PreparedLlmCall | None:
        prepared: PreparedLlmCall | None = None
        try:
            with signal.scope():
                prepared = await self._agent.llm.prepare_call(config, signal)
        except LlmError as error:
            # A plugin around llm/stream may serve a route that has no adapter.
            if error.code != "NO_ADAPTER":
                raise
        signal.check()
        return prepared

    def _first_config(self) -> LlmCallConfig:
        """Choose from the agent's options, and from what the log's last request chose."""
        options = self._agent.options
        header = self._agent.session.request_header()
        stored: dict[str, Any] = {} if header is None else dict(header["config"])
        defaulted: dict[str, Any] = {} if header is None else header.get("adapterDefaults", {})
        for name in defaulted:
            stored.pop(name, None)
        provider = options.provider or stored.get("provider", "")
        model = options.model or (stored.get("model", "") if options.provider is None else "")
        is_same = (provider, model) == (stored.get("provider"), stored.get("model"))
        effort = options.reasoning_effort or (stored.get("reasoningEffort") if is_same else None)
        return LlmCallConfig(
            provider, model, reasoning_effort=effort, max_tokens=options.max_tokens
        )

    def _log_header(
        self, draft: RequestDraft, config: LlmCallConfig, prepared: PreparedLlmCall | None
    ) -> None:
        session = self._agent.session
        defaults = {} if prepared is None else dict.fromkeys(prepared.adapter_defaults, True)
        seen = (config, defaults, draft.system, draft.tools)
        if self._has_sent and seen == self._seen:
            return
        header = canonical_header(
            {
                "config": config.to_json(),
                "adapterDefaults": defaults,
                "system": draft.system,
                "tools": [tool.to_json() for tool in draft.tools],
            }
        )
        last = session.request_header()
        if not self._has_sent or not header_equals(header, last):
            reason = "initial" if last is None else "change" if self._has_sent else "resume"
            session.append(REQUEST_HEADER, FrozenDict(reason=reason, header=header))
        self._has_sent = True
        self._seen = seen

    def _log_context(self, config: LlmCallConfig, prepared: PreparedLlmCall | None) -> None:
        window = None if prepared is None else prepared.model.context_window
        context = RequestContext(config.provider, config.model, window)
        if context == self._agent.session.request_context():
            return
        data: dict[str, Any] = {"provider": context.provider, "model": context.model}
        if window is not None:
            data["contextWindow"] = window
        self._agent.session.append(REQUEST_CONTEXT, FrozenDict(data))
