"""Turn `--set`, `--disable` and `--enable` into ordinary patches."""

from collections.abc import Collection
from typing import Any, Literal, TypeAlias

import attrs

from harness.profiles.errors import LayerFlagError

FlagName: TypeAlias = Literal["--patch", "--set", "--disable", "--enable"]

_SET_FORM = "expected ID.key.path=VALUE"


@attrs.frozen
class LayerFlag:
    """One option of the command line that makes a layer, with its text.

    The text is a path for `--patch`, `ID.key.path=VALUE` for `--set`, and a row id for the others.
    """

    name: FlagName
    text: str


@attrs.frozen(kw_only=True)
class LayerOptions:
    """Say which layers come on top of a profile's own.

    Attributes:
        flags: in the order of the command line; a later one wins, whatever its kind.
        no_user_config: whether the patch files of the profile and of the home are left out.
    """

    flags: tuple[LayerFlag, ...] = attrs.field(default=(), converter=tuple)
    no_user_config: bool = False


def flag_patch(flag: LayerFlag, ids: Collection[str]) -> dict[str, Any]:
    """Return the patch of a flag other than `--patch`.

    Args:
        flag: the option.
        ids: the ids of the rows so far. An id may hold dots; of those that `--set` may mean, the
            longest counts, and without any the text before the first dot.

    Raises:
        LayerFlagError: the text has not the form that the option wants.
    """
    try:
        flag.text.encode()
    except UnicodeEncodeError:
        raise LayerFlagError(f"{flag.name} {flag.text!r} is not valid UTF-8") from None
    if flag.name == "--set":
        return _set_patch(flag, ids)
    row_id = flag.text.strip()
    if not row_id:
        raise LayerFlagError(f"{flag.name} needs the id of a row")
    return {"id": row_id, "disabled": flag.name == "--disable"}


def _set_patch(flag: LayerFlag, ids: Collection[str]) -> dict[str, Any]:
    left, equals, text = flag.text.partition("=")
    names = left.strip().split(".")
    if not equals or len(names) < 2 or not all(names):
        raise LayerFlagError(f"--set {flag.text!r}: {_SET_FORM}")
    n_id = next(
        (count for count in range(len(names) - 1, 0, -1) if ".".join(names[:count]) in ids), 1
    )
    change: Any = _value(text)
    for key in reversed(names[n_id:]):
        change = {key: change}
    return {"id": ".".join(names[:n_id]), "merge": change}


def _value(text: str) -> object:
    """Return the JSON value that the text is, else the text."""
    from harness.wire import JsonDecodeError, loads

    try:
        return loads(text)
    except JsonDecodeError:
        return text
