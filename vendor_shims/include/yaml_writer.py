"""Write rows as YAML or JSON that the readers take back unchanged."""

from __future__ import annotations

import re
from functools import cache
from typing import Any, cast

from vendor_shims.expressions import Expression

from .scalars import is_text
from .values import Value

_TAGS = {"!expr": "!expr", "!!py": "tag:yaml.org,2002:py", "!!js": "tag:yaml.org,2002:js"}
_NO_FOLD = 1_000_000
_UNUSUAL = re.compile(r"[^\x20-\x7e\xa0-\u2027\u202a-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]")
_BLOCK_TEXT = re.compile(r"[!-~\xa1-\u2027](?:[\n -~\xa0-\u2027]*[!-~\xa1-\u2027])?\n?")
_ESCAPED = re.compile(r'["\\\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]')
_SHORT = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r"}


def yaml_text(value: Value, *, is_flow: bool = False) -> str:
    """Return a value as YAML without a line end; in brackets and on one line with `is_flow`."""
    import yaml

    dump = cast("Any", yaml).dump
    text: str = dump(
        value,
        Dumper=_dumper(),
        default_flow_style=is_flow,
        allow_unicode=True,
        sort_keys=False,
        width=_NO_FOLD,
    )
    return text.removesuffix("...\n").rstrip("\n")  # dots end a document of a single word


def json_text(value: Value, *, indent: int | None = None, level: int = 0) -> str:
    """Return a value as JSON; an expression as a mapping with its tag as key."""
    if isinstance(value, Expression):
        value = {value.tag: value.source}
    if isinstance(value, str):
        return f'"{_ESCAPED.sub(_escape, value)}"'
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, int | float):
        return repr(value)
    start, end = ("{", "}") if isinstance(value, dict) else ("[", "]")
    if isinstance(value, dict):
        parts = [
            f"{json_text(key)}: {json_text(member, indent=indent, level=level + 1)}"
            for key, member in cast("dict[str, Any]", value).items()
        ]
    else:
        parts = [json_text(one, indent=indent, level=level + 1) for one in cast("list[Any]", value)]
    if indent is None or not parts:
        return f"{start}{', '.join(parts)}{end}"
    inner = "\n" + " " * (indent * (level + 1))
    return f"{start}{inner}{f',{inner}'.join(parts)}\n{' ' * (indent * level)}{end}"


def _escape(found: re.Match[str]) -> str:
    return _SHORT.get(found[0]) or f"\\u{ord(found[0]):04x}"


def _style_of(text: str, *, is_flow: bool) -> str | None:
    """Return how a text must be written for its characters; None when any way does."""
    if not _UNUSUAL.search(text):
        return None
    return "|" if "\n" in text and not is_flow and _BLOCK_TEXT.fullmatch(text) else '"'


@cache
def _dumper() -> type[Any]:
    """Make the class that writes; PyYAML is loaded only when something is written."""
    import yaml

    class Dumper(yaml.SafeDumper):
        """Writes texts so that our reader takes them as texts, and expressions with their tag."""

        def ignore_aliases(self, data: object) -> bool:  # noqa: ARG002 - as inherited
            return True

        def increase_indent(self, flow: bool = False, *_: object, **__: object) -> None:  # noqa: FBT001, FBT002 - as inherited
            super().increase_indent(flow, indentless=False)

        def choose_scalar_style(self) -> Value:
            """Write an expression without quotes wherever a text could be."""
            event = cast("Any", self).event
            if event.tag not in _TAGS.values() or event.style:
                return super().choose_scalar_style()
            event.implicit = (True, False)
            style = super().choose_scalar_style()
            event.implicit = (False, False)
            return style

    def text_node(dumper: Value, text: str) -> Value:
        style = _style_of(text, is_flow=dumper.default_flow_style)
        if style is None and (not is_text(text) or text == "<<"):
            style = "'"
        return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)

    def expression_node(dumper: Value, expression: Expression) -> Value:
        style = _style_of(expression.source, is_flow=dumper.default_flow_style)
        return dumper.represent_scalar(_TAGS[expression.tag], expression.source, style=style)

    Dumper.add_representer(str, text_node)
    Dumper.add_representer(Expression, expression_node)
    return Dumper
