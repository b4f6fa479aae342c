"""Carry out `dsh completion`: print a script for bash, zsh or fish."""

from argparse import ArgumentParser, Namespace

from harness_plugins.launcher.commands.answer import answer
from harness_plugins.launcher.commands.command import Surroundings

SHELLS = ("bash", "zsh", "fish")


def add_arguments(parser: ArgumentParser) -> None:
    """Take the name of a shell."""
    parser.add_argument("shell", choices=SHELLS, help="the shell to print a script for")
    parser.description = (
        "print a completion script; for example: dsh completion bash >"
        " ~/.local/share/bash-completion/completions/dsh"
    )


def run(arguments: Namespace, surroundings: Surroundings) -> int:
    """Print the script."""
    from harness_plugins.launcher.commands.completion_scripts import script
    from harness_plugins.launcher.commands.vocabulary import vocabulary

    text = script(arguments.shell, vocabulary())
    return answer(surroundings, {"shell": arguments.shell, "script": text}, text)
