"""Join characters that a peer has cut into two surrogates over two pieces of text."""

from harness.wire.text import replace_surrogates


class SurrogateJoiner:
    """Pass text through, holding back a trailing high surrogate for the next piece.

    Some providers write one character beyond U+FFFF as two escapes in two deltas. What this class
    returns never holds a lone surrogate: pairs are joined, the rest becomes U+FFFD.

    Invariants:
        - At most one code unit is held between two calls.
        - The concatenated result depends on the concatenated input only.
    """

    def __init__(self) -> None:
        """Start with nothing held back."""
        self._held = ""

    def feed(self, text: str) -> str:
        """Return the text that is complete so far; empty when all of it is held back."""
        if text.isascii() and not self._held:
            return text
        text = self._held + text
        self._held = text[-1] if text and "\ud800" <= text[-1] <= "\udbff" else ""
        return replace_surrogates(text[:-1] if self._held else text)

    def finish(self) -> str:
        """End the text: a high surrogate that is still held becomes U+FFFD."""
        held, self._held = self._held, ""
        return "\ufffd" if held else ""
