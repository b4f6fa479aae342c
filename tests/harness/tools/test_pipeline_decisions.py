"""Decisions around a call: permission, approval, guards, wrappers, post-execute."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import anyio
import attrs
import pytest

from harness.errors import HarnessError
from harness.llm import TextBlock, create_user_message
from harness.tools import (
    EXECUTE,
    POST_EXECUTE,
    PRE_EXECUTE,
    Accept,
    Allow,
    ApprovalOutcome,
    Ask,
    Block,
    Deny,
    ToolDefinition,
    ToolExecution,
    ToolExecutionResult,
    ToolOutput,
)
from vendor_shims.cordis import AbortController, AbortError, AbortSignal, Context, Service

if TYPE_CHECKING:
    from .conftest import Kit

Make = Callable[..., ToolDefinition]


def text_of(result: ToolExecutionResult) -> str:
    (block,) = result.content
    assert isinstance(block, TextBlock)
    return block.text


def deciding(decision: Any) -> Callable[..., Any]:
    """Return a pre-execute listener that answers without asking the rest."""

    async def listener(_execution: ToolExecution, _following: Any) -> Any:
        return decision

    return listener


def judging(decision: Any) -> Callable[..., Any]:
    """Return a post-execute listener that answers without asking the rest."""

    async def listener(
        _execution: ToolExecution, _result: ToolExecutionResult, _following: Any
    ) -> Any:
        return decision

    return listener


class Users(Service):
    """An approval service that answers what it was told to."""

    key = "approval"

    def __init__(self, ctx: Context) -> None:
        super().__init__(ctx)
        self.answer: Any = "allowed-once"
        self.asked: list[dict[str, Any]] = []

    async def request(self, **question: Any) -> ApprovalOutcome:
        self.asked.append(question)
        if isinstance(self.answer, Exception):
            raise self.answer
        while self.answer == "hang":
            await anyio.sleep_forever()
        return self.answer


async def mount_users(kit: Kit) -> Users:
    await kit.root.plugin(Users)
    users = kit.root.get(Users)
    assert users is not None
    return users


@pytest.mark.spec("03-147")
async def test_a_denial_is_an_error_that_post_execute_sees(kit: Kit, make: Make) -> None:
    kit.root.on(PRE_EXECUTE, deciding(Deny("no")))
    trace = kit.record()
    kit.tools.register(make("echo"))
    result = await kit.call("echo")
    assert text_of(result) == "Error: no"
    assert result.code is None
    assert trace == ["pre", "post", "result"]


@pytest.mark.spec("03-148")
async def test_the_first_answer_ends_the_question(kit: Kit, make: Make) -> None:
    later: list[None] = []
    kit.root.on(PRE_EXECUTE, deciding(Allow()))

    async def never(_execution: ToolExecution, following: Any) -> Any:
        later.append(None)
        return await following()

    kit.root.on(PRE_EXECUTE, never)
    kit.tools.register(make("echo"))
    assert text_of(await kit.call("echo")) == "echo"
    assert later == []


@pytest.mark.spec("03-148")
async def test_a_raising_listener_ends_the_call_without_a_second_opinion(
    kit: Kit, make: Make
) -> None:
    async def raising(_execution: ToolExecution, _following: Any) -> Any:
        raise HarnessError("policy is broken", code="POLICY")

    kit.root.on(PRE_EXECUTE, raising)
    trace = kit.record()
    kit.tools.register(make("echo"))
    result = await kit.call("echo")
    assert (text_of(result), result.code) == ("Error: policy is broken", "POLICY")
    assert trace == ["pre", "result"]


@pytest.mark.parametrize("answer", [None, True, "allow", {"kind": "allow"}, Accept()])
async def test_an_answer_that_is_no_decision_ends_the_call(
    kit: Kit, make: Make, answer: object
) -> None:
    kit.root.on(PRE_EXECUTE, deciding(answer))
    kit.tools.register(make("echo"))
    result = await kit.call("echo")
    assert result.code == "TOOL_DECISION"
    assert "expected Allow, Deny or Ask" in text_of(result)


def test_decisions_are_checked_where_they_are_made() -> None:
    with pytest.raises(TypeError):
        Deny(None)  # pyright: ignore[reportArgumentType]
    with pytest.raises(TypeError):
        Accept(additional_contexts=["text"])  # pyright: ignore[reportArgumentType]
    with pytest.raises(TypeError):
        Block("no", additional_contexts=["text"])  # pyright: ignore[reportArgumentType]


async def test_an_abort_ends_a_listener_that_answers_only_once(kit: Kit, make: Make) -> None:
    controller = AbortController()

    async def waiting(_execution: ToolExecution, _following: Any) -> Any:
        controller.abort()
        await anyio.sleep_forever()

    kit.root.once(PRE_EXECUTE, waiting)
    kit.tools.register(make("echo"))
    result = await kit.call("echo", signal=controller.signal)
    assert result.code == "ABORTED_BEFORE_DISPATCH"


@pytest.mark.spec("03-149")
async def test_without_anybody_to_ask_a_call_that_needs_permission_is_denied(
    kit: Kit, make: Make
) -> None:
    kit.tools.register(make("echo"))
    agent = kit.agent()
    effect = kit.root.on(PRE_EXECUTE, deciding(Ask("deletes files")))
    assert text_of(await kit.call("echo", agent=agent)) == "Error: deletes files"
    effect()
    kit.root.on(PRE_EXECUTE, deciding(Ask()))
    assert "nobody is available" in text_of(await kit.call("echo", agent=agent))
    users = await mount_users(kit)
    assert "nobody is available" in text_of(await kit.call("echo"))
    assert users.asked == []


@pytest.mark.spec("03-149")
async def test_the_user_decides_about_a_call_that_needs_permission(kit: Kit, make: Make) -> None:
    kit.tools.register(make("echo"))
    kit.root.on(PRE_EXECUTE, deciding(Ask("deletes files")))
    users = await mount_users(kit)
    agent = kit.agent()
    assert text_of(await kit.call("echo", agent=agent)) == "echo"
    (question,) = users.asked
    assert question["agent"] is agent
    assert (question["tool_name"], question["call_id"]) == ("echo", "c1")
    assert question["reason"] == "deletes files"
    assert isinstance(question["signal"], AbortSignal)
    texts = set()
    for outcome in ("rejected", "cancelled", "unavailable"):
        users.answer = outcome
        text = text_of(await kit.call("echo", agent=agent))
        assert text.endswith("(deletes files)")
        texts.add(text)
    assert len(texts) == 3
    users.answer = "whatever"
    assert "nobody is available" in text_of(await kit.call("echo", agent=agent))
    users.answer = RuntimeError("terminal is gone")
    failed = await kit.call("echo", agent=agent)
    assert text_of(failed) == "Error: terminal is gone"


@pytest.mark.spec("03-149")
async def test_a_rejection_without_a_reason_says_so_plainly(kit: Kit, make: Make) -> None:
    kit.tools.register(make("echo"))
    kit.root.on(PRE_EXECUTE, deciding(Ask()))
    users = await mount_users(kit)
    users.answer = "rejected"
    text = text_of(await kit.call("echo", agent=kit.agent()))
    assert text == "Error: the user rejected this call; do not repeat it in the same way"


async def test_the_user_is_not_asked_about_a_call_that_cannot_run(kit: Kit, make: Make) -> None:
    kit.tools.register(make("echo"))
    kit.root.on(PRE_EXECUTE, deciding(Ask("really?")))
    trace = kit.record()
    users = await mount_users(kit)
    agent = kit.agent()
    result = await kit.call("echo", {"text": 5}, agent=agent)
    assert result.code == "INVALID_ARGS"
    assert trace == ["pre", "post", "result"]
    assert (await kit.call("unknown", agent=agent)).code == "UNKNOWN_TOOL"
    assert users.asked == []
    raw = attrs.evolve(make("raw"), validate_args=None)
    kit.tools.register(raw)
    await kit.call("raw", agent=agent)
    assert len(users.asked) == 1


async def test_an_abort_ends_a_pending_question(kit: Kit, make: Make) -> None:
    kit.tools.register(make("echo"))
    kit.root.on(PRE_EXECUTE, deciding(Ask()))
    users = await mount_users(kit)
    users.answer = "hang"
    controller = AbortController()
    async with anyio.create_task_group() as group:

        async def run() -> None:
            result = await kit.call("echo", agent=kit.agent(), signal=controller.signal)
            assert result.code == "ABORTED_BEFORE_DISPATCH"

        group.start_soon(run)
        while not users.asked:
            await anyio.lowlevel.checkpoint()
        controller.abort()


async def test_an_approval_that_was_cancelled_by_the_abort_is_reported_as_the_abort(
    kit: Kit, make: Make
) -> None:
    kit.tools.register(make("echo"))
    kit.root.on(PRE_EXECUTE, deciding(Ask()))
    controller = AbortController()

    class Cancelling(Users):
        async def request(self, **question: Any) -> ApprovalOutcome:
            controller.abort()
            return "cancelled"

    await kit.root.plugin(Cancelling)
    trace = kit.record()
    result = await kit.call("echo", agent=kit.agent(), signal=controller.signal)
    assert result.code == "ABORTED_BEFORE_DISPATCH"
    assert trace == ["pre", "post", "result"]


@pytest.mark.spec("03-150")
async def test_guards_deny_after_the_listeners_and_nobody_can_undo_it(kit: Kit, make: Make) -> None:
    order: list[str] = []
    preset = kit.agent()
    agent = kit.agent(preset)

    def guarding(name: str, reason: str | None = None) -> Callable[[ToolExecution], str | None]:
        def guard(_execution: ToolExecution) -> str | None:
            order.append(name)
            return reason

        return guard

    kit.of(agent).guard(guarding("agent"))
    kit.of(preset).guard(guarding("preset"))
    kit.tools.guard(guarding("global"))
    kit.root.on(PRE_EXECUTE, deciding(Allow()))
    kit.tools.register(make("echo"))
    assert text_of(await kit.call("echo", agent=agent)) == "echo"
    assert order == ["global", "preset", "agent"]
    effect = kit.of(preset).guard(guarding("refusing", "not in this preset"))
    kit.of(agent).guard(guarding("after"))
    order.clear()
    assert text_of(await kit.call("echo", agent=agent)) == "Error: not in this preset"
    assert order == ["global", "preset", "refusing"]
    assert text_of(await kit.call("echo")) == "echo"
    effect()
    assert text_of(await kit.call("echo", agent=agent)) == "echo"


@pytest.mark.spec("03-150")
async def test_a_guard_fails_closed(kit: Kit, make: Make) -> None:
    trace = kit.record()
    kit.tools.register(make("echo"))

    def raising(_execution: ToolExecution) -> str | None:
        raise LookupError("no rules")

    effect = kit.tools.guard(raising)
    assert text_of(await kit.call("echo")) == "Error: no rules"
    assert trace == ["pre", "result"]
    effect()
    kit.tools.guard(lambda _execution: False)  # pyright: ignore[reportArgumentType]
    assert (await kit.call("echo")).is_error


async def test_guards_are_not_asked_about_refused_calls(kit: Kit, make: Make) -> None:
    asked: list[None] = []
    kit.root.on(PRE_EXECUTE, deciding(Deny("no")))
    kit.tools.guard(lambda _execution: asked.append(None))
    kit.tools.register(make("echo"))
    await kit.call("echo")
    assert asked == []


@pytest.mark.spec("03-151")
async def test_a_wrapper_can_replace_the_signal_but_never_detach_the_caller(
    kit: Kit, make: Make
) -> None:
    caller, deadline = AbortController(), AbortController()
    seen: list[AbortSignal] = []

    async def wrapper(execution: ToolExecution, following: Any) -> Any:
        before = execution.signal
        execution.signal = deadline.signal
        try:
            result = await following()
            assert execution.signal is deadline.signal
            return result
        finally:
            execution.signal = before

    async def body(_args: Any, execution: ToolExecution) -> str:
        seen.append(execution.signal)
        assert not execution.signal.aborted
        caller.abort("user")
        assert execution.signal.aborted
        assert execution.signal.reason == "user"
        return "late"

    async def after(execution: ToolExecution, _result: Any, following: Any) -> Any:
        assert execution.signal is caller.signal
        return await following()

    kit.root.on(EXECUTE, wrapper)
    kit.root.on(POST_EXECUTE, after)
    kit.tools.register(make("echo", body))
    assert (await kit.call("echo", signal=caller.signal)).code == "ABORTED"
    assert seen[0] not in (caller.signal, deadline.signal)


async def test_an_expired_deadline_of_a_wrapper_cancels_the_body_and_the_wrapper_words_it(
    kit: Kit, make: Make
) -> None:
    deadline = AbortController()
    cleaned: list[str] = []

    async def wrapper(execution: ToolExecution, following: Any) -> Any:
        before = execution.signal
        execution.signal = AbortSignal.any([before, deadline.signal])
        try:
            result = await following()
        finally:
            execution.signal = before
        assert result.code == "ABORTED"
        return ToolExecutionResult(
            is_error=True, content="timed out", value="dropped", meta=1, concludes_turn=True
        )

    async def body(_args: Any, _execution: ToolExecution) -> str:
        deadline.abort()
        try:
            await anyio.sleep_forever()
        finally:
            cleaned.append("cleaned")
        return ""

    kit.root.on(EXECUTE, wrapper)
    kit.tools.register(make("echo", body))
    result = await kit.call("echo")
    assert cleaned == ["cleaned"]
    assert result.is_error
    assert (text_of(result), result.value, result.meta) == ("timed out", None, None)
    assert result.error is not None
    assert result.error.message == "timed out"
    assert not result.concludes_turn


async def test_a_body_never_starts_under_a_signal_that_has_fired(kit: Kit, make: Make) -> None:
    ran: list[None] = []

    async def body(_args: Any, _execution: ToolExecution) -> str:
        ran.append(None)
        return ""

    async def wrapper(execution: ToolExecution, following: Any) -> Any:
        fired = AbortController()
        fired.abort()
        execution.signal = fired.signal
        return await following()

    kit.root.on(EXECUTE, wrapper)
    kit.tools.register(make("echo", body))
    assert (await kit.call("echo")).code == "ABORTED_BEFORE_DISPATCH"
    assert ran == []


@pytest.mark.spec("03-152")
async def test_a_success_made_by_a_wrapper_is_checked_and_rendered_again(
    kit: Kit, make: Make
) -> None:
    made: list[Any] = ["good"]

    async def wrapper(_execution: ToolExecution, _following: Any) -> Any:
        return ToolExecutionResult(content="ignored", value=made[0], concludes_turn=True)

    kit.root.on(EXECUTE, wrapper)
    output = ToolOutput({"type": "string"}, lambda _args, value: f"rendered {value}")
    kit.tools.register(make("echo", output=output))
    result = await kit.call("echo")
    assert (text_of(result), result.value) == ("rendered good", "good")
    assert result.concludes_turn
    made[0] = 5
    bad = await kit.call("echo")
    assert bad.code == "INVALID_TOOL_OUTPUT"
    assert '"value" must be a string' in text_of(bad)
    unknown = await kit.call("virtual")
    assert unknown.code == "UNKNOWN_TOOL"


async def test_a_wrapper_that_returns_no_result_is_reported(kit: Kit, make: Make) -> None:
    async def wrapper(_execution: ToolExecution, _following: Any) -> Any:
        return "text"

    kit.root.on(EXECUTE, wrapper)
    kit.tools.register(make("echo"))
    result = await kit.call("echo")
    assert result.code == "TOOL_DECISION"
    assert "returned str; expected ToolExecutionResult" in text_of(result)


@pytest.mark.spec("03-153")
async def test_a_wrapper_can_retry_and_only_the_last_attempt_counts(kit: Kit, make: Make) -> None:
    trace = kit.record()
    attempts: list[int] = []

    async def retry(_execution: ToolExecution, following: Any) -> Any:
        result = await following()
        return await following() if result.is_error else result

    async def body(_args: Any, execution: ToolExecution) -> str:
        attempts.append(1)
        execution.defer_context(create_user_message(f"attempt {len(attempts)}"))
        if len(attempts) == 1:
            execution.conclude_turn()
            raise ValueError("flaky")
        return "second"

    kit.root.on(EXECUTE, retry)
    kit.tools.register(make("echo", body))
    result = await kit.call("echo")
    assert text_of(result) == "second"
    assert [context.text for context in result.additional_contexts] == ["attempt 2"]
    assert not result.concludes_turn
    assert len(attempts) == 2
    assert trace == ["pre", "execute", "post", "result"]


async def test_a_raising_wrapper_is_an_error_that_post_execute_sees(kit: Kit, make: Make) -> None:
    async def wrapper(_execution: ToolExecution, _following: Any) -> Any:
        raise HarnessError("no metrics", code="METRICS")

    kit.root.on(EXECUTE, wrapper)
    trace = kit.record()
    kit.tools.register(make("echo"))
    assert (await kit.call("echo")).code == "METRICS"
    assert trace == ["pre", "execute", "post", "result"]


@pytest.mark.spec("03-164", "03-177")
async def test_contexts_come_from_the_body_then_the_wrapper_then_the_decision(
    kit: Kit, make: Make
) -> None:
    a, b, w, p = (create_user_message(name) for name in "abwp")

    async def body(_args: Any, execution: ToolExecution) -> str:
        execution.defer_context(a)
        execution.defer_context(b)
        return ""

    async def wrapper(_execution: ToolExecution, following: Any) -> Any:
        result = await following()
        return attrs.evolve(result, additional_contexts=(*result.additional_contexts, w))

    kit.root.on(EXECUTE, wrapper)
    kit.root.on(POST_EXECUTE, judging(Accept(additional_contexts=[p])))
    kit.tools.register(make("echo", body))
    assert (await kit.call("echo")).additional_contexts == (a, b, w, p)


@pytest.mark.spec("03-159")
async def test_accepting_can_replace_the_content_or_the_value_but_not_both(
    kit: Kit, make: Make
) -> None:
    output = ToolOutput({"type": "string"}, lambda _args, value: f"rendered {value}")

    async def body(args: Any, execution: ToolExecution) -> str:
        execution.conclude_turn()
        if args:
            raise ValueError("failed")
        return "own"

    kit.tools.register(make("echo", body, output=output))
    decision: list[Any] = [Accept(content="short")]

    async def listener(
        _execution: ToolExecution, _result: ToolExecutionResult, _following: Any
    ) -> Any:
        return decision[0]

    kit.root.on(POST_EXECUTE, listener)
    content = await kit.call("echo")
    assert (text_of(content), content.value) == ("short", "own")
    decision[0] = Accept(value="other", additional_contexts=[create_user_message("c")])
    value = await kit.call("echo")
    assert (text_of(value), value.value) == ("rendered other", "other")
    assert value.concludes_turn
    assert len(value.additional_contexts) == 1
    decision[0] = Accept(value=None)
    assert (await kit.call("echo")).code == "INVALID_TOOL_OUTPUT"
    decision[0] = Accept(value="x", content="y")
    assert "not both" in text_of(await kit.call("echo"))
    decision[0] = Accept(value="x")
    assert "value of a failed call" in text_of(await kit.call("echo", {"text": "x"}))
    assert "value of a failed call" in text_of(await kit.call("unknown"))
    decision[0] = Accept(content="kinder words")
    softened = await kit.call("echo", {"text": "x"})
    assert softened.is_error
    assert text_of(softened) == "kinder words"
    decision[0] = "accept"
    wrong = await kit.call("echo")
    assert wrong.code == "TOOL_DECISION"
    assert "expected Accept or Block" in text_of(wrong)


@pytest.mark.spec("03-160", "03-165")
async def test_blocking_makes_an_error_of_the_feedback_and_drops_what_the_body_left(
    kit: Kit, make: Make
) -> None:
    own = create_user_message("from the policy")

    async def body(_args: Any, execution: ToolExecution) -> str:
        execution.defer_context(create_user_message("from the body"))
        execution.conclude_turn()
        return "value"

    kit.root.on(POST_EXECUTE, judging(Block("run the linter first", additional_contexts=[own])))
    kit.tools.register(make("echo", body))
    result = await kit.call("echo")
    assert result.is_error
    assert text_of(result) == "run the linter first"
    assert result.error is not None
    assert (result.error.message, result.error.info) == ("run the linter first", None)
    assert result.additional_contexts == (own,)
    assert (result.value, result.concludes_turn) == (None, False)


async def test_a_raising_post_listener_makes_the_final_error(kit: Kit, make: Make) -> None:
    asked: list[None] = []

    async def raising(
        _execution: ToolExecution, _result: ToolExecutionResult, _following: Any
    ) -> Any:
        asked.append(None)
        raise HarnessError("spill failed", code="SPILL")

    async def body(_args: Any, execution: ToolExecution) -> str:
        execution.defer_context(create_user_message("gone"))
        return ""

    kit.root.on(POST_EXECUTE, raising)
    kit.tools.register(make("echo", body))
    result = await kit.call("echo")
    assert result.code == "SPILL"
    assert result.additional_contexts == ()
    assert asked == [None]


@pytest.mark.spec("03-162")
async def test_a_success_under_an_abort_is_not_reported_and_an_error_keeps_its_code(
    kit: Kit, make: Make
) -> None:
    controller = AbortController()

    async def body(args: Any, execution: ToolExecution) -> str:
        execution.defer_context(create_user_message("gone"))
        controller.abort()
        match args.get("text"):
            case "coded":
                raise HarnessError("disk full", code="DISK_FULL")
            case "plain":
                raise ValueError("whatever")
            case "asked":
                execution.signal.throw_if_aborted()
            case _:
                return "finished"
        raise AssertionError

    kit.tools.register(make("echo", body))
    outcomes: dict[str | None, ToolExecutionResult] = {}
    for text in (None, "coded", "plain", "asked"):
        controller = AbortController()
        arguments = {} if text is None else {"text": text}
        outcomes[text] = await kit.call("echo", arguments, signal=controller.signal)
    assert outcomes[None].code == "ABORTED"
    assert "had already finished" in text_of(outcomes[None])
    assert outcomes[None].additional_contexts == ()
    assert outcomes["coded"].code == "DISK_FULL"
    assert outcomes["plain"].code == "ABORTED"
    assert outcomes["asked"].code == "ABORTED"
    assert "while it ran" in text_of(outcomes["asked"])


@pytest.mark.spec("03-162")
async def test_an_abort_cancels_a_running_body_and_waits_for_its_cleanup(
    kit: Kit, make: Make
) -> None:
    controller = AbortController()
    trace: list[str] = []

    async def body(_args: Any, _execution: ToolExecution) -> str:
        trace.append("started")
        try:
            await anyio.sleep_forever()
        finally:
            with anyio.CancelScope(shield=True):
                await anyio.lowlevel.checkpoint()
                trace.append("cleaned")
        return ""

    kit.tools.register(make("echo", body))
    results: list[ToolExecutionResult] = []
    async with anyio.create_task_group() as group:

        async def run() -> None:
            results.append(await kit.call("echo", signal=controller.signal))

        group.start_soon(run)
        while not trace:
            await anyio.lowlevel.checkpoint()
        controller.abort()
    assert trace == ["started", "cleaned"]
    assert results[0].code == "ABORTED"


async def test_a_cooperative_body_is_asked_and_never_cancelled(kit: Kit, make: Make) -> None:
    controller = AbortController()
    trace: list[str] = []

    async def body(_args: Any, execution: ToolExecution) -> str:
        trace.append("started")
        await execution.signal.wait()
        await anyio.lowlevel.checkpoint()
        trace.append("wound down")
        raise HarnessError("stopped half way", code="PARTIAL")

    kit.tools.register(make("echo", body, cancel_mode="cooperative"))
    results: list[ToolExecutionResult] = []
    async with anyio.create_task_group() as group:

        async def run() -> None:
            results.append(await kit.call("echo", signal=controller.signal))

        group.start_soon(run)
        while not trace:
            await anyio.lowlevel.checkpoint()
        controller.abort()
    assert trace == ["started", "wound down"]
    assert results[0].code == "PARTIAL"


async def test_cancelling_the_caller_cancels_the_body_and_leaves_no_result(
    kit: Kit, make: Make
) -> None:
    trace = kit.record()

    async def body(_args: Any, _execution: ToolExecution) -> str:
        trace.append("body")
        await anyio.sleep_forever()
        return ""

    kit.tools.register(make("echo", body))
    async with anyio.create_task_group() as group:
        group.start_soon(kit.call, "echo")
        while "body" not in trace:
            await anyio.lowlevel.checkpoint()
        group.cancel_scope.cancel()
    assert trace == ["pre", "execute", "body"]


@pytest.mark.spec("03-163")
@pytest.mark.parametrize("hangs", [False, True])
async def test_an_abort_during_post_execute_turns_a_success_into_the_abort(
    kit: Kit, make: Make, *, hangs: bool
) -> None:
    controller = AbortController()

    async def listener(
        _execution: ToolExecution, _result: ToolExecutionResult, following: Any
    ) -> Any:
        controller.abort()
        if hangs:
            await anyio.sleep_forever()
        return await following()

    async def body(args: Any, _execution: ToolExecution) -> str:
        if args:
            raise HarnessError("own", code="OWN")
        return ""

    kit.root.on(POST_EXECUTE, listener)
    kit.tools.register(make("echo", body))
    result = await kit.call("echo", signal=controller.signal)
    assert result.code == "ABORTED"
    assert "had already finished" in text_of(result)
    controller = AbortController()
    failed = await kit.call("echo", {"text": "x"}, signal=controller.signal)
    assert failed.code == "OWN"


@pytest.mark.parametrize("mode", ["hang", "raise", "allow"])
async def test_an_abort_during_pre_execute_ends_a_listener_that_waits(
    kit: Kit, make: Make, mode: str
) -> None:
    controller = AbortController()
    ran: list[None] = []

    async def waiting(execution: ToolExecution, _following: Any) -> Any:
        controller.abort()
        if mode == "hang":
            await anyio.sleep_forever()
        if mode == "raise":
            execution.signal.throw_if_aborted()
        return Allow()

    async def body(_args: Any, _execution: ToolExecution) -> str:
        ran.append(None)
        return ""

    kit.root.on(PRE_EXECUTE, waiting)
    kit.tools.register(make("echo", body))
    result = await kit.call("echo", signal=controller.signal)
    assert result.code == "ABORTED_BEFORE_DISPATCH"
    assert ran == []


async def test_an_abort_by_a_guard_still_prevents_the_body(kit: Kit, make: Make) -> None:
    controller = AbortController()

    def aborting(_execution: ToolExecution) -> None:
        controller.abort()

    kit.tools.guard(aborting)
    kit.tools.register(make("echo"))
    result = await kit.call("echo", signal=controller.signal)
    assert result.code == "ABORTED_BEFORE_DISPATCH"


@pytest.mark.parametrize("mode", ["raise", "go on"])
async def test_an_abort_between_the_stages_is_noticed_before_the_body(
    kit: Kit, make: Make, mode: str
) -> None:
    controller = AbortController()

    async def wrapper(execution: ToolExecution, following: Any) -> Any:
        controller.abort()
        if mode == "raise":
            execution.signal.throw_if_aborted()
        return await following()

    kit.root.on(EXECUTE, wrapper)
    kit.tools.register(make("echo"))
    result = await kit.call("echo", signal=controller.signal)
    assert result.code == "ABORTED_BEFORE_DISPATCH"


async def test_a_post_listener_that_raises_the_abort_reports_the_abort(
    kit: Kit, make: Make
) -> None:
    controller = AbortController()

    async def listener(
        _execution: ToolExecution, _result: ToolExecutionResult, _following: Any
    ) -> Any:
        controller.abort()
        raise AbortError("stop")

    kit.root.on(POST_EXECUTE, listener)
    kit.tools.register(make("echo"))
    result = await kit.call("echo", signal=controller.signal)
    assert result.code == "ABORTED"
    assert "had already finished" in text_of(result)


async def test_a_body_that_outlives_its_call_leaves_the_result_alone(kit: Kit, make: Make) -> None:
    """A deadline policy may stop waiting and let the owner of the tool await the straggler."""
    release = anyio.Event()
    ended: list[str] = []

    async def wrapper(execution: ToolExecution, following: Any) -> Any:
        registration = kit.tools.registration(execution.name)
        assert registration is not None
        straggler = registration.owner.spawn(following())
        straggler.add_done_callback(lambda _task: ended.append("ended"))
        while "running" not in ended:
            await anyio.lowlevel.checkpoint()
        return ToolExecutionResult(is_error=True, content="timed out")

    async def body(_args: Any, _execution: ToolExecution) -> str:
        ended.append("running")
        await release.wait()
        return "too late"

    kit.root.on(EXECUTE, wrapper)
    kit.tools.register(make("echo", body, cancel_mode="cooperative"))
    result = await kit.call("echo")
    assert text_of(result) == "timed out"
    release.set()
    while "ended" not in ended:
        await anyio.lowlevel.checkpoint()
    assert text_of(result) == "timed out"


async def test_swapping_a_tool_while_its_call_waits_runs_the_new_one(kit: Kit, make: Make) -> None:
    async def old(_args: Any, _execution: ToolExecution) -> str:
        return "old"

    async def new(_args: Any, _execution: ToolExecution) -> str:
        return "new"

    effect = kit.tools.register(make("echo", old))

    async def swap(_execution: ToolExecution, following: Any) -> Any:
        effect()
        kit.tools.register(make("echo", new))
        return await following()

    kit.root.on(PRE_EXECUTE, swap)
    assert text_of(await kit.call("echo")) == "new"
