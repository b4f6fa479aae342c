"""Other kinds of validators stand in for a config class."""

from __future__ import annotations

from typing import Any

import attrs
import pytest

from vendor_shims.cordis import Context, FiberState
from vendor_shims.schema import (
    Adapter,
    Issue,
    JsonSchema,
    SchemaError,
    ValidationError,
    adapt,
    config,
)


@config
class Settings:
    size: int = 1


@attrs.frozen
class Plain:
    size: int


def double(raw: Any) -> Any:
    if "size" not in raw:
        raise ValueError("size is needed")
    return raw["size"] * 2


class ListedError(Exception):
    def errors(self) -> list[dict[str, Any]]:
        return [{"msg": "too big", "loc": ("a", 0)}, {"msg": "odd", "loc": ()}]


class Model:
    @classmethod
    def model_validate(cls, raw: Any) -> Any:
        if raw.get("size") == 9:
            raise ListedError
        if raw.get("size") == 10:
            raise RuntimeError("broken model")
        return ("model", raw)


def test_what_validates_already_is_taken_as_it_is() -> None:
    schema = JsonSchema({"type": "object"})
    assert adapt(schema) is schema
    assert adapt(Settings) is Settings


def test_attrs_classes_functions_and_models_are_wrapped() -> None:
    assert adapt(Plain).validate({"size": 2}) == Plain(size=2)
    assert adapt(double).validate({"size": 2}) == 4
    assert adapt(Model).validate(None) == ("model", {})


def test_errors_become_issues() -> None:
    with pytest.raises(ValidationError) as caught:
        adapt(double).validate({})
    assert caught.value.issues == (Issue("size is needed"),)
    with pytest.raises(ValidationError) as caught:
        adapt(Model).validate({"size": 9})
    assert caught.value.issues == (Issue("too big", ("a", 0)), Issue("odd"))
    with pytest.raises(ValidationError) as caught:
        adapt(Plain).validate({"size": "x"})
    assert caught.value.issues == (Issue('expected integer but got "x"', ("size",)),)


def test_other_failures_of_a_model_are_its_own() -> None:
    with pytest.raises(RuntimeError, match="broken model"):
        adapt(Model).validate({"size": 10})


@pytest.mark.parametrize("wrong", [5, int, "text", None])
def test_what_cannot_validate_is_refused(wrong: Any) -> None:
    with pytest.raises(SchemaError, match="cannot validate configuration"):
        adapt(wrong)


@pytest.mark.spec("01-G01", "01-G02")
async def test_the_kernel_validates_with_any_of_them() -> None:
    seen: list[Any] = []

    class Plugin:
        Config: Any

        def __init__(self, validator: Any) -> None:
            self.Config = validator

        def apply(self, ctx: Context, config: Any) -> None:
            seen.append(config)

    async with Context() as root:
        for validator in (Settings, Adapter(double), JsonSchema({"type": "object"})):
            root.plugin(Plugin(validator), {"size": 2})
            bad = root.plugin(Plugin(validator), "no mapping")
            await root.settle()
            assert bad.state is FiberState.FAILED
            assert isinstance(bad.error, ValidationError)
            assert isinstance(bad.error, TypeError)
            assert str(bad.error).startswith("invalid ")
    assert seen == [Settings(size=2), 4, {"size": 2}]
