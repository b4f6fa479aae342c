"""Load the model-facing texts that lie beside the tools as Markdown."""

from pathlib import Path


def description_of(tool: str) -> str:
    """Return the description of a tool."""
    return _load(f"{tool}.md")


def guidance_of(tool: str) -> str:
    """Return the prompt section of a tool."""
    return _load(f"{tool}_guidance.md")


def _load(name: str) -> str:
    return Path(__file__).with_name(name).read_text(encoding="utf-8").strip()
