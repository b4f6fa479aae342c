"""Keep secrets in the shared credentials file, and find the one that a request needs."""

from harness.credentials.errors import (
    CredentialsError,
    CredentialsFormatError,
    CredentialsModeError,
    InvalidCredentialError,
)
from harness.credentials.file import CredentialsFile, StoredCredentials
from harness.credentials.names import check_reference, check_secret, is_reference
from harness.credentials.resolve import Credential, CredentialSource, resolve_credential
from harness.credentials.service import Credentials, CredentialsConfig, ResolvedSecret

__all__ = [
    "Credential",
    "CredentialSource",
    "Credentials",
    "CredentialsConfig",
    "CredentialsError",
    "CredentialsFile",
    "CredentialsFormatError",
    "CredentialsModeError",
    "InvalidCredentialError",
    "ResolvedSecret",
    "StoredCredentials",
    "check_reference",
    "check_secret",
    "is_reference",
    "resolve_credential",
]
