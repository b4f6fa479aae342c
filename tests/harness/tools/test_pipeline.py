"""One call through all stages: order, identity, denials, bodies, results."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import attrs
import pytest

from harness.errors import HarnessError
from harness.llm import (
    FrozenDict,
    ImageAttachment,
    ImageBlock,
    Message,
    TextBlock,
    create_user_message,
)
from harness.tools import (
    MAX_MESSAGE_CHARS,
    POST_EXECUTE,
    PRE_EXECUTE,
    RESULT,
    Accept,
    Allow,
    ExecutionToken,
    ToolDefinition,
    ToolError,
    ToolExecution,
    ToolExecutionInput,
    ToolExecutionResult,
    ToolOutput,
)
from vendor_shims.cordis import AbortController, AbortSignal

if TYPE_CHECKING:
    from .conftest import Kit

Make = Callable[..., ToolDefinition]
ANY = ToolOutput({"type": "json"}, lambda _args, value: repr(value))


def text_of(result: ToolExecutionResult) -> str:
    (block,) = result.content
    assert isinstance(block, TextBlock)
    return block.text


@pytest.mark.spec("03-143")
async def test_an_allowed_call_passes_every_stage_once_and_gives_the_observed_result(
    kit: Kit, make: Make
) -> None:
    trace = kit.record()
    observed: list[tuple[ToolExecution, ToolExecutionResult]] = []
    kit.root.on(RESULT, lambda execution, result: observed.append((execution, result)))

    async def body(_args: Any, execution: ToolExecution) -> str:
        trace.append("body")
        assert not execution.is_frozen
        return "done"

    kit.tools.register(make("echo", body))
    result = await kit.call("echo")
    assert trace == ["pre", "execute", "body", "post", "result"]
    assert result == ToolExecutionResult(content="done", value="done")
    ((execution, seen),) = observed
    assert seen is result
    assert execution.is_frozen
    assert repr(execution) == "ToolExecution('echo', call_id='c1')"
    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        result.content = ()  # pyright: ignore[reportAttributeAccessIssue]


@pytest.mark.spec("03-144")
async def test_the_body_sees_a_frozen_snapshot_of_the_arguments(kit: Kit, make: Make) -> None:
    arguments: dict[str, Any] = {"text": "before", "more": [1, {"a": 2}]}

    async def listener(_execution: ToolExecution, following: Any) -> Any:
        arguments["text"] = "after"
        arguments["more"].append(3)
        return await following()

    async def body(args: Any, execution: ToolExecution) -> Any:
        assert execution.arguments is args
        assert isinstance(args, FrozenDict)
        with pytest.raises(TypeError):
            args["text"] = "mine"
        with pytest.raises(TypeError):
            args["more"][1]["a"] = 3
        return args

    kit.root.on(PRE_EXECUTE, listener)
    kit.tools.register(make("echo", body, output=ANY))
    result = await kit.call("echo", arguments)
    assert result.value == {"text": "before", "more": (1, {"a": 2})}


@pytest.mark.spec("03-145")
async def test_arguments_that_are_no_json_end_the_call_before_any_policy(
    kit: Kit, make: Make
) -> None:
    trace = kit.record()
    finalized: list[ToolExecutionResult] = []

    def finalize(_execution: ToolExecution, result: ToolExecutionResult) -> None:
        finalized.append(result)

    kit.tools.register(make("echo", finalize_content=finalize))
    for bad in ({"a": {1}}, {"a": math.nan}, {"a": b""}, {"a": "\ud800"}):
        result = await kit.call("echo", bad)
        assert result.code == "INVALID_ARGS"
        assert '"a" ' in text_of(result)
    assert "unpaired surrogate" in text_of(result)
    assert trace == ["result"] * 4
    assert len(finalized) == 4
    assert 'arguments" is of type set' in text_of(await kit.call("echo", {1}))


@pytest.mark.spec("03-146")
async def test_a_call_that_is_aborted_already_never_meets_a_policy(kit: Kit, make: Make) -> None:
    trace = kit.record()
    kit.tools.register(make("echo"))
    controller = AbortController()
    controller.abort("stop")
    result = await kit.call("echo", signal=controller.signal)
    assert result.code == "ABORTED_BEFORE_DISPATCH"
    assert "nothing was done" in text_of(result)
    assert trace == ["result"]


@pytest.mark.spec("03-133", "03-139", "03-140")
async def test_arguments_that_do_not_fit_are_reported_without_running_the_tool(
    kit: Kit, make: Make
) -> None:
    trace = kit.record()
    ran: list[Any] = []

    async def body(args: Any, _execution: ToolExecution) -> str:
        ran.append(args)
        return "ran"

    parameters = {"path": {"type": "string", "required": True}, "limit": {"type": "integer"}}
    kit.tools.register(make("read", body, parameters=parameters))
    result = await kit.call("read", {})
    assert text_of(result) == 'Error: invalid arguments: missing required property "path"'
    assert result.error is not None
    assert result.error.info is not None
    assert result.error.info.to_json() == {"name": "ToolArgsError", "code": "INVALID_ARGS"}
    both = await kit.call("read", {"limit": "x"})
    assert text_of(both).endswith('property "path"; "limit" must be an integer')
    raw = await kit.call("read", "{bad")
    assert 'invalid arguments: "arguments" must be an object; the text is not' in text_of(raw)
    assert text_of(raw).endswith("Send one JSON object")
    listed = await kit.call("read", [1])
    assert text_of(listed) == 'Error: invalid arguments: "arguments" must be an object'
    reparsed = await kit.call("read", '{"path": "x"}')
    assert "the text is JSON. Send one JSON object" in text_of(reparsed)
    assert ran == []
    assert trace == ["pre", "execute", "post", "result"] * 5


async def test_very_many_violations_are_counted_rather_than_listed(kit: Kit, make: Make) -> None:
    items = {"type": "array", "items": {"type": "string"}}
    kit.tools.register(make("list", parameters={"items": items}))
    message = text_of(await kit.call("list", {"items": list(range(1_000))}))
    assert '"items[19]" must be a string; and 980 more' in message


@pytest.mark.spec("03-132", "03-137")
async def test_nothing_is_filled_in_and_undeclared_arguments_reach_the_tool(
    kit: Kit, make: Make
) -> None:
    async def body(args: Any, _execution: ToolExecution) -> Any:
        return args

    parameters = {"limit": {"type": "integer", "default": 5}}
    kit.tools.register(make("echo", body, output=ANY, parameters=parameters))
    assert (await kit.call("echo", {"other": 1})).value == {"other": 1}


@pytest.mark.spec("03-154")
async def test_an_unknown_tool_is_answered_after_the_policies_saw_the_call(kit: Kit) -> None:
    trace = kit.record()
    result = await kit.call("nope")
    assert trace == ["pre", "execute", "post", "result"]
    assert text_of(result) == 'Error: unknown tool "nope"'
    assert result.error is not None
    assert result.error.info is not None
    assert result.error.info.to_json() == {"name": "ToolNotFoundError", "code": "UNKNOWN_TOOL"}
    assert len(text_of(await kit.call("x" * 10_000))) < 200


async def test_an_unknown_name_is_answered_with_the_visible_ones_it_resembles(
    kit: Kit, make: Make
) -> None:
    agent = kit.agent()
    for name in ("read_file", "read_files", "bash"):
        kit.tools.register(make(name))
    kit.of(agent).register(make("read_fill"))
    answer = text_of(await kit.call("readfile"))
    assert answer == 'Error: unknown tool "readfile"; did you mean "read_file" or "read_files"?'
    assert "read_fill" in text_of(await kit.call("readfile", agent=agent))


class Unprintable(Exception):
    """An error whose text cannot be read."""

    def __str__(self) -> str:
        raise RuntimeError("no text")


class Coded(HarnessError):
    """An error with a code of its own."""

    code = "DISK_FULL"


@pytest.mark.spec("03-155")
@pytest.mark.parametrize(
    ("error", "message", "code"),
    [
        (ValueError("x"), "x", None),
        (Coded("no space; free some"), "no space; free some", "DISK_FULL"),
        (Unprintable(), "Unprintable (its message could not be read)", None),
        (TimeoutError(), "TimeoutError", None),
        (ExceptionGroup("g", [ValueError("a"), KeyError("b")]), "a; 'b'", None),
        (ValueError("bad \ud800 and \0"), "bad \ufffd and \ufffd", None),
        (RecursionError("deep"), "deep", None),
    ],
)
async def test_a_raising_body_becomes_an_error_result_without_a_traceback(
    kit: Kit, make: Make, error: Exception, message: str, code: str | None
) -> None:
    async def body(_args: Any, _execution: ToolExecution) -> str:
        raise error

    kit.tools.register(make("echo", body))
    result = await kit.call("echo")
    assert result.is_error
    assert text_of(result) == f"Error: {message}"
    assert result.error is not None
    assert result.error.message == message
    assert result.code == code
    assert result.value is None


async def test_a_very_long_message_is_cut_with_a_note(kit: Kit, make: Make) -> None:
    async def body(_args: Any, _execution: ToolExecution) -> str:
        raise ValueError("y" * 1_000_000)

    kit.tools.register(make("echo", body))
    message = text_of(await kit.call("echo"))
    assert len(message) < MAX_MESSAGE_CHARS + 100
    assert message.endswith(f"({1_000_000 - MAX_MESSAGE_CHARS} more characters)")


async def test_a_body_that_is_not_asynchronous_is_a_failed_call(kit: Kit, make: Make) -> None:
    raw = attrs.evolve(make("sync"), execute=lambda _args, _execution: "text")
    kit.tools.register(raw)
    assert (await kit.call("sync")).is_error


@pytest.mark.spec("03-156", "03-157", "03-140")
@pytest.mark.parametrize(
    ("output", "value", "problem"),
    [
        (ANY, {1}, "the value is no lossless JSON: the value is of type set"),
        (ANY, {"a": math.nan}, "a is nan"),
        (
            ToolOutput(
                {
                    "type": "object",
                    "additionalProperties": False,
                    "properties": {"n": {"type": "integer", "required": True}},
                },
                lambda _args, _value: "",
            ),
            {"m": 1},
            'missing required property "value.n"; "value.m" is not a declared property',
        ),
        (ToolOutput({"type": "json"}, lambda _a, v: 1 / v), 0, "render failed: division by zero"),
        (ToolOutput({"type": "json"}, lambda _a, _v: 5), 0, "render failed: expected text or"),  # pyright: ignore[reportArgumentType]
        (ToolOutput({"type": "json"}, lambda _a, _v: [5]), 0, "render failed: expected a content"),  # pyright: ignore[reportArgumentType]
        (
            ToolOutput({"type": "json"}, lambda _a, _v: "", lambda _a, _v: {1}),
            0,
            "presentation_meta failed",
        ),
        (
            ToolOutput({"type": "json"}, lambda _a, _v: "", lambda _a, v: 1 / v),
            0,
            "presentation_meta failed: division by zero",
        ),
    ],
)
async def test_a_tool_that_breaks_its_output_contract_is_reported(
    kit: Kit, make: Make, output: ToolOutput, value: Any, problem: str
) -> None:
    async def body(_args: Any, _execution: ToolExecution) -> Any:
        return value

    kit.tools.register(make("echo", body, output=output))
    result = await kit.call("echo")
    assert result.code == "INVALID_TOOL_OUTPUT"
    assert problem in text_of(result)
    assert '"echo"' in text_of(result)


@pytest.mark.spec("03-158")
async def test_metadata_is_made_for_root_calls_only(kit: Kit, make: Make) -> None:
    output = ToolOutput({"type": "json"}, lambda _a, _v: "", lambda args, v: {"a": args, "v": v})
    kit.tools.register(make("echo", output=output))
    root = await kit.call("echo", {"text": "t"})
    assert root.meta == {"a": {"text": "t"}, "v": "echo"}
    with pytest.raises(TypeError):
        root.meta["a"] = 1
    nested = await kit.call("echo", parent=ExecutionToken())
    assert nested.meta is None


async def test_identity_is_carried_and_defaults_to_the_call_itself(kit: Kit, make: Make) -> None:
    seen: list[ToolExecution] = []

    async def body(_args: Any, execution: ToolExecution) -> str:
        seen.append(execution)
        return ""

    kit.tools.register(make("echo", body))
    parent = ExecutionToken()
    await kit.call("echo", call_id="outer")
    await kit.call("echo", call_id="inner", parent=parent, root_call_id="outer")
    outer, inner = seen
    assert (outer.root_call_id, outer.parent, outer.agent) == ("outer", None, None)
    assert (inner.root_call_id, inner.parent, inner.name) == ("outer", parent, "echo")
    assert outer.token is not inner.token


async def test_an_execution_is_read_only(kit: Kit, make: Make) -> None:
    seen: list[ToolExecution] = []

    async def body(_args: Any, execution: ToolExecution) -> str:
        seen.append(execution)
        for name in ("name", "arguments", "agent", "_run", "other"):
            with pytest.raises(AttributeError, match="read-only"):
                setattr(execution, name, None)
        with pytest.raises(AttributeError, match="read-only"):
            del execution.name
        with pytest.raises(TypeError, match="expected a message to defer, got str"):
            execution.defer_context("text")  # pyright: ignore[reportArgumentType]
        return ""

    kit.tools.register(make("echo", body))
    assert not (await kit.call("echo")).is_error
    (execution,) = seen
    message = create_user_message("late")
    with pytest.raises(AttributeError, match="has ended"):
        execution.signal = AbortSignal.never()
    with pytest.raises(ToolError, match="has ended"):
        execution.defer_context(message)
    with pytest.raises(ToolError, match="has ended"):
        execution.conclude_turn()
    with pytest.raises(ToolError, match="already has its result"):
        kit.tools.finish(execution, ToolExecutionResult(content=""))


@pytest.mark.spec("03-166")
async def test_observers_cannot_disturb_or_change_a_result(kit: Kit, make: Make) -> None:
    caught: list[Exception] = []

    def raising(_execution: ToolExecution, _result: ToolExecutionResult) -> None:
        raise RuntimeError("observer")

    async def rejecting(_execution: ToolExecution, _result: ToolExecutionResult) -> None:
        raise RuntimeError("observer")

    def mutating(execution: ToolExecution, result: ToolExecutionResult) -> None:
        for change in (
            lambda: setattr(result, "content", ()),
            lambda: setattr(execution, "signal", AbortSignal.never()),
            lambda: result.value.update(a=1),
        ):
            try:
                change()
            except (AttributeError, TypeError) as error:
                caught.append(error)

    for observer in (raising, rejecting, mutating):
        kit.root.on(RESULT, observer)

    async def body(_args: Any, _execution: ToolExecution) -> Any:
        return {"a": 0}

    kit.tools.register(make("echo", body, output=ANY))
    result = await kit.call("echo")
    assert result.value == {"a": 0}
    assert len(caught) == 3
    await kit.root.settle()


@pytest.mark.spec("03-161")
async def test_finalize_content_has_the_last_word_on_every_outcome_exactly_once(
    kit: Kit, make: Make
) -> None:
    seen: list[bool] = []

    def finalize(_execution: ToolExecution, result: ToolExecutionResult) -> str | None:
        seen.append(result.is_error)
        return f"<{text_of(result)}>" if text_of(result) != "keep" else None

    async def body(args: Any, _execution: ToolExecution) -> str:
        return args.get("text", "fine")

    kit.tools.register(make("echo", body, finalize_content=finalize))
    success = await kit.call("echo")
    assert (text_of(success), success.value) == ("<fine>", "fine")
    kept = await kit.call("echo", {"text": "keep"})
    assert text_of(kept) == "keep"
    invalid = await kit.call("echo", {"text": 5})
    assert text_of(invalid).startswith("<Error: invalid arguments")
    assert invalid.code == "INVALID_ARGS"
    guard = kit.tools.guard(lambda _execution: "no")
    assert text_of(await kit.call("echo")) == "<Error: no>"
    guard()
    unknown = await kit.call("other")
    assert text_of(unknown) == 'Error: unknown tool "other"'
    assert seen == [False, False, True, True]


@pytest.mark.spec("03-161")
async def test_a_failing_finalize_content_is_reported(kit: Kit, make: Make) -> None:
    def raising(_execution: ToolExecution, _result: ToolExecutionResult) -> str:
        raise ValueError("oops")

    kit.tools.register(make("echo", finalize_content=raising))
    result = await kit.call("echo")
    assert result.code == "INVALID_TOOL_OUTPUT"
    assert text_of(result) == 'Error: finalize_content of tool "echo" failed: oops'
    assert result.value is None


@pytest.mark.spec("03-164")
async def test_deferred_contexts_come_in_order_and_survive_a_failing_body(
    kit: Kit, make: Make
) -> None:
    a, b = create_user_message("a"), create_user_message("b")

    async def body(args: Any, execution: ToolExecution) -> str:
        execution.defer_context(a)
        execution.defer_context(b)
        if "text" in args:
            raise ValueError("failed afterwards")
        return ""

    kit.tools.register(make("echo", body))
    assert (await kit.call("echo")).additional_contexts == (a, b)
    failed = await kit.call("echo", {"text": "x"})
    assert failed.is_error
    assert failed.additional_contexts == (a, b)


@pytest.mark.spec("03-165")
async def test_concluding_the_turn_counts_only_for_a_successful_result(
    kit: Kit, make: Make
) -> None:
    async def body(args: Any, execution: ToolExecution) -> str:
        execution.conclude_turn()
        if "text" in args:
            raise ValueError
        return ""

    kit.tools.register(make("echo", body))
    assert (await kit.call("echo")).concludes_turn
    assert not (await kit.call("echo", {"text": "x"})).concludes_turn


async def test_content_is_normalised_to_clean_blocks(kit: Kit, make: Make) -> None:
    blocks = [TextBlock("a\ud800"), TextBlock("ü"), {"type": "text", "text": "nul \0"}]
    output = ToolOutput({"type": "json"}, lambda _args, _value: blocks)
    kit.tools.register(make("echo", output=output))
    result = await kit.call("echo")
    assert result.content == (TextBlock("a\ufffd"), TextBlock("ü"), TextBlock("nul \ufffd"))
    assert result.content[1] is blocks[1]
    digest = "sha256:" + "0" * 64
    image = ImageBlock(ImageAttachment(digest, "image/png", 10, 1, 1))
    single = ToolOutput({"type": "json"}, lambda _args, value: [TextBlock(value), image])
    kit.tools.register(make("single", output=single))
    assert (await kit.call("single")).content == (TextBlock("single"), image)
    lone = ToolOutput({"type": "json"}, lambda _args, value: TextBlock(value))
    kit.tools.register(make("lone", output=lone))
    assert (await kit.call("lone")).content == (TextBlock("lone"),)


async def test_calls_of_an_agent_meet_its_own_listeners_and_agentless_ones_do_not(
    kit: Kit, make: Make
) -> None:
    agent, other = kit.agent(), kit.agent()
    seen: list[str] = []

    async def listener(execution: ToolExecution, following: Any) -> Any:
        seen.append(execution.call_id)
        return await following()

    agent.ctx.on(PRE_EXECUTE, listener)
    kit.tools.register(make("echo"))
    await kit.call("echo", call_id="mine", agent=agent)
    await kit.call("echo", call_id="other", agent=other)
    await kit.call("echo", call_id="none")
    assert seen == ["mine"]


def test_events_are_routed_by_the_agent_of_the_execution() -> None:
    for event in (PRE_EXECUTE, POST_EXECUTE, RESULT):
        assert event.scoped is not None


async def test_stages_can_be_driven_one_by_one(kit: Kit, make: Make) -> None:
    kit.tools.register(make("echo"))
    agent = kit.agent()
    request: Any = ToolExecutionInput(call_id="c", name="echo", arguments={}, agent=agent)  # pyright: ignore[reportArgumentType]
    prepared = await kit.tools.prepare(request)
    assert (prepared.stage, prepared.result) == ("dispatch", None)
    assert RESULT.scoped is not None
    assert RESULT.scoped(prepared.execution, None) is agent
    body = await kit.tools.dispatch(prepared.execution)
    assert not prepared.execution.is_frozen
    result = await kit.tools.finalize(prepared.execution, body)
    assert result is body
    assert prepared.execution.is_frozen
    kit.tools.guard(lambda _execution: "no")
    denied = await kit.tools.prepare(request)
    assert denied.stage == "post-result"
    assert denied.result is not None
    final = await kit.tools.prepare(attrs.evolve(request, arguments={1}))
    assert final.stage == "final-result"
    assert final.result is not None
    assert kit.tools.finish(final.execution, final.result) is final.result


def test_decisions_are_plain_values() -> None:
    assert Allow() == Allow()
    assert repr(Accept()) == "Accept(content=None, value=UNSET, additional_contexts=())"
    assert isinstance(create_user_message("x"), Message)
