"""The node of a class: fields by their wire names, unknown keys, construction."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from typing import cast

import attrs

from vendor_shims.cordis.errors import Issue, ValidationError
from vendor_shims.schema.node import Definitions, Dump, Node
from vendor_shims.schema.preview import clip, preview
from vendor_shims.schema.report import Path, Report
from vendor_shims.schema.shapes import Raw, is_list, is_mapping, is_secret, is_volatile
from vendor_shims.schema.values import freeze

_ABSENT = object()


@attrs.frozen(eq=False)
class ObjectField:
    """One field of a config class.

    Args:
        name: Attribute name, accepted as a key too.
        argument: Name in the constructor.
        wire: Key in raw data.
        node: Compiled type.
        default: `attrs.NOTHING`, a value or an `attrs.Factory` without self.
        doc: Description, empty when there is none beside the field.
        role: Hint for editors, empty for none.
    """

    name: str
    argument: str
    wire: str
    node: Node
    default: Raw
    doc: str
    role: str

    @property
    def is_required(self) -> bool:
        """Return whether raw data must have the field."""
        return self.default is attrs.NOTHING

    def make_default(self) -> Raw:
        """Return the default, made anew by its factory if it has one."""
        if is_factory(self.default):
            return cast("Callable[[], Raw]", self.default.factory)()
        return self.default

    def is_default(self, value: Raw) -> bool:
        """Return whether a field's value equals its default, whatever either is wrapped in."""
        if self.is_required:
            return False
        default = self.make_default()
        if is_volatile(value):
            plain = default.get() if is_volatile(default) else freeze(default)
            return same(value.get(), plain)
        if is_secret(value):
            return same(value.reveal(), default.reveal() if is_secret(default) else default)
        return same(value, default)

    def find(self, raw: Mapping[Raw, Raw]) -> tuple[str, Raw]:
        """Return the spelling used in `raw` and the value, None when it is absent."""
        if self.wire not in raw and self.name in raw:
            return self.name, raw[self.name]
        return self.wire, raw.get(self.wire)


class ObjectNode(Node):
    """Instances of one attrs class.

    Invariants: `fields` is complete once the class that is being compiled has been left; a field
    that collects unknown keys is not among them.
    """

    kind = expected = "object"

    def __init__(self, cls: type) -> None:
        self.cls = cls
        self.fields: tuple[ObjectField, ...] = ()
        self.rest: ObjectField | None = None
        """Field that takes unknown keys; None refuses them."""

    @cached_property
    def _plan(self) -> tuple[tuple[str, str, str, bool, bool, Callable[..., Raw]], ...]:
        return tuple(
            (f.wire, f.name, f.argument, f.is_required, f.node.admits_null, f.node.check)
            for f in self.fields
        )

    def field(self, spelling: str) -> ObjectField | None:
        """Return the field of a key in either spelling."""
        return next((f for f in self.fields if spelling in {f.wire, f.name}), None)

    def check(self, value: Raw, path: Path, report: Report) -> Raw:
        """Return an instance; one that exists already is returned unchanged.

        Null counts as an absent key, except for a field whose type has null among its values.
        """
        if isinstance(value, self.cls):
            return value
        if not is_mapping(value):
            report.mismatch(self, value, path)
            return value
        if report.is_too_deep(path):
            return value
        before = report.n_found
        first = len(report.issues)
        missing: list[Issue] = []
        arguments: dict[str, Raw] = {}
        n_known = 0
        for wire, name, argument, is_required, admits_null, check in self._plan:
            key = wire
            given = value.get(wire, _ABSENT)
            if given is _ABSENT:
                key = name
                given = value.get(name, _ABSENT)
            if given is not _ABSENT:
                n_known += 1
                if given is not None or admits_null:
                    arguments[argument] = check(given, (*path, key), report)
                    continue
            if is_required:
                key = wire if given is _ABSENT else key
                missing.append(Issue("missing required value", (*path, key)))
        if missing:
            report.move_to_front(first, missing)
        if n_known != len(value):
            self._check_rest(value, path, report, arguments)
        return value if report.n_found != before else self._make(arguments, path, report)

    def _check_rest(
        self, value: Mapping[Raw, Raw], path: Path, report: Report, arguments: dict[str, Raw]
    ) -> None:
        rest: dict[Raw, Raw] = {}
        for key, member in value.items():
            if not isinstance(key, str):
                report.add(path, f"expected string as key but got {preview(key)}")
                continue
            field = self.field(key)
            if field is None:
                rest[key] = member
            elif key == field.name != field.wire in value:
                report.add((*path, key), f'given twice, also as "{field.wire}"')
        if self.rest is not None:
            arguments[self.rest.argument] = self.rest.node.check(rest, path, report)
            return
        spellings = [f.wire for f in self.fields] + [f.name for f in self.fields]
        for key in rest:
            report.add((*path, clip(key)), f"unknown key{did_you_mean(key, spellings)}")

    def _make(self, arguments: dict[str, Raw], path: Path, report: Report) -> Raw:
        try:
            return self.cls(**arguments)
        except ValidationError as error:
            for issue in error.issues:
                report.add((*path, *issue.path), issue.message)
        except (TypeError, ValueError) as error:  # a rule across fields, in __attrs_post_init__
            report.add(path, str(error))
        return arguments

    def dump(self, value: Raw, how: Dump, *, keep: str = "") -> Raw:
        """Return the members by wire name; `keep` names a field that is written in any case."""
        raw: dict[str, Raw] = {}
        for field in self.fields:
            member = getattr(value, field.name)
            if not how.lean or field.name == keep or not field.is_default(member):
                raw[field.wire] = field.node.dump(member, how)
        if self.rest is not None:
            raw.update(self.rest.node.dump(getattr(value, self.rest.name), how))
        return raw

    def schema(self, definitions: Definitions) -> dict[str, Raw]:
        """Return a reference to the class among the definitions."""
        return definitions.reference(self)

    def children(self) -> tuple[Node, ...]:
        """Return the nodes of the fields."""
        rest = () if self.rest is None else (self.rest.node,)
        return (*(field.node for field in self.fields), *rest)


def is_factory(default: Raw) -> bool:
    """Return whether a default is made anew each time."""
    return isinstance(default, cast("type", attrs.Factory))


def did_you_mean(key: str, known: Iterable[str]) -> str:
    """Return a hint such as `, did you mean "token"?`, empty when nothing is close."""
    from difflib import get_close_matches

    close = get_close_matches(clip(key), list(known), n=1)
    return f', did you mean "{close[0]}"?' if close else ""


def same(left: Raw, right: Raw) -> bool:
    """Return whether two values are equal including their types, unlike `1 == True`."""
    if type(left) is not type(right):
        return False
    if is_mapping(left):
        return left.keys() == right.keys() and all(same(left[key], right[key]) for key in left)
    if is_list(left):
        pairs = zip(left, right, strict=False)
        return len(left) == len(right) and all(same(a, b) for a, b in pairs)
    return bool(left == right)
