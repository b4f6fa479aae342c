"""Carry out `dsh config`: settings, and the composition that profile and patches make."""

from argparse import ArgumentParser, Namespace

from harness_plugins.launcher.commands.command import Surroundings
from harness_plugins.launcher.commands.parser import add_actions


def add_arguments(parser: ArgumentParser) -> None:
    """Take an action and the name of a setting."""
    action = add_actions(parser)
    action("show", "print the settings and the composed rows of the profile")
    action("path", "print where settings and patches are read from")
    get = action("get", "print one setting")
    get.add_argument("name", metavar="SECTION.KEY", help="a dotted name")
    put = action("set", "change one setting; the rest of the file stays as it is")
    put.add_argument("name", metavar="SECTION.KEY", help="a dotted name")
    put.add_argument("value", metavar="VALUE", help="JSON, else a text")
    unset = action("unset", "remove one setting")
    unset.add_argument("name", metavar="SECTION.KEY", help="a dotted name")
    action("schema", "print the JSON Schema of all rows of the profile")
    action("check", "look for everything that is wrong in settings and composition")


def run(arguments: Namespace, surroundings: Surroundings) -> int:
    """Carry out one action.

    Raises:
        CommandError: a setting does not exist or cannot be changed.
        YamlError, ProfileError, OSError: a file cannot be used.
    """
    match arguments.action:
        case "get" | "set" | "unset":
            from harness_plugins.launcher.commands import config_settings as settings

            if arguments.action == "get":
                return settings.show_setting(arguments.name, surroundings)
            if arguments.action == "set":
                return settings.store_setting(arguments.name, arguments.value, surroundings)
            return settings.forget_setting(arguments.name, surroundings)
        case "check":
            from harness_plugins.launcher.commands.config_check import check_all

            return check_all(surroundings)
        case _:
            from harness_plugins.launcher.commands import config_show as show

            if arguments.action == "path":
                return show.show_paths(surroundings)
            if arguments.action == "schema":
                return show.show_schema(surroundings)
            return show.show_all(surroundings)
