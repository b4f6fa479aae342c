"""Configure the file tools."""

from vendor_shims.schema import config, field

SECRET_FILES = (".credentials.yaml*", ".env", "/proc/*/environ")
"""The credential store in the harness home with its lock and temporary files, the user's `.env`,
and the environments of processes, in which keys are handed on."""


@config
class ToolFsConfig:
    """Say which files the tools refuse to touch."""

    home: str | None = None
    """Harness home; by default `DSH_HOME`, else `~/.dsh`."""

    deny: list[str] = field(factory=lambda: list(SECRET_FILES))
    """Patterns (`*`, `?`, `[…]`) of files the tools refuse; relative ones start at the home."""
