"""Write the help text from the table of options."""

from collections.abc import Sequence

from harness_plugins.launcher.commands import COMMANDS
from harness_plugins.launcher.launch_options import LAUNCH_OPTIONS, LaunchOption
from harness_plugins.launcher.options import OPTIONS, Option, Scope

_PROGRAM = """\
dsh: an agent that works in your terminal

  dsh run "what to do"         run one task and print the answer
  command | dsh run "what…"    the same, with what the command prints behind the task
  dsh sessions list            what was run here
  dsh sessions show ID         what happened in one session
"""
_ABOUT: dict[Scope, str] = {
    "run": """\
dsh run [TASK…]: run one task, print the answer, exit with 0

The words of the task are joined; `-` or a pipe supplies the task, or stands behind it.
A word that begins with a dash goes behind `--`.
""",
    "sessions list": "dsh sessions list: the stored sessions of a directory, newest first\n",
    "sessions show": "dsh sessions show ID: what happened in a session; a unique beginning of 6"
    " characters of its id is enough\n",
}
_EPILOGUE = """\
With DEEPSEEK_API_KEY set, DeepSeek answers; with --base-url, any OpenAI-compatible server.
Exit codes: 0 done, 1 failed, 2 usage, 3 configuration, 4 credentials, 5 quota, 6 cut off,
7 session, 124 timeout, 130 and 143 stopped, 141 nobody reads.
"""


def help_text(scope: Scope | None) -> str:
    """Return the help of one command, or of the program."""
    about = _PROGRAM if scope is None else _ABOUT[scope]
    shown: Scope = scope or "run"
    own = [option for option in OPTIONS if shown in option.scopes]
    parts = [about]
    if scope is None:
        width = max(map(len, COMMANDS)) + 2
        lines = [f"  {each.name:<{width}}{each.summary}\n" for each in COMMANDS.values()]
        parts.append("more commands; dsh COMMAND --help says more\n" + "".join(lines))
    parts += [_table(f"options of dsh {shown}", own), _table("options everywhere", LAUNCH_OPTIONS)]
    if shown == "run":
        parts.append(_EPILOGUE)
    return "\n".join(parts)


def _table(title: str, options: Sequence[Option | LaunchOption]) -> str:
    rows = [(" ".join((", ".join(each.names), each.metavar)).strip(), each) for each in options]
    width = max(len(left) for left, _ in rows) + 2
    return f"{title}\n" + "".join(f"  {left:<{width}}{each.help}\n" for left, each in rows)
