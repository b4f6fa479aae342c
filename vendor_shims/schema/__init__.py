"""Declare configuration as typed records; validate, describe and write them back.

One engine serves plugin configuration and tool parameters: `structure` for classes, `JsonSchema`
for schemas that exist as JSON.
"""

from vendor_shims.cordis.errors import Issue, ValidationError
from vendor_shims.schema.adapt import Adapter, Validator, adapt
from vendor_shims.schema.config import config, field
from vendor_shims.schema.errors import SchemaError
from vendor_shims.schema.json_schema import json_schema
from vendor_shims.schema.json_validator import JsonSchema
from vendor_shims.schema.markers import Constraint, Ge, Gt, Le, Lt, MaxLen, MinLen, OneOf, Pattern
from vendor_shims.schema.merge import merge, update_volatile
from vendor_shims.schema.structure import simplify, structure, unstructure
from vendor_shims.schema.values import Secret, Volatile

__all__ = [
    "Adapter",
    "Constraint",
    "Ge",
    "Gt",
    "Issue",
    "JsonSchema",
    "Le",
    "Lt",
    "MaxLen",
    "MinLen",
    "OneOf",
    "Pattern",
    "SchemaError",
    "Secret",
    "ValidationError",
    "Validator",
    "Volatile",
    "adapt",
    "config",
    "field",
    "json_schema",
    "merge",
    "simplify",
    "structure",
    "unstructure",
    "update_volatile",
]
