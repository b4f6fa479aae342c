"""Adapt a history to the model that will read it: images and foreign replay state."""

from collections.abc import Callable, Sequence

from attrs import evolve

from harness.llm.content import content_has_image, without_images
from harness.llm.history import fold_history
from harness.llm.message import Message
from harness.wire import FrozenDict

_PLAIN = object()
"""Names the fold that tells whether a history has neither images nor replay state."""


def project_messages(
    messages: tuple[Message, ...],
    *,
    is_text_only: bool,
    keeps_replay: Callable[[object], bool],
) -> tuple[Message, ...]:
    """Return the messages as the target may see them; the same tuple when nothing changes.

    Args:
        messages: the history, oldest first; never changed.
        is_text_only: replace images, also nested ones, by a placeholder text.
        keeps_replay: whether replay state of a historical provider id may be shown.
    """
    if fold_history(messages, _PLAIN, start=lambda: True, extend=_still_plain):
        return messages
    projected = tuple(
        _without_replay(without_images(message) if is_text_only else message, keeps_replay)
        for message in messages
    )
    return projected if any(map(_differs, projected, messages)) else messages


def _still_plain(is_plain: bool, messages: Sequence[Message]) -> bool:  # noqa: FBT001 - a fold
    return is_plain and not any(
        "replayState" in message.source or content_has_image(message.content)
        for message in messages
    )


def _without_replay(message: Message, keeps_replay: Callable[[object], bool]) -> Message:
    source = message.source
    if "replayState" not in source or keeps_replay(source.get("provider")):
        return message
    kept = {key: value for key, value in source.items() if key != "replayState"}
    return evolve(message, source=FrozenDict(kept))


def _differs(left: Message, right: Message) -> bool:
    return left is not right
