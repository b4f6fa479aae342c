"""Hold what a profile says: its bundles, its surface, and what was installed for it."""

import re
from pathlib import Path
from typing import Final

import attrs

from harness.profiles.errors import ProfileNameError

PROFILE_FILE: Final = "profile.yml"
PATCH_FILE: Final = "cordis.patch.yml"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")


@attrs.frozen(kw_only=True)
class Profile:
    """A named stack of bundles, with a folder for what the user changes.

    Attributes:
        name: the name of the profile, which is that of its folder.
        folder: where it lies; may not exist yet for a profile that was not saved.
        bundles: names in the entry-point group `harness.bundles`, in the order of their layers.
        surface: the name of the surface that the profile boots.
        requirements: what `dsh plugin` installed into `site`, as pip takes it.
    """

    name: str
    folder: Path
    bundles: tuple[str, ...]
    surface: str
    requirements: tuple[str, ...] = ()

    @property
    def file(self) -> Path:
        """Return the path of `profile.yml`."""
        return self.folder / PROFILE_FILE

    @property
    def patch_file(self) -> Path:
        """Return the path of the profile's own patch layer, which need not exist."""
        return self.folder / PATCH_FILE

    @property
    def site(self) -> Path:
        """Return the directory of the packages installed for this profile."""
        return self.folder / "site"


def is_profile_name(name: str) -> bool:
    """Return whether a profile can have the name: 1 to 64 letters, digits, `-` and `_`."""
    return _NAME.fullmatch(name) is not None


def check_profile_name(name: str) -> str:
    """Return the name.

    Raises:
        ProfileNameError: no profile can have it.
    """
    if not is_profile_name(name):
        shown = name if len(name) <= 80 else name[:80] + "…"  # a whole file may be pasted by chance
        raise ProfileNameError(
            f"{shown!r} is no name of a profile: expected 1 to 64 letters, digits, '-' and '_',"
            " beginning with a letter or digit"
        )
    return name
