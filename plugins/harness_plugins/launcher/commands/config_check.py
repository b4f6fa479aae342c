"""Find everything that is wrong in settings and composition, instead of the first of it only."""

import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, NamedTuple

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
from harness_plugins.launcher.commands.row_schema import all_rows
from harness_plugins.launcher.commands.settings_file import SECTION, read_settings
from harness_plugins.launcher.complaint import Complaint
from harness_plugins.launcher.modes import mode_complaints
from harness_plugins.launcher.reporting import report
from harness_plugins.launcher.version import VERSION
from vendor_shims.cordis import CordisError, ValidationError
from vendor_shims.expressions import ExpressionError, Names, check_row, interpolate
from vendor_shims.include import Composed, Layer, compose, read_layer
from vendor_shims.loader import PluginResolver, unknown
from vendor_shims.schema import SchemaError, adapt


class Problem(NamedTuple):
    """One thing that is wrong: its code, and a sentence that begins with its place."""

    code: str
    message: str


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
        return [error_chain(error)]
    layers: list[Layer] = []
    list(_layers(layers, profile, home, surroundings))
    composed = compose(layers)
    rows = {row["id"]: row for row in all_rows(composed.rows)}
    if section not in rows:
        near = nearest(section, rows)
        hint = f"; did you mean {near}?" if near else ""
        return [f"profile {profile.name} has no row {section!r}, so no run of it reads this{hint}"]
    found = _row(rows[section], composed, PluginResolver(), _names(home, surroundings))
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
    resolver, names = PluginResolver(), _names(home, surroundings)
    for row in all_rows(composed.rows):
        yield from _row(row, composed, resolver, names)


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


def _row(
    row: Mapping[str, Any],
    composed: Composed,
    resolver: PluginResolver,
    names: Names,
) -> Iterator[Problem]:
    """Check one row: its expressions, its plugin, its configuration."""
    try:
        check_row({key: value for key, value in row.items() if not _is_group(row, key)})
    except ExpressionError as error:
        yield Problem("CONFIG_INVALID", str(error))
        return
    place = composed.place(row["id"])
    where = "" if place is None else f"{place}: "
    for key in unknown(row):
        yield Problem(
            "CONFIG_INVALID", f"{where}row {row['id']!r}: the option {key!r} means nothing"
        )
    base_dir = os.path.dirname(place.file) if place is not None and place.file else None
    names = replace(names, base_dir=base_dir)
    if row.get("group") is True or _is_off(row, names):
        return
    try:
        plugin = resolver.resolve(row["name"], base_dir=base_dir).plugin
    except Exception as error:  # noqa: BLE001 - importing a plugin runs its code
        is_ours = isinstance(error, CordisError)
        said = error_chain(error) if is_ours else f"{type(error).__name__}: {error}"
        code = "PLUGIN_NOT_FOUND" if is_ours else "BOOT"
        yield Problem(code, f"{where}row {row['id']!r}: {said}")
        return
    yield from _config(row, plugin, names, composed)


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


def _is_off(row: Mapping[str, Any], names: Names) -> bool:
    """Return whether a row is switched off; one that asks a service may be on."""
    try:
        return bool(interpolate(row.get("disabled"), names, row=row["id"], path=("disabled",)))
    except ExpressionError:
        return False


def _is_group(row: Mapping[str, Any], key: str) -> bool:
    """Return whether a key holds the rows of a group, which are checked on their own."""
    return key == "config" and row.get("group") is True


def _config(
    row: Mapping[str, Any], plugin: object, names: Names, composed: Composed
) -> Iterator[Problem]:
    model = getattr(plugin, "Config", None)
    if model is None:
        return
    try:
        config = interpolate(row.get("config") or {}, names, row=row["id"])
    except ExpressionError:
        return  # it reads a service, so its value is known only when the row starts
    try:
        adapt(model).validate(config)
    except ValidationError as error:
        for issue in error.issues:
            supplier = composed.supplier(row["id"], "config", *issue.path)
            where = "" if supplier is None else f"{supplier}: "
            yield Problem("CONFIG_INVALID", f"{where}row {row['id']!r}: {issue.render()}")
    except (SchemaError, TypeError, ValueError) as error:
        yield Problem("CONFIG_INVALID", f"row {row['id']!r}: {error_chain(error)}")


def _problem(error: HarnessError) -> Problem:
    return Problem(error.code, error_chain(error))


def _denied(path: Path, error: OSError) -> Problem:
    return Problem("STORAGE_DENIED", f"{path}: {error.strerror or error}")
