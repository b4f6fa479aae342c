"""Open, list, make, reset and remove the profiles of a home."""

import os
import shutil
from collections.abc import Generator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

import attrs

from harness.errors import HarnessError
from harness.launch import Home
from harness.profiles.errors import (
    ProfileError,
    ProfileFileError,
    ProfileNameError,
    ProfileStorageError,
    UnknownProfileError,
)
from harness.profiles.profile import (
    PROFILE_FILE,
    Profile,
    check_profile_name,
    is_profile_name,
)
from harness.profiles.profile_file import read_profile, render_profile, with_lists
from harness.profiles.templates import TEMPLATES, Template

Templates = Mapping[str, Template]


@attrs.frozen(kw_only=True)
class ProfileListing:
    """One line of the list of profiles.

    Attributes:
        name: the name.
        folder: where the profile lies, or would lie.
        is_template: whether a template of that name is shipped.
        profile: what it says; for a template that was never used, what it would say. None when
            its file is at fault.
        problem: what is wrong with it.
    """

    name: str
    folder: Path
    is_template: bool
    profile: Profile | None = None
    problem: ProfileError | None = None


def open_profile(
    home: Home, name: str, *, saves: bool = True, templates: Templates = TEMPLATES
) -> Profile:
    """Return a profile; one that has a template is made at its first use.

    A bundle list that equals an older one of the template is replaced by the current one; any
    other list is the user's.

    Args:
        home: where the profiles lie.
        name: the profile.
        saves: whether a new profile and a replaced list are written; without it the disk is
            only read.
        templates: the shipped templates.

    Raises:
        UnknownProfileError: there is neither such a profile nor such a template.
        ProfileError: the name, the file or the disk is at fault.
    """
    folder = home.profiles / check_profile_name(name)
    template = templates.get(name)
    found = read_profile(folder)
    if found is None:
        if template is None and folder.is_dir():
            raise ProfileFileError(folder / PROFILE_FILE, 0, "is missing; it lists the bundles")
        if template is None:
            raise _unknown(home, name, templates)
        return _write_new(home, folder, template) if saves else _from_template(folder, template)
    if template is None or found.profile.bundles not in template.older:
        return found.profile
    upgraded = with_lists(found, bundles=template.bundles)
    if saves:
        with suppress(ProfileStorageError):  # this run has the current list in any case
            _write(upgraded.profile, upgraded.text)
    return upgraded.profile


def list_profiles(home: Home, *, templates: Templates = TEMPLATES) -> tuple[ProfileListing, ...]:
    """Return the profiles of a home and the templates not used yet, by name.

    A profile whose file is at fault is listed with its problem.

    Raises:
        ProfileStorageError: the folder of profiles cannot be read.
    """
    return tuple(_listing(home, name, templates) for name in _names(home, templates))


def new_profile(
    home: Home, name: str, template: str = "headless", *, templates: Templates = TEMPLATES
) -> Profile:
    """Make a profile with the bundles and the surface of a template.

    Raises:
        ProfileNameError: the name is taken, or no profile can have it.
        UnknownProfileError: there is no such template.
        ProfileStorageError: the disk refuses.
    """
    folder = home.profiles / check_profile_name(name)
    chosen = _template(template, templates)
    if os.path.lexists(folder):
        raise ProfileNameError(
            f"there is a profile {name!r} already",
            hints=(f"to start it over: dsh profile reset {name}",),
        )
    return _write_new(home, folder, chosen)


def reset_profile(
    home: Home, name: str, *, templates: Templates = TEMPLATES
) -> tuple[Profile, Path | None]:
    """Make a shipped profile anew, and keep the old one as `NAME.bak-<n>`.

    Returns:
        The new profile and the folder that the old one was moved to; None when there was none.

    Raises:
        UnknownProfileError: no template has the name.
        ProfileError: the name or the disk is at fault; the old profile is where it was.
    """
    folder = home.profiles / check_profile_name(name)
    template = _template(name, templates)
    if not os.path.lexists(folder):
        return _write_new(home, folder, template), None
    with _storage(folder):
        backup = _renamed(folder, "bak")
        try:
            return _write_new(home, folder, template), backup
        except HarnessError:
            shutil.rmtree(folder, ignore_errors=True)
            os.rename(backup, folder)
            raise


def remove_profile(home: Home, name: str, *, templates: Templates = TEMPLATES) -> None:
    """Delete a profile with its patch layer and its packages; a shipped one comes back when used.

    Raises:
        UnknownProfileError: there is no such profile in the home.
        ProfileError: the name or the disk is at fault.
    """
    folder = home.profiles / check_profile_name(name)
    if not os.path.lexists(folder):
        raise _unknown(home, name, templates)
    with _storage(folder):
        if folder.is_symlink():
            folder.unlink()
        else:
            # Away under its name at once, so that an interruption leaves no half profile.
            shutil.rmtree(_renamed(folder, "removed"))


def change_profile(
    profile: Profile,
    *,
    bundles: tuple[str, ...] | None = None,
    requirements: tuple[str, ...] | None = None,
) -> Profile:
    """Write other lists into the file of a saved profile; its comments stay.

    Raises:
        ProfileError: the file is missing or at fault, or the disk refuses.
    """
    found = read_profile(profile.folder)
    if found is None:
        raise ProfileFileError(profile.file, 0, "is not there; open the profile first")
    changed = with_lists(found, bundles=bundles, requirements=requirements)
    _write(changed.profile, changed.text)
    return changed.profile


@contextmanager
def _storage(path: Path) -> Generator[None]:
    """Say that the disk refuses something at a path."""
    try:
        yield
    except OSError as error:
        raise ProfileStorageError(path, error) from error


def _write(profile: Profile, text: str) -> None:
    from harness.durable_files import atomic_write  # not needed by whoever only reads

    with _storage(profile.file):
        # The file may be a link into a folder that its user keeps under version control.
        atomic_write(os.path.realpath(profile.file), text.encode(), mode=0o600)


def _write_new(home: Home, folder: Path, template: Template) -> Profile:
    """Write the `profile.yml` of a new profile; a patch layer that is there already stays."""
    profile = _from_template(folder, template)
    home.ensure()
    _write(profile, render_profile(profile.bundles, profile.surface))
    return profile


def _from_template(folder: Path, template: Template) -> Profile:
    return Profile(
        name=folder.name, folder=folder, bundles=template.bundles, surface=template.surface
    )


def _renamed(folder: Path, mark: str) -> Path:
    """Rename a profile to the first free `NAME.<mark>-<n>`, which is no name of a profile."""
    number = 1
    while os.path.lexists(target := folder.with_name(f"{folder.name}.{mark}-{number}")):
        number += 1
    os.rename(folder, target)
    return target


def _names(home: Home, templates: Templates) -> list[str]:
    """Return the names of all profiles and templates; backups have none that counts."""
    made: list[str] = []
    with _storage(home.profiles), suppress(FileNotFoundError), os.scandir(home.profiles) as entries:
        made = [entry.name for entry in entries if is_profile_name(entry.name) and entry.is_dir()]
    return sorted({*made, *templates})


def _listing(home: Home, name: str, templates: Templates) -> ProfileListing:
    folder, is_template = home.profiles / name, name in templates
    try:
        profile = open_profile(home, name, saves=False, templates=templates)
    except ProfileError as error:
        return ProfileListing(name=name, folder=folder, is_template=is_template, problem=error)
    return ProfileListing(name=name, folder=folder, is_template=is_template, profile=profile)


def _template(name: str, templates: Templates) -> Template:
    template = templates.get(name)
    if template is None:
        raise UnknownProfileError(
            f"there is no template {name!r}; there are: {', '.join(sorted(templates))}"
        )
    return template


def _unknown(home: Home, name: str, templates: Templates) -> UnknownProfileError:
    names = ", ".join(_names(home, templates))
    return UnknownProfileError(
        f"there is no profile {name!r}; there are: {names}",
        hints=(f"to make one: dsh profile new {name}",),
    )
