"""State the version of the distribution; here, because asking its metadata is slow."""

from typing import Final

VERSION: Final = "0.1.0"
"""Equals `project.version` of the distribution; a test compares them."""
