"""Nodes around another node: null allowed, constraints, secrets, volatile settings."""

from __future__ import annotations

from vendor_shims.schema.markers import Constraint
from vendor_shims.schema.node import Definitions, Dump, Node, dump_value
from vendor_shims.schema.report import Path, Report
from vendor_shims.schema.shapes import Raw, is_secret, is_volatile
from vendor_shims.schema.values import MASK, Secret, Volatile, thaw


class NullableNode(Node):
    """A type or null."""

    admits_null = True

    def __init__(self, inner: Node) -> None:
        self.inner = inner
        self.kind = inner.kind
        self.expected = f"{inner.expected} | null"

    def check(self, value: Raw, path: Path, report: Report) -> Raw:
        """Return None for null, else what the inner node makes of the value."""
        return None if value is None else self.inner.check(value, path, report)

    def dump(self, value: Raw, how: Dump) -> Raw:
        """Return null or the inner node's dump."""
        return None if value is None else self.inner.dump(value, how)

    def schema(self, definitions: Definitions) -> dict[str, Raw]:
        """Return a type list for plain types, else an alternative with null."""
        inner = self.inner.schema(definitions)
        if not inner:
            return inner
        if isinstance(inner.get("type"), str) and "enum" not in inner:
            return {**inner, "type": [inner["type"], "null"]}
        return {"anyOf": [inner, {"type": "null"}]}

    def children(self) -> tuple[Node, ...]:
        """Return the inner node."""
        return (self.inner,)


class ConstrainedNode(Node):
    """A type whose values obey further rules."""

    def __init__(self, inner: Node, rules: tuple[Constraint, ...]) -> None:
        self._inner = inner
        self._rules = rules
        self.kind = inner.kind
        self.expected = inner.expected

    def check(self, value: Raw, path: Path, report: Report) -> Raw:
        """Return the inner value after noting every rule that it breaks."""
        before = report.n_found
        checked = self._inner.check(value, path, report)
        if report.n_found == before:
            for rule in self._rules:
                if not rule.holds(checked):
                    report.broken(rule.describe(self.kind), value, path, self)
        return checked

    def dump(self, value: Raw, how: Dump) -> Raw:
        """Return the inner node's dump."""
        return self._inner.dump(value, how)

    def schema(self, definitions: Definitions) -> dict[str, Raw]:
        """Return the inner schema with the keywords of the rules."""
        schema = self._inner.schema(definitions)
        for rule in self._rules:
            schema |= rule.keywords(self.kind)
        return schema

    def children(self) -> tuple[Node, ...]:
        """Return the inner node."""
        return (self._inner,)


class SecretNode(Node):
    """A value that no message shows."""

    kind = "secret"

    def __init__(self, inner: Node) -> None:
        self.inner = inner
        self.expected = inner.expected
        self.admits_null = inner.admits_null

    def check(self, value: Raw, path: Path, report: Report) -> Raw:
        """Return the checked value inside a `Secret`."""
        report.masked += 1
        raw = value.reveal() if is_secret(value) else value
        checked = self.inner.check(raw, path, report)
        report.masked -= 1
        return Secret(checked)

    def dump(self, value: Raw, how: Dump) -> Raw:
        """Return a mask, or the value when secrets are to be revealed."""
        if not how.reveal:
            return MASK
        return self.inner.dump(value.reveal() if is_secret(value) else value, how)

    def schema(self, definitions: Definitions) -> dict[str, Raw]:
        """Return the inner schema marked with `x-secret`."""
        return {**self.inner.schema(definitions), "x-secret": True}


class VolatileNode(Node):
    """A setting that may be replaced while its plugin runs."""

    kind = "volatile"

    def __init__(self, inner: Node) -> None:
        self.inner = inner
        self.expected = inner.expected
        self.admits_null = inner.admits_null

    def check(self, value: Raw, path: Path, report: Report) -> Raw:
        """Return a new reference to the checked value."""
        raw = thaw(value.get()) if is_volatile(value) else value
        before = report.n_found
        checked = self.inner.check(raw, path, report)
        if report.n_found != before:
            return value
        try:
            return Volatile(checked)
        except TypeError:
            report.broken("plain data", raw, path, self)
            return value

    def dump(self, value: Raw, how: Dump) -> Raw:
        """Return the current snapshot as raw data."""
        return dump_value(thaw(value.get()) if is_volatile(value) else value, how)

    def schema(self, definitions: Definitions) -> dict[str, Raw]:
        """Return the inner schema marked with `x-volatile`."""
        return {**self.inner.schema(definitions), "x-volatile": True}

    def children(self) -> tuple[Node, ...]:
        """Return the inner node."""
        return (self.inner,)
