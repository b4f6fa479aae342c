"""Describe a tool to the model: name, description and JSON-schema parameters."""

from collections.abc import Mapping
from typing import Any

from attrs import field, frozen

from harness.wire import FrozenDict, freeze_json


@frozen
class ToolSchema:
    """Declare one tool of a request; `parameters` is a frozen JSON-schema object."""

    name: str
    description: str
    parameters: FrozenDict = field(converter=freeze_json)
    defer_loading: bool = field(default=False, kw_only=True)

    def to_json(self) -> FrozenDict:
        """Return the form that the request header keeps."""
        data: dict[str, Any] = {
            "name": self.name,
            "description": self.description,
            "parameters": self.parameters,
        }
        if self.defer_loading:
            data["deferLoading"] = True
        return FrozenDict(data)

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> "ToolSchema":
        """Read the form of the request header."""
        return cls(
            value["name"],
            value["description"],
            value["parameters"],
            defer_loading=value.get("deferLoading") is True,
        )
