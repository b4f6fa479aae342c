"""Put the catalogue together: which pages there are and what writes each."""

from __future__ import annotations

from collections.abc import Callable

from catalogue import errors, events, modules, plugin_config, services, session_events, tools
from catalogue.markdown import page
from catalogue.names import Names
from house.tree import Tree

PAGES: dict[str, tuple[str, Callable[[Names], str]]] = {
    "events.md": ("what travels over the bus, who dispatches it and who listens", events.render),
    "services.md": ("what a context offers by name, and every call", services.render),
    "session-events.md": ("what a session log holds", session_events.render),
    "plugins.md": ("the configuration of each plugin", plugin_config.render),
    "tools.md": ("what a model can call, and what that costs", tools.render),
    "errors.md": ("every deliberate failure and its code", errors.render),
    "modules.md": ("which package imports which", modules.render),
}
"""Each page with what it is for and the function that writes it."""

OWNED = {"README.md": "the overview", "conformance.md": "written by `make spec-report`"}
"""Files of the folder that are no page of the above."""

INTRODUCTION = """\
Written from the sources by `make docs-generate`; do not edit. `make check` fails when one of them
is stale."""


def build(tree: Tree) -> dict[str, str]:
    """Write every page; equal sources give equal pages, whatever machine they are on."""
    names = Names(tree)
    pages = {name: render(names) for name, (_, render) in PAGES.items()}
    listed = [f"- [{_title(pages[name])}]({name}): {what}" for name, (what, _) in PAGES.items()]
    listed += ["- [Conformance](conformance.md): which items of the specification a test names"]
    return pages | {"README.md": page("Catalogues", INTRODUCTION, "\n".join(listed))}


def _title(text: str) -> str:
    return text.partition("\n")[0].removeprefix("# ")
