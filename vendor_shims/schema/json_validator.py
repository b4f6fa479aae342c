"""Validate JSON values against a schema that exists as JSON, such as a tool's parameters.

The subset: `type` (one or several), `enum`, `const`, `properties`, `required`,
`additionalProperties`, `minProperties`, `maxProperties`, `items`, `prefixItems`, `minItems`,
`maxItems`, `uniqueItems`, `minLength`, `maxLength`, `pattern`, `minimum`, `maximum`,
`exclusiveMinimum`, `exclusiveMaximum`, `anyOf`, `oneOf`, `$ref` into the schema's own `$defs` or
`definitions`. Annotations and `x-…` keywords are ignored; anything else is refused at construction,
because ignoring a constraint would let wrong values through.
"""

from __future__ import annotations

from collections.abc import Sequence

from vendor_shims.cordis.errors import Issue, ValidationError
from vendor_shims.schema.errors import SchemaError
from vendor_shims.schema.json_compiler import SchemaCompiler
from vendor_shims.schema.report import MAX_DEPTH, Report
from vendor_shims.schema.shapes import Raw


class JsonSchema:
    """A compiled JSON schema.

    The schema is borrowed: do not change it afterwards. Nothing is coerced and no default is filled
    in; `3.0` counts as an integer; numbers must be finite. Regular expressions are trusted like
    code.

    Args:
        schema: The schema, an object.
        title: First line of error messages.

    Raises:
        SchemaError: Something in the schema is outside the subset or malformed; lists everything.
    """

    def __init__(self, schema: Raw, *, title: str = "invalid arguments:") -> None:
        compiler = SchemaCompiler(schema)
        self._check = compiler.compile_root()
        if compiler.problems:
            raise SchemaError("unsupported JSON schema:", compiler.problems)
        self._title = title
        self.schema = schema

    def issues(self, value: Raw) -> Sequence[Issue]:
        """Return everything that is wrong with `value`, empty when nothing is."""
        report = Report()
        try:
            self._check(value, (), report)
        except RecursionError:
            return [Issue(f"nested deeper than {MAX_DEPTH} levels")]
        return report.final()

    def validate(self, raw: Raw) -> Raw:
        """Return `raw` unchanged.

        Raises:
            ValidationError: It does not match; carries every issue.
        """
        if issues := self.issues(raw):
            raise ValidationError(issues, title=self._title)
        return raw
