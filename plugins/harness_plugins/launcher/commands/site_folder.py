"""Know what is installed in a profile's directory of packages, and take things out of it."""

import os
import re
from collections.abc import Iterable, Mapping
from importlib.metadata import Distribution, distributions
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit
from urllib.request import url2pathname

from harness.wire import JsonDecodeError, loads

PLUGIN_GROUP = "harness.plugins"
BUNDLE_GROUP = "harness.bundles"
_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?")


class Installed(NamedTuple):
    """Describe an installed distribution.

    Attributes:
        name: as its author writes it.
        version: its version.
        summary: one line about it; may be empty.
        needs: the normalised names of what it requires without extras.
        bundles: the layers that it offers.
        plugins: the plugins that it offers.
        editable_from: the project directory that it is used from; empty for a copy.
    """

    name: str
    version: str
    summary: str
    needs: tuple[str, ...]
    bundles: tuple[str, ...]
    plugins: tuple[str, ...]
    editable_from: str


def normalized(name: str) -> str:
    """Return the form of a distribution's name in which equal ones are equal."""
    return re.sub(r"[-_.]+", "-", name).lower()


def requirement_name(text: str) -> str:
    """Return the normalised name at the beginning of a requirement; empty when there is none."""
    found = _NAME.match(text)
    return normalized(found.group()) if found else ""


def installed_in(site: Path) -> Mapping[str, Installed]:
    """Return what is installed in a directory, by normalised name; nothing when it is missing."""
    found = map(_describe, _readable(site))
    return {normalized(each.name): each for each in sorted(found, key=lambda one: one.name.lower())}


def reachable(roots: Iterable[str], installed: Mapping[str, Installed]) -> set[str]:
    """Return the normalised names of the installed roots and of everything that they need."""
    found: set[str] = set()
    waiting = [name for name in roots if name in installed]
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += [need for need in installed[name].needs if need in installed]
    return found


def root_of(requirement: str, installed: Mapping[str, Installed]) -> str:
    """Return the normalised name of the distribution that a requirement stands for."""
    if not requirement.startswith("-e "):
        return requirement_name(requirement)
    folder = requirement[3:]
    for name, each in installed.items():
        if each.editable_from == folder:
            return name
    return normalized(os.path.basename(folder))


def take_out(site: Path, names: Iterable[str]) -> None:
    """Delete the files of distributions, and directories that are empty afterwards."""
    wanted = set(names)
    for each in _readable(site):
        if normalized(each.name) in wanted:
            for path in _files(each, site):
                _delete(path, site)


def _readable(site: Path) -> list[Distribution]:
    """Return the distributions of a directory; one whose metadata somebody deleted is none."""
    found = distributions(path=[str(site)])
    return [each for each in found if each.metadata.get_all("Name")]


def _describe(found: Distribution) -> Installed:
    needs = (
        requirement_name(line) for line in found.requires or () if "extra ==" not in _marker(line)
    )
    points = found.entry_points
    return Installed(
        found.name,
        found.version,
        _summary(found),
        tuple(need for need in needs if need),
        tuple(point.name for point in points.select(group=BUNDLE_GROUP)),
        tuple(point.name for point in points.select(group=PLUGIN_GROUP)),
        _editable_from(found),
    )


def _editable_from(found: Distribution) -> str:
    """Return the directory that an editable installation points to, as pip notes it."""
    try:
        note: Any = loads(found.read_text("direct_url.json") or "{}")
        is_editable = note["dir_info"]["editable"] is True
        return path_of_url(note["url"]) if is_editable else ""
    except (JsonDecodeError, KeyError, TypeError):
        return ""


def path_of_url(url: str) -> str:
    """Return the path that a `file:` address names."""
    return url2pathname(urlsplit(url).path)


def _summary(found: Distribution) -> str:
    lines = found.metadata.get_all("Summary") or [""]
    return lines[0]


def _marker(requirement: str) -> str:
    return " ".join(requirement.partition(";")[2].split())


def _files(found: Distribution, site: Path) -> list[Path]:
    """Return the files of a distribution that lie in the directory, scripts included."""
    paths: list[Path] = []
    for each in found.files or ():
        # Scripts are recorded as ../../bin/x; nothing outside is meant, whatever a record says.
        parts = [part for part in each.parts if part != ".." and not os.path.isabs(part)]
        path = site.joinpath(*parts)
        paths.append(path)
        if path.suffix == ".py":
            paths += (path.parent / "__pycache__").glob(f"{path.stem}.*.pyc")
    return paths


def _delete(path: Path, site: Path) -> None:
    path.unlink(missing_ok=True)
    parent = path.parent
    while parent != site and parent.is_dir() and not any(parent.iterdir()):
        parent.rmdir()
        parent = parent.parent
