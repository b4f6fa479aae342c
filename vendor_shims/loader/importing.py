"""Imports of modules that may try anything."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager


@contextmanager
def contained() -> Generator[None]:
    """Let a module that ends the program when it is imported, as scripts do, only fail.

    Raises:
        ImportError: it raised what is neither an `Exception` nor Ctrl-C, such as `SystemExit`;
            with the traceback of that.
    """
    try:
        yield
    except (Exception, KeyboardInterrupt):
        raise
    except BaseException as error:  # noqa: BLE001 - modules raise anything
        said = f"importing it raised {type(error).__name__}: {error}"
        raise ImportError(said).with_traceback(error.__traceback__) from None
