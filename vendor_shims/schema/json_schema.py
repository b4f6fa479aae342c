"""Describe config classes as JSON schema, draft 2020-12."""

from __future__ import annotations

import inspect

from vendor_shims.schema.compile import node_of
from vendor_shims.schema.docs import field_docs
from vendor_shims.schema.node import Dump, Node
from vendor_shims.schema.objects import ObjectField, ObjectNode
from vendor_shims.schema.scalars import InstanceNode
from vendor_shims.schema.shapes import Raw

DIALECT = "https://json-schema.org/draft/2020-12/schema"
"""Value of `$schema` in exported schemas."""


def json_schema(cls: object, *, dialect: bool = True) -> dict[str, Raw]:
    """Return the schema of a config class or type; equal input gives equal output, key by key.

    Classes inside become `$defs`, so that recursion works. `x-role`, `x-secret` and `x-volatile`
    carry what JSON schema has no word for. Defaults of secrets are left out.

    Args:
        cls: Config class or type expression.
        dialect: Put `$schema` first.

    Raises:
        SchemaError: The class cannot be used.
    """
    node = node_of(cls)
    definitions = _Definitions(node)
    body = definitions.describe(node) if isinstance(node, ObjectNode) else node.schema(definitions)
    head: dict[str, Raw] = {"$schema": DIALECT} if dialect else {}
    tail: dict[str, Raw] = {"$defs": definitions.schemas} if definitions.schemas else {}
    return {**head, **body, **tail}


class _Definitions:
    """The classes met so far, each under a name of its own."""

    def __init__(self, root: Node) -> None:
        self.schemas: dict[str, Raw] = {}
        self._root = root
        self._names: dict[int, str] = {}

    def reference(self, node: Node) -> dict[str, Raw]:
        """Return a `$ref` to the schema of an object node, defining it when it is new."""
        assert isinstance(node, ObjectNode)  # only object nodes ask for a reference
        if node is self._root:
            return {"$ref": "#"}
        name = self._names.get(id(node))
        if name is None:
            name = self._free_name(node.cls.__name__)
            self._names[id(node)] = name
            self.schemas[name] = {}
            self.schemas[name] = self.describe(node)
        return {"$ref": f"#/$defs/{name}"}

    def describe(self, node: ObjectNode) -> dict[str, Raw]:
        """Return the schema of a class, fields in the order of their declaration."""
        docs = field_docs(node.cls)
        schema: dict[str, Raw] = {"type": "object", "title": node.cls.__name__}
        doc = node.cls.__dict__.get("__doc__")
        if doc:
            schema["description"] = inspect.cleandoc(doc)
        schema["properties"] = {
            field.wire: self._describe_field(field, docs.get(field.name, ""))
            for field in node.fields
        }
        required = [field.wire for field in node.fields if field.is_required]
        if required:
            schema["required"] = required
        rest = None if node.rest is None else node.rest.node.schema(self)
        schema["additionalProperties"] = False if rest is None else rest["additionalProperties"]
        return schema

    def _describe_field(self, field: ObjectField, doc: str) -> dict[str, Raw]:
        schema = dict(field.node.schema(self))
        if field.doc or doc:
            schema["description"] = field.doc or doc
        default = None if field.is_required else field.make_default()
        if not field.is_required and (default is None or not _is_private(field.node)):
            schema["default"] = field.node.dump(default, Dump(lean=True))
        if field.role:
            schema["x-role"] = field.role
        return schema

    def _free_name(self, name: str) -> str:
        candidate, number = name, 2
        while candidate in self.schemas:
            candidate, number = f"{name}{number}", number + 1
        return candidate


def _is_private(node: Node) -> bool:
    return node.holds_secret() or any(isinstance(n, InstanceNode) for n in (node, *node.children()))
