"""Find everything that is wrong in settings and composition, instead of the first of it only."""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Literal

from harness.credentials import CredentialsError, CredentialsFile
from harness.errors import HarnessError, error_chain
from harness.launch import Home, LaunchError, capture_environment
from harness.profiles import (
    LayerFlag,
    LayerOptions,
    Profile,
    ProfileError,
    SettingsInvalidError,
    describe_skipped,
    layer_list,
    row_ids,
    settings_layer,
)
from harness.yaml_edit import YamlError
from harness_plugins.launcher.commands.answer import answer
from harness_plugins.launcher.commands.auth_keys import launch_keys
from harness_plugins.launcher.commands.command import Surroundings
from harness_plugins.launcher.commands.config_show import current_profile
from harness_plugins.launcher.commands.parser import nearest
from harness_plugins.launcher.commands.row_check import Problem, RowCheck
from harness_plugins.launcher.commands.row_schema import all_rows
from harness_plugins.launcher.commands.settings_file import SECTION, read_settings
from harness_plugins.launcher.complaint import Complaint
from harness_plugins.launcher.modes import mode_complaints
from harness_plugins.launcher.reporting import report
from harness_plugins.launcher.version import VERSION
from vendor_shims.cordis import CordisError
from vendor_shims.expressions import Names
from vendor_shims.include import Layer, compose, read_layer


def check_all(surroundings: Surroundings) -> int:
    """Print every problem; return 0 when there is none, else 3."""
    home = surroundings.home()
    problems = [*_files(home, surroundings), *_composition(home, surroundings)]
    document = {"problems": [problem._asdict() for problem in problems]}
    text = "".join(f"{problem.code}: {problem.message}\n" for problem in problems)
    answer(surroundings, document, text or "no problems\n")
    if not problems:
        return 0
    count = f"{len(problems)} problem{'s' * (len(problems) > 1)} in settings and composition"
    return report(Complaint("CONFIG_INVALID", count), None, with_details=False)


def section_problems(section: str, surroundings: Surroundings) -> list[str]:
    """Return what is wrong with the row that a section of the settings is for."""
    home = surroundings.home()
    try:
        profile = current_profile(surroundings)
    except ProfileError as error:
        return [str(error)]
    layers: list[Layer] = []
    list(_layers(layers, profile, home, surroundings))
    composed = compose(layers)
    rows = {row["id"]: row for row in all_rows(composed.rows)}
    if section not in rows:
        near = nearest(section, rows)
        hint = f"; did you mean {near}?" if near else ""
        return [f"profile {profile.name} has no row {section!r}, so no run of it reads this{hint}"]
    found = RowCheck(_names(home, surroundings)).row(rows[section], composed)
    return [problem.message for problem in found]


def _files(home: Home, surroundings: Surroundings) -> Iterator[Problem]:
    """Check the files that have nothing to do with the composition."""
    try:
        settings = read_settings(home)
    except YamlError as error:
        yield Problem("CONFIG_INVALID", str(error))
    except OSError as error:
        yield _denied(home.settings_file, error)
    else:
        for name, section in settings.value.items():
            place = f"{settings.file}:{settings.line([name])}"
            if SECTION.fullmatch(name) is None:
                yield Problem("CONFIG_INVALID", f"{place}: {name!r} is no name of a section")
            elif not isinstance(section, dict):
                yield Problem("CONFIG_INVALID", f"{place}: section {name}: expected a mapping")
    try:
        CredentialsFile(home.credentials_file).read()
    except CredentialsError as error:
        yield Problem("CONFIG_INVALID", str(error))
    except OSError as error:
        yield _denied(home.credentials_file, error)
    for folder in (Path(surroundings.cwd), home.root):
        try:
            capture_environment({}, project_dir=folder, home_dir=folder)
        except LaunchError as error:
            yield Problem("CONFIG_INVALID", str(error))
    for complaint in mode_complaints(surroundings.environ):
        yield Problem(complaint.code, complaint.sentence)


def _composition(home: Home, surroundings: Surroundings) -> Iterator[Problem]:
    try:
        profile = current_profile(surroundings)
    except ProfileError as error:
        yield _problem(error)
        return
    layers: list[Layer] = []
    yield from _layers(layers, profile, home, surroundings)
    composed = compose(layers)
    for skipped in composed.skipped:
        yield Problem("PATCH_UNMATCHED", describe_skipped(skipped))
    yield from RowCheck(_names(home, surroundings)).rows(composed)


def _layers(
    layers: list[Layer], profile: Profile, home: Home, surroundings: Surroundings
) -> Iterator[Problem]:
    """Collect the layers that can be read, each on its own; yield what is wrong with the others."""
    try:
        layers += layer_list(profile, home, LayerOptions(no_user_config=True))
    except ProfileError as error:
        yield _problem(error)
    n_bundles = len(layers)
    options = surroundings.options
    user: tuple[tuple[Literal["profile", "home"], Path], ...]
    user = (("profile", profile.patch_file), ("home", home.patch_file))
    for kind, path in () if options.no_user_config else user:
        try:
            layer = read_layer(str(path), name=home.display(path), kind=kind, required=False)
        except CordisError as error:
            yield Problem("PATCH_INVALID", error_chain(error))
        else:
            layers += [] if layer is None else [layer]
    if not options.no_user_config:
        with suppress(SettingsInvalidError):  # the check of the files has said so
            settings = settings_layer(home, set(row_ids(layers)))
            layers += [] if settings is None else [settings]
    for name, text in options.layers:
        only = LayerOptions(flags=(LayerFlag(name, text),), no_user_config=True)
        try:
            layers += layer_list(profile, home, only)[n_bundles:]
        except ProfileError as error:
            yield _problem(error)


def _names(home: Home, surroundings: Surroundings) -> Names:
    """Return what expressions read here, as they would when the profile is booted."""
    env = dict(surroundings.environ)
    try:
        found = launch_keys(surroundings).environment
        env = {**found.user, **found.project, **env}
    except LaunchError:
        pass  # the check of the `.env` files has said so
    if surroundings.options.is_offline:
        env["DSH_OFFLINE"] = "1"
    return Names(env=env, home=str(home.root), version=VERSION, working_dir=surroundings.cwd)


def _problem(error: HarnessError) -> Problem:
    return Problem(error.code, str(error))


def _denied(path: Path, error: OSError) -> Problem:
    return Problem("STORAGE_DENIED", f"{path}: {error.strerror or error}")
