"""Compile the short schema notation that tools are written in to JSON schema.

A spec is like the JSON schema it becomes, with three differences: `required: True` stands on the
property itself, objects must say whether they take further properties, and the type `json` admits
any JSON value. The parameters of a tool are a map of property specs; their root object is open.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeAlias, cast

from harness.tools.errors import JsonSchemaError
from harness.tools.json_schema import (
    ANNOTATIONS,
    SCALAR_TYPES,
    check_annotations,
    check_choices,
    open_node,
)
from harness.wire import FrozenDict, snapshot_json

ValueSchemaSpec: TypeAlias = Mapping[str, Any]
"""Spec of one value: a type with its own keys, or `oneOf`, and annotations."""

ParameterSchemaSpec: TypeAlias = Mapping[str, Mapping[str, Any]]
"""Specs of the parameters by name."""

_OWN_KEYS: Final[dict[str, tuple[str, ...]]] = {
    **dict.fromkeys(SCALAR_TYPES, ("enum", "const")),
    "array": ("items",),
    "object": ("properties", "additionalProperties"),
    "json": (),
}


def compile_value_spec(spec: ValueSchemaSpec, *, path: str = "schema") -> FrozenDict:
    """Compile the spec of one value to a frozen JSON schema.

    Raises:
        JsonSchemaError: listing every violation with its path.
    """
    compiler = _Compiler()
    return compiler.finish(compiler.value(spec, path, (), is_property=False))


def compile_parameters(spec: ParameterSchemaSpec, *, path: str = "parameters") -> FrozenDict:
    """Compile a map of property specs to the frozen JSON schema of an open object.

    Raises:
        JsonSchemaError: listing every violation with its path.
    """
    compiler = _Compiler()
    return compiler.finish({"type": "object", **compiler.properties(spec, path, ())})


class _Compiler:
    """Compile one spec, collecting every violation on the way."""

    def __init__(self) -> None:
        self._violations: list[str] = []

    def finish(self, schema: dict[str, Any]) -> FrozenDict:
        """Freeze the result, or report what was wrong."""
        if self._violations:
            raise JsonSchemaError(self._violations)
        return snapshot_json(schema)

    def properties(self, spec: object, path: str, ancestors: tuple[int, ...]) -> dict[str, Any]:
        """Compile a property map to `properties` and, when not empty, `required`."""
        node = open_node(spec, path, self._violations, ancestors)
        if node is None:
            return {}
        inner = (*ancestors, id(node))
        compiled: dict[str, Any] = {}
        required: list[str] = []
        for name, item in node.items():
            if not isinstance(name, str):
                self._refuse(path, "must have string keys")
                continue
            compiled[name] = self.value(item, f"{path}.{name}", inner, is_property=True)
            if isinstance(item, dict) and cast("dict[str, Any]", item).get("required") is True:
                required.append(name)
        return {"properties": compiled, **({"required": required} if required else {})}

    def value(
        self, spec: object, path: str, ancestors: tuple[int, ...], *, is_property: bool
    ) -> dict[str, Any]:
        """Compile the spec of one value."""
        node = open_node(spec, path, self._violations, ancestors)
        if node is None:
            return {}
        inner = (*ancestors, id(node))
        kind = node.get("type")
        if "oneOf" in node:
            own: tuple[str, ...] = ("oneOf",)
        elif isinstance(kind, str) and kind in _OWN_KEYS:
            own = ("type", *_OWN_KEYS[kind])
        else:
            self._refuse(f"{path}.type", f"must be one of {', '.join(sorted(_OWN_KEYS))}")
            return {}
        allowed = (*own, *ANNOTATIONS, *(("required",) if is_property else ()))
        for key in node:
            if key not in allowed:
                self._refuse(f"{path}.{key}", f"does not belong to {own[0]} {kind or ''}".rstrip())
        if "required" in node and is_property and node["required"] is not True:
            self._refuse(f"{path}.required", "must be True or absent")
        check_annotations(node, path, self._violations)
        head = (
            self._one_of(node, path, inner)
            if "oneOf" in node
            else self._typed(node, cast("str", kind), path, inner)
        )
        return {**head, **{key: node[key] for key in ANNOTATIONS if key in node}}

    def _one_of(
        self, node: dict[Any, Any], path: str, ancestors: tuple[int, ...]
    ) -> dict[str, Any]:
        branches = node["oneOf"]
        if not isinstance(branches, list | tuple) or len(cast("Sequence[Any]", branches)) < 2:
            self._refuse(f"{path}.oneOf", "must be a list of at least two specs")
            return {}
        return {
            "oneOf": [
                self.value(branch, f"{path}.oneOf[{index}]", ancestors, is_property=False)
                for index, branch in enumerate(cast("Sequence[Any]", branches))
            ]
        }

    def _typed(
        self, node: dict[Any, Any], kind: str, path: str, ancestors: tuple[int, ...]
    ) -> dict[str, Any]:
        if kind == "json":
            return {}
        if kind == "array":
            if "items" not in node:
                return {"type": kind}
            items = self.value(node["items"], f"{path}.items", ancestors, is_property=False)
            return {"type": kind, "items": items}
        if kind == "object":
            if not isinstance(node.get("additionalProperties"), bool):
                self._refuse(f"{path}.additionalProperties", "must be given, as true or false")
            inner: dict[str, Any] = {}
            if "properties" in node:
                inner = self.properties(node["properties"], f"{path}.properties", ancestors)
            return {"type": kind, **inner, "additionalProperties": node.get("additionalProperties")}
        check_choices(node, kind, path, self._violations)
        return {"type": kind, **{key: node[key] for key in ("enum", "const") if key in node}}

    def _refuse(self, path: str, problem: str) -> None:
        self._violations.append(f"{path} {problem}")
