"""Offer secrets to plugins as `ctx.credentials`."""

import os
from pathlib import Path
from typing import ClassVar

import attrs

from harness.credentials.file import CredentialsFile
from harness.credentials.resolve import CredentialSource, resolve_credential
from harness.launch import LaunchEnvironment, capture_environment
from vendor_shims.cordis import Context, Service
from vendor_shims.schema import config


@config
class CredentialsConfig:
    """Say where secrets are kept."""

    home: str
    """The home directory, with `.credentials.yaml` and `.env`."""
    project: str | None = None
    """The directory whose `.env` counts, by default the one that the process was started in."""


@attrs.frozen
class ResolvedSecret:
    """A secret that was found, and where; `repr` shows no value."""

    value: str = attrs.field(repr=False)
    source: CredentialSource


class Credentials(Service):
    """Find secrets; provided as `ctx.credentials`.

    Process environment, then the store, then the `.env` of the project and that of the home. The
    environment is read when the service starts, the store at every call, so that a key stored
    meanwhile is used by the next request.
    """

    key: ClassVar[str] = "credentials"
    Config = CredentialsConfig

    def __init__(self, ctx: Context, config: CredentialsConfig) -> None:
        """Read the environment, and both `.env` files.

        Raises:
            DotenvError: a `.env` cannot be taken.
        """
        super().__init__(ctx)
        home = Path(config.home)
        self._environment: LaunchEnvironment = capture_environment(
            os.environ, project_dir=Path(config.project or os.getcwd()), home_dir=home
        )
        self.store: CredentialsFile = CredentialsFile(home / ".credentials.yaml")
        """The stored secrets, to change them; the environment comes before them."""

    def resolve(self, name: str) -> ResolvedSecret | None:
        """Return the secret of a name, or None; a blank one counts as none.

        Raises:
            CredentialsError, OSError: the store is needed and cannot be used.
        """
        found = resolve_credential(name, self._environment, self.store)
        return None if found is None else ResolvedSecret(found.value.reveal(), found.source)
