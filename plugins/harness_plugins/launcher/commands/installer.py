"""Run pip, and find out beforehand what the host lacks."""

import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from importlib.metadata import distributions
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple, cast

from harness.wire import loads
from harness_plugins.launcher.commands.site_folder import path_of_url
from harness_plugins.launcher.complaint import Complaint
from harness_plugins.launcher.errors import CommandError

_N_SHOWN_LINES = 20
_SETTINGS = {
    "PIP_DISABLE_PIP_VERSION_CHECK": "1",
    "PIP_NO_INPUT": "1",
    "PIP_NO_COLOR": "1",
    "PIP_REQUIRE_VIRTUALENV": "0",
    "PIP_USER": "0",
}


class Wanted(NamedTuple):
    """A distribution that pip would install.

    Attributes:
        name: as its author writes it.
        version: its version.
        requirement: what installs exactly this one again.
        is_editable: whether it is a project directory that is used where it lies.
        was_asked_for: whether the user named it, rather than something that needs it.
    """

    name: str
    version: str
    requirement: str
    is_editable: bool
    was_asked_for: bool


class Installer:
    """Call pip of this interpreter, from the user's directory and with the user's settings."""

    def __init__(self, cwd: str, environ: Mapping[str, str]) -> None:
        """Take the directory that relative paths start from.

        Raises:
            CommandError: there is no pip; exit code 127.
        """
        if find_spec("pip") is None:
            raise CommandError(
                Complaint(
                    "PLUGIN_INSTALL",
                    f"pip is missing for {sys.executable}",
                    (f"to install it: {sys.executable} -m ensurepip",),
                    status=127,
                )
            )
        self._cwd = cwd
        self._environ = {**environ, **_SETTINGS}

    def plan(self, specs: Sequence[str], editables: Sequence[str], site: Path) -> list[Wanted]:
        """Return what is missing for a request, beyond the host and what `site` holds.

        Versions of the host are kept: what needs others is refused.

        Raises:
            CommandError: pip failed; nothing has been installed.
        """
        with tempfile.TemporaryDirectory(prefix="dsh-plugin-") as folder:
            report, freeze = Path(folder, "report.json"), Path(folder, "host.txt")
            freeze.write_text(_host_freeze(), encoding="utf-8")
            self._pip(
                ["install", "--dry-run", "--report", str(report),
                 "--constraint", str(freeze), *specs, *_editable(editables)],
                python_path=str(site),
            )  # fmt: skip
            document: Any = loads(report.read_bytes())
        return [_wanted(entry) for entry in cast("list[dict[str, Any]]", document["install"])]

    def install(self, wanted: Sequence[Wanted], site: Path) -> None:
        """Install exactly the distributions of a plan into a directory.

        Raises:
            CommandError: pip failed; the directory holds half of it.
        """
        arguments = ["install", "--no-deps", "--upgrade", "--target", str(site)]
        for each in wanted:
            arguments += _editable([each.requirement[3:]] if each.is_editable else [])
            arguments += [] if each.is_editable else [each.requirement]
        self._pip(arguments)

    def _pip(self, arguments: Sequence[str], *, python_path: str = "") -> None:
        environ = dict(self._environ)
        if python_path:
            given = environ.get("PYTHONPATH")
            environ["PYTHONPATH"] = f"{given}:{python_path}" if given else python_path
        done = subprocess.run(
            [sys.executable, "-m", "pip", *arguments],
            cwd=self._cwd,
            env=environ,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            check=False,
        )
        if done.returncode:
            lines = done.stdout.decode("utf-8", "replace").rstrip().split("\n")
            raise CommandError(
                Complaint(
                    "PLUGIN_INSTALL",
                    f"pip failed with exit code {done.returncode}; the profile is as it was",
                    status=done.returncode if done.returncode > 0 else 1,
                    details=tuple(lines[-_N_SHOWN_LINES:]),
                )
            )


def _editable(folders: Sequence[str]) -> list[str]:
    return [word for folder in folders for word in ("--editable", folder)]


def _host_freeze() -> str:
    """Return the versions of the host, one constraint a line."""
    lines = {f"{each.name}=={each.version}" for each in distributions() if each.name}
    return "".join(f"{line}\n" for line in sorted(lines))


def _wanted(entry: Mapping[str, Any]) -> Wanted:
    name, version = entry["metadata"]["name"], entry["metadata"]["version"]
    source: dict[str, Any] = entry["download_info"]
    is_editable = bool(source.get("dir_info", {}).get("editable"))
    if is_editable:
        requirement = f"-e {path_of_url(source['url'])}"
    elif entry["is_direct"]:
        requirement = f"{name} @ {source['url']}"
    else:
        requirement = f"{name}=={version}"
    return Wanted(name, version, requirement, is_editable, bool(entry["requested"]))
