"""Check what the machine offers: Python, optional packages, programs, terminal, proxy, clock."""

import os
import platform
import re
import shutil
import sys
import time
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, requires, version

from harness_plugins.launcher.commands.checks import Finding, fail, ok, warn
from harness_plugins.launcher.commands.command import Surroundings
from harness_plugins.launcher.descriptors import STDOUT, is_terminal
from harness_plugins.launcher.version import VERSION

_OLDEST_PYTHON = (3, 11)
_EXTRA = re.compile(r"(?P<name>[A-Za-z0-9._-]+).*;.*extra\s*==\s*[\"'](?P<extra>[^\"']+)[\"']")
_PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY")
_BUILT_S = 1_767_225_600  # 2026-01-01: a clock before that is wrong


def machine_findings(surroundings: Surroundings) -> Iterator[Finding]:
    """Yield what the machine offers."""
    yield _python()
    yield from _extras()
    yield _sandbox()
    yield _program("git", "needed to see what changed in a workspace", "install git")
    yield _program("rg", "makes searching large trees fast", "install ripgrep")
    yield _program("bash", "needed by the bash tool", "install bash", is_needed=True)
    yield _terminal(surroundings)
    yield _proxy(surroundings)
    yield _clock()


def _python() -> Finding:
    found = sys.version_info
    fact = f"{platform.python_version()} at {sys.executable}, dsh {VERSION}"
    if found[:2] < _OLDEST_PYTHON:  # pragma: no cover - nothing here runs on an older one
        return fail("python", fact, "install Python 3.11 or newer")
    return ok("python", fact)


def _extras() -> Iterator[Finding]:
    """Yield each optional part of the distribution, as its own metadata lists them."""
    extras: dict[str, list[str]] = {}
    for line in requires("dsh-harness") or ():
        found = _EXTRA.match(line)
        if found is not None:
            extras.setdefault(found["extra"], []).append(found["name"])
    for extra, names in extras.items():
        missing = [name for name in names if not _is_installed(name)]
        if missing:
            fact = f"{', '.join(missing)} not installed"
            yield warn(f"extra {extra}", fact, f"pip install 'dsh-harness[{extra}]'")
        else:
            yield ok(f"extra {extra}", "installed")


def _is_installed(distribution: str) -> bool:
    try:
        version(distribution)
    except PackageNotFoundError:
        return False
    return True


def _sandbox() -> Finding:
    program = "sandbox-exec" if sys.platform == "darwin" else "bwrap"
    path = shutil.which(program)
    if path is None:
        fix = "install bubblewrap" if program == "bwrap" else "it is part of macOS; mend PATH"
        return warn("sandbox", f"{program} is not on PATH", fix)
    return ok("sandbox", path)


def _program(name: str, purpose: str, fix: str, *, is_needed: bool = False) -> Finding:
    path = shutil.which(name)
    if path is not None:
        return ok(name, path)
    make = fail if is_needed else warn
    return make(name, f"not on PATH; {purpose}", fix)


def _terminal(surroundings: Surroundings) -> Finding:
    if not is_terminal(STDOUT):
        return ok("terminal", "none; output is plain text")
    kind = surroundings.environ.get("TERM") or "dumb"
    encoding = (sys.stdout.encoding or "").lower().replace("-", "")
    if encoding != "utf8":
        return warn("terminal", f"{kind}, {encoding}", "set LANG to a UTF-8 locale")
    return ok("terminal", f"{kind}, {os.get_terminal_size(STDOUT).columns} columns")


def _proxy(surroundings: Surroundings) -> Finding:
    environ = surroundings.environ
    names = [
        name for base in _PROXIES for name in (base, base.lower()) if environ.get(name, "").strip()
    ]
    return ok("proxy", ", ".join(names) + " set" if names else "none set")


def _clock() -> Finding:
    now_s = time.time()
    fact = time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(now_s))
    if now_s < _BUILT_S:
        return fail("clock", fact, "set the clock: certificates are refused at a wrong time")
    return ok("clock", fact)
