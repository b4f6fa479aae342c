"""Where a row stands: the realms it isolates and the config layers it puts on services."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

from vendor_shims.cordis import Context, Realm, relocate

if TYPE_CHECKING:
    from vendor_shims.loader.entry import Entry

Key = tuple[str, str]
"""A service name and a label."""


class Labels:
    """The realms that rows share by label, each kept while a row refers to it."""

    def __init__(self) -> None:
        self._shared: dict[Key, list[Any]] = {}

    def take(self, key: Key) -> Realm:
        """Return the realm for a name and a label, counting one more user."""
        shared = self._shared.setdefault(key, [Realm(*key), 0])
        shared[1] += 1
        return shared[0]

    def release(self, key: Key) -> None:
        """Count one user less; the last one takes the realm with it."""
        shared = self._shared[key]
        shared[1] -= 1
        if not shared[1]:
            del self._shared[key]

    def __len__(self) -> int:
        return len(self._shared)


class Standing:
    """The placement of one row, brought in line with its options.

    Invariants: `_keys` names exactly the labels that the row holds; a private realm lives as long
    as the row isolates its name privately.
    """

    def __init__(self, entry: Entry) -> None:
        self._entry = entry
        self._private: dict[str, Realm] = {}
        self._keys: list[Key] = []

    def enter(self, ctx: Context) -> Context:
        """Return a context below `ctx` where the row stands; nothing is mounted on it yet."""
        realms, keys = self._realms()
        self._keys = keys
        tags = {"entry": self._entry}
        return ctx.place(tags, realms=realms, layers=self._layers())

    def move(self, parent: Context | None = None) -> None:
        """Take the options as they are now, below another group's context if one is given.

        Raises:
            ServiceConflict: a service of the row would meet another one; nothing has changed.
            InactiveEffect: the other group is ending.
        """
        realms, keys = self._realms()
        try:
            relocate(self._entry.ctx, realms=realms, layers=self._layers(), parent=parent)
        except BaseException:
            self._release(keys)
            raise
        self._release(self._keys)
        self._keys = keys
        self._private = {
            name: realms[name] for name in self._private if realms.get(name) is self._private[name]
        }

    def leave(self) -> None:
        """Give the labels back; the row is gone."""
        self._release(self._keys)
        self._keys = []

    def _release(self, keys: list[Key]) -> None:
        for key in keys:
            self._entry.tree.loader.labels.release(key)

    def _realms(self) -> tuple[dict[str, Realm], list[Key]]:
        isolate = cast("Mapping[str, Any]", self._entry.options.get("isolate", {}))
        realms: dict[str, Realm] = {}
        keys: list[Key] = []
        for name, label in isolate.items():
            if label is True:
                realms[name] = self._private.setdefault(name, Realm(name))
            elif isinstance(label, str):
                keys.append((name, label))
                realms[name] = self._entry.tree.loader.labels.take((name, label))
        return realms, keys

    def _layers(self) -> tuple[tuple[str, Any], ...]:
        intercept = cast("Mapping[str, Any]", self._entry.options.get("intercept", {}))
        return tuple(intercept.items())
