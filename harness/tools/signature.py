"""Turn a typed signature into a parameters schema and a converter of arguments."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any, cast, get_type_hints

import attrs

from harness.tools.arguments import explain_arguments
from harness.tools.errors import JsonSchemaError, ToolArgsError
from harness.tools.execution import ToolExecution
from harness.tools.json_schema import assert_supported_json_schema
from harness.tools.json_value import quote_path
from vendor_shims.cordis import Issue, ValidationError
from vendor_shims.schema import SchemaError, config, field, json_schema, structure


@attrs.frozen(eq=False)
class Signature:
    """Hold what a function takes and returns.

    `record` is a configuration class with one field per parameter; `execution_name` is the
    parameter that gets the execution, if there is one.
    """

    record: type[Any]
    schema: dict[str, Any]
    execution_name: str | None
    returns: Any

    def violations(self, args: object) -> list[str]:
        """Return what is wrong with arguments, in words for the model."""
        try:
            structure(self.record, args)
        except ValidationError as error:
            return [_violation(issue) for issue in error.issues]
        return []

    def bind(self, args: object, execution: ToolExecution) -> dict[str, Any]:
        """Return the keyword arguments of a call, converted to the annotated types.

        Raises:
            ToolArgsError: the arguments do not fit the annotations.
        """
        if not isinstance(args, dict):
            hint = f"; {explain_arguments(args)}" if isinstance(args, str) else ""
            raise ToolArgsError(['"arguments" must be an object'], hint=hint)
        try:
            record = structure(self.record, cast("dict[str, Any]", args))
        except ValidationError as error:
            raise ToolArgsError([_violation(issue) for issue in error.issues]) from error
        bound = {one.name: getattr(record, one.name) for one in attrs.fields(self.record)}
        if self.execution_name is not None:
            bound[self.execution_name] = execution
        return bound


def read_signature(function: Callable[..., Any], docs: Mapping[str, str]) -> Signature:
    """Read the signature of a function; `docs` describes parameters that say nothing themselves.

    Raises:
        TypeError: a parameter has no annotation, an annotation that JSON cannot fill, or cannot be
            given by name.
    """
    name = getattr(function, "__qualname__", repr(function))
    try:
        hints = get_type_hints(function, include_extras=True)
    except NameError as error:
        raise TypeError(
            f"tool function {name}: {error}; annotations must be importable at run time"
        ) from error
    namespace: dict[str, Any] = {"__annotations__": {}, "__module__": function.__module__}
    execution_name: str | None = None
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            raise TypeError(f"tool function {name}: {parameter} cannot be given by name")
        if parameter.name not in hints:
            raise TypeError(f"tool function {name}: parameter {parameter.name!r} has no type")
        if hints[parameter.name] is ToolExecution:
            execution_name = parameter.name
            continue
        namespace["__annotations__"][parameter.name] = hints[parameter.name]
        namespace[parameter.name] = _field_of(parameter, docs)
    try:
        record: type[Any] = config(type("Arguments", (), namespace))
        schema = json_schema(record, dialect=False)
    except SchemaError as error:
        raise TypeError(f"tool function {name}: {error}") from error
    del schema["title"]
    return Signature(record, schema, execution_name, hints.get("return", Any))


def output_schema_of(returns: Any) -> dict[str, Any]:  # noqa: ANN401  # any type expression
    """Return the schema of a return annotation, or of any JSON when the subset has none for it."""
    try:
        schema = json_schema(returns, dialect=False)
        assert_supported_json_schema(schema)
    except (SchemaError, JsonSchemaError):
        return {}
    return schema


def _field_of(parameter: inspect.Parameter, docs: Mapping[str, str]) -> object:
    doc, default = docs.get(parameter.name, ""), parameter.default
    if default is parameter.empty:
        return field(doc=doc, alias=parameter.name)
    if isinstance(default, list | dict | set):
        return field(factory=cast("Any", default).copy, doc=doc, alias=parameter.name)
    return field(default=default, doc=doc, alias=parameter.name)


def _violation(issue: Issue) -> str:
    path = ""
    for part in issue.path:
        path += f"[{part}]" if isinstance(part, int) else f".{part}" if path else part
    return f"{quote_path(path)}: {issue.message}"
