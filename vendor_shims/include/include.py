"""The plugin `cordis:include`: a tree of rows from a file, with patches over it."""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any, ClassVar, Literal, cast

import anyio

from vendor_shims.cordis import Context, Fiber
from vendor_shims.expressions import Place, check_row
from vendor_shims.loader import Entry, EntryTree, Loader
from vendor_shims.schema import config, field

from .changes import RowChanges, changes_between
from .composed import Composed, compose
from .document import Document, Row, format_of, parse_rows, read_text, require_ids
from .errors import ConfigFileError
from .folding import folded
from .layers import Layer
from .patch_file import PatchFile, replace_file
from .patching import apply_entry_patches
from .refusals import located, require_no_cycle, within_depth
from .values import Value, ordered
from .written_changes import with_changed_rows, with_patches
from .yaml_writer import json_text, yaml_text


@config
class IncludeConfig:
    """What an include reads, lays over it, and where changes go."""

    path: str | None = field(default=None, doc="The file of rows; without one there are none")
    initial: list[dict[str, Any]] | None = field(
        default=None, doc="Rows that are written when the file does not exist"
    )
    patches: list[dict[str, Any]] = field(factory=list, doc="Patches over the rows of the file")
    write_to: str | None = field(
        default=None,
        doc="The file of patches that gets changes made at run time; without patches, the file of"
        " rows by default",
    )
    enable_logs: bool | None = field(
        default=None, doc="Log what happens to rows; like the tree around it by default"
    )
    interpolate: Literal["all", "tags-only"] = field(
        default="all", doc="Whether `${...}` in texts is evaluated, besides `!expr`"
    )


class Include(EntryTree):
    """Runs the rows of a file below itself and keeps in step with the file, its patches and code.

    Its own config is taken literally: rows evaluate their own expressions. New patches are applied
    in place, without a restart.

    Invariants: everything that brings rows from outside runs one after another, and what failed
    has changed neither the rows nor the fields below.
    """

    name = "include"
    inject: ClassVar[list[str]] = ["loader"]
    Config = IncludeConfig
    is_config_literal = True

    def __init__(self, ctx: Context, config: IncludeConfig) -> None:
        loader = cast("Loader", ctx.require("loader")).origin
        self._folder = ctx.base_dir or os.getcwd()
        tags: dict[str, Any] = {"interpolate": config.interpolate}
        if config.path is not None:
            self.path = os.path.normpath(os.path.join(self._folder, config.path))
            tags["base_dir"] = os.path.dirname(self.path)
        super().__init__(ctx.extend(**tags), loader, entry=_own_entry(ctx.fiber))
        self.config = config
        self.enable_logs = self._logs(config)
        self._base: Document | None = None  # what the file holds
        self._composed = compose([])  # that with the patches
        self._saved: Sequence[Row] = []  # that with the changes by code that a file has
        self._current: Sequence[Row] = []  # the rows when they were last changed by code
        self._edit: Sequence[Row] = []
        self._files: dict[str, PatchFile] = {}
        self._line = anyio.Lock()
        ctx.effect(lambda: self._at_rest, "changes")  # waits for those that still run
        ctx.on("internal/update", self._update)

    async def start(self) -> None:
        """Read the file and mount its rows; failing ones stay, each with its reason.

        Raises:
            ConfigFileError: the file does not exist, or cannot be read or taken.
            ExpressionError: an expression in it can never be evaluated.
        """
        async with self._change():
            require_no_cycle(self)
            self._base = self._read()
            self._composed = composed = self._apply(self._base, self.config)
            self._saved = composed.rows
            with located(composed):
                await self.load_rows(composed.rows)

    async def refresh(self) -> None:
        """Read the file again and bring the rows in line, if it changed.

        Raises:
            ConfigFileError, ExpressionError: the file cannot be taken; all stays as it was.
            EntryError, ExceptionGroup: rows failed; all is as it was.
        """
        async with self._change():
            if self.path is None or not self.is_alive:
                return
            text = read_text(self.path)
            if self._base is not None and text == self._base.text:
                return
            base = self._parse(text)
            composed = self._apply(base, self.config)
            before = self._composed.rows
            with within_depth(self.path):
                saved = self._over(composed.rows, changes_between(before, self._saved))
                rows = self._over(composed.rows, changes_between(before, self.root.rows))
            with located(composed):
                await self.update_rows(rows)
            self._base, self._composed, self._saved = base, composed, saved

    def write(self) -> None:
        """Have what code changed written: as patches, or into the file of rows."""
        file = self._target()
        if file is None:
            self.ctx.logger.debug("changes of rows are not kept: there is no file for them")
            return
        self._current = self.root.rows
        file.schedule(self._edited, self._written)

    def place(self, entry_id: str, *keys: str | int) -> Place | None:
        """Return where a row of the file, or a value in it, stood when the file was last taken."""
        return self._composed.place(entry_id, *keys)

    # -- files -----------------------------------------------------------------------------------

    def _read(self) -> Document | None:
        if self.path is None:
            return None
        format = format_of(self.path)
        try:
            return self._parse(read_text(self.path))
        except ConfigFileError as error:
            if not error.is_missing or self.config.initial is None:
                raise
        rows = [ordered(row) for row in self.config.initial]
        text = json_text(rows, indent=2) if format == "json" else yaml_text(rows)
        replace_file(self.path, f"{text}\n")
        return self._parse(read_text(self.path))

    def _parse(self, text: str) -> Document:
        assert self.path is not None  # callers have looked
        document = parse_rows(text, file=self.path, format=format_of(self.path))
        require_ids(document)
        return document

    def _target(self) -> PatchFile | None:
        """Return the file that gets changes by code, if there is one."""
        if self.config.write_to is not None:
            path = os.path.normpath(os.path.join(self._folder, self.config.write_to))
        elif self.path is not None and not self.config.patches:
            path = self.path
        else:
            return None
        if path not in self._files:
            self._files[path] = PatchFile(self.ctx, path)
        return self._files[path]

    def _edited(self, text: str | None) -> str | None:
        before, after = self._saved, self._current
        self._edit = after  # more may have changed by the time this is written
        file = self.config.write_to or self.path
        assert file is not None  # it is the target
        with within_depth(file):
            if not changes_between(before, after):
                return text
            edit = with_changed_rows if self.config.write_to is None else with_patches
            return edit(text or "", before, after, file=file)

    def _written(self, before: str | None, text: str | None) -> None:
        self._saved = self._edit
        is_base = self.config.write_to is None
        if text is not None and is_base and self._base and before == self._base.text:
            self._base = self._parse(text)
            self._composed = replace(compose([], rows=self._base), rows=self._edit)

    # -- changes from outside --------------------------------------------------------------------

    def _apply(self, base: Document | None, config: IncludeConfig) -> Composed:
        composed = compose([Layer("patches", "patch", config.patches)], rows=base)
        for skipped in composed.skipped:
            self.ctx.logger.warn(skipped.message)
        file = None if config.patches else self.path
        for row in composed.rows:
            check_row(row, file=file, templates=config.interpolate == "all")
        return composed

    def _over(self, rows: Sequence[Row], changes: RowChanges) -> Sequence[Row]:
        """Return rows with changes by code on top; those of rows that went are left out."""
        if not changes:
            return rows
        return apply_entry_patches(rows, folded([], changes), self.ctx.logger.warn)

    def _update(
        self,
        _: Fiber,
        config: IncludeConfig,
        __: bool,  # noqa: FBT001 - the form of the event
        next: Callable[[], Any],
    ) -> Value:
        running = self.config
        if (config.path, config.interpolate) != (running.path, running.interpolate):
            return next()
        return self._take(config)

    async def _take(self, config: IncludeConfig) -> None:
        """Apply other patches; what code changed stays only if no file has it yet."""
        async with self._change():
            composed = self._apply(self._base, config)
            with within_depth(self.path or "rows"):
                rows = self._over(composed.rows, changes_between(self._saved, self.root.rows))
            with located(composed):
                await self.update_rows(rows)
            self._composed, self._saved = composed, composed.rows
            self.config = config
            self.enable_logs = self._logs(config)

    @asynccontextmanager
    async def _change(self) -> AsyncGenerator[None]:
        """Wait for earlier changes from outside, and for what has to be written."""
        if self._line.locked():
            async with self.turn():
                pass  # raises, instead of waiting for what waits for the caller
        async with self._line:
            for file in self._files.values():
                await file.flush()
            yield

    async def _at_rest(self) -> None:
        async with self._line:
            return

    def _logs(self, config: IncludeConfig) -> bool:
        around = self.loader if self.entry is None else self.entry.tree
        return around.enable_logs if config.enable_logs is None else config.enable_logs


def _own_entry(fiber: Fiber) -> Entry | None:
    """Return the row whose plugin the fiber is, rather than a child of it."""
    entry = fiber.entry
    is_child = fiber.parent is not None and fiber.parent.entry is entry
    return entry if isinstance(entry, Entry) and not is_child else None
