"""Settle everything about a run before anything is started."""

import os
import shlex
from collections.abc import Mapping
from pathlib import Path

import attrs

from harness.credentials import CredentialsFile
from harness.launch import Home, LaunchEnvironment, capture_environment, resolve_home
from harness_plugins.launcher.complaint import Complaint
from harness_plugins.launcher.errors import CommandError, UsageError
from harness_plugins.launcher.keys import Keys
from harness_plugins.launcher.modes import mode_complaints
from harness_plugins.launcher.options import Options
from harness_plugins.launcher.target import Target, choose_target


@attrs.frozen(kw_only=True)
class RunPlan:
    """Hold what a run does: the task, where, with whom, within which limits."""

    task: str
    cwd: str
    home: Home
    target: Target
    options: Options
    environment: LaunchEnvironment = attrs.field(repr=False)
    has_audience: bool = False
    effort: str | None = None
    max_tokens: int | None = None

    def resume_command(self, session_id: str) -> str:
        """Return the command that goes on with a session, with what it needs to find the model."""
        options = self.options
        words = ["dsh", "run", "--resume", session_id]
        for name, value in (
            ("--home", options.home),
            ("--cwd", options.cwd and self.cwd),
            ("--provider", options.provider),
            ("--base-url", options.base_url),
            ("--model", options.model),
        ):
            if value:
                words += [name, value]
        if options.offline:
            words.append("--offline")
        return shlex.join(words) + ' "go on"'


def make_plan(task: str, options: Options, *, has_audience: bool) -> RunPlan:
    """Settle a run; the home directory is made when everything else is right.

    Args:
        task: what to do.
        options: of the command line.
        has_audience: whether a person watches.

    Raises:
        UsageError, CommandError: something does not fit together.
        LaunchError: the home directory or a `.env` cannot be used.
        CredentialsError: a stored key is needed and cannot be read.
    """
    environ = os.environ
    for complaint in mode_complaints(environ):
        raise CommandError(complaint)
    cwd = working_directory(options.cwd)
    home = resolve_home(options.home, environ)
    environment = capture_environment(environ, project_dir=Path(cwd), home_dir=home.root)
    keys = Keys(environment, CredentialsFile(home.credentials_file))
    target = choose_target(options, keys, has_audience=has_audience)
    plan = RunPlan(
        task=task,
        cwd=cwd,
        home=home,
        target=target,
        options=options,
        environment=environment,
        has_audience=has_audience,
        effort=options.effort or environ.get("DSH_EFFORT") or None,
        max_tokens=options.max_tokens or _max_tokens(environ),
    )
    home.ensure()
    return plan


def working_directory(given: str | None) -> str:
    """Return the real path of the directory to work in, by default the current one.

    Raises:
        UsageError: it is no directory, or its name is no text.
    """
    try:
        path = os.path.realpath(given if given is not None else os.getcwd())
    except FileNotFoundError:
        raise UsageError("the current directory does not exist any more; go elsewhere") from None
    if not os.path.isdir(path):
        what = "is no directory" if os.path.exists(path) else "does not exist"
        raise UsageError(f"--cwd {given}: {path} {what}")
    try:
        path.encode()
    except UnicodeEncodeError:
        raise UsageError(f"the directory name {path!r} is not valid UTF-8") from None
    return path


def _max_tokens(environ: Mapping[str, str]) -> int | None:
    text = environ.get("DSH_MAX_TOKENS", "").strip()
    if not text:
        return None
    if not (text.isascii() and text.isdigit() and 0 < int(text) < 2**53):
        raise CommandError(
            Complaint(
                "CONFIG_INVALID", f"DSH_MAX_TOKENS expects a whole number above 0, found {text!r}"
            )
        )
    return int(text)
