"""Own the base class of every error that the harness raises on purpose."""

from harness.errors.chain import error_chain
from harness.errors.errors import HarnessError

__all__ = ["HarnessError", "error_chain"]
