"""Find what is wrong with rows without running them: plugins, configurations, included files."""

import os
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from harness.errors import error_chain
from harness_plugins.launcher.commands.row_schema import all_rows
from vendor_shims.cordis import CordisError, InvalidPlugin, ValidationError, takes_config
from vendor_shims.expressions import ExpressionError, Names, check_row, interpolate
from vendor_shims.group import Group
from vendor_shims.include import (
    Composed,
    ConfigFileError,
    Include,
    IncludeConfig,
    Layer,
    compose,
    read_rows,
    require_ids,
)
from vendor_shims.loader import InvalidEntry, PluginResolver, checked, unknown
from vendor_shims.schema import SchemaError, adapt


class Problem(NamedTuple):
    """One thing that is wrong: its code, and a sentence that begins with its place."""

    code: str
    message: str


class RowCheck:
    """Checks rows, and those of the files that they include; `names` is what expressions read."""

    def __init__(self, names: Names) -> None:
        self._names = names
        self._resolver = PluginResolver()

    def rows(self, composed: Composed, *around: str) -> Iterator[Problem]:
        """Check every row of a composition; `around` is the files that they are included from."""
        for row in all_rows(composed.rows):
            yield from self.row(row, composed, *around)

    def row(self, row: Mapping[str, Any], composed: Composed, *around: str) -> Iterator[Problem]:
        """Check one row: its options, its expressions, its plugin, its configuration."""
        try:
            checked(row)
            check_row({key: value for key, value in row.items() if not _is_group(row, key)})
        except InvalidEntry as error:
            yield Problem("CONFIG_INVALID", f"{_where(composed, row, *error.keys)}{error}")
            return
        except ExpressionError as error:
            yield Problem("CONFIG_INVALID", str(error))
            return
        where = f"{_where(composed, row)}row {row['id']!r}: "
        for key in unknown(row):
            yield Problem("CONFIG_INVALID", f"{where}the option {key!r} means nothing")
        place = composed.place(row["id"])
        base_dir = os.path.dirname(place.file) if place is not None and place.file else None
        names = replace(self._names, base_dir=base_dir)
        if row.get("group") is True or _is_off(row, names):
            return
        try:
            plugin = self._resolver.resolve(row["name"], base_dir=base_dir).plugin
        except Exception as error:  # noqa: BLE001 - importing a plugin runs its code
            is_ours = isinstance(error, CordisError)
            said = error_chain(error) if is_ours else f"{type(error).__name__}: {error}"
            yield Problem("PLUGIN_NOT_FOUND" if is_ours else "BOOT", f"{where}{said}")
            return
        problems = [*_config(row, plugin, names, composed)]
        yield from problems
        if not problems and isinstance(plugin, type) and issubclass(plugin, Include):
            yield from self._included(row, base_dir or os.getcwd(), where, *around)

    def _included(
        self, row: Mapping[str, Any], folder: str, where: str, *around: str
    ) -> Iterator[Problem]:
        """Check the rows of a file, with the patches that its row lays over them."""
        config: IncludeConfig = adapt(IncludeConfig).validate(row.get("config") or {})
        if config.path is None:
            return
        path = os.path.normpath(os.path.join(folder, config.path))
        real = os.path.realpath(path)
        if real in around:
            yield Problem("CONFIG_INVALID", f"{where}{path} includes itself")
            return
        try:
            document = read_rows(path)
            require_ids(document)
        except ConfigFileError as error:
            if not (error.is_missing and config.initial is not None):
                yield Problem("CONFIG_INVALID", f"{where}{error}")
            return
        composed = compose([Layer("patches", "patch", config.patches)], rows=document)
        for skipped in composed.skipped:
            yield Problem("PATCH_UNMATCHED", f"{where}{skipped.message}")
        yield from self.rows(composed, *around, real)


def _where(composed: Composed, row: Mapping[str, Any], *keys: str | int) -> str:
    """Return the place of a row or a value in it, as the beginning of a sentence."""
    entry_id = row.get("id")
    supplier = composed.supplier(entry_id, *keys) if isinstance(entry_id, str) else None
    return "" if supplier is None else f"{supplier}: "


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
    try:
        is_ignored = not takes_config(plugin) and bool(row.get("config"))
    except InvalidPlugin as error:
        yield Problem("BOOT", f"{_where(composed, row, 'name')}row {row['id']!r}: {error}")
        return
    if is_ignored:
        where = _where(composed, row, "config")
        yield Problem("CONFIG_INVALID", f"{where}row {row['id']!r}: its plugin takes no config")
    if plugin is Group and not isinstance(row.get("config") or [], list):
        where = _where(composed, row, "config")
        yield Problem(
            "CONFIG_INVALID", f"{where}row {row['id']!r}: a group's config is a list of rows"
        )
    model = getattr(plugin, "Config", None)
    if model is None:
        return
    config: Any = row.get("config") or {}
    try:
        if not getattr(plugin, "is_config_literal", False):
            config = interpolate(config, names, row=row["id"])
    except ExpressionError:
        return  # it reads a service, so its value is known only when the row starts
    try:
        adapt(model).validate(config)
    except ValidationError as error:
        for issue in error.issues:
            where = _where(composed, row, "config", *issue.path)
            yield Problem("CONFIG_INVALID", f"{where}row {row['id']!r}: {issue.render()}")
    except (SchemaError, TypeError, ValueError) as error:
        yield Problem("CONFIG_INVALID", f"row {row['id']!r}: {error_chain(error)}")
