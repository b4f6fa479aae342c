"""Say where an error of foreign code comes from."""

import os
import traceback

_STANDARD_LIBRARY = os.path.dirname(os.__file__) + os.sep


def place_raised(error: BaseException) -> tuple[str, int] | None:
    """Return file and line of the innermost frame that is not of the standard library.

    That of a syntax error is the place in the file that cannot be compiled. None when nothing
    raised the error.
    """
    if isinstance(error, SyntaxError) and error.filename is not None:
        return error.filename, error.lineno or 0
    frames = traceback.extract_tb(error.__traceback__)
    if not frames:
        return None
    frame = next((one for one in reversed(frames) if not _is_standard(one.filename)), frames[-1])
    return frame.filename, frame.lineno or 0


def _is_standard(file: str) -> bool:
    """Return whether a file is of Python itself; packages may be installed below that."""
    inner = file.removeprefix(_STANDARD_LIBRARY)
    return file.startswith("<frozen") or (inner != file and not inner.startswith("site-packages"))
