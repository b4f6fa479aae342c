"""The modes that the environment may ask for, and which of them this release can hold."""

from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from harness_plugins.launcher.complaint import Complaint


class _Mode(NamedTuple):
    variable: str
    values: tuple[str, ...]
    held: str
    lacks: str
    meaning: str


_MODES: Final = (
    _Mode(
        "DSH_PERMISSION_MODE",
        ("read-only", "workspace-write", "danger-full-access"),
        held="danger-full-access",
        lacks="no sandbox to hold it",
        meaning="tools run with your rights",
    ),
    _Mode(
        "DSH_TOOLS_MODE",
        ("native", "ptc", "code", "both"),
        held="native",
        lacks="no tools that are called from a program",
        meaning="the model calls tools one by one",
    ),
)


def mode_complaints(environ: Mapping[str, str]) -> Iterator[Complaint]:
    """Return what is wrong with the modes in an environment.

    A mode that cannot be held is refused, instead of running without it.
    """
    for mode in _MODES:
        wanted = environ.get(mode.variable, "").strip()
        if wanted in ("", mode.held):
            continue
        if wanted in mode.values:
            yield Complaint(
                "CONFIG_INVALID",
                f"{mode.variable} is {wanted!r}, but this release has {mode.lacks}",
                (f"unset it, or set it to {mode.held}: {mode.meaning}",),
            )
        else:
            expected = ", ".join(mode.values)
            sentence = f"{mode.variable} expects one of {expected}; found {wanted!r}"
            yield Complaint("CONFIG_INVALID", sentence)
