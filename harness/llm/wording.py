"""Recognise two kinds of provider failures by their wording: context overflow and quota."""

import re
from functools import cache

# Providers separate the same words by blanks, dashes or underscores; `_` stands for any of these.
_CONTEXT_WINDOW_PHRASES = (
    r"context_(?:length|window)_(?:(?:is|was|has|been)_)*(?:exceed|overflow)\w*",
    r"(?:exceed|overflow)\w*_(?:the_)?context_(?:length|window)",
    r"max(?:imum)?_(?:(?:allowed|supported)_)?context_(?:length|window)",
    (
        r"(?:request|prompt|input|messages?)_(?:(?:is|are|was)_)?too_(?:large|long)_for_"
        r"(?:(?:this|the)_)?(?:model(?:'?s)?_)?context"
    ),
    r"(?:request|prompt|input)_(?:is_)?too_(?:large|long)_for_(?:this|the)_model",
    (
        r"(?:input|prompt|request|messages?)\b.{0,40}?(?:exceed\w*|overflow\w*|(?:is|are)_larger_than)"
        r".{0,40}?context\b"
    ),
)
_QUOTA_PHRASES = (
    r"insufficient_(?:\w+?_)?(?:quota|balance|credits?|funds)",
    (
        r"(?:quota|usage_limit|balance|credits?)s?_(?:(?:is|are|was|has|have|been)_)*"
        r"(?:exceeded|exhausted|reached|depleted)"
    ),
    r"exceed\w*_(?:(?:your|the)_)?(?:current_)?(?:quota|usage_limit)",
    r"out_of_(?:credits?|budget|quota)",
)


_MAX_CHARS = 4_096
"""How much of a provider's text is looked at, so that a hostile one costs nothing."""


def is_context_window_wording(text: str) -> bool:
    """Tell whether a provider text says that the request does not fit the context window."""
    return _says(_CONTEXT_WINDOW_PHRASES, text)


def is_quota_wording(text: str) -> bool:
    """Tell whether a provider text says that the account ran out of quota or balance."""
    return _says(_QUOTA_PHRASES, text)


def _says(phrases: tuple[str, ...], text: str) -> bool:
    return _pattern(phrases).search(text[:_MAX_CHARS]) is not None


@cache
def _pattern(phrases: tuple[str, ...]) -> re.Pattern[str]:
    """Compile at first use: most processes never see a refusal."""
    return re.compile("|".join(phrases).replace("_", r"[\s_-]+"), re.IGNORECASE | re.DOTALL)
