"""Check a credential before it becomes a header."""

from harness.llm.errors import LlmError


def assert_usable_api_key(value: str | None, reference: str) -> str:
    """Return the trimmed key; errors name the reference and never the value.

    Raises:
        LlmError: `MISSING_CREDENTIAL` when there is none, `INVALID_CREDENTIAL` when a character is
            not printable ASCII.
    """
    key = (value or "").strip()
    if not key:
        raise LlmError(
            f"no API key: set {reference} in the environment or in a `.env` file",
            "MISSING_CREDENTIAL",
        )
    if any(not "!" <= char <= "~" for char in key):
        raise LlmError(
            f"the API key {reference} contains blanks or characters outside printable ASCII; "
            "copy it again",
            "INVALID_CREDENTIAL",
        )
    return key
