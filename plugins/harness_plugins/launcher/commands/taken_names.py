"""Find names of plugins and bundles that more than one distribution offers."""

from collections.abc import Iterable, Iterator, Mapping
from importlib.metadata import entry_points

from harness_plugins.launcher.commands.site_folder import BUNDLE_GROUP, PLUGIN_GROUP, Installed


def taken_names(added: Iterable[Installed], installed: Mapping[str, Installed]) -> Iterator[str]:
    """Yield a line for each name of an added distribution that another one offers already.

    Args:
        added: what has just been installed for a profile.
        installed: everything that is, with that.
    """
    for kind, group in (("plugin", PLUGIN_GROUP), ("bundle", BUNDLE_GROUP)):
        hosts = _owners(group)
        for one in added:
            for name in _names(one, kind):
                others = [each.name for each in installed.values() if name in _names(each, kind)]
                owner = hosts.get(name, one.name)
                if owner != one.name:
                    yield f"note: {kind} {name} stays that of {owner}, not that of {one.name}\n"
                elif len(others) > 1:
                    among = " and ".join(others)
                    yield f"note: {kind} {name} is offered by {among}; either may be used\n"


def _names(one: Installed, kind: str) -> tuple[str, ...]:
    return one.plugins if kind == "plugin" else one.bundles


def _owners(group: str) -> dict[str, str]:
    """Return which distribution of the host offers each name of a group."""
    found: dict[str, str] = {}
    for point in entry_points(group=group):
        found.setdefault(point.name, "the host" if point.dist is None else point.dist.name)
    return found
