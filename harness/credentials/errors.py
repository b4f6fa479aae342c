"""Define what can be wrong with stored secrets; no message ever holds a value.

HarnessError
└── CredentialsError                CREDENTIALS_ERROR    anything this package raises
    ├── CredentialsModeError        CREDENTIALS_MODE     others could read or replace the file
    ├── CredentialsFormatError      CREDENTIALS_INVALID  the file does not have the shared format
    └── InvalidCredentialError      CREDENTIAL_REFUSED   a name or a value that cannot be kept
"""

from harness.errors import HarnessError


class CredentialsError(HarnessError):
    """Report a credentials file that cannot be used; catch it to treat every kind alike."""

    code: str = "CREDENTIALS_ERROR"


class CredentialsModeError(CredentialsError):
    """Report a file that is not the user's alone; the message says how to make it so."""

    code: str = "CREDENTIALS_MODE"


class CredentialsFormatError(CredentialsError, ValueError):
    """Report content that is not the shared format, with file and line."""

    code: str = "CREDENTIALS_INVALID"


class InvalidCredentialError(CredentialsError, ValueError):
    """Report a name or a value that is refused before anything is written."""

    code: str = "CREDENTIAL_REFUSED"
