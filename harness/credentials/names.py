"""Say which names a secret can have, and which texts can be one."""

import re

from harness.credentials.errors import InvalidCredentialError

_REFERENCE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_RECORD = re.compile(r"[a-z][a-z0-9-]*/[a-z][a-z0-9-]*")
_MAX_CHARS = 16_384


def is_reference(name: str) -> bool:
    """Return whether a text can name a secret: it looks like an environment variable."""
    return _REFERENCE.fullmatch(name) is not None


def is_record_key(key: str) -> bool:
    """Return whether a text can name a record, `scope/id`."""
    return _RECORD.fullmatch(key) is not None


def check_reference(name: str) -> str:
    """Return the name.

    Raises:
        InvalidCredentialError: it does not look like an environment variable.
    """
    if not is_reference(name):
        raise InvalidCredentialError(
            f"{name!r} is no name for a secret;"
            " expected letters, digits and _, as in OPENAI_API_KEY"
        )
    return name


def check_secret(value: str, name: str) -> str:
    """Return the secret without blanks around it.

    Raises:
        InvalidCredentialError: it is empty, too long, or holds line ends or control characters.
    """
    secret = value.strip()
    if not secret:
        raise InvalidCredentialError(f"the value of {name} is empty")
    if len(secret) > _MAX_CHARS:
        raise InvalidCredentialError(f"the value of {name} is longer than {_MAX_CHARS} characters")
    if not secret.isprintable():
        raise InvalidCredentialError(
            f"the value of {name} holds line ends or control characters; was more than it pasted?"
        )
    return secret
