"""Fill `{{name}}` placeholders of a prompt text, once, never looking at inserted values again."""

import re
from collections.abc import Mapping

from harness.system_prompt.errors import InterpolationError

VARIABLE_NAME = re.compile(r"[a-z][a-z0-9_]*")
_MAX_SHOWN_CHARS = 60


def interpolate(text: str, variables: Mapping[str, str | None], *, where: str) -> str:
    """Replace every placeholder of `text`; `where` names the text in errors.

    An opening `{{` without a later `}}` is literal, as are single braces and a lone `}}`.

    Raises:
        InterpolationError: a placeholder is malformed, unknown, or its value is `None`.
    """
    start = text.find("{{")
    if start < 0:
        return text
    parts: list[str] = []
    position = 0
    while start >= 0:
        end = text.find("}}", start + 2)
        if end < 0:
            break
        parts.append(text[position:start])
        parts.append(_value_of(text[start + 2 : end], variables, where))
        position = end + 2
        start = text.find("{{", position)
    parts.append(text[position:])
    return "".join(parts)


def _value_of(name: str, variables: Mapping[str, str | None], where: str) -> str:
    if not VARIABLE_NAME.fullmatch(name):
        shown = name if len(name) <= _MAX_SHOWN_CHARS else name[:_MAX_SHOWN_CHARS] + "…"
        raise InterpolationError(
            f"malformed placeholder {{{{{shown}}}}} in {where}: expected a name of lower-case "
            "letters, digits and underscores directly between double braces"
        )
    if name not in variables:
        known = ", ".join(sorted(variables)) or "none"
        raise InterpolationError(
            f"unknown variable {name!r} in {where}; registered variables: {known}"
        )
    value = variables[name]
    if value is None:
        raise InterpolationError(f"variable {name!r} in {where} has no value")
    return value
