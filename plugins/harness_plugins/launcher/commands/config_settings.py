"""Show, store and forget one setting."""

import asyncio
from typing import Any

from harness.wire import JsonDecodeError, JsonEncodeError, dumps_text, loads
from harness.yaml_edit import YamlDocument
from harness_plugins.launcher.commands.answer import answer
from harness_plugins.launcher.commands.command import Surroundings
from harness_plugins.launcher.commands.config_check import section_problems
from harness_plugins.launcher.commands.settings_file import (
    SECTION,
    change_settings,
    read_settings,
)
from harness_plugins.launcher.complaint import Complaint
from harness_plugins.launcher.descriptors import complain_on_stderr
from harness_plugins.launcher.errors import CommandError, UsageError


def show_setting(name: str, surroundings: Surroundings) -> int:
    """Print the value of a setting: a text as it is, anything else as JSON.

    Raises:
        CommandError: it is not set.
    """
    path = _path(name)
    home = surroundings.home()
    value = _value(read_settings(home), path, name, home.display(home.settings_file))
    text = value if isinstance(value, str) else dumps_text(value)
    return answer(surroundings, {"name": name, "value": value}, f"{text}\n")


def store_setting(name: str, text: str, surroundings: Surroundings) -> int:
    """Change a setting to a JSON value, else to the text.

    Raises:
        CommandError: the name is none, or a whole section would not be a mapping.
        YamlError: the file cannot take the change.
    """
    path = _path(name)
    value = _json_or_text(text)
    if len(path) == 1 and not _is_section(value):
        raise UsageError(
            f"{name} is a section, which holds settings; for example: dsh config set {name}.KEY"
            f" {text}"
        )
    home = surroundings.home()
    asyncio.run(change_settings(home, lambda document: document.with_value(path, value)))
    place = home.display(home.settings_file)
    problems = section_problems(path[0], surroundings)
    complain_on_stderr("".join(f"dsh: note: {problem}\n" for problem in problems))
    document = {"name": name, "value": value, "file": place, "problems": problems}
    return answer(surroundings, document, f"set {name} to {dumps_text(value)} in {place}\n")


def forget_setting(name: str, surroundings: Surroundings) -> int:
    """Remove a setting, so that its default applies.

    Raises:
        CommandError: it is not set.
        YamlError: the file cannot take the change.
    """
    path = _path(name)
    home = surroundings.home()
    place = home.display(home.settings_file)
    _value(read_settings(home), path, name, place)
    asyncio.run(change_settings(home, lambda document: document.without(path)))
    return answer(surroundings, {"name": name, "file": place}, f"removed {name} from {place}\n")


def _is_section(value: object) -> bool:
    """Return whether a value can be a section."""
    return isinstance(value, dict)


def _json_or_text(text: str) -> Any:  # noqa: ANN401 - a JSON value
    try:
        value = loads(text)
    except JsonDecodeError:
        return text
    try:
        dumps_text(value)
    except JsonEncodeError as error:
        raise UsageError(f"{text!r} cannot be stored: {error}") from None
    return value


def _path(name: str) -> list[str]:
    """Return the keys that a dotted name means."""
    path = name.split(".")
    if not all(path) or SECTION.fullmatch(path[0]) is None:
        raise UsageError(
            f"{name!r} names no setting; expected SECTION.KEY, such as llm-deepseek.models"
        )
    return path


def _value(document: YamlDocument, path: list[str], name: str, place: str) -> Any:  # noqa: ANN401 - a JSON value
    try:
        return document.get(path)
    except KeyError:
        there = ", ".join(document.value) or "none"
        complaint = Complaint(
            "CONFIG_INVALID", f"{name} is not set in {place}", (f"sections: {there}",), status=1
        )
        raise CommandError(complaint) from None
