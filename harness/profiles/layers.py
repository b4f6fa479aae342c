"""Put the layers of a profile into their order, and compose them."""

import os
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any, cast

from harness.launch import Home
from harness.profiles.bundles import bundle_layers
from harness.profiles.flags import LayerFlag, LayerOptions, flag_patch
from harness.profiles.patch_files import find_patches
from harness.profiles.profile import Profile
from harness.profiles.settings_layer import settings_layer
from vendor_shims.include import Composed, Layer, LayerKind, compose

_NO_OPTIONS = LayerOptions()


def compose_profile(profile: Profile, home: Home, options: LayerOptions = _NO_OPTIONS) -> Composed:
    """Return the rows of a profile with the layers that made them; nothing is mounted.

    Patches that match no row are skipped and listed in the result; `check_unmatched` decides what
    that means.

    Raises:
        ProfileError: as `layer_list`.
    """
    return compose(layer_list(profile, home, options))


def layer_list(profile: Profile, home: Home, options: LayerOptions = _NO_OPTIONS) -> list[Layer]:
    """Return the layers of a profile, the weakest first.

    Those are its bundles in its order, its own patch file, that of the home, the settings, and the
    flags in the order of the command line. Files that do not exist are left out, except those of
    `--patch`.

    Raises:
        BundleError: a bundle is not installed or cannot be loaded.
        PatchInvalidError: a patch file cannot be read or taken.
        SettingsInvalidError: the settings cannot.
        LayerFlagError: a flag makes no sense.
    """
    layers = bundle_layers(profile)
    if not options.no_user_config:
        layers += _user_layer(home, profile.patch_file, "profile")
        layers += _user_layer(home, home.patch_file, "home")
        settings = settings_layer(home, set(row_ids(layers)))
        layers += [] if settings is None else [settings]
    # A name may come several times in a row: `--set a.b=1 --set a.c=2` is one layer.
    for name, flags in groupby(options.flags, key=lambda flag: flag.name):
        if name == "--patch":
            layers += [_patch_file(flag) for flag in flags]
        else:
            ids = set(row_ids(layers))
            layers.append(Layer(name, "flag", [flag_patch(flag, ids) for flag in flags]))
    return layers


def _user_layer(home: Home, path: Path, kind: LayerKind) -> list[Layer]:
    layer = find_patches(str(path), name=home.display(path), kind=kind, required=False)
    return [] if layer is None else [layer]


def _patch_file(flag: LayerFlag) -> Layer:
    layer = find_patches(os.path.abspath(flag.text), name=flag.text, kind="patch", required=True)
    assert layer is not None  # a required one exists
    return layer


def row_ids(layers: Sequence[Layer]) -> Iterator[str]:
    """Yield the ids of all rows that layers insert, those in groups too."""
    for layer in layers:
        for patch in layer.patches:
            yield from _inserted(patch.get("insert"))


def _inserted(rows: object) -> Iterator[str]:
    if not isinstance(rows, list):
        return
    for row in cast("list[object]", rows):
        if isinstance(row, Mapping):
            options = cast("Mapping[str, Any]", row)
            if isinstance(options.get("id"), str):
                yield options["id"]
            if options.get("group") is True:
                yield from _inserted(options.get("config"))
