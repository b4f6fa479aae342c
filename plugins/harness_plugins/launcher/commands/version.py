"""Carry out `dsh version`."""

import sys
from argparse import ArgumentParser, Namespace

from harness_plugins.launcher.commands.answer import answer
from harness_plugins.launcher.commands.command import Surroundings
from harness_plugins.launcher.version import VERSION


def add_arguments(parser: ArgumentParser) -> None:
    """Take no arguments."""


def run(arguments: Namespace, surroundings: Surroundings) -> int:  # noqa: ARG001 - there are none
    """Print the version of the program and, for programs, of what it runs on."""
    python = ".".join(map(str, sys.version_info[:3]))
    document = {"version": VERSION, "python": python, "platform": sys.platform}
    return answer(surroundings, document, f"dsh {VERSION}\n")
