"""The settings of a home as a layer: each section is merged into the row that has its name."""

import os
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any, Final, cast

from harness.launch import Home
from harness.profiles.errors import SettingsInvalidError
from vendor_shims.include import Document, Layer, Row

if TYPE_CHECKING:
    from harness.yaml_edit import YamlDocument

_OPENING: Final = "${"


def settings_layer(home: Home, ids: Collection[str]) -> Layer | None:
    """Return what the settings say about rows; None when that is nothing.

    Sections of other names are for other programs that share the file. Values are plain: a text
    with `${` is that text and no expression.

    Args:
        home: whose `settings.yaml` it is.
        ids: of the rows that there are.

    Raises:
        SettingsInvalidError: the file cannot be read, or a section is no mapping.
    """
    path = home.settings_file
    if not os.path.lexists(path):
        return None
    from harness.yaml_edit import YamlSyntaxError, read_yaml_file

    try:
        document = read_yaml_file(path)
    except YamlSyntaxError as error:
        raise SettingsInvalidError(str(error)) from error
    except OSError as error:
        raise SettingsInvalidError(f"{path}: {error.strerror or error}") from error
    sections = {name: value for name, value in document.value.items() if name in ids}
    for name, value in sections.items():
        if not isinstance(value, dict):
            place = f"{path}:{document.line([name])}"
            raise SettingsInvalidError(f"{place}: section {name}: expected a mapping")
    if not sections:
        return None
    patches: list[Row] = [
        {"id": name, "merge": _literal(section)} for name, section in sections.items()
    ]
    marks = [_mark(document, [name], section) for name, section in sections.items()]
    whole = [1, 1, [[*mark[:2], {"id": mark[:2], "merge": mark}] for mark in marks]]
    shown = Document(str(path), document.text, patches, whole)
    return Layer(home.display(path), "settings", patches, file=str(path), document=shown)


def _literal(value: object) -> Any:  # noqa: ANN401 - a JSON value
    """Return a value in which no text is taken for an expression."""
    if isinstance(value, str):
        return value.replace(_OPENING, f"${_OPENING}")
    if isinstance(value, dict):
        given = cast("Mapping[str, object]", value)
        return {key: _literal(member) for key, member in given.items()}
    if isinstance(value, list):
        return [_literal(item) for item in cast("list[object]", value)]
    return value


def _mark(document: "YamlDocument", path: list[str], value: object) -> list[Any]:
    """Return where the key of a value stands, and those in it."""
    line, column = document.place(path)
    if not isinstance(value, dict):
        return [line, column]
    inner = cast("Mapping[str, object]", value)
    return [
        line,
        column,
        {key: _mark(document, [*path, key], member) for key, member in inner.items()},
    ]
