"""Find out which model answers, where that is not settled yet."""

from anyio import move_on_after

from harness.agent import REQUEST, RequestDraft, RequestPending
from harness.llm import LlmCallConfig, LlmError, LlmService
from harness_plugins.launcher.complaint import Complaint
from harness_plugins.launcher.errors import CommandError, UsageError
from harness_plugins.launcher.target import Choice
from vendor_shims.cordis import Context, Next

FALLBACK_MODEL = "default"
_DISCOVERY_S = 5.0
_N_SHOWN = 20


async def settle_model(llm: LlmService, choice: Choice) -> Choice:
    """Return a choice with a model: the one that the server has, when none was named.

    A server that does not list its models gets a name that single-model servers ignore; one that
    does not answer at all is left to the request itself, which reports it with the task stored.

    Raises:
        CommandError: the server has several models.
    """
    if choice.model:
        return choice
    models = ()
    with move_on_after(_DISCOVERY_S):
        try:
            models = await llm.list_models(choice.provider)
        except LlmError:
            models = ()
    if not models:
        return choice._replace(model=FALLBACK_MODEL)
    if len(models) == 1:
        return choice._replace(model=models[0].id)
    shown = ", ".join(model.id for model in models[:_N_SHOWN])
    more = f" and {len(models) - _N_SHOWN} more" if len(models) > _N_SHOWN else ""
    raise CommandError(
        Complaint(
            "UNKNOWN_MODEL",
            f"the server has {len(models)} models; say which: {shown}{more}",
            (f"for example: --model {models[0].id}",),
            status=2,
        )
    )


async def check_choice(
    llm: LlmService, choice: Choice, *, effort: str | None, max_tokens: int | None
) -> None:
    """Refuse what the model cannot do, before there is a session.

    Raises:
        CommandError: with the provider's code and exit code 2; `USAGE` when nobody serves it.
    """
    config = LlmCallConfig(
        choice.provider, choice.model or "", reasoning_effort=effort, max_tokens=max_tokens
    )
    try:
        await llm.resolve_call_config(config)
    except LlmError as error:
        if error.code == "NO_ADAPTER":
            raise unknown_provider(error) from error
        raise CommandError(Complaint(error.code, str(error), status=2)) from error


def unknown_provider(error: LlmError) -> UsageError:
    """Return the error of a provider that no plugin serves."""
    return UsageError(
        str(error),
        "a server needs its address besides the name: --base-url URL",
        "a plugin that serves it needs a row: dsh plugin add, or a patch file",
    )


def keep_choice(root: Context, choice: Choice, *, effort: str | None) -> None:
    """Let every request of a resumed session go to `choice`, whatever its log says."""

    async def choose(pending: RequestPending, proceed: Next[RequestDraft]) -> RequestDraft:
        draft = pending.draft
        was = (draft.config.provider, draft.config.model)
        if was != choice:
            draft.config = LlmCallConfig(
                choice.provider,
                choice.model or "",
                reasoning_effort=effort,
                max_tokens=draft.config.max_tokens,
            )
        return await proceed()

    root.on(REQUEST, choose)
