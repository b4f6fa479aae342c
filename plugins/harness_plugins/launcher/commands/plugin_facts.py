"""Tell what is installed for a profile, and why."""

from collections.abc import Mapping

from harness.profiles import Profile
from harness_plugins.launcher.commands.answer import answer, rows
from harness_plugins.launcher.commands.command import Surroundings
from harness_plugins.launcher.commands.parser import nearest
from harness_plugins.launcher.commands.site_folder import (
    Installed,
    installed_in,
    normalized,
    reachable,
    root_of,
)
from harness_plugins.launcher.complaint import Complaint
from harness_plugins.launcher.descriptors import complain_on_stderr
from harness_plugins.launcher.errors import CommandError


def list_plugins(profile: Profile, surroundings: Surroundings) -> int:
    """List the distributions of a profile; those that others need are marked."""
    installed = installed_in(profile.site)
    roots = _roots(profile, installed)
    document = {
        "profile": profile.name,
        "plugins": [_document(each, is_added=name in roots) for name, each in installed.items()],
    }
    if not installed:
        complain_on_stderr(f"nothing is installed for the profile {profile.name}\n")
    text = rows(
        (each.name, each.version, _offer(each) if name in roots else "needed by others")
        for name, each in installed.items()
    )
    return answer(surroundings, document, text)


def tell(profile: Profile, name: str, surroundings: Surroundings) -> int:
    """Print what is known about one distribution.

    Raises:
        CommandError: it is not installed.
    """
    installed = installed_in(profile.site)
    each = _find(name, profile, installed)
    roots = _roots(profile, installed)
    requirement = roots.get(normalized(each.name))
    document = _document(each, is_added=requirement is not None)
    document["requirement"] = requirement
    document["folder"] = str(profile.site)
    facts = [
        ("name", each.name),
        ("version", each.version),
        ("summary", each.summary),
        ("layers", " ".join(each.bundles)),
        ("plugins", " ".join(each.plugins)),
        ("needs", " ".join(each.needs)),
        ("added as", requirement or "not by name: others need it"),
        ("lies in", each.editable_from or str(profile.site)),
    ]
    return answer(surroundings, document, rows(fact for fact in facts if fact[1]))


def explain(profile: Profile, name: str, surroundings: Surroundings) -> int:
    """Print which added distributions need one, itself included.

    Raises:
        CommandError: it is not installed.
    """
    installed = installed_in(profile.site)
    each = _find(name, profile, installed)
    key = normalized(each.name)
    roots = _roots(profile, installed)
    reasons = [root for root in roots if key in reachable([root], installed)]
    lines = [
        f"{each.name} was added as {roots[key]}\n"
        if root == key
        else f"{installed[root].name}, added as {roots[root]}, needs {each.name}\n"
        for root in reasons
    ]
    document = {"name": each.name, "neededBy": [installed[root].name for root in reasons]}
    text = "".join(lines) or f"nothing that was added needs {each.name}\n"
    return answer(surroundings, document, text)


def _roots(profile: Profile, installed: Mapping[str, Installed]) -> Mapping[str, str]:
    return {root_of(text, installed): text for text in profile.requirements}


def _find(name: str, profile: Profile, installed: Mapping[str, Installed]) -> Installed:
    found = installed.get(normalized(name))
    if found is not None:
        return found
    near = nearest(normalized(name), installed)
    tail = f"; did you mean {near}?" if near else ""
    sentence = f"{name} is not installed for the profile {profile.name}{tail}"
    there = ", ".join(each.name for each in installed.values()) or "nothing"
    raise CommandError(
        Complaint("PLUGIN_NOT_FOUND", sentence, (f"installed are: {there}",), status=3)
    )


def _document(each: Installed, *, is_added: bool) -> dict[str, object]:
    return {
        "name": each.name,
        "version": each.version,
        "summary": each.summary,
        "bundles": each.bundles,
        "plugins": each.plugins,
        "needs": each.needs,
        "isAdded": is_added,
        "editableFrom": each.editable_from or None,
    }


def _offer(each: Installed) -> str:
    parts = [f"layer {name}" for name in each.bundles]
    parts += [f"plugin {name}" for name in each.plugins]
    return ", ".join(parts) or "library"
