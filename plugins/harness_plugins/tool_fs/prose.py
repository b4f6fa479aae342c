"""Load the model-facing texts that lie beside the tools as Markdown."""

from importlib import resources


def description_of(tool: str) -> str:
    """Return the description of a tool."""
    return _load(f"{tool}.md")


def guidance_of(tool: str) -> str:
    """Return the prompt section of a tool."""
    return _load(f"{tool}_guidance.md")


def _load(name: str) -> str:
    text = resources.files("harness_plugins.tool_fs").joinpath(name)
    return text.read_text(encoding="utf-8").strip()
