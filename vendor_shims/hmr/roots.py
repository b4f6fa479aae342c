"""Which files are looked after: below the roots, not ignored, and no litter of an editor."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence

_LITTER = re.compile(
    r"""
      .*~ | \#.*\# | \.\#.* | 4913        # Emacs and Vim: backups, auto-saves, locks, probes
    | .*\.(sw[a-z]|tmp|bak|part|crswap)   # swap and part files
    | .*___jb_(tmp|old|bak)___            # JetBrains: safe writes
    | \.goutputstream-.* | \.sb-.*        # GNOME and macOS: safe writes
    """,
    re.VERBOSE,
)


class Roots:
    """Folders in their canonical spelling, and the globs below them that do not count.

    A glob has `*`, `?`, `[...]` and `**`, and is compared with the path below the root and with
    every folder on the way to it.
    """

    def __init__(self, folders: Sequence[str], ignored: Sequence[str] = ()) -> None:
        self.folders: tuple[str, ...] = tuple(dict.fromkeys(map(os.path.realpath, folders)))
        self._ignored = re.compile("|".join(map(_translated, ignored)) or r"(?!)")

    def has(self, path: str) -> bool:
        """Return whether a file counts; `path` is canonical."""
        return any(
            self._counts(path[len(folder) :].lstrip(os.sep))
            for folder in self.folders
            if _lies_below(path, folder)
        )

    def files(self) -> Iterator[str]:
        """Return the canonical paths of all files that count; broken links are left out."""
        seen: set[str] = set()
        for folder in self.folders:
            for place, folders, names in os.walk(folder):
                below = os.path.relpath(place, folder)
                prefix = "" if below == os.curdir else f"{below}{os.sep}"
                folders[:] = [name for name in folders if self._counts(f"{prefix}{name}")]
                for name in names:
                    path = os.path.join(place, name)
                    if path not in seen and self._counts(f"{prefix}{name}"):
                        seen.add(path)
                        yield path

    def _counts(self, below: str) -> bool:
        parts = below.replace(os.sep, "/").split("/")
        if _LITTER.fullmatch(parts[-1]):
            return False
        return not any(self._ignored.fullmatch("/".join(parts[: n + 1])) for n in range(len(parts)))


def _lies_below(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip(os.sep) + os.sep)


def _translated(glob: str) -> str:
    """Return the regular expression of a glob."""
    found: list[str] = []
    for part in re.findall(r"\*\*/|\*\*|\*|\?|\[[^\]]+\]|.", glob.removeprefix("./"), re.DOTALL):
        match part:
            case "**/":
                found.append("(?:.*/)?")
            case "**":
                found.append(".*")
            case "*":
                found.append("[^/]*")
            case "?":
                found.append("[^/]")
            case _ if len(part) > 1:
                found.append("[" + part[1:-1].replace("\\", "\\\\").replace("!", "^", 1) + "]")
            case _:
                found.append(re.escape(part))
    return "".join(found).removesuffix("/")
