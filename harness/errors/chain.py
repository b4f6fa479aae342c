"""Say in one line what has failed and why."""

from typing import Final, cast

from vendor_shims.cordis.errors import error_text

_MAX_LINKS: Final = 64
_CYCLE: Final = "[the error repeats itself]"
_MORE: Final = "[…]"


def error_chain(error: BaseException) -> str:
    """Return an error's message, its group members in brackets, and its causes after colons.

    An empty message becomes the class name; a cause that says the same as its effect is left
    out. Follows explicit causes only, at most 64 in all. Never raises: a cycle and an error that
    cannot be printed become a mark.
    """
    return _chain(error, seen=set())


def _chain(error: BaseException, *, seen: set[int]) -> str:
    """Return the text of one error; `seen` holds the identities of those already told."""
    texts: list[str] = []
    link: BaseException | None = error
    while link is not None:
        if id(link) in seen:
            texts.append(_CYCLE)
            break
        if len(seen) >= _MAX_LINKS:
            texts.append(_MORE)
            break
        seen.add(id(link))
        text = _message(link)
        if not texts or text != texts[-1]:
            texts.append(text)
        if isinstance(link, BaseExceptionGroup):
            members = cast("BaseExceptionGroup[BaseException]", link).exceptions
            texts[-1] += f" [{'; '.join(_chain(member, seen=seen) for member in members)}]"
        link = link.__cause__
    return ": ".join(texts)


def _message(error: BaseException) -> str:
    is_group = isinstance(error, BaseExceptionGroup)
    return (error.message if is_group else error_text(error)) or type(error).__name__
