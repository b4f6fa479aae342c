"""Define the root of the harness error tree.

CordisError                 the kernel's root (`vendor_shims.cordis`)
└── HarnessError            root of every deliberate failure above the kernel
    └── one tree per package, drawn at the top of that package's `errors.py`
"""

from vendor_shims.cordis.errors import CordisError


class HarnessError(CordisError):
    """Report a deliberate failure with a stable, machine-readable `code`.

    Subclasses set `code` as a class attribute. A call may override it for one instance with
    `HarnessError(message, code="...")`. Codes are part of the public surface: callers branch on
    them, so a code is never renamed, and the message is for people only.
    """

    code: str = "HARNESS_ERROR"
