"""Find the program that a command names."""

from __future__ import annotations

import os
import shutil

from harness.subprocess import ExecutableCode, ExecutableError


def find_executable(command: str, search_path: str) -> str:
    """Return the absolute path of a program, given as an absolute path or as a bare name.

    Touches the file system; call it from a worker thread.

    Raises:
        ExecutableError: empty, relative with a separator, missing, no file, or not executable.
    """
    if not command or "\0" in command:
        raise _error(command, "EXECUTABLE_EMPTY", f"a program name is needed, got {command!r}")
    if os.path.isabs(command):
        return _checked(command)
    if os.sep in command:
        message = f"{command!r} is a relative path; give an absolute path or a bare name"
        raise _error(command, "EXECUTABLE_RELATIVE", message)
    found = shutil.which(command, path=search_path)
    if found is None or not os.path.isabs(found):  # relative PATH entries are not trusted
        message = f"no program {command!r} on PATH {search_path!r}"
        raise _error(command, "EXECUTABLE_NOT_FOUND", message)
    return found


def _checked(path: str) -> str:
    if not os.path.exists(path):
        raise _error(path, "EXECUTABLE_NOT_FOUND", f"{path!r} does not exist")
    if not os.path.isfile(path):
        raise _error(path, "EXECUTABLE_NOT_A_FILE", f"{path!r} is not a regular file")
    if not os.access(path, os.X_OK):
        raise _error(path, "EXECUTABLE_NOT_PERMITTED", f"{path!r} is not executable for us")
    return path


def _error(command: str, code: ExecutableCode, message: str) -> ExecutableError:
    return ExecutableError(message, code=code, command=command)
