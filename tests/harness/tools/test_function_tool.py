"""Tools made of typed functions."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any, Literal

import pytest

from harness.llm import TextBlock
from harness.tools import FunctionTool, ToolExecution, ToolExecutionInput, tool
from vendor_shims.schema import Ge, Le, config, field

if TYPE_CHECKING:
    from decimal import Decimal

    from .conftest import Kit


class Mode(StrEnum):
    """How to read."""

    TEXT = "text"
    BYTES = "bytes"


@config
class Window:
    """A window of lines."""

    first_line: Annotated[int, Ge(1)] = field(doc="First line, from 1.")
    n_lines: int = 10


@tool
async def read_lines(
    file_path: str,
    window: Window,
    mode: Mode = Mode.TEXT,
    tags: list[str] | None = None,
    *,
    execution: ToolExecution,
) -> dict[str, Any]:
    """Read lines of a file.

    The file must exist.

    Args:
        (the usual ones)
        file_path: Absolute path
            of the file.
        window (Window): Which lines.
        unknown: Not a parameter.

    Returns:
        What was read.
    """
    return {
        "call": execution.call_id,
        "path": file_path,
        "lines": [window.first_line, window.n_lines],
        "mode": mode.value,
        "tags": tags,
    }


@pytest.fixture
def registered(kit: Kit) -> Kit:
    """Register the sample function."""
    kit.tools.register(read_lines)
    return kit


def test_name_description_and_schema_come_from_the_function() -> None:
    assert isinstance(read_lines, FunctionTool)
    assert read_lines.name == "read_lines"
    assert read_lines.description == "Read lines of a file.\n\nThe file must exist."
    schema = read_lines.parameters
    assert schema["type"] == "object"
    assert list(schema["properties"]) == ["file_path", "window", "mode", "tags"]
    assert schema["required"] == ["file_path", "window"]
    assert schema["additionalProperties"] is False
    properties = schema["properties"]
    assert properties["file_path"]["description"] == "Absolute path of the file."
    assert properties["window"]["description"] == "Which lines."
    assert properties["mode"]["enum"] == ["text", "bytes"]
    assert "execution" not in properties


async def test_arguments_are_converted_to_the_annotated_types(registered: Kit) -> None:
    arguments = {"file_path": "/a", "window": {"firstLine": 3}, "tags": ["x"]}
    result = await registered.call("read_lines", arguments)
    assert result.value == {
        "call": "c1",
        "path": "/a",
        "lines": (3, 10),
        "mode": "text",
        "tags": ("x",),
    }
    (block,) = result.content
    assert isinstance(block, TextBlock)
    assert block.text.startswith('{"call":"c1","path":"/a"')


async def test_arguments_that_do_not_fit_are_all_reported(registered: Kit) -> None:
    arguments = {"window": {"firstLine": 0}, "mode": "image", "tags": ["a", 5], "more": 1}
    result = await registered.call("read_lines", arguments)
    assert result.code == "INVALID_ARGS"
    assert result.error is not None
    for part in ('"file_path": ', '"window.firstLine": ', '"mode": ', '"tags[1]": ', '"more": '):
        assert part in result.error.message
    assert read_lines.validate_args is not None
    assert len(read_lines.validate_args(arguments)) == 5
    assert read_lines.validate_args({"file_path": "/a", "window": {"firstLine": 1}}) == []


async def test_arguments_that_are_no_object_are_explained(registered: Kit) -> None:
    raw = await registered.call("read_lines", "{bad")
    assert raw.error is not None
    assert '"arguments" must be an object; the text is not valid JSON' in raw.error.message
    other = await registered.call("read_lines", [1])
    assert other.error is not None
    assert other.error.message.endswith('"arguments" must be an object')


async def test_the_function_itself_can_still_be_called(registered: Kit) -> None:
    @tool
    async def double(value: int) -> int:
        """Double a number."""
        return 2 * value

    assert await double(21) == 42
    registered.tools.register(double)
    result = await registered.call("double", {"value": 4})
    assert (result.value, result.content) == (8, (TextBlock("8"),))
    assert double.output.schema == {"type": "integer"}


async def test_options_override_what_the_function_says(kit: Kit) -> None:
    @tool(
        name="say",
        description="Say something.",
        render=lambda args, value: f"{args['text']} -> {value}",
        timeout_s=3,
        is_concurrency_safe=True,
        effects=["read", "network"],
        cancel_mode="cooperative",
    )
    async def _speak(text: Annotated[str, "what"], times: Annotated[int, Ge(1), Le(3)] = 1) -> str:
        return text * times

    kit.tools.register(_speak)
    definition = kit.tools.get("say")
    assert definition is not None
    assert definition.timeout_s == 3
    assert definition.effects == {"read", "network"}
    assert definition.cancel_mode == "cooperative"
    result = await kit.call("say", {"text": "a", "times": 2})
    assert result.content == (TextBlock("a -> aa"),)
    assert definition.output.schema == {"type": "string"}
    for arguments, mode in (({"text": "a"}, "parallel"), ({"text": 1}, "exclusive")):
        request = ToolExecutionInput(call_id="c", name="say", arguments=arguments)
        assert kit.tools.execution_mode(request) == mode
    assert (await kit.call("say", {"text": "a", "times": 4})).code == "INVALID_ARGS"


async def test_mutable_defaults_are_not_shared_between_calls(kit: Kit) -> None:
    @tool
    async def collect(item: str, items: list[str] = []) -> list[str]:  # noqa: B006
        """Collect."""
        items.append(item)
        return items

    kit.tools.register(collect)
    for _ in range(2):
        assert (await kit.call("collect", {"item": "x"})).value == ("x",)


async def test_results_that_no_schema_of_the_subset_describes_are_any_json(kit: Kit) -> None:
    @tool
    async def window() -> Window:
        """Return a window."""
        return Window(first_line=2)

    @tool
    async def undescribed():  # the point of the test
        """Return something."""
        return [1, None]

    assert window.output.schema == {} or window.output.schema["type"] == "object"
    assert undescribed.output.schema == {}
    kit.tools.register(window)
    kit.tools.register(undescribed)
    assert (await kit.call("window")).value == {"firstLine": 2, "nLines": 10}
    assert (await kit.call("undescribed")).value == (1, None)


def sync(text: str) -> str:
    """Be synchronous."""
    return text


async def undocumented(text: str) -> str:
    return text


async def untyped(text) -> str:
    """Take anything."""
    return text


async def positional(text: str, /) -> str:
    """Take by position."""
    return text


async def many(*texts: str) -> str:
    """Take many."""
    return "".join(texts)


async def impossible(text: Callable[[], str]) -> str:
    """Take a function."""
    return text()


async def hidden(amount: Decimal) -> str:
    """Take a type that is not there at run time."""
    return str(amount)


async def wrong_default(mode: Literal["a", "b"] = "c") -> str:  # pyright: ignore[reportArgumentType]
    """Have a default that does not fit."""
    return mode


@pytest.mark.parametrize(
    ("function", "problem"),
    [
        (sync, "must be `async def`"),
        (undocumented, "needs a docstring"),
        (untyped, "'text' has no type"),
        (positional, "cannot be given by name"),
        (many, "cannot be given by name"),
        (impossible, "tool function impossible"),
        (hidden, "importable at run time"),
        (wrong_default, "tool function wrong_default"),
    ],
)
def test_functions_that_cannot_be_tools_are_refused_where_they_are_defined(
    function: Callable[..., Any], problem: str
) -> None:
    with pytest.raises(TypeError, match=problem):
        tool(function)
