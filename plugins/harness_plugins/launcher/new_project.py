"""Write the project of a new plugin: a package with entry points, a bundle, and tests that pass."""

import errno
import keyword
import os
import re
import sys
from collections.abc import Mapping
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Final

from harness.launch import Home
from harness.profiles import BUNDLE_GROUP, TEMPLATES, LayerOptions, Profile, compose_profile
from harness_plugins.launcher.complaint import Complaint
from harness_plugins.launcher.errors import CommandError, UsageError
from harness_plugins.launcher.version import VERSION

MAX_NAME_CHARS: Final = 35
"""So that no line of the project is too long for its own formatter."""

_NAME: Final = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
_TEMPLATE: Final = "project_template"


def write_project(name: str, folder: Path) -> list[Path]:
    """Write a project called `name` into `folder`, which must not exist; return its files.

    Args:
        name: of the distribution, its plugin, its bundle and its row: lower-case words joined by
            dashes.
        folder: where the project lies afterwards. When writing fails, nothing of it is left, nor
            of the folders above it that were made.

    Raises:
        UsageError: nothing new can have that name.
        CommandError: the folder exists, or cannot be written.
    """
    words = _words(name)
    folder = Path(os.path.abspath(folder))
    template = resources.files("harness_plugins.launcher").joinpath(_TEMPLATE)
    made: list[Path] = []
    try:
        for each in (*reversed(folder.parents), folder):
            if each == folder or not each.is_dir():
                each.mkdir()
                made.append(each)
        _copy(template, folder, words)
    except BaseException as error:
        _undo(made, folder)
        if isinstance(error, OSError):
            raise _refused(error, folder) from error
        raise
    return sorted(path for path in folder.rglob("*") if path.is_file())


def check_new_name(name: str) -> str:
    """Return the name of the module for a new plugin called `name`.

    Raises:
        UsageError: no distribution can be called so, or there is something of that name, which
            would be found first.
    """
    module = name.replace("-", "_")
    if len(name) > MAX_NAME_CHARS or not _NAME.fullmatch(name):
        raise UsageError(
            f"{name[:80]!r} cannot be the name of a plugin",
            f"expected at most {MAX_NAME_CHARS} lower-case letters and digits, in words that one"
            " dash joins, such as word-count",
        )
    taken = _taken_by(name, module)
    if taken is not None:
        raise UsageError(
            f"{name!r} cannot be the name of a plugin: there is {taken} of that name already",
            "choose another name",
        )
    return module


def _words(name: str) -> Mapping[str, str]:
    """Return what is filled into the template, by word."""
    module = check_new_name(name)
    return {
        "PLUGIN": name,
        "MODULE": module,
        "CLASS": "".join(map(str.capitalize, module.split("_"))),
        "HARNESS_VERSION": VERSION,
    }


def _taken_by(name: str, module: str) -> str | None:
    """Return what a new plugin would be mistaken for, if anything."""
    if keyword.iskeyword(module):
        return "a word of Python"
    if module == "tests" or _is_importable(module):
        return "a module"
    from importlib.metadata import distributions, entry_points

    if any(distributions(name=name)):
        return "a distribution"
    if any(entry_points(group=group, name=name) for group in ("harness.plugins", BUNDLE_GROUP)):
        return "a plugin or a bundle"
    return "a row in a shipped profile" if name in _shipped_rows() else None


def _is_importable(module: str) -> bool:
    """Return whether an import of this name leads to something else; folders do not count."""
    from importlib.util import find_spec

    if module in sys.stdlib_module_names:
        return True
    spec = find_spec(module)
    return spec is not None and spec.origin is not None


def _shipped_rows() -> set[str]:
    """Return the ids of the rows that the shipped profiles have; a second one does not start."""
    nowhere = Home(Path(os.devnull), "default")
    options = LayerOptions(no_user_config=True)
    found: set[str] = set()
    for name, template in TEMPLATES.items():
        profile = Profile(
            name=name,
            folder=nowhere.root / name,
            bundles=template.bundles,
            surface=template.surface,
        )
        found.update(row["id"] for row in compose_profile(profile, nowhere, options).rows)
    return found


def _copy(template: Traversable, folder: Path, words: Mapping[str, str]) -> None:
    """Copy a tree of texts; `{{WORD}}` in a text and WORD as the name of a folder are filled in."""
    for item in template.iterdir():
        target = folder / words.get(item.name, item.name.removesuffix(".template"))
        if item.is_dir():
            target.mkdir()
            _copy(item, target, words)
        else:
            text = item.read_text(encoding="utf-8")
            for word, value in words.items():
                text = text.replace("{{" + word + "}}", value)
            target.write_text(text, encoding="utf-8", newline="\n")


def _undo(made: list[Path], folder: Path) -> None:
    """Delete the project, and the folders above it that were made for it and are empty."""
    import shutil
    from contextlib import suppress

    for each in reversed(made):
        if each == folder:
            shutil.rmtree(each, ignore_errors=True)
        else:
            with suppress(OSError):  # somebody else has put something there meanwhile
                each.rmdir()


def _refused(error: OSError, folder: Path) -> CommandError:
    from harness_plugins.launcher.failures import storage_complaint

    if isinstance(error, FileExistsError):
        if error.filename == str(folder):
            hint = "choose another name, or another folder with --to"
            return CommandError(Complaint("USAGE", f"{folder} exists already", (hint,)))
        error = NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), error.filename)
    return CommandError(storage_complaint(error, status=3, place=str(folder)))
