"""Compile JSON schemas to check functions, collecting everything that is unsupported."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping, Sequence

from vendor_shims.schema.json_checks import (
    TYPES,
    Branch,
    Check,
    choice,
    distinct,
    items,
    members,
    passes,
    refuses,
    rule,
    some_of,
    typed,
)
from vendor_shims.schema.json_references import References
from vendor_shims.schema.preview import preview
from vendor_shims.schema.scalars import is_finite_number
from vendor_shims.schema.shapes import Raw, is_list, is_mapping

_MAX_SCHEMA_DEPTH = 64
_MAX_SCHEMAS = 10_000

_ANNOTATIONS = frozenset(
    {
        *("title", "description", "default", "example", "examples", "deprecated", "format"),
        *("readOnly", "writeOnly", "contentEncoding", "contentMediaType", "$comment", "$schema"),
    }
)
_STRUCTURE = frozenset(
    {
        *("type", "const", "enum", "pattern", "properties", "required", "additionalProperties"),
        *("items", "prefixItems", "uniqueItems", "anyOf", "oneOf", "$ref", "$defs", "definitions"),
    }
)
_BOUNDS: Mapping[str, tuple[str, Callable[[Raw, Raw], bool]]] = {
    "minimum": (">=", operator.ge),
    "exclusiveMinimum": (">", operator.gt),
    "maximum": ("<=", operator.le),
    "exclusiveMaximum": ("<", operator.lt),
}
_SIZES: Mapping[str, tuple[str, str, Callable[[int, int], bool]]] = {
    "minLength": ("string", ">=", operator.ge),
    "maxLength": ("string", "<=", operator.le),
    "minItems": ("array", ">=", operator.ge),
    "maxItems": ("array", "<=", operator.le),
    "minProperties": ("object", ">=", operator.ge),
    "maxProperties": ("object", "<=", operator.le),
}
_KNOWN = _ANNOTATIONS | _STRUCTURE | _BOUNDS.keys() | _SIZES.keys()


class SchemaCompiler:
    """Compiles one schema document.

    Invariants: `problems` lists everything unsupported once `compile_root` returned; a check made
    before a problem was found is never used.
    """

    def __init__(self, document: Raw) -> None:
        self.problems: list[str] = []
        self._document = document
        self._references = References(document)
        self._n_schemas = 0

    def compile_root(self) -> Check:
        """Return the check of the whole document."""
        if not is_mapping(self._document):
            self._complain("schema", "must be an object")
            return refuses
        root = self._compile(self._document, "schema", 0, "#")
        for pointer in self._references.compile_pending(self._compile_target):
            self._complain("schema", f"has no {preview(pointer)} to refer to")
        for pointer in self._references.loops():
            self._complain("schema", f"refers to {preview(pointer)} from within itself")
        return root

    def _compile_target(self, schema: Raw, pointer: str) -> Check:
        return self._compile(schema, pointer, 0, pointer)

    def _complain(self, where: str, problem: str) -> None:
        self.problems.append(f"{where} {problem}")

    def _compile(self, schema: Raw, where: str, depth: int, owner: str | None) -> Check:
        """Return the check of one schema; `owner` is the pointer that it belongs to in place."""
        self._n_schemas += 1
        if schema is True or schema is False:
            return passes if schema else refuses
        if not is_mapping(schema):
            self._complain(where, "must be an object or a boolean")
        elif depth > _MAX_SCHEMA_DEPTH:
            self._complain("schema", f"is nested deeper than {_MAX_SCHEMA_DEPTH} levels")
        elif self._n_schemas > _MAX_SCHEMAS:
            self.problems = [f"schema has more than {_MAX_SCHEMAS} parts"]
        else:
            self._refuse_unknown(schema, where)
            checks = [
                *self._choices(schema, where),
                *self._limits(schema, where),
                *self._object(schema, where, depth),
                *self._list(schema, where, depth),
                *self._in_place(schema, where, depth, owner),
            ]
            return typed(self._types(schema, where), checks)
        return refuses

    def _refuse_unknown(self, schema: Mapping[Raw, Raw], where: str) -> None:
        for key in schema:
            if key not in _KNOWN and not str(key).startswith("x-"):
                self._complain(where, f"uses the keyword {preview(key)}, which is not supported")

    def _types(self, schema: Mapping[str, Raw], where: str) -> Sequence[str]:
        given = schema.get("type", ())
        names: Sequence[Raw] = [given] if isinstance(given, str) else given
        if "type" in schema and not (is_list(names) and names):
            self._complain(f"{where}.type", "must be a type name or a list of type names")
            return ()
        for name in names:
            if not isinstance(name, str) or name not in TYPES:
                self._complain(f"{where}.type", f"has no meaning for {preview(name)}")
        return [name for name in names if isinstance(name, str) and name in TYPES]

    def _choices(self, schema: Mapping[str, Raw], where: str) -> list[Check]:
        checks: list[Check] = []
        if "const" in schema:
            checks.append(choice([schema["const"]]))
        if "enum" in schema:
            values = schema["enum"]
            if is_list(values) and values:
                checks.append(choice(values))
            else:
                self._complain(f"{where}.enum", "must be a list with at least one value")
        return checks

    def _limits(self, schema: Mapping[str, Raw], where: str) -> list[Check]:
        checks: list[Check] = []
        for keyword, (symbol, compare) in _BOUNDS.items():
            limit = schema.get(keyword, 0)
            if not is_finite_number(limit):
                self._complain(f"{where}.{keyword}", "must be a number")
            elif keyword in schema:
                checks.append(_bound(limit, symbol, compare))
        for keyword, (kind, symbol, size_compare) in _SIZES.items():
            size = schema.get(keyword, 0)
            if not is_finite_number(size) or size != int(size) or size < 0:
                self._complain(f"{where}.{keyword}", "must be a whole number, not negative")
            elif keyword in schema:
                checks.append(_size(kind, int(size), symbol, size_compare))
        if "pattern" in schema:
            checks.extend(self._pattern(schema["pattern"], where))
        unique = schema.get("uniqueItems", False)
        if not isinstance(unique, bool):
            self._complain(f"{where}.uniqueItems", "must be true or false")
        elif unique:
            checks.append(rule("items that all differ", distinct, on="array"))
        return checks

    def _pattern(self, regex: Raw, where: str) -> list[Check]:
        try:
            compiled = re.compile(regex)
        except (re.error, TypeError) as error:
            self._complain(f"{where}.pattern", f"is not a regular expression: {error}")
            return []
        what = f"string matching /{regex}/"
        return [rule(what, lambda value: compiled.search(value) is not None, on="string")]

    def _object(self, schema: Mapping[str, Raw], where: str, depth: int) -> list[Check]:
        if schema.keys().isdisjoint({"properties", "required", "additionalProperties"}):
            return []
        given = schema.get("properties", {})
        declared: Mapping[str, Raw] = given if is_mapping(given) else {}
        if not is_mapping(given):
            self._complain(f"{where}.properties", "must be an object")
        required = schema.get("required", [])
        if not is_list(required) or not all(isinstance(key, str) for key in required):
            self._complain(f"{where}.required", "must be a list of property names")
            required = []
        properties = {
            key: self._compile(inner, f"{where}.properties.{key}", depth + 1, None)
            for key, inner in declared.items()
        }
        open_schema = schema.get("additionalProperties", True)
        additional = self._compile(open_schema, f"{where}.additionalProperties", depth + 1, None)
        return [members(properties, required, None if additional is refuses else additional)]

    def _list(self, schema: Mapping[str, Raw], where: str, depth: int) -> list[Check]:
        if schema.keys().isdisjoint({"items", "prefixItems"}):
            return []
        prefix = schema.get("prefixItems", [])
        if not is_list(prefix):
            self._complain(f"{where}.prefixItems", "must be a list of schemas")
            prefix = []
        first = [
            self._compile(inner, f"{where}.prefixItems[{index}]", depth + 1, None)
            for index, inner in enumerate(prefix)
        ]
        rest = self._compile(schema.get("items", True), f"{where}.items", depth + 1, None)
        return [items(first, rest)]

    def _in_place(
        self, schema: Mapping[str, Raw], where: str, depth: int, owner: str | None
    ) -> list[Check]:
        checks: list[Check] = []
        if "$ref" in schema:
            checks.append(self._reference(schema["$ref"], where, owner))
        for keyword in ("anyOf", "oneOf"):
            if keyword not in schema:
                continue
            given = schema[keyword]
            if not is_list(given) or not given:
                self._complain(f"{where}.{keyword}", "must be a list with at least one schema")
                continue
            branches = [
                Branch(
                    self._compile(inner, f"{where}.{keyword}[{index}]", depth + 1, owner),
                    self._tags(inner),
                )
                for index, inner in enumerate(given)
            ]
            checks.append(some_of(branches, exactly_one=keyword == "oneOf"))
        return checks

    def _reference(self, pointer: Raw, where: str, owner: str | None) -> Check:
        if not isinstance(pointer, str) or not pointer.startswith("#"):
            self._complain(f"{where}.$ref", 'must stay inside the schema, as in "#/$defs/name"')
            return refuses
        return self._references.follow(pointer, owner)

    def _tags(self, schema: Raw) -> Mapping[str, Raw]:
        """Return the constant members that an object schema demands, through one reference."""
        if is_mapping(schema) and isinstance(schema.get("$ref"), str):
            schema = self._references.find(schema["$ref"])
        properties = schema.get("properties") if is_mapping(schema) else None
        if not is_mapping(properties):
            return {}
        return {
            key: inner["const"]
            for key, inner in properties.items()
            if is_mapping(inner) and "const" in inner
        }


def _bound(limit: Raw, symbol: str, compare: Callable[[Raw, Raw], bool]) -> Check:
    return rule(f"number {symbol} {limit}", lambda value: compare(value, limit), on="number")


def _size(kind: str, limit: int, symbol: str, compare: Callable[[int, int], bool]) -> Check:
    what = f"{TYPES[kind][0]} of length {symbol} {limit}"
    return rule(what, lambda value: compare(len(value), limit), on=kind)
