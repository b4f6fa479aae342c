"""Cut text to a number of UTF-8 bytes without ever cutting a character."""


def utf8_head(data: bytes, max_bytes: int) -> bytes:
    """Return the longest prefix within the budget that does not end inside a character.

    Bytes that are no UTF-8 are kept as they are: only a sequence that the cut itself would split
    is left out, so the result is at most three bytes shorter than the budget.
    """
    if len(data) <= max_bytes:
        return data
    end = max(0, max_bytes)
    for back in range(1, min(3, end) + 1):
        byte = data[end - back]
        if byte & 0xC0 == 0x80:
            continue
        return data[: end - back] if _sequence_length(byte) > back else data[:end]
    return data[:end]


def utf8_tail(data: bytes, max_bytes: int) -> bytes:
    """Return the longest suffix within the budget that does not begin inside a character.

    Leading continuation bytes, at most three, are left out when the cut has made them leading.
    """
    if len(data) <= max_bytes:
        return data
    start = len(data) - max(0, max_bytes)
    for _ in range(3):
        if start < len(data) and data[start] & 0xC0 == 0x80:
            start += 1
    return data[start:]


def truncate_utf8(text: str, max_bytes: int) -> str:
    """Return the longest beginning of the text whose UTF-8 form fits the budget.

    A lone surrogate counts three bytes and stays as it is.
    """
    if len(text) * 4 <= max_bytes:
        return text
    data = text.encode("utf-8", "surrogatepass")
    return utf8_head(data, max_bytes).decode("utf-8", "surrogatepass")


def truncate_utf8_tail(text: str, max_bytes: int) -> str:
    """Return the longest end of the text whose UTF-8 form fits the budget.

    A lone surrogate counts three bytes and stays as it is.
    """
    if len(text) * 4 <= max_bytes:
        return text
    data = text.encode("utf-8", "surrogatepass")
    return utf8_tail(data, max_bytes).decode("utf-8", "surrogatepass")


def _sequence_length(lead: int) -> int:
    """Return how many bytes a sequence with this lead byte has; 1 for what is no lead byte."""
    if lead >= 0xF5 or lead < 0xC2:
        return 1
    return 2 if lead < 0xE0 else 3 if lead < 0xF0 else 4
