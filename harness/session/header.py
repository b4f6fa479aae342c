"""Define the session header: what is fixed about a session and kept outside its log."""

from collections.abc import Mapping
from typing import Any, Final, Literal, cast

import attrs

from harness.session.errors import SessionHeaderError
from harness.session.ids import SessionId
from harness.wire import FrozenDict, freeze_json

SESSION_FORMAT_VERSION: Final = 1000
"""The native format. The number alone is the identity; native numbers start here."""


@attrs.frozen(kw_only=True)
class SessionHeader:
    """What is fixed about a session when it is made; immutable, kept outside the log."""

    id: SessionId
    created_at: int
    """Milliseconds since the epoch."""
    version: int = SESSION_FORMAT_VERSION
    cwd: str | None = None
    """Absolute path of the working directory."""
    parent_session: SessionId | None = None
    seed_length: int | None = None
    """How many leading events were inherited; does not change on resume."""
    origin: Literal["subagent"] | None = None
    delegation_depth: int = 0
    agent_preset: str | None = None
    imported_from: FrozenDict | None = attrs.field(
        default=None, converter=attrs.converters.optional(freeze_json)
    )
    """Where an imported log came from; its seed is checked with the relaxed rules."""
    extra: FrozenDict = attrs.field(factory=FrozenDict, converter=freeze_json)
    """Members that this build does not know, kept for the next writer."""


_NAMES = {
    "version": "version",
    "id": "id",
    "createdAt": "created_at",
    "cwd": "cwd",
    "parentSession": "parent_session",
    "seedLength": "seed_length",
    "origin": "origin",
    "delegationDepth": "delegation_depth",
    "agentPreset": "agent_preset",
    "importedFrom": "imported_from",
}


def header_to_json(header: SessionHeader) -> dict[str, Any]:
    """Return the stored form; absent members are omitted, `delegationDepth` is always written."""
    stored: dict[str, Any] = {}
    for key, name in _NAMES.items():
        value = getattr(header, name)
        if value is not None:
            stored[key] = value
    stored.update(header.extra)
    if header.imported_from is not None:  # stands last
        stored["importedFrom"] = stored.pop("importedFrom")
    return stored


def header_from_json(value: object, *, is_stored: bool = True) -> SessionHeader:
    """Read a header.

    Args:
        value: the JSON object.
        is_stored: keep unknown members, as for a header read from storage; else refuse them.

    Raises:
        SessionHeaderError: a member is missing, malformed, or (unless stored) unknown.
    """
    if not isinstance(value, Mapping):
        raise SessionHeaderError(f"expected a header object, found {type(value).__name__}")
    stored = cast("Mapping[str, Any]", value)
    members = {_NAMES[key]: item for key, item in stored.items() if key in _NAMES}
    unknown = {key: item for key, item in stored.items() if key not in _NAMES and key != "type"}
    if unknown and not is_stored:
        raise SessionHeaderError(f"unknown header member {min(unknown)!r}")
    for name in ("id", "created_at", "version"):
        if name not in members:
            raise SessionHeaderError(f"the header has no {name!r}")
    header = SessionHeader(**members, extra=unknown)
    validate_header(header)
    return header


def validate_header(header: SessionHeader) -> None:
    """Raise `SessionHeaderError` for a member of the wrong type or range."""
    _text("id", header.id)
    _count("version", header.version)
    _count("createdAt", header.created_at)
    _count("delegationDepth", header.delegation_depth)
    if header.seed_length is not None:
        _count("seedLength", header.seed_length)
    if header.cwd is not None and not _text("cwd", header.cwd).startswith("/"):
        raise SessionHeaderError(f"cwd must be an absolute path, found {header.cwd!r}")
    if header.parent_session is not None:
        _text("parentSession", header.parent_session)
    if header.agent_preset is not None:
        _text("agentPreset", header.agent_preset)
    if header.imported_from is not None and type(header.imported_from) is not FrozenDict:
        raise SessionHeaderError(f"importedFrom must be an object, found {header.imported_from!r}")
    if header.origin not in (None, "subagent"):
        raise SessionHeaderError(f"origin may only be 'subagent', found {header.origin!r}")


def _text(name: str, value: object) -> str:
    if not isinstance(value, str) or not value:
        raise SessionHeaderError(f"{name} must be a non-empty string, found {value!r}")
    return value


def _count(name: str, value: object) -> None:
    if type(value) is not int or value < 0:
        raise SessionHeaderError(f"{name} must be a non-negative integer, found {value!r}")
