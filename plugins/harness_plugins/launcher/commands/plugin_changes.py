"""Install into a profile and remove from it, whole or not at all."""

import os
import shlex
import shutil
from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from harness.durable_files import read_owner, try_file_lock
from harness.launch import Home
from harness.profiles import Profile, change_profile, find_bundles
from harness.wire import dumps_text
from harness_plugins.launcher.commands.answer import answer
from harness_plugins.launcher.commands.command import Surroundings
from harness_plugins.launcher.commands.installer import Installer, Wanted
from harness_plugins.launcher.commands.parser import nearest
from harness_plugins.launcher.commands.site_folder import (
    Installed,
    installed_in,
    normalized,
    reachable,
    root_of,
    take_out,
)
from harness_plugins.launcher.commands.taken_names import taken_names
from harness_plugins.launcher.complaint import Complaint
from harness_plugins.launcher.descriptors import complain_on_stderr
from harness_plugins.launcher.errors import CommandError, UsageError

_NOTICE = """\
installing runs code of third parties: the build of a package now, and its plugins whenever
this profile is used, with all your rights
"""


class _Change(NamedTuple):
    """What a change did to the bundles of a profile."""

    profile: Profile
    added: tuple[str, ...]
    removed: tuple[str, ...]


def add_plugins(
    profile: Profile, specs: Sequence[str], editables: Sequence[str], surroundings: Surroundings
) -> int:
    """Install distributions with what they need, and put the layers that they offer at the end.

    Raises:
        CommandError: pip fails or is missing, or there is nothing to install.
    """
    _check_specs(specs, editables)
    with _only_change(profile):
        installer = Installer(surroundings.cwd, surroundings.environ)
        if _is_first(surroundings.home()):
            complain_on_stderr(_NOTICE)
        plan = installer.plan(specs, editables, profile.site)
        asked = [each for each in plan if each.was_asked_for]
        if not asked:
            names = ", ".join((*specs, *editables))
            text = f"{names}: already there, in this profile or in the host; nothing to do\n"
            return answer(surroundings, {"profile": profile.name, "added": []}, text)
        with _next_site(profile) as new:
            take_out(new, [normalized(each.name) for each in plan])
            installer.install(plan, new)
            requirements = _with(profile, asked)
            change = _put(profile, new, requirements)
    found = installed_in(profile.site)
    added = [found[normalized(each.name)] for each in asked]
    document = {
        "profile": profile.name,
        "added": [_facts(each) for each in added],
        "alsoInstalled": [each.name for each in plan if not each.was_asked_for],
        "bundlesAdded": change.added,
        "bundlesRemoved": change.removed,
    }
    text = "".join(f"added {each.name} {each.version}: {_offer(each)}\n" for each in added)
    complain_on_stderr("".join(taken_names(added, found)))
    if not surroundings.is_json:
        follow = (_follow(each.requirement[3:]) for each in asked if each.is_editable)
        complain_on_stderr("".join(follow))
    return answer(surroundings, document, text + _restart(change))


def remove_plugins(profile: Profile, names: Sequence[str], surroundings: Surroundings) -> int:
    """Remove distributions that were added, and what only they needed.

    Raises:
        CommandError: one of them was not added to this profile.
    """
    with _only_change(profile):
        gone = {normalized(name) for name in names}
        kept = profile.requirements
        installed = installed_in(profile.site)
        roots = {root_of(text, installed): text for text in kept}
        for name in names:
            if normalized(name) not in roots:
                raise _not_added(name, profile, roots)
        requirements = tuple(text for root, text in roots.items() if root not in gone)
        needed = reachable((root for root in roots if root not in gone), installed)
        with _next_site(profile) as new:
            take_out(new, set(installed) - needed)
            change = _put(profile, new, requirements)
    removed = [each.name for key, each in installed.items() if key not in needed]
    document = {
        "profile": profile.name,
        "removed": removed,
        "bundlesAdded": change.added,
        "bundlesRemoved": change.removed,
    }
    return answer(surroundings, document, f"removed {', '.join(removed)}\n" + _restart(change))


def _check_specs(specs: Sequence[str], editables: Sequence[str]) -> None:
    if not specs and not editables:
        raise UsageError("dsh plugin add needs something to add: a name, a path, a URL")
    for text in (*specs, *editables):
        if text.startswith("-") or not text.strip():
            raise UsageError(f"{text!r} is no distribution; options of pip are set in its own way")


@contextmanager
def _only_change(profile: Profile) -> Generator[None]:
    """Keep other changes of the same profile away."""
    lock = try_file_lock(profile.site)
    if lock is None:
        owner = read_owner(profile.site)
        who = f"process {owner.pid} on {owner.host}" if owner else "another process"
        raise CommandError(
            Complaint("STORAGE_DENIED", f"{who} changes this profile now", ("try again",), status=3)
        )
    try:
        yield
    finally:
        lock.release()


@contextmanager
def _next_site(profile: Profile) -> Generator[Path]:
    """Give a copy of the installed packages to work on; what is left of it is deleted."""
    new = profile.folder / f"site.new-{os.getpid()}"
    shutil.rmtree(new, ignore_errors=True)
    try:
        if profile.site.is_dir():
            shutil.copytree(profile.site, new, symlinks=True)
        else:
            new.mkdir(mode=0o700)
        yield new
    finally:
        shutil.rmtree(new, ignore_errors=True)


def _put(profile: Profile, new: Path, requirements: tuple[str, ...]) -> _Change:
    """Let the new packages take the place of the old ones, and reconcile the bundles."""
    hosts = find_bundles()  # what bears the name of one of those is not used
    before, after = (
        [name for name in _bundles(site) if name not in hosts] for site in (profile.site, new)
    )
    removed = tuple(name for name in before if name not in after)
    added = tuple(name for name in after if name not in profile.bundles)
    bundles = (*(name for name in profile.bundles if name not in removed), *added)
    old = profile.folder / f"site.old-{os.getpid()}"
    had_site = profile.site.is_dir()
    if had_site:
        profile.site.rename(old)
    try:
        if any(new.iterdir()):
            new.rename(profile.site)
        changed = change_profile(profile, bundles=bundles, requirements=requirements)
    except BaseException:
        if profile.site.is_dir():
            profile.site.rename(new)
        if had_site:
            old.rename(profile.site)
        raise
    shutil.rmtree(old, ignore_errors=True)
    return _Change(changed, added, removed)


def _bundles(site: Path) -> list[str]:
    return [name for each in installed_in(site).values() for name in each.bundles]


def _with(profile: Profile, asked: Iterable[Wanted]) -> tuple[str, ...]:
    """Return the requirements with new ones in the place of older ones of the same name."""
    installed = installed_in(profile.site)
    new = {normalized(each.name): each.requirement for each in asked}
    kept = [text for text in profile.requirements if root_of(text, installed) not in new]
    return (*kept, *new.values())


def _not_added(name: str, profile: Profile, roots: Iterable[str]) -> CommandError:
    known = sorted(roots)
    near = nearest(normalized(name), known)
    tail = f"; did you mean {near}?" if near else ""
    there = ", ".join(known) or "nothing"
    sentence = f"{name} was not added to the profile {profile.name}{tail}"
    return CommandError(Complaint("PLUGIN_NOT_FOUND", sentence, (f"added are: {there}",), status=3))


def _is_first(home: Home) -> bool:
    """Return whether no profile of the home has packages yet."""
    return not any(home.profiles.glob("*/site"))


def _facts(each: Installed) -> dict[str, object]:
    return {
        "name": each.name,
        "version": each.version,
        "bundles": each.bundles,
        "plugins": each.plugins,
    }


def _offer(each: Installed) -> str:
    """Return what a distribution gives to a composition."""
    parts = [f"layer {name}" for name in each.bundles]
    parts += [f"plugin {name}" for name in each.plugins]
    return ", ".join(parts) if each.bundles else ", ".join(["library, no layer", *parts])


def _follow(folder: str) -> str:
    """Return how the edits of a project are taken while a run goes on."""
    option = shlex.quote(f"hmr.root={dumps_text(['.', folder])}")
    return f"to take its edits while a run goes on: dsh --enable hmr --set {option} run …\n"


def _restart(change: _Change) -> str:
    if not (change.added or change.removed):
        return ""
    parts = [f"added {name}" for name in change.added]
    parts += [f"removed {name}" for name in change.removed]
    return f"bundles of {change.profile.name}: {', '.join(parts)}; what runs keeps the old ones\n"
