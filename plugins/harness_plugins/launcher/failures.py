"""Turn what can go wrong into complaints: exceptions, and turns that did not complete."""

import errno
import os
from typing import Any, cast

from harness.credentials import CredentialsError
from harness.errors import HarnessError, error_chain
from harness.launch import LaunchError
from harness.profiles import ProfileError
from harness.session_persistence import (
    SessionAlreadyOwnedError,
    SessionFormatUnsupportedError,
    SessionNotFoundError,
    SessionPersistenceCorruptionError,
)
from harness.yaml_edit import YamlError
from harness_plugins.launcher.complaint import Complaint
from harness_plugins.launcher.ending import NOT_RUN, Ending
from harness_plugins.launcher.errors import CommandError
from harness_plugins.launcher.interruption import READER_GONE, TIMEOUT, Cause
from harness_plugins.launcher.raised import place_raised
from harness_plugins.launcher.route import Route

_WHERE = "--debug shows how it came to that"
_DEFECT = "this is a defect; --debug shows where it happened"
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_REPAIRS = {
    "SESSION_LOCKED": "stop that process, or wait until it is done",
    "SESSION_CORRUPT": "the intact part can be read: dsh sessions show --raw ID",
    "SESSION_NOT_FOUND": "see what is stored: dsh sessions list --all",
}
_PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy")

_HINTS = {
    "STORAGE_DENIED": ("what is wrong with the home: dsh doctor", "to use another one: --home DIR"),
    "STORAGE_FULL": ("to use a home on another disk: --home DIR",),
}
_STORED = {
    SessionAlreadyOwnedError: "SESSION_LOCKED",
    SessionNotFoundError: "SESSION_NOT_FOUND",
    SessionPersistenceCorruptionError: "SESSION_CORRUPT",
}


def complaint_of(error: BaseException) -> Complaint:
    """Return the complaint that an exception stands for; an unforeseen one is `INTERNAL`."""
    cause = _only_cause(error)
    match cause:
        case CommandError():
            return cause.complaint
        case (
            SessionAlreadyOwnedError()
            | SessionNotFoundError()
            | SessionPersistenceCorruptionError()
        ):
            return _stored(_STORED[type(cause)], cause)
        case SessionFormatUnsupportedError():
            return Complaint("SESSION_FORMAT_UNSUPPORTED", str(cause))
        case LaunchError() | CredentialsError() | YamlError():
            return Complaint("CONFIG_INVALID", str(cause))
        case ProfileError():
            status = None if cause.code == "USAGE" else 3
            hints = cause.hints or _HINTS.get(cause.code, ())
            return Complaint(cause.code, str(cause), hints, status=status)
        case OSError():
            return storage_complaint(cause, status=3)
        case SystemExit():
            file, line = place_raised(cause) or ("", 0)
            said = f"a plugin ended the program: SystemExit: {cause}, raised at {file}:{line}"
            return Complaint("INTERNAL", said, (_WHERE,))
        case _:
            return _unforeseen(cause)


def storage_complaint(error: BaseException, *, status: int, place: str = "") -> Complaint:
    """Return the complaint about storage that refuses to take or to give something.

    `status` is 3 before a run has begun, 1 afterwards; `place` is named when the error names none.
    """
    cause = _only_cause(error)
    if not isinstance(cause, OSError):
        return complaint_of(cause)._replace(status=status)
    code = "STORAGE_FULL" if cause.errno in _FULL else "STORAGE_DENIED"
    where = cause.filename if isinstance(cause.filename, str | bytes) else place
    prefix = f"{where}: " if where else ""
    hints = _HINTS.get(code, ()) if where and where is not place else ()
    return Complaint(code, f"{prefix}{cause.strerror or cause}", hints, status=status)


def output_complaint(error: OSError) -> Complaint:
    """Return the complaint about a standard output that takes nothing any more."""
    if isinstance(error, BrokenPipeError):
        return interruption_complaint(READER_GONE)
    return storage_complaint(error, status=1, place="standard output")


def interruption_complaint(cause: Cause) -> Complaint:
    """Return the complaint about a run that was ended early."""
    code = "TIMEOUT" if cause is TIMEOUT else "INTERRUPTED"
    return Complaint(code, cause.sentence, status=cause.exit_code)


def ending_complaint(
    ending: Ending, cause: Cause | None, route: Route | None, *, max_tokens: int | None
) -> Complaint | None:
    """Return why a run is no success; None when its turn completed.

    Args:
        ending: what the log says.
        cause: why the run was ended early, if it was.
        route: the endpoint in use, None for the guide.
        max_tokens: the limit that the command line set.
    """
    if ending.kind == "completed":
        return None
    if cause is not None and ending.kind in ("aborted", "disposed", NOT_RUN):
        return interruption_complaint(cause)
    if ending.kind == "max-tokens":
        limit = max_tokens or ending.cut_at_tokens
        count = "" if limit is None else f" ({limit} tokens)"
        return Complaint("MAX_TOKENS", f"answer cut at the output limit{count}; raise --max-tokens")
    if ending.kind == "error":
        return _turn_error(ending, route)
    message = ending.reason.get("message") or "no reason was given"
    if ending.kind == "rejected":
        return Complaint("REJECTED", f"the task was refused: {message}")
    return Complaint("ABORTED", f"the turn ended as {ending.kind!r}")


def _turn_error(ending: Ending, route: Route | None) -> Complaint:
    """Return the complaint about a failed request or a failed turn."""
    code: str = ending.reason["code"]
    message: str = ending.reason["message"]
    failure: dict[str, Any] = ending.reason.get("failure") or {}
    place = "" if route is None else f" from {route.place}"
    tries = f" after {ending.n_attempts} attempts, {ending.waited_s:.1f} s waited"
    tries = tries if ending.n_attempts > 1 else ""
    hints: tuple[str, ...] = ()
    match code:
        case "UNKNOWN":
            code, hints = "INTERNAL", (_DEFECT,)
        case "AUTH":
            status = f"HTTP {failure['status']}" if "status" in failure else "a refusal"
            message, hints = f"{status}{place}: {message}", _key_hints(route)
        case "MISSING_CREDENTIAL" | "INVALID_CREDENTIAL":
            hints = _key_hints(route)
        case "RATE_LIMIT" | "QUOTA":
            message += tries + _asked(failure)
        case "TRANSPORT":
            message, hints = message + tries, _network_hints(route)
        case "MAX_STEPS":
            hints = ("raise --max-steps",)
        case "CONTENT_FILTER" | "REFUSAL":
            code = "REFUSED"
        case "HTTP_404":
            message, hints = message + place, ("is the path right? most servers want …/v1",)
        case _ if failure:
            message += place + tries
        case _:
            pass  # a failure of our own, which names what it is about
    return Complaint(code, message, hints)


def _unforeseen(error: BaseException) -> Complaint:
    if isinstance(error, HarnessError):
        hints: tuple[str, ...] = getattr(error, "hints", ())  # errors of profiles have some
        status = 3 if error.code.startswith("STORAGE_") else None
        return Complaint(error.code, error_chain(error), hints, status=status)
    return Complaint("INTERNAL", f"{type(error).__name__}: {error_chain(error)}", (_DEFECT,))


def _key_hints(route: Route | None) -> tuple[str, ...]:
    if route is None:
        return ()
    hint = f"the key is {route.key_name}"
    if route.dialect == "openai":
        return (f"{hint}; to send DEEPSEEK_API_KEY instead: --provider deepseek-official",)
    return (hint,)


def _network_hints(route: Route | None) -> tuple[str, ...]:
    proxies = [name for name in _PROXIES if os.environ.get(name)]
    if proxies:
        return (f"{', '.join(proxies)} is set; NO_PROXY names hosts that need no proxy",)
    if route is not None and route.is_loopback:
        return ("is the server running, and is the port right?",)
    return ()


def _asked(failure: dict[str, Any]) -> str:
    delay_ms = failure.get("providerRetryAfterMs")
    return "" if delay_ms is None else f"; the provider asks to wait {delay_ms / 1000:.0f} s"


def _stored(code: str, error: HarnessError) -> Complaint:
    return Complaint(code, str(error), (_REPAIRS[code],))


def _only_cause(error: BaseException) -> BaseException:
    """Return the one failure inside groups of one."""
    while isinstance(error, BaseExceptionGroup):
        members = cast("BaseExceptionGroup[BaseException]", error).exceptions
        if len(members) != 1:
            return cast("BaseException", error)
        error = members[0]
    return error
