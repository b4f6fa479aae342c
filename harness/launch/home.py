"""Find the harness's home directory and name what lies in it."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Literal, TypeAlias

import attrs

from harness.launch.errors import HomeError

HomeOrigin: TypeAlias = Literal["config", "environment", "default"]


@attrs.frozen
class Home:
    """The home directory, who chose it, and the layout inside it.

    What belongs to this program alone lies under `py/`; the files above it have formats that the
    upstream program reads too. Nothing here touches the disk except `ensure`.
    """

    root: Path
    origin: HomeOrigin

    @property
    def credentials_file(self) -> Path:
        """Return the shared credentials document, mode 0600."""
        return self.root / ".credentials.yaml"

    @property
    def settings_file(self) -> Path:
        """Return the shared settings document, mode 0600."""
        return self.root / "settings.yaml"

    @property
    def env_file(self) -> Path:
        """Return the user's `.env`."""
        return self.root / ".env"

    @property
    def upstream_sessions(self) -> Path:
        """Return upstream's sessions: read and imported from, never written."""
        return self.root / "sessions"

    @property
    def own(self) -> Path:
        """Return the subtree that only this program writes."""
        return self.root / "py"

    @property
    def profiles(self) -> Path:
        """Return the directory of profiles, one folder each."""
        return self.own / "profiles"

    @property
    def patch_file(self) -> Path:
        """Return the patch layer that applies to all profiles."""
        return self.own / "cordis.patch.yml"

    @property
    def sessions(self) -> Path:
        """Return the directory of session logs, one folder per working directory."""
        return self.own / "sessions"

    @property
    def attachments(self) -> Path:
        """Return the attachment store of the current format version."""
        return self.own / "attachments" / "v1"

    @property
    def storages(self) -> Path:
        """Return the directory of typed tables."""
        return self.own / "storages"

    @property
    def cache(self) -> Path:
        """Return the directory whose content may be deleted at any time."""
        return self.own / "cache"

    @property
    def logs(self) -> Path:
        """Return the directory of the program's own logs."""
        return self.own / "logs"

    def ensure(self) -> None:
        """Make the home directory with mode 0700 when it is missing.

        Raises:
            HomeError: it cannot be made, or something else has its name.
        """
        try:
            self.root.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise HomeError(
                f"cannot make the home directory {self.root}: {error.strerror}; "
                f"set DSH_HOME to a directory that can be written"
            ) from error

    def display(self, path: Path) -> str:
        """Return a path for people: one under home begins with `~/.dsh` or `$DSH_HOME`."""
        prefix = {"environment": "$DSH_HOME", "default": "~/.dsh"}.get(self.origin)
        if prefix is None or not path.is_relative_to(self.root):
            return str(path)
        inner = path.relative_to(self.root).as_posix()
        return prefix if inner == "." else f"{prefix}/{inner}"


def resolve_home(
    configured: Path | str | None,
    environ: Mapping[str, str],
    *,
    user_home: Path | None = None,
) -> Home:
    """Return the home directory: configured, else `DSH_HOME`, else `~/.dsh`.

    Blank text counts as unset. Relative paths are made absolute from the working directory.

    Args:
        configured: from the command line or a library call.
        environ: the process environment, not read from anywhere else.
        user_home: what `~` stands for, the operating system's answer by default.

    Raises:
        HomeError: `~` is needed and this user has no home directory.
    """
    choices: tuple[tuple[Path | str | None, HomeOrigin], ...] = (
        (configured, "config"),
        (environ.get("DSH_HOME"), "environment"),
    )
    for chosen, origin in choices:
        text = os.fspath(chosen) if chosen is not None else ""
        if text.strip():
            return Home(Path(os.path.abspath(expand_tilde(text, user_home=user_home))), origin)
    return Home((user_home or _user_home()) / ".dsh", "default")


def expand_tilde(path: str, *, user_home: Path | None = None) -> str:
    """Expand a leading `~` followed by a separator or nothing; `~user` stays as it is.

    Raises:
        HomeError: this user has no home directory.
    """
    separators = ("/", "\\") if os.name == "nt" else ("/",)
    if path != "~" and not (path.startswith("~") and path[1:2] in separators):
        return path
    return str(user_home or _user_home()) + path[1:]


def _user_home() -> Path:
    try:
        return Path.home()
    except RuntimeError as error:
        raise HomeError("this user has no home directory; set DSH_HOME to a directory") from error
