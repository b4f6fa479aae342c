"""Define what can go wrong when a large text is put aside.

HarnessError
└── SpillError                the store cannot keep a text or a file
    └── SpillUnsafeError      a directory on the way could be controlled by somebody else
"""

from __future__ import annotations

from harness.errors import HarnessError


class SpillError(HarnessError):
    """Report that the store could not keep something; nothing half-written is left."""

    code = "SPILL_FAILED"


class SpillUnsafeError(SpillError):
    """Report a directory that is not ours, is a link, or that others may write to."""

    code = "SPILL_UNSAFE"
