"""Print what a profile mounts, instead of mounting it."""

import os
from pathlib import Path

from harness.launch import capture_environment, resolve_home
from harness.profiles import check_unmatched, compose_profile
from harness_plugins.launcher.command_line import CommandLine
from harness_plugins.launcher.composition import chosen_profile, layer_options
from harness_plugins.launcher.descriptors import STDOUT, complain_on_stderr, write_all
from harness_plugins.launcher.errors import UsageError
from vendor_shims.include import dump


def dump_command(line: CommandLine) -> int:
    """Print the composition that the command line asks for and return the exit code.

    Patches that fit nothing are told on stderr.

    Raises:
        UsageError: there are arguments for a surface besides.
        ProfileError: a layer cannot be taken.
    """
    launch = line.launch
    if line.words or line.reads_stdin:
        found = line.words[0] if line.words else "-"
        raise UsageError(f"{launch.dump} runs nothing, so it takes no argument {found!r}")
    home = resolve_home(launch.home, os.environ)
    capture_environment(os.environ, project_dir=Path.cwd(), home_dir=home.root)
    options = layer_options(launch)
    if launch.dump == "--dump-default-config":
        launch = launch._replace(no_user_config=True, layers=())
        options = layer_options(launch)
    composed = compose_profile(chosen_profile(launch, home, os.environ, saves=False), home, options)
    for note in check_unmatched(composed, strict=launch.strict):
        complain_on_stderr(f"dsh: note: {note}\n")
    if launch.dump == "--dump-config-schema":
        from harness.wire import dumps_text
        from harness_plugins.launcher.commands.row_schema import layer_schema

        text = dumps_text(layer_schema(composed)) + "\n"
    else:
        text = dump(composed, format="json" if launch.dump_format == "json" else "yaml")
    write_all(STDOUT, text.encode())
    return 0
