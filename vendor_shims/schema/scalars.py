"""Nodes without members: text, numbers, choices, paths, foreign objects."""

from __future__ import annotations

import math
from enum import Enum
from pathlib import Path as FilePath

from vendor_shims.schema.markers import alternatives
from vendor_shims.schema.node import Definitions, Node
from vendor_shims.schema.report import Path, Report
from vendor_shims.schema.shapes import Raw


class AnyNode(Node):
    """Anything, as it is."""

    admits_null = True

    def check(self, value: Raw, path: Path, report: Report) -> Raw:
        """Return the value unchanged."""
        del path, report
        return value

    def schema(self, definitions: Definitions) -> dict[str, Raw]:
        """Return the schema that allows everything."""
        del definitions
        return {}


class NullNode(Node):
    """Null alone."""

    kind = expected = "null"
    admits_null = True

    def check(self, value: Raw, path: Path, report: Report) -> Raw:
        """Return None."""
        if value is not None:
            report.mismatch(self, value, path)

    def schema(self, definitions: Definitions) -> dict[str, Raw]:
        """Return the null type."""
        del definitions
        return {"type": "null"}


class BooleanNode(Node):
    """True or false."""

    kind = expected = "boolean"

    def check(self, value: Raw, path: Path, report: Report) -> Raw:
        """Return the boolean."""
        if value is not True and value is not False:
            report.mismatch(self, value, path)
        return value

    def schema(self, definitions: Definitions) -> dict[str, Raw]:
        """Return the boolean type."""
        del definitions
        return {"type": "boolean"}


class StringNode(Node):
    """Text."""

    kind = expected = "string"

    def check(self, value: Raw, path: Path, report: Report) -> Raw:
        """Return the text."""
        if not isinstance(value, str):
            report.mismatch(self, value, path)
        return value

    def schema(self, definitions: Definitions) -> dict[str, Raw]:
        """Return the string type."""
        del definitions
        return {"type": "string"}


class IntegerNode(Node):
    """A whole number; JSON has one number type, so `3.0` is one."""

    kind = expected = "integer"

    def check(self, value: Raw, path: Path, report: Report) -> Raw:
        """Return the number as int."""
        if isinstance(value, int) and value is not True and value is not False:
            return value
        if isinstance(value, float) and value.is_integer():
            return int(value)
        report.mismatch(self, value, path)
        return value

    def schema(self, definitions: Definitions) -> dict[str, Raw]:
        """Return the integer type."""
        del definitions
        return {"type": "integer"}


def is_finite_number(value: Raw) -> bool:
    """Return whether `value` is a number that JSON can hold; booleans are none."""
    if isinstance(value, float):
        return math.isfinite(value)
    return isinstance(value, int) and not isinstance(value, bool)


class NumberNode(Node):
    """A finite number."""

    kind = expected = "number"

    def check(self, value: Raw, path: Path, report: Report) -> Raw:
        """Return the number as float."""
        if isinstance(value, float):
            if math.isfinite(value):
                return value
            report.broken("finite number", value, path, self)
        elif isinstance(value, int) and value is not True and value is not False:
            try:
                return float(value)
            except OverflowError:
                report.broken("number within floating point range", value, path, self)
        else:
            report.mismatch(self, value, path)
        return value

    def schema(self, definitions: Definitions) -> dict[str, Raw]:
        """Return the number type."""
        del definitions
        return {"type": "number"}


class LiteralNode(Node):
    """One of fixed scalars; type and value must agree, except that `1.0` is `1`."""

    kind = "literal"

    def __init__(self, values: tuple[Raw, ...]) -> None:
        self.values = values
        self.expected = alternatives(values)
        self.admits_null = None in values

    def check(self, value: Raw, path: Path, report: Report) -> Raw:
        """Return the equal literal."""
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        for literal in self.values:
            if type(literal) is type(value) and literal == value:
                return literal
        report.mismatch(self, value, path)
        return value

    def schema(self, definitions: Definitions) -> dict[str, Raw]:
        """Return `const` for one value, `enum` for several."""
        del definitions
        values = list(self.values)
        return {"const": values[0]} if len(values) == 1 else {"enum": values}


class EnumNode(LiteralNode):
    """A member of an enumeration, written as its value."""

    def __init__(self, enum: type[Enum]) -> None:
        super().__init__(tuple(member.value for member in enum))
        self._enum = enum

    def check(self, value: Raw, path: Path, report: Report) -> Raw:
        """Return the member."""
        if isinstance(value, self._enum):
            return value
        before = report.n_found
        literal = super().check(value, path, report)
        return literal if report.n_found != before else self._enum(literal)


class PathNode(StringNode):
    """A file path written as text."""

    def check(self, value: Raw, path: Path, report: Report) -> Raw:
        """Return the path object, neither resolved nor expanded."""
        return value if isinstance(value, FilePath) else self._from_text(value, path, report)

    def _from_text(self, value: Raw, path: Path, report: Report) -> Raw:
        if not isinstance(value, str):
            report.mismatch(self, value, path)
        elif "\0" in value:
            report.broken("path without NUL", value, path, self)
        else:
            return FilePath(value)
        return value


class InstanceNode(Node):
    """A Python object that no file can contain, such as a clock; given by code only."""

    kind = "instance"

    def __init__(self, cls: type) -> None:
        self._cls = cls
        self.expected = f"instance of {cls.__name__}"

    def check(self, value: Raw, path: Path, report: Report) -> Raw:
        """Return the object unchanged."""
        if not isinstance(value, self._cls):
            report.mismatch(self, value, path)
        return value

    def schema(self, definitions: Definitions) -> dict[str, Raw]:
        """Return an open schema that names the class."""
        del definitions
        return {"x-instance": self._cls.__name__}
