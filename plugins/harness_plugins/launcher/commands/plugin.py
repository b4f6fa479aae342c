"""Carry out `dsh plugin`: add packages to a profile, look at them, remove them, begin one."""

from argparse import ArgumentParser, Namespace

from harness_plugins.launcher.commands.command import Surroundings
from harness_plugins.launcher.commands.parser import add_actions


def add_arguments(parser: ArgumentParser) -> None:
    """Take an action and distributions; the profile is an option of the launcher."""
    action = add_actions(parser)
    add = action("add", "install distributions into the profile")
    add.add_argument("specs", metavar="SPEC", nargs="*", help="what pip accepts: name, path, URL")
    add.add_argument("-e", "--editable", metavar="DIR", action="append", default=[],
                     help="a project directory, used where it lies")  # fmt: skip
    remove = action("remove", "remove distributions, and what only they needed")
    remove.add_argument("names", metavar="NAME", nargs="+", help="names of distributions")
    action("list", "list what is installed for the profile")
    info = action("info", "tell all about one distribution")
    info.add_argument("name", metavar="NAME", help="its name")
    why = action("why", "tell what needs a distribution")
    why.add_argument("name", metavar="NAME", help="its name")
    new = action("new", "write the project of a new plugin")
    new.add_argument("name", metavar="NAME", help="lower-case words joined by dashes")
    new.add_argument("--to", metavar="DIR", help="the project's folder; NAME by default")


def run(arguments: Namespace, surroundings: Surroundings) -> int:
    """Carry out one action on the profile.

    Raises:
        CommandError: the packages cannot be installed or are not there, or the project cannot be
            written; nothing has changed.
        ProfileError: the profile is at fault.
    """
    if arguments.action == "new":
        return _new(arguments.name, arguments.to or arguments.name, surroundings)
    from harness.profiles import open_profile
    from harness_plugins.launcher.commands.profile import chosen_profile

    is_change = arguments.action in ("add", "remove")
    name = chosen_profile(surroundings)
    profile = open_profile(surroundings.home(), name, saves=is_change)
    if is_change:
        from harness_plugins.launcher.commands.plugin_changes import add_plugins, remove_plugins

        if arguments.action == "add":
            return add_plugins(profile, arguments.specs, arguments.editable, surroundings)
        return remove_plugins(profile, arguments.names, surroundings)
    from harness_plugins.launcher.commands.plugin_facts import explain, list_plugins, tell

    match arguments.action:
        case "info":
            return tell(profile, arguments.name, surroundings)
        case "why":
            return explain(profile, arguments.name, surroundings)
        case _:
            return list_plugins(profile, surroundings)


def _new(name: str, folder: str, surroundings: Surroundings) -> int:
    """Write a project, and say what to do with it."""
    import os
    import shlex
    import sys
    from pathlib import Path

    from harness_plugins.launcher.commands.answer import answer
    from harness_plugins.launcher.new_project import write_project

    project = Path(os.path.abspath(os.path.join(surroundings.cwd, folder)))
    files = [str(path.relative_to(project)) for path in write_project(name, project)]
    document = {"name": name, "folder": str(project), "files": files}
    there = shlex.quote(str(project))
    text = "".join(
        [
            f"made {name} in {project}\n",
            *(f"  {file}\n" for file in files),
            f"its tests: cd {there} && {shlex.quote(sys.executable)} -m pytest\n",
            f"to use it: dsh plugin add -e {there}\n",
        ]
    )
    return answer(surroundings, document, text)
