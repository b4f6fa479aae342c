"""Fold over a history once, although every step hands it over as a whole."""

from collections.abc import Callable, Sequence
from typing import TypeVar

from harness.llm.message import Message

_T = TypeVar("_T")


def fold_history(
    messages: tuple[Message, ...],
    key: object,
    *,
    start: Callable[[], _T],
    extend: Callable[[_T, Sequence[Message]], _T],
) -> _T:
    """Return the fold of `messages`, looking only at those that are new since the last call.

    A history mostly grows at its end, so its first message remembers the last history that was
    folded and the result. A longer history with the same beginning continues from there, which
    costs a comparison of identities; any other history is folded from the start. What is remembered
    lives as long as that message.

    Args:
        messages: the history, oldest first.
        key: tells folds apart; each has one `start` and one `extend`.
        start: makes the value of an empty history.
        extend: returns the value after more messages; may change the old one, once it cannot fail.
    """
    if not messages:
        return start()
    slot: list[tuple[tuple[Message, ...], _T]] = messages[0].memo(key, lambda _: [((), start())])
    known, value = slot[0]
    if messages[: len(known)] != known:
        known, value = (), start()
    value = extend(value, messages[len(known) :])
    slot[0] = (messages, value)
    return value
