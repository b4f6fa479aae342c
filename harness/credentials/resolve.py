"""Find a secret: the process environment, then the store, then the `.env` files."""

from typing import Literal, TypeAlias

import attrs

from harness.credentials.file import CredentialsFile
from harness.launch import LaunchEnvironment
from vendor_shims.schema import Secret

CredentialSource: TypeAlias = Literal["process", "store", "project-env", "user-env"]


@attrs.frozen
class Credential:
    """A secret, and where it was found; `repr` shows no value."""

    name: str
    value: Secret[str]
    source: CredentialSource


def resolve_credential(
    name: str, environment: LaunchEnvironment, store: CredentialsFile
) -> Credential | None:
    """Return the secret of a name, or None; blank values count as unset.

    The store is read only when the process environment has nothing.

    Raises:
        CredentialsError: the store cannot be used.
        OSError: it cannot be read.
    """
    found = environment.get_from(name, ("process",))
    if found is not None and found.value.strip():
        return Credential(name, Secret(found.value), "process")
    stored = store.read().refs.get(name)
    if stored is not None:
        return Credential(name, stored, "store")
    for layer in ("project-env", "user-env"):
        found = environment.get_from(name, (layer,))
        if found is not None and found.value.strip():
            return Credential(name, Secret(found.value), layer)
    return None
