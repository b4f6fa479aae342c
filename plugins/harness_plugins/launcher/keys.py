"""Look up keys and settings as one run sees them: environment, stored secrets, `.env` files."""

import attrs

from harness.credentials import Credential, CredentialsFile, resolve_credential
from harness.launch import LaunchEnvironment


@attrs.frozen
class Keys:
    """Join the environment of a launch with the stored secrets of its home."""

    environment: LaunchEnvironment
    store: CredentialsFile

    def setting(self, name: str) -> str | None:
        """Return a variable without blanks around it; None when it is unset or blank."""
        found = self.environment.get(name)
        return None if found is None else found.value.strip() or None

    def find(self, name: str) -> Credential | None:
        """Return the secret of a name, or None.

        Raises:
            CredentialsError, OSError: the stored secrets are needed and cannot be read.
        """
        return resolve_credential(name, self.environment, self.store)

    def outside_process(self, name: str) -> str | None:
        """Return a secret that the process environment lacks; an adapter reads that by itself.

        Raises:
            CredentialsError, OSError: as `find`.
        """
        found = self.find(name)
        return None if found is None or found.source == "process" else found.value.reveal()
