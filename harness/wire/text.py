"""Keep text encodable: lone surrogates, NUL, and UTF-8 that arrives in pieces."""

import codecs

from harness.wire.errors import UnencodableTextError


def has_lone_surrogate(text: str) -> bool:
    """Return whether the text has no UTF-8 form because it holds a surrogate."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False


def replace_surrogates(text: str) -> str:
    """Join surrogate pairs to the character they mean and replace unpaired ones by U+FFFD."""
    if not has_lone_surrogate(text):
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def require_encodable(text: str, name: str) -> str:
    """Return the text unchanged, or refuse it when it has no UTF-8 form.

    Args:
        text: text from a model, a peer or a file.
        name: what the message calls it, such as the parameter's name.

    Raises:
        UnencodableTextError: the text holds an unpaired surrogate.
    """
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise UnencodableTextError(
            f"{name} holds an unpaired surrogate (U+{ord(text[error.start]):04X}) at character "
            f"{error.start}; send the text with whole characters"
        ) from error
    return text


def sanitize_text(text: str) -> str:
    """Return text that every store and peer accepts: no lone surrogates and no NUL.

    Pairs of surrogates are joined; each lone surrogate and each NUL becomes U+FFFD.
    """
    return replace_surrogates(text).replace("\0", "\ufffd")


class Utf8Decoder:
    """Decode UTF-8 that arrives in pieces; invalid bytes become U+FFFD.

    Invariants:
        - Any slicing of the same bytes gives the same text.
        - At most three bytes are held between two calls.
    """

    def __init__(self) -> None:
        """Start at the beginning of a stream."""
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def feed(self, data: bytes) -> str:
        """Return the text that is complete so far; a cut character waits for its rest."""
        return self._decoder.decode(data)

    def finish(self) -> str:
        """End the stream: a character that was cut becomes U+FFFD."""
        return self._decoder.decode(b"", final=True)
