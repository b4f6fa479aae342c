"""Carry out `dsh auth`: keep keys in the credentials file, show where keys come from, try them."""

from argparse import ArgumentParser, Namespace

from harness_plugins.launcher.commands.command import Surroundings
from harness_plugins.launcher.commands.parser import add_actions


def add_arguments(parser: ArgumentParser) -> None:
    """Take an action and what it needs."""
    action = add_actions(parser)
    put = action("set", "store a key, read without echo or from standard input")
    put.add_argument("name", metavar="NAME", help="such as DEEPSEEK_API_KEY")
    action("list", "list keys: name, source, last four characters")
    forget = action("rm", "forget stored keys")
    forget.add_argument("names", metavar="NAME", nargs="+", help="the names of stored keys")
    check = action("check", "ask the provider for its models with the key")
    about = "deepseek-official, or any name together with --base-url"
    check.add_argument("provider", metavar="PROVIDER", nargs="?", help=about)
    check.add_argument("--base-url", metavar="URL", help="an OpenAI-compatible server")


def run(arguments: Namespace, surroundings: Surroundings) -> int:
    """Carry out one action.

    Raises:
        CommandError: a name, a value or the provider is refused.
        CredentialsError, OSError: the credentials file cannot be used.
    """
    if arguments.action == "check":
        from harness_plugins.launcher.commands.auth_check import check

        return check(arguments.provider, arguments.base_url, surroundings)
    from harness_plugins.launcher.commands.auth_keys import forget_keys, list_keys, store_key

    match arguments.action:
        case "set":
            return store_key(arguments.name, surroundings)
        case "rm":
            return forget_keys(arguments.names, surroundings)
        case _:
            return list_keys(surroundings)
