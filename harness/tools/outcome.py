"""Turn values and decisions into results that keep the output contract of their tool."""

from __future__ import annotations

import attrs

from harness.llm import Message, TextBlock
from harness.tools.content import as_content
from harness.tools.decisions import UNSET, Accept, Block
from harness.tools.describe import describe_error
from harness.tools.errors import ToolDecisionError, ToolOutputError, join_violations
from harness.tools.execution import ToolExecution
from harness.tools.json_value import validate_json_schema_value
from harness.tools.result import ToolExecutionResult, ToolFailure
from harness.tools.visibility import RegisteredTool
from harness.wire import NotJsonError, snapshot_json


def canonical_result(
    tool: RegisteredTool,
    execution: ToolExecution,
    value: object,
    *,
    contexts: tuple[Message, ...] = (),
    concludes_turn: bool = False,
) -> ToolExecutionResult:
    """Make the success of a value: frozen, validated, rendered, with metadata for root calls.

    Raises:
        ToolOutputError: the tool broke its output contract; the message names the part.
    """
    output = tool.definition.output
    try:
        frozen = snapshot_json(value)
    except NotJsonError as error:
        raise _broken(tool, f"the value is no lossless JSON: {error}") from error
    violations = validate_json_schema_value(tool.output_schema, frozen)
    if violations:
        raise _broken(tool, join_violations(violations))
    try:
        content = as_content(output.render(execution.arguments, frozen))
    except Exception as error:
        raise _broken(tool, f"render failed: {describe_error(error)}") from error
    meta = None
    if output.presentation_meta is not None and execution.parent is None:
        try:
            meta = snapshot_json(output.presentation_meta(execution.arguments, frozen))
        except Exception as error:
            raise _broken(tool, f"presentation_meta failed: {describe_error(error)}") from error
    return ToolExecutionResult(
        content=content,
        value=frozen,
        meta=meta,
        additional_contexts=contexts,
        concludes_turn=concludes_turn,
    )


def foreign_error(result: ToolExecutionResult) -> ToolExecutionResult:
    """Complete an error result that a wrapper made: no value, and always a failure message."""
    failure = result.error or ToolFailure(content_text(result))
    return attrs.evolve(result, error=failure, value=None, meta=None, concludes_turn=False)


def content_text(result: ToolExecutionResult) -> str:
    """Return the text blocks of a result, joined by newlines."""
    return "\n".join([block.text for block in result.content if isinstance(block, TextBlock)])


def apply_decision(
    tool: RegisteredTool | None,
    execution: ToolExecution,
    result: ToolExecutionResult,
    decision: object,
) -> ToolExecutionResult:
    """Return what a post-execute decision makes of a result.

    Raises:
        ToolDecisionError: the decision is none, or cannot be applied to this result.
        ToolOutputError: a replaced value breaks the output contract.
    """
    if isinstance(decision, Block):
        content = as_content(decision.feedback)
        blocked = ToolExecutionResult(
            is_error=True,
            content=content,
            additional_contexts=tuple(decision.additional_contexts),
        )
        return attrs.evolve(blocked, error=ToolFailure(content_text(blocked)))
    if not isinstance(decision, Accept):
        raise wrong_decision("tools/post-execute", "Accept or Block", decision)
    contexts = (*result.additional_contexts, *decision.additional_contexts)
    if decision.value is not UNSET:
        if decision.content is not None:
            raise ToolDecisionError("a listener may replace the content or the value, not both")
        if result.is_error or tool is None:
            raise ToolDecisionError("a listener cannot replace the value of a failed call")
        return canonical_result(
            tool,
            execution,
            decision.value,
            contexts=contexts,
            concludes_turn=result.concludes_turn,
        )
    if decision.content is not None:
        content = as_content(decision.content)
        return attrs.evolve(result, content=content, additional_contexts=contexts)
    if decision.additional_contexts:
        return attrs.evolve(result, additional_contexts=contexts)
    return result


def wrong_decision(event: str, expected: str, found: object) -> ToolDecisionError:
    """Make the error of a listener that returned something else than it may."""
    return ToolDecisionError(
        f"a listener of {event} returned {type(found).__name__}; expected {expected}"
    )


def _broken(tool: RegisteredTool, problem: str) -> ToolOutputError:
    return ToolOutputError(f'tool "{tool.name}" returned an invalid result: {problem}')
