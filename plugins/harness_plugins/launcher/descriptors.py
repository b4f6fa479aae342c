"""Write to the standard descriptors directly: complete, unbuffered, and never to a stranger."""

import os
import select

STDIN, STDOUT, STDERR = 0, 1, 2


def occupy_standard_descriptors() -> None:
    """Open the null device in place of closed standard descriptors.

    Otherwise the next file that is opened, such as a session log, would get their numbers and
    with them the output.
    """
    for descriptor in (STDIN, STDOUT, STDERR):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # gets the lowest free number, which is this one


def is_terminal(descriptor: int) -> bool:
    """Return whether a person is at the other end."""
    return os.isatty(descriptor)


def write_all(descriptor: int, data: bytes) -> None:
    """Write all of `data`, waiting for a slow reader.

    Raises:
        BrokenPipeError: nobody reads any more.
        OSError: the system refused, as for a full disk.
    """
    rest = memoryview(data)
    while rest:
        try:
            rest = rest[os.write(descriptor, rest) :]
        except BlockingIOError:  # whoever started us shares a descriptor that does not block
            select.select((), (descriptor,), ())


def complain_on_stderr(text: str) -> None:
    """Write text for people to stderr; when that fails too, nobody is left to tell."""
    try:
        write_all(STDERR, text.encode("utf-8", "replace"))
    except OSError:
        return
