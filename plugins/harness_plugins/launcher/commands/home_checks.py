"""Check the home: directory, settings, credentials, `.env` files, keys."""

import os
import stat
from collections.abc import Iterator
from pathlib import Path

from harness.credentials import CredentialsError, CredentialsFile
from harness.launch import Home, LaunchError
from harness.yaml_edit import YamlError, read_yaml_file
from harness_plugins.launcher.commands.auth_keys import SOURCES, launch_keys, masked
from harness_plugins.launcher.commands.checks import Finding, fail, ok, warn
from harness_plugins.launcher.commands.command import Surroundings
from harness_plugins.launcher.route import COMPATIBLE_KEY, OFFICIAL_KEY


def home_findings(surroundings: Surroundings) -> Iterator[Finding]:
    """Yield what is in the home, and whether it can be used."""
    try:
        home = surroundings.home()
    except LaunchError as error:
        yield fail("home", str(error), "set DSH_HOME to a directory")
        return
    directory = _directory(home)
    yield directory
    if directory.state == "fail":
        return
    yield _settings(home)
    yield _credentials(home)
    yield from _environment(surroundings)


def _directory(home: Home) -> Finding:
    """Check the mode bits as well as the rights: for root every right is there."""
    root = home.root
    try:
        status = os.stat(root)
    except FileNotFoundError:
        return _missing(home)
    except OSError as error:
        return fail("home", f"{root}: {error.strerror}", f"make {root} a directory of yours")
    if not stat.S_ISDIR(status.st_mode):
        return fail("home", f"{root} is no directory", "move it away, or set DSH_HOME")
    is_usable = os.access(root, os.R_OK | os.W_OK | os.X_OK)
    mode = stat.S_IMODE(status.st_mode)
    if not is_usable or mode & 0o700 != 0o700:
        return fail("home", f"{root} has mode {mode:04o}: not usable", f"chmod 700 {root}")
    if mode & 0o077:
        fact = f"{root} has mode {mode:04o}: others can look into it"
        return warn("home", fact, f"chmod 700 {root}")
    return ok("home", f"{root}, chosen by {home.origin}")


def _missing(home: Home) -> Finding:
    """Return whether a home that does not exist yet could be made."""
    parent = home.root.parent
    while not parent.exists() and parent != parent.parent:
        parent = parent.parent
    if parent.is_dir() and os.access(parent, os.W_OK | os.X_OK):
        return ok("home", f"{home.root} does not exist yet; it is made on first use")
    return fail("home", f"{home.root} cannot be made: {parent} takes no directory", "set DSH_HOME")


def _settings(home: Home) -> Finding:
    path = home.settings_file
    try:
        document = read_yaml_file(path)
    except YamlError as error:
        return fail("settings", str(error), "see all of it: dsh config check")
    except OSError as error:
        return fail("settings", f"{path}: {error.strerror}", f"chmod 600 {path}")
    if not path.exists():
        return ok("settings", "no file; the defaults apply")
    return _private("settings", path, f"{len(document.value)} sections")


def _credentials(home: Home) -> Finding:
    path = home.credentials_file
    try:
        stored = CredentialsFile(path).read()
    except CredentialsError as error:
        return fail("credentials", str(error), f"chmod 600 {path}, or mend the line")
    except OSError as error:
        return fail("credentials", f"{path}: {error.strerror}", f"chmod 600 {path}")
    return ok("credentials", f"{len(stored.refs)} stored keys, {len(stored.records)} records")


def _environment(surroundings: Surroundings) -> Iterator[Finding]:
    try:
        keys = launch_keys(surroundings)
    except LaunchError as error:
        yield fail(".env", str(error), "mend that line")
        return
    yield ok(".env", f"{len(keys.environment.project)} of the project,"
             f" {len(keys.environment.user)} of the home")  # fmt: skip
    try:
        found = [key for key in map(keys.find, (OFFICIAL_KEY, COMPATIBLE_KEY)) if key is not None]
    except (CredentialsError, OSError):
        return  # the check of the credentials file has said so
    if not found:
        fix = f"dsh auth set {OFFICIAL_KEY}, or name a server: dsh run --base-url URL"
        yield warn("keys", "none", fix)
    else:
        shown = (
            f"{key.name} {masked(key.value.reveal())} ({SOURCES[key.source]})" for key in found
        )
        yield ok("keys", ", ".join(shown))


def _private(name: str, path: Path, fact: str) -> Finding:
    """Return whether a readable file is the user's alone."""
    mode = stat.S_IMODE(path.stat().st_mode)
    if mode & 0o077:
        return warn(name, f"{path} has mode {mode:04o}: others may read it", f"chmod 600 {path}")
    return ok(name, fact)
