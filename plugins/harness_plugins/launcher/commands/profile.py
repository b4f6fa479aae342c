"""Carry out `dsh profile`: list, make, reset and remove profiles."""

from argparse import ArgumentParser, Namespace

from harness_plugins.launcher.commands.answer import answer, rows
from harness_plugins.launcher.commands.command import Surroundings
from harness_plugins.launcher.commands.parser import add_actions

DEFAULT = "headless"


def add_arguments(parser: ArgumentParser) -> None:
    """Take an action and the name of a profile."""
    action = add_actions(parser)
    action("list", "list profiles, and templates not used yet")
    new = action("new", "make a profile from a template")
    new.add_argument("name", metavar="NAME", help="letters, digits, - and _")
    about = f"the shipped profile whose bundles it gets ({DEFAULT})"
    new.add_argument("--template", metavar="NAME", default=DEFAULT, help=about)
    reset = action("reset", "make a shipped profile anew; the old one is kept beside it")
    reset.add_argument("name", metavar="NAME", help="the profile")
    remove = action("rm", "delete a profile with its patches and packages")
    remove.add_argument("name", metavar="NAME", help="the profile")
    remove.add_argument("-y", "--yes", action="store_true", help="do not ask")
    path = action("path", "print the folder of a profile")
    path.add_argument("name", metavar="NAME", nargs="?", help=f"the profile ({DEFAULT})")


def run(arguments: Namespace, surroundings: Surroundings) -> int:
    """Carry out one action.

    Raises:
        CommandError: nobody has confirmed a removal.
        ProfileError: the name, the profile or the disk is at fault.
    """
    match arguments.action:
        case "new":
            return _new(arguments.name, arguments.template, surroundings)
        case "reset":
            return _reset(arguments.name, surroundings)
        case "rm":
            return _remove(arguments.name, surroundings, is_sure=arguments.yes)
        case "path":
            return _path(arguments.name, surroundings)
        case _:
            return _list(surroundings)


def chosen_profile(surroundings: Surroundings) -> str:
    """Return the profile that a command means: `--profile`, `DSH_PROFILE`, else the default."""
    return (
        surroundings.options.profile
        or surroundings.environ.get("DSH_PROFILE", "").strip()
        or DEFAULT
    )


def _list(surroundings: Surroundings) -> int:
    from harness.profiles import list_profiles

    home = surroundings.home()
    found = list_profiles(home)
    document = {
        "profiles": [
            {
                "name": each.name,
                "folder": str(each.folder),
                "isSaved": each.folder.is_dir(),
                "isTemplate": each.is_template,
                "bundles": None if each.profile is None else each.profile.bundles,
                "surface": None if each.profile is None else each.profile.surface,
                "requirements": None if each.profile is None else each.profile.requirements,
                "problem": None if each.problem is None else str(each.problem),
            }
            for each in found
        ]
    }
    text = rows(
        (
            each.name,
            home.display(each.folder) if each.folder.is_dir() else "(made on first use)",
            str(each.problem) if each.profile is None else " ".join(each.profile.bundles),
        )
        for each in found
    )
    return answer(surroundings, document, text)


def _new(name: str, template: str, surroundings: Surroundings) -> int:
    from harness.profiles import new_profile

    home = surroundings.home()
    made = new_profile(home, name, template)
    document = {"name": made.name, "folder": str(made.folder), "bundles": made.bundles}
    text = f"made {name} in {home.display(made.folder)}: {' '.join(made.bundles)}\n"
    return answer(surroundings, document, text)


def _reset(name: str, surroundings: Surroundings) -> int:
    from harness.profiles import reset_profile

    home = surroundings.home()
    made, backup = reset_profile(home, name)
    kept = None if backup is None else home.display(backup)
    document = {"name": name, "folder": str(made.folder), "backup": backup and str(backup)}
    tail = "" if kept is None else f"; the old one is {kept}"
    return answer(surroundings, document, f"made {name} anew{tail}\n")


def _remove(name: str, surroundings: Surroundings, *, is_sure: bool) -> int:
    from harness.profiles import open_profile, remove_profile
    from harness_plugins.launcher.commands.confirmation import confirm

    home = surroundings.home()
    folder = home.profiles / name
    if not folder.exists():
        open_profile(home, name, saves=False)  # says so when there is no such profile at all
    confirm(f"delete {home.display(folder)} with its patches and packages?", is_sure=is_sure)
    remove_profile(home, name)
    return answer(surroundings, {"removed": name}, f"removed {name}\n")


def _path(name: str | None, surroundings: Surroundings) -> int:
    from harness.profiles import open_profile

    wanted = name or chosen_profile(surroundings)
    folder = open_profile(surroundings.home(), wanted, saves=False).folder
    return answer(surroundings, {"name": wanted, "folder": str(folder)}, f"{folder}\n")
