"""Find what a built page would load from another machine."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path

LOADING = {
    "script": ("src",),
    "link": ("href",),
    "img": ("src", "srcset"),
    "iframe": ("src",),
    "source": ("src", "srcset"),
}
"""Elements that load something, with the attributes that say what."""

HARMLESS = {"canonical", "edit", "prev", "next"}
"""Relations of a `link` that only say where something is."""


class _Loads(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note each address of another machine that the element loads from."""
        given = dict(attrs)
        if tag == "link" and given.get("rel") in HARMLESS:
            return
        for name in LOADING.get(tag, ()):
            address = given.get(name) or ""
            if address.startswith(("http:", "https:", "//")):
                self.found.append(address)


def remote_loads(site: Path) -> list[str]:
    """List `page: address` for everything that a page of the site loads from elsewhere."""
    listed: list[str] = []
    for path in sorted(site.rglob("*.html")):
        loads = _Loads()
        loads.feed(path.read_text(encoding="utf-8"))
        listed += [f"{path.relative_to(site).as_posix()}: {one}" for one in loads.found]
    return listed
