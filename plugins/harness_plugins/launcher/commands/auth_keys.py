"""Store, list and forget keys; a key is never printed beyond its last four characters."""

import asyncio
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from harness.credentials import (
    CredentialsFile,
    InvalidCredentialError,
    check_reference,
    check_secret,
)
from harness.launch import LaunchEnvironment, capture_environment
from harness_plugins.launcher.commands.answer import answer, rows
from harness_plugins.launcher.commands.command import Surroundings
from harness_plugins.launcher.complaint import Complaint
from harness_plugins.launcher.descriptors import STDIN, complain_on_stderr, is_terminal
from harness_plugins.launcher.errors import CommandError, UsageError
from harness_plugins.launcher.keys import Keys
from harness_plugins.launcher.route import COMPATIBLE_KEY, OFFICIAL_KEY

SOURCES: Mapping[str, str] = {
    "process": "environment",
    "store": "stored",
    "project-env": ".env of this directory",
    "user-env": ".env of the home",
}
_KEY_NAME = re.compile(r"[A-Z][A-Z0-9_]*_API_KEY")
_MAX_STDIN_BYTES = 64 * 1024
_SHOWN_FROM = 8  # of a shorter secret four characters would be too much


def store_key(name: str, surroundings: Surroundings) -> int:
    """Read a secret and store it.

    Raises:
        CommandError: the name is none, the environment shadows it, or the secret is none.
    """
    try:
        check_reference(name)
    except InvalidCredentialError as error:
        raise UsageError(str(error), "see: dsh auth set --help") from None
    if surroundings.environ.get(name, "").strip():
        raise CommandError(
            Complaint(
                "INVALID_CREDENTIAL",
                f"{name} is set in the environment, which comes first, so a stored one would have"
                " no effect",
                (f"unset {name}, then try again",),
            )
        )
    home = surroundings.home()
    store = CredentialsFile(home.credentials_file)
    store.read()  # what is wrong with the file is said before anybody types a secret
    try:
        secret = check_secret(_read_secret(name), name)
    except InvalidCredentialError as error:
        raise CommandError(Complaint("INVALID_CREDENTIAL", str(error))) from None
    home.ensure()
    asyncio.run(store.set(name, secret))
    place = home.display(home.credentials_file)
    text = f"stored {name} ({masked(secret)}) in {place}\n"
    return answer(surroundings, {"name": name, "lastFour": last_four(secret), "file": place}, text)


def forget_keys(names: list[str], surroundings: Surroundings) -> int:
    """Remove keys from the store; all of them exist, or nothing is removed.

    Raises:
        CommandError: there is no such key.
    """
    home = surroundings.home()
    store = CredentialsFile(home.credentials_file)
    stored = store.read().refs
    for name in names:
        if name not in stored:
            there = ", ".join(stored) or "none"
            raise CommandError(
                Complaint("MISSING_CREDENTIAL", f"{name} is not stored", (f"stored are: {there}",))
            )
    asyncio.run(_forget(store, names))
    return answer(surroundings, {"removed": names}, f"removed {', '.join(names)}\n")


def list_keys(surroundings: Surroundings) -> int:
    """Print every key with its source, stored records as well."""
    known = launch_keys(surroundings)
    stored = known.store.read()
    names = sorted({*stored.refs, *_names(known.environment), OFFICIAL_KEY, COMPATIBLE_KEY})
    keys = [key for key in map(known.find, names) if key is not None]
    document = {
        "keys": [
            {"name": key.name, "source": key.source, "lastFour": last_four(key.value.reveal()),
             "stored": key.name in stored.refs}
            for key in keys
        ],
        "records": [{"key": key, "type": kind} for key, kind in sorted(stored.records.items())],
    }  # fmt: skip
    if not keys and not stored.records:
        complain_on_stderr(f"no keys; to store one: dsh auth set {OFFICIAL_KEY}\n")
    text = rows((key.name, SOURCES[key.source], masked(key.value.reveal())) for key in keys)
    text += rows((key, f"record, {kind}") for key, kind in sorted(stored.records.items()))
    return answer(surroundings, document, text)


def launch_keys(surroundings: Surroundings) -> Keys:
    """Return the keys that a run in this directory would have.

    Raises:
        DotenvError: a `.env` cannot be used.
    """
    home = surroundings.home()
    environment = capture_environment(
        surroundings.environ, project_dir=Path(surroundings.cwd), home_dir=home.root
    )
    return Keys(environment, CredentialsFile(home.credentials_file))


def masked(secret: str) -> str:
    """Return the last four characters of a secret behind `…`, which is all for a short one."""
    return f"…{last_four(secret)}"


def last_four(secret: str) -> str:
    """Return the last four characters of a secret, none of a short one."""
    return secret[-4:] if len(secret) >= _SHOWN_FROM else ""


async def _forget(store: CredentialsFile, names: list[str]) -> None:
    for name in names:
        await store.unset(name)


def _names(environment: LaunchEnvironment) -> Iterator[str]:
    """Yield the names of variables that look like keys."""
    for layer in (environment.process, environment.project, environment.user):
        yield from filter(_KEY_NAME.fullmatch, layer)


def _read_secret(name: str) -> str:
    if is_terminal(STDIN):
        from getpass import getpass

        try:
            return getpass(f"{name} (not shown): ")
        except EOFError:
            return ""
    data = sys.stdin.buffer.read(_MAX_STDIN_BYTES + 1)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InvalidCredentialError(f"the value of {name} is not UTF-8") from None
    return text
