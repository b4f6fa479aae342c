"""Define what listeners of the two decision stages may answer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, TypeAlias

import attrs

from harness.llm import ContentBlock, Message


class _Unset:
    """Tell "no value given" from a JSON null."""

    def __repr__(self) -> str:
        return "UNSET"


def _check_messages(_decision: object, _field: object, contexts: Sequence[object]) -> None:
    for context in contexts:
        if not isinstance(context, Message):
            raise TypeError(f"expected messages as contexts, got {type(context).__name__}")


UNSET: Final = _Unset()
"""Default of `Accept.value`: keep the value, since `None` is a value of its own."""


@attrs.frozen
class Allow:
    """Let the call go on to the guards."""


@attrs.frozen
class Deny:
    """Refuse the call; the model reads `Error: <reason>`."""

    reason: str = attrs.field(validator=attrs.validators.instance_of(str))


@attrs.frozen
class Ask:
    """Let the user decide; without anybody to ask the call is denied with `reason`."""

    reason: str | None = None


PreToolDecision: TypeAlias = Allow | Deny | Ask
"""Answer of `tools/pre-execute`. The arguments cannot be changed: they are logged and shown."""


@attrs.frozen(kw_only=True)
class Accept:
    """Keep the result, replacing its rendering (`content`) or its value, never both.

    A replaced value is validated and rendered again. `additional_contexts` are messages appended
    after the results of the step, behind those of the tool itself.
    """

    content: str | Sequence[ContentBlock] | None = None
    value: Any = UNSET  # any JSON value
    additional_contexts: Sequence[Message] = attrs.field(default=(), validator=_check_messages)


@attrs.frozen
class Block:
    """Turn the result into an error whose content is `feedback`.

    The tool has run; contexts it deferred are dropped, only those given here are kept.
    """

    feedback: str | Sequence[ContentBlock]
    additional_contexts: Sequence[Message] = attrs.field(
        default=(), kw_only=True, validator=_check_messages
    )


PostToolDecision: TypeAlias = Accept | Block
"""Answer of `tools/post-execute`."""
