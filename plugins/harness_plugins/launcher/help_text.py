"""Write the help text from the table of options."""

from harness_plugins.launcher.options import OPTIONS, Option, Scope

_ABOUT: dict[Scope, str] = {
    "everywhere": """\
dsh: an agent that works in your terminal

  dsh run "what to do"         run one task and print the answer
  command | dsh run "what…"    the same, with what the command prints behind the task
  dsh sessions list            what was run here
  dsh sessions show ID         what happened in one session
""",
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
    about = _ABOUT[scope or "everywhere"]
    shown: Scope = scope or "run"
    own = [option for option in OPTIONS if shown in option.scopes]
    common = [option for option in OPTIONS if "everywhere" in option.scopes]
    parts = [about, _table(f"options of dsh {shown}", own), _table("options everywhere", common)]
    if shown == "run":
        parts.append(_EPILOGUE)
    return "\n".join(parts)


def _table(title: str, options: list[Option]) -> str:
    rows = [(" ".join((", ".join(each.names), each.metavar)).strip(), each) for each in options]
    width = max(len(left) for left, _ in rows) + 2
    return f"{title}\n" + "".join(f"  {left:<{width}}{each.help}\n" for left, each in rows)
