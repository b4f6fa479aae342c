"""The kernel's error tree.

    CordisError                     everything the framework raises, with a stable `code`
    ├── InactiveEffect              registering on a fiber that is unloading, disposed or closed
    ├── ReentrantAwait              awaiting the end of something that is waiting for the caller
    ├── InvalidPlugin  (TypeError)  the object cannot be mounted
    ├── InvalidEffect  (TypeError)  a body or setup produced something that cannot be undone
    ├── ServiceConflict             two providers of one name in one realm
    ├── ServiceNotInjected  (AttributeError)  reading a name that was never declared
    ├── ServiceInactive     (AttributeError)  reading a declared name that nobody provides now
    ├── ValidationError (TypeError, ValueError)  a config or argument object, with all issues
    ├── ContextDisposed             waiting on a context whose fiber unloaded
    └── AbortError                  an abort signal fired

This module imports nothing from the package, so every other shim may import it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


def error_text(error: BaseException) -> str:
    """Return what an error says; a mark for one whose `__str__` raises, as foreign ones may."""
    try:
        return str(error)
    except Exception:
        return f"[unprintable {type(error).__name__}]"


class CordisError(Exception):
    """The base of all framework errors; `code` is stable and machine readable."""

    code: str = "CORDIS"

    def __init__(self, *args: object, code: str | None = None) -> None:
        super().__init__(*args)
        if code is not None:
            self.code = code


class InactiveEffect(CordisError):
    """Raised when something is registered on a fiber that no longer accepts registrations."""

    code = "INACTIVE_EFFECT"


class ReentrantAwait(CordisError, RuntimeError):
    """Raised instead of a deadlock when a setup or disposer awaits its own owner's end."""

    code = "REENTRANT_AWAIT"


class InvalidPlugin(CordisError, TypeError):
    """Raised by `ctx.plugin` for an object that is none of the accepted plugin forms."""

    code = "INVALID_PLUGIN"


class InvalidEffect(CordisError, TypeError):
    """Raised when an effect body or setup produces something other than disposers."""

    code = "INVALID_EFFECT"


class ServiceConflict(CordisError, RuntimeError):
    """Raised when a name is provided twice in one realm; names the holder."""

    code = "SERVICE_CONFLICT"


class ServiceNotInjected(CordisError, AttributeError):
    """Raised when a context reads a name that neither it nor an ancestor injected or provides."""

    code = "SERVICE_NOT_INJECTED"

    def __init__(self, message: str, *, name: str, fiber: object, hint: str = "") -> None:
        super().__init__(f"{message} ({hint})" if hint else message)
        self.name = name
        self.fiber = fiber
        self.hint = hint


class ServiceInactive(CordisError, AttributeError):
    """Raised when a declared service is read while its fiber has no binding committed."""

    code = "SERVICE_INACTIVE"

    def __init__(self, message: str, *, name: str, fiber: object, hint: str = "") -> None:
        super().__init__(f"{message} ({hint})" if hint else message)
        self.name = name
        self.fiber = fiber
        self.hint = hint


class Issue(NamedTuple):
    """One problem of a validated value: what is wrong and where it stands."""

    message: str
    path: tuple[str | int, ...] = ()

    def render(self) -> str:
        """Return the issue as one line that starts with its `$.a.b[0]` path."""
        return f"{render_path(self.path)} {self.message}"


def render_path(path: Sequence[str | int]) -> str:
    """Return a path such as `$.targets[0].url`."""
    return "$" + "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)


class ValidationError(CordisError, TypeError, ValueError):
    """Raised for a value that does not match its schema; carries every issue at once."""

    code = "VALIDATION_ERROR"

    def __init__(self, issues: Sequence[Issue], *, title: str = "invalid config:") -> None:
        self.issues = tuple(issues)
        super().__init__("\n".join([title, *(f"  - {issue.render()}" for issue in self.issues)]))


class ContextDisposed(CordisError):
    """Raised in whoever waits on a timer or stream of a context that unloaded."""

    code = "CONTEXT_DISPOSED"

    def __init__(self, message: str = "Context has been disposed") -> None:
        super().__init__(message)


class AbortError(CordisError):
    """Raised when an abort signal fires whose reason is not itself an exception."""

    code = "ABORTED"

    def __init__(self, reason: object = None) -> None:
        super().__init__("aborted" if reason is None else f"aborted: {reason}")
        self.reason = reason
