"""Start one child in a session of its own and say precisely why when that fails."""

from __future__ import annotations

import errno
import os
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from typing import IO

import attrs

from harness.subprocess import Data, Output, SpawnCode, SpawnError, SpawnSpec, Stdin


@attrs.frozen
class Child:
    """Hold a started process and our ends of its pipes (non-blocking, None where not piped)."""

    popen: subprocess.Popen[bytes]
    stdin_fd: int | None
    stdout_fd: int | None
    stderr_fd: int | None


def check_argv(argv: Sequence[str], cwd: str) -> None:
    """Reject arguments that no kernel call could carry.

    Raises:
        SpawnError: `INVALID_ARGUMENT` or `CWD_INVALID`.
    """
    argv0 = argv[0] if argv else ""

    def fail(message: str, code: SpawnCode = "INVALID_ARGUMENT") -> SpawnError:
        return SpawnError(message, code=code, argv0=argv0, cwd=cwd)

    if not argv0:
        raise fail("argv must start with the program to run, and it is empty")
    for index, text in enumerate(argv):
        if "\0" in text:
            raise fail(f"argument {index} of {argv0!r} holds a NUL character, remove it")
    if "\0" in cwd:
        raise fail(f"working directory {cwd!r} holds a NUL character", "CWD_INVALID")
    if not os.path.isabs(cwd):
        raise fail(f"working directory {cwd!r} must be an absolute path", "CWD_INVALID")
    if not os.path.isdir(cwd):
        raise fail(f"working directory {cwd!r} is not an existing directory", "CWD_INVALID")


def launch(spec: SpawnSpec, env: Mapping[str, str]) -> Child:
    """Start the process of `spec` with exactly `env`.

    The call takes about a millisecond on the caller's thread: the child is created by `vfork`,
    so its cost does not grow with our memory.

    Raises:
        SpawnError: it could not be started; no descriptor is left open.
    """
    argv = tuple(spec.argv)
    check_argv(argv, spec.cwd)
    with ExitStack() as child_ends, ExitStack() as our_ends:
        try:
            stdin, stdin_fd = _stdin(spec.stdin, child_ends, our_ends)
            stdout, stdout_fd = _output(spec.stdout, child_ends, our_ends)
            stderr, stderr_fd = _output(spec.stderr, child_ends, our_ends)
            popen = subprocess.Popen(
                argv,
                cwd=spec.cwd,
                env=env,
                stdin=stdin,
                stdout=stdout,
                stderr=stderr,
                bufsize=0,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            raise explain(error, argv[0], spec.cwd) from error
        our_ends.pop_all()
        return Child(popen, stdin_fd, stdout_fd, stderr_fd)


def explain(error: OSError | ValueError, argv0: str, cwd: str) -> SpawnError:
    """Turn what the operating system said into an error that names the culprit."""
    if isinstance(error, ValueError):  # an embedded NUL, or text the file system cannot encode
        return SpawnError(
            f"cannot start {argv0!r}: {error}", code="INVALID_ARGUMENT", argv0=argv0, cwd=cwd
        )
    name = errno.errorcode.get(error.errno or 0, "EUNKNOWN")
    code, reason = _reason(error, argv0, cwd)
    return SpawnError(f"cannot start {argv0!r}: {reason} ({name})", code=code, argv0=argv0, cwd=cwd)


def _reason(error: OSError, argv0: str, cwd: str) -> tuple[SpawnCode, str]:
    if error.filename == cwd and error.filename != argv0:
        return "CWD_INVALID", f"working directory {cwd!r} cannot be entered"
    match error.errno:
        case errno.ENOENT if os.path.isfile(os.path.join(cwd, argv0)):
            return "EXECUTABLE_NOT_FOUND", "the interpreter that its first line names is missing"
        case errno.ENOENT | errno.ENOTDIR:
            return "EXECUTABLE_NOT_FOUND", "no such program"
        case errno.EACCES | errno.EPERM | errno.ENOEXEC:
            return "EXECUTABLE_NOT_PERMITTED", "it is not an executable program for us"
        case errno.E2BIG:
            return "INVALID_ARGUMENT", "its arguments and environment are too long"
        case _:
            return "SPAWN_FAILED", error.strerror or "the system refused"


def _stdin(
    stdin: Stdin, child_ends: ExitStack, our_ends: ExitStack
) -> tuple[int | IO[bytes], int | None]:
    if isinstance(stdin, Data):
        # A deleted file instead of a pipe: the child reads at its own pace or not at all.
        content: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - the stack closes it
        child_ends.callback(content.close)
        content.write(stdin.to_bytes())
        content.seek(0)
        return content, None
    if stdin == "ignore":
        return subprocess.DEVNULL, None
    theirs, ours = os.pipe()
    return _pipe(theirs, ours, child_ends, our_ends)


def _output(
    output: Output, child_ends: ExitStack, our_ends: ExitStack
) -> tuple[int | None, int | None]:
    if output == "inherit":
        return None, None
    ours, theirs = os.pipe()
    return _pipe(theirs, ours, child_ends, our_ends)


def _pipe(theirs: int, ours: int, child_ends: ExitStack, our_ends: ExitStack) -> tuple[int, int]:
    child_ends.callback(os.close, theirs)
    our_ends.callback(os.close, ours)
    os.set_blocking(ours, False)
    return theirs, ours
